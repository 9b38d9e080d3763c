"""A policy's variables: compiled in order, each seeing those before it; evaluated when first asked for, once.

Their cost is not the cost of the expression that asks: it is added to the budget of the whole evaluation, so it is
counted here.
"""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from msgspec import Struct

from kadmit.cel import types, work
from kadmit.cel.environment import VARIABLES_TYPE, Environment, variable_type, with_policy_variables
from kadmit.cel.fastpath import SLOW
from kadmit.cel.operators import MISSING, NO_OVERLOAD
from kadmit.cel.source import CompileError
from kadmit.cel.types import DYN, Type
from kadmit.cel.values import CelError, Value

if TYPE_CHECKING:
    from kadmit.cel.program import Program


class Composition(Struct, frozen=True):
    """Compiled variables; a name given twice is the last one's."""

    programs: "Mapping[str, Program | CompileError]"

    def bind(self, bindings: Mapping[str, Value]) -> dict[str, Value]:
        """The bindings with `variables` among them, each not evaluated yet."""
        bound = dict(bindings)
        bound["variables"] = Variables(self.programs, bound)
        return bound


def compose(variables: Sequence[tuple[str, str]], plain: Environment, target: Environment) -> tuple[Composition, Environment]:
    """Compile variables in `plain`, and give `target` (which may allow more, such as Object) with them declared."""
    programs: dict[str, Program | CompileError] = {}
    # NB: the environment reads this table as it grows; one table for all variables, lest many of them take quadratic time.
    known: dict[str, Type] = {}
    growing = with_policy_variables(plain, known)
    for name, text in variables:
        try:
            program = growing.compile(text)
        except CompileError as e:
            programs[name], known[name] = e, DYN
        else:
            programs[name], known[name] = program, variable_type(program.output_type)
    return Composition(programs), with_policy_variables(target, known)


class Variables:
    """The value of `variables` during one evaluation."""

    __slots__ = ("_bindings", "_programs", "_values", "cost")
    cel_type = types.struct(VARIABLES_TYPE)
    go_name = "*lazy.MapValue"
    equality_by_size = True

    def __init__(self, programs: "Mapping[str, Program | CompileError]", bindings: Mapping[str, Value]) -> None:
        self._programs = programs
        self._bindings = bindings
        self._values: dict[str, Value] = {}
        self.cost = 0

    def find_key(self, name: Value) -> Value:
        """A variable's value or error, or MISSING."""
        if name.__class__ is not str:
            return NO_OVERLOAD
        if name not in self._values:
            if name not in self._programs:
                return MISSING
            self._values[name] = CelError(f'composited variable "{name}" refers to itself')
            try:
                self._values[name] = self._evaluate(name, self._programs[name])
            except BaseException:
                del self._values[name]  # who tries again, with more room, must not take it for a circle
                raise
        return self._values[name]

    def _evaluate(self, name: str, program: "Program | CompileError") -> Value:
        if isinstance(program, CompileError):
            return CelError(f'composited variable "{name}" fails to compile: {program}')
        value, cost = work.alone(program.run, self._bindings)
        self.cost += cost
        if value.__class__ is CelError:
            return CelError(f'composited variable "{name}" fails to evaluate: {value.message}')
        return value

    @property
    def asked(self) -> Mapping[str, Value]:
        """The variables that somebody has asked for so far, in the order of asking."""
        return self._values

    def __getitem__(self, name: str) -> Value:
        """For generated functions: only good news."""
        value = self.find_key(name)
        if value is MISSING or value.__class__ is CelError:
            raise SLOW
        return value

    def take_cost(self) -> int:
        """What variables have cost since this was last asked."""
        cost, self.cost = self.cost, 0
        return cost

    def equals(self, other: Value) -> Value:
        return self is other if isinstance(other, Variables) else NO_OVERLOAD

    def size(self) -> int:
        return len(self._programs)

    def native(self) -> Value:
        return NO_OVERLOAD
