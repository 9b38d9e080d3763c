"""Several workers: processes that a process which does nothing else starts, ends, and replaces when they die.

NB: it opens neither a database nor an event loop, since neither survives a fork. A worker holds one end of a pipe; when that
tells of the other's end, nobody supervises it any more, and it ends.
"""

import os
import signal
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from types import FrameType
from typing import NamedTuple, TypeAlias

from kadmit.server.lifecycle import SIGNALS
from kadmit.server.logs import Log

PAUSE_SECONDS = 1.0
"""Before a worker is replaced that did not live longer than this."""


class Place(NamedTuple):
    """What a worker is given: its number, what to listen to for the end, and what to call once it is ready."""

    number: int
    lifeline: int
    ready: Callable[[], None]


Work: TypeAlias = Callable[[Place], int]


class Supervisor:
    """`work` is what a worker does, and gives the exit code of its process; `ready` is called once there is one that serves."""

    def __init__(self, work: Work, log: Log, ready: Callable[[], None]) -> None:
        self._work = work
        self._log = log
        self._ready = ready
        self._lifeline, self._kept = os.pipe()
        self._workers: dict[int, tuple[int, float]] = {}  # number and start, by process
        self._ending = False

    def run(self, count: int) -> int:
        """Until a signal ends it, or the first worker does before it was ready. Gives the exit code."""
        with self._on_signals():
            if not self._start_first():
                return os.waitstatus_to_exitcode(os.wait()[1])
            self._ready()
            for number in range(1, count):
                self._start(number)
            while self._workers:
                self._ended(*os.wait())
        return 0

    def _start_first(self) -> bool:
        """Whether it got ready: the others begin only then, so what is wrong with the flags is told once."""
        reading, writing = os.pipe()
        self._start(0, lambda: _tell(writing))
        os.close(writing)
        told = os.read(reading, 1)
        os.close(reading)
        return bool(told)

    def _start(self, number: int, ready: Callable[[], None] = lambda: None) -> None:
        signal.pthread_sigmask(signal.SIG_BLOCK, SIGNALS)  # NB: a signal in between would be handled in both processes
        if not self._ending:  # NB: who begins after the signal is never told of it
            process = os.fork()
            if process == 0:
                os._exit(self._worked(Place(number, self._lifeline, ready)))
            self._workers[process] = number, time.monotonic()
        signal.pthread_sigmask(signal.SIG_UNBLOCK, SIGNALS)

    def _worked(self, place: Place) -> int:
        """In the worker. NB: in a group of its own, a terminal's interrupt reaches it once, by its supervisor."""
        os.setpgid(0, 0)
        os.close(self._kept)
        for each in SIGNALS:
            signal.signal(each, signal.SIG_DFL)
        signal.pthread_sigmask(signal.SIG_UNBLOCK, SIGNALS)
        return self._work(place)

    def _ended(self, process: int, status: int) -> None:
        number, since = self._workers.pop(process)
        if self._ending:
            return
        self._log.error("a worker ended, another takes its place", worker=number, code=os.waitstatus_to_exitcode(status))
        if time.monotonic() - since < PAUSE_SECONDS:
            time.sleep(PAUSE_SECONDS)
        self._start(number)

    @contextmanager
    def _on_signals(self) -> Iterator[None]:
        before = {each: signal.signal(each, self._end) for each in SIGNALS}
        try:
            yield
        finally:
            for each, handler in before.items():
                signal.signal(each, handler)

    def _end(self, _signal: int, _frame: FrameType | None) -> None:
        self._ending = True
        for process in self._workers:
            with suppress(ProcessLookupError):  # it has just ended by itself
                os.kill(process, signal.SIGTERM)


def _tell(pipe: int) -> None:
    os.write(pipe, b"1")
    os.close(pipe)
