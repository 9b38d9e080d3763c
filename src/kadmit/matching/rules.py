"""Rules: operations, groups, versions, resources, scope and names, each a set or a wildcard."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from msgspec import Struct

from kadmit.api.meta import GroupVersionResource
from kadmit.matching.attributes import NAMESPACES, Attributes


class Rule(Struct, frozen=True):
    """One rule of a webhook or policy, ready to be asked. Names are only ever given by policies."""

    operations: frozenset[str]
    groups: frozenset[str]
    versions: frozenset[str]
    resources: frozenset[tuple[str, str]]  # resource and subresource, each perhaps *
    scope: str = "*"
    names: frozenset[str] = frozenset()

    def could_match(self, group: str, resource: str, subresource: str, operation: str) -> bool:
        """What an index can tell before it sees a request."""
        return _in(self.operations, operation) and _in(self.groups, group) and self.is_about(resource, subresource)

    def is_about(self, resource: str, subresource: str) -> bool:
        ways = ((resource, subresource), (resource, "*"), ("*", subresource), ("*", "*"))
        return not self.resources.isdisjoint(ways)

    def matches(self, attributes: Attributes, resource: GroupVersionResource) -> bool:
        """Whether it is about the request, taken as a request for `resource`; names are looked at separately."""
        return (
            (self.scope == "*" or self.in_scope(attributes, resource))
            and self.could_match(resource.group, resource.resource, attributes.subresource, attributes.operation)
            and _in(self.versions, resource.version)
        )

    def in_scope(self, attributes: Attributes, resource: GroupVersionResource) -> bool:
        if self.scope == "*":
            return True
        # NB: a Namespace has its own name as namespace, but is cluster-scoped.
        cluster = resource == NAMESPACES or not attributes.namespace
        return cluster if self.scope == "Cluster" else not cluster

    def names_match(self, name: str) -> bool:
        return not self.names or name in self.names


def _in(items: frozenset[str], wanted: str) -> bool:
    return wanted in items or "*" in items


def compile_rule(raw: Mapping[str, Any]) -> Rule:
    return Rule(
        operations=frozenset(raw.get("operations") or ()),
        groups=frozenset(raw.get("apiGroups") or ()),
        versions=frozenset(raw.get("apiVersions") or ()),
        resources=frozenset(_split(r) for r in raw.get("resources") or ()),
        scope=raw.get("scope") or "*",
        names=frozenset(raw.get("resourceNames") or ()),
    )


def _split(text: str) -> tuple[str, str]:
    resource, _, subresource = text.partition("/")
    return resource, subresource


def compile_rules(raw: Iterable[Mapping[str, Any]] | None) -> tuple[Rule, ...]:
    return tuple(compile_rule(r) for r in raw or ())


def any_could_match(rules: Sequence[Rule], resources: Iterable[tuple[str, str]], subresource: str, operation: str) -> bool:
    """Whether one of the rules may be about one of these (group, resource) pairs."""
    return any(rule.could_match(group, name, subresource, operation) for group, name in resources for rule in rules)
