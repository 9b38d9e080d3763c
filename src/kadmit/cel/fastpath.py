"""What generated functions call: the unusual cases of the fast path, in ordinary Python.

Each gives the plain answer or raises `Slow`; whatever is raised, the exact evaluator does the expression again.
"""

from collections.abc import Sequence
from math import ceil

from kadmit.cel import cost, operators
from kadmit.cel.attributes import KEY_CLASSES, reach
from kadmit.cel.declarations import Cost
from kadmit.cel.evaluator import call_cost
from kadmit.cel.operators import MISSING
from kadmit.cel.unboxing import native
from kadmit.cel.values import CelError, Optional, Value, key_of, map_from, unhashable

SCALARS = frozenset({type(None), bool, int, float, str, bytes})
SIZED = frozenset({str, bytes, list, dict})


class Slow(Exception):
    """Leave it to the exact evaluator."""


SLOW = Slow()


def usual(value: Value) -> Value:
    """A value that is no error."""
    if value.__class__ is CelError:
        raise SLOW
    return value


def scalar(value: Value) -> Value:
    """A field read from an Object: in a list or map of it there may be errors."""
    if value.__class__ is list or value.__class__ is dict:
        raise SLOW
    return usual(value)


def equals(a: Value, b: Value) -> Value:
    return usual(operators.equal(a, b))


def differs(a: Value, b: Value) -> bool:
    return operators.equal(a, b) is not True


def smaller_traversal(a: Value, b: Value) -> int:
    return ceil(min(operators.size(a), operators.size(b)) * cost.TRAVERSAL)


def index(value: Value, key: Value) -> Value:
    """value[key] with a computed key."""
    if value.__class__ is dict and key.__class__ is str:
        return value[key]
    if key.__class__ not in KEY_CLASSES:
        raise SLOW
    return usual(reach(value, key, softly=False))


def element(value: Value, position: int) -> Value:
    """value[position] with a constant position, which is not negative."""
    if value.__class__ is list:
        return value[position]
    return usual(reach(value, position, softly=False))


def has(value: Value, name: str) -> bool:
    """has(value.name) where value is no plain map."""
    if value.__class__ is Optional:
        raise SLOW
    found = usual(reach(value, name, softly=True, test=True))
    return found is not MISSING


def try_index(value: Value, key: Value) -> Value:
    """value[?key]: MISSING where there is none."""
    if value.__class__ is Optional:
        raise SLOW
    if key.__class__ not in KEY_CLASSES:
        raise SLOW
    return usual(reach(value, key, softly=True))


def missing(value: Value, names: Sequence[str]) -> tuple[Value, int]:
    """What a path of names that could not be followed leads to, mostly an error, and what trying has cost."""
    if value.__class__ is Optional:
        raise SLOW
    tried = 1
    for name in names:
        tried += 1
        if value.__class__ is dict:
            if name not in value:
                return CelError("no such key: " + name), tried
            value = value[name]
        else:
            value = reach(value, name, softly=False)
            if value.__class__ is CelError:
                return value, tried
    return value, tried


def make_map(pairs: list[tuple[Value, Value]]) -> Value:
    for key, _ in pairs:
        if unhashable(key):
            raise SLOW
    return map_from(pairs)


def member(value: Value) -> object:
    """What stands for a value in a set."""
    if unhashable(value):
        raise SLOW
    return key_of(value)


def settled(optional: Optional) -> None:
    """Only optionals that hold plain data may be where a path starts."""
    if optional.present and native(optional) is not optional.value:
        raise SLOW


def call_charge(charge: Cost | None, overload: str, args: Sequence[Value], value: Value) -> int:
    return call_cost(charge, overload, args, value)
