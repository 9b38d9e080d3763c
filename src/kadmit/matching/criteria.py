"""matchConstraints and matchResources: selectors and rules together, with matchPolicy Equivalent.

The answer is which resource and kind the request is taken as: the request's own, or an equivalent one that a rule names.
"""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple, Protocol

from msgspec import Struct

from kadmit.api import errors
from kadmit.api.errors import ApiError
from kadmit.api.meta import GroupResource, GroupVersionKind, GroupVersionResource
from kadmit.matching.attributes import CONNECT, CREATE, UPDATE, Attributes, Json, labels_of
from kadmit.matching.rules import Rule, compile_rules
from kadmit.matching.selectors import EVERYTHING, Selector, compile_selector


class Equivalents(Protocol):
    """Knows which resources hold the same objects. A seam, because CRDs come and go while policies stay compiled."""

    def equivalents(
        self, resource: GroupVersionResource, subresource: str
    ) -> Sequence[tuple[GroupVersionResource, GroupVersionKind]]:
        """All of them, the resource itself among them, in the order in which they are tried."""


class Namespaces(Protocol):
    """Finds Namespace objects."""

    def namespace(self, name: str) -> Json | None: ...


class Match(NamedTuple):
    """What a request was taken as."""

    resource: GroupVersionResource
    kind: GroupVersionKind


class Criteria(Struct, frozen=True):
    """Compiled matchConstraints, matchResources, or a webhook's rules and selectors."""

    rules: tuple[Rule, ...]
    exclude: tuple[Rule, ...] = ()
    namespace_selector: Selector = EVERYTHING
    object_selector: Selector = EVERYTHING
    equivalent: bool = True
    empty_matches_all: bool = True  # policies: no rules match everything; webhooks: nothing

    def match(self, attributes: Attributes, equivalents: Equivalents, namespaces: Namespaces) -> "Match | ApiError | None":
        """What the request is taken as, None if it does not match, or the error of a namespace that is not there."""
        problem: ApiError | None = None
        if self.namespace_selector is not EVERYTHING:
            chosen = self.namespace_matches(attributes, namespaces)
            if isinstance(chosen, ApiError):
                problem = chosen
            elif not chosen:
                return None
        if self.object_selector is not EVERYTHING and not self.object_matches(attributes):
            return None
        if self.exclude and self._rules_match(self.exclude, attributes, equivalents) is not None:
            return None
        found = self._taken_as(attributes, equivalents)
        return problem if problem is not None and found is not None else found

    def _taken_as(self, attributes: Attributes, equivalents: Equivalents) -> Match | None:
        if not self.rules:
            return Match(attributes.resource, attributes.kind) if self.empty_matches_all else None
        return self._rules_match(self.rules, attributes, equivalents)

    def _rules_match(self, rules: Sequence[Rule], attributes: Attributes, equivalents: Equivalents) -> Match | None:
        for rule in rules:
            if rule.matches(attributes, attributes.resource) and rule.names_match(attributes.name):
                return Match(attributes.resource, attributes.kind)
        if not self.equivalent:
            return None
        others = [e for e in equivalents.equivalents(attributes.resource, attributes.subresource) if e[0] != attributes.resource]
        for rule in rules:
            for resource, kind in others:
                if rule.matches(attributes, resource) and rule.names_match(attributes.name):
                    return Match(resource, kind)
        return None

    def namespace_matches(self, attributes: Attributes, namespaces: Namespaces) -> "bool | ApiError":
        """Whether the selector lets the request's namespace through, or the error that it is not there."""
        if not attributes.namespace and attributes.resource.resource != "namespaces":
            return True  # cluster-scoped objects are never exempt
        if self.namespace_selector.empty:
            return True
        labels = namespace_labels(attributes, namespaces)
        return labels if isinstance(labels, ApiError) else self.namespace_selector.matches(labels)

    def object_matches(self, attributes: Attributes) -> bool:
        if self.object_selector.empty:
            return True
        if attributes.operation == CONNECT:
            return False  # NB: options have no metadata, and what has no labels at all is not even without one
        return any(
            labels is not None and self.object_selector.matches(labels)
            for labels in (labels_of(attributes.object), labels_of(attributes.old_object))
        )


def namespace_labels(attributes: Attributes, namespaces: Namespaces) -> "Mapping[str, str] | ApiError":
    """Of a Namespace that is being written, its new labels; else those of the namespace that is there."""
    writing = attributes.operation in (CREATE, UPDATE)
    if attributes.resource.resource == "namespaces" and not attributes.subresource and writing:
        return labels_of(attributes.object) or {}
    found = namespaces.namespace(attributes.namespace)
    if found is None:
        return errors.not_found(GroupResource("", "namespaces"), attributes.namespace)
    return labels_of(found) or {}


def compile_policy_criteria(raw: Mapping[str, Any]) -> Criteria:
    """matchConstraints of a policy, or matchResources of a binding."""
    return Criteria(
        rules=compile_rules(raw.get("resourceRules")),
        exclude=compile_rules(raw.get("excludeResourceRules")),
        namespace_selector=compile_selector(raw.get("namespaceSelector") or {}),
        object_selector=compile_selector(raw.get("objectSelector") or {}),
        equivalent=raw.get("matchPolicy") != "Exact",
    )


def compile_webhook_criteria(raw: Mapping[str, Any]) -> Criteria:
    """A webhook's rules and selectors."""
    return Criteria(
        rules=compile_rules(raw.get("rules")),
        namespace_selector=compile_selector(raw.get("namespaceSelector") or {}),
        object_selector=compile_selector(raw.get("objectSelector") or {}),
        equivalent=raw.get("matchPolicy") != "Exact",
        empty_matches_all=False,
    )
