"""The recorded conversations about kinds, as far as they are about objects: answers to creates, updates and patches.

Everything that is HTTP's (query parameters, paths that do not fit, bodies that are no objects) is left to the server's replay.
"""

import json
import re
from pathlib import Path
from typing import Any

import pytest
import yaml
from tests.conformance import ledger
from tests.conformance.ledger import Record
from tests.kinds.registry import NotHere, Registry

CASES = Path(__file__).parents[1] / "conformance" / "cases"
LONG = "x" * 100_000
UNSTABLE = frozenset({"uid", "resourceVersion", "creationTimestamp", "managedFields", "selfLink", "deletionTimestamp"})
TIME = re.compile(r"\b\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z")
UID = re.compile(r"\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b")
STEP = re.compile(r"([^.\[\]]+)|\[(\d+)\]")

_PATH = "the path of a request is no concern of kinds"
_IDENTITY = "so is an object that says to be of another kind than its path"
_ADDRESS = "which address a Service gets is recorded as a variable"
EXPECTED_FAILURES: dict[str, str] = {
    "kinds-validation/bad-owners-and-finalizers#4": "owners listed twice are dropped by the handler of requests",
    "kinds-validation/cr-unknown-fields#7": _IDENTITY,
    "kinds-validation/cr-unknown-fields#8": _IDENTITY,
    "kinds-validation/immutable-metadata#1": "a uid is a precondition of the store",
    "kinds-validation/malformed-bodies#12": "an apiVersion that is none is refused by the handler of requests",
    **{f"kinds-validation/path-does-not-fit#{step}": _PATH for step in (6, 9, 10)},
    "kinds-defaults/cr-metadata#1": "whole doubles are written without a point by whoever encodes them",
    "kinds-defaults/secret#4": "null in the data of a Secret becomes empty text in the store",
    "kinds-defaults/service-cluster-ip#0": _ADDRESS,
    "kinds-defaults/service-load-balancer#0": _ADDRESS,
    "kinds-defaults/service-load-balancer#1": _ADDRESS,
}


@pytest.mark.parametrize("area", ["kinds-validation", "kinds-defaults"])
def test_recorded_conversations_about_objects(area: str, record_property: Record) -> None:
    failures: dict[str, str] = {}
    ran: list[str] = []
    for file in sorted((CASES / area).glob("*.yaml")):
        case = yaml.safe_load(file.read_text())
        if "cel" not in case and not case.get("webhooks"):
            _replay(f"{area}/{file.stem}", case, json.loads(file.with_suffix(".expected.json").read_text()), ran, failures)
    expected = {row: text for row, text in EXPECTED_FAILURES.items() if row.startswith(f"{area}/")}
    ledger.settle(record_property, "rules of recorded kinds", ran=ran, failures=failures, expected=expected)


def _replay(name: str, case: dict[str, Any], recorded: dict[str, Any], ran: list[str], failures: dict[str, str]) -> None:
    registry = Registry()
    for given in case.get("given", []):
        registry.create(_filled(given))
    answers = iter(recorded["steps"])
    for number, step in enumerate(case["steps"]):
        if "wait" in step:
            continue
        answer = next(answers)
        if step.get("query") or not {"create", "update", "send"} & step.keys():
            continue
        try:
            problem = ledger.attempt(lambda step=step, answer=answer: _problem(registry, step, answer))  # type: ignore[misc]
        except _Elsewhere:
            continue
        ran.append(f"{name}#{number}")
        if problem is not None:
            failures[ran[-1]] = problem


class _Elsewhere(BaseException):
    """A step that is not about objects; not an Exception, which would be taken for a failure."""


def _problem(registry: Registry, step: dict[str, Any], answer: dict[str, Any]) -> str | None:
    try:
        status, body = registry.answer(_filled(step))
    except NotHere:
        raise _Elsewhere from None
    got = _picked(_stable(body), step.get("pick") or "")
    wanted = _filled(answer.get("body"))
    if status == answer["status"] and ledger.same(wanted, got):
        return None
    return f"{status} {json.dumps(got)[:600]}, not {answer['status']} {json.dumps(wanted)[:600]}"


def _filled(value: Any) -> Any:
    return json.loads(json.dumps(value).replace("${x100k}", LONG).replace("${ns}", "ns"))


def _stable(value: Any, inside: str = "") -> Any:
    """Without what differs from run to run."""
    if isinstance(value, dict):
        return {k: _stable(v, k) for k, v in value.items() if not (inside == "metadata" and k in UNSTABLE)}
    if isinstance(value, list):
        return [_stable(item, inside) for item in value]
    return UID.sub("<uid>", TIME.sub("<time>", value)) if isinstance(value, str) else value


def _picked(value: Any, path: str) -> Any:
    for name, index in STEP.findall(path):
        if value is None:
            return None
        value = value.get(name) if name else value[int(index)]
    return value
