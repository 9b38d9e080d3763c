"""New objects as their Go types have them, and which fields an endpoint may own.

A Go struct that is always written is there from the start, empty, so nobody owns its creation. An endpoint for a part of an
object (status) owns nothing outside of it, and the object's own endpoint owns nothing inside of it.
"""

import functools
from collections.abc import Mapping
from typing import Any

from kadmit.api.meta import GroupVersionKind
from kadmit.kinds import schema
from kadmit.kinds.schema import Node, Schema
from kadmit.patch.fieldpath import Filter, excluding

# Kinds without a status of their own to reset, though they have the field.
_STATUS = (("status",),)


@functools.lru_cache(maxsize=512)
def blank(kind: GroupVersionKind) -> Mapping[str, Any]:
    """The always-written structs of a built-in kind; nothing for custom kinds."""
    found = schema.for_kind(kind)
    return {} if found is None else _blank(found, depth=0)


def _blank(node: Schema, depth: int) -> dict[str, Any]:
    made: dict[str, Any] = {}
    for name, field in node.fields.items():
        if field.always_written and field.schema.kind is Node.OBJECT and depth < 8:
            made[name] = _blank(field.schema, depth + 1)
    return made


def resets(kind: tuple[str, str, str], subresource: str) -> Mapping[str, Filter]:
    """Per version, what may be owned through an endpoint."""
    group, version, _ = kind
    api_version = f"{group}/{version}" if group else version
    if subresource == "status":
        return {api_version: excluding(("spec",), ("metadata",))}
    return {api_version: excluding(*_STATUS)}
