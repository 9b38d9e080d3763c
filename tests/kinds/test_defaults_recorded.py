"""The recorded creations of every kind: what they are given, beyond what only a server that keeps objects can add."""

import json
import re
from collections.abc import Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Any

import yaml
from tests.conformance import ledger

from kadmit.kinds import crd, decoding, defaults, hub, schema

CASES = Path(__file__).parents[1] / "conformance" / "cases" / "kinds-defaults"
Json = Any

_STATUS = "a new object's status is the registry's"
_ADDRESSES = "the registry of services gives addresses"
_OWNED = "the registry gives a Job its selector and labels"
_FINALIZER = "the registry adds the finalizer of namespaces"
_SOURCES = "the registry copies the two data sources of a claim"
EXPECTED_FAILURES: dict[str, str] = {
    "cr-metadata/1": "whole doubles are written without a point by whoever encodes them",
    "daemonset/0": "the registry counts the generations of a template",
    "job-minimal/0": _OWNED,
    "job-pod-failure-policy/0": _OWNED,
    "namespace/0": _FINALIZER,
    "namespace/1": _FINALIZER,
    "persistentvolumeclaim/2": _SOURCES,
    "persistentvolumeclaim/3": _SOURCES,
    **{f"pod-resources/{step}": _STATUS for step in range(4)},
    **{f"pod-scheduling/{step}": _STATUS for step in range(2)},
    **{f"pod-status-is-not-taken/{step}": _STATUS for step in range(3)},
    "resourcequota/0": _STATUS,
    "secret/4": "the store turns a null of bytes into an empty text",
    **{f"service-cluster-ip/{step}": _ADDRESSES for step in range(2)},
    **{f"service-headless/{step}": _ADDRESSES for step in range(2)},
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
    gvk = decoding.kind_of(body)
    node = schema.for_kind(gvk)
    text = json.dumps(body).encode()
    if node is not None:
        return hub.through(gvk, defaults.apply(gvk, decoding.decode(node, text).object))
    kinds = (kind for definition in given for kind in crd.custom_kinds(definition).values())
    return next(kind for kind in kinds if kind.resource.gvk == gvk).decode(text).object


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
    """Without the generation, which the registry counts, and with times as vague as they were recorded."""
    if like == "<time>" and isinstance(value, str):
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
    got, expected = comparable(got, answer), comparable(answer, None)
    return None if ledger.same(expected, got) else f"{expected} is not {got}"


def test_created_objects_are_as_the_recorded_server_answered_them(record_property: ledger.Record) -> None:
    rows = list(creations())
    found = {name: ledger.attempt(partial(wrong, given, step, answer)) for name, given, step, answer in rows}
    failures = {name: text for name, text in found.items() if text is not None}
    ledger.settle(record_property, "kinds-defaults", ran=found, failures=failures, expected=EXPECTED_FAILURES)
