"""CEL values leaving CEL: as JSON for a patch operation, as a partial object for an apply configuration.

Kubernetes converts both through Go types of its own, and what those cannot hold is refused with texts that name them. A list or
map that the expression made and one that stood in the request are different Go types, so where it matters it is found out
which of the two a value is.
"""

import math
from base64 import b64encode
from collections.abc import Iterable, Mapping
from decimal import Decimal
from typing import Any

from kadmit.cel import gotext, gotime, operators, work
from kadmit.cel.composition import Variables
from kadmit.cel.environment import VARIABLES_TYPE
from kadmit.cel.library.cidr import CIDR
from kadmit.cel.library.ip import IP
from kadmit.cel.library.mutation import JSONPatchValue, ObjectValue, go_type, held, quoted
from kadmit.cel.library.semver import Semver
from kadmit.cel.library.url import URL
from kadmit.cel.operators import MISSING
from kadmit.cel.quantities import Quantity
from kadmit.cel.types import Type
from kadmit.cel.values import CelError, Duration, MapValue, Optional, Strings, Timestamp, UInt, Value, go_name
from kadmit.patch.jsonpatch import Unreadable
from kadmit.patch.values import NIL, Foreign
from kadmit.policy import gosyntax

MAX_EXACT = 2**53 - 1  # larger integers would not survive as JSON numbers
_NO_INT64 = 1e21  # doubles from here on have an exponent in JSON text


_NO_TYPE = "type conversion not supported for 'type'"
_TEXTS = frozenset({Quantity, IP, CIDR, URL})  # what can be had as text


class NoJson(Exception):
    """A value that cannot be had as JSON; str() is Kubernetes' text."""


class _NoNumber(NoJson):
    """A number that JSON does not have. NB: the text names the Go type of the whole."""


class _BadKey(NoJson):
    """A map of an Object that has a key which is no text."""


class Provenance:
    """Tells containers of the request from containers that an expression made."""

    __slots__ = ("_bound", "_ids")

    def __init__(self, bound: Mapping[str, Value]) -> None:
        self._bound = bound
        self._ids: set[int] | None = None

    def from_request(self, value: Value) -> bool:
        if self._ids is None:
            self._ids = set(map(id, _containers(v for k, v in self._bound.items() if k != "variables")))
        return id(value) in self._ids


_CONTAINERS = frozenset({dict, list})
_SCALARS = frozenset({str, bool, int, float})
_NESTING = _CONTAINERS | {ObjectValue, Optional}


def _containers(roots: Iterable[Value]) -> list[Value]:
    """All maps and lists in these values, themselves among them."""
    found = [root for root in roots if root.__class__ in _CONTAINERS]
    for node in found:  # NB: it grows while it is walked
        found += [part for part in (node.values() if node.__class__ is dict else node) if part.__class__ in _CONTAINERS]
    return found


# ---------------------------------------------------------------- JSON of a patch operation


def to_json(value: Value, origin: Provenance) -> Any:
    """The value of a patch operation; raises NoJson."""
    value = held(value)
    if value.__class__ is not ObjectValue:
        return _value_json(value)
    try:
        return {k: _struct_json(v, origin) for k, v in _object_fields(value).items()}
    except _NoNumber as e:
        raise NoJson(str(e).replace("*structpb.Value", "*structpb.Struct")) from None


def _value_json(value: Value) -> Any:
    kind = value.__class__
    if value is None or kind is str or kind is bool:
        return value
    if kind is int or kind is UInt:
        return int(value) if -MAX_EXACT <= value <= MAX_EXACT else str(int(value))
    if kind is float:
        return _number(value)
    if kind is list:
        work.spend_visit(len(value))
        return [_value_json(v) for v in value]
    if kind is dict:
        work.spend_visit(len(value))
        return {k: _value_json(v) for k, v in value.items()}
    return _special_json(value)


def _number(value: float) -> Any:
    """A double as it comes back from JSON text: whole numbers become integers."""
    if not math.isfinite(value):
        name = "NaN" if value != value else "+Inf" if value > 0 else "-Inf"
        where = "json: error calling MarshalJSON for type *structpb.Value: proto: google.protobuf.Value.number_value"
        raise _NoNumber(f"{where}: invalid {name} value")
    if value != int(value) or abs(value) >= _NO_INT64:
        return value
    # NB: the text in between has the fewest digits that read back, and zeros after them.
    whole = int(Decimal(repr(value)))
    return whole if -(2**63) <= whole < 2**63 else value


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
            work.spend_visit(len(value))
            return {_key(k): _value_json(v) for k, v in operators.items(value)}
        case JSONPatchValue():
            raise NoJson("cannot convert to native type: *structpb.Value")
        case CelError():
            raise NoJson(value.message)
        case ObjectValue():
            # NB: kube-apiserver's handler panics here.
            raise NoJson("a list or map of Object values is not supported")
        case Type():
            raise NoJson(_NO_TYPE)
    if isinstance(value, Variables):
        raise NoJson(f'disallowed conversion from "{VARIABLES_TYPE}" to ""')
    raise NoJson(f"type conversion error from '{getattr(value, 'native_name', go_name(value))}' to '*structpb.Value'")


_KEY_TYPES = {bool: "bool", float: "Double", bytes: "Bytes", list: "list", dict: "map", MapValue: "map"}
_QUOTED_KEY_TYPES = {type(None): "null_type", Duration: "Duration", Timestamp: "Timestamp"}


def _key(key: Value) -> str:
    """A map key, which must be text. Raises NoJson. NB: the texts of what is none differ in kind, quotes and all."""
    kind = key.__class__
    if kind is str or kind in _TEXTS:
        return str(key)
    if kind is int or kind is UInt:
        raise NoJson(f"unsupported type conversion from '{'uint' if kind is UInt else 'int'}' to string")
    if kind is Optional:
        if not key.present:
            raise NoJson("optional.none() dereference")
        return _key(key.value)
    if kind is Type:
        raise NoJson(_NO_TYPE)
    if kind in _KEY_TYPES or kind in _QUOTED_KEY_TYPES:
        raise NoJson(f"type conversion error from {_KEY_TYPES.get(kind) or _quoted_type(kind)} to 'string'")
    raise NoJson("unable to convert to string")


def _quoted_type(kind: type) -> str:
    return f"'{_QUOTED_KEY_TYPES[kind]}'"


# ---------------------------------------------------------------- Object


def _object_fields(value: ObjectValue) -> Mapping[str, Value]:
    for name, given in value.fields.items():
        field = held(given)
        if field.__class__ is MapValue:
            bad = next(k for k in field if k.__class__ is not str)
            raise _BadKey(f'fail to convert field "{name}": map key {quoted(bad)} is of type {go_name(bad)}, not string')
    return value.fields


_ERROR = "*types.Err"
_INVALID = {
    type(None): "structpb.NullValue",
    Duration: "time.Duration",
    Timestamp: "time.Time",
    list: "[]ref.Val",
    dict: "map[ref.Val]ref.Val",
    MapValue: "map[ref.Val]ref.Val",
    Quantity: "*resource.Quantity",
    IP: "netip.Addr",
    CIDR: "netip.Prefix",
    URL: "*url.URL",
    Semver: "semver.Version",
}


def _struct_json(field: Value, origin: Provenance) -> Any:
    """A field of an Object that is a patch value: one list or map deep, unless it comes from the request."""
    field = held(field)
    kind = field.__class__
    if (kind is not list and kind is not dict) or type(field) is Strings:
        return _member_json(field, origin)
    if origin.from_request(field):
        return _native_json(field)
    if kind is list:
        return [_member_json(v, origin) for v in field]
    return {k: _member_json(v, origin) for k, v in field.items()}


def _member_json(value: Value, origin: Provenance) -> Any:
    kind = value.__class__
    if kind is ObjectValue:
        return _inner_json(value, origin)
    if kind is Optional:
        return _member_json(value.value, origin) if value.present else None
    if kind is Type:
        return value.name
    if type(value) is Strings:
        raise NoJson("proto: invalid type: []string")
    if (kind is list or kind is dict) and origin.from_request(value):
        return _native_json(value)
    if kind in _INVALID:
        raise NoJson(f"proto: invalid type: {_INVALID[kind]}")
    if kind is int or kind is UInt:
        return _number(float(value))
    if kind in (str, bool, float, bytes):
        return _value_json(value)
    raise NoJson(f"proto: invalid type: {go_type(value)}")


def _inner_json(value: ObjectValue, origin: Provenance) -> Any:
    """NB: an Object inside another one that cannot be converted is an error as a value, which is no JSON either."""
    try:
        fields = _object_fields(value)
    except _BadKey:
        raise NoJson(f"proto: invalid type: {_ERROR}") from None
    return {k: _struct_json(v, origin) for k, v in fields.items()}


def _native_json(value: Any) -> Any:
    """JSON of the request: numbers pass through doubles."""
    if isinstance(value, dict):
        return {k: _native_json(v) for k, v in value.items()}
    if isinstance(value, list):
        return [_native_json(v) for v in value]
    return _number(float(value)) if value.__class__ in (int, float) else value


def misnamed(value: Value, path: str) -> Iterable[str]:
    """Objects whose type names another path than the one at which they stand; in an optional nobody looks for one."""
    if value.__class__ is Optional:
        value = held(value)
        if value.__class__ is ObjectValue:
            return
    kind = value.__class__
    if kind is ObjectValue:
        name = value.cel_type.name
        if name != path:
            yield f'unexpected type name "{name}", expected "{path}", which matches field name path from root Object type'
        for field, inner in value.fields.items():
            if inner.__class__ in _NESTING:
                yield from misnamed(inner, f"{path}.{field}")
    elif kind is list:
        work.spend_visit(len(value))
        for inner in value:
            yield from misnamed(inner, path)
    elif kind is dict:
        work.spend_visit(len(value))
        for inner in value.values():
            yield from misnamed(inner, path)


def to_partial(value: ObjectValue, origin: Provenance) -> dict[str, Any]:
    """An apply configuration as a partial object; what is no JSON becomes Foreign, for the merge to refuse."""
    return {k: _partial_field(v, origin) for k, v in _object_fields(value).items()}


def _partial_field(field: Value, origin: Provenance) -> Any:
    field = held(field)
    kind = field.__class__
    if type(field) is Strings:
        return _strings(field)
    if kind is list and not field:
        return field if origin.from_request(field) else NIL
    if kind is list and not _stays(field, field, origin):
        return [_partial_member(v, origin) for v in field]
    if kind is dict and not _stays(field, field.values(), origin):
        return {k: _partial_member(v, origin) for k, v in field.items()}
    return field if kind is list or kind is dict else _partial_member(field, origin)


def _stays(container: Value, members: Iterable[Value], origin: Provenance) -> bool:
    """Whether a list or map is a part of a partial object as it is: it comes from the request, or nobody can tell.

    NB: to know where it comes from takes a walk through the request, so it is only asked where it matters.
    """
    kinds = {member.__class__ for member in members}
    return kinds <= _SCALARS or (ObjectValue not in kinds and origin.from_request(container))


def _partial_member(value: Value, origin: Provenance) -> Any:
    kind = value.__class__
    if kind is ObjectValue:
        return _partial_object(value, origin)
    if kind is Optional:
        return _partial_member(value.value, origin) if value.present else None
    if kind is Type:
        return value.name
    if type(value) is Strings:
        return _strings(value)
    if (kind is list or kind is dict) and origin.from_request(value):
        return value
    if kind is str or kind is bool or kind is int or kind is float:
        return value
    return _foreign(value)


def _partial_object(value: ObjectValue, origin: Provenance) -> Any:
    try:
        return to_partial(value, origin)
    except _BadKey as e:
        return Foreign(_ERROR, str(e), gosyntax.pointer(_ERROR))


def _strings(value: Strings) -> Foreign:
    """NB: the pieces of a split text are no list that an object could have."""
    return Foreign("[]string", f"[{' '.join(value)}]", f"[]string{{{', '.join(map(gotext.quote, value))}}}")


def _foreign(value: Value) -> Foreign:
    kind = value.__class__
    syntax = gosyntax.native(value)
    if value is None:
        return Foreign("structpb.NullValue", "NULL_VALUE", syntax)
    if kind is UInt:
        return Foreign("uint64", str(int(value)), syntax)
    if kind is bytes:
        return Foreign("[]uint8", gotext.display(value), syntax)
    if kind is Duration:
        return Foreign("time.Duration", gotime.display_duration(value), syntax)
    if kind is Timestamp:
        return Foreign("time.Time", gotime.display_timestamp(value), syntax)
    if kind is list:
        return Foreign("[]ref.Val", f"[{' '.join(map(gotext.display, value))}]", syntax)
    if kind is dict or kind is MapValue:
        entries = sorted((gotext.display(k), gotext.display(v)) for k, v in operators.items(value))
        return Foreign("map[ref.Val]ref.Val", f"map[{' '.join(f'{k}:{v}' for k, v in entries)}]", syntax)
    return Foreign(gosyntax.native_name(value), str(value), syntax)


def operation_json(operation: JSONPatchValue, origin: Provenance) -> dict[str, Any]:
    """One operation as the patch library reads it; raises NoJson."""
    made: dict[str, Any] = {"op": _written(operation.op), "path": _written(operation.path)}
    if operation.from_:
        made["from"] = _written(operation.from_)
    if operation.value is not MISSING:
        made["value"] = to_json(operation.value, origin)
    return made


_SHORT_ESCAPES = frozenset("\b\f\n\r\t")


def _written(pointer: str) -> str | Unreadable:
    """A path or name as the patch library reads it: Kubernetes writes it as Go would, and not all escapes of Go are JSON."""
    if pointer.isprintable():
        return pointer
    broken = next((c for c in pointer if not _survives(c)), None)
    return pointer if broken is None else Unreadable(f"invalid character '{gotext.quote(broken)[2]}' in string escape code")


def _survives(character: str) -> bool:
    return character.isprintable() or character in _SHORT_ESCAPES or 0x80 <= ord(character) < 0x10000
