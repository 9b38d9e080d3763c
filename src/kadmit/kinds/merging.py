"""From a merge back into Go structs: Kubernetes' conversion of plain values, which takes numbers easier than JSON does.

A whole double is an integer, and an integer that is too large for its field loses its upper bits. Values that read
themselves (times, quantities) are read as from JSON. What does not fit is refused in the words of Go's reflection.
"""

import base64
import math
from collections.abc import Callable, Iterator
from typing import Any, TypeAlias

from kadmit.kinds import base64text, structs
from kadmit.kinds.schema import Node, Schema

Json: TypeAlias = Any

_BITS = {"int32": 32}
_PLAIN_FLOAT = 1e21  # from here on Go writes an exponent
_GO_KINDS = {str: "string", bool: "bool", int: "int64", float: "float64", list: "slice", dict: "map"}


class Unconvertible(Exception):
    """A value that does not fit; str() is Kubernetes' text."""


def convert(node: Schema, value: Json, before: Json) -> Json:
    """The value with its numbers as its fields hold them. What is the same as before is left alone. Raises Unconvertible."""
    if value is None or value is before:
        return value
    make = _MAKERS.get(node.kind)
    return make(node, node.go_type, value, before) if make is not None else _read_itself(node, value)


def _part(node: Schema, go_type: str, value: Json, before: Json) -> Json:
    if value is None or value is before:
        return value
    make = _MAKERS.get(node.kind)
    return make(node, go_type, value, before) if make is not None else _read_itself(node, value)


def _struct(node: Schema, go_type: str, value: Json, before: Json) -> Json:
    """NB: fields that the struct does not have are passed over."""
    if value.__class__ is not dict:
        raise Unconvertible(f"cannot restore struct from: {_GO_KINDS[value.__class__]}")
    known = before if before.__class__ is dict else {}
    made = value
    for name, part in value.items():
        field = node.fields.get(name)
        new = _part(field.schema, field.go_type, part, known.get(name)) if field is not None else _GONE
        if new is not part:
            if made is value:
                made = value.copy()
            if new is _GONE:
                del made[name]
            else:
                made[name] = new
    return made


_GONE: Json = object()


def _map(node: Schema, go_type: str, value: Json, before: Json) -> Json:
    if value.__class__ is not dict:
        raise Unconvertible(f"cannot restore map from {_GO_KINDS[value.__class__]}")
    assert node.additional is not None
    known = before if before.__class__ is dict else {}
    made = value
    for key, part in value.items():
        new = _part(node.additional, _element(go_type, node.additional), part, known.get(key))
        if new is not part:
            if made is value:
                made = value.copy()
            made[key] = new
    return made


def _list(node: Schema, go_type: str, value: Json, before: Json) -> Json:
    if value.__class__ is not list:
        raise Unconvertible(f"cannot restore slice from {_GO_KINDS[value.__class__]}")
    assert node.items is not None
    known = {id(item) for item in before} if before.__class__ is list else ()
    made = value
    for index, item in enumerate(value):
        if id(item) in known and item.__class__ is dict:
            continue
        new = _part(node.items, _element(go_type, node.items), item, None)
        if new is not item:
            if made is value:
                made = value.copy()
            made[index] = new
    return made


def _element(go_type: str, node: Schema) -> str:
    if go_type.startswith("[]"):
        return go_type[2:]
    return go_type.partition("]")[2] if go_type.startswith("map[") else node.go_type


def unknown(node: Schema, value: Json, path: str = "") -> Iterator[str]:
    """Where a converted value has fields that its struct has not. NB: such a path does not tell the keys of maps."""
    if node.kind is Node.OBJECT and value.__class__ is dict:
        for name, part in value.items():
            field = node.fields.get(name)
            place = f"{path}.{name}" if path else name
            if field is None:
                yield place
            else:
                yield from unknown(field.schema, part, place)
    elif node.kind is Node.MAP and node.additional is not None and value.__class__ is dict:
        for part in value.values():
            yield from unknown(node.additional, part, path)
    elif node.kind is Node.ARRAY and node.items is not None and value.__class__ is list:
        for index, item in enumerate(value):
            yield from unknown(node.items, item, f"{path}[{index}]")


def _text(node: Schema, go_type: str, value: Json, before: Json) -> Json:
    if value.__class__ is str:
        return value
    raise _misfit(value, go_type, convertible=value.__class__ is int)


def _truth(node: Schema, go_type: str, value: Json, before: Json) -> Json:
    if value.__class__ is bool:
        return value
    raise _misfit(value, go_type)


def _integer(node: Schema, go_type: str, value: Json, before: Json) -> Json:
    if value.__class__ is int:
        return _wrapped(value, _BITS.get(node.format, 64))
    if value.__class__ is float:
        if math.isfinite(value) and value.is_integer():
            whole = int(value)
            return _wrapped(whole if -(2**63) <= whole < 2**63 else -(2**63), _BITS.get(node.format, 64))
        raise _misfit(value, go_type, convertible=True)
    raise _misfit(value, go_type)


def _wrapped(number: int, bits: int) -> int:
    half: int = 1 << (bits - 1)
    return (number + half) % (2 * half) - half


def _number(node: Schema, go_type: str, value: Json, before: Json) -> Json:
    if value.__class__ is int or value.__class__ is float:
        return value
    raise _misfit(value, go_type)


def _bytes(node: Schema, go_type: str, value: Json, before: Json) -> Json:
    if value.__class__ is list:
        return _byte_list(value)
    if value.__class__ is not str:
        raise Unconvertible(f"cannot restore slice from {_GO_KINDS[value.__class__]}")
    try:
        return base64text.canonical(value)
    except base64text.Base64Error as error:
        raise Unconvertible(f"error decoding from json: {error}") from None


def _byte_list(items: list[Json]) -> str:
    made = bytearray()
    for item in items:
        if item.__class__ is not int:
            raise _misfit(item, "uint8", convertible=item.__class__ is float)
        made.append(item % 256)
    return base64.b64encode(made).decode()


def _as_it_is(node: Schema, go_type: str, value: Json, before: Json) -> Json:
    return value


def _read_itself(node: Schema, value: Json) -> Json:
    """NB: on the way it is JSON text, where Go writes whole doubles without a point."""
    whole = value.__class__ is float and value.is_integer() and abs(value) < _PLAIN_FLOAT
    try:
        clean, _ = structs.read(node, int(value) if whole else value)
    except structs.DecodeError as error:
        raise Unconvertible(str(error)) from None
    return clean


def _misfit(value: Json, go_type: str, *, convertible: bool = False) -> Unconvertible:
    """NB: Go names a type that it could never convert only by what kind of type the field has."""
    if convertible:
        return Unconvertible(f"cannot convert {_GO_KINDS[value.__class__]} to {go_type}")
    kind = go_type if go_type in _PLAIN_TYPES else "string"
    return Unconvertible(f"unrecognized type: {kind}")


_PLAIN_TYPES = frozenset({"string", "bool", "int32", "int64", "float64", "uint8", "int"})

_MAKERS: dict[Node, Callable[[Schema, str, Json, Json], Json]] = {
    Node.OBJECT: _struct,
    Node.MAP: _map,
    Node.ARRAY: _list,
    Node.STRING: _text,
    Node.BOOLEAN: _truth,
    Node.INTEGER: _integer,
    Node.NUMBER: _number,
    Node.BYTES: _bytes,
    Node.RAW: _as_it_is,
    Node.ANY: _as_it_is,
}
