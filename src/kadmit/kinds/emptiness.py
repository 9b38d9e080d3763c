"""Empty lists and maps that are always written: once stored they are none, and none is written as null.

kube-apiserver keeps its own kinds in protobuf, which does not tell the two apart. So an object may be sent with `rules: []`, is
shown so to admission, and is read back with `rules: null`. Custom kinds, and those that define kinds and APIs, are kept as JSON.
Only places that no list stands before are looked at: those in lists, where they exist at all, may not be empty.
"""

import functools
from collections.abc import Iterator, Mapping
from typing import Any, TypeAlias

from kadmit.api.meta import GroupVersionKind
from kadmit.kinds import schema
from kadmit.kinds.schema import Node, Schema

Json: TypeAlias = Any
Object: TypeAlias = dict[str, Json]
Place: TypeAlias = tuple[str, ...]

_KEPT_AS_JSON = frozenset({"apiextensions.k8s.io", "apiregistration.k8s.io"})
_DEEPEST = 4


def stored(kind: GroupVersionKind, value: Object) -> Object:
    """The object as it is read after it was written; the same one, if it has nothing of that kind."""
    for place in _places(kind):
        if _is_empty(value, place):
            value = _with_null(value, place)
    return value


@functools.lru_cache(maxsize=256)
def _places(kind: GroupVersionKind) -> tuple[Place, ...]:
    found = schema.for_kind(kind) if kind.group not in _KEPT_AS_JSON else None
    return tuple(_written(found, ())) if found is not None else ()


def _written(node: Schema, place: Place) -> Iterator[Place]:
    for name, field in node.fields.items():
        if field.schema.kind in (Node.ARRAY, Node.MAP):
            if field.always_written:
                yield (*place, name)
        elif field.schema.kind is Node.OBJECT and len(place) < _DEEPEST and name != "metadata":
            yield from _written(field.schema, (*place, name))


def _is_empty(value: Mapping[str, Json], place: Place) -> bool:
    for name in place[:-1]:
        value = value.get(name) or {}
    found = value.get(place[-1])
    return found is not None and not found


def _with_null(value: Object, place: Place) -> Object:
    head, *rest = place
    return {**value, head: _with_null(value[head], tuple(rest)) if rest else None}
