"""The embedded store: one SQLite database in a folder of its own, shared by the worker processes of one server.

Reads of one key run in the event loop, where they take some microseconds; longer ones run in threads. Writes run in the
writer's thread, in groups. What this process writes goes straight to its hub, before the caller is answered; what other
processes write is read from the database when they announce it.
NB: open the store after forking. SQLite's connections do not survive a fork.
"""

import asyncio
import os
import threading
from collections.abc import AsyncGenerator, Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import TypeVar

from kadmit.store import folder as data_folder
from kadmit.store import keys
from kadmit.store.base import FIRST_REVISION, VALUE_LIMIT, Batch, Compacted, Entry, Page, TooLarge, Unavailable
from kadmit.store.database import Database, Written, failures_named
from kadmit.store.folder import Folder
from kadmit.store.hub import Hub
from kadmit.store.wakeup import Announcements
from kadmit.store.writer import Answer, Operation, Reply, Writer

_CHUNK = 500
_READER_THREADS = 2
_POLL_SECONDS = 1.0
_POLL_SECONDS_WITHOUT_WAKEUP = 0.05

_Read = TypeVar("_Read")


class SqliteStore:
    def __init__(self, folder: Folder) -> None:
        """NB: `open` is the way in."""
        self._folder = folder
        self._loop = asyncio.get_running_loop()
        path = folder.path / "kadmit.db"
        self._database = Database(path)
        self._readers = _Readers(path)
        self._hub = Hub(self._database.revision())
        self._news = asyncio.Event()
        self._announcements = Announcements(folder.path / "revision")
        self._poll_seconds = _POLL_SECONDS if self._announcements.listen(self._announced) else _POLL_SECONDS_WITHOUT_WAKEUP
        self._writer = Writer(folder.path, Database(path), self._announcements, self._committed)
        self._follower = asyncio.create_task(self._follow())
        self._follower.add_done_callback(lambda _: self._hub.close())  # a feed that has failed must not look like a quiet one
        self._closing = False

    @classmethod
    async def open(cls, path: Path, *, group: str = "") -> "SqliteStore":
        """The store in a folder. Processes that name the same group share it; without, it is this process's alone.

        Raises Unusable where somebody else has the folder, or the database is damaged or of another version.
        """
        folder = await asyncio.to_thread(_prepared, path, group)
        try:
            with failures_named():
                return cls(folder)
        except BaseException:
            folder.release()
            raise

    async def get(self, key: str, *, revision: int = 0) -> Entry | None:
        self._check_open()
        with failures_named():
            return self._database.entry_at(key, revision) if revision else self._database.entry(key)

    async def list(self, prefix: str, *, revision: int = 0, limit: int = 0, after: str = "") -> Page:
        self._check_open()
        return await self._readers.run(partial(Database.page, prefix=prefix, revision=revision, limit=limit, after=after))

    async def create(self, key: str, value: bytes) -> Entry:
        _check_writable(key, value)
        written = await self._written(lambda database, revision: database.create(key, value, revision))
        return Entry(key, value, written.event.revision, written.created)

    async def update(self, key: str, value: bytes, expected_revision: int) -> Entry:
        _check_writable(key, value)
        written = await self._written(lambda database, revision: database.update(key, value, expected_revision, revision))
        return Entry(key, value, written.event.revision, written.created)

    async def delete(self, key: str, expected_revision: int) -> int:
        written = await self._written(lambda database, revision: database.delete(key, expected_revision, revision))
        return written.event.revision

    async def revision(self) -> int:
        self._check_open()
        with failures_named():
            return self._database.revision()

    def watch(self, prefix: str, after_revision: int, *, progress_seconds: float = 10.0) -> AsyncGenerator[Batch, None]:
        return self._hub.watch(prefix, max(after_revision, FIRST_REVISION), self._history, progress_seconds)

    async def compact(self, revision: int) -> None:
        def mark(database: Database, next_revision: int) -> None:
            database.compact(revision, next_revision)
            self._writer.sweep_soon()

        await self._submitted(mark)
        self._hub.forget(revision)

    async def close(self) -> None:
        if self._closing:
            return
        self._closing = True
        self._hub.close()
        self._follower.cancel()
        with suppress(asyncio.CancelledError):
            await self._follower
        await asyncio.to_thread(self._writer.close)
        await asyncio.to_thread(self._readers.close)
        self._announcements.close()
        self._database.close()
        self._folder.release()

    def _check_open(self) -> None:
        if self._hub.closed:
            raise Unavailable("the store is closed")

    async def _written(self, operation: Operation) -> Written:
        written = await self._submitted(operation)
        assert written is not None
        return written

    async def _submitted(self, operation: Operation) -> Answer:
        self._check_open()
        reply: asyncio.Future[Answer] = self._loop.create_future()
        self._writer.submit(operation, reply)
        return await reply

    def _committed(self, replies: Sequence[Reply]) -> None:
        """NB: runs in the writer's thread."""
        if replies:
            self._loop.call_soon_threadsafe(self._answer, replies)

    def _answer(self, replies: Sequence[Reply]) -> None:
        """Watches get the events before the callers get their answers."""
        events = [answer.event for _, answer in replies if isinstance(answer, Written)]
        if events and events[0].revision == self._hub.position + 1:
            self._hub.publish(events)
        elif events:
            self._news.set()
        for reply, answer in replies:
            _settle(reply, answer)

    def _announced(self) -> None:
        if self._announcements.latest() > self._hub.position:
            self._news.set()

    async def _follow(self) -> None:
        """Keeps the hub up with what other processes write."""
        while True:
            with suppress(TimeoutError):
                async with asyncio.timeout(self._poll_seconds):
                    await self._news.wait()
            self._news.clear()
            with suppress(Unavailable):  # tried again at the next turn
                await self._catch_up()

    async def _catch_up(self) -> None:
        while self._hub.position < await self.revision():
            try:
                batch = await self._readers.run(partial(Database.events, prefix="", after=self._hub.position, limit=_CHUNK))
            except Compacted as missed:
                self._hub.reset(missed.oldest)  # what came later is still there, and read at the next turn
            else:
                self._hub.publish(batch.events, batch.revision)

    async def _history(self, prefix: str, after: int) -> AsyncGenerator[Batch, None]:
        while not self._hub.closed:
            batch = await self._readers.run(partial(Database.events, prefix=prefix, after=after, limit=_CHUNK))
            after = batch.revision
            yield batch


class _Readers:
    """Threads that read, each with a connection of its own."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._threads = ThreadPoolExecutor(_READER_THREADS, "kadmit-store-reader")
        self._own = threading.local()
        self._databases: list[Database] = []

    async def run(self, read: Callable[[Database], _Read]) -> _Read:
        return await asyncio.get_running_loop().run_in_executor(self._threads, self._run, read)

    def close(self) -> None:
        self._threads.shutdown()
        for database in self._databases:
            database.close()

    def _run(self, read: Callable[[Database], _Read]) -> _Read:
        with failures_named():
            return read(self._database())

    def _database(self) -> Database:
        database: Database | None = getattr(self._own, "database", None)
        if database is None:
            database = self._own.database = Database(self._path)
            self._databases.append(database)
        return database


def _prepared(path: Path, group: str) -> Folder:
    """The folder, with a database that is sound."""
    with failures_named():
        return data_folder.occupy(path, group, lambda: _prepare_database(path))


def _prepare_database(path: Path) -> None:
    database = Database(path / "kadmit.db")
    try:
        database.prepare()
        database.check()
    finally:
        database.close()
    _sync(path)


def _sync(folder: Path) -> None:
    """A new file is only as durable as the folder's entry for it."""
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _check_writable(key: str, value: bytes) -> None:
    keys.checked(key)
    if len(value) > VALUE_LIMIT:
        raise TooLarge(key, len(value))


def _settle(reply: "asyncio.Future[Answer]", answer: Answer | Exception) -> None:
    if reply.done():  # the caller has gone; the write has happened all the same
        return
    if isinstance(answer, Exception):
        reply.set_exception(answer)
    else:
        reply.set_result(answer)
