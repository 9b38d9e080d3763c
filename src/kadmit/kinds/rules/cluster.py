"""Namespaces, nodes, service accounts, leases, disruption budgets, and classes of priorities and runtimes."""

import re
from collections.abc import Iterator, Mapping
from typing import Any, TypeAlias

from kadmit.api import fields
from kadmit.api.fields import FieldError, Path
from kadmit.api.gojson import Named, quoted
from kadmit.kinds import internals, labels, metadata
from kadmit.kinds.metadata import dns_label, dns_subdomain
from kadmit.kinds.rules import addresses, enums, meta, naming, numbers, pods, resources, scheduling
from kadmit.kinds.rules.meta import Object

Json: TypeAlias = Any
Part: TypeAlias = Mapping[str, Json]

_AT = fields.path("spec")
_IS_FEATURE = re.compile("[A-Z][A-Za-z0-9]*(?:/[A-Za-z][A-Za-z0-9]*)*")
_LONGEST_FEATURE = 253
_HIGHEST_PRIORITY = 1_000_000_000
_SYSTEM_PRIORITIES = {"system-node-critical": 2_000_001_000, "system-cluster-critical": 2_000_000_000}


# ---------------------------------------------------------------- namespaces


def create_namespace(namespace: Object) -> Iterator[FieldError]:
    yield from meta.created(namespace, dns_label, namespaced=False)
    for finalizer in (namespace.get("spec") or {}).get("finalizers") or ():
        yield from _finalizer(finalizer, _AT.child("finalizers"))


def update_namespace(new: Object, old: Object) -> Iterator[FieldError]:
    return meta.updated(new, old)


def finalize_namespace(new: Object, old: Object) -> Iterator[FieldError]:
    yield from meta.updated(new, old)
    for index, finalizer in enumerate((new.get("spec") or {}).get("finalizers") or ()):
        yield from _finalizer(finalizer, _AT.child("finalizers").index(index))


def namespace_status(new: Object, old: Object) -> Iterator[FieldError]:
    yield from meta.updated(new, old)
    phase, deleted = (new.get("status") or {}).get("phase") or "", meta.of(new).get("deletionTimestamp") is not None
    expected, when = ("Terminating", "is not empty") if deleted else ("Active", "is empty")
    if phase != expected:
        text = f"may only be '{expected}' if `deletionTimestamp` {when}"
        yield fields.invalid(fields.path("status", "Phase"), Named(phase), text)


def _finalizer(name: str, at: Path) -> Iterator[FieldError]:
    yield from naming.qualified(name, at)
    yield from meta.standard_finalizer(name, at)


# ---------------------------------------------------------------- nodes


def create_node(node: Object) -> Iterator[FieldError]:
    spec = node.get("spec") or {}
    yield from meta.created(node, dns_subdomain, namespaced=False)
    yield from scheduling.taints(spec.get("taints") or [], fields.path("metadata", "taints"))
    yield from _node_resources(node)
    yield from _features(node)
    ranges = spec.get("podCIDRs") or []
    for index, value in enumerate(ranges):
        yield from addresses.block(value, _AT.child("podCIDRs").index(index))
    if len(ranges) > 1 and (len(ranges) > 2 or len({":" in value for value in ranges}) < 2):
        yield fields.invalid(_AT.child("podCIDRs"), ranges, "may specify no more than one CIDR for each IP family")


def _node_resources(node: Object) -> Iterator[FieldError]:
    for member in ("capacity", "allocatable"):
        amounts = (node.get("status") or {}).get(member) or {}
        for name in sorted(amounts):
            yield from resources.quantity(name, amounts[name], fields.path("status", member, name))


def _features(node: Object) -> Iterator[FieldError]:
    """What a node says it can do: sorted names, each once."""
    names, at = (node.get("status") or {}).get("declaredFeatures") or [], fields.path("status", "declaredFeatures")
    for index, name in enumerate(names):
        problem = _feature_problem(name)
        if problem:
            yield fields.invalid(at.index(index), name, f"invalid feature name {quoted(name)}: {problem}")
        following = names[index + 1] if index + 1 < len(names) else None
        if following == name:
            yield fields.duplicate(at.index(index + 1), following)
        elif following is not None and name > following:
            yield fields.invalid(at.index(index + 1), following, "list must be sorted alphabetically")


def _feature_problem(name: str) -> str:
    if naming.size(name) > _LONGEST_FEATURE:
        return f"must be no more than {_LONGEST_FEATURE} characters"
    if _IS_FEATURE.fullmatch(name) is not None:
        return ""
    form = "must start with an UpperCamelCase segment, with subsequent segments separated by '/'"
    return f"{form} (e.g., MyFeature or MyFeature/mySubFeature), and contain only alphanumeric characters and slashes"


def update_node(new: Object, old: Object) -> Iterator[FieldError]:
    """NB: a node is looked at by itself first."""
    yield from create_node(new)
    yield from node_status(new, old)


def node_status(new: Object, old: Object) -> Iterator[FieldError]:
    after, before = new.get("spec") or {}, old.get("spec") or {}
    yield from meta.updated(new, old)
    yield from _node_resources(new)
    yield from _features(new)
    seen: list[Part] = []
    for index, address in enumerate((new.get("status") or {}).get("addresses") or ()):
        if address in seen:
            at = fields.path("status", "addresses").index(index)
            yield fields.duplicate(at, internals.shown("NodeAddress", address))
        seen.append(address)
    was, now = before.get("podCIDRs") or [], after.get("podCIDRs") or []
    changed = 1 if len(was) != len(now) else sum(a != b for a, b in zip(was, now, strict=True))
    for _ in range(changed if was else 0):
        yield fields.forbidden(_AT.child("podCIDRs"), 'node updates may not change podCIDR except from "" to valid')
    if before.get("providerID") and before["providerID"] != after.get("providerID"):
        yield fields.forbidden(_AT.child("providerID"), 'node updates may not change providerID except from "" to valid')
    yield from scheduling.taints(after.get("taints") or [], fields.path("metadata", "taints"))


# ---------------------------------------------------------------- service accounts, leases, budgets


def create_account(account: Object) -> Iterator[FieldError]:
    return meta.created(account)


def update_account(new: Object, old: Object) -> Iterator[FieldError]:
    yield from meta.updated(new, old)
    yield from meta.created(new)


def create_lease(lease: Object) -> Iterator[FieldError]:
    yield from metadata.validate(meta.of(lease), namespaced=True, name_rule=dns_subdomain)
    yield from _lease(lease.get("spec") or {})


def update_lease(new: Object, old: Object) -> Iterator[FieldError]:
    yield from metadata.changes(meta.of(new), meta.of(old), metadata.AT)
    yield from _lease(new.get("spec") or {})


def _lease(spec: Part) -> Iterator[FieldError]:
    duration, transitions, strategy = (spec.get(m) for m in ("leaseDurationSeconds", "leaseTransitions", "strategy"))
    if duration is not None and duration <= 0:
        yield fields.invalid(_AT.child("leaseDurationSeconds"), duration, "must be greater than 0")
    yield from numbers.not_negative(transitions, _AT.child("leaseTransitions"))
    if strategy is not None:
        at = _AT.child("strategy", "strategy")
        if "/" in strategy:
            yield from naming.qualified(strategy, at)
        else:
            yield from enums.one_of(strategy, ("OldestEmulationVersion",), at)
    if spec.get("preferredHolder") and not strategy:
        yield fields.forbidden(_AT.child("preferredHolder"), "may only be specified if `strategy` is defined")


def create_budget(budget: Object) -> Iterator[FieldError]:
    """NB: metadata is left to what is asked of every kind."""
    spec = budget.get("spec") or {}
    if spec.get("minAvailable") is not None and spec.get("maxUnavailable") is not None:
        shown = internals.shown("PodDisruptionBudgetSpec", spec)
        yield fields.invalid(_AT, shown, "minAvailable and maxUnavailable cannot be both set")
    for member in ("minAvailable", "maxUnavailable"):
        yield from numbers.count_or_percent(spec.get(member), _AT.child(member))
        yield from numbers.at_most_everything(spec.get(member), _AT.child(member))
    yield from labels.validate_selector(spec.get("selector"), _AT.child("selector"))
    policy = spec.get("unhealthyPodEvictionPolicy")
    yield from enums.one_of(policy, ("AlwaysAllow", "IfHealthyBudget"), _AT.child("unhealthyPodEvictionPolicy"))


def update_budget(new: Object, old: Object) -> Iterator[FieldError]:
    return create_budget(new)


# ---------------------------------------------------------------- classes


def create_priority_class(value: Object) -> Iterator[FieldError]:
    yield from meta.created(value, dns_subdomain, namespaced=False)
    name, priority = meta.of(value).get("name") or "", value.get("value") or 0
    if name.startswith("system-"):
        yield from _system_priority(name, priority, is_default=bool(value.get("globalDefault")))
    elif priority > _HIGHEST_PRIORITY:
        text = f"maximum allowed value of a user defined priority is {_HIGHEST_PRIORITY}"
        yield fields.forbidden(fields.path("value"), text)
    yield from pods.preemption_policy(value.get("preemptionPolicy"), fields.path("preemptionPolicy"))


def _system_priority(name: str, priority: int, *, is_default: bool) -> Iterator[FieldError]:
    known = _SYSTEM_PRIORITIES.get(name)
    problem = ""
    if known is None:
        problem = f"{name} is not a known system priority class"
    elif priority != known:
        problem = f"value of {name} PriorityClass must be {known}"
    elif is_default:
        problem = f"globalDefault of {name} PriorityClass must be false"
    if problem:
        text = "priority class names with 'system-' prefix are reserved for system use only"
        yield fields.forbidden(fields.path("metadata", "name"), f"{text}. error: {problem}")


def update_priority_class(new: Object, old: Object) -> Iterator[FieldError]:
    yield from meta.updated(new, old)
    if (new.get("value") or 0) != (old.get("value") or 0):
        yield fields.forbidden(fields.path("value"), "may not be changed in an update.")
    yield from meta.immutable(new.get("preemptionPolicy"), old.get("preemptionPolicy"), fields.path("preemptionPolicy"))


def create_runtime_class(value: Object) -> Iterator[FieldError]:
    yield from metadata.validate(meta.of(value), namespaced=False, name_rule=dns_subdomain)
    handler = value.get("handler") or ""
    yield from naming.label(handler, fields.path("handler")) if handler else (fields.required(fields.path("handler")),)
    if value.get("overhead") is not None:
        yield from resources.requirements({"limits": value["overhead"].get("podFixed")}, fields.path("overhead"))
    scheduled = value.get("scheduling") or {}
    yield from labels.validate_labels(scheduled.get("nodeSelector"), fields.path("scheduling", "nodeSelector"))
    at, tolerated = fields.path("scheduling", "tolerations"), scheduled.get("tolerations") or []
    yield from scheduling.tolerations(tolerated, at)
    keys = [tuple(one.get(key) or "" for key in ("key", "operator", "value", "effect")) for one in tolerated]
    for index, one in enumerate(tolerated):
        if keys[index] in keys[:index]:
            yield fields.duplicate(at.index(index), internals.shown("Toleration", one))


def update_runtime_class(new: Object, old: Object) -> Iterator[FieldError]:
    yield from create_runtime_class(new)
    yield from metadata.changes(meta.of(new), meta.of(old), metadata.AT)
    yield from meta.immutable(new.get("handler") or "", old.get("handler") or "", fields.path("handler"))
