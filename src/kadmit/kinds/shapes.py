"""Schemas as structured merge needs them: the rules by which Kubernetes makes merge types of OpenAPI.

The rules that surprise:
- A list without a list type is atomic, unless an old patch strategy says `merge`.
- A text with any format but `byte` takes every scalar, so times do; so do quantities.
- No type at all (int-or-string, JSON) is deduced from the value. An object without known fields deduces them.
- `preserve-unknown-fields` holds for everything beneath it, not only for its own fields.
- A key that an item leaves out counts as its field's default, and built-in names default to "".
"""

import functools
from collections.abc import Mapping
from typing import Any

from msgspec.structs import replace

from kadmit.kinds import schema as schemas
from kadmit.kinds.catalog import Gvk
from kadmit.kinds.schema import Field, Node, Schema
from kadmit.patch.shapes import Atomic, Deduced, Lazy, Leaf, ListShape, MapShape, Scalar, Shape

_SCALARS = {Node.INTEGER: Scalar.NUMERIC, Node.NUMBER: Scalar.NUMERIC, Node.BOOLEAN: Scalar.BOOLEAN, Node.BYTES: Scalar.STRING}
_RAW_EXTENSION = "apimachinery.pkg.runtime.RawExtension"


def for_kind(gvk: Gvk) -> Shape | None:
    """The shape of a built-in kind."""
    schema = schemas.for_kind(gvk)
    return of_definition(schema.name) if schema else None


def of_definition(name: str) -> Shape:
    """The shape of a named built-in schema: made once, shared by all kinds that hold it."""
    made = _made.get(name)
    if made is None:
        _open.add(name)
        try:
            schema = schemas.definition(name)
            made = _made[name] = _new(schema, preserve=schema.preserve_unknown)
        finally:
            _open.discard(name)
    return made


def of_custom(schema: Schema, *, preserve_unknown: bool = False) -> Shape:
    """The shape of a custom kind. preserve_unknown: what the whole definition says."""
    return _shape(schema, preserve=preserve_unknown)


_made: dict[str, Shape] = {}
_open: set[str] = set()  # being made: a schema that meets itself stops there


def _shape(schema: Schema, *, preserve: bool) -> Shape:
    if not schema.name:
        return _new(schema, preserve=preserve or schema.preserve_unknown)
    if schema.name in _open:
        return Lazy(functools.partial(of_definition, schema.name))
    return of_definition(schema.name)


def _new(schema: Schema, *, preserve: bool) -> Shape:
    kind = schema.kind
    if schema.name == _RAW_EXTENSION:
        return Atomic()
    if kind is Node.QUANTITY or kind is Node.TIME or kind is Node.MICRO_TIME:
        return Leaf(Scalar.UNTYPED)
    if kind is Node.ARRAY:
        return _list(schema, preserve=preserve)
    if kind is Node.OBJECT or kind is Node.MAP or kind is Node.RAW:
        return _map(schema, preserve=preserve)
    if kind is Node.STRING:
        return Leaf(Scalar.UNTYPED if schema.format else Scalar.STRING)
    if kind in _SCALARS:
        return Leaf(_SCALARS[kind])
    return _map(schema, preserve=preserve) if schema.fields else Deduced()


def _map(schema: Schema, *, preserve: bool) -> Shape:
    fields = {name: _field(field, preserve=preserve) for name, field in schema.fields.items()}
    return MapShape(fields, _other(schema, preserve=preserve), atomic=schema.map_type == "atomic")


def _field(field: Field, *, preserve: bool) -> Shape:
    shape = _shape(field.schema, preserve=preserve)
    if isinstance(shape, MapShape) and shape.atomic != (field.map_type == "atomic"):
        return replace(shape, atomic=not shape.atomic)
    return shape


def _other(schema: Schema, *, preserve: bool) -> Shape | None:
    """The shape of keys that are no fields."""
    if schema.additional is not None:
        return Deduced() if schema.raw["additionalProperties"] is True else _shape(schema.additional, preserve=preserve)
    if schema.raw.get("additionalProperties") is False:
        return None
    return Deduced() if preserve or not schema.fields else None


def _list(schema: Schema, *, preserve: bool) -> ListShape:
    element = _shape(schema.items, preserve=preserve) if schema.items else Atomic()
    associative, keys = _association(schema)
    return ListShape(element, associative=associative, keys=keys, defaults=_key_defaults(schema.items, keys))


def _association(schema: Schema) -> tuple[bool, tuple[str, ...]]:
    raw = schema.raw
    if schema.list_type:
        return schema.list_type in ("set", "map"), schema.list_keys if schema.list_type == "map" else ()
    if raw.get("x-kubernetes-patch-strategy") in ("merge", "merge,retainKeys"):
        key = raw.get("x-kubernetes-patch-merge-key")
        return True, (key,) if key else ()
    return False, ()


def _key_defaults(items: Schema | None, keys: tuple[str, ...]) -> Mapping[str, Any]:
    if items is None:
        return {}
    fields = (items.fields.get(key) for key in keys)
    return {field.name: field.default for field in fields if field is not None and field.default is not None}
