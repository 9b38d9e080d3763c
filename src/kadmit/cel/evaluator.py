"""The exact evaluator: walks planned steps, and is right about message, value and cost, always.

It is the reference that the compiled function must agree with, and what runs when that function meets anything
unusual. Cost is counted as cel-go counts it: every step reports its value to the run, which keeps a stack of values
by node id; a call is charged only if all of its arguments are found there. That bookkeeping shows in the cost of
expressions that fail half way, so it is kept exactly.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Protocol

from kadmit.cel import cost, gotext, operators
from kadmit.cel.declarations import Cost, Impl
from kadmit.cel.operators import MISSING, NO_OVERLOAD
from kadmit.cel.types import Trait
from kadmit.cel.values import CelError, MapValue, Optional, Panic, Value, go_name, key_of, map_from, type_of, unhashable


class CostExceeded(Exception):
    """The run has used up its limit."""


class Run:
    """One evaluation: the cost so far, and the values that steps have left for the steps around them."""

    __slots__ = ("_ids", "_places", "_values", "cost", "limit", "trace")

    def __init__(self, limit: int, trace: "Callable[[int, Value], None] | None" = None) -> None:
        self.cost = 0
        self.limit = limit
        self.trace = trace
        self._ids: list[int] = []
        self._values: list[Value] = []
        self._places: dict[int, list[int]] = {}  # id -> where it was pushed; entries past the stack's end are stale

    def push(self, node_id: int, value: Value) -> Value:
        """Leave a value for the steps around, and stop if the limit is passed."""
        self._places.setdefault(node_id, []).append(len(self._ids))
        self._ids.append(node_id)
        self._values.append(value)
        if self.trace is not None:
            self.trace(node_id, value)
        if self.cost > self.limit:
            raise CostExceeded
        return value

    def _find(self, node_id: int) -> int:
        """Where the topmost value of a node lies, or -1."""
        places = self._places.get(node_id)
        while places:
            at = places[-1]
            if at < len(self._ids) and self._ids[at] == node_id:
                return at
            places.pop()
        return -1

    def _cut(self, at: int) -> None:
        del self._ids[at:]
        del self._values[at:]

    def drop(self, *node_ids: int) -> None:
        """Forget these nodes' values and all that lies above them."""
        for node_id in node_ids:
            at = self._find(node_id)
            if at >= 0:
                self._cut(at)

    def drop_arguments(self, node_ids: Sequence[int]) -> list[Value] | None:
        """Take the values of a call's arguments, or None if one of them was never evaluated."""
        found: list[Value] = []
        for node_id in reversed(node_ids):
            at = self._find(node_id)
            if at < 0:
                return None
            found.append(self._values[at])
            self._cut(at)
        found.reverse()
        return found


# ---------------------------------------------------------------- names


class Scope(Protocol):
    """Where a name is looked up: the bindings of a request, or a loop inside them."""

    def lookup(self, name: str, run: Run) -> Value:
        """The value, an error if it has none, or MISSING if there is no such name."""


class Bindings:
    """The outermost scope. A value may be a `Lazy`, which is computed when first asked for."""

    __slots__ = ("values",)

    def __init__(self, values: Mapping[str, Value]) -> None:
        self.values = values

    def lookup(self, name: str, run: Run) -> Value:
        return self.values.get(name, MISSING)


class _Loop:
    """The scope inside a comprehension."""

    __slots__ = ("accumulator", "finished", "first", "fold", "parent", "second", "started")

    def __init__(self, fold: "Fold", parent: Scope) -> None:
        self.fold = fold
        self.parent = parent
        self.accumulator: Value = None
        self.first: Value = None
        self.second: Value = None
        self.started = False
        self.finished = False

    def lookup(self, name: str, run: Run) -> Value:
        fold = self.fold
        if name == fold.accumulator_name:
            if not self.started:
                self.started = True
                self.accumulator = _own(fold.initial.evaluate(run, self.parent))
            return self.accumulator
        if not self.finished:
            if name == fold.first_name:
                return self.first
            if name == fold.second_name:
                return self.second
        return self.parent.lookup(name, run)


def _own(initial: Value) -> Value:
    """A fresh copy of an empty list or map, so that the loop may grow it in place (`Append`, `Insert`)."""
    if initial.__class__ is list and not initial:
        return []
    return {} if initial.__class__ is dict and not initial else initial


# ---------------------------------------------------------------- steps


class Step(Protocol):
    """A planned node."""

    @property
    def id(self) -> int:
        """The node that it reports as."""

    def evaluate(self, run: Run, scope: Scope) -> Value:
        """The node's value or error, reported to the run."""


class Const:
    """A literal, or whatever was folded when the plan was made. Costs nothing."""

    __slots__ = ("id", "value")

    def __init__(self, node_id: int, value: Value) -> None:
        self.id = node_id
        self.value = value

    def evaluate(self, run: Run, scope: Scope) -> Value:
        return run.push(self.id, self.value)


class Logic:
    """&& (decisive: False) and || (decisive: True): the decisive value wins over errors, wherever it stands."""

    __slots__ = ("decisive", "id", "terms")

    def __init__(self, node_id: int, terms: Sequence[Step], *, decisive: bool) -> None:
        self.id = node_id
        self.terms = terms
        self.decisive = decisive

    def evaluate(self, run: Run, scope: Scope) -> Value:
        value = self._decide(run, scope)
        run.drop(*(t.id for t in self.terms))
        return run.push(self.id, value)

    def _decide(self, run: Run, scope: Scope) -> Value:
        error: CelError | None = None
        for term in self.terms:
            value = term.evaluate(run, scope)
            if value is self.decisive:
                return value
            if value.__class__ is not bool and error is None:
                error = value if value.__class__ is CelError else NO_OVERLOAD
        return error if error is not None else not self.decisive


class Equality:
    """== and !=, on any two values."""

    __slots__ = ("id", "left", "negated", "right")

    def __init__(self, node_id: int, left: Step, right: Step, *, negated: bool) -> None:
        self.id = node_id
        self.left = left
        self.right = right
        self.negated = negated

    def evaluate(self, run: Run, scope: Scope) -> Value:
        a = self.left.evaluate(run, scope)
        b = self.right.evaluate(run, scope)
        value = self._compare(a, b)
        args = run.drop_arguments((self.left.id, self.right.id))
        if args is not None:
            run.cost += cost.smaller_traversal(args) if self.negated else cost.equality(args[0], args[1])
        return run.push(self.id, value)

    def _compare(self, a: Value, b: Value) -> Value:
        if a.__class__ is CelError:
            return a
        if b.__class__ is CelError:
            return b
        same = operators.equal(a, b)
        return same is not True if self.negated else same


class Call:
    """Any other function. `eager`: all arguments are evaluated although an earlier one failed."""

    __slots__ = ("args", "charge", "eager", "function", "id", "ids", "impl", "overload", "strict", "trait")

    def __init__(
        self,
        node_id: int,
        function: str,
        overload: str,
        args: Sequence[Step],
        impl: Impl | None,
        *,
        trait: Trait = Trait.NONE,
        strict: bool = True,
        eager: bool = True,
        charge: Cost | None = None,
    ) -> None:
        self.id = node_id
        self.function = function
        self.overload = overload
        self.args = args
        self.ids = tuple(a.id for a in args)
        self.impl = impl
        self.trait = trait
        self.strict = strict
        self.eager = eager
        self.charge = charge

    def evaluate(self, run: Run, scope: Scope) -> Value:
        value = self._value(run, scope)
        args = run.drop_arguments(self.ids)
        if args is not None:
            run.cost += call_cost(self.charge, self.overload, args, value)
        return run.push(self.id, value)

    def _value(self, run: Run, scope: Scope) -> Value:
        values: list[Value] = []
        error: CelError | None = None
        for arg in self.args:
            value = arg.evaluate(run, scope)
            if value.__class__ is CelError and self.strict:
                if not self.eager:
                    return value
                error = error if error is not None else value
            values.append(value)
        return error if error is not None else self.apply(values)

    def apply(self, values: Sequence[Value]) -> Value:
        """The function's value for these arguments."""
        if self.impl is not None and (not self.trait or self._has_trait(values[0])):
            return self.impl(*values)
        if values and Trait.RECEIVER in type_of(values[0]).traits:
            return NO_OVERLOAD
        return CelError(f"no such overload: {self.function}")

    def _has_trait(self, value: Value) -> bool:
        return (not self.strict and value.__class__ is CelError) or self.trait in type_of(value).traits


def call_cost(charge: Cost | None, overload: str, args: Sequence[Value], value: Value) -> int:
    """What a call costs: by its function, else by its overload, else 1."""
    own = None if charge is None else charge(overload, args, value)
    if own is not None:
        return own
    usual = cost.BY_OVERLOAD.get(overload)
    return 1 if usual is None else usual(args, value)


class Append:
    """accumulator + [x] inside a comprehension: grows the loop's own list instead of copying it each turn."""

    __slots__ = ("call",)

    def __init__(self, call: Call) -> None:
        self.call = call

    @property
    def id(self) -> int:
        return self.call.id

    def evaluate(self, run: Run, scope: Scope) -> Value:
        left, right = self.call.args
        a = left.evaluate(run, scope)
        b = right.evaluate(run, scope)
        value = self._grown(a, b)
        args = run.drop_arguments(self.call.ids)
        if args is not None:
            run.cost += call_cost(self.call.charge, self.call.overload, args, value)
        return run.push(self.id, value)

    def _grown(self, a: Value, b: Value) -> Value:
        if a.__class__ is list and b.__class__ is list:
            a.extend(b)
            return a
        return a if a.__class__ is CelError else b if b.__class__ is CelError else self.call.apply((a, b))


class Insert(Call):
    """cel.@mapInsert on a comprehension's own map: its code changes the map in place."""

    __slots__ = ()


def _must_be_hashable(value: Value, *, empty: bool = False) -> None:
    """NB: Go says it in other words where it finds the map empty, and only looks at the key for form's sake."""
    if value.__class__ is not str and unhashable(value):
        kind = go_name(value)
        raise Panic(f"hash of unhashable type: {kind}" if empty else f"runtime error: hash of unhashable type {kind}")


class SetMembership:
    """x in [constants]: a lookup in a set made when the plan was made. Costs nothing but its argument."""

    __slots__ = ("arg", "id", "members")

    def __init__(self, node_id: int, arg: Step, members: frozenset[object]) -> None:
        self.id = node_id
        self.arg = arg
        self.members = members

    def evaluate(self, run: Run, scope: Scope) -> Value:
        value = self.arg.evaluate(run, scope)
        if value.__class__ is not CelError:
            _must_be_hashable(value)
            value = key_of(value) in self.members
        return run.push(self.id, value)


class OptionalOr:
    """optional.or(optional) and optional.orValue(value): the second is only looked at if it is needed."""

    __slots__ = ("id", "left", "right", "unwrap")

    def __init__(self, node_id: int, left: Step, right: Step, *, unwrap: bool) -> None:
        self.id = node_id
        self.left = left
        self.right = right
        self.unwrap = unwrap

    def evaluate(self, run: Run, scope: Scope) -> Value:
        value = self.left.evaluate(run, scope)
        if value.__class__ is Optional:
            if not value.present:
                value = self.right.evaluate(run, scope)
            elif self.unwrap:
                value = value.value
        return run.push(self.id, value)


class ListStep:
    __slots__ = ("elements", "id", "optional")

    def __init__(self, node_id: int, elements: Sequence[Step], optional: frozenset[int]) -> None:
        self.id = node_id
        self.elements = elements
        self.optional = optional

    def evaluate(self, run: Run, scope: Scope) -> Value:
        value = self._value(run, scope)
        run.drop_arguments([e.id for e in self.elements])
        run.cost += cost.LIST
        return run.push(self.id, value)

    def _value(self, run: Run, scope: Scope) -> Value:
        values: list[Value] = []
        for i, element in enumerate(self.elements):
            value = element.evaluate(run, scope)
            if value.__class__ is CelError:
                return value
            if i in self.optional:
                if value.__class__ is not Optional:
                    return CelError(f"cannot initialize optional list element from non-optional value {gotext.display(value)}")
                if not value.present:
                    continue
                value = value.value
            values.append(value)
        return values


class MapStep:
    __slots__ = ("entries", "id")

    def __init__(self, node_id: int, entries: Sequence[tuple[Step, Step, bool]]) -> None:
        self.id = node_id
        self.entries = entries

    def evaluate(self, run: Run, scope: Scope) -> Value:
        value = self._value(run, scope)
        run.drop_arguments([s.id for key, value_, _ in self.entries for s in (key, value_)])
        run.cost += cost.MAP
        return run.push(self.id, value)

    def _value(self, run: Run, scope: Scope) -> Value:
        pairs: list[tuple[Value, Value]] = []
        for key_step, value_step, optional in self.entries:
            key = key_step.evaluate(run, scope)
            if key.__class__ is CelError:
                return key
            value = value_step.evaluate(run, scope)
            if value.__class__ is CelError:
                return value
            if optional:
                if value.__class__ is not Optional:
                    return optional_entry_error(key, value)
                if not value.present:
                    _must_be_hashable(key, empty=not pairs)
                    pairs = [p for p in pairs if operators.equal(p[0], key) is not True]
                    continue
                value = value.value
            _must_be_hashable(key)
            pairs.append((key, value))
        return map_from(pairs)


def optional_entry_error(name: Value, value: Value) -> CelError:
    texts = f"'{gotext.display(name)}' from non-optional value {gotext.display(value)}"
    return CelError(f"cannot initialize optional entry {texts}")


class StructStep:
    """Type{field: value}; `make` builds the value from its fields."""

    __slots__ = ("fields", "id", "make")

    def __init__(self, node_id: int, fields: Sequence[tuple[str, Step, bool]], make: Callable[[dict[str, Value]], Value]) -> None:
        self.id = node_id
        self.fields = fields
        self.make = make

    def evaluate(self, run: Run, scope: Scope) -> Value:
        value = self._value(run, scope)
        run.drop_arguments([step.id for _, step, _ in self.fields])
        run.cost += cost.STRUCT
        return run.push(self.id, value)

    def _value(self, run: Run, scope: Scope) -> Value:
        values: dict[str, Value] = {}
        for name, step, optional in self.fields:
            value = step.evaluate(run, scope)
            if value.__class__ is CelError:
                return value
            if optional:
                if value.__class__ is not Optional:
                    return optional_entry_error(name, value)
                if not value.present:
                    values.pop(name, None)
                    continue
                value = value.value
            values[name] = value
        return self.make(values)


class Fold:
    """A comprehension."""

    __slots__ = ("accumulator_name", "condition", "first_name", "id", "initial", "range", "result", "second_name", "step")

    def __init__(
        self, node_id: int, names: tuple[str, str, str], range_: Step, initial: Step, condition: Step, step: Step, result: Step
    ) -> None:
        self.id = node_id
        self.first_name, self.second_name, self.accumulator_name = names
        self.range = range_
        self.initial = initial
        self.condition = condition
        self.step = step
        self.result = result

    def evaluate(self, run: Run, scope: Scope) -> Value:
        over = self.range.evaluate(run, scope)
        value = over if over.__class__ is CelError else self._fold(over, run, scope)
        run.drop(self.range.id)
        return run.push(self.id, value)

    def _fold(self, over: Value, run: Run, scope: Scope) -> Value:
        pairs = self._pairs(over)
        if isinstance(pairs, CelError):
            return pairs
        loop = _Loop(self, scope)
        for loop.first, loop.second in pairs:
            if self.condition.evaluate(run, loop) is False:
                break
            loop.accumulator = self.step.evaluate(run, loop)
            loop.started = True
        loop.finished = True
        return self.result.evaluate(run, loop)

    def _pairs(self, over: Value) -> "Sequence[tuple[Value, Value]] | CelError":
        """What the loop variables take, one turn after the other."""
        kind = over.__class__
        if self.second_name:
            if kind is list:
                return list(enumerate(over))
            if kind is dict or kind is MapValue:
                return operators.items(over)
            return CelError(f"unsupported comprehension range type: {go_name(over)}")
        if kind is list or kind is dict or kind is MapValue:
            return [(x, None) for x in over]
        return CelError(f"got '{go_name(over)}', expected iterable type")
