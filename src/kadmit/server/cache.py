"""The server's memory of its store: every object decoded once, and the latest events, in order, for watches.

A write of our own counts for the next request as soon as the store has it; what others write comes through the store's watch,
which also puts all events into one order. A list waits until the watch has come as far as what it would show, so that a watch
that goes on from there misses and repeats nothing.
"""

import asyncio
import functools
from collections import deque
from collections.abc import AsyncGenerator, Iterable
from contextlib import suppress
from typing import Any

import orjson
from msgspec import Struct

from kadmit.kinds.allocation import Pool
from kadmit.matching.attributes import Json
from kadmit.presentation import continuation
from kadmit.resources.context import with_metadata
from kadmit.resources.effects import Exists, Put, Stale
from kadmit.resources.state import Name, Place, State
from kadmit.store import base
from kadmit.store.base import Store

PREFIX = "/registry/"
HISTORY = 20_000
ADDED, MODIFIED, DELETED = "ADDED", "MODIFIED", "DELETED"


class Event(Struct, frozen=True):
    """One change, decoded. `old` was there before; of a deletion `value` is the last state, at the deletion's revision."""

    kind: str
    place: Place
    name: Name
    value: Json
    old: Json | None
    revision: int


def key_of(place: Place, name: Name) -> str:
    return f"{PREFIX}{place[0] or 'core'}/{place[1]}/{name[0] or '_'}/{name[1]}"


def parse_key(key: str) -> tuple[Place, Name]:
    group, plural, namespace, name = key.removeprefix(PREFIX).split("/", 3)
    return ("" if group == "core" else group, plural), ("" if namespace == "_" else namespace, name)


class Cache:
    """State, history, and whoever waits for the next event."""

    def __init__(self, store: Store, *, pool: Pool | None = None, shared: bool = False, without: Iterable[str] = ()) -> None:
        self.store = store
        self.shared = shared  # with other workers of the same server, whose writes must count at once
        self.state = State(pool=pool, without=without)
        self.progress = 0  # all events up to here have been seen, in order
        self.history: deque[Event] = deque(maxlen=HISTORY)
        self._oldest = 0  # history is complete after this revision
        self._ahead: dict[str, int] = {}  # our own writes that the watch has not brought yet
        self._waiting = 0  # lists that wait until nothing is ahead
        self._changed = asyncio.Condition()
        self._task: asyncio.Task[None] | None = None

    # ------------------------------------------------------------ following the store

    async def start(self) -> None:
        """Read everything, then follow."""
        page = await self.store.list(PREFIX)
        for entry in page.entries:
            place, name = parse_key(entry.key)
            self.state.apply(place, name, _decoded(entry.value, entry.revision), entry.revision)
        self.state.revision = self.progress = self._oldest = page.revision
        self._task = asyncio.create_task(self._follow())

    def begin_history(self) -> None:
        """Watches may go back to now, and no further: what came before was the server's own beginning."""
        self._oldest = self.state.revision

    async def stop(self) -> None:
        if self._task is not None:
            self._task.cancel()
            with suppress(asyncio.CancelledError):
                await self._task
        async with self._changed:
            self._changed.notify_all()

    async def _follow(self) -> None:
        while True:
            try:
                async for batch in self.store.watch(PREFIX, self.progress):
                    await self._take(batch)
                return
            except base.Compacted:
                with suppress(base.Unavailable):  # then the watch says the same again
                    await self._reload()
            except base.Unavailable:
                await asyncio.sleep(0.2)  # the store is away for a moment; writes fail until it is back

    async def _reload(self) -> None:
        """History is gone from under us: read afresh. Watchers that need what was missed are told that it is too old."""
        page = await self.store.list(PREFIX)
        present = {parse_key(e.key): e for e in page.entries}
        for place, held in list(self.state.objects.items()):
            for name in [n for n in held if (place, n) not in present]:
                self.state.apply(place, name, None, page.revision)
        for (place, name), entry in present.items():
            self.state.apply(place, name, _decoded(entry.value, entry.revision), entry.revision)
        self.history.clear()
        self.progress = self._oldest = page.revision
        async with self._changed:
            self._changed.notify_all()

    async def _take(self, batch: base.Batch) -> None:
        for stored in batch.events:
            self._take_event(stored)
        self.progress = max(self.progress, batch.revision)
        self.state.revision = max(self.state.revision, self.progress)
        async with self._changed:
            self._changed.notify_all()

    def _take_event(self, stored: base.Event) -> None:
        place, name = parse_key(stored.key)
        gone = stored.kind is base.Kind.DELETE
        old = None if stored.previous is None else orjson.loads(stored.previous)
        value = _decoded((stored.previous or b"{}") if gone else stored.value, stored.revision)
        if self._ahead.get(stored.key, 0) <= stored.revision:
            self.state.apply(place, name, None if gone else value, stored.revision)
            self._ahead.pop(stored.key, None)
        kind = DELETED if gone else ADDED if old is None else MODIFIED
        if self.history.maxlen == len(self.history):
            self._oldest = self.history[0].revision
        self.history.append(Event(kind, place, name, value, old, stored.revision))

    # ------------------------------------------------------------ writing

    async def put(self, put: Put) -> int:
        """Write through to the store, and count it at once. Raises Exists and Stale for the verb to handle."""
        key = key_of(put.place, put.name)
        try:
            revision = await self._write(key, put)
        except base.Exists:
            await self.settled(wait=True)
            raise Exists from None
        except base.Conflict as e:
            if e.current is not None:
                await self._count(put, _decoded(e.current.value, e.current.revision), e.current.revision)
            else:
                await self.settled(wait=True)
            raise Stale from None
        value = None if put.value is None else with_metadata(put.value, resourceVersion=str(revision))
        await self._count(put, value, revision)
        return revision

    async def _count(self, put: Put, value: Json | None, revision: int) -> None:
        """Before the watch brings it. What it has brought already, or a later write has replaced, must not come back."""
        key = key_of(put.place, put.name)
        if self._waiting:
            await self._come_to(revision)
        elif max(self.progress, self._ahead.get(key, 0)) < revision:
            self._ahead[key] = revision
            self.state.apply(put.place, put.name, value, revision)

    async def _write(self, key: str, put: Put) -> int:
        if put.value is None:
            return await self.store.delete(key, int(put.expected or 0))
        data = orjson.dumps(with_metadata(put.value, resourceVersion=None))
        if put.expected is None:
            return (await self.store.create(key, data)).revision
        return (await self.store.update(key, data, int(put.expected))).revision

    # ------------------------------------------------------------ reading in order

    async def settled(self, *, wait: bool = False) -> int:
        """Until events have come as far as the state; the revision that it then shows. With `wait`, as far as the store is now.

        The state does not run ahead any further meanwhile, for under steady writes events would never come as far.
        """
        if wait:
            return await self._come_to(await self.store.revision())
        self._waiting += 1
        try:
            while self.progress < self.state.revision:
                await self._come_to(self.state.revision)
        finally:
            self._waiting -= 1
        return self.progress

    async def _come_to(self, revision: int) -> int:
        if self.progress < revision:
            async with self._changed:
                await self._changed.wait_for(lambda: self.progress >= revision)
        return self.progress

    async def watch(self, place: Place, after: int) -> AsyncGenerator[list[Event], None]:
        """Events of a resource after a revision, in order; an empty list when others changed. Raises ApiError (410)."""
        seen = after
        while True:
            if seen < self._oldest:
                raise continuation.watch_too_old(seen, self._oldest)
            events = self._since(seen)
            seen = max(seen, self.progress)
            yield [e for e in events if e.place == place]
            async with self._changed:
                await self._changed.wait_for(functools.partial(self._is_past, seen))
            if self._is_over():
                return

    def _is_over(self) -> bool:
        return self._task is None or self._task.done()

    def _is_past(self, revision: int) -> bool:
        return self.progress > revision or self._is_over()

    def _since(self, revision: int) -> list[Event]:
        found: list[Event] = []
        for event in reversed(self.history):
            if event.revision <= revision:
                break
            found.append(event)
        found.reverse()
        return found


def _decoded(value: bytes, revision: int) -> dict[str, Any]:
    return with_metadata(orjson.loads(value), resourceVersion=str(revision))
