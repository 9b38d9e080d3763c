"""What became of every policy in one stage: through which bindings, with which params, and what its expressions said."""

from collections.abc import Iterator, Sequence
from typing import NamedTuple, TypeVar

from kadmit.admission import events
from kadmit.admission.events import MUTATING, Event
from kadmit.api.errors import ApiError
from kadmit.api.registration import (
    MUTATING_BINDING,
    MUTATING_POLICY,
    VALIDATING_BINDING,
    VALIDATING_POLICY,
)
from kadmit.authoring.explanation import (
    ALLOWED,
    AUDITED,
    CHANGED,
    DENIED,
    FAILED,
    IGNORED,
    SKIPPED,
    UNCHANGED,
    WARNED,
    did,
)
from kadmit.authoring.manifests import Json
from kadmit.authoring.story.expressions import Owner, Purse
from kadmit.authoring.story.places import Places
from kadmit.authoring.story.shape import Bound, Entry, Evaluated, Outcome, Run
from kadmit.matching import reasons
from kadmit.patch import jsondiff
from kadmit.policy.evaluation import Conditions
from kadmit.policy.model import Binding, BoundPolicy, Policy
from kadmit.policy.mutator import Rejection
from kadmit.policy.validator import Decision, Validated

NOT_REACHED, NOT_AGAIN, PUBLISHED = "not reached", "not run again", "published"

# The more serious comes first: what a policy did is the most serious thing that a part of it did.
_ORDER = (DENIED, FAILED, CHANGED, WARNED, AUDITED, IGNORED, ALLOWED, UNCHANGED, NOT_AGAIN, NOT_REACHED, SKIPPED)

T = TypeVar("T", bound=Event)


def entries(entered: events.Entered, began: events.Began, happened: Sequence[Event], places: Places) -> Iterator[Entry]:
    """All policies of the half, by name; those that nobody bound, too."""
    snapshot, mutating = entered.snapshot, began.half == MUTATING
    bound = snapshot.mutating_policies if mutating else snapshot.validating_policies
    unbound = snapshot.unbound_mutating if mutating else snapshot.unbound_validating
    kind = MUTATING_POLICY if mutating else VALIDATING_POLICY
    told = [_Policy(b, kind, entered, began, happened, places).entry() for b in bound]
    told += [Entry(kind, name, SKIPPED, "no binding names it", place=places.of(kind, name)) for name in unbound]
    return iter(sorted(told, key=lambda entry: entry.name))


class _Policy(NamedTuple):
    """One policy, and all that is known about its round."""

    bound: BoundPolicy
    kind: str
    entered: events.Entered
    began: events.Began
    happened: Sequence[Event]
    places: Places

    @property
    def policy(self) -> Policy:
        return self.bound.policy

    @property
    def owner(self) -> Owner:
        return Owner(self.kind, self.policy.name, "spec", self.places, self.policy)

    def entry(self) -> Entry:
        place = self.places.of(self.kind, self.policy.name)
        failure_policy = "Fail" if self.policy.fail else "Ignore"
        against = reasons.reason(self.policy.criteria, self.began.attributes, self.entered.around)
        if against is not None:
            why = f"matchConstraints.{against}"
            return Entry(self.kind, self.policy.name, SKIPPED, why, several(against.details), place=place)
        problem = next((e for e in self._mine(events.Misconfigured) if e.binding is None), None)
        if problem is not None:
            what = self._failed()
            return Entry(self.kind, self.policy.name, what, problem.text, failure_policy=failure_policy, place=place)
        through = tuple(map(self._binding, self.bound.bindings))
        what, why = _worst([b.did for b in through]), through[0].because if len(through) == 1 else ""
        return Entry(self.kind, self.policy.name, what, why, failure_policy=failure_policy, place=place, bindings=through)

    def _failed(self) -> str:
        return FAILED if self.policy.fail else IGNORED

    def _mine(self, kind: type[T]) -> list[T]:
        """Events of a kind that are about this policy."""
        found = [e for e in self.happened if isinstance(e, kind)]
        return [
            e
            for e in found
            if (e.of if isinstance(e, events.Asked | events.NotAgain) else getattr(e, "policy", None)) is self.policy
        ]

    # ------------------------------------------------------------ bindings

    def _binding(self, binding: Binding) -> Bound:
        place = self.places.of(MUTATING_BINDING if self.kind == MUTATING_POLICY else VALIDATING_BINDING, binding.name)
        criteria, around = binding.criteria, self.entered.around
        against = None if criteria is None else reasons.reason(criteria, self.began.attributes, around)
        if against is not None:
            return Bound(binding.name, SKIPPED, f"matchResources.{against}", several(against.details), place=place)
        problem = next((e for e in self._mine(events.Misconfigured) if e.binding is binding), None)
        if problem is not None:
            return Bound(binding.name, self._failed(), problem.text, place=place)
        chosen = next((e for e in self._mine(events.Chosen) if e.binding is binding), None)
        if chosen is None:
            return Bound(binding.name, NOT_REACHED, place=place)
        if not chosen.params:
            why = "paramRef: there are no such params, and parameterNotFoundAction is Allow"
            return Bound(binding.name, SKIPPED, why, place=place)
        runs = tuple(self._run(binding, param) for param in chosen.params)
        what, why = _worst([r.did for r in runs]), runs[0].because if len(runs) == 1 else ""
        return Bound(binding.name, what, why, actions=binding.actions, place=place, runs=runs)

    # ------------------------------------------------------------ runs

    def _run(self, binding: Binding, param: Json | None) -> Run:
        shown = None if param is None else _reference(param)
        asked = self._one(events.Asked, binding, param)
        conditions = () if asked is None else self.owner.conditions(self.policy.conditions, asked.bound)
        if asked is not None and not asked.said.matches:
            return Run(self._stopped(asked.said), stopped_by(asked.said), shown, conditions)
        if self._one(events.NotAgain, binding, param) is not None:
            why = "nothing changed the object after it ran" if self.policy.reinvoke else "reinvocationPolicy is Never"
            return Run(NOT_AGAIN, why, shown, conditions)
        judged = self._one(events.Judged, binding, param)
        if judged is not None:
            return self._judged(judged, shown, conditions)
        mutated = [e for e in self._mine(events.Mutated) if e.binding is binding and _same(e.param, param)]
        outcomes = tuple(map(self._mutated, mutated))
        if outcomes:
            return Run(_worst([o.did for o in outcomes]), "", shown, conditions, outcomes)
        if self.kind == MUTATING_POLICY and self.began.attributes.object is None:
            return Run(UNCHANGED, "there is no object to mutate", shown, conditions)
        return Run(NOT_REACHED, "", shown, conditions)

    def _one(self, kind: type[T], binding: Binding, param: Json | None) -> T | None:
        found = (
            e for e in self._mine(kind) if getattr(e, "binding", None) is binding and _same(getattr(e, "param", None), param)
        )
        return next(found, None)

    def _stopped(self, said: Conditions) -> str:
        return FAILED if said.error else SKIPPED

    # ------------------------------------------------------------ mutations

    def _mutated(self, event: events.Mutated) -> Outcome:
        evaluated = self.owner.mutation(event.number, event.bound)
        if isinstance(event.result, ApiError):
            return Outcome(FAILED, evaluated, str(event.result), event.result.status.reason)
        if isinstance(event.result, Rejection):
            return Outcome(self._failed(), evaluated, event.result.text)
        patch = jsondiff.diff(event.bound["object"], event.result)
        return Outcome(CHANGED if patch else UNCHANGED, evaluated, patch=patch)

    # ------------------------------------------------------------ validations

    def _judged(self, event: events.Judged, params: Json | None, conditions: tuple[Evaluated, ...]) -> Run:
        validated, actions = event.validated, event.binding.actions
        purse = Purse()
        evaluated, messages = self.owner.validations(event.bound, purse), self.owner.messages(event.bound, purse)
        decisions = validated.decisions
        spent = ""
        if len(decisions) != len(evaluated):  # the budget was spent before all had their turn
            spent = decisions[0].message if decisions else ""
            decisions = tuple(Decision(denied=False) for _ in evaluated)
        told = zip(evaluated, decisions, messages, strict=True)
        outcomes = [self._validation(e, d, m, actions) for e, d, m in told]
        outcomes += self._annotations(event, validated)
        if spent:
            return Run(did(validated.decisions[0], actions), spent, params, conditions, tuple(outcomes))
        return Run(_worst([o.did for o in outcomes] or [ALLOWED]), "", params, conditions, tuple(outcomes))

    @staticmethod
    def _validation(evaluated: Evaluated, decision: Decision, message: Evaluated | None, actions: Sequence[str]) -> Outcome:
        if not decision.message:
            return Outcome(ALLOWED, evaluated, said=message)
        return Outcome(did(decision, actions), evaluated, decision.message, decision.reason, message)

    def _annotations(self, event: events.Judged, validated: Validated) -> Iterator[Outcome]:
        published = {a.key: a for a in validated.annotations}
        for evaluated in self.owner.annotations(event.bound):
            said = published.get(evaluated.name)
            if said is not None and said.error:
                yield Outcome(DENIED, evaluated, said.error)
            else:
                yield Outcome(PUBLISHED if said is not None else UNCHANGED, evaluated)


def stopped_by(said: Conditions) -> str:
    """Why match conditions keep a policy or webhook from being asked."""
    if said.error:
        return said.error
    return (
        f'match condition "{said.false_condition}" is false'
        if said.false_condition
        else "a match condition failed, and failurePolicy is Ignore"
    )


def several(details: tuple[str, ...]) -> tuple[str, ...]:
    """A single rule's why stands in the reason already."""
    return details if len(details) > 1 else ()


def _worst(did: Sequence[str]) -> str:
    return min(did, key=lambda d: _ORDER.index(d) if d in _ORDER else len(_ORDER), default=SKIPPED)


def _reference(param: Json) -> Json:
    metadata = param.get("metadata") or {}
    found = {"apiVersion": param.get("apiVersion"), "kind": param.get("kind")}
    found |= {"namespace": metadata.get("namespace"), "name": metadata.get("name")}
    return {k: v for k, v in found.items() if v}


def _same(one: Json | None, other: Json | None) -> bool:
    """NB: the two halves see the same params with and without their kind."""
    if one is None or other is None:
        return one is other
    first, second = one.get("metadata") or {}, other.get("metadata") or {}
    return (first.get("namespace"), first.get("name")) == (second.get("namespace"), second.get("name"))
