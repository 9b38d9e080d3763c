"""Aggregated ClusterRoles: roles whose rules are those of other roles, chosen by label.

In a cluster a controller writes the rules into the role, round after round until nothing changes. Here they are computed.
"""

from collections.abc import Mapping
from typing import Any

from msgspec import Struct, field

from kadmit.access.policyrules import PolicyRule, compile_rules
from kadmit.matching.attributes import labels_of
from kadmit.matching.selectors import Selector, SelectorError, compile_selector


class ClusterRole(Struct, frozen=True):
    """`selectors` is None for a role that has rules of its own."""

    rules: tuple[PolicyRule, ...] = ()
    labels: Mapping[str, str] = field(default_factory=dict)
    selectors: tuple[Selector, ...] | None = None


def compile_cluster_role(raw: Mapping[str, Any]) -> ClusterRole:
    return ClusterRole(compile_rules(raw.get("rules")), labels_of(raw) or {}, _selectors(raw.get("aggregationRule")))


def _selectors(raw: object) -> tuple[Selector, ...] | None:
    """NB: with a selector that cannot be read the controller gives up, so the role keeps the rules that it has."""
    if not isinstance(raw, dict):
        return None
    try:
        return tuple(compile_selector(s) for s in raw.get("clusterRoleSelectors") or ())
    except SelectorError:
        return None


def aggregated(roles: Mapping[str, ClusterRole]) -> dict[str, tuple[PolicyRule, ...]]:
    """The rules of each aggregated role. Aggregated roles may gather one another, hence the rounds."""
    chosen = {name: _sources(name, role, roles) for name, role in roles.items() if role.selectors is not None}
    rules: dict[str, tuple[PolicyRule, ...]] = dict.fromkeys(chosen, ())
    for _ in range(len(chosen) + 1):
        after = {name: _gathered(sources, roles, rules) for name, sources in chosen.items()}
        if after == rules:
            break
        rules = after
    return rules


def _sources(of: str, role: ClusterRole, roles: Mapping[str, ClusterRole]) -> list[str]:
    """By selector, then by name; never the role itself."""
    found: dict[str, None] = {}
    for selector in role.selectors or ():
        found.update((name, None) for name in sorted(roles) if name != of and selector.matches(roles[name].labels))
    return list(found)


def _gathered(
    sources: list[str], roles: Mapping[str, ClusterRole], computed: Mapping[str, tuple[PolicyRule, ...]]
) -> tuple[PolicyRule, ...]:
    found: dict[PolicyRule, None] = {}
    for name in sources:
        found.update(dict.fromkeys(computed[name] if name in computed else roles[name].rules))
    return tuple(found)
