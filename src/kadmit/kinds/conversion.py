"""An object of a kind in another version of that kind, where both are served.

Only two built-in kinds differ between their versions: HorizontalPodAutoscalers, and events of the two groups. All others, and
custom kinds without a conversion webhook, only change their apiVersion.
"""

from typing import Any, TypeAlias

from kadmit.kinds import autoscalers, decoding, schema
from kadmit.kinds.catalog import Gvk

Json: TypeAlias = Any
Object: TypeAlias = dict[str, Json]

_CORE_EVENT: Gvk = ("", "v1", "Event")
_NEW_EVENT: Gvk = ("events.k8s.io", "v1", "Event")
EVENT_NAMES = {
    "involvedObject": "regarding",
    "message": "note",
    "source": "deprecatedSource",
    "firstTimestamp": "deprecatedFirstTimestamp",
    "lastTimestamp": "deprecatedLastTimestamp",
    "count": "deprecatedCount",
    "reportingComponent": "reportingController",
}
"""What the two groups of Events call the same things, the core group first."""
_CORE_NAMES = {new: old for old, new in EVENT_NAMES.items()}


class UnknownConversion(Exception):
    """Two kinds that are not versions of each other; str() is Kubernetes' text."""

    def __init__(self, of: Gvk, to: Gvk) -> None:
        super().__init__(f"converting ({of[1]}.{of[2]}) to ({to[1]}.{to[2]}): unknown conversion")


def convert(value: Object, to: Gvk) -> Object:
    """The object in another version; the very same one if it is in that version. Raises UnknownConversion."""
    of = decoding.kind_of(value)
    if of == to:
        return value
    if (of, to) in _EVENTS:
        return _renamed(value, to, _EVENTS[of, to])
    if of[0] != to[0] or of[2] != to[2]:
        raise UnknownConversion(of, to)
    if to[0] == "autoscaling" and to[2] == "HorizontalPodAutoscaler":
        return autoscalers.to_v2(value) if to[1] == "v2" else autoscalers.to_v1(value)
    return {**value, "apiVersion": _api_version(to)}


_EVENTS = {(_CORE_EVENT, _NEW_EVENT): EVENT_NAMES, (_NEW_EVENT, _CORE_EVENT): _CORE_NAMES}


def _renamed(event: Object, to: Gvk, names: dict[str, str]) -> Object:
    made = {names.get(name, name): value for name, value in event.items()}
    node = schema.for_kind(to)
    assert node is not None
    return decoding.normalise(node, {**made, "apiVersion": _api_version(to)}).object


def _api_version(gvk: Gvk) -> str:
    return f"{gvk[0]}/{gvk[1]}" if gvk[0] else gvk[1]
