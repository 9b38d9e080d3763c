"""Bodies in protobuf: made JSON first, so that all that follows is the same."""

import orjson

from kadmit.api.errors import ApiError
from kadmit.api.meta import GroupVersionKind
from kadmit.kinds import protobuf
from kadmit.kinds.protobuf import Unreadable
from kadmit.resources import bodies
from kadmit.resources.context import Target


def as_json(target: Target, body: bytes) -> bytes:
    """The same object as JSON. Raises ApiError."""
    try:
        return orjson.dumps(protobuf.read(body))
    except Unreadable as e:
        raise _refused(target, body, e) from None


def _refused(target: Target, body: bytes, fault: Unreadable) -> ApiError:
    if fault.kind is None:
        return bodies.unrecognized(target, str(fault), body)
    group, _, version = fault.kind[0].rpartition("/")
    return bodies.cannot_be_handled(GroupVersionKind(group, version, fault.kind[1]), target, str(fault))
