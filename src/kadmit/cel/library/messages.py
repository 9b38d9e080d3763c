"""The protobuf messages that CEL takes for plain values: google.protobuf.Timestamp{seconds: 1} is a timestamp.

Kubernetes has no use for them, but its compiler knows their names, so expressions that build them compile and run.
"""

from collections.abc import Callable

from kadmit.cel import types
from kadmit.cel.types import ANY, BOOL, BYTES, DOUBLE, DURATION, DYN, INT, STRING, TIMESTAMP, UINT, Type
from kadmit.cel.values import CelError, Duration, Timestamp, UInt, Value

Maker = Callable[[dict[str, Value]], Value]
PREFIX = "google.protobuf."

_STRUCT = types.map_of(STRING, DYN)
_LIST = types.list_of(DYN)
_SECOND = 1_000_000_000


def _nanos(fields: dict[str, Value]) -> int:
    return int(fields.get("seconds", 0)) * _SECOND + int(fields.get("nanos", 0))


def _value_or(zero: Value) -> Maker:
    return lambda fields: fields.get("value", zero)


def _any(_: dict[str, Value]) -> Value:
    return CelError("unsupported conversion to ref.Val: (*dynamicpb.Message)")


def _value(fields: dict[str, Value]) -> Value:
    return next(iter(fields.values()), None)


# Name -> (the type of its values, its fields, how a value is made).
_MESSAGES: dict[str, tuple[Type, dict[str, Type], Maker]] = {
    "Any": (ANY, {"type_url": STRING, "value": BYTES}, _any),
    "BoolValue": (types.nullable(BOOL), {"value": BOOL}, _value_or(False)),
    "BytesValue": (types.nullable(BYTES), {"value": BYTES}, _value_or(b"")),
    "DoubleValue": (types.nullable(DOUBLE), {"value": DOUBLE}, _value_or(0.0)),
    "FloatValue": (types.nullable(DOUBLE), {"value": DOUBLE}, _value_or(0.0)),
    "Duration": (DURATION, {"seconds": INT, "nanos": INT}, lambda f: Duration(_nanos(f))),
    "Int32Value": (types.nullable(INT), {"value": INT}, _value_or(0)),
    "Int64Value": (types.nullable(INT), {"value": INT}, _value_or(0)),
    "ListValue": (_LIST, {"values": _LIST}, lambda f: f.get("values", [])),
    "StringValue": (types.nullable(STRING), {"value": STRING}, _value_or("")),
    "Struct": (_STRUCT, {"fields": _STRUCT}, lambda f: f.get("fields", {})),
    "Timestamp": (TIMESTAMP, {"seconds": INT, "nanos": INT}, lambda f: Timestamp(_nanos(f))),
    "UInt32Value": (types.nullable(UINT), {"value": UINT}, _value_or(UInt(0))),
    "UInt64Value": (types.nullable(UINT), {"value": UINT}, _value_or(UInt(0))),
    "Value": (
        DYN,
        {
            "null_value": INT,
            "number_value": DOUBLE,
            "string_value": STRING,
            "bool_value": BOOL,
            "struct_value": _STRUCT,
            "list_value": _LIST,
        },
        _value,
    ),
}

# Short names that the compiler resolves although nothing can be made of them.
_SHORT = {"timestamp": TIMESTAMP, "duration": DURATION}


def type_named(name: str) -> Type | None:
    found = _MESSAGES.get(name.removeprefix(PREFIX)) if name.startswith(PREFIX) else None
    return found[0] if found is not None else _SHORT.get(name)


def field(name: str, field_name: str) -> Type | None:
    found = _MESSAGES.get(name.removeprefix(PREFIX)) if name.startswith(PREFIX) else None
    return found[1].get(field_name) if found is not None else None


def maker(name: str) -> Maker | None:
    if name in _SHORT:
        return lambda _: CelError(f"unknown type '{name}'")
    found = _MESSAGES.get(name.removeprefix(PREFIX)) if name.startswith(PREFIX) else None
    return found[2] if found is not None else None
