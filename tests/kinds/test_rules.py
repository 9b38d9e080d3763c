"""What is wrong with objects of all common kinds: tables of mistakes, each with what the real server says about it.

A row holds an object that is to be created, or one that is given and what it is to be changed into; and the errors: field,
reason and message of each, none for a row that is fine. Where the server walks a map, in random order, the table has its keys
sorted.
"""

import json
from pathlib import Path
from typing import Any

import pytest
from tests.conformance import ledger
from tests.conformance.ledger import Record
from tests.kinds.registry import Registry

TABLES = sorted((Path(__file__).parent / "refused").glob("*.jsonl"))

_EMPTY = "an empty list or map that is not shown is taken for none when it is decoded"
EXPECTED_FAILURES: dict[str, str] = {
    "others:204": "defaults fill in scaling policies where an empty list of them is given",
    "others:230": _EMPTY,
    "others:322": _EMPTY,
}


@pytest.mark.parametrize("table", TABLES, ids=lambda path: path.stem)
def test_mistakes_are_told_in_the_words_of_the_server(table: Path, record_property: Record) -> None:
    definitions: list[Any] = []
    failures: dict[str, str] = {}
    rows: list[str] = []
    for number, line in enumerate(table.read_text().splitlines()):
        row = json.loads(line)
        if "definition" in row:
            definitions.append(row["definition"])
            continue
        rows.append(f"{table.stem}:{number}")
        problem = ledger.attempt(lambda row=row: _problem(row, definitions))  # type: ignore[misc]
        if problem is not None:
            failures[rows[-1]] = problem
    settled = {row: text for row, text in EXPECTED_FAILURES.items() if row.partition(":")[0] == table.stem}
    ledger.settle(record_property, "rules", ran=rows, failures=failures, expected=settled)


def _problem(row: dict[str, Any], definitions: list[Any]) -> str | None:
    registry = Registry()
    for given in (*definitions, *([row["given"]] if "given" in row else [])):
        registry.create(given)
    status, body = registry.answer({verb: row[verb] for verb in ("create", "update") if verb in row})
    told = _errors(body) if status == 422 else []
    if (status >= 300) != bool(row["errors"]):
        return f"answered with {status} {told}, not {row['errors']}"
    return None if told == row["errors"] else f"told {told}, not {row['errors']}"


def _errors(body: dict[str, Any]) -> list[Any]:
    listed = (body.get("details") or {}).get("causes") or []
    return [[one.get("field"), one.get("reason"), one.get("message")] for one in listed] or [body.get("message")]
