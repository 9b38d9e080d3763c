"""What is written through the door of a status: counts that cannot be, addresses that are none, conditions without reasons."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, TypeAlias

from kadmit.api import fields
from kadmit.api.fields import FieldError, Path
from kadmit.api.gojson import Named
from kadmit.kinds import labels
from kadmit.kinds.rules import addresses, enums, meta, naming, numbers, resources
from kadmit.kinds.rules.meta import Object

Json: TypeAlias = Any
Part: TypeAlias = Mapping[str, Json]
Check: TypeAlias = Callable[[Object, Object], Iterator[FieldError]]

AT = fields.path("status")
_TOO_MANY = "cannot be greater than status.replicas"
_MAX_REASON, _MAX_MESSAGE = 1024, 32 * 1024
_RESIZES = (
    *("ControllerResizeInProgress", "ControllerResizeInfeasible", "NodeResizeInProgress", "NodeResizeInfeasible"),
    "NodeResizePending",
)


def of(value: Object) -> Part:
    return value.get("status") or {}


# ---------------------------------------------------------------- workloads


def deployment(new: Object, old: Object) -> Iterator[FieldError]:
    yield from meta.updated(new, old)
    counts = ("observedGeneration", "replicas", "updatedReplicas", "readyReplicas", "availableReplicas", "unavailableReplicas")
    yield from _not_negative(of(new), *counts, "terminatingReplicas", "collisionCount")
    yield from _within(of(new), "updatedReplicas", "readyReplicas", "availableReplicas")
    yield from _collisions(of(new), of(old))


def replica_set(new: Object, old: Object) -> Iterator[FieldError]:
    yield from meta.updated(new, old)
    yield from _not_negative(of(new), *_REPLICAS, "terminatingReplicas")
    yield from _within(of(new), "fullyLabeledReplicas", "readyReplicas", "availableReplicas")


def replication_controller(new: Object, old: Object) -> Iterator[FieldError]:
    yield from meta.updated(new, old)
    yield from _not_negative(of(new), *_REPLICAS)
    yield from _within(of(new), "fullyLabeledReplicas", "readyReplicas", "availableReplicas")


def stateful_set(new: Object, old: Object) -> Iterator[FieldError]:
    """NB: metadata comes last."""
    counts = ("replicas", "readyReplicas", "currentReplicas", "updatedReplicas", "availableReplicas", "observedGeneration")
    yield from _not_negative(of(new), *counts, "collisionCount")
    members = ("readyReplicas", "currentReplicas", "updatedReplicas", "availableReplicas")
    yield from _within(of(new), *members, ready="status.readyReplicas")
    yield from meta.updated(new, old)
    yield from _collisions(of(new), of(old))


def daemon_set(new: Object, old: Object) -> Iterator[FieldError]:
    yield from meta.updated(new, old)
    scheduled = ("currentNumberScheduled", "numberMisscheduled", "desiredNumberScheduled", "numberReady")
    counts = ("observedGeneration", "updatedNumberScheduled", "numberAvailable", "numberUnavailable", "collisionCount")
    yield from _not_negative(of(new), *scheduled, *counts)
    yield from _collisions(of(new), of(old))


_REPLICAS = ("replicas", "fullyLabeledReplicas", "readyReplicas", "availableReplicas", "observedGeneration")


def _not_negative(status: Part, *members: str) -> Iterator[FieldError]:
    for member in members:
        yield from numbers.not_negative(status.get(member), AT.child(member))


def _within(status: Part, *members: str, ready: str = "readyReplicas") -> Iterator[FieldError]:
    """No part is more than the whole, and who is available is ready."""
    replicas = status.get("replicas") or 0
    for member in members:
        count = status.get(member) or 0
        if count > replicas:
            yield fields.invalid(AT.child(member), count, _TOO_MANY)
    available = status.get("availableReplicas") or 0
    if available > (status.get("readyReplicas") or 0):
        yield fields.invalid(AT.child("availableReplicas"), available, f"cannot be greater than {ready}")


def _collisions(status: Part, old: Part) -> Iterator[FieldError]:
    now, was = status.get("collisionCount"), old.get("collisionCount")
    if was is not None and (now is None or now < was):
        yield fields.invalid(AT.child("collisionCount"), now or 0, "cannot be decremented")


def autoscaler(new: Object, old: Object) -> Iterator[FieldError]:
    yield from meta.updated(new, old)
    yield from _not_negative(of(new), "currentReplicas", "desiredReplicas")


def budget(new: Object, old: Object) -> Iterator[FieldError]:
    """NB: metadata is left to what is asked of every kind."""
    yield from _conditions(of(new).get("conditions") or (), AT.child("conditions"))
    yield from _not_negative(of(new), "disruptionsAllowed", "currentHealthy", "desiredHealthy", "expectedPods")


def nothing(new: Object, old: Object) -> Iterator[FieldError]:
    """A status that nobody looks at."""
    return iter(())


def _conditions(conditions: Sequence[Part], at: Path) -> Iterator[FieldError]:
    seen: set[str] = set()
    for index, condition in enumerate(conditions):
        kind = condition.get("type") or ""
        if kind in seen:
            yield fields.duplicate(at.index(index).child("type"), kind)
        seen.add(kind)
        yield from _condition(condition, at.index(index))


def _condition(condition: Part, at: Path) -> Iterator[FieldError]:
    yield from labels.validate_key(condition.get("type") or "", at.child("type"))
    status, reason = condition.get("status") or "", condition.get("reason") or ""
    yield from enums.one_of(status, ("False", "True", "Unknown"), at.child("status"))
    generation = condition.get("observedGeneration") or 0
    if generation < 0:
        yield fields.invalid(at.child("observedGeneration"), generation, "must be greater than or equal to zero")
    if not condition.get("lastTransitionTime"):
        yield fields.required(at.child("lastTransitionTime"))
    if not reason:
        yield fields.required(at.child("reason"))
    else:
        yield from naming.complaints(naming.reason(reason), reason, at.child("reason"))
        if naming.size(reason) > _MAX_REASON:
            yield fields.too_long(at.child("reason"), _MAX_REASON)
    if naming.size(condition.get("message") or "") > _MAX_MESSAGE:
        yield fields.too_long(at.child("message"), _MAX_MESSAGE)


# ---------------------------------------------------------------- load balancers


def service(new: Object, old: Object) -> Iterator[FieldError]:
    yield from meta.updated(new, old)
    at, given = AT.child("loadBalancer", "ingress"), _ingress(new)
    if given and (new.get("spec") or {}).get("type") != "LoadBalancer":
        yield fields.forbidden(at, "may only be used when `spec.type` is 'LoadBalancer'")
        return
    kept = {one.get("ip") for one in _ingress(old)}
    for index, one in enumerate(given):
        yield from _entry_address(one, at.index(index), kept)
        yield from _mode(one, at.index(index))
        yield from _entry_host(one, at.index(index))


def ingress(new: Object, old: Object) -> Iterator[FieldError]:
    yield from meta.updated(new, old)
    kept = {one.get("ip") for one in _ingress(old)}
    for index, one in enumerate(_ingress(new)):
        at = AT.child("loadBalancer", "ingress").index(index)
        yield from _entry_address(one, at, kept)
        yield from _entry_host(one, at)


def _ingress(value: Object) -> Sequence[Part]:
    return (of(value).get("loadBalancer") or {}).get("ingress") or ()


def _entry_address(entry: Part, at: Path, kept: set[Json]) -> Iterator[FieldError]:
    if entry.get("ip"):
        yield from addresses.address(entry["ip"], at.child("ip"), kept)


def _mode(entry: Part, at: Path) -> Iterator[FieldError]:
    mode, ip, place = entry.get("ipMode"), entry.get("ip"), at.child("ipMode")
    if mode is None:
        if ip:
            yield fields.required(place, "must be specified when `ip` is set")
    elif not ip:
        yield fields.forbidden(place, "may not be specified when `ip` is not set")
    else:
        yield from enums.one_of(mode, ("Proxy", "VIP"), place)


def _entry_host(entry: Part, at: Path) -> Iterator[FieldError]:
    host = entry.get("hostname")
    if host:
        yield from naming.subdomain(host, at.child("hostname"))
        if addresses.parse(host) is not None:
            yield fields.invalid(at.child("hostname"), host, "must be a DNS name, not an IP address")


# ---------------------------------------------------------------- storage and quotas


def claim(new: Object, old: Object) -> Iterator[FieldError]:
    yield from meta.updated(new, old)
    if not (new.get("spec") or {}).get("accessModes"):
        yield fields.required(fields.path("Spec", "accessModes"))
    yield from _amounts(of(new).get("capacity") or {}, AT.child("capacity"))
    resizes, at = of(new).get("allocatedResourceStatuses") or {}, AT.child("allocatedResourceStatuses")
    for name in sorted(resizes):
        yield from _claim_key(name, at)
        if resizes[name] not in _RESIZES:
            yield fields.not_supported(at, Named(name), sorted(_RESIZES))
    allocated, place = of(new).get("allocatedResources") or {}, AT.child("allocatedResources")
    for name in sorted(allocated):
        wrong = list(_claim_key(name, place)) or list(_amounts({name: allocated[name]}, place))
        yield from wrong or resources.quantity("storage", allocated[name], place.key(name))


def _claim_key(name: str, at: Path) -> Iterator[FieldError]:
    wrong = list(naming.qualified(name, at))
    yield from wrong
    if not wrong and name != "storage" and resources.is_native(name):
        yield fields.not_supported(at, name, ("storage",))


def _amounts(values: Part, at: Path) -> Iterator[FieldError]:
    for name in sorted(values):
        amount = resources.parsed(values[name])
        if amount.sign() < 0:
            yield fields.invalid(at.key(name), int(amount.rounded_up(0).decimal()), "must be a valid resource quantity")


def quota(new: Object, old: Object) -> Iterator[FieldError]:
    yield from meta.updated(new, old)
    for member in ("hard", "used"):
        values, at = of(new).get(member) or {}, AT.child(member)
        for name in sorted(values):
            yield from resources.quota_name(name, at.key(name))
            yield from resources.quantity(name, values[name], at.key(name))
