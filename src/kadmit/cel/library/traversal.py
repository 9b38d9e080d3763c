"""The prices that Kubernetes' own functions share: nothing but a step, or reading a text from end to end.

A price is computed in floating point, as kube-apiserver does it: 0.1 of a unit a character, rounded up.
"""

from collections.abc import Sequence
from math import ceil

from kadmit.cel.declarations import Cost
from kadmit.cel.library.lists import TRAVERSAL, size_of
from kadmit.cel.values import Value


def one_step(_overload: str, _args: Sequence[Value], _result: Value) -> int:
    """An accessor: a nominal unit."""
    return 1


def of_size(size: int) -> int:
    return ceil(size * TRAVERSAL)


def reading(_overload: str, args: Sequence[Value], _result: Value) -> int:
    """The first argument is read once."""
    return of_size(size_of(args[0]))


def reading_twice(_overload: str, args: Sequence[Value], _result: Value) -> int:
    """The first argument is read, and compared with what came of it."""
    return ceil(size_of(args[0]) * 2 * TRAVERSAL)


def flat(price: int) -> Cost:
    def cost(_overload: str, _args: Sequence[Value], _result: Value) -> int:
        return price

    return cost
