"""The order in which Go writes the members of an object: maps by their keys, structs as they are declared.

It shows in texts that quote a whole object. Structs are declared in the order of their Protocol Buffers numbers, but for those
to which a field was added in the middle: these stand in a table, with the order of all their fields.
"""

import functools
import importlib.resources
from typing import Any, TypeAlias

from kadmit.kinds import protobuf
from kadmit.kinds.schema import Node, Schema

Json: TypeAlias = Any

_FILE = "declared-1.36.txt"


def ordered(node: Schema, value: Json) -> Json:
    """The same value, its members in Go's order; those that nobody declared come last, as they are."""
    if node.kind is Node.OBJECT and value.__class__ is dict:
        places = _places(node.name)
        names = sorted(value, key=lambda name: places.get(name, len(places)))
        return {name: _member(node, name, value[name]) for name in names}
    if node.kind is Node.MAP and node.additional is not None and value.__class__ is dict:
        return {key: ordered(node.additional, value[key]) for key in sorted(value)}
    if node.kind is Node.ARRAY and node.items is not None and value.__class__ is list:
        return [ordered(node.items, item) for item in value]
    return value


def sorted_by_key(value: Json) -> Json:
    """The order of what has no structs: custom objects are maps throughout."""
    if value.__class__ is dict:
        return {key: sorted_by_key(value[key]) for key in sorted(value)}
    return [sorted_by_key(item) for item in value] if value.__class__ is list else value


def _member(node: Schema, name: str, value: Json) -> Json:
    field = node.fields.get(name)
    return value if field is None else ordered(field.schema, value)


@functools.cache
def _declared() -> dict[str, list[str]]:
    text = importlib.resources.files("kadmit.kinds").joinpath("data", _FILE).read_text(encoding="utf-8")
    return {name: fields for name, *fields in map(str.split, text.splitlines())}


@functools.cache
def _places(name: str) -> dict[str, int]:
    fields = _declared().get(name) or protobuf.fields(name)
    return {field: place for place, field in enumerate(fields)}
