"""The patch between two documents."""

import pytest
from hypothesis import given
from tests.patch import documents

from kadmit.patch import jsondiff, jsonpatch
from kadmit.patch.equality import same
from kadmit.patch.errors import PatchError

A, B, C = ({"name": name, "image": f"registry.example.com/{name}:1.0"} for name in "abc")

CASES: list[tuple[str, dict[str, object], dict[str, object], object]] = [
    ("nothing", {"a": [1]}, {"a": [1]}, []),
    ("a new key", {"a": "x" * 50}, {"a": "x" * 50, "b": 1}, [{"op": "add", "path": "/b", "value": 1}]),
    ("a lost key", {"a/b": 1, "c": "x" * 50}, {"c": "x" * 50}, [{"op": "remove", "path": "/a~1b"}]),
    (
        "a changed value",
        {"a": {"b": 1, "c": "x" * 50}},
        {"a": {"b": 2, "c": "x" * 50}},
        [{"op": "replace", "path": "/a/b", "value": 2}],
    ),
    ("another number type", {"a": 1, "c": "x" * 50}, {"a": 1.0, "c": "x" * 50}, [{"op": "replace", "path": "/a", "value": 1.0}]),
    ("an item in front", {"l": [B, C]}, {"l": [A, B, C]}, [{"op": "add", "path": "/l/0", "value": A}]),
    ("an item at the end", {"l": [A, B]}, {"l": [A, B, C]}, [{"op": "add", "path": "/l/2", "value": C}]),
    ("an item gone", {"l": [A, B, C]}, {"l": [A, C]}, [{"op": "remove", "path": "/l/1"}]),
    (
        "an item changed among new ones",
        {"l": [A, B]},
        {"l": [C, {**A, "tty": True}, B]},
        [{"op": "add", "path": "/l/0/tty", "value": True}, {"op": "add", "path": "/l/0", "value": C}],
    ),
    ("all different", {"a": {"b": 1, "c": 2}}, {"a": {"d": 3}}, [{"op": "replace", "path": "/a", "value": {"d": 3}}]),
]


@pytest.mark.parametrize(("before", "after", "expected"), [case[1:] for case in CASES], ids=[case[0] for case in CASES])
def test_patch_is_small(before: dict[str, object], after: dict[str, object], expected: object) -> None:
    assert jsondiff.diff(before, after) == expected


@given(documents.OBJECTS, documents.OBJECTS)
def test_patch_makes_the_second_of_the_first(before: dict[str, object], after: dict[str, object]) -> None:
    assert same(jsonpatch.decode(jsondiff.diff(before, after)).apply(before), after)


def test_long_lists_are_compared_within_the_budget() -> None:
    before: dict[str, object] = {"l": [{"n": number, "pad": "x" * 20} for number in range(2_000)]}
    after: dict[str, object] = {"l": [{"n": number + number % 2, "pad": "x" * 20} for number in range(2_100)]}
    assert jsonpatch.decode(jsondiff.diff(before, after)).apply(before) == after


def test_deep_documents_are_refused() -> None:
    deep: dict[str, object] = {}
    for _ in range(900):
        deep = {"a": deep}
    with pytest.raises(PatchError, match="exceeded max depth"):
        jsondiff.diff(deep, {})
