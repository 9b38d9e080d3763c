"""The recorded creations of every kind: what they are given by defaults, by preparation and by what they are kept in."""

import json
import re
from collections.abc import Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Any

import yaml
from tests.conformance import ledger
from tests.kinds.registry import NAMESPACE, Registry

CASES = Path(__file__).parents[1] / "conformance" / "cases" / "kinds-defaults"
Json = Any

_ADDRESSES = "which address a service gets is recorded as a variable"
EXPECTED_FAILURES: dict[str, str] = {
    "cr-metadata/1": "whole doubles are written without a point by whoever encodes them",
    "secret/4": "the store turns a null of bytes into an empty text",
    "service-cluster-ip/0": _ADDRESSES,
    **{f"service-load-balancer/{step}": _ADDRESSES for step in range(2)},
}

_STEP = re.compile(r'\["([^"]+)"\]|\[(\d+)\]|\[(\w+)=([^\]]+)\]|([^.\[\]]+)')


def creations() -> Iterator[tuple[str, Json, Mapping[str, Json], Json]]:
    """Name, the objects that were there, the step, the object that was answered."""
    for path in sorted(CASES.glob("*.yaml")):
        case = yaml.safe_load(path.read_text())
        answers = json.loads(path.with_name(f"{path.stem}.expected.json").read_text())["steps"]
        asked = [step for step in case["steps"] if "wait" not in step]
        for index, (step, answer) in enumerate(zip(asked, answers, strict=True)):
            if "create" in step and answer["status"] == 201:
                yield f"{path.stem}/{index}", case.get("given", ()), step, answer["body"]


def made(given: Json, body: Json) -> Json:
    """What the registry of kinds makes of a body."""
    registry = Registry()
    for definition in given:
        registry.create(_here(definition))
    return _recorded(registry.create(_here(body)))


def _recorded(value: Json) -> Json:
    """Without what recordings leave out."""
    kept = {key: member for key, member in value["metadata"].items() if key not in ("uid", "creationTimestamp")}
    return {**value, "metadata": kept}


def _here(body: Json) -> Json:
    return json.loads(json.dumps(body).replace("${ns}", NAMESPACE))


def picked(value: Json, path: str) -> Json:
    for quoted, index, key, wanted, name in _STEP.findall(path):
        if value is None:
            return None
        if index:
            value = value[int(index)]
        elif key:
            value = next((item for item in value if str(item.get(key)) == wanted), None)
        else:
            value = value.get(quoted or name)
    return value


def comparable(value: Json, like: Json) -> Json:
    """Without the generation, which the registry counts, and with times and uids as vague as they were recorded."""
    if like in ("<time>", "<uid>") and isinstance(value, str):
        return like
    if isinstance(value, dict):
        members = like if isinstance(like, dict) else {}
        return {key: comparable(member, members.get(key)) for key, member in value.items() if key != "generation"}
    if isinstance(value, list):
        items = like if isinstance(like, list) and len(like) == len(value) else [None] * len(value)
        return [comparable(*pair) for pair in zip(value, items, strict=True)]
    return value


def wrong(given: Json, step: Mapping[str, Json], answer: Json) -> str | None:
    got = made(given, step["create"])
    if "pick" in step:
        got = picked(got, step["pick"])
    got, expected = comparable(got, answer), comparable(_here(answer), None)
    return None if ledger.same(expected, got) else f"{expected} is not {got}"


def test_created_objects_are_as_the_recorded_server_answered_them(record_property: ledger.Record) -> None:
    rows = list(creations())
    found = {name: ledger.attempt(partial(wrong, given, step, answer)) for name, given, step, answer in rows}
    failures = {name: text for name, text in found.items() if text is not None}
    ledger.settle(record_property, "kinds-defaults", ran=found, failures=failures, expected=EXPECTED_FAILURES)
