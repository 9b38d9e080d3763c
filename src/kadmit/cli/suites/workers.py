"""Cases judged in several processes. Each is a copy of this one, so it has all suites and need only be told which cases.

Whoever dies leaves its cases without a result, and the run tells of them: nothing that was to be run is forgotten.
"""

import os
import signal
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING

from kadmit.authoring.suite.running import Judge, Judged, Planned, Wish

if TYPE_CHECKING:
    from multiprocessing.connection import Connection

    from kadmit.authoring.coverage.coverage import Coverage

SMALL = 200  # cases: below that, starting processes takes longer than it saves
_SHARES = 4  # how many portions each process gets, so that all end at about the same time

Told = Callable[[int, Judged], bool]  # is told of each result; False: stop here


def processes(wanted: str, cases: int) -> int:
    """How many to use; `auto` uses one for few cases."""
    if not hasattr(os, "fork") or sys.platform == "darwin":
        return 1  # NB: elsewhere a new process would have to read all suites again
    if wanted != "auto":
        return max(1, min(int(wanted), cases))
    return 1 if cases < SMALL else min(len(os.sched_getaffinity(0)), cases)


def run(planned: Sequence[Planned], wish: Wish, coverage: "Coverage | None", told: Told, *, jobs: int) -> None:
    """Judge all that is planned, until told otherwise."""
    if jobs > 1:
        _share(planned, wish, coverage, told, jobs)
        return
    judge = Judge(wish, time.perf_counter, coverage)
    for i, one in enumerate(planned):
        if not told(i, judge.judge(one)):
            return


def _portions(planned: Sequence[Planned], jobs: int) -> Iterator[range]:
    """Neighbours stay together: cases of a suite share what is made for it."""
    size = max(1, -(-len(planned) // (jobs * _SHARES)))
    return (range(start, min(start + size, len(planned))) for start in range(0, len(planned), size))


def _share(planned: Sequence[Planned], wish: Wish, coverage: "Coverage | None", told: Told, jobs: int) -> None:
    import multiprocessing

    context = multiprocessing.get_context("fork")
    left = _portions(planned, jobs)
    ends: list[Connection] = []
    workers = []
    for _ in range(jobs):
        here, there = context.Pipe()
        worker = context.Process(target=_work, args=(there, planned, wish, coverage), daemon=True)
        worker.start()
        there.close()
        workers.append(worker)
        ends.append(here)
        here.send(next(left, None))
    try:
        _gather(ends, left, coverage, told)
    finally:
        for worker in workers:
            worker.terminate()
            worker.join()


def _gather(ends: "list[Connection]", left: Iterator[range], coverage: "Coverage | None", told: Told) -> None:
    from multiprocessing.connection import Connection, wait

    while ends:
        for end in wait(ends):
            assert isinstance(end, Connection)
            try:
                what, value = end.recv()
            except EOFError:
                ends.remove(end)
                continue
            if what == "judged" and not told(*value):
                return
            if what == "more":
                end.send(next(left, None))
            if what == "counts" and coverage is not None:
                coverage.add_counts(value)


def _work(end: "Connection", planned: Sequence[Planned], wish: Wish, coverage: "Coverage | None") -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # an interruption is for the process that gathers
    judge = Judge(wish, time.perf_counter, coverage)
    while (portion := end.recv()) is not None:
        for i in portion:
            end.send(("judged", (i, judge.judge(planned[i]))))
        end.send(("more", None))
    if coverage is not None:
        end.send(("counts", coverage.counts()))
    end.close()
