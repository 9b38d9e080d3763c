"""Conditions that the server itself writes into a Pod's status."""

from typing import Any

from kadmit.matching.attributes import Json


def with_condition(pod: Json, kind: str, now: str, *, reason: str = "", message: str = "") -> Json:
    """The Pod with a condition that holds, in the place of the one it replaces; it holds since it came to hold."""
    status = pod.get("status") or {}
    conditions = list(status.get("conditions") or ())
    at = next((i for i, one in enumerate(conditions) if one.get("type") == kind), len(conditions))
    before = conditions[at] if at < len(conditions) else {}
    since = before.get("lastTransitionTime") if before.get("status") == "True" else now
    made: dict[str, Any] = {"type": kind, "status": "True", "lastProbeTime": None, "lastTransitionTime": since}
    made |= {key: text for key, text in (("reason", reason), ("message", message)) if text}
    return {**pod, "status": {**status, "conditions": [*conditions[:at], made, *conditions[at + 1 :]]}}
