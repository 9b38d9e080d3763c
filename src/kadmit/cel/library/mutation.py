"""`Object{…}` and `JSONPatch{…}`: what the expressions of a mutation are made of.

`Object` and `Object.a.b` are types without a schema: every field exists and is dyn. Only when a mutation is applied
are type names held against the path at which they stand, and values against the kind's schema.
"""

from collections.abc import Callable

from kadmit.cel import operators, types, work
from kadmit.cel.operators import MISSING
from kadmit.cel.types import DYN, STRING, Type
from kadmit.cel.values import CelError, MapValue, Optional, Value, go_name

OBJECT = "Object"
JSON_PATCH = "JSONPatch"
JSON_PATCH_TYPE = types.struct(JSON_PATCH)
OBJECT_TYPE = types.struct(OBJECT)
_PATCH_FIELDS = {"op": STRING, "path": STRING, "from": STRING, "value": DYN}


class ObjectValue:
    """A value of `Object` or one of its nested types."""

    __slots__ = ("cel_type", "fields")
    go_name = "*dynamic.ObjectVal"
    type_value = types.TYPE

    def __init__(self, cel_type: Type, fields: dict[str, Value]) -> None:
        self.cel_type = cel_type
        self.fields = fields

    def equals(self, other: Value) -> Value:
        return other.__class__ is ObjectValue and deeply_equal(self, other)

    def is_zero(self) -> bool:
        return not self.fields


class JSONPatchValue:
    """One operation. `value` is MISSING where none was given."""

    __slots__ = ("from_", "op", "path", "value")
    cel_type = JSON_PATCH_TYPE
    go_name = "*mutation.JSONPatchVal"
    type_value = types.TYPE

    def __init__(self, op: str = "", path: str = "", from_: str = "", value: Value = MISSING) -> None:
        self.op = op
        self.path = path
        self.from_ = from_
        self.value = value

    def equals(self, other: Value) -> Value:
        if other.__class__ is not JSONPatchValue:
            return False
        if (self.op, self.path, self.from_) != (other.op, other.path, other.from_):
            return False
        if self.value is MISSING or other.value is MISSING:
            return self.value is other.value
        return operators.equal(self.value, other.value)

    def get_field(self, name: Value) -> Value:
        if name not in _PATCH_FIELDS:
            return CelError(f"unsupported indexer: {name}")
        value = getattr(self, "from_" if name == "from" else name)
        return None if value is MISSING else value

    def has_field(self, name: Value) -> Value:
        if name not in _PATCH_FIELDS:
            return CelError(f"unsupported field: {name}")
        value = getattr(self, "from_" if name == "from" else name)
        return value is not MISSING if name == "value" else len(value) > 0


def deeply_equal(a: Value, b: Value) -> bool:
    """Equality of Object fields: same class and same content; a list equals only itself, as in Kubernetes."""
    if a is b:
        return True
    if a.__class__ is not b.__class__ or a.__class__ is list:
        return False
    if a.__class__ is ObjectValue:
        return bool(a.cel_type.name == b.cel_type.name) and deeply_equal(a.fields, b.fields)
    if a.__class__ is dict:
        work.spend_visit(len(a))
        return a.keys() == b.keys() and all(deeply_equal(a[k], b[k]) for k in a)
    return bool(a == b)


class MutationTypes:
    """The type provider of mutations."""

    __slots__ = ()

    def struct(self, name: str) -> Type | None:
        if name == JSON_PATCH:
            return JSON_PATCH_TYPE
        return types.struct(name) if name == OBJECT or name.startswith("Object.") else None

    def field(self, struct_name: str, field_name: str) -> Type | None:
        if struct_name == JSON_PATCH:
            # NB: a field that JSONPatch does not have has no type at all, which nothing can be assigned to.
            return _PATCH_FIELDS.get(field_name, NO_TYPE)
        return DYN

    def maker(self, name: str) -> Callable[[dict[str, Value]], Value] | None:
        if name == JSON_PATCH:
            return _make_patch
        struct = self.struct(name)
        return None if struct is None else lambda fields: ObjectValue(struct, fields)

    def reader(self, name: str, field: str) -> Callable[[Value], Value] | None:
        if name == JSON_PATCH or self.struct(name) is None:
            return None
        return lambda value: _read(value, field)


NO_TYPE = Type(types.Kind.OPAQUE, "")


def _read(value: Value, field: str) -> Value:
    """An Object's field, or MISSING. Reading turns the object into plain maps first, as Kubernetes does."""
    plain = to_plain(value) if value.__class__ is ObjectValue else value
    if plain.__class__ is dict:
        return plain.get(field, MISSING)
    return CelError(f'cannot get field "{field}"')


def to_plain(value: ObjectValue) -> "dict[str, Value] | CelError":
    """An Object as a map: nested objects become maps; a map in it must have string keys."""
    plain: dict[str, Value] = {}
    for name, field in value.fields.items():
        converted = _plain_field(field)
        if converted.__class__ is CelError:
            return CelError(f'fail to convert field "{name}": {converted.message}')
        plain[name] = converted
    return plain


def _plain_field(value: Value) -> Value:
    kind = value.__class__
    if kind is list:
        return [_plain_value(v) for v in value]
    if kind is dict:
        return {k: _plain_value(v) for k, v in value.items()}
    if kind is MapValue:
        key = next(k for k in value if k.__class__ is not str)
        return CelError(f"map key {_quoted(key)} is of type {go_name(key)}, not string")
    return _plain_value(value)


def _plain_value(value: Value) -> Value:
    if value.__class__ is ObjectValue:
        return to_plain(value)
    return _plain_value(value.value) if value.__class__ is Optional else value


_GO_NATIVE = {int: "int64", bool: "bool", float: "float64", bytes: "[]uint8", type(None): "structpb.NullValue", list: "[]ref.Val"}


def _make_patch(fields: dict[str, Value]) -> Value:
    for name in ("op", "path", "from"):
        given = fields.get(name, "")
        if given.__class__ is not str:
            text = _GO_NATIVE.get(given.__class__, given.__class__.__name__)
            return CelError(f"unexpected type {text} for JSONPatchType '{name}' field")
    return JSONPatchValue(fields.get("op", ""), fields.get("path", ""), fields.get("from", ""), fields.get("value", MISSING))


def _quoted(key: Value) -> str:
    """A map key as Go's %q prints it: numbers as characters."""
    return f"'{chr(key)}'" if key.__class__ is int and 31 < key < 127 else f"'\\x{key:02x}'" if key.__class__ is int else f"{key}"
