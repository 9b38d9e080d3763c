"""PolicyRule: what one rule of a role allows, and when one rule holds everything that another does.

Two questions that look alike and are not: a request is matched with its own names, and "*" in it is no star; one rule covers
another only where its stars reach. NB: in a rule, only "*" and "*/scale" are stars. "pods/*" is a subresource of that odd name.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import product
from typing import Any

from msgspec import Struct, field
from msgspec.structs import replace

from kadmit.api.gojson import quoted
from kadmit.cel.library.authorizer import Attributes

ALL = "*"
MOST_PIECES = 100_000  # the lists of a rule multiply: a small object could hold more than anybody can compare


class PolicyRule(Struct, frozen=True):
    """As the API has it: each list in its own order."""

    verbs: tuple[str, ...] = ()
    api_groups: tuple[str, ...] = ()
    resources: tuple[str, ...] = ()
    resource_names: tuple[str, ...] = ()
    non_resource_urls: tuple[str, ...] = ()

    def allows_verb(self, verb: str) -> bool:
        return ALL in self.verbs or verb in self.verbs

    def allows_group(self, group: str) -> bool:
        return ALL in self.api_groups or group in self.api_groups

    def allows_name(self, name: str) -> bool:
        return not self.resource_names or name in self.resource_names

    def allows_path(self, path: str) -> bool:
        return any(_reaches(url, path) for url in self.non_resource_urls)

    def as_json(self) -> dict[str, Any]:
        made = {
            "verbs": self.verbs,
            "apiGroups": self.api_groups,
            "resources": self.resources,
            "resourceNames": self.resource_names,
            "nonResourceURLs": self.non_resource_urls,
        }
        return {k: list(v) for k, v in made.items() if v or k == "verbs"}

    def __str__(self) -> str:
        """As texts about missing rights show it."""
        parts = {
            "APIGroups": self.api_groups,
            "Resources": self.resources,
            "NonResourceURLs": self.non_resource_urls,
            "ResourceNames": self.resource_names,
            "Verbs": self.verbs,
        }
        return "{" + ", ".join(f"{name}:{quoted_list(items)}" for name, items in parts.items() if items) + "}"


class TooManyRules(ValueError):
    """Rules too big to be compared."""


FULL_AUTHORITY = (
    PolicyRule(verbs=(ALL,), api_groups=(ALL,), resources=(ALL,)),
    PolicyRule(verbs=(ALL,), non_resource_urls=(ALL,)),
)


def quoted_list(items: Iterable[str]) -> str:
    """Go's %q of a list."""
    return f"[{' '.join(map(quoted, items))}]"


def _reaches(url: str, path: str) -> bool:
    return url == path or (url.endswith(ALL) and path.startswith(url.rstrip(ALL)))


# ---------------------------------------------------------------- reading


def compile_rule(raw: Mapping[str, Any]) -> PolicyRule:
    return PolicyRule(
        verbs=_texts(raw.get("verbs")),
        api_groups=_texts(raw.get("apiGroups")),
        resources=_texts(raw.get("resources")),
        resource_names=_texts(raw.get("resourceNames")),
        non_resource_urls=_texts(raw.get("nonResourceURLs")),
    )


def compile_rules(raw: object) -> tuple[PolicyRule, ...]:
    """`rules` of a role; what is no rule is left out, for files are read before anybody validates them."""
    return tuple(compile_rule(r) for r in raw if isinstance(r, dict)) if isinstance(raw, list) else ()


def _texts(raw: object) -> tuple[str, ...]:
    return tuple(t for t in raw if isinstance(t, str)) if isinstance(raw, list) else ()


# ---------------------------------------------------------------- asking


class Rules(Struct, frozen=True):
    """All rules of a role, found by resource: a big role costs no more to ask than a small one."""

    rules: tuple[PolicyRule, ...] = ()
    by_resource: Mapping[str, tuple[PolicyRule, ...]] = field(default_factory=dict)
    with_paths: tuple[PolicyRule, ...] = ()

    @staticmethod
    def of(rules: Sequence[PolicyRule]) -> "Rules":
        by_resource: dict[str, list[PolicyRule]] = {}
        for rule in rules:
            for resource in dict.fromkeys(rule.resources):
                by_resource.setdefault(resource, []).append(rule)
        found = {resource: tuple(held) for resource, held in by_resource.items()}
        return Rules(tuple(rules), found, tuple(r for r in rules if r.non_resource_urls))

    def allow(self, asked: Attributes) -> bool:
        if not asked.resource_request:
            return any(r.allows_verb(asked.verb) and r.allows_path(asked.path) for r in self.with_paths)
        found = self._about(asked.resource, asked.subresource)
        return any(r.allows_verb(asked.verb) and r.allows_group(asked.group) and r.allows_name(asked.name) for r in found)

    def cover(self, piece: PolicyRule) -> bool:
        """Whether one of the rules holds all that this one of one verb on one thing does."""
        if piece.non_resource_urls:
            return any(_covers(r, piece) and r.allows_path(piece.non_resource_urls[0]) for r in self.with_paths)
        resource, _, subresource = piece.resources[0].partition("/")
        found = self._about(resource, subresource)
        return any(_covers(r, piece) and r.allows_group(piece.api_groups[0]) for r in found)

    def _about(self, resource: str, subresource: str) -> Iterator[PolicyRule]:
        yield from self.by_resource.get(ALL, ())
        if not subresource:
            yield from self.by_resource.get(resource, ())
        else:
            yield from self.by_resource.get(f"{resource}/{subresource}", ())
            yield from self.by_resource.get(f"{ALL}/{subresource}", ())


# ---------------------------------------------------------------- comparing


def uncovered(held: Rules, wanted: Iterable[PolicyRule]) -> list[PolicyRule]:
    """What `wanted` allows and `held` does not, in the smallest rules there are. Raises TooManyRules."""
    rules = tuple(wanted)
    if sum(map(_pieces, rules)) > MOST_PIECES:
        raise TooManyRules(f"the rules hold more than {MOST_PIECES} permissions")
    return [piece for rule in rules for piece in broken_down(rule) if not held.cover(piece)]


def _pieces(rule: PolicyRule) -> int:
    on_resources = len(rule.api_groups) * len(rule.resources) * max(1, len(rule.resource_names))
    return len(rule.verbs) * (on_resources + len(rule.non_resource_urls))


def broken_down(rule: PolicyRule) -> Iterator[PolicyRule]:
    """A rule as rules of one verb on one thing each."""
    for group, resource, verb in product(rule.api_groups, rule.resources, rule.verbs):
        piece = PolicyRule(verbs=(verb,), api_groups=(group,), resources=(resource,))
        if not rule.resource_names:
            yield piece
        for name in rule.resource_names:
            yield replace(piece, resource_names=(name,))
    for url, verb in product(rule.non_resource_urls, rule.verbs):
        yield PolicyRule(verbs=(verb,), non_resource_urls=(url,))


def _covers(held: PolicyRule, piece: PolicyRule) -> bool:
    """As far as verb and names go."""
    return held.allows_verb(piece.verbs[0]) and _covers_names(held, piece)


def _covers_names(held: PolicyRule, piece: PolicyRule) -> bool:
    """Without names a rule is about all of them, so only a rule without names covers it."""
    if not piece.resource_names:
        return not held.resource_names
    return held.allows_name(piece.resource_names[0])


def compacted(pieces: Iterable[PolicyRule]) -> list[PolicyRule]:
    """Rules about one and the same resource (and name) as one rule with all their verbs."""
    kept: list[PolicyRule] = []
    merged: dict[tuple[object, ...], PolicyRule] = {}
    for rule in pieces:
        if not _is_simple(rule):
            kept.append(rule)
            continue
        same = (rule.api_groups, rule.resources, rule.resource_names)
        before = merged.get(same)
        merged[same] = rule if before is None else replace(before, verbs=before.verbs + rule.verbs)
    return kept + list(merged.values())


def _is_simple(rule: PolicyRule) -> bool:
    single = len(rule.api_groups) == 1 and len(rule.resources) == 1
    return single and len(rule.resource_names) <= 1 and not rule.non_resource_urls
