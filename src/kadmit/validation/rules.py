"""Rules and match resources: which requests a policy, a binding or a webhook is about, and what may not be said of them."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from kadmit.api import fields
from kadmit.api.fields import FieldError, Path
from kadmit.api.gojson import Named
from kadmit.kinds import labels, metadata

OPERATIONS = ("*", "CONNECT", "CREATE", "DELETE", "UPDATE")
MUTABLE_OPERATIONS = ("*", "CONNECT", "CREATE", "UPDATE")
SCOPES = ("*", "Cluster", "Namespaced")
MATCH_POLICIES = ("Equivalent", "Exact")
FAILURE_POLICIES = ("Fail", "Ignore")
REINVOCATION_POLICIES = ("IfNeeded", "Never")


def one_of(value: str | None, allowed: Sequence[str], at: Path) -> list[FieldError]:
    """An enum that may be left open. NB: an empty text is a value, and not one of these."""
    return [] if value is None or value in allowed else [fields.not_supported(at, Named(value), allowed)]


def exactly_one_of(value: str | None, allowed: Sequence[str], at: Path) -> list[FieldError]:
    """An enum that must be there."""
    return [fields.required(at)] if value is None else one_of(value, allowed, at)


# ---------------------------------------------------------------- match resources


def validate_match_resources(raw: Mapping[str, Any], at: Path) -> list[FieldError]:
    """matchConstraints of a policy, matchResources of a binding."""
    found = exactly_one_of(raw.get("matchPolicy"), MATCH_POLICIES, at.child("matchPolicy"))
    for field in ("namespaceSelector", "objectSelector"):
        selector = raw.get(field)
        found += [fields.required(at.child(field))] if selector is None else labels.validate_selector(selector, at.child(field))
    for field in ("resourceRules", "excludeResourceRules"):
        for i, rule in enumerate(raw.get(field) or ()):
            found += _named_rule(rule, at.child(field).index(i))
    return found


def validate_mutable(raw: Mapping[str, Any], at: Path) -> list[FieldError]:
    """What mutating policies cannot match. NB: the error does not say which rule or operation it is about."""
    operations = (operation for rule in raw.get("resourceRules") or () for operation in rule.get("operations") or ())
    return [
        fields.not_supported(at.child("resourceRules", "operations"), Named(operation), MUTABLE_OPERATIONS)
        for operation in operations
        if operation not in MUTABLE_OPERATIONS
    ]


def _named_rule(raw: Mapping[str, Any], at: Path) -> list[FieldError]:
    return [*_resource_names(raw.get("resourceNames") or (), at.child("resourceNames")), *validate_rule(raw, at)]


def _resource_names(given: Sequence[str], at: Path) -> Iterator[FieldError]:
    seen: set[str] = set()
    for i, name in enumerate(given):
        yield from (fields.invalid(at.index(i), name, problem) for problem in metadata.path_segment(name, False))
        if name in seen:
            yield fields.duplicate(at.index(i), name)
        seen.add(name)


# ---------------------------------------------------------------- rules


def validate_rule(raw: Mapping[str, Any], at: Path) -> list[FieldError]:
    """Operations, groups, versions, resources and scope."""
    return [
        *_operations(raw.get("operations") or (), at.child("operations")),
        *_listed(raw.get("apiGroups") or (), "API groups", at.child("apiGroups")),
        *_versions(raw.get("apiVersions") or (), at.child("apiVersions")),
        *_resources(raw.get("resources") or (), at.child("resources")),
        *one_of(raw.get("scope"), SCOPES, at.child("scope")),
    ]


def _listed(items: Sequence[str], called: str, at: Path) -> Iterator[FieldError]:
    """A list with something in it; a wildcard stands alone."""
    if not items:
        yield fields.required(at)
    if len(items) > 1 and "*" in items:
        yield fields.invalid(at, list(items), f"if '*' is present, must not specify other {called}")


def _operations(operations: Sequence[str], at: Path) -> Iterator[FieldError]:
    yield from _listed(operations, "operations", at)
    for i, operation in enumerate(operations):
        yield from one_of(operation, OPERATIONS, at.index(i))


def _versions(versions: Sequence[str], at: Path) -> Iterator[FieldError]:
    yield from _listed(versions, "API versions", at)
    yield from _required_items(versions, at)


def _required_items(items: Iterable[str], at: Path) -> Iterator[FieldError]:
    return (fields.required(at.index(i)) for i, item in enumerate(items) if not item)


def _resources(resources: Sequence[str], at: Path) -> Iterator[FieldError]:
    if not resources:
        yield fields.required(at)
    yield from _resource_items(resources, at)
    if len(resources) > 1 and "*/*" in resources:
        yield fields.invalid(at, list(resources), "if '*/*' is present, must not specify other resources")
    if "*" in resources and _names_a_resource_last(resources):
        text = "if '*' is present, must not specify other resources without subresources"
        yield fields.invalid(at, list(resources), text)


def _resource_items(resources: Sequence[str], at: Path) -> Iterator[FieldError]:
    """An item may not be covered by a wildcard before it. NB: after it is fine."""
    wild_subresources: set[str] = set()  # of x/*
    wild_resources: set[str] = set()  # of */x
    for i, item in enumerate(resources):
        if not item:
            yield fields.required(at.index(i))
        resource, slash, subresource = item.partition("/")
        if not slash:
            continue
        if resource in wild_subresources:
            yield fields.invalid(at.index(i), item, f"if '{resource}/*' is present, must not specify {item}")
        if subresource in wild_resources:
            yield fields.invalid(at.index(i), item, f"if '*/{subresource}' is present, must not specify {item}")
        if subresource == "*":
            wild_subresources.add(resource)
        if resource == "*":
            wild_resources.add(subresource)


def _names_a_resource_last(resources: Sequence[str]) -> bool:
    """NB: only the last item without a subresource counts, so that ["widgets", "*"] passes and ["*", "widgets"] does not."""
    whole = [item for item in resources if item and "/" not in item]
    return bool(whole) and whole[-1] != "*"
