"""What one policy, binding or webhook has met so far. What it has met is not looked at again, so that a long run pays little."""

from collections.abc import Callable, Mapping, Sequence
from typing import TypeAlias

from kadmit.admission import events
from kadmit.admission.webhooks import Webhook
from kadmit.authoring.coverage import points
from kadmit.authoring.coverage.points import CHANGED, EVALUATED, EXCLUDED, FALSE, LET_THROUGH, PUBLISHED, TOLD, TRUE, Written
from kadmit.cel.composition import Variables
from kadmit.cel.source import CompileError
from kadmit.cel.values import Value
from kadmit.matching import reasons
from kadmit.matching.attributes import Attributes
from kadmit.matching.criteria import Criteria
from kadmit.matching.reasons import Examined, Surroundings
from kadmit.patch.values import equal
from kadmit.policy.model import Policy
from kadmit.policy.validator import without_authorizer

Meet: TypeAlias = Callable[[str], None]  # told the key of a point that was met

_TRUTH: Mapping[Value, str] = {True: TRUE, False: FALSE}


class Expression:
    """One expression, evaluated until all its points are met."""

    __slots__ = ("_unmet", "_written")

    def __init__(self, written: Written) -> None:
        self._written = written
        self._unmet = {point.key for point in written.points}

    @property
    def is_done(self) -> bool:
        return not self._unmet

    def run(self, bound: Mapping[str, Value]) -> None:
        """Only for the variables that it asks for."""
        if not isinstance(self._written.program, CompileError):
            self._written.program.run(bound)

    def meet(self, bound: Mapping[str, Value], meet: Meet, outcome: str | None = None) -> None:
        """Evaluate it; without an `outcome`, its truth is its outcome."""
        written = self._written
        if self.is_done or isinstance(written.program, CompileError) or written.branches is None:
            return
        value, taken = written.branches.taken(written.program, bound)
        self._meet(outcome if outcome is not None else _TRUTH.get(value, "") if value.__class__ is bool else "", meet)
        for index in taken:
            self._meet(f"#{index}", meet)

    def _meet(self, name: str, meet: Meet) -> None:
        key = f"{self._written.field} {name}"
        if key in self._unmet:
            self._unmet.discard(key)
            meet(key)


class Clauses:
    """Criteria, asked until every clause has kept a request out and let one through."""

    __slots__ = ("_criteria", "_path", "_rules", "_unmet")

    def __init__(self, criteria: Criteria, path: str) -> None:
        self._criteria = criteria
        self._path = path
        self._rules = "resourceRules" if criteria.empty_matches_all else "rules"
        self._unmet = {point.key for point in points.clauses(criteria, path)}

    def meet(self, attributes: Attributes, around: Surroundings, meet: Meet) -> None:
        if not self._unmet:
            return
        examined = reasons.examine(self._criteria, attributes, around)
        against = examined.against
        met = self._through(examined) if not against else self._out(examined) if against == 1 else []
        for key in met:
            if key in self._unmet:
                self._unmet.discard(key)
                meet(key)

    def _through(self, examined: Examined) -> list[str]:
        """NB: of several rules that fit, the first lets the request through."""
        clauses = [f"{self._rules}[{examined.matched[0]}]"] if examined.matched else []
        clauses += [f"{reasons.EXCLUDE}[{i}]" for i in range(len(self._criteria.exclude))]
        return [f"{self._path}.{c} {LET_THROUGH}" for c in (*clauses, reasons.NAMESPACE_SELECTOR, reasons.OBJECT_SELECTOR)]

    def _out(self, examined: Examined) -> list[str]:
        """Only who stands alone against a request decides about it."""
        if not examined.namespace:
            clauses = [reasons.NAMESPACE_SELECTOR]
        elif not examined.object:
            clauses = [reasons.OBJECT_SELECTOR]
        elif examined.excluded:
            clauses = [f"{reasons.EXCLUDE}[{examined.excluded[0]}]"]
        else:
            clauses = [f"{self._rules}[{i}]" for i in range(len(self._criteria.rules))]
        return [f"{self._path}.{c} {EXCLUDED}" for c in clauses]


class PolicyWatch:
    """A policy with all its expressions."""

    def __init__(self, policy: Policy) -> None:
        self._policy = policy
        self.clauses = Clauses(policy.criteria, "spec.matchConstraints")
        self._conditions = _watched(points.policy_conditions(policy))
        self._variables = {name: Expression(w) for name, w in points.variables(policy).items()}
        self._mutations = _watched(points.mutations(policy))
        self._validations = _watched(points.validations(policy))
        self._messages = [None if w is None else Expression(w) for w in points.messages(policy)]
        self._annotations = _watched(points.annotations(policy))

    def asked(self, event: events.Asked, meet: Meet) -> None:
        for condition in self._conditions:
            condition.meet(event.bound, meet)

    def mutated(self, event: events.Mutated, meet: Meet) -> None:
        composed = self._policy.composition.bind(event.bound)
        changed = isinstance(event.result, dict) and not equal(event.bound["object"], event.result)
        self._with_variables(self._mutations[event.number], composed, meet, CHANGED if changed else "")

    def judged(self, event: events.Judged, meet: Meet) -> None:
        composed = self._policy.composition.bind(event.bound)
        for validation in self._validations:
            self._with_variables(validation, composed, meet)
        quiet = self._policy.composition.bind(without_authorizer(event.bound))
        told = event.validated.decisions if len(event.validated.decisions) == len(self._validations) else ()
        for message, decision in zip(self._messages, told, strict=False):
            if message is not None and decision.denied and not decision.failed:
                self._with_variables(message, quiet, meet, TOLD)
        published = {a.key for a in event.validated.annotations if not a.error}
        for annotation, raw in zip(self._annotations, self._policy.audit_annotations, strict=True):
            self._with_variables(annotation, quiet, meet, PUBLISHED if raw.key in published else "")

    def _with_variables(
        self, expression: Expression, composed: Mapping[str, Value], meet: Meet, outcome: str | None = None
    ) -> None:
        """NB: variables are only seen when an expression asks for them, even one that has met all its own points."""
        if expression.is_done:
            if all(v.is_done for v in self._variables.values()):
                return
            expression.run(composed)
        else:
            expression.meet(composed, meet, outcome)
        variables = composed["variables"]
        assert isinstance(variables, Variables)
        for name in list(variables.asked):
            self._variables[name].meet(composed, meet, EVALUATED)


class WebhookWatch:
    """A webhook: its clauses and its match conditions."""

    def __init__(self, webhook: Webhook, index: int) -> None:
        self.clauses = Clauses(webhook.criteria, f"webhooks[{index}]")
        self._conditions = _watched(points.webhook_conditions(webhook, index))

    def asked(self, event: events.Asked, meet: Meet) -> None:
        for condition in self._conditions:
            condition.meet(event.bound, meet)


def _watched(written: Sequence[Written]) -> list[Expression]:
    return [Expression(w) for w in written]
