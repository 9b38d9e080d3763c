"""ResourceQuotas and LimitRanges: how much a namespace, or one object in it, may use."""

from collections.abc import Iterator, Mapping
from typing import Any, TypeAlias

from kadmit.api import fields
from kadmit.api.fields import FieldError, Path
from kadmit.api.gojson import Named
from kadmit.cel import quantities
from kadmit.cel.library import names
from kadmit.kinds import internals
from kadmit.kinds.rules import meta, resources
from kadmit.kinds.rules.meta import Object

Json: TypeAlias = Any
Part: TypeAlias = Mapping[str, Json]

_AT = fields.path("spec")
_COMPUTE = frozenset(f"{of}{name}" for of in ("", "limits.", "requests.") for name in ("cpu", "memory"))
_POD_SCOPES = ("Terminating", "NotTerminating", "NotBestEffort", "PriorityClass", "CrossNamespacePodAffinity")
_SCOPES = (*_POD_SCOPES, "BestEffort", "VolumeAttributesClass")
_EXISTING = ("BestEffort", "NotBestEffort", "Terminating", "NotTerminating", "CrossNamespacePodAffinity")
_OPPOSITES = (("BestEffort", "NotBestEffort"), ("Terminating", "NotTerminating"))


# ---------------------------------------------------------------- quotas


def create_quota(quota: Object) -> Iterator[FieldError]:
    yield from meta.created(quota)
    yield from _quota(quota.get("spec") or {})
    for member in ("hard", "used"):
        yield from _amounts((quota.get("status") or {}).get(member), fields.path("status", member))


def update_quota(new: Object, old: Object) -> Iterator[FieldError]:
    yield from meta.updated(new, old)
    yield from _quota(new.get("spec") or {})
    after, before = ((one.get("spec") or {}).get("scopes") or [] for one in (new, old))
    if set(after) != set(before):
        yield fields.invalid(_AT.child("scopes"), after or None, meta.IMMUTABLE)


def _quota(spec: Part) -> Iterator[FieldError]:
    yield from _amounts(spec.get("hard"), _AT.child("hard"))
    yield from _scopes(spec)
    if spec.get("scopeSelector") is not None:
        yield from _scope_selector(spec)


def _amounts(values: Part | None, at: Path) -> Iterator[FieldError]:
    for name in sorted(values or {}):
        yield from resources.quota_name(name, at.key(name))
        yield from resources.quantity(name, (values or {})[name], at.key(name))


def _applies(scope: str, resource: str) -> bool:
    if scope in _POD_SCOPES:
        return resource == "pods" or resource in _COMPUTE
    if scope == "BestEffort":
        return resource == "pods"
    return scope != "VolumeAttributesClass" or resource in ("persistentvolumeclaims", "requests.storage")


def _misapplied(scope: str, spec: Part) -> int:
    """How many of the limits the scope says nothing about."""
    return sum(resources.is_of_quotas(name) and not _applies(scope, name) for name in spec.get("hard") or {})


def _scopes(spec: Part) -> Iterator[FieldError]:
    scopes, at = spec.get("scopes") or [], _AT.child("scopes")
    for scope in scopes:
        if scope not in _SCOPES:
            yield fields.invalid(at, scopes, "unsupported scope")
        yield from (fields.invalid(at, scopes, "unsupported scope applied to resource") for _ in range(_misapplied(scope, spec)))
    yield from _conflicts(scopes, spec, at)


def _conflicts(used: list[str], spec: Part, at: Path) -> Iterator[FieldError]:
    for pair in _OPPOSITES:
        if all(scope in used for scope in pair):
            yield fields.invalid(at, spec.get("scopes"), "conflicting scopes")


def _scope_selector(spec: Part) -> Iterator[FieldError]:
    """NB: errors do not say which of the expressions they are about."""
    selector, at = spec["scopeSelector"], _AT.child("scopeSelector", "matchExpressions")
    used: list[str] = []
    for requirement in selector.get("matchExpressions") or ():
        scope, operator = requirement.get("scopeName") or "", requirement.get("operator") or ""
        if scope not in _SCOPES:
            yield fields.invalid(at.child("scopeName"), Named(scope), "unsupported scope")
        for _ in range(_misapplied(scope, spec)):
            yield fields.invalid(at, internals.shown("ScopeSelector", selector), "unsupported scope applied to resource")
        if scope in _EXISTING and operator != "Exists":
            listed = "ResourceQuotaScopeTerminating, ResourceQuotaScopeNotTerminating, ResourceQuotaScopeBestEffort, "
            listed += "ResourceQuotaScopeNotBestEffort or ResourceQuotaScopeCrossNamespacePodAffinity"
            yield fields.invalid(at.child("operator"), Named(operator), f"must be 'Exists' when scope is any of {listed}")
        yield from _scope_values(operator, requirement.get("values") or [], at)
        used.append(scope)
    yield from _conflicts(used, spec, at)


def _scope_values(operator: str, values: list[str], at: Path) -> Iterator[FieldError]:
    if operator in ("In", "NotIn"):
        if not values:
            text = "must be at least one value when `operator` is 'In' or 'NotIn' for scope selector"
            yield fields.required(at.child("values"), text)
    elif operator in ("Exists", "DoesNotExist"):
        if values:
            text = "must be no value when `operator` is 'Exist' or 'DoesNotExist' for scope selector"
            yield fields.invalid(at.child("values"), values, text)
    else:
        yield fields.invalid(at.child("operator"), Named(operator), "not a valid selector operator")


# ---------------------------------------------------------------- limit ranges


def create_range(value: Object) -> Iterator[FieldError]:
    yield from meta.created(value)
    seen: set[str] = set()
    for index, limit in enumerate((value.get("spec") or {}).get("limits") or ()):
        at, of_type = _AT.child("limits").index(index), limit.get("type") or ""
        yield from _limit_type(of_type, at.child("type"))
        if of_type in seen:
            yield fields.duplicate(at.child("type"), Named(of_type))
        seen.add(of_type)
        yield from _limit(limit, of_type, at)


def update_range(new: Object, old: Object) -> Iterator[FieldError]:
    return create_range(new)


def _limit_type(value: str, at: Path) -> Iterator[FieldError]:
    wrong = names.label_key(value)
    yield from (fields.invalid(at, Named(value), problem) for problem in wrong)
    if not wrong and "/" not in value and value not in ("Pod", "Container", "PersistentVolumeClaim"):
        yield fields.invalid(at, Named(value), "must be a standard limit type or fully qualified")


def _limit(limit: Part, of_type: str, at: Path) -> Iterator[FieldError]:
    members = ["max", "min"]
    yield from _limit_names(limit, members, of_type, at)
    if of_type == "Pod":
        for member in ("default", "defaultRequest"):
            if limit.get(member):
                yield fields.forbidden(at.child(member), "may not be specified when `type` is 'Pod'")
    else:
        members += ["default", "defaultRequest"]
        yield from _limit_names(limit, members[2:], of_type, at)
    if of_type == "PersistentVolumeClaim" and not any("storage" in (limit.get(member) or {}) for member in ("min", "max")):
        text = "either minimum or maximum storage value is required, but neither was provided"
        yield fields.required(at.child("limits"), text)
    members.append("maxLimitRequestRatio")
    yield from _limit_names(limit, members[-1:], of_type, at)
    for name in sorted({name for member in members for name in limit.get(member) or {}}):
        amounts = {member: (limit.get(member) or {}).get(name) for member in members}
        yield from _amounts_in_order(name, amounts, at)


def _limit_names(limit: Part, members: list[str], of_type: str, at: Path) -> Iterator[FieldError]:
    check = resources.container_name if of_type in ("Pod", "Container") else resources.name
    for member in members:
        for name in sorted(limit.get(member) or {}):
            yield from check(name, at.child(member).key(name))


_ORDER = (
    # the smaller, the larger, where the error stands, what it shows, and the words
    ("min", "max", "min", "min", "min value", "max value"),
    ("min", "defaultRequest", "defaultRequest", "defaultRequest", "min value", "default request value"),
    ("defaultRequest", "max", "defaultRequest", "defaultRequest", "default request value", "max value"),
    ("defaultRequest", "default", "defaultRequest", "defaultRequest", "default request value", "default limit value"),
    ("min", "default", "default", "min", "min value", "default value"),
    ("default", "max", "default", "max", "default value", "max value"),
)


def _amounts_in_order(name: str, amounts: Mapping[str, Json], at: Path) -> Iterator[FieldError]:
    for small, large, where, shown, a, b in _ORDER:
        low, high = amounts.get(small), amounts.get(large)
        if low is not None and high is not None and resources.is_more(low, high):
            yield fields.invalid(at.child(where).key(name), str(amounts[shown]), f"{a} {low} is greater than {b} {high}")
    yield from _ratio(amounts, at.child("maxLimitRequestRatio").key(name))
    limit, request = amounts.get("default"), amounts.get("defaultRequest")
    if limit is not None and request is not None and not resources.may_overcommit(name):
        if quantities.compare(resources.parsed(limit), resources.parsed(request)) != 0:
            text = f"default value {limit} must equal to defaultRequest value {request} in {name}"
            yield fields.invalid(at.child("defaultRequest").key(name), str(request), text)


def _ratio(amounts: Mapping[str, Json], at: Path) -> Iterator[FieldError]:
    ratio, low, high = amounts.get("maxLimitRequestRatio"), amounts.get("min"), amounts.get("max")
    if ratio is None:
        return
    if resources.is_more("1", ratio):
        yield fields.invalid(at, str(ratio), f"ratio {ratio} is less than 1")
    if low is None or high is None:
        return
    least = resources.parsed(low).as_float()
    most = resources.parsed(high).as_float() / least if least else float("inf")
    if resources.parsed(ratio).as_float() > most:
        yield fields.invalid(at, str(ratio), f"ratio {ratio} is greater than max/min = {most:f}")
