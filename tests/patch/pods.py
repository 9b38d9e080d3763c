"""A kind like Pod, by hand: every way in which a field can be merged occurs once."""

from collections.abc import Mapping
from typing import cast

from hypothesis import strategies as st

from kadmit.patch.shapes import Atomic, Deduced, Lazy, Leaf, ListShape, MapShape, Scalar, Shape

TEXT = Leaf(Scalar.STRING)
NUMBER = Leaf(Scalar.NUMERIC)
FLAG = Leaf(Scalar.BOOLEAN)
ANY = Leaf(Scalar.UNTYPED)

METADATA = MapShape(
    {
        "name": TEXT,
        "namespace": TEXT,
        "uid": TEXT,
        "resourceVersion": TEXT,
        "labels": MapShape(element=TEXT),
        "annotations": MapShape(element=TEXT),
        "finalizers": ListShape(TEXT, associative=True),
        "ownerReferences": ListShape(
            MapShape({"uid": TEXT, "name": TEXT}, atomic=True), associative=True, keys=("uid",), defaults={"uid": ""}
        ),
        "managedFields": ListShape(Atomic()),
    }
)

PORT = MapShape({"containerPort": NUMBER, "protocol": TEXT, "name": TEXT})
VARIABLE = MapShape({"name": TEXT, "value": TEXT, "valueFrom": MapShape({"secretKeyRef": MapShape({"key": TEXT}, atomic=True)})})
CONTAINER = MapShape(
    {
        "name": TEXT,
        "image": TEXT,
        "args": ListShape(TEXT),
        "tty": FLAG,
        "env": ListShape(VARIABLE, associative=True, keys=("name",)),
        "ports": ListShape(PORT, associative=True, keys=("containerPort", "protocol"), defaults={"protocol": "TCP"}),
        "resources": MapShape({"limits": MapShape(element=ANY)}),
    }
)


def _props() -> Shape:
    return PROPS


PROPS = MapShape({"type": TEXT, "properties": MapShape(element=Lazy(_props))})

SPEC = MapShape(
    {
        "replicas": NUMBER,
        "hostname": TEXT,
        "paused": FLAG,
        "port": ANY,
        "containers": ListShape(CONTAINER, associative=True, keys=("name",), defaults={"name": ""}),
        "conditions": ListShape(MapShape({"type": TEXT, "status": TEXT}), associative=True, keys=("type",)),
        "nodeSelector": MapShape(element=TEXT, atomic=True),
        "tolerations": ListShape(MapShape({"key": TEXT})),
        "raw": Deduced(),
        "blob": Atomic(),
        "open": MapShape({"known": TEXT}, element=Deduced()),
        "schema": PROPS,
    }
)

POD = MapShape({"apiVersion": TEXT, "kind": TEXT, "metadata": METADATA, "spec": SPEC, "status": MapShape({"phase": TEXT})})


def json_values() -> st.SearchStrategy[object]:
    scalars = st.none() | st.booleans() | st.integers(-3, 3) | st.sampled_from([0.5, 1.0, 1e21]) | st.sampled_from("ab<é\n")
    return st.recursive(
        scalars,
        lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from("abc"), inner, max_size=3),
        max_leaves=6,
    )


_SCALARS: Mapping[Scalar, st.SearchStrategy[object]] = {
    Scalar.STRING: st.sampled_from("abcd"),
    Scalar.NUMERIC: st.integers(0, 4) | st.just(1.5),
    Scalar.BOOLEAN: st.booleans(),
    Scalar.UNTYPED: st.sampled_from("ab") | st.integers(0, 2) | st.booleans(),
}


def values_of(shape: Shape, *, depth: int = 0) -> st.SearchStrategy[object]:
    """Values that fit a shape; keys of list items occur once."""
    if isinstance(shape, Lazy):
        return st.none() if depth > 5 else values_of(shape.resolve(), depth=depth + 1)
    if isinstance(shape, Leaf):
        return _SCALARS[shape.scalar]
    if isinstance(shape, ListShape):
        return _lists_of(shape, depth)
    if isinstance(shape, MapShape):
        return _maps_of(shape, depth)
    return json_values()


def _maps_of(shape: MapShape, depth: int) -> st.SearchStrategy[object]:
    optional = {name: values_of(child, depth=depth + 1) for name, child in shape.fields.items()}
    named = st.fixed_dictionaries({}, optional=optional)
    if shape.element is None:
        return cast("st.SearchStrategy[object]", named)
    others = st.dictionaries(st.sampled_from("wxyz"), values_of(shape.element, depth=depth + 1), max_size=2)
    return st.builds(lambda known, free: {**free, **known}, named, others)


def _lists_of(shape: ListShape, depth: int) -> st.SearchStrategy[object]:
    items = st.lists(values_of(shape.element, depth=depth + 1), max_size=3)
    if not shape.associative:
        return cast("st.SearchStrategy[object]", items)
    return items.map(lambda found: _once_each(shape, found))


def _once_each(shape: ListShape, items: list[object]) -> list[object]:
    if not shape.keys:
        return list(dict.fromkeys(items))
    keyed = {
        tuple(repr(item.get(key, shape.defaults.get(key))) for key in shape.keys): item
        for item in items
        if isinstance(item, dict)
    }
    return [item for item in keyed.values() if shape.defaults or all(key in item for key in shape.keys)]


def pods() -> st.SearchStrategy[dict[str, object]]:
    return cast("st.SearchStrategy[dict[str, object]]", values_of(POD))
