"""Pods before they are looked at: their first status, and selectors that follow their own labels."""

from collections.abc import Iterator, Mapping
from typing import Any, TypeAlias

from kadmit.cel import quantities
from kadmit.cel.quantities import Quantity
from kadmit.kinds.rules import resources

Json: TypeAlias = Any
Object: TypeAlias = dict[str, Json]
Part: TypeAlias = Mapping[str, Json]

_COUNTED = ("cpu", "memory")
_OF_REQUEST = ("name", "namespace", "resourceVersion", "uid", "managedFields")
_REQUIRED, _PREFERRED = "requiredDuringSchedulingIgnoredDuringExecution", "preferredDuringSchedulingIgnoredDuringExecution"
_GATED = {
    "type": "PodScheduled",
    "status": "False",
    "lastProbeTime": None,
    "lastTransitionTime": None,
    "reason": "SchedulingGated",
    "message": "Scheduling is blocked due to non-empty scheduling gates",
}


def pod(value: Object) -> Object:
    spec = value.get("spec") or {}
    status: Object = {"phase": "Pending"}
    if spec.get("schedulingGates"):
        created = (value.get("metadata") or {}).get("creationTimestamp")
        status["conditions"] = [{**_GATED, "lastTransitionTime": created}]
    # NB: the one part of a status that is taken from whoever creates a pod.
    status["qosClass"] = (value.get("status") or {}).get("qosClass") or quality(spec)
    made = _with_label_keys(spec, (value.get("metadata") or {}).get("labels") or {})
    return {**value, "spec": made, "status": status}


def with_ephemeral_containers(new: Object, old: Object) -> Object:
    """The old pod, with nothing of the new one but these."""
    spec = {key: value for key, value in (old.get("spec") or {}).items() if key != "ephemeralContainers"}
    given = (new.get("spec") or {}).get("ephemeralContainers")
    return {**old, "metadata": _old_metadata(new, old), "spec": {**spec, **({"ephemeralContainers": given} if given else {})}}


def _old_metadata(new: Object, old: Object) -> Object:
    """With what belongs to the request itself."""
    given = new.get("metadata") or {}
    return {**(old.get("metadata") or {}), **{key: given[key] for key in _OF_REQUEST if key in given}}


def resized(new: Object, old: Object) -> Object:
    """The old Pod with the new resources of its containers. NB: other containers are left to validation, which refuses them."""
    spec, before = new.get("spec") or {}, old.get("spec") or {}
    if any(len(spec.get(part) or ()) != len(before.get(part) or ()) for part in _RESIZED):
        return new
    made = {part: _resized_containers(spec[part], before[part]) for part in _RESIZED if spec.get(part)}
    resources = {"resources": spec["resources"]} if "resources" in spec else {}
    kept = {key: value for key, value in before.items() if key != "resources"}
    return {**old, "metadata": _old_metadata(new, old), "spec": {**kept, **made, **resources}}


_RESIZED = ("containers", "initContainers")


def _resized_containers(new: list[Object], old: list[Object]) -> list[Object]:
    if any(now.get("name") != before.get("name") for now, before in zip(new, old, strict=True)):
        return new
    return [_resized_container(now, before) for now, before in zip(new, old, strict=True)]


def _resized_container(new: Object, old: Object) -> Object:
    kept = {key: value for key, value in old.items() if key not in ("resources", "resizePolicy")}
    return {**kept, **{key: new[key] for key in ("resources", "resizePolicy") if key in new}}


# ---------------------------------------------------------------- quality of service


def quality(spec: Part) -> str:
    """Guaranteed: everything has its limit and gets it; BestEffort: nothing was asked for; Burstable: all others."""
    of_pod = spec.get("resources")
    if of_pod is not None:
        parts = [of_pod]
    else:
        members = ("containers", "initContainers")
        parts = [container.get("resources") or {} for member in members for container in spec.get(member) or ()]
    found = _Asked(parts)
    if not found.anything:
        return "BestEffort"
    limited = found.limited or (of_pod is not None and not of_pod.get("limits"))
    return "Guaranteed" if limited and (not found.less if not found.more else _sums_agree(parts)) else "Burstable"


class _Asked:
    """What the parts of a pod ask for, seen in one go, because every pod comes here."""

    __slots__ = ("anything", "less", "limited", "more")

    def __init__(self, parts: list[Part]) -> None:
        self.anything = self.less = self.more = False  # whether a request is less, or more, than its limit
        self.limited = True  # whether all limits are there
        compare = resources.compare
        for part in parts:
            requests, limits = part.get("requests") or {}, part.get("limits") or {}
            for name in _COUNTED:
                request, limit = requests.get(name) or "0", limits.get(name) or "0"
                is_limited = compare(limit, "0") > 0
                self.limited = self.limited and is_limited
                self.anything = self.anything or is_limited or compare(request, "0") > 0
                order = compare(request, limit)
                self.less, self.more = self.less or order < 0, self.more or order > 0


def _sums_agree(parts: list[Part]) -> bool:
    """Whether all requests together are all limits together. NB: where nobody requests too much, nobody may request less."""
    asked, allowed = _summed(parts, "requests"), _summed(parts, "limits")
    return asked.keys() == allowed.keys() and all(quantities.compare(allowed[name], asked[name]) == 0 for name in asked)


def _amount(part: Part, member: str, name: str) -> Json:
    return (part.get(member) or {}).get(name) or "0"


def _summed(parts: list[Part], member: str) -> dict[str, Quantity]:
    total: dict[str, Quantity] = {}
    for part in parts:
        for name in _COUNTED:
            amount = resources.parsed(_amount(part, member, name))
            if amount.sign() > 0:
                total[name] = quantities.add(amount, total[name]) or amount if name in total else amount
    return total


# ---------------------------------------------------------------- label keys


def _with_label_keys(spec: Part, labels: Mapping[str, str]) -> Object:
    """Keys that stand for the pod's own labels become requirements of the selector beside them."""
    made = dict(spec)
    if spec.get("topologySpreadConstraints"):
        made["topologySpreadConstraints"] = [_keyed(one, labels) for one in spec["topologySpreadConstraints"]]
    if spec.get("affinity"):
        made["affinity"] = {key: _keyed_affinity(key, value, labels) for key, value in spec["affinity"].items()}
    return made


def _keyed_affinity(kind: str, value: Json, labels: Mapping[str, str]) -> Json:
    if kind == "nodeAffinity" or not value:
        return value
    made = dict(value)
    if value.get(_REQUIRED):
        made[_REQUIRED] = [_keyed(term, labels) for term in value[_REQUIRED]]
    if value.get(_PREFERRED):
        made[_PREFERRED] = [
            {**one, "podAffinityTerm": _keyed(one.get("podAffinityTerm") or {}, labels)} for one in value[_PREFERRED]
        ]
    return made


def _keyed(term: Part, labels: Mapping[str, str]) -> Part:
    selector = term.get("labelSelector")
    added = list(_requirements(term, labels))
    if selector is None or not added:
        return term
    return {**term, "labelSelector": {**selector, "matchExpressions": [*(selector.get("matchExpressions") or ()), *added]}}


def _requirements(term: Part, labels: Mapping[str, str]) -> Iterator[Object]:
    for member, operator in (("matchLabelKeys", "In"), ("mismatchLabelKeys", "NotIn")):
        for key in term.get(member) or ():
            if key in labels:
                yield {"key": key, "operator": operator, "values": [labels[key]]}
