"""Room on Python's stack for deep trees.

Nesting is limited to 250 levels by the parser, but a macro nests several nodes into one level, and each node takes a
few Python frames. The interpreter's limit is raised for as long as such a tree needs it, and no longer: others rely on
it to stop them. Since 3.11 calls between Python functions do not use the C stack, so the higher limit is safe.
"""

import sys
from collections.abc import Callable
from contextlib import suppress
from typing import ParamSpec, TypeVar

P = ParamSpec("P")
R = TypeVar("R")

DEEP = 30_000


def for_depth(function: Callable[P, R], *args: P.args, **kwargs: P.kwargs) -> R:
    """Call a recursive function, again with more room if the first call ran out of it."""
    before = sys.getrecursionlimit()
    try:
        return function(*args, **kwargs)
    except RecursionError:
        sys.setrecursionlimit(max(before, DEEP))
        return function(*args, **kwargs)
    finally:
        if sys.getrecursionlimit() != before:
            with suppress(RecursionError):  # we are still deep in somebody else's call, who will give it back
                sys.setrecursionlimit(before)
