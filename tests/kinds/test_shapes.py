"""Schemas as structured merge sees them."""

from typing import Any

import pytest

from kadmit.kinds import schema, shapes
from kadmit.kinds.catalog import Gvk
from kadmit.patch.shapes import Atomic, Deduced, Lazy, Leaf, ListShape, MapShape, Scalar, Shape

POD = ("", "v1", "Pod")
PORT_KEYS = ("containerPort", "protocol")


def at(kind: Gvk, *path: str) -> Shape:
    """The shape of a place; [] is an item of a list, * a value of a map."""
    shape = shapes.for_kind(kind)
    for name in path:
        if name == "[]":
            assert isinstance(shape, ListShape)
            shape = shape.element
        else:
            assert isinstance(shape, MapShape)
            shape = shape.element if name == "*" else shape.fields[name]
    assert shape is not None
    return shape


def custom(raw: dict[str, Any], *, preserve_unknown: bool = False) -> Shape:
    return shapes.of_custom(schema.custom(raw), preserve_unknown=preserve_unknown)


@pytest.mark.parametrize(
    ("kind", "path", "scalar"),
    [
        (POD, ("spec", "hostname"), Scalar.STRING),
        (POD, ("spec", "hostNetwork"), Scalar.BOOLEAN),
        (POD, ("spec", "priority"), Scalar.NUMERIC),
        (POD, ("metadata", "creationTimestamp"), Scalar.UNTYPED),
        (POD, ("spec", "containers", "[]", "resources", "limits", "*"), Scalar.UNTYPED),
        (("", "v1", "Secret"), ("data", "*"), Scalar.STRING),
        (("coordination.k8s.io", "v1", "Lease"), ("spec", "renewTime"), Scalar.UNTYPED),
    ],
)
def test_scalars(kind: Gvk, path: tuple[str, ...], scalar: Scalar) -> None:
    assert at(kind, *path) == Leaf(scalar)


@pytest.mark.parametrize(
    ("kind", "path", "associative", "keys", "defaults"),
    [
        (POD, ("spec", "containers"), True, ("name",), {"name": ""}),
        (
            POD,
            ("spec", "containers", "[]", "ports"),
            True,
            ("containerPort", "protocol"),
            {"containerPort": 0, "protocol": "TCP"},
        ),
        (POD, ("spec", "containers", "[]", "args"), False, (), {}),
        (POD, ("spec", "tolerations"), False, (), {}),
        (POD, ("metadata", "finalizers"), True, (), {}),
        (POD, ("metadata", "ownerReferences"), True, ("uid",), {"uid": ""}),
        (POD, ("metadata", "managedFields"), False, (), {}),
        (("", "v1", "Service"), ("spec", "ports"), True, ("port", "protocol"), {"port": 0, "protocol": "TCP"}),
    ],
)
def test_lists(kind: Gvk, path: tuple[str, ...], associative: bool, keys: tuple[str, ...], defaults: object) -> None:
    shape = at(kind, *path)
    assert isinstance(shape, ListShape)
    assert (shape.associative, shape.keys, shape.defaults) == (associative, keys, defaults)


@pytest.mark.parametrize(
    ("kind", "path"),
    [
        (("", "v1", "Service"), ("spec", "selector")),
        (POD, ("spec", "nodeSelector")),
        (("apps", "v1", "Deployment"), ("spec", "selector")),
    ],
)
def test_atomic_maps_and_structs(kind: Gvk, path: tuple[str, ...]) -> None:
    shape = at(kind, *path)
    assert isinstance(shape, MapShape)
    assert shape.atomic


def test_raw_objects_are_owned_whole_and_untyped_ones_are_deduced() -> None:
    assert at(("apps", "v1", "ControllerRevision"), "data") == Atomic()
    assert at(POD, "metadata", "managedFields", "[]", "fieldsV1") == MapShape(element=Deduced())
    assert at(("", "v1", "Service"), "spec", "ports", "[]", "targetPort") == Deduced()


def test_a_schema_that_holds_itself_ends_in_a_lazy_shape() -> None:
    crd = ("apiextensions.k8s.io", "v1", "CustomResourceDefinition")
    lazy = at(crd, "spec", "versions", "[]", "schema", "openAPIV3Schema", "properties", "*")
    assert isinstance(lazy, Lazy)
    assert lazy.resolve() is at(crd, "spec", "versions", "[]", "schema", "openAPIV3Schema")


@pytest.mark.parametrize(
    ("raw", "expected"),
    [
        ({"type": "string", "format": "date-time"}, Leaf(Scalar.UNTYPED)),
        ({"type": "string", "format": "byte"}, Leaf(Scalar.STRING)),
        ({"x-kubernetes-int-or-string": True}, Deduced()),
        ({"type": "object"}, MapShape(element=Deduced())),
        ({"type": "object", "properties": {"a": {"type": "string"}}}, MapShape({"a": Leaf(Scalar.STRING)})),
        (
            {"type": "object", "properties": {"a": {"type": "string"}}, "x-kubernetes-preserve-unknown-fields": True},
            MapShape({"a": Leaf(Scalar.STRING)}, Deduced()),
        ),
        ({"type": "object", "additionalProperties": {"type": "integer"}}, MapShape(element=Leaf(Scalar.NUMERIC))),
        ({"type": "object", "additionalProperties": True}, MapShape(element=Deduced())),
        ({"type": "array", "items": {"type": "string"}}, ListShape(Leaf(Scalar.STRING))),
        (
            {"type": "array", "items": {"type": "string"}, "x-kubernetes-list-type": "set"},
            ListShape(Leaf(Scalar.STRING), associative=True),
        ),
        (
            {"type": "object", "x-kubernetes-map-type": "atomic", "additionalProperties": {"type": "string"}},
            MapShape(element=Leaf(Scalar.STRING), atomic=True),
        ),
    ],
)
def test_custom_schemas(raw: dict[str, Any], expected: Shape) -> None:
    assert custom(raw) == expected


def test_preserving_unknown_fields_reaches_down() -> None:
    inner = {"type": "object", "properties": {"x": {"type": "string"}}}
    raw = {"type": "object", "x-kubernetes-preserve-unknown-fields": True, "properties": {"a": inner}}
    shape = custom(raw)
    assert isinstance(shape, MapShape)
    assert shape.fields["a"] == MapShape({"x": Leaf(Scalar.STRING)}, Deduced())
    assert custom(inner, preserve_unknown=True) == shape.fields["a"]


def test_a_custom_key_without_default_has_none() -> None:
    item = {"type": "object", "properties": {"k": {"type": "string"}, "p": {"type": "string", "default": "TCP"}}}
    shape = custom({"type": "array", "items": item, "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["k", "p"]})
    assert isinstance(shape, ListShape)
    assert (shape.keys, shape.defaults) == (("k", "p"), {"p": "TCP"})
