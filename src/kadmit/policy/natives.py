"""CEL values leaving CEL: as JSON for a patch operation, as a partial object for an apply configuration.

Kubernetes converts both through Go types of its own, and what those cannot hold is refused with texts that name them. A list or
map that the expression made and one that stood in the request are different Go types, so where it matters it is found out
which of the two a value is.
"""

import math
from base64 import b64encode
from collections.abc import Iterable, Mapping
from typing import Any

from kadmit.cel import gotext, gotime, operators
from kadmit.cel.library.mutation import JSONPatchValue, ObjectValue
from kadmit.cel.operators import MISSING
from kadmit.cel.types import Type
from kadmit.cel.values import Duration, MapValue, Optional, Timestamp, UInt, Value, go_name
from kadmit.patch.values import Foreign

MAX_EXACT = 2**53 - 1  # larger integers would not survive as JSON numbers


class NoJson(Exception):
    """A value that cannot be had as JSON; str() is Kubernetes' text."""


class Provenance:
    """Tells containers of the request from containers that an expression made."""

    __slots__ = ("_bound", "_ids")

    def __init__(self, bound: Mapping[str, Value]) -> None:
        self._bound = bound
        self._ids: set[int] | None = None

    def from_request(self, value: Value) -> bool:
        if self._ids is None:
            self._ids = set()
            waiting: list[Value] = [v for k, v in self._bound.items() if k != "variables"]
            while waiting:
                node = waiting.pop()
                if isinstance(node, dict | list):
                    self._ids.add(id(node))
                    waiting.extend(node.values() if isinstance(node, dict) else node)
        return id(value) in self._ids


# ---------------------------------------------------------------- JSON of a patch operation


def to_json(value: Value, origin: Provenance) -> Any:
    """The value of a patch operation; raises NoJson."""
    if value.__class__ is ObjectValue:
        return {k: _struct_json(v, origin) for k, v in _object_fields(value).items()}
    return _value_json(value)


def _value_json(value: Value) -> Any:
    kind = value.__class__
    if value is None or kind is str or kind is bool:
        return value
    if kind is int or kind is UInt:
        return int(value) if -MAX_EXACT <= value <= MAX_EXACT else str(int(value))
    if kind is float:
        return _number(value)
    if kind is list:
        return [_value_json(v) for v in value]
    if kind is dict:
        return {k: _value_json(v) for k, v in value.items()}
    return _special_json(value)


def _number(value: float) -> Any:
    """A double as it comes back from JSON text: whole numbers become integers."""
    if not math.isfinite(value):
        name = "NaN" if value != value else "+Inf" if value > 0 else "-Inf"
        where = "json: error calling MarshalJSON for type *structpb.Value: proto: google.protobuf.Value.number_value"
        raise NoJson(f"{where}: invalid {name} value")
    return int(value) if value == int(value) and abs(value) < 2**63 else value


def _special_json(value: Value) -> Any:
    match value:
        case bytes():
            return b64encode(value).decode()
        case Timestamp():
            return gotime.format_timestamp(value)
        case Duration():
            return gotime.format_duration(value)
        case Optional():
            if not value.present:
                raise NoJson("optional.none() dereference")
            return _value_json(value.value)
        case MapValue():
            return {_key(k): _value_json(v) for k, v in operators.items(value)}
        case ObjectValue() | JSONPatchValue():
            # NB: kube-apiserver's handler panics here.
            raise NoJson("a list or map of Object or JSONPatch values is not supported")
        case Type():
            raise NoJson("type conversion not supported for 'type'")
    raise NoJson(f"type conversion error from '{getattr(value, 'native_name', go_name(value))}' to '*structpb.Value'")


def _key(key: Value) -> str:
    kind = key.__class__
    if kind is str:
        return str(key)
    if kind is int or kind is UInt:
        raise NoJson(f"unsupported type conversion from '{'uint' if kind is UInt else 'int'}' to string")
    name = {bool: "bool", float: "Double", bytes: "Bytes"}.get(kind, "null_type")
    raise NoJson(f"type conversion error from {name} to 'string'")


# ---------------------------------------------------------------- Object


def _object_fields(value: ObjectValue) -> Mapping[str, Value]:
    for name, field in value.fields.items():
        if field.__class__ is MapValue:
            bad = next(k for k in field if k.__class__ is not str)
            raise NoJson(f'fail to convert field "{name}": map key {_quoted(bad)} is of type {go_name(bad)}, not string')
    return value.fields


def _quoted(key: Value) -> str:
    """Go's %q of a map key: of a number, the character with that code."""
    if key.__class__ is int or key.__class__ is UInt:
        text = gotext.quote(chr(key)) if 0 <= key < 0x110000 else '"\ufffd"'
        return f"'{text[1:-1]}'"
    return f"%!q({go_name(key)}={gotext.display(key)})"


_INVALID = {
    type(None): "structpb.NullValue",
    Duration: "time.Duration",
    Timestamp: "time.Time",
    list: "[]ref.Val",
    dict: "map[ref.Val]ref.Val",
    MapValue: "map[ref.Val]ref.Val",
}


def _struct_json(field: Value, origin: Provenance) -> Any:
    """A field of an Object that is a patch value: one list or map deep, unless it comes from the request."""
    kind = field.__class__
    if kind is list:
        return [_member_json(v, origin) for v in field]
    if kind is dict:
        return {k: _member_json(v, origin) for k, v in field.items()}
    return _member_json(field, origin)


def _member_json(value: Value, origin: Provenance) -> Any:
    kind = value.__class__
    if kind is ObjectValue:
        return {k: _struct_json(v, origin) for k, v in _object_fields(value).items()}
    if kind is Optional:
        return _member_json(value.value, origin) if value.present else None
    if kind is Type:
        return value.name
    if (kind is list or kind is dict) and origin.from_request(value):
        return _native_json(value)
    if kind in _INVALID:
        raise NoJson(f"proto: invalid type: {_INVALID[kind]}")
    if kind is int or kind is UInt:
        return _number(float(value))
    if kind in (str, bool, float, bytes):
        return _value_json(value)
    raise NoJson(f"proto: invalid type: {getattr(value, 'native_name', go_name(value))}")


def _native_json(value: Any) -> Any:
    """JSON of the request: numbers pass through doubles."""
    if isinstance(value, dict):
        return {k: _native_json(v) for k, v in value.items()}
    if isinstance(value, list):
        return [_native_json(v) for v in value]
    return _number(float(value)) if value.__class__ in (int, float) else value


def misnamed(value: Value, path: str) -> Iterable[str]:
    """Objects whose type names another path than the one at which they stand."""
    kind = value.__class__
    if kind is ObjectValue:
        name = value.cel_type.name
        if name != path:
            yield f'unexpected type name "{name}", expected "{path}", which matches field name path from root Object type'
        for field, inner in value.fields.items():
            yield from misnamed(inner, f"{path}.{field}")
    elif kind is list:
        for inner in value:
            yield from misnamed(inner, path)
    elif kind is dict:
        for inner in value.values():
            yield from misnamed(inner, path)


def to_partial(value: ObjectValue, origin: Provenance) -> dict[str, Any]:
    """An apply configuration as a partial object; what is no JSON becomes Foreign, for the merge to refuse."""
    return {k: _partial_field(v, origin) for k, v in _object_fields(value).items()}


def _partial_field(field: Value, origin: Provenance) -> Any:
    kind = field.__class__
    if kind is list and not origin.from_request(field):
        return [_partial_member(v, origin) for v in field]
    if kind is dict and not origin.from_request(field):
        return {k: _partial_member(v, origin) for k, v in field.items()}
    return _partial_member(field, origin)


def _partial_member(value: Value, origin: Provenance) -> Any:
    kind = value.__class__
    if kind is ObjectValue:
        return to_partial(value, origin)
    if kind is Optional:
        return _partial_member(value.value, origin) if value.present else None
    if kind is Type:
        return value.name
    if (kind is list or kind is dict) and origin.from_request(value):
        return value
    if kind is str or kind is bool or kind is int or kind is float:
        return value
    return _foreign(value)


def _foreign(value: Value) -> Foreign:
    kind = value.__class__
    if value is None:
        return Foreign("structpb.NullValue", "NULL_VALUE", "0")
    if kind is UInt:
        return Foreign("uint64", str(int(value)), f"{int(value):#x}")
    if kind is bytes:
        return Foreign("[]uint8", f"[{' '.join(map(str, value))}]", repr(value))
    if kind is Duration:
        return Foreign("time.Duration", gotime.display_duration(value), str(value.nanos))
    if kind is Timestamp:
        return Foreign("time.Time", gotime.display_timestamp(value), gotime.display_timestamp(value))
    if kind is list:
        text = f"[{' '.join(_go_text(v) for v in value)}]"
        return Foreign("[]ref.Val", text, text)
    if kind is dict or kind is MapValue:
        entries = sorted((_go_text(k), _go_text(v)) for k, v in operators.items(value))
        text = f"map[{' '.join(f'{k}:{v}' for k, v in entries)}]"
        return Foreign("map[ref.Val]ref.Val", text, text)
    name = str(getattr(value, "native_name", go_name(value)))
    return Foreign(name, str(value), str(value))


def _go_text(value: Value) -> str:
    """Go's %v of a value inside a list or map that an expression made."""
    if value.__class__ in (list, dict, MapValue):
        return gotext.display(value)
    return gotext.display(value)


def operation_json(operation: JSONPatchValue, origin: Provenance) -> dict[str, Any]:
    """One operation as the patch library reads it; raises NoJson."""
    made: dict[str, Any] = {"op": operation.op, "path": operation.path}
    if operation.from_:
        made["from"] = operation.from_
    if operation.value is not MISSING:
        made["value"] = to_json(operation.value, origin)
    return made
