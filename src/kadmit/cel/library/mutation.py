"""`Object{…}` and `JSONPatch{…}`: what the expressions of a mutation are made of.

`Object` and `Object.a.b` are types without a schema: every field exists and is dyn. Only when a mutation is applied
are type names held against the path at which they stand, and values against the kind's schema.
"""

from collections.abc import Callable

from kadmit.cel import gotext, operators, types, work
from kadmit.cel.operators import MISSING
from kadmit.cel.types import DYN, STRING, Type
from kadmit.cel.unboxing import native
from kadmit.cel.values import CelError, Duration, MapValue, Optional, Timestamp, UInt, Value, go_name

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
    equality_by_size = True

    def __init__(self, cel_type: Type, fields: dict[str, Value]) -> None:
        self.cel_type = cel_type
        self.fields = fields

    def equals(self, other: Value) -> Value:
        return other.__class__ is ObjectValue and deeply_equal(self, other)

    def is_zero(self) -> bool:
        return not self.fields

    def native(self) -> Value:
        return to_plain(self)


class JSONPatchValue:
    """One operation. `value` is MISSING where none was given."""

    __slots__ = ("from_", "op", "path", "value")
    cel_type = JSON_PATCH_TYPE
    go_name = "*mutation.JSONPatchVal"
    type_value = types.TYPE
    equality_by_size = True

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
            return CelError(f"unsupported indexer: {_as_text(name)}")
        value = getattr(self, "from_" if name == "from" else name)
        return None if value is MISSING else value

    def has_field(self, name: Value) -> Value:
        if name not in _PATCH_FIELDS:
            return CelError(f"unsupported field: {_as_text(name)}")
        value = getattr(self, "from_" if name == "from" else name)
        return value is not MISSING if name == "value" else len(value) > 0


def _as_text(key: Value) -> str:
    """A key as Go's %s prints it."""
    return key if key.__class__ is str else f"%!s({go_name(key)}={gotext.display(key)})"


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

    def reader(self, name: str, field: str) -> Callable[..., Value] | None:
        if name == JSON_PATCH or self.struct(name) is None:
            return None
        return lambda value, softly=False: _read(value, field, softly=softly)


NO_TYPE = Type(types.Kind.OPAQUE, "")


def _read(value: Value, field: str, *, softly: bool) -> Value:
    """An Object's field, or MISSING. Reading turns the object into plain maps first, as Kubernetes does."""
    plain = to_plain(value) if value.__class__ is ObjectValue else value
    if plain.__class__ is dict:
        return plain.get(field, MISSING)
    return MISSING if softly else CelError(f'cannot get field "{field}"')


def to_plain(value: ObjectValue) -> "dict[str, Value] | CelError":
    """An Object as a map: nested objects become maps; a map in it must have string keys."""
    plain: dict[str, Value] = {}
    for name, given in value.fields.items():
        field = held(given)
        if field.__class__ is MapValue:
            key = next(k for k in field if k.__class__ is not str)
            return CelError(f'fail to convert field "{name}": map key {quoted(key)} is of type {go_name(key)}, not string')
        plain[name] = _plain_field(field)
    return plain


def held(value: Value) -> Value:
    """What an optional holds, or the value itself."""
    while value.__class__ is Optional and value.present:
        value = value.value
    return value


def _plain_field(value: Value) -> Value:
    """NB: one list or map deep; what lies deeper stays what it is."""
    value = held(value)
    kind = value.__class__
    if kind is list:
        return [native(v) for v in value]
    if kind is dict:
        return {k: native(v) for k, v in value.items()}
    return native(value)


_GO_TYPES: dict[type, str] = {
    bool: "bool",
    bytes: "[]uint8",
    CelError: "*errors.errorString",
    dict: "map[ref.Val]ref.Val",
    Duration: "time.Duration",
    float: "float64",
    int: "int64",
    list: "[]ref.Val",
    MapValue: "map[ref.Val]ref.Val",
    type(None): "structpb.NullValue",
    ObjectValue: "map[string]interface {}",
    Timestamp: "time.Time",
    UInt: "uint64",
}


def go_type(value: Value) -> str:
    """Go's type of a value's Go value."""
    value = held(value)
    if value.__class__ is Optional:
        return "<nil>"
    known = _GO_TYPES.get(value.__class__) or getattr(value, "go_native", None)
    return known or ("*types.Err" if hasattr(value, "native") else go_name(value))


def _make_patch(fields: dict[str, Value]) -> Value:
    texts = {}
    for name in ("op", "path", "from"):
        given = fields.get(name, "")
        texts[name] = native(given)
        if texts[name].__class__ is not str:
            return CelError(f"unexpected type {go_type(given)} for JSONPatchType '{name}' field")
    return JSONPatchValue(texts["op"], texts["path"], texts["from"], fields.get("value", MISSING))


def quoted(key: Value) -> str:
    """A map key as Go's %q prints it: of a number, the character with that code."""
    kind = key.__class__
    if key is None or kind is int or kind is UInt:
        code = key or 0
        text = gotext.quote(chr(code)) if 0 <= code < 0x110000 else '"\ufffd"'
        return f"'{text[1:-1]}'"
    if kind is bool or kind is float:
        return f"%!q({go_name(key)}={gotext.display(key)})"
    return gotext.quote(gotext.display(key))
