"""A good suite in which any one value is replaced by something odd: its mistakes are located, or its cases are judged."""

import json
import re
from collections.abc import Iterator
from typing import Any, TypeAlias

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.authoring import suites
from tests.authoring.suites import SETTINGS, WEBHOOKS

from kadmit.api import yaml
from kadmit.authoring.suite.model import BadSuite

Path: TypeAlias = tuple[str | int, ...]

POD = {
    "apiVersion": "v1",
    "kind": "Pod",
    "metadata": {"name": "run", "namespace": "shop"},
    "spec": {"containers": [{"name": "a", "image": "b"}]},
}
EVICTION = {"apiVersion": "policy/v1", "kind": "Eviction", "metadata": {"name": "run", "namespace": "shop"}}
REPLIES = [
    {"allow": True, "warnings": ["w"], "auditAnnotations": {"k": "v"}},
    {"deny": {"code": 400, "message": "m"}},
    {"fail": "x"},
]
SUITE: dict[str, Any] = {
    "policies": ["validating.yaml", "mutating.yaml", *(d.value for d in yaml.load_all(WEBHOOKS))],
    "fixtures": [POD, "settings.yaml"],
    "namespaces": {"shop": {"tier": "front"}, "other": None},
    "webhooks": {"change.example.com": REPLIES, "judge.example.com": "timeout"},
    "defaults": {"user": {"name": "a", "groups": ["g"], "uid": "u", "extra": {"k": ["v"]}}, "namespace": "shop", "dryRun": False},
    "cases": [
        {
            "name": "a",
            "object": yaml.load(SETTINGS).value,
            "variations": [
                {"name": "b", "patch": {"data": {"label": "x"}}, "expect": {"partial": {"data": {"label": "x"}}}},
                {"name": "c", "patch": [{"op": "add", "path": "/data/label", "value": "x"}], "expect": {"warnings": ["w"]}},
                {
                    "name": "d",
                    "expect": {"denied": {"code": 422, "by": "levels", "message": {"contains": ["x"], "matches": "^x"}}},
                },
            ],
        },
        {"name": "e", "oldObject": POD, "subresource": "exec", "options": {"command": ["sh"]}, "expect": "admitted"},
        {"name": "f", "oldObject": POD, "object": EVICTION, "subresource": "eviction", "expect": {"golden": "g/{case}.yaml"}},
        {"name": "g", "object": POD, "operation": "DELETE", "expect": {"admitted": True, "auditAnnotations": {"k": "v"}}},
        {
            "name": "h",
            "object": "settings.yaml#settings",
            "fieldValidation": "Warn",
            "webhooks": {"change.example.com": {"response": {"allowed": True, "patchType": "JSONPatch", "patch": "W10="}}},
            "expect": {"webhooks": [{"name": "change.example.com", "sent": {"operation": "CREATE"}}], "object": "settings.yaml"},
        },
    ],
}
ODD: list[Any] = [
    *(None, True, False, 0, -1, 2**70, 1.5, "", "x", "../..", "\n", "é\x1b", "{case}", "a#9", "::", "**x", "(a+)+$"),
    *([], [None], [[]], ["x"], [1], {}, {"x": None}, {"": {}}, {"contains": 5}, {"matches": "["}, {"contains": []}),
    *([{"op": "add"}], [{"op": "remove", "path": ""}], [{"op": "replace", "path": "", "value": []}]),
    *({"apiVersion": "v1", "kind": "Pod"}, {"apiVersion": 5, "kind": []}),
]
LOCATED = re.compile(r"suites/kadmit-test\.yaml:[0-9]+:[0-9]+: \S.*")


def paths(value: Any, path: Path = ()) -> Iterator[Path]:
    yield path
    inside = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, member in inside:
        yield from paths(member, (*path, key))


def replaced(value: Any, path: Path, odd: Any) -> Any:
    if not path:
        return odd
    key, *rest = path
    changed = replaced(value[key], tuple(rest), odd)
    if isinstance(value, dict):
        return {**value, key: changed}
    return [changed if i == key else member for i, member in enumerate(value)]


def test_untouched_it_is_a_suite_without_errors() -> None:
    found = suites.judged(suites.read(json.dumps(SUITE)))
    assert {judged.verdict for judged in found.values()} <= {"passed", "failed"}


def told(text: str) -> list[str]:
    """Mistakes, or errors of cases."""
    try:
        suite = suites.read(text)
    except BadSuite as e:
        return str(e).split("\n")
    return [judged.detail for judged in suites.judged(suite).values() if "internal error" in judged.detail]


@settings(max_examples=200, suppress_health_check=[HealthCheck.too_slow])
@given(st.sampled_from(list(paths(SUITE))), st.sampled_from(ODD))
def test_whatever_is_odd_is_located_or_judged(path: Path, odd: Any) -> None:
    assert [line for line in told(json.dumps(replaced(SUITE, path, odd))) if not LOCATED.fullmatch(line)] == []


@pytest.mark.parametrize("odd", [True, 1.5, "x", {"a": 1}])
def test_webhooks_of_a_configuration_may_be_no_list(odd: Any) -> None:
    found = suites.judged(
        suites.read(
            json.dumps(replaced({**SUITE, "webhooks": {}, "cases": SUITE["cases"][1:2]}, ("policies", 2, "webhooks"), odd))
        )
    )
    assert [judged.verdict for judged in found.values()] == ["error"]
