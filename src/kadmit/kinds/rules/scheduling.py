"""Where pods may run: tolerations, affinities, spread constraints."""

from collections.abc import Iterator, Mapping
from typing import Any, TypeAlias

from kadmit.api import fields
from kadmit.api.fields import FieldError, Path
from kadmit.api.gojson import Named
from kadmit.cel.library import names
from kadmit.kinds import labels
from kadmit.kinds.rules import enums, naming, numbers

Json: TypeAlias = Any
Part: TypeAlias = Mapping[str, Json]

EFFECTS = ("NoSchedule", "PreferNoSchedule", "NoExecute")
_REQUIRED, _PREFERRED = "requiredDuringSchedulingIgnoredDuringExecution", "preferredDuringSchedulingIgnoredDuringExecution"


# ---------------------------------------------------------------- tolerations


def tolerations(values: list[Part], at: Path) -> Iterator[FieldError]:
    for index, toleration in enumerate(values):
        yield from _toleration(toleration, at.index(index))


def _toleration(value: Part, at: Path) -> Iterator[FieldError]:
    key, operator, effect = value.get("key") or "", value.get("operator") or "", value.get("effect") or ""
    if key:
        yield from naming.qualified(key, at.child("key"))
    elif operator != "Exists":
        text = 'operator must be Exists when `key` is empty, which means "match all values and all keys"'
        yield fields.invalid(at.child("operator"), Named(operator), text)
    if value.get("tolerationSeconds") is not None and effect != "NoExecute":
        yield fields.invalid(at.child("effect"), Named(effect), "effect must be 'NoExecute' when `tolerationSeconds` is set")
    yield from _tolerated(operator, value.get("value") or "", at)
    if effect:
        yield from enums.one_of(effect, EFFECTS, at.child("effect"))


def _tolerated(operator: str, value: str, at: Path) -> Iterator[FieldError]:
    if operator in ("Equal", ""):
        problems = names.label_value(value)
        if problems:
            yield fields.invalid(at.child("operator"), value, ";".join(problems))
    elif operator == "Exists":
        if value:
            yield fields.invalid(at.child("operator"), value, "value must be empty when `operator` is 'Exists'")
    elif operator in ("Lt", "Gt"):
        yield fields.not_supported(at.child("operator"), Named(operator), ("Equal", "Exists", "Lt", "Gt"))
    else:
        yield fields.not_supported(at.child("operator"), Named(operator), ("Equal", "Exists"))


def taints(values: list[Part], at: Path) -> Iterator[FieldError]:
    seen: set[tuple[str, str]] = set()
    for index, taint in enumerate(values):
        place, key, effect = at.index(index), taint.get("key") or "", taint.get("effect") or ""
        yield from naming.qualified(key, place.child("key"))
        problems = names.label_value(taint.get("value") or "")
        if problems:
            yield fields.invalid(place.child("value"), taint.get("value") or "", ";".join(problems))
        yield from enums.required_one_of(effect, EFFECTS, place.child("effect"))
        if (effect, key) in seen:
            yield _repeated_taint(taint, place)
        seen.add((effect, key))


def _repeated_taint(taint: Part, at: Path) -> FieldError:
    shown = {"Key": taint.get("key") or "", "Value": taint.get("value") or "", "Effect": taint.get("effect") or ""}
    found = fields.duplicate(at, {**shown, "TimeAdded": taint.get("timeAdded")})
    return FieldError(found.type, found.field, found.value, "taints must be unique by key and effect pair")


# ---------------------------------------------------------------- affinities


def affinity(value: Part | None, at: Path) -> Iterator[FieldError]:
    given = value or {}
    if given.get("nodeAffinity") is not None:
        yield from _node_affinity(given["nodeAffinity"], at.child("nodeAffinity"))
    for kind in ("podAffinity", "podAntiAffinity"):
        if given.get(kind) is not None:
            yield from _pod_affinity(given[kind], at.child(kind))


def _node_affinity(value: Part, at: Path) -> Iterator[FieldError]:
    if value.get(_REQUIRED) is not None:
        yield from node_selector(value[_REQUIRED], at.child(_REQUIRED))
    for index, term in enumerate(value.get(_PREFERRED) or ()):
        place = at.child(_PREFERRED).index(index)
        yield from _weight(term, place)
        yield from _node_term(term.get("preference") or {}, place.child("preference"), any_value=True)


def node_selector(value: Part, at: Path) -> Iterator[FieldError]:
    terms = value.get("nodeSelectorTerms") or ()
    if not terms:
        yield fields.required(at.child("nodeSelectorTerms"), "must have at least one node selector term")
    for index, term in enumerate(terms):
        yield from _node_term(term, at.child("nodeSelectorTerms").index(index))


def _weight(term: Part, at: Path) -> Iterator[FieldError]:
    weight = term.get("weight") or 0
    if not 1 <= weight <= 100:
        yield fields.invalid(at.child("weight"), weight, "must be in the range 1-100")


def _node_term(term: Part, at: Path, *, any_value: bool = False) -> Iterator[FieldError]:
    for index, requirement in enumerate(term.get("matchExpressions") or ()):
        yield from _node_labels(requirement, at.child("matchExpressions").index(index), any_value=any_value)
    for index, requirement in enumerate(term.get("matchFields") or ()):
        yield from _node_fields(requirement, at.child("matchFields").index(index))


def _node_labels(requirement: Part, at: Path, *, any_value: bool) -> Iterator[FieldError]:
    operator, values = requirement.get("operator") or "", requirement.get("values") or ()
    if operator in ("In", "NotIn"):
        if not values:
            yield fields.required(at.child("values"), "must be specified when `operator` is 'In' or 'NotIn'")
    elif operator in ("Exists", "DoesNotExist"):
        if values:
            yield fields.forbidden(at.child("values"), "may not be specified when `operator` is 'Exists' or 'DoesNotExist'")
    elif operator in ("Gt", "Lt"):
        if len(values) != 1:
            yield fields.required(at.child("values"), "must be specified single value when `operator` is 'Lt' or 'Gt'")
    else:
        yield fields.invalid(at.child("operator"), Named(operator), "not a valid selector operator")
    yield from naming.qualified(requirement.get("key") or "", at.child("key"))
    if not any_value:
        for index, value in enumerate(values):
            yield from labels.validate_value(value, at.child("values").index(index))


def _node_fields(requirement: Part, at: Path) -> Iterator[FieldError]:
    operator, values, key = requirement.get("operator") or "", requirement.get("values") or (), requirement.get("key") or ""
    if operator in ("In", "NotIn"):
        if len(values) != 1:
            text = "must be only one value when `operator` is 'In' or 'NotIn' for node field selector"
            yield fields.required(at.child("values"), text)
    else:
        yield fields.invalid(at.child("operator"), Named(operator), "not a valid selector operator")
    if key != "metadata.name":
        yield fields.invalid(at.child("key"), key, "not a valid field selector key")
        return
    for index, value in enumerate(values):
        yield from naming.subdomain(value, at.child("values").index(index))


def _pod_affinity(value: Part, at: Path) -> Iterator[FieldError]:
    for index, term in enumerate(value.get(_REQUIRED) or ()):
        yield from _pod_term(term, at.child(_REQUIRED).index(index))
    for index, term in enumerate(value.get(_PREFERRED) or ()):
        place = at.child(_PREFERRED).index(index)
        yield from _weight(term, place)
        yield from _pod_term(term.get("podAffinityTerm") or {}, place.child("podAffinityTerm"))


def _pod_term(term: Part, at: Path) -> Iterator[FieldError]:
    yield from labels.validate_selector(term.get("labelSelector"), at.child("labelSelector"))
    yield from labels.validate_selector(term.get("namespaceSelector"), at.child("namespaceSelector"))
    for namespace in term.get("namespaces") or ():
        yield from naming.label(namespace, at.child("namespace"))
    yield from _label_keys(term, at)
    key = term.get("topologyKey") or ""
    if not key:
        yield fields.required(at.child("topologyKey"), "can not be empty")
    yield from naming.qualified(key, at.child("topologyKey"))


def _label_keys(term: Part, at: Path) -> Iterator[FieldError]:
    selector, matched = term.get("labelSelector"), term.get("matchLabelKeys") or []
    mismatched = term.get("mismatchLabelKeys") or ()
    for member, keys in (("matchLabelKeys", matched), ("mismatchLabelKeys", mismatched)):
        if keys and selector is None:
            yield fields.forbidden(at.child(member), "must not be specified when labelSelector is not set")
            continue
        for index, key in enumerate(keys):
            yield from naming.qualified(key, at.child(member).index(index))
    yield from _selected_twice(selector or {}, matched, at)
    for index, key in enumerate(matched):
        if key in mismatched:
            text = "exists in both matchLabelKeys and mismatchLabelKeys"
            yield fields.invalid(at.child("matchLabelKeys").index(index), key, text)


def _selected_twice(selector: Part, matched: list[str], at: Path) -> Iterator[FieldError]:
    """NB: the selector already holds a requirement made of each of the keys: a second one is the user's."""
    seen = set(selector.get("matchLabels") or ())
    for requirement in selector.get("matchExpressions") or ():
        key = requirement.get("key") or ""
        if key in matched and key in seen:
            index = len(matched) - 1 - matched[::-1].index(key)
            yield fields.invalid(at.index(index), key, "exists in both matchLabelKeys and labelSelector")
        seen.add(key)


# ---------------------------------------------------------------- spread constraints


def spread(constraints: list[Part], at: Path) -> Iterator[FieldError]:
    for index, constraint in enumerate(constraints):
        yield from _constraint(constraint, constraints[index + 1 :], at.index(index))


def _constraint(value: Part, others: list[Part], at: Path) -> Iterator[FieldError]:
    key, action = value.get("topologyKey") or "", value.get("whenUnsatisfiable") or ""
    yield from numbers.positive(value.get("maxSkew") or 0, at.child("maxSkew"))
    if not key:
        yield fields.required(at.child("topologyKey"), "can not be empty")
    yield from enums.one_of(action, ("DoNotSchedule", "ScheduleAnyway"), at.child("whenUnsatisfiable"))
    if any((other.get("topologyKey") or "", other.get("whenUnsatisfiable") or "") == (key, action) for other in others):
        yield fields.duplicate(at.child("{topologyKey, whenUnsatisfiable}"), f"{{{key}, {action}}}")
    yield from _min_domains(value.get("minDomains"), action, at.child("minDomains"))
    for policy in ("nodeAffinityPolicy", "nodeTaintsPolicy"):
        yield from enums.one_of(value.get(policy), ("Honor", "Ignore"), at.child(policy))
    yield from _label_keys({**value, "mismatchLabelKeys": ()}, at)
    yield from labels.validate_selector(value.get("labelSelector"), at.child("labelSelector"))


def _min_domains(number: int | None, action: str, at: Path) -> Iterator[FieldError]:
    yield from numbers.positive(number, at)
    if number is not None and action != "DoNotSchedule":
        text = f"can only use minDomains if whenUnsatisfiable=DoNotSchedule, not {action}"
        yield fields.invalid(at, number, text)
