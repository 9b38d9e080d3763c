"""What each policy and webhook did with a request, in a few words; `story` has all of them.

The chain records what happened; what did not happen is worked out here: a policy whose rules do not fit, or that nobody bound.
"""

from collections.abc import Iterator, Sequence
from typing import Any

from msgspec import Struct, field
from msgspec.structs import replace

from kadmit.admission import events
from kadmit.admission.events import MUTATING, POLICIES, Event
from kadmit.admission.outcome import Record
from kadmit.admission.webhooks import Webhook
from kadmit.api.errors import ApiError
from kadmit.api.registration import (
    MUTATING_POLICY,
    MUTATING_WEBHOOKS,
    VALIDATING_POLICY,
    VALIDATING_WEBHOOKS,
)
from kadmit.patch import jsondiff
from kadmit.policy.mutator import Rejection
from kadmit.policy.validator import Decision
from kadmit.resources.state import REGISTRATION, State

CHANGED, UNCHANGED, FAILED, SKIPPED = "changed", "unchanged", "failed", "skipped"
ALLOWED, DENIED, WARNED, AUDITED, IGNORED = "allowed", "denied", "warned", "audited", "ignored"
NOT_CALLED = "not called"

_VERBS = {"add": "added", "remove": "removed", "replace": "replaced"}
_MAX_CHANGES = 6  # named in a text; a patch has them all


class Step(Struct, frozen=True):
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


def steps(state: State, record: Record, *, calls: bool, refused: bool) -> list[Step]:
    """In the order in which it happened; at last what never came into question."""
    telling = _Telling(calls)
    for event in record.events or ():
        for step in telling.steps_of(event):
            if not _is_old_news(step, telling.found):
                telling.found.append(step)
    return [*telling.found, *_idle(state, telling.found, refused=refused)]


def _is_old_news(step: Step, found: Sequence[Step]) -> bool:
    """In a second round, what did something before or did not match before may not match any more."""
    who = (step.kind, step.name, step.binding)
    return step.did == SKIPPED and any((s.kind, s.name, s.binding) == who for s in found)


class _Telling(Struct):
    """How far the telling has come: in which half, and what has been told."""

    calls: bool  # whether webhooks are really called
    entered: events.Entered | None = None
    found: list[Step] = field(default_factory=list)

    @property
    def _is_mutating(self) -> bool:
        return self.entered is not None and self.entered.half == MUTATING

    @property
    def _policy(self) -> str:
        return MUTATING_POLICY if self._is_mutating else VALIDATING_POLICY

    @property
    def _webhook(self) -> str:
        return MUTATING_WEBHOOKS if self._is_mutating else VALIDATING_WEBHOOKS

    def steps_of(self, event: Event) -> Iterator[Step]:
        match event:
            case events.Entered():
                self.entered = event
            case events.Began(who=who, exempt=False) if who == POLICIES:
                yield from self._unmatched(event)
            case events.Misconfigured():
                binding = "" if event.binding is None else event.binding.name
                yield Step(self._policy, event.policy.name, FAILED if event.policy.fail else IGNORED, binding, event.text)
            case events.Chosen(params=[]):
                yield Step(self._policy, event.policy.name, SKIPPED, event.binding.name, "no params were found")
            case events.Asked():
                yield from self._asked(event)
            case events.Mutated():
                yield _mutated(event)
            case events.Judged():
                yield from _judged(event)
            case events.Considered():
                yield from self._considered(event)
            case events.Called(verdict=verdict) if verdict is not None:
                yield self._called(event.call.webhook, allowed=verdict.allowed)
            case events.Patched():
                yield _change(Step(MUTATING_WEBHOOKS, event.webhook.name, UNCHANGED), event.before, event.after)
            case events.Failed(webhook=webhook):
                yield Step(self._webhook, webhook.name, FAILED if webhook.fail else IGNORED, detail=event.text)

    def _unmatched(self, began: events.Began) -> Iterator[Step]:
        assert self.entered is not None
        snapshot, around, attributes = self.entered.snapshot, self.entered.around, began.attributes
        for bound in snapshot.mutating_policies if self._is_mutating else snapshot.validating_policies:
            if bound.policy.criteria.match(attributes, around, around) is None:
                continue
            for binding in bound.bindings:
                if binding.criteria is not None and binding.criteria.match(attributes, around, around) is None:
                    detail = "the request does not match the binding"
                    yield Step(self._policy, bound.policy.name, SKIPPED, binding.name, detail)

    def _asked(self, event: events.Asked) -> Iterator[Step]:
        kind = self._webhook if isinstance(event.of, Webhook) else self._policy
        binding = "" if event.binding is None else event.binding.name
        if event.said.error:
            yield Step(kind, event.of.name, FAILED, binding, event.said.error)
        elif not event.said.matches:
            name = event.said.false_condition
            detail = f'match condition "{name}" is false' if name else "a match condition failed"
            yield Step(kind, event.of.name, SKIPPED, binding, detail)

    def _considered(self, event: events.Considered) -> Iterator[Step]:
        assert self.entered is not None
        around = self.entered.around
        if event.webhook.criteria.match(event.attributes, around, around) is None:
            yield Step(self._webhook, event.webhook.name, SKIPPED, detail="the request does not match")

    def _called(self, webhook: Webhook, *, allowed: bool) -> Step:
        if not self.calls:
            return Step(self._webhook, webhook.name, NOT_CALLED, detail="taken to allow the request")
        return Step(self._webhook, webhook.name, ALLOWED if allowed else DENIED)


# ---------------------------------------------------------------- mutations


def _mutated(event: events.Mutated) -> Step:
    step = Step(MUTATING_POLICY, event.policy.name, UNCHANGED, event.binding.name)
    if isinstance(event.result, Rejection | ApiError):
        return replace(step, did=FAILED, detail=problem(event.result))
    return _change(step, event.bound["object"], event.result)


def problem(result: Rejection | ApiError) -> str:
    return result.text if isinstance(result, Rejection) else str(result)


def _change(step: Step, before: Any, after: Any) -> Step:
    patch = jsondiff.diff(before, after)
    return replace(step, did=CHANGED, detail=told(patch), patch=patch) if patch else step


def told(patch: Sequence[Any]) -> str:
    """A patch in a few words."""
    shown = [f"{_VERBS[o['op']]} {dotted(o['path'])}" for o in patch[:_MAX_CHANGES]]
    more = len(patch) - len(shown)
    return ", ".join(shown) + (f" and {more} more" if more else "")


def dotted(pointer: str) -> str:
    """spec.containers[0].image of /spec/containers/0/image."""
    made = ""
    for part in pointer.split("/")[1:]:
        name = part.replace("~1", "/").replace("~0", "~")
        plain = name.isidentifier() or not made
        made += f"[{name}]" if name.isdecimal() or not plain else f".{name}" if made else name
    return made


# ---------------------------------------------------------------- validations


def _judged(event: events.Judged) -> Iterator[Step]:
    name, binding = event.policy.name, event.binding
    said = [
        Step(VALIDATING_POLICY, name, did(d, binding.actions), binding.name, d.message)
        for d in event.validated.decisions
        if d.message
    ]
    yield from said or [Step(VALIDATING_POLICY, name, ALLOWED, binding.name)]


def did(decision: Decision, actions: Sequence[str]) -> str:
    """What a decision that says something comes to."""
    if not decision.denied:
        return IGNORED  # it failed, and its failure policy does not mind
    return DENIED if "Deny" in actions else WARNED if "Warn" in actions else AUDITED


# ---------------------------------------------------------------- what did nothing


def _idle(state: State, found: Sequence[Step], *, refused: bool) -> Iterator[Step]:
    """NB: a request that was refused has perhaps not come to all policies."""
    seen = {(step.kind, step.name) for step in found}
    bound = {
        (MUTATING_POLICY, "mutatingadmissionpolicies"): state.snapshot.mutating_policies,
        (VALIDATING_POLICY, "validatingadmissionpolicies"): state.snapshot.validating_policies,
    }
    for (kind, plural), policies in bound.items():
        names = {b.policy.name for b in policies}
        for raw in state.all((REGISTRATION, plural)):
            name = raw["metadata"]["name"]
            if name not in names:
                yield Step(kind, name, SKIPPED, detail="no binding names it")
            elif (kind, name) not in seen and not refused:
                yield Step(kind, name, SKIPPED, detail="the request does not match")
