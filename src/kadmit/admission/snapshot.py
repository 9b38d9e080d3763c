"""All configuration at one moment: compiled, ordered and indexed, so that a request only looks up what may match it.

A snapshot never changes. A new one takes over every compiled piece whose object is the same as before, so one changed policy
compiles one policy. Order is fixed where kube-apiserver's is not: policies and bindings by name, params by namespace and name.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, TypeVar

from msgspec import Struct, field

from kadmit.admission.webhooks import Webhook, compile_configuration, in_order
from kadmit.matching.attributes import Attributes
from kadmit.matching.criteria import Criteria, Equivalents
from kadmit.matching.rules import any_could_match
from kadmit.policy import compiler
from kadmit.policy.model import Binding, BoundPolicy, Policy

T = TypeVar("T")
Raw = Mapping[str, Any]


class Configuration(Struct, frozen=True):
    """The registered objects, as v1 has them, defaults filled in."""

    mutating_policies: Sequence[Raw] = ()
    mutating_bindings: Sequence[Raw] = ()
    validating_policies: Sequence[Raw] = ()
    validating_bindings: Sequence[Raw] = ()
    mutating_webhooks: Sequence[Raw] = ()
    validating_webhooks: Sequence[Raw] = ()


class Candidates(Struct, frozen=True):
    """What may be about a request, in order. Mutating webhooks keep their index among all webhooks, for the audit log."""

    mutating_policies: tuple[BoundPolicy, ...] = ()
    mutating_webhooks: tuple[tuple[int, Webhook], ...] = ()
    validating_policies: tuple[BoundPolicy, ...] = ()
    validating_webhooks: tuple[Webhook, ...] = ()


_Key = tuple[str, str, str, str]


class Snapshot(Struct):
    """Compiled configuration. `_compiled` remembers what each object compiled to, `_found` what a kind of request may meet."""

    mutating_policies: tuple[BoundPolicy, ...] = ()
    validating_policies: tuple[BoundPolicy, ...] = ()
    mutating_webhooks: tuple[Webhook, ...] = ()
    validating_webhooks: tuple[Webhook, ...] = ()
    unbound_mutating: tuple[str, ...] = ()  # names of policies that no binding names: for explanations
    unbound_validating: tuple[str, ...] = ()
    _compiled: dict[int, tuple[Raw, Any]] = field(default_factory=dict)
    _found: dict[_Key, Candidates] = field(default_factory=dict)

    def candidates(self, attributes: Attributes, equivalents: Equivalents) -> Candidates:
        """Policies and webhooks whose rules may match; looked up once per kind of request."""
        resource = attributes.resource
        key = (resource.group, resource.resource, attributes.subresource, attributes.operation)
        found = self._found.get(key)
        if found is None:
            found = self._found[key] = self._search(attributes, equivalents)
        return found

    def _search(self, attributes: Attributes, equivalents: Equivalents) -> Candidates:
        same = equivalents.equivalents(attributes.resource, attributes.subresource)
        names = {(r.group, r.resource) for r, _ in same} | {(attributes.resource.group, attributes.resource.resource)}

        def may_match(criteria: Criteria) -> bool:
            if not criteria.rules:
                return criteria.empty_matches_all
            return any_could_match(criteria.rules, names, attributes.subresource, attributes.operation)

        return Candidates(
            tuple(p for p in self.mutating_policies if may_match(p.policy.criteria)),
            tuple((i, w) for i, w in enumerate(self.mutating_webhooks) if may_match(w.criteria)),
            tuple(p for p in self.validating_policies if may_match(p.policy.criteria)),
            tuple(w for w in self.validating_webhooks if may_match(w.criteria)),
        )


EMPTY = Snapshot()


def build(configuration: Configuration, previous: Snapshot = EMPTY) -> Snapshot:
    """The snapshot of a configuration. Objects that are the very same as in `previous` are not compiled again."""
    memory = _Memory(previous._compiled)
    policies = (configuration.mutating_policies, configuration.mutating_bindings, compiler.compile_mutating)
    validating = (configuration.validating_policies, configuration.validating_bindings, compiler.compile_validating)
    return Snapshot(
        unbound_mutating=_unbound(configuration.mutating_policies, configuration.mutating_bindings),
        unbound_validating=_unbound(configuration.validating_policies, configuration.validating_bindings),
        mutating_policies=_bound(*policies, memory),
        validating_policies=_bound(*validating, memory),
        mutating_webhooks=_webhooks(configuration.mutating_webhooks, memory),
        validating_webhooks=_webhooks(configuration.validating_webhooks, memory),
        _compiled=memory.kept,
    )


class _Memory:
    """What objects compiled to, by identity of the object."""

    __slots__ = ("_before", "kept")

    def __init__(self, before: Mapping[int, tuple[Raw, Any]]) -> None:
        self._before = before
        self.kept: dict[int, tuple[Raw, Any]] = {}

    def compiled(self, raw: Raw, compile_it: Callable[[Raw], T]) -> T:
        known = self._before.get(id(raw))
        made: T = known[1] if known is not None and known[0] is raw else compile_it(raw)
        self.kept[id(raw)] = (raw, made)
        return made


def _bound(
    policies: Sequence[Raw], bindings: Sequence[Raw], compile_policy: Callable[[Raw], Policy], memory: _Memory
) -> tuple[BoundPolicy, ...]:
    """Policies with their bindings; a policy that no binding names never does anything."""
    by_policy: dict[str, list[Binding]] = {}
    for raw in _by_name(bindings):
        binding = memory.compiled(raw, compiler.compile_binding)
        by_policy.setdefault(binding.policy_name, []).append(binding)
    return tuple(
        BoundPolicy(memory.compiled(raw, compile_policy), tuple(by_policy[raw["metadata"]["name"]]))
        for raw in _by_name(policies)
        if raw["metadata"]["name"] in by_policy
    )


def _unbound(policies: Sequence[Raw], bindings: Sequence[Raw]) -> tuple[str, ...]:
    bound = {(raw.get("spec") or {}).get("policyName", "") for raw in bindings}
    return tuple(raw["metadata"]["name"] for raw in _by_name(policies) if raw["metadata"]["name"] not in bound)


def _by_name(objects: Iterable[Raw]) -> list[Raw]:
    return sorted(objects, key=lambda o: str(o["metadata"]["name"]))


def _webhooks(configurations: Sequence[Raw], memory: _Memory) -> tuple[Webhook, ...]:
    return tuple(hook for raw in in_order(configurations) for hook in memory.compiled(raw, compile_configuration))
