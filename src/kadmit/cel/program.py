"""A compiled expression: evaluated fast, or exactly, or with every sub-value shown. All three agree."""

from collections.abc import Callable, Mapping
from typing import NamedTuple

from kadmit.cel import compiler, cost, room, work
from kadmit.cel.checker import Checked
from kadmit.cel.compiler import Runner
from kadmit.cel.evaluator import Bindings, CostExceeded, Run, Step
from kadmit.cel.types import Type
from kadmit.cel.values import CelError, Panic, Value

LIMIT_ERROR = CelError(cost.LIMIT_EXCEEDED)
WORK_ERROR = CelError(work.TOO_MUCH)


class Evaluation(NamedTuple):
    """A value or a CelError, and what it cost."""

    value: Value
    cost: int


class Program:
    """One expression, ready to be evaluated any number of times. `run` is `evaluate` without the name on the pair."""

    __slots__ = ("checked", "limit", "run", "step", "text")

    def __init__(self, text: str, checked: Checked, step: Step, *, limit: int | None = None) -> None:
        self.text = text
        self.checked = checked
        self.step = step
        self.limit = cost.PER_CALL_LIMIT if limit is None else limit
        self.run: Runner = compiler.compile_step(step, self.limit, self.evaluate_exact, optionals=checked.has_optionals())

    @property
    def output_type(self) -> Type:
        return self.checked.output

    def evaluate(self, bindings: Mapping[str, Value]) -> Evaluation:
        """The expression's value for these variables, the fast way."""
        return Evaluation(*self.run(bindings))

    def evaluate_exact(self, bindings: Mapping[str, Value], trace: Callable[[int, Value], None] | None = None) -> Evaluation:
        """The same, by walking the tree; `trace` is told every sub-expression's value by node id."""
        run = Run(self.limit, trace)
        try:
            value = work.alone(room.for_depth, self.step.evaluate, run, Bindings(bindings))
        except CostExceeded:
            value = LIMIT_ERROR
        except work.TooMuchWork:
            value = WORK_ERROR
        except Panic as e:
            value = CelError(f"internal error: {e}")
        return Evaluation(value, run.cost)
