"""Every expression of the recorded CEL tables, through the library alone: compile errors, run-time errors, values."""

from pathlib import Path

import pytest
from tests.conformance import ledger, probe, tables
from tests.conformance.tables import Failed, Gave, Refused, Row

SUITE = "cel tables"

EXPECTED_FAILURES: dict[str, str] = {}


def left_to_the_policy_layer(row: Row) -> bool:
    """Whether the recorded answer is one that evaluation alone cannot give: names, patching, JSON."""
    match row.answer:
        case Refused(causes):
            return any(field.endswith(".name") or text.startswith("Required value") for field, text in causes)
        case Failed(text):
            return " resulted in error: " not in text and text != probe.OUT_OF_BUDGET
        case Gave():
            return "mutations" in row.policy
    return False


def difference(row: Row, *, whole: bool) -> str | None:
    """What is wrong with our answer; `whole`: the value counts too, not only that there is one."""
    got = probe.answer(row)
    if not whole:
        return None if isinstance(got, probe.Unevaluated | Gave) or isinstance(row.answer, Refused) else f"{row.text}: {got}"
    if isinstance(got, Gave) and isinstance(row.answer, Gave) and ledger.same(row.answer.value, got.value):
        return None
    return (
        None
        if got == row.answer and not isinstance(got, Gave)
        else f"{row.text[46:-2][:200]}:\n  got      {got}\n  expected {row.answer}"
    )


@pytest.mark.parametrize("path", tables.files(), ids=lambda path: f"{path.parent.name}/{path.stem}")
def test_a_table_is_answered_as_recorded(path: Path, record_property: ledger.Record) -> None:
    failures: dict[str, str] = {}
    rows = list(tables.rows(path))
    for row in rows:
        whole = not left_to_the_policy_layer(row)
        if not whole:
            ledger.count(record_property, SUITE, "left to the policy layer", 1)
        found = difference(row, whole=whole)
        if found is not None:
            failures[row.id] = found
    ledger.settle(record_property, SUITE, ran=[r.id for r in rows], failures=failures, expected=EXPECTED_FAILURES)
