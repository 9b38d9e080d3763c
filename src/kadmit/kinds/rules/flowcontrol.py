"""FlowSchemas and PriorityLevelConfigurations: which requests wait together, and how long their queues are."""

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, TypeAlias

from kadmit.api import fields
from kadmit.api.fields import FieldError, Path
from kadmit.api.gojson import Named
from kadmit.cel.library import names
from kadmit.kinds.metadata import dns_subdomain
from kadmit.kinds.rules import enums, meta, naming
from kadmit.kinds.rules.meta import Object

Json: TypeAlias = Any
Part: TypeAlias = Mapping[str, Json]

_AT = fields.path("spec")
_MAX_PRECEDENCE, _MAX_QUEUES, _HASH_BITS = 10_000, 10_000_000, 60
_VERBS = ("create", "delete", "deletecollection", "get", "list", "patch", "proxy", "update", "watch")
_SUBJECTS = {"ServiceAccount": "serviceAccount", "User": "user", "Group": "group"}
_ZERO_SHARES = "flowcontrol.k8s.io/v1beta3-preserve-zero-concurrency-shares"


# ---------------------------------------------------------------- schemas


def create_schema(value: Object) -> Iterator[FieldError]:
    yield from meta.created(value, dns_subdomain, namespaced=False)
    yield from _schema(value.get("spec") or {}, meta.of(value).get("name") or "")
    yield from status_errors(value)


def update_schema(new: Object, old: Object) -> Iterator[FieldError]:
    return create_schema(new)


def status(new: Object, old: Object) -> Iterator[FieldError]:
    return status_errors(new)


def status_errors(value: Object) -> Iterator[FieldError]:
    """NB: metadata of a status update is left to what is asked of every kind."""
    seen: set[str] = set()
    for index, condition in enumerate((value.get("status") or {}).get("conditions") or ()):
        kind, at = condition.get("type") or "", fields.path("status", "conditions").index(index).child("type")
        if kind in seen:
            yield fields.duplicate(at, Named(kind))
        seen.add(kind)
        if not kind:
            yield fields.required(at)


def _schema(spec: Part, name: str) -> Iterator[FieldError]:
    precedence, at = spec.get("matchingPrecedence") or 0, _AT.child("matchingPrecedence")
    if precedence <= 0:
        yield fields.invalid(at, precedence, "must be a positive value")
    if precedence > _MAX_PRECEDENCE:
        yield fields.invalid(at, precedence, f"must not be greater than {_MAX_PRECEDENCE}")
    if precedence == 1 and name != "exempt":
        yield fields.invalid(at, precedence, "only the schema named 'exempt' may have matchingPrecedence 1")
    method = spec.get("distinguisherMethod")
    if method is not None and method.get("type") not in ("ByNamespace", "ByUser"):
        shown = {"Type": method.get("type") or ""}
        yield fields.not_supported(_AT.child("distinguisherMethod", "type"), shown, ("ByNamespace", "ByUser"))
    level = (spec.get("priorityLevelConfiguration") or {}).get("name") or ""
    place = _AT.child("priorityLevelConfiguration", "name")
    yield from naming.subdomain(level, place) if level else (fields.required(place, "must reference a priority level"),)
    for index, rule in enumerate(spec.get("rules") or ()):
        yield from _rule(rule, _AT.child("rules").index(index))


def _rule(rule: Part, at: Path) -> Iterator[FieldError]:
    subjects = rule.get("subjects") or ()
    if not subjects:
        yield fields.required(at.child("subjects"), "subjects must contain at least one value")
    for index, subject in enumerate(subjects):
        yield from _subject(subject, at.child("subjects").index(index))
    if not rule.get("resourceRules") and not rule.get("nonResourceRules"):
        yield fields.required(at, "at least one of resourceRules and nonResourceRules has to be non-empty")
    for index, one in enumerate(rule.get("resourceRules") or ()):
        yield from _resource_rule(one, at.child("resourceRules").index(index))
    for index, one in enumerate(rule.get("nonResourceRules") or ()):
        yield from _url_rule(one, at.child("nonResourceRules").index(index))


def _subject(subject: Part, at: Path) -> Iterator[FieldError]:
    kind = subject.get("kind") or ""
    if kind not in _SUBJECTS:
        yield fields.not_supported(at.child("kind"), Named(kind), sorted(_SUBJECTS))
        return
    member = _SUBJECTS[kind]
    named, place = subject.get(member), at.child(member)
    if named is None:
        yield fields.required(place, f"{member} is required when subject kind is '{kind}'")
    elif kind == "ServiceAccount":
        yield from _account(named, place)
    elif not named.get("name"):
        yield fields.required(place.child("name"))
    # NB: an account comes before the others, unless it is the subject itself
    for other, key in (("ServiceAccount", "serviceAccount"), ("User", "user"), ("Group", "group")):
        if other != kind and subject.get(key) is not None:
            yield fields.forbidden(at.child(key), f"{key} is forbidden when subject kind is not '{other}'")


def _account(subject: Part, at: Path) -> Iterator[FieldError]:
    name, namespace = subject.get("name") or "", subject.get("namespace") or ""
    if not name:
        yield fields.required(at.child("name"))
    elif name != "*":
        yield from naming.subdomain(name, at.child("name"))
    if namespace:
        yield from naming.label(namespace, at.child("namespace"))
    else:
        yield fields.required(at.child("namespace"), "must specify namespace for service account")


def _verbs(verbs: Sequence[str], at: Path) -> Iterator[FieldError]:
    if not verbs:
        yield fields.required(at, "verbs must contain at least one value")
    elif "*" in verbs:
        yield from _alone(verbs, at, "verbs")
    elif not set(verbs) <= set(_VERBS):
        yield fields.not_supported(at, list(verbs), _VERBS)


def _alone(values: Sequence[str], at: Path, what: str) -> Iterator[FieldError]:
    """A star is to stand alone."""
    if "*" in values and len(values) > 1:
        yield fields.invalid(at, list(values), f"if '*' is present, must not specify other {what}")


def _resource_rule(rule: Part, at: Path) -> Iterator[FieldError]:
    yield from _verbs(rule.get("verbs") or (), at.child("verbs"))
    for member, one, many in (("apiGroups", "api group", "api groups"), ("resources", "resource", "resources")):
        values = rule.get(member) or ()
        if not values:
            yield fields.required(at.child(member), f"resource rules must supply at least one {one}")
        yield from _alone(values, at.child(member), many)
    namespaces, place = rule.get("namespaces") or (), at.child("namespaces")
    if not namespaces and not rule.get("clusterScope"):
        yield fields.required(place, "resource rules that are not cluster scoped must supply at least one namespace")
    elif "*" in namespaces:
        yield from _alone(namespaces, place, "namespaces")
    else:
        for index, namespace in enumerate(namespaces):
            for problem in names.dns1123_label(namespace):
                text = f"each member of this list must be '*' or a DNS-1123 label; {problem}"
                yield fields.invalid(place.index(index), namespace, text)


def _url_rule(rule: Part, at: Path) -> Iterator[FieldError]:
    yield from _verbs(rule.get("verbs") or (), at.child("verbs"))
    urls, place = rule.get("nonResourceURLs") or (), at.child("nonResourceURLs")
    if not urls:
        yield fields.required(place, "nonResourceURLs must contain at least one value")
    elif "*" in urls:
        yield from _alone(urls, place, "non-resource URLs")
    else:
        for index, url in enumerate(urls):
            problem = _url_problem(url)
            if problem:
                yield fields.invalid(place.index(index), url, problem)


def _url_problem(url: str) -> str:
    if not url:
        return "must not be empty"
    if url == "/":
        return ""
    if not url.startswith("/"):
        return "must start with slash"
    if " " in url:
        return "must not contain white-space"
    if "//" in url:
        return "must not contain double slash"
    is_prefix = url.endswith("/*") and url.count("*") == 1
    return "wildcard can only do suffix matching" if "*" in url and not is_prefix else ""


# ---------------------------------------------------------------- levels


def create_level(value: Object) -> Iterator[FieldError]:
    yield from meta.created(value, dns_subdomain, namespaced=False)
    if _ZERO_SHARES in (meta.of(value).get("annotations") or {}):
        yield fields.forbidden(fields.path("metadata", "annotations"), f"annotation '{_ZERO_SHARES}' is forbidden")
    yield from _level(value.get("spec") or {}, meta.of(value).get("name") or "")
    yield from status_errors(value)


def update_level(new: Object, old: Object) -> Iterator[FieldError]:
    return create_level(new)


def _level(spec: Part, name: str) -> Iterator[FieldError]:
    kind, limited, exempt = spec.get("type") or "", spec.get("limited"), spec.get("exempt")
    if (name == "exempt") != (kind == "Exempt"):
        yield fields.invalid(_AT.child("type"), Named(kind), "must be 'Exempt' if and only if `name` is 'exempt'")
    if kind == "Exempt":
        if limited is not None:
            yield fields.forbidden(_AT.child("limited"), "must be nil if the type is not Limited")
        if exempt is not None:
            yield from _shares(exempt, _AT.child("exempt"))
            yield from _lendable(exempt, _AT.child("exempt"))
    elif kind == "Limited":
        if exempt is not None:
            yield fields.forbidden(_AT.child("exempt"), "must be nil if the type is Limited")
        if limited is None:
            yield fields.required(_AT.child("limited"), "must not be empty when type is Limited")
        else:
            yield from _limited(limited, _AT.child("limited"))
    else:
        yield from enums.required_one_of(kind, ("Exempt", "Limited"), _AT.child("type"))


def _shares(value: Part, at: Path) -> Iterator[FieldError]:
    shares = value.get("nominalConcurrencyShares")
    if shares is not None and shares < 0:
        yield fields.invalid(at.child("nominalConcurrencyShares"), shares, "must be a non-negative integer")


def _lendable(value: Part, at: Path) -> Iterator[FieldError]:
    percent = value.get("lendablePercent")
    if percent is not None and not 0 <= percent <= 100:
        yield fields.invalid(at.child("lendablePercent"), percent, "must be between 0 and 100, inclusive")


def _limited(limited: Part, at: Path) -> Iterator[FieldError]:
    yield from _shares(limited, at)
    yield from _response(limited.get("limitResponse") or {}, at.child("limitResponse"))
    yield from _lendable(limited, at)
    percent = limited.get("borrowingLimitPercent")
    if percent is not None and percent < 0:
        yield fields.invalid(at.child("borrowingLimitPercent"), percent, "if specified, must be a non-negative integer")


def _response(response: Part, at: Path) -> Iterator[FieldError]:
    kind, queuing, place = response.get("type") or "", response.get("queuing"), at.child("queuing")
    if kind == "Reject":
        if queuing is not None:
            yield fields.forbidden(place, "must be nil if limited.limitResponse.type is not Limited")
    elif kind == "Queue":
        if queuing is None:
            yield fields.required(place, "must not be empty if limited.limitResponse.type is Limited")
        else:
            yield from _queuing(queuing, place)
    else:
        yield from enums.required_one_of(kind, ("Queue", "Reject"), at.child("type"))


def _queuing(queuing: Part, at: Path) -> Iterator[FieldError]:
    limit, queues, hand = (queuing.get(member) or 0 for member in ("queueLengthLimit", "queues", "handSize"))
    if limit <= 0:
        yield fields.invalid(at.child("queueLengthLimit"), limit, "must be positive")
    if queues <= 0:
        yield fields.invalid(at.child("queues"), queues, "must be positive")
    elif queues > _MAX_QUEUES:
        yield fields.invalid(at.child("queues"), queues, f"must not be greater than {_MAX_QUEUES}")
    if hand <= 0:
        yield fields.invalid(at.child("handSize"), hand, "must be positive")
    elif hand > queues:
        yield fields.invalid(at.child("handSize"), hand, f"should not be greater than queues ({queues})")
    elif _entropy(queues, hand) > _HASH_BITS:
        text = f"required entropy bits of deckSize {queues} and handSize {hand} should not be greater than {_HASH_BITS}"
        yield fields.invalid(at.child("handSize"), hand, text)


def _entropy(deck: int, hand: int) -> int:
    """How many bits of a hash it takes to deal so many cards."""
    return math.ceil(math.log2(deck) * hand)
