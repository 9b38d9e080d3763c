"""Decisions of validating policies: how metrics count them."""

import pytest

from kadmit.policy.validator import Decision


@pytest.mark.parametrize(
    ("decision", "counted"),
    [
        (Decision(denied=False), ""),
        (Decision(denied=True, message="no"), "invalid_error"),
        (Decision(denied=True, message="compilation error: x", failed=True), "compile_error"),
        (Decision(denied=False, message="validation failed due to running out of cost budget, x", failed=True), "out_of_budget"),
        (
            Decision(denied=True, message="failed messageExpression: validation failed due to running out", failed=True),
            "invalid_error",
        ),
        (Decision(denied=True, message="compilation is what a user may write, too"), "compile_error"),
    ],
)
def test_errors_are_told_apart_by_how_their_text_begins(decision: Decision, counted: str) -> None:
    assert decision.error_type == counted
