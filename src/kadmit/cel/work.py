"""How much work one evaluation may do, beside its cost.

Cost is cel-go's, and it is blind to some work: a call on values of type dyn costs 1 whatever their size, and a list
that holds the same list twice, sixty times over, is small in memory and endless to walk. So the places that do such
work count it here, and past the limit they raise.

There is one counter, not one for each evaluation: generated functions only add to it, and when it runs over they are
left for the exact evaluator, which starts at zero (`alone`) and therefore decides fairly. An ordinary evaluation pays
nothing for it. NB: evaluations take turns in one thread; none is interrupted by another, except by its own variables.
"""

from collections.abc import Callable
from typing import ParamSpec, TypeVar

P = ParamSpec("P")
R = TypeVar("R")

LIMIT = 10_000_000
VISIT = 16  # a list or map that is walked, beside its elements
SHORT = 256  # texts up to this length are not counted; the cost of the calls that make them is enough
_TRIES = 160  # of a character of a pattern at one of a text, in a step
_FREE_TRIES = 64 * _TRIES
TOO_MUCH = f"operation cancelled: more than {LIMIT} steps of work"


class TooMuchWork(Exception):
    """The evaluation has used up its limit."""


class _Counter:
    __slots__ = ("done",)

    def __init__(self) -> None:
        self.done = 0


_COUNTER = _Counter()


def spend(steps: int) -> None:
    """Count work that is about to be done; a step takes about as long as comparing two numbers."""
    done = _COUNTER.done + steps
    if done > LIMIT:
        _COUNTER.done = 0
        raise TooMuchWork
    _COUNTER.done = done


def spend_visit(elements: int) -> None:
    """A list or map is walked. NB: half a step an element, so that == of long lists meets its cost first."""
    spend(VISIT + (elements >> 1))


def spend_text(length: int) -> None:
    """Characters are made: four a step, which also bounds the memory that all texts of an evaluation take."""
    if length > SHORT:
        spend(length >> 2)


def spend_match(text: str, pattern: str) -> None:
    """A text is searched, which may take as long as trying each part of the pattern at each of its characters."""
    spend(len(text) * len(pattern) // _TRIES)


def free_length(pattern: str) -> int:
    """How long a text may be to be searched without counting."""
    return _FREE_TRIES // max(len(pattern), 1)


def alone(function: Callable[P, R], *args: P.args, **kwargs: P.kwargs) -> R:
    """Call it with a count of its own; what was counted before goes on afterwards."""
    before, _COUNTER.done = _COUNTER.done, 0
    try:
        return function(*args, **kwargs)
    finally:
        _COUNTER.done = before
