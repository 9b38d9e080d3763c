"""The short way of a create gives the answers of the long one, and is taken where objects are ordinary."""

import copy
import json
from collections.abc import Iterator
from contextlib import contextmanager
from typing import cast

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.patch.pods import POD, json_values, pods

from kadmit.api.meta import GroupVersionKind
from kadmit.kinds import blanks, shapes
from kadmit.patch import firstowner, managedfields
from kadmit.patch.fieldpath import EMPTY, excluding
from kadmit.patch.managedfields import Scope
from kadmit.patch.shapes import Shape
from kadmit.patch.typed import Object

NOW = "2026-01-01T00:00:00Z"
BLANKS: list[Object] = [
    {},
    {"metadata": {}, "spec": {}, "status": {}},
    {"metadata": {}, "spec": {"containers": None, "hostname": "", "replicas": 0, "open": {}, "raw": None}, "status": {}},
]


def scope_of(shape: Shape, blank: Object, api_version: str = "v1", kind: str = "Pod") -> Scope:
    resets = {api_version: excluding(("status",))}
    return Scope(api_version, kind, lambda _: shape, lambda value, _: value, blank=blank, resets=resets)


def created(scope: Scope, value: Object) -> Object:
    return managedfields.update(scope, None, value, manager="maker", now=NOW)


@contextmanager
def only_the_long_way() -> Iterator[None]:
    def refuse(*_: object, **__: object) -> None:
        raise firstowner.Unusual

    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(firstowner, "fields_of", refuse)
        yield


def assert_both_ways_agree(scope: Scope, value: Object) -> None:
    before = copy.deepcopy(value)
    found = json.dumps(created(scope, value))  # NB: as text, since the order of fields counts
    with only_the_long_way():
        assert found == json.dumps(created(scope, value))
    assert value == before


@st.composite
def spoiled(draw: st.DrawFn) -> Object:
    """A pod with any JSON at one place: wrong types, unknown fields, items twice."""
    value = draw(pods())
    places = list(_places(value))
    if places:
        held, key = draw(st.sampled_from(places))
        if isinstance(held, list) and draw(st.booleans()):
            held.append(copy.deepcopy(held[cast("int", key)]))
        else:
            held[key] = draw(json_values())  # type: ignore[index]
    return value


def _places(value: object) -> Iterator[tuple[dict[str, object] | list[object], str | int]]:
    parts: list[tuple[str | int, object]] = []
    if isinstance(value, dict):
        parts = list(value.items())
    elif isinstance(value, list):
        parts = list(enumerate(value))
    for key, part in parts:
        yield cast("dict[str, object]", value), key
        yield from _places(part)


@settings(max_examples=150)
@given(pods(), st.sampled_from(BLANKS))
def test_both_ways_agree_on_what_fits(value: Object, blank: Object) -> None:
    assert_both_ways_agree(scope_of(POD, blank), {**value, "apiVersion": "v1", "kind": "Pod"})


@settings(max_examples=150)
@given(spoiled(), st.sampled_from(BLANKS))
def test_both_ways_agree_on_what_does_not_fit(value: Object, blank: Object) -> None:
    assert_both_ways_agree(scope_of(POD, blank), value)


# -- kinds as they are --------------------------------------------------------------------------------------------------

CONTAINER = {
    "name": "web",
    "image": "nginx",
    "args": ["a"],
    "env": [
        {"name": "B", "value": "1"},
        {"name": "A", "valueFrom": {"fieldRef": {"fieldPath": "metadata.name"}}},
        {"name": "é<"},
    ],
    "ports": [{"containerPort": 81}, {"containerPort": 80, "protocol": "UDP"}, {"containerPort": 80, "name": "http"}],
    "resources": {"limits": {"cpu": "1"}, "requests": {}},
}
POD_SPEC = {
    "containers": [{**CONTAINER, "name": "b"}, CONTAINER],
    "volumes": [{"name": "v", "emptyDir": {}}],
    "nodeSelector": {"a": "b"},
    "tolerations": [{"key": "x"}],
}
METADATA = {
    "name": "web",
    "namespace": "default",
    "labels": {"b": "1", "a": "2"},
    "annotations": {},
    "finalizers": ["b/x", "a/x"],
    "ownerReferences": [{"uid": "2", "name": "n", "kind": "K", "apiVersion": "v1"}],
}
REAL: list[tuple[GroupVersionKind, Object]] = [
    (GroupVersionKind("", "v1", "Pod"), {"spec": POD_SPEC, "status": {"phase": "Pending"}}),
    (
        GroupVersionKind("apps", "v1", "Deployment"),
        {"spec": {"replicas": 2, "selector": {"matchLabels": {"a": "b"}}, "template": {"metadata": {}, "spec": POD_SPEC}}},
    ),
    (
        GroupVersionKind("", "v1", "Service"),
        {
            "spec": {
                "ports": [{"port": 80}, {"port": 80, "protocol": "UDP"}, {"port": 8, "protocol": "TCP"}],
                "selector": {"a": "b"},
            }
        },
    ),
    (GroupVersionKind("", "v1", "ConfigMap"), {"data": {"b": "1", "a": ""}, "binaryData": {"c": ""}, "immutable": False}),
    (GroupVersionKind("", "v1", "Secret"), {"type": "Opaque", "data": {}}),
    (
        GroupVersionKind("admissionregistration.k8s.io", "v1", "MutatingWebhookConfiguration"),
        {
            "webhooks": [
                {"name": "b.x.y", "clientConfig": {"url": "https://x"}, "rules": [{"operations": ["*"]}]},
                {"name": "a.x.y"},
            ]
        },
    ),
]


@pytest.mark.parametrize(("kind", "content"), REAL, ids=[kind.kind for kind, _ in REAL])
def test_ordinary_objects_take_the_short_way_to_the_same_answer(kind: GroupVersionKind, content: Object) -> None:
    shape = shapes.for_kind(kind)
    assert shape is not None
    version = str(kind.group_version)
    value: Object = {"apiVersion": version, "kind": kind.kind, "metadata": METADATA, **content}
    blank = dict(blanks.blank(kind))
    assert firstowner.fields_of(shape, blank, value, never=EMPTY, excluded=EMPTY)
    assert_both_ways_agree(scope_of(shape, blank, version, kind.kind), value)


def test_a_schema_that_holds_itself_is_followed_as_far_as_the_value_goes() -> None:
    inner: Object = {"type": "string"}
    for _ in range(50):
        inner = {"type": "object", "properties": {"a": inner, "b": {"type": "string"}}}
    assert_both_ways_agree(scope_of(POD, {}), {"metadata": {}, "spec": {"schema": inner}})


def test_what_is_nested_too_deeply_has_no_owner() -> None:
    inner: Object = {}
    for _ in range(20_000):
        inner = {"a": inner}
    value: Object = {"metadata": {}, "spec": {"raw": inner}}
    assert created(scope_of(POD, {}), value) is value


def test_what_is_remembered_is_bounded_and_may_be_forgotten_at_any_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(firstowner, "_writers", {})
    monkeypatch.setattr(firstowner, "_MOST_WRITERS", 3)
    monkeypatch.setattr(firstowner, "_MOST_PLANS", 1)
    for content in ({"image": "a"}, {"tty": True}, {"image": "a", "tty": True}):
        containers = [{"name": "a", **content}, {"name": "b", "env": [{"name": "X", "value": "1"}, {"name": "Y"}]}]
        assert_both_ways_agree(scope_of(POD, {}), {"metadata": {}, "spec": {"containers": containers, "schema": {"type": "a"}}})
        assert len(firstowner._writers) <= 3
