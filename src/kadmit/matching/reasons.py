"""Why a request is not matched: the same questions as in `criteria` and `rules`, answered in words, when somebody wants them.

Matching itself says yes or no, and fast. Here every clause is looked at, also those that matching would not have come to, so that
an explanation can name the one that decides, and coverage knows which were never decisive. A test holds both to the same answers.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from kadmit.api.errors import ApiError
from kadmit.api.gojson import quoted
from kadmit.api.meta import GroupVersionKind, GroupVersionResource
from kadmit.matching.attributes import CONNECT, Attributes, Json, labels_of
from kadmit.matching.criteria import Criteria, namespace_labels
from kadmit.matching.rules import Rule
from kadmit.matching.selectors import Selector

NAMESPACE_SELECTOR, OBJECT_SELECTOR, EXCLUDE = "namespaceSelector", "objectSelector", "excludeResourceRules"


class Surroundings(NamedTuple):
    """What matching asks about one request, kept as it was then: equivalent resources, and the request's namespace."""

    same: Sequence[tuple[GroupVersionResource, GroupVersionKind]] = ()
    namespace_object: Json | None = None

    def equivalents(
        self, resource: GroupVersionResource, subresource: str
    ) -> Sequence[tuple[GroupVersionResource, GroupVersionKind]]:
        return self.same

    def namespace(self, name: str) -> Json | None:
        return self.namespace_object


class Reason(NamedTuple):
    """A clause that stands against a request, and why; of rules, each has its own why."""

    clause: str
    text: str
    details: tuple[str, ...] = ()

    def __str__(self) -> str:
        return f"{self.clause}: {self.text}"


class Examined(NamedTuple):
    """Every clause by itself: whether it lets the request through. `excluded` and `matched`: the rules that the request fits."""

    namespace: bool
    object: bool
    excluded: tuple[int, ...]
    matched: tuple[int, ...]
    rules: bool

    @property
    def against(self) -> int:
        """How many clauses stand against the request."""
        return (not self.namespace) + (not self.object) + bool(self.excluded) + (not self.rules)


def examine(criteria: Criteria, attributes: Attributes, around: Surroundings) -> Examined:
    """NB: where the namespace is not there, an error says so, and no selector stands against the request."""
    matched = _fitting(criteria, criteria.rules, attributes, around)
    return Examined(
        criteria.namespace_matches(attributes, around) is not False,
        criteria.object_matches(attributes),
        _fitting(criteria, criteria.exclude, attributes, around),
        matched,
        bool(matched) if criteria.rules else criteria.empty_matches_all,
    )


def reason(criteria: Criteria, attributes: Attributes, around: Surroundings) -> Reason | None:
    """The first clause that stands against the request; None if it matches, or if only an error keeps it from matching."""
    found = examine(criteria, attributes, around)
    if not found.namespace:
        return _namespace(criteria, attributes, around)
    if not found.object:
        return _object(criteria, attributes)
    if found.excluded:
        return Reason(f"{EXCLUDE}[{found.excluded[0]}]", f"it is about {_request(attributes)}")
    return None if found.rules else _unruled(criteria, attributes, around)


# ---------------------------------------------------------------- selectors


def _namespace(criteria: Criteria, attributes: Attributes, around: Surroundings) -> Reason:
    labels = namespace_labels(attributes, around)
    assert not isinstance(labels, ApiError)
    failing = _failing(criteria.namespace_selector, labels)
    return Reason(NAMESPACE_SELECTOR, f"namespace {quoted(attributes.namespace)} has {failing}")


def _object(criteria: Criteria, attributes: Attributes) -> Reason:
    if attributes.operation == CONNECT:
        return Reason(OBJECT_SELECTOR, "what is sent to a CONNECT has no labels, so only an empty selector selects it")
    which = (("the object", attributes.object), ("the old object", attributes.old_object))
    found = [
        f"{what} has {_failing(criteria.object_selector, labels)}" for what, o in which if (labels := labels_of(o)) is not None
    ]
    return Reason(OBJECT_SELECTOR, "; ".join(found) or "there is no object")


def _failing(selector: Selector, labels: Mapping[str, str]) -> str:
    """The requirements that do not hold, each with the label that it is about."""
    pairs = zip(selector.requirements, selector.texts, strict=True)
    return " and ".join(f"{_label(key, labels)} (wanted {text})" for holds, (key, text) in pairs if not holds(labels))


def _label(key: str, labels: Mapping[str, str]) -> str:
    return f"{key}={labels[key]}" if key in labels else f"no label {key}"


# ---------------------------------------------------------------- rules


def _ways(criteria: Criteria, attributes: Attributes, around: Surroundings) -> list[GroupVersionResource]:
    """What the request may be taken as: its own resource first."""
    own = attributes.resource
    return [own, *(r for r, _ in around.same if r != own)] if criteria.equivalent else [own]


def _fitting(criteria: Criteria, rules: Sequence[Rule], attributes: Attributes, around: Surroundings) -> tuple[int, ...]:
    ways = _ways(criteria, attributes, around) if rules else ()
    return tuple(
        i
        for i, rule in enumerate(rules)
        if rule.names_match(attributes.name) and any(rule.matches(attributes, way) for way in ways)
    )


def _request(attributes: Attributes) -> str:
    return f"{attributes.operation} {attributes.resource_text}" + (f" {quoted(attributes.name)}" if attributes.name else "")


def _unruled(criteria: Criteria, attributes: Attributes, around: Surroundings) -> Reason:
    clause = "resourceRules" if criteria.empty_matches_all else "rules"
    if not criteria.rules:
        return Reason(clause, "there are no rules")
    details = tuple(_why_not(rule, attributes, _ways(criteria, attributes, around)) for rule in criteria.rules)
    if len(details) == 1:
        return Reason(f"{clause}[0]", details[0], details)
    return Reason(clause, f"none of {len(details)} rules is about {_request(attributes)}", details)


def _why_not(rule: Rule, attributes: Attributes, ways: Sequence[GroupVersionResource]) -> str:
    """What a rule has against the request, taken as whatever comes nearest."""
    misses, way = min(((_misses(rule, attributes, way), way) for way in ways), key=lambda pair: len(pair[0]))
    taken = "" if way == attributes.resource else f" (taken as {way.resource} of {_group_version(way)})"
    return ", ".join(misses) + taken


def _group_version(resource: GroupVersionResource) -> str:
    return f"{resource.group}/{resource.version}" if resource.group else resource.version


def _misses(rule: Rule, attributes: Attributes, way: GroupVersionResource) -> list[str]:
    """Every part of a rule that does not fit."""
    sub = attributes.subresource
    found = []
    if not rule.in_scope(attributes, way):
        found.append(f"scope is {rule.scope}")
    if not _has(rule.operations, attributes.operation):
        found.append(f"operations {_listed(rule.operations)} lack {attributes.operation}")
    if not _has(rule.groups, way.group):
        found.append(f"apiGroups {_listed(rule.groups)} lack {quoted(way.group)}")
    if not rule.is_about(way.resource, sub):
        resources = (f"{r}/{s}" if s else r for r, s in rule.resources)
        found.append(f"resources {_listed(resources)} lack {way.resource}{f'/{sub}' if sub else ''}")
    if not _has(rule.versions, way.version):
        found.append(f"apiVersions {_listed(rule.versions)} lack {way.version}")
    if not rule.names_match(attributes.name):
        found.append(f"resourceNames {_listed(rule.names)} lack {quoted(attributes.name)}")
    return found


def _has(items: frozenset[str], wanted: str) -> bool:
    return wanted in items or "*" in items


def _listed(items: Iterable[str]) -> str:
    return f"[{', '.join(i or quoted(i) for i in sorted(items))}]"
