"""Every expression of the recorded CEL tables, through the library alone: compile errors, run-time errors, values."""

from functools import partial
from pathlib import Path

import pytest
from tests.conformance import ledger, probe, tables
from tests.conformance.probe import Unevaluated
from tests.conformance.tables import Failed, Gave, Refused, Row

SUITE = "cel tables"

EXPECTED_FAILURES: dict[str, str] = {}


def left_to_the_policy_layer(row: Row, got: object) -> bool:
    """Whether the recorded answer is one that evaluation alone cannot give: names, patching, JSON."""
    match row.answer:
        case Refused(causes):
            return any(field.endswith(".name") or text.startswith("Required value") for field, text in causes)
        case Failed(text):
            return isinstance(got, Unevaluated | Gave) and " resulted in error: " not in text and text != probe.OUT_OF_BUDGET
        case Gave():
            return isinstance(got, Unevaluated)
    return False


def agree(recorded: object, got: object) -> bool:
    match recorded, got:
        case Gave(expected), Gave(value):
            return ledger.same(expected, value)
        case Failed(expected), Failed(text):
            return bool(expected == tables.masked(text))
        case Refused(expected), Refused(causes):
            return bool(expected == tuple((field, tables.masked(text)) for field, text in causes))
    return False


def problem(row: Row, record: ledger.Record) -> str | None:
    got = probe.answer(row)
    if left_to_the_policy_layer(row, got):
        ledger.count(record, SUITE, "left to the policy layer", 1)
        return None
    return None if agree(row.answer, got) else f"{row.text[:300]}\n  got      {got}\n  expected {row.answer}"


@pytest.mark.parametrize("path", tables.files(), ids=lambda path: f"{path.parent.name}/{path.stem}")
def test_a_table_is_answered_as_recorded(path: Path, record_property: ledger.Record) -> None:
    rows = list(tables.rows(path))
    said = {row.id: ledger.attempt(partial(problem, row, record_property)) for row in rows}
    failures = {row_id: text for row_id, text in said.items() if text is not None}
    ledger.settle(record_property, SUITE, ran=said, failures=failures, expected=EXPECTED_FAILURES)
