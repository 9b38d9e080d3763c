"""Expressions under a budget, and match conditions.

A budget is shared by several expressions and by the variables that they ask for; what is out of budget ends the whole
evaluation, while an expression that fails is only that expression's failure.
"""

from collections.abc import Mapping, Sequence

from msgspec import Struct

from kadmit.api import fields
from kadmit.cel import cost
from kadmit.cel.composition import Variables
from kadmit.cel.source import CompileError
from kadmit.cel.values import CelError, Value
from kadmit.policy.model import Expression, MatchCondition

OUT_OF_BUDGET_TEXT = "validation failed due to running out of cost budget, no further validation rules will be run"


class OutOfBudget(Exception):
    """The budget is spent; str() is Kubernetes' text."""

    def __init__(self) -> None:
        super().__init__(OUT_OF_BUDGET_TEXT)


class Failed(Struct, frozen=True):
    """An expression that did not compile or failed to run; `text` is what users see."""

    text: str


class Budget:
    """What may still be spent."""

    __slots__ = ("left",)

    def __init__(self, amount: int) -> None:
        self.left = amount

    def spend(self, amount: int) -> None:
        if amount > self.left:
            raise OutOfBudget
        self.left -= amount


def evaluate(expression: Expression, bound: Mapping[str, Value], budget: Budget) -> "Value | Failed":
    """An expression's value, charged to the budget with the variables that it asked for; raises OutOfBudget."""
    if isinstance(expression.program, CompileError):
        return Failed(f"compilation error: {expression.program}")
    value, used = expression.program.run(bound)
    variables = bound.get("variables")
    if isinstance(variables, Variables):
        budget.spend(variables.take_cost())
    budget.spend(used)
    if value.__class__ is CelError:
        return Failed(f"expression '{expression.text}' resulted in error: {value.message}")
    return value


class Conditions(Struct, frozen=True):
    """What match conditions said: all true, or which one was false, or why nobody can tell."""

    matches: bool
    false_condition: str = ""
    error: str = ""
    failures: int = 0  # how many expressions failed, for metrics


_ALL_TRUE = Conditions(matches=True)


def evaluate_conditions(conditions: Sequence[MatchCondition], bound: Mapping[str, Value], *, fail: bool) -> Conditions:
    """Any false means no, even after a failure; failures meet the failure policy."""
    budget = Budget(cost.MATCH_CONDITIONS_BUDGET)
    try:
        results = [evaluate(c.expression, bound, budget) for c in conditions]
    except OutOfBudget as e:
        return Conditions(matches=False, error=str(e) if fail else "")
    failures: list[str] = []
    for condition, result in zip(conditions, results, strict=True):
        if result.__class__ is Failed:
            failures.append(result.text)
        elif result is False:
            return Conditions(matches=False, false_condition=condition.name, failures=len(failures))
    if failures:
        return Conditions(matches=False, error=fields.aggregate(failures) if fail else "", failures=len(failures))
    return _ALL_TRUE
