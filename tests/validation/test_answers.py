"""A table for every rule: small changes to valid objects, and what kube-apiserver v1.36.4 said to each.

A row holds the object's base, what is `set` in it, for an update what was set in the `old` one, and the answer: the causes of the
refusal, or the object as it was accepted.
"""

import json
from pathlib import Path
from typing import Any

import pytest
from tests.conformance import ledger
from tests.validation.objects import BASES, Json, made
from tests.validation.registry import Registry

from kadmit.api.errors import ApiError
from kadmit.validation import jsonpath

HERE = Path(__file__).parent
ROWS = [json.loads(line) for line in (HERE / "answers.jsonl").read_text().splitlines()]
SERVER_FIELDS = ("uid", "resourceVersion", "creationTimestamp")
JSONPATHS: dict[str, str | None] = json.loads((HERE / "jsonpaths.json").read_text())


def answer(row: Json) -> Any:
    registry, new = Registry(), made(row["base"], row["set"])
    try:
        if "old" in row:
            registry.create(made(row["base"], row["old"]))
            new["metadata"]["resourceVersion"] = "1"
            return _shown(registry.update(new))
        return _shown(registry.create(new))
    except ApiError as refused:
        causes = refused.status.details.causes if refused.status.details is not None else ()
        return [[cause.reason, cause.field, cause.message] for cause in causes]


def _shown(obj: Json) -> Json:
    return {**obj, "metadata": {field: value for field, value in obj["metadata"].items() if field not in SERVER_FIELDS}}


def difference(row: Json) -> str | None:
    expected, ours = row.get("causes", row.get("object")), answer(row)
    return None if ledger.same(expected, ours) else f"\n  server {json.dumps(expected)}\n  ours   {json.dumps(ours)}"


@pytest.mark.parametrize("base", BASES)
def test_small_changes_are_answered_as_the_server_does(base: str, record_property: ledger.Record) -> None:
    rows = {json.dumps([row.get("old"), row["set"]]): row for row in ROWS if row["base"] == base}
    wrong = {name: ledger.attempt(lambda row=row: difference(row)) for name, row in rows.items()}  # type: ignore[misc]
    failures = {name: text for name, text in wrong.items() if text is not None}
    ledger.settle(record_property, f"registration rows of {base}", ran=rows, failures=failures, expected={})


@pytest.mark.parametrize("path", JSONPATHS)
def test_a_json_path_is_read_as_kubectl_reads_it(path: str) -> None:
    assert jsonpath.problem(path) == JSONPATHS[path]


def test_filters_within_filters_end_somewhere() -> None:
    assert jsonpath.problem("[?(" * 20_000) is not None
    assert jsonpath.problem("[?(a" * 5_000 + ")]" * 5_000) in (None, "unclosed array expect ]", "unterminated filter")
