"""The expressions of a policy or webhook evaluated once more, exactly, with every sub-value: the same values and costs as in the
chain, for what they saw has been kept.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from msgspec import Struct

from kadmit.authoring.story.places import Places
from kadmit.authoring.story.shape import Evaluated, total_cost
from kadmit.cel import cost, trace
from kadmit.cel.composition import Variables
from kadmit.cel.source import CompileError
from kadmit.cel.values import CelError, Value
from kadmit.policy.model import Expression, MatchCondition, Policy
from kadmit.policy.validator import without_authorizer

MAX_STEPS = 50_000  # evaluations of sub-expressions; a fraction of a second
NOT_EVALUATED = "not evaluated: the cost budget was spent before"

CONDITION, VARIABLE, VALIDATION = "match condition", "variable", "validation"
MESSAGE, MUTATION, ANNOTATION = "message", "mutation", "audit annotation"


class Purse(Struct):
    """What several expressions may cost together; below nothing, no more are evaluated."""

    left: int = cost.PER_BINDING_BUDGET


class Owner(NamedTuple):
    """Whose expressions they are; `path` leads to them inside of the object: spec, or webhooks[0]."""

    kind: str
    name: str
    path: str
    places: Places
    policy: Policy | None = None

    # ------------------------------------------------------------ kinds of expressions

    def conditions(self, conditions: Sequence[MatchCondition], bound: Mapping[str, Value]) -> tuple[Evaluated, ...]:
        purse = Purse(cost.MATCH_CONDITIONS_BUDGET)
        return tuple(
            self._paid(purse, CONDITION, c.name, f"matchConditions[{i}].expression", c.expression, bound)
            for i, c in enumerate(conditions)
        )

    def mutation(self, index: int, bound: Mapping[str, Value]) -> Evaluated:
        assert self.policy is not None
        mutation = self.policy.mutations[index]
        way = "applyConfiguration" if mutation.apply_configuration else "jsonPatch"
        composed = self.policy.composition.bind(bound)
        return self._evaluated(MUTATION, "", f"mutations[{index}].{way}.expression", mutation.expression, composed)

    def validations(self, bound: Mapping[str, Value], purse: "Purse") -> tuple[Evaluated, ...]:
        assert self.policy is not None
        composed = self.policy.composition.bind(bound)
        return tuple(
            self._paid(purse, VALIDATION, "", f"validations[{i}].expression", v.expression, composed)
            for i, v in enumerate(self.policy.validations)
        )

    def messages(self, bound: Mapping[str, Value], purse: "Purse") -> tuple[Evaluated | None, ...]:
        """Of each validation, or None where it has no messageExpression. They pay out of the same purse."""
        assert self.policy is not None
        composed = self.policy.composition.bind(without_authorizer(bound))
        return tuple(
            self._paid(purse, MESSAGE, "", f"validations[{i}].messageExpression", v.message_expression, composed)
            if v.message_expression is not None
            else None
            for i, v in enumerate(self.policy.validations)
        )

    def annotations(self, bound: Mapping[str, Value]) -> tuple[Evaluated, ...]:
        assert self.policy is not None
        purse = Purse(cost.PER_BINDING_BUDGET)
        composed = self.policy.composition.bind(without_authorizer(bound))
        return tuple(
            self._paid(purse, ANNOTATION, a.key, f"auditAnnotations[{i}].valueExpression", a.expression, composed)
            for i, a in enumerate(self.policy.audit_annotations)
        )

    # ------------------------------------------------------------ one expression

    def _paid(
        self, purse: "Purse", what: str, name: str, field: str, expression: Expression, bound: Mapping[str, Value]
    ) -> Evaluated:
        """Evaluated as long as there is something in the purse, as in the chain."""
        if purse.left < 0:
            at = f"{self.path}.{field}"
            place = self.places.of(self.kind, self.name, at, 0)
            return Evaluated(what, name, at, expression.text, error=NOT_EVALUATED, place=place)
        made = self._evaluated(what, name, field, expression, bound)
        purse.left -= total_cost(made)
        return made

    def _evaluated(self, what: str, name: str, field: str, expression: Expression, bound: Mapping[str, Value]) -> Evaluated:
        at = f"{self.path}.{field}"
        where = self.places.of(self.kind, self.name, at, 0)
        if isinstance(expression.program, CompileError):
            error = f"compilation error: {expression.program}"
            return Evaluated(what, name, at, expression.text, error=error, place=where)
        variables = bound.get("variables")
        known = set(variables.asked) if isinstance(variables, Variables) else set()
        value, spent, steps = trace.traced(expression.program, bound, MAX_STEPS)
        made = Evaluated(what, name, at, expression.text, cost=spent, place=where, steps=_worth_telling(steps))
        asked = tuple(self._variables(variables, known, bound)) if isinstance(variables, Variables) else ()
        return _with_value(made, value, asked)

    def _variables(self, variables: Variables, known: set[str], bound: Mapping[str, Value]) -> Iterator[Evaluated]:
        assert self.policy is not None
        for index, (name, program) in enumerate(self.policy.composition.programs.items()):
            if name in variables.asked and name not in known and not isinstance(program, CompileError):
                at = f"{self.path}.variables[{index}].expression"
                where = self.places.of(self.kind, self.name, at, 0)
                value, spent, steps = trace.traced(program, bound, MAX_STEPS)
                made = Evaluated(VARIABLE, name, at, program.text, cost=spent, place=where, steps=_worth_telling(steps))
                yield _with_value(made, value, ())


def _worth_telling(steps: Sequence[trace.Step]) -> tuple[trace.Step, ...]:
    """Without the expression itself, whose value is told anyway, and without what adds nothing; depths without gaps."""
    told: list[trace.Step] = []
    above: list[int] = []  # depths of the steps around that are told
    for step in steps:
        while above and above[-1] >= step.depth:
            above.pop()
        if step.depth and not step.link and not step.literal:
            told.append(step._replace(depth=len(above)))
            above.append(step.depth)
    return tuple(told)


def _with_value(made: Evaluated, value: Value, variables: tuple[Evaluated, ...]) -> Evaluated:
    if value.__class__ is CelError:
        return made._replace(error=value.message, variables=variables)
    return made._replace(value=value, variables=variables)
