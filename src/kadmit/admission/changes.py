"""Whether a webhook's patch has changed anything, as kube-apiserver sees it: it compares Go values, which hold more than JSON."""

from collections.abc import Sequence

import orjson

from kadmit.matching.attributes import CREATE, Attributes, Json
from kadmit.policy.world import World


def has_new_times(attributes: Attributes, world: World) -> bool:
    """Whether this request has given somebody fields to own. NB: custom objects have no times, only texts of times."""
    new, old = attributes.object, attributes.old_object
    if new is None or world.is_custom(attributes.kind):
        return False
    if old is None:
        return attributes.operation == CREATE
    before = {_owner(entry): entry.get("time") for entry in _managed(old)}
    return any(before.get(_owner(entry), "") != entry.get("time") for entry in _managed(new)) or _has_gained(old, new)


def _managed(value: Json) -> Sequence[Json]:
    return (value.get("metadata") or {}).get("managedFields") or ()


def _owner(entry: Json) -> tuple[object, ...]:
    return tuple(entry.get(part) for part in ("manager", "operation", "apiVersion", "subresource"))


def _has_gained(old: object, new: object) -> bool:
    """Whether anything is new or different. NB: times tell only whole seconds, so one that is the same may still be new."""
    if isinstance(old, dict) and isinstance(new, dict):
        return any(key not in _OWN and _has_gained(old.get(key), value) for key, value in new.items())
    if isinstance(old, list) and isinstance(new, list):
        known = set(map(_text, old))  # NB: lists may be long
        return any(_text(item) not in known for item in new)
    return old != new


def _text(value: object) -> bytes:
    return orjson.dumps(value, option=orjson.OPT_SORT_KEYS)


_OWN = frozenset(("managedFields", "resourceVersion", "generation"))  # what nobody owns


def has_lost(live: object, patched: object) -> bool:
    """Whether a patch took anything away. NB: that is a change even where a default brings it back."""
    if isinstance(live, dict) and isinstance(patched, dict):
        return any(value not in (None, {}, []) and has_lost(value, patched.get(key)) for key, value in live.items())
    if isinstance(live, list) and isinstance(patched, list):
        return len(live) > len(patched) or any(has_lost(a, b) for a, b in zip(live, patched, strict=False))
    return patched is None
