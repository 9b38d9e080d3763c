"""The chain itself: mutate, then (after the caller has validated the object by its kind's rules) validate.

Both are generators: they yield a batch of webhook calls and are sent as many answers. A batch of one is sequential, a batch of
many may be called in parallel. `drive` is all that a caller without I/O needs.
"""

from collections.abc import Callable, Generator, Sequence
from typing import TypeVar

from kadmit.admission import mutating, validating
from kadmit.admission.answers import Answer
from kadmit.admission.webhooks import Call

T = TypeVar("T")

mutate = mutating.run
validate = validating.run


def drive(chain: Generator[Sequence[Call], Sequence[Answer], T], ask: Callable[[Sequence[Call]], Sequence[Answer]]) -> T:
    """Run a chain to its end, asking for answers as it yields calls. Raises what the chain raises."""
    try:
        calls = next(chain)
        while True:
            calls = chain.send(ask(calls))
    except StopIteration as end:
        result: T = end.value
        return result
