"""Grace periods: only Pods have one, and only once a node runs them."""

from datetime import UTC, datetime, timedelta

from kadmit.matching.attributes import Json
from kadmit.resources.context import Target, metadata_of, with_metadata

_ENDED = ("Failed", "Succeeded")


def applies(target: Target) -> bool:
    return target.resource.gvr == ("", "v1", "pods")


def period(pod: Json, asked: int | None) -> int:
    """Seconds. A Pod that no node runs, or that has ended, needs none."""
    spec = pod.get("spec") or {}
    if not spec.get("nodeName") or (pod.get("status") or {}).get("phase") in _ENDED:
        return 0
    wanted = spec.get("terminationGracePeriodSeconds") or 0 if asked is None else asked
    return 1 if wanted < 0 else int(wanted)


def is_pending(pod: Json, asked: int | None) -> bool:
    """Whether its end has begun, and is not to come any sooner."""
    left = metadata_of(pod).get("deletionGracePeriodSeconds")
    if metadata_of(pod).get("deletionTimestamp") is None or not left:
        return False
    return asked is None or (1 if asked < 0 else asked) >= left


def marked(value: Json, now: str, seconds: int) -> Json:
    """The object on its way out. NB: the time of deletion is the end of the period."""
    changes = {"deletionTimestamp": _later(now, seconds), "deletionGracePeriodSeconds": seconds}
    generation = metadata_of(value).get("generation")
    return with_metadata(value, **changes, **({"generation": generation + 1} if generation else {}))


def shortened(value: Json, seconds: int) -> Json:
    found = metadata_of(value)
    less = found["deletionGracePeriodSeconds"] - seconds
    return with_metadata(value, deletionTimestamp=_later(found["deletionTimestamp"], -less), deletionGracePeriodSeconds=seconds)


def _later(moment: str, seconds: int) -> str:
    try:
        return (datetime.fromisoformat(moment).astimezone(UTC) + timedelta(seconds=seconds)).strftime("%Y-%m-%dT%H:%M:%SZ")
    except OverflowError:
        return "9999-12-31T23:59:59Z"
