"""New objects as their Go types have them, and which fields an endpoint may own.

What a Go struct always writes is there from the start, empty, zero or null, so nobody owns its creation: whoever writes a list of
containers owns the containers, not the list. An endpoint for a part of an object (status) owns nothing outside of it, and the
object's own endpoint owns nothing inside of it.
"""

import functools
from collections.abc import Mapping
from typing import Any

from kadmit.api.meta import GroupVersionKind
from kadmit.kinds import decoding, schema
from kadmit.patch.fieldpath import Filter, excluding

# Kinds without a status of their own to reset, though they have the field.
_STATUS = (("status",),)


@functools.lru_cache(maxsize=512)
def blank(kind: GroupVersionKind) -> Mapping[str, Any]:
    """What is always written of a built-in kind, in its zero value; nothing for custom kinds."""
    found = schema.for_kind(kind)
    return {} if found is None else decoding.normalise(found, {}).object


def resets(kind: tuple[str, str, str], subresource: str) -> Mapping[str, Filter]:
    """Per version, what may be owned through an endpoint."""
    group, version, _ = kind
    api_version = f"{group}/{version}" if group else version
    if subresource == "status":
        return {api_version: excluding(("spec",), ("metadata",))}
    return {api_version: excluding(*_STATUS)}
