"""What each policy and webhook did with a request, as steps that people and machines can read.

The chain records what happened; what did not happen is worked out here: a policy whose rules do not fit, or that nobody bound.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from kadmit.admission.outcome import Event, Record
from kadmit.admission.snapshot import Snapshot
from kadmit.api.registration import (
    MUTATING_POLICY,
    MUTATING_WEBHOOKS,
    VALIDATING_POLICY,
    VALIDATING_WEBHOOKS,
)
from kadmit.patch import jsondiff
from kadmit.policy.model import BoundPolicy
from kadmit.policy.validator import Decision
from kadmit.resources.state import REGISTRATION, State

CHANGED, UNCHANGED, FAILED, SKIPPED = "changed", "unchanged", "failed", "skipped"
ALLOWED, DENIED, WARNED, AUDITED, IGNORED = "allowed", "denied", "warned", "audited", "ignored"
NOT_CALLED = "not called"

_VERBS = {"add": "added", "remove": "removed", "replace": "replaced"}
_MAX_CHANGES = 6  # named in a text; a patch has them all


@dataclass(frozen=True, slots=True)
class Step:
    """One thing that a policy or webhook did, or why it did nothing."""

    kind: str
    name: str
    did: str
    binding: str = ""
    detail: str = ""
    patch: Sequence[Any] = field(default=())

    def as_json(self) -> dict[str, Any]:
        made = {"kind": self.kind, "name": self.name, "binding": self.binding, "did": self.did, "detail": self.detail}
        return {k: v for k, v in made.items() if v} | ({"patch": list(self.patch)} if self.patch else {})

    def __str__(self) -> str:
        through = f" (binding {self.binding})" if self.binding else ""
        return f"{self.kind} {self.name}{through}: {self.did}" + (f": {self.detail}" if self.detail else "")


@dataclass(frozen=True, slots=True)
class _Configured:
    """Which policies and webhooks there are, by name."""

    mutating: dict[str, BoundPolicy]
    validating: dict[str, BoundPolicy]
    mutating_webhooks: frozenset[str]
    calls: bool  # whether webhooks are really called

    @staticmethod
    def of(snapshot: Snapshot, *, calls: bool) -> "_Configured":
        return _Configured(
            {b.policy.name: b for b in snapshot.mutating_policies},
            {b.policy.name: b for b in snapshot.validating_policies},
            frozenset(w.name for w in snapshot.mutating_webhooks),
            calls,
        )

    def policy_kind(self, name: str) -> str:
        return MUTATING_POLICY if name in self.mutating else VALIDATING_POLICY

    def webhook_kind(self, name: str) -> str:
        return MUTATING_WEBHOOKS if name in self.mutating_webhooks else VALIDATING_WEBHOOKS


def steps(state: State, record: Record, *, calls: bool, refused: bool) -> list[Step]:
    """In the order in which it happened; at last what never came into question."""
    configured = _Configured.of(state.snapshot, calls=calls)
    found: list[Step] = []
    for event in record.events or ():
        found += (step for step in _steps_of(configured, event) if not _is_old_news(step, found))
    return [*found, *_idle(state, configured, {(s.kind, s.name) for s in found}, refused=refused)]


def _is_old_news(step: Step, found: Sequence[Step]) -> bool:
    """In a second round, what did something before or did not match before may not match any more."""
    who = (step.kind, step.name, step.binding)
    return step.did == SKIPPED and any((s.kind, s.name, s.binding) == who for s in found)


def _steps_of(configured: _Configured, event: Event) -> Iterator[Step]:
    about = event.about
    match event.what:
        case "policy not matched":
            yield Step(configured.policy_kind(event.name), event.name, SKIPPED, detail="the request does not match")
        case "binding not matched":
            kind = configured.policy_kind(event.name)
            yield Step(kind, event.name, SKIPPED, event.binding, "the request does not match the binding")
        case "match condition false":
            detail = f'match condition "{about["condition"]}" is false' if about["condition"] else "a match condition failed"
            yield Step(MUTATING_POLICY, event.name, SKIPPED, event.binding, detail)
        case "mutation failed":
            yield Step(MUTATING_POLICY, event.name, FAILED, event.binding, about["error"])
        case "mutated":
            yield _change(Step(MUTATING_POLICY, event.name, UNCHANGED, event.binding), event)
        case "validated":
            yield from _decided(configured, event)
        case "webhook not matched":
            yield Step(MUTATING_WEBHOOKS, event.name, SKIPPED, detail="the request does not match")
        case "webhook called":
            yield _called(configured, event)
        case "webhook patched":
            yield _change(Step(MUTATING_WEBHOOKS, event.name, UNCHANGED), event)


# ---------------------------------------------------------------- mutations


def _change(step: Step, event: Event) -> Step:
    patch = jsondiff.diff(event.about["before"], event.about["after"])
    return replace(step, did=CHANGED, detail=_told(patch), patch=patch) if patch else step


def _told(patch: Sequence[Any]) -> str:
    shown = [f"{_VERBS[o['op']]} {_dotted(o['path'])}" for o in patch[:_MAX_CHANGES]]
    more = len(patch) - len(shown)
    return ", ".join(shown) + (f" and {more} more" if more else "")


def _dotted(pointer: str) -> str:
    """spec.containers[0].image of /spec/containers/0/image."""
    made = ""
    for part in pointer.split("/")[1:]:
        name = part.replace("~1", "/").replace("~0", "~")
        plain = name.isidentifier() or not made
        made += f"[{name}]" if name.isdecimal() or not plain else f".{name}" if made else name
    return made


# ---------------------------------------------------------------- validations


def _decided(configured: _Configured, event: Event) -> Iterator[Step]:
    bound = configured.validating.get(event.name)
    decisions: Sequence[Decision] = event.about["decisions"]
    if not decisions and bound is not None and bound.policy.conditions:
        yield Step(VALIDATING_POLICY, event.name, SKIPPED, event.binding, "a match condition is false")
        return
    actions = next((b.actions for b in bound.bindings if b.name == event.binding), ()) if bound is not None else ()
    said = [Step(VALIDATING_POLICY, event.name, _did(d, actions), event.binding, d.message) for d in decisions if d.message]
    yield from said or [Step(VALIDATING_POLICY, event.name, ALLOWED, event.binding)]


def _did(decision: Decision, actions: Sequence[str]) -> str:
    if not decision.denied:
        return IGNORED  # it failed, and its failure policy does not mind
    return DENIED if "Deny" in actions else WARNED if "Warn" in actions else AUDITED


# ---------------------------------------------------------------- webhooks


def _called(configured: _Configured, event: Event) -> Step:
    kind = configured.webhook_kind(event.name)
    if not configured.calls:
        return Step(kind, event.name, NOT_CALLED, detail="taken to allow the request")
    return Step(kind, event.name, ALLOWED if event.about["allowed"] else DENIED)


# ---------------------------------------------------------------- what did nothing


def _idle(state: State, configured: _Configured, seen: set[tuple[str, str]], *, refused: bool) -> Iterator[Step]:
    """NB: a request that was refused has perhaps not come to all policies."""
    registered = ((MUTATING_POLICY, configured.mutating), (VALIDATING_POLICY, configured.validating))
    plurals = {MUTATING_POLICY: "mutatingadmissionpolicies", VALIDATING_POLICY: "validatingadmissionpolicies"}
    for kind, bound in registered:
        for raw in state.all((REGISTRATION, plurals[kind])):
            name = raw["metadata"]["name"]
            if name not in bound:
                yield Step(kind, name, SKIPPED, detail="no binding names it")
            elif (kind, name) not in seen and not refused:
                yield Step(kind, name, SKIPPED, detail="the request does not match")
