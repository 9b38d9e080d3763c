"""CertificateSigningRequests: the server notes who asked, and keeps apart what the signer and who approves may write."""

from typing import Any

from kadmit.matching.attributes import Json
from kadmit.resources.context import Context, Target

_KIND = ("certificates.k8s.io", "CertificateSigningRequest")
_OF_USER = ("username", "uid", "groups", "extra")


def is_request(target: Target) -> bool:
    return (target.kind.group, target.kind.kind) == _KIND


def asked(context: Context, new: Json) -> Json:
    """A new request, in the name of the user who sends it, whatever it says."""
    user = context.user
    spec = {key: value for key, value in (new.get("spec") or {}).items() if key not in _OF_USER}
    named: dict[str, Any] = {
        "username": user.name,
        "uid": user.uid,
        "groups": list(user.groups),
        "extra": {key: list(values) for key, values in user.extra.items()},
    }
    return {**new, "spec": {**spec, **{key: value for key, value in named.items() if value}}, "status": {}}


def changed(context: Context, target: Target, new: Json, old: Json) -> Json:
    """What is asked for stays; of the status, each door changes its own part."""
    made = {**new, "spec": old.get("spec") or {}}
    before, after = old.get("status") or {}, new.get("status") or {}
    if not target.subresource:
        return {**made, "status": before}
    conditions = after.get("conditions") or []
    if target.subresource == "status":
        conditions = _with_decisions(conditions, before.get("conditions") or [])
    stamped = _stamped(context, conditions, before.get("conditions") or [])
    rest = after if target.subresource == "status" else before
    status = {key: value for key, value in rest.items() if key != "conditions"}
    return {**made, "status": {**({"conditions": stamped} if stamped else {}), **status}}


def _with_decisions(conditions: list[Json], old: list[Json]) -> list[Json]:
    """Approvals and denials are not the signer's to change: they stay as they were, if there are as many."""
    for kind in ("Approved", "Denied"):
        was = [one for one in old if one.get("type") == kind]
        places = [index for index, one in enumerate(conditions) if one.get("type") == kind]
        if was and len(was) == len(places):
            conditions = [was[places.index(i)] if i in places else one for i, one in enumerate(conditions)]
    return conditions


def _stamped(context: Context, conditions: list[Json], old: list[Json]) -> list[Json]:
    return [_with_times(context.given.now, one, old) for one in conditions]


def _with_times(now: str, condition: Json, old: list[Json]) -> Json:
    """NB: the time of a transition is that of the condition that it repeats."""
    same = (one for one in old if all(one.get(key) == condition.get(key) for key in ("type", "status")))
    since = next((one["lastTransitionTime"] for one in same if one.get("lastTransitionTime")), now)
    times = {"lastUpdateTime": condition.get("lastUpdateTime") or now}
    times["lastTransitionTime"] = condition.get("lastTransitionTime") or since
    return {**condition, **times}
