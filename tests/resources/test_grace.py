"""Grace periods: whose end has begun is only asked about again if it is to come sooner."""

from typing import Any

import pytest

from kadmit.resources import grace, podconditions

NOW = "2026-01-01T00:00:00Z"


@pytest.mark.parametrize(
    ("metadata", "asked", "pending"),
    [
        ({}, None, False),
        ({"deletionTimestamp": NOW, "deletionGracePeriodSeconds": 30}, None, True),
        ({"deletionTimestamp": NOW, "deletionGracePeriodSeconds": 30}, 30, True),
        ({"deletionTimestamp": NOW, "deletionGracePeriodSeconds": 30}, 5, False),
        ({"deletionTimestamp": NOW, "deletionGracePeriodSeconds": 1}, -5, True),
        ({"deletionTimestamp": NOW, "deletionGracePeriodSeconds": 0}, None, False),
    ],
)
def test_an_end_that_has_begun_is_pending_unless_it_hurried(metadata: dict[str, Any], asked: int, pending: bool) -> None:
    assert grace.is_pending({"metadata": metadata}, asked) is pending


def test_a_condition_takes_the_place_of_its_elder_and_holds_since_that_did() -> None:
    first = podconditions.with_condition({"status": {"conditions": [{"type": "A", "status": "True"}]}}, "B", NOW)
    again = podconditions.with_condition(first, "B", "later", reason="R")
    assert [c["type"] for c in again["status"]["conditions"]] == ["A", "B"]
    assert again["status"]["conditions"][1]["lastTransitionTime"] == NOW
    assert again["status"]["conditions"][1]["reason"] == "R"
