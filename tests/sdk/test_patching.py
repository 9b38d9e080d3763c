"""The patch of what a handler changed: applied it gives the object, and it is as small as jsondiff's."""

import copy
import datetime
from typing import Any

import orjson
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kadmit.patch import jsondiff, jsonpatch
from kadmit.webhook.patching import Json, operations

POD: Json = {
    "metadata": {"name": "web", "labels": {"app": "web"}},
    "spec": {
        "containers": [{"name": "a", "image": "a:1", "ports": [{"containerPort": 80}]}, {"name": "b", "image": "b:1"}],
        "replicas": 1,
    },
}


def changed(**places: Any) -> Json:
    """The Pod with other values at places such as spec__replicas."""
    made = copy.deepcopy(POD)
    for place, value in places.items():
        *parents, last = [int(part) if part.isdigit() else part for part in place.split("__")]
        inside: Any = made
        for parent in parents:
            inside = inside[parent]
        inside[last] = value
    return made


CASES = {
    "nothing": (POD, []),
    "a label": (changed(metadata__labels__team="x"), [{"op": "add", "path": "/metadata/labels/team", "value": "x"}]),
    "a key with signs": (
        changed(**{"metadata__labels__a/b~c": "x"}),
        [{"op": "add", "path": "/metadata/labels/a~1b~0c", "value": "x"}],
    ),
    "a number that became a float": (changed(spec__replicas=1.0), [{"op": "replace", "path": "/spec/replicas", "value": 1.0}]),
    "a number that became true": (changed(spec__replicas=True), [{"op": "replace", "path": "/spec/replicas", "value": True}]),
    "a field of an item": (
        changed(spec__containers__1__image="b:2"),
        [{"op": "replace", "path": "/spec/containers/1/image", "value": "b:2"}],
    ),
    "an item at the end": (
        changed(spec__containers=[*POD["spec"]["containers"], {"name": "c"}]),
        [{"op": "add", "path": "/spec/containers/2", "value": {"name": "c"}}],
    ),
    "an item at the start": (
        changed(spec__containers=[{"name": "c"}, *POD["spec"]["containers"]]),
        [{"op": "add", "path": "/spec/containers/0", "value": {"name": "c"}}],
    ),
    "an item less": (changed(spec__containers=POD["spec"]["containers"][:1]), [{"op": "remove", "path": "/spec/containers/1"}]),
    "a tuple for a list": (changed(spec__containers=tuple(POD["spec"]["containers"])), []),
    "a date": (
        changed(metadata__labels__at=datetime.date(2026, 1, 2)),
        [{"op": "add", "path": "/metadata/labels/at", "value": datetime.date(2026, 1, 2)}],
    ),
    "another kind of value": (changed(spec__containers="none"), [{"op": "replace", "path": "/spec/containers", "value": "none"}]),
}


@pytest.mark.parametrize(("after", "expected"), CASES.values(), ids=CASES)
def test_a_change_is_one_operation(after: Json, expected: list[Json]) -> None:
    assert operations(POD, after) == expected


def test_an_order_of_keys_is_no_change() -> None:
    assert operations({"a": {"b": 1, "c": [{"d": 1, "e": 2}]}}, {"a": {"c": [{"e": 2, "d": 1}], "b": 1}}) == []


def test_what_is_no_json_is_refused() -> None:
    with pytest.raises(TypeError):
        operations(POD, changed(metadata__labels={1, 2}))


_scalars = st.none() | st.booleans() | st.integers(-3, 3) | st.sampled_from([0.0, 1.0, 2.5]) | st.text("ab/~", max_size=3)
_values = st.recursive(
    _scalars,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text("ab/~", max_size=2), inner, max_size=4),
    max_leaves=20,
)
_objects = st.dictionaries(st.text("abc", max_size=2), _values, max_size=4)


@settings(max_examples=400)
@given(_objects, _objects)
def test_applied_it_gives_the_object(before: Json, after: Json) -> None:
    patch = operations(before, after)
    made = jsonpatch.decode(orjson.dumps(patch)).apply(before) if patch else before
    assert orjson.dumps(made, option=orjson.OPT_SORT_KEYS) == orjson.dumps(after, option=orjson.OPT_SORT_KEYS)


@settings(max_examples=200)
@given(_objects, _objects)
def test_it_is_hardly_larger_than_that_of_jsondiff(before: Json, after: Json) -> None:
    """Which may replace the whole object at its root, as this one must not."""
    ours, theirs = operations({"o": before}, {"o": after}), jsondiff.diff({"o": before}, {"o": after})
    assert len(orjson.dumps(ours)) <= len(orjson.dumps(theirs)) + 8
