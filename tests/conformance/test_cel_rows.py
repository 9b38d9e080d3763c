"""Expressions with the value, error text, type and run-time cost that kube-apiserver's own engine gave them.

cel-costs.jsonl holds the expressions of the recorded tables, cel-fuzz.jsonl generated ones over one Deployment, cel-more.jsonl
others over the same: what once was answered wrongly, broken texts, and values at the edges of every function. Both evaluators
must give every one of these answers.
"""

import base64
import json
import math
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from tests.conformance import ledger

from kadmit.cel import environment, gotime, jsonform
from kadmit.cel.source import CompileError
from kadmit.cel.types import Type
from kadmit.cel.values import CelError, Duration, MapValue, Optional, Timestamp, UInt, Value

HERE = Path(__file__).parent
CHUNKS = 20

_MAP_ORDER = "the recorded server walks a map in an order that changes from run to run; ours is the order of the object"
EXPECTED_FAILURES: dict[str, str] = {
    "costs/1450": _MAP_ORDER,
    "fuzz/1235": _MAP_ORDER,
}

Row = Mapping[str, Any]


def rows(name: str) -> list[tuple[str, Row]]:
    lines = (HERE / f"cel-{name}.jsonl").read_bytes().splitlines()
    return [(f"{name}/{i:04}", json.loads(line)) for i, line in enumerate(lines)]


DEPLOYMENT = json.loads((HERE / "cel-fuzz-object.json").read_text())
ENVIRONMENT = environment.mutation(minor=36)


def form(value: Value) -> object:
    """A value as the rows write it: durations in nanoseconds, types by name, optionals as lists of none or one."""
    match value:
        case list():
            return [form(item) for item in value]
        case dict():
            return {key: form(item) for key, item in value.items()}
        case MapValue():
            return {_key(key): form(item) for key, item in value.entries.values()}
        case UInt():
            return int(value)
        case float() if not math.isfinite(value):
            return {math.inf: "Infinity", -math.inf: "-Infinity"}.get(value, "NaN")
        case bytes():
            return base64.b64encode(value).decode()
        case Duration():
            return value.nanos
        case Timestamp():
            return gotime.format_timestamp(Timestamp(value.nanos))
        case Type():
            return value.name
        case Optional():
            return {"optional": [form(value.value)] if value.present else []}
    return jsonform.to_json(value)


def _key(key: Value) -> str:
    shown = form(key)
    # NB: the recorder spelt a null key in Python.
    return shown if isinstance(shown, str) else "None" if shown is None else json.dumps(shown)


def answer(row: Row, *, exactly: bool) -> dict[str, object]:
    """What we say of a row, in its own words."""
    try:
        program = ENVIRONMENT.compile(row["expr"])
    except CompileError as e:
        return {"error": str(e), "stage": "compile"}
    bindings = {"object": row.get("object", DEPLOYMENT)}
    result = program.evaluate_exact(bindings) if exactly else program.evaluate(bindings)
    said: dict[str, object] = {"type": str(program.output_type), "cost": result.cost}
    if isinstance(result.value, CelError):
        return {**said, "error": result.value.message, "stage": "run"}
    return {**said, "value": form(result.value)}


def difference(row: Row, said: Mapping[str, object]) -> str | None:
    expected = {k: v for k, v in row.items() if k not in ("expr", "object")}
    wrong = sorted(k for k in expected.keys() | said.keys() if not ledger.same(expected.get(k), said.get(k)))
    shown = "; ".join(f"{k} is {said.get(k)!r}, not {expected.get(k)!r}" for k in wrong)
    return f"{row['expr'][:300]}: {shown[:600]}" if wrong else None


def _wrong(row: Row, *, exactly: bool) -> str | None:
    return difference(row, answer(row, exactly=exactly))


@pytest.mark.parametrize("exactly", [False, True], ids=["compiled", "exact"])
@pytest.mark.parametrize("chunk", range(CHUNKS))
@pytest.mark.parametrize("name", ["costs", "fuzz", "more"])
def test_rows_are_answered_with_value_error_type_and_cost(
    name: str, chunk: int, exactly: bool, record_property: ledger.Record
) -> None:
    mine = rows(name)[chunk::CHUNKS]
    said = {row_id: ledger.attempt(partial(_wrong, row, exactly=exactly)) for row_id, row in mine}
    failures = {row_id: text for row_id, text in said.items() if text is not None}
    suite = f"cel-{name} ({'exact' if exactly else 'compiled'})"
    ledger.settle(record_property, suite, ran=[r for r, _ in mine], failures=failures, expected=EXPECTED_FAILURES)
