"""Partial objects: what holds one, and what is told where it does not."""

# ruff: noqa: E501  a case is one line of a table, however long

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kadmit.api.meta import GroupVersionKind
from kadmit.authoring.suite.partial import mismatches
from kadmit.kinds.known import Known
from kadmit.patch.shapes import Deduced

POD = Known().shape(GroupVersionKind("", "v1", "Pod"))
FOUND = {
    "metadata": {"name": "p", "finalizers": ["a", "b"], "labels": {"example.com/x": "1"}},
    "spec": {
        "containers": [
            {"name": "one", "image": "i", "args": ["-v", "-x"], "resources": {"limits": {"cpu": "1"}}},
            {"name": "two", "image": "j", "ports": [{"containerPort": 80, "protocol": "TCP", "name": "web"}]},
        ],
        "hostNetwork": True,
    },
}


@pytest.mark.parametrize(
    "expected",
    [
        {},
        {"spec": {"hostNetwork": True}},
        {"spec": {"containers": [{"name": "two", "image": "j"}]}},
        {"spec": {"containers": [{"name": "two"}, {"name": "one"}]}},
        {"spec": {"containers": [{"name": "two", "ports": [{"containerPort": 80, "name": "web"}]}]}},
        {"spec": {"containers": [{"name": "one", "args": ["-v", "-x"]}]}},
        {"spec": {"containers": [{"name": "one", "resources": {"limits": {"cpu": 1}}}]}},
        {"spec": {"nodeName": None, "volumes": None}},
        {"metadata": {"finalizers": ["b"]}},
    ],
    ids=str,
)
def test_an_object_holds_its_parts(expected: dict[str, Any]) -> None:
    assert list(mismatches(expected, FOUND, POD)) == []


@pytest.mark.parametrize(
    ("expected", "told"),
    [
        ({"spec": {"hostNetwork": 1}}, "spec.hostNetwork: expected 1, found true"),
        ({"spec": {"hostNetwork": None}}, "spec.hostNetwork: expected nothing, found true"),
        ({"spec": {"nodeName": "n"}}, 'spec.nodeName: expected "n", found nothing'),
        ({"spec": {"containers": [{"name": "three"}]}}, 'spec.containers[name=three]: expected {"name":"three"}, found nothing'),
        ({"spec": {"containers": [{"name": "two", "image": "i"}]}}, 'spec.containers[name=two].image: expected "i", found "j"'),
        ({"spec": {"containers": [{"image": "i"}]}}, "spec.containers: expected 1 elements, found 2: "),
        ({"spec": {"containers": [{"name": "one", "args": ["-v"]}]}}, "spec.containers[name=one].args: expected 1 elements, found 2"),
        ({"spec": {"containers": [{"name": "one", "args": ["-v", "-y"]}]}}, 'spec.containers[name=one].args[1]: expected "-y", found "-x"'),
        ({"spec": {"containers": {}}}, "spec.containers: expected {}, found ["),
        ({"metadata": {"finalizers": ["c"]}}, 'metadata.finalizers: expected "c" to be in it, found ["a","b"]'),
        ({"metadata": {"labels": {"example.com/x": "2"}}}, 'metadata.labels[example.com/x]: expected "2", found "1"'),
    ],
)  # fmt: skip
def test_a_part_that_is_not_there_is_told_with_its_path(expected: dict[str, Any], told: str) -> None:
    found = list(mismatches(expected, FOUND, POD))
    assert len(found) == 1
    assert found[0].startswith(told)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-5, 5) | st.text("ab", max_size=2),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from("abc"), inner, max_size=3),
    max_leaves=8,
)


@given(JSON)
def test_everything_holds_itself(value: object) -> None:
    assert list(mismatches(value, value, None)) == []
    assert list(mismatches(value, value, Deduced())) == []


@given(st.dictionaries(st.sampled_from("abc"), JSON.filter(lambda v: v is not None), max_size=3), st.sampled_from("abc"))
def test_what_holds_the_whole_holds_less(value: dict[str, Any], key: str) -> None:
    less = {k: v for k, v in value.items() if k != key}
    assert list(mismatches(less, value, None)) == []
    assert bool(list(mismatches(value, less, None))) == (key in value)
