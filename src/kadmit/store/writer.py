"""The thread that writes to SQLite: all that is waiting goes into one transaction, with one sync of the disk.

While one group is on its way to the disk the next one gathers, so the more callers there are the larger the groups, and
nobody waits for a timer. Nobody is answered before the commit. Between processes a lock on a file decides whose turn
it is: waiting for SQLite's own lock means sleeping and trying again.
"""

import fcntl
import os
import threading
from asyncio import Future
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from queue import Empty, SimpleQueue

from kadmit.store.base import StoreError
from kadmit.store.database import Database, Written, failures_named
from kadmit.store.wakeup import Announcements

_GROUP_LIMIT = 512

Answer = Written | None
Operation = Callable[[Database, int], Answer]
"""Called with the revision that the next write takes; returns what was written, or None where nothing was."""

Request = tuple[Operation, "Future[Answer]"]
Reply = tuple["Future[Answer]", Answer | Exception]


class Writer:
    """Calls `committed` from its thread with the replies of each group, in the order of commits."""

    def __init__(
        self, folder: Path, database: Database, announcements: Announcements, committed: Callable[[Sequence[Reply]], None]
    ) -> None:
        self._database = database
        self._announcements = announcements
        self._committed = committed
        self._queue: SimpleQueue[Request | None] = SimpleQueue()
        self._turn = os.open(folder / "turn", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        self._sweeping = True
        self._thread = threading.Thread(target=self._run, name="kadmit-store-writer", daemon=True)
        self._thread.start()

    def submit(self, operation: Operation, reply: "Future[Answer]") -> None:
        self._queue.put((operation, reply))

    def sweep_soon(self) -> None:
        """NB: called in the writer's own thread, from an operation."""
        self._sweeping = True

    def close(self) -> None:
        """Returns when all that was submitted has been answered."""
        self._queue.put(None)
        self._thread.join()
        os.close(self._turn)
        self._database.close()

    def _run(self) -> None:
        while (group := self._next_group()) is not None:
            self._committed(self._write(group))

    def _next_group(self) -> list[Request] | None:
        """All that is waiting, at least one unless there is something to sweep; None at the end."""
        group: list[Request] = []
        try:
            while len(group) < _GROUP_LIMIT:
                request = self._queue.get(block=not group and not self._sweeping)
                if request is None:
                    return self._last(group)
                group.append(request)
        except Empty:
            pass
        return group

    def _last(self, group: list[Request]) -> list[Request] | None:
        if not group:
            return None
        self._queue.put(None)
        return group

    def _write(self, group: list[Request]) -> list[Reply]:
        try:
            with failures_named(), self._our_turn():
                return self._transaction(group)
        except Exception as error:
            self._sweeping = False  # else a full disk would keep this thread busy
            return [(reply, error) for _, reply in group]

    def _transaction(self, group: list[Request]) -> list[Reply]:
        with self._database.writing():
            before = revision = self._database.revision()
            replies: list[Reply] = []
            for operation, reply in group:
                answer = self._answer(operation, revision + 1)
                revision += isinstance(answer, Written)
                replies.append((reply, answer))
            if self._sweeping:
                self._sweeping = self._database.sweep()
        if revision > before:
            self._announcements.announce(revision)
        return replies

    def _answer(self, operation: Operation, revision: int) -> Answer | Exception:
        """NB: an operation that is refused has written nothing: it looks before it writes."""
        try:
            return operation(self._database, revision)
        except StoreError as error:
            return error

    @contextmanager
    def _our_turn(self) -> Iterator[None]:
        fcntl.flock(self._turn, fcntl.LOCK_EX)
        try:
            yield
        finally:
            fcntl.flock(self._turn, fcntl.LOCK_UN)
