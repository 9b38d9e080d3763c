"""The distributed store: etcd v3, under a key prefix of its own. Servers over one etcd need no state of their own.

Each process follows the whole prefix by one watch, which feeds its hub; the watch is taken up again after a lost connection
from the last revision seen. Calls that get no answer are made again until a deadline, so that an etcd that restarts, or
changes its leader, only makes callers wait.

A write that is made again may have been carried out the first time. So each value is stored behind a mark that is new for
each write: whoever finds its own mark knows that it has written. A deletion leaves no mark; one that finds the key
deleted after the expected revision takes the deletion for its own, since the outcome is the one that was asked for.
NB: open the store after forking. gRPC does not survive a fork.
"""

import asyncio
import os
import time
from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
from contextlib import aclosing, suppress
from typing import TypeVar

from kadmit.store import etcd_messages as messages
from kadmit.store import keys
from kadmit.store.base import (
    FIRST_REVISION,
    Batch,
    Compacted,
    Conflict,
    Entry,
    Event,
    Exists,
    FutureRevision,
    Kind,
    Page,
    TooLarge,
    Unavailable,
)
from kadmit.store.etcd_client import Client, Lost, Tls, TooLargeForEtcd
from kadmit.store.etcd_messages import Change, KeyValue, Ranged, Transacted, Watched
from kadmit.store.hub import Hub

_CHUNK = 500
_MARK_SIZE = 8
_HEADER = b"kadmit1\0"
_LOOK_BACK = 2000
"""How many revisions before its start the hub follows, so that clients who come back after a restart find them in its window."""
_FIRST_PAUSE_SECONDS = 0.02
_LONGEST_PAUSE_SECONDS = 0.5

_MOST_VERSIONS = 64

_Answer = TypeVar("_Answer")


class EtcdStore:
    def __init__(self, client: Client, prefix: str, revision: int, *, patience_seconds: float) -> None:
        """NB: `open` is the way in."""
        self._client = client
        self._prefix = prefix.encode()
        self._patience = patience_seconds
        self._hub = Hub(max(FIRST_REVISION, revision - _LOOK_BACK))
        self._follower = asyncio.create_task(self._follow())
        self._follower.add_done_callback(lambda _: self._hub.close())  # a feed that has failed must not look like a quiet one

    @classmethod
    async def open(
        cls, endpoints: Sequence[str], *, prefix: str = "/kadmit", tls: Tls | None = None, patience_seconds: float = 30.0
    ) -> "EtcdStore":
        """The store under the prefix. A call waits for an etcd that does not answer while patience lasts. Raises Unavailable."""
        client = Client(endpoints, tls)
        try:
            request = messages.range_request(prefix.encode())
            answer, _ = await _patiently(lambda: client.call(messages.RANGE, request), patience_seconds)
        except BaseException:
            await client.close()
            raise
        return cls(client, prefix.rstrip("/"), messages.ranged(answer).revision, patience_seconds=patience_seconds)

    async def get(self, key: str, *, revision: int = 0) -> Entry | None:
        return self._entry(await self._pair(self._stored(key), revision))

    async def list(self, prefix: str, *, revision: int = 0, limit: int = 0, after: str = "") -> Page:
        while True:
            try:
                return await self._page(prefix, revision, limit, after)
            except Compacted:
                if revision:  # else compaction has come between two chunks
                    raise

    async def create(self, key: str, value: bytes) -> Entry:
        written, _ = await self._put(key, value, 0)
        if written is None:
            raise Exists(key)
        return Entry(key, value, written.revision, written.created)

    async def update(self, key: str, value: bytes, expected_revision: int) -> Entry:
        # NB: no key is ever at revision 1, while revision 0 would ask for a key that is not there.
        written, found = await self._put(key, value, max(expected_revision, FIRST_REVISION))
        if written is None:
            raise Conflict(key, self._entry(found))
        return Entry(key, value, written.revision, written.created)

    async def delete(self, key: str, expected_revision: int) -> int:
        stored, expected = self._stored(key), max(expected_revision, FIRST_REVISION)
        answer, repeated = await self._transaction(messages.delete_if(stored, expected))
        if answer.succeeded:
            return answer.revision
        deletion = await self._deletion(stored, expected, answer.found) if repeated else 0
        if not deletion:
            raise Conflict(key, self._entry(answer.found))
        return deletion

    async def revision(self) -> int:
        return (await self._range(self._prefix)).revision

    def watch(self, prefix: str, after_revision: int, *, progress_seconds: float = 10.0) -> AsyncGenerator[Batch, None]:
        return self._hub.watch(prefix, max(after_revision, FIRST_REVISION), self._history, progress_seconds)

    async def compact(self, revision: int) -> None:
        request = messages.compaction(revision)
        try:
            await self._call(messages.COMPACT, request)
        except FutureRevision:
            raise FutureRevision(revision) from None
        except Compacted:
            pass  # by somebody else, or by a call whose answer was lost
        self._hub.forget(revision)

    async def close(self) -> None:
        self._hub.close()
        self._follower.cancel()
        with suppress(asyncio.CancelledError):
            await self._follower
        await self._client.close()

    # Calls

    async def _call(self, method: str, request: bytes) -> bytes:
        return (await self._repeated_call(method, request))[0]

    async def _repeated_call(self, method: str, request: bytes) -> tuple[bytes, bool]:
        def attempt() -> Awaitable[bytes]:
            if self._hub.closed:
                raise Unavailable("the store is closed")
            return self._client.call(method, request)

        return await _patiently(attempt, self._patience)

    async def _range(self, key: bytes, end: bytes = b"", *, revision: int = 0, limit: int = 0) -> Ranged:
        try:
            request = messages.range_request(key, end, revision=revision, limit=limit)
            return messages.ranged(await self._call(messages.RANGE, request))
        except Compacted:
            raise Compacted(revision) from None
        except FutureRevision:
            raise FutureRevision(revision) from None

    async def _pair(self, key: bytes, revision: int = 0) -> KeyValue | None:
        return next(iter((await self._range(key, revision=revision)).pairs), None)

    async def _page(self, prefix: str, revision: int, limit: int, after: str) -> Page:
        """Reads in chunks, all at the revision of the first."""
        first, end = self._bounds(prefix)
        if after:
            first = max(first, self._stored(after) + b"\0")
        entries: list[Entry] = []
        while True:
            wanted = min(limit - len(entries), _CHUNK) if limit else _CHUNK
            found = await self._range(first, end, revision=revision, limit=wanted)
            revision = revision or found.revision
            entries.extend(self._existing(pair) for pair in found.pairs)
            remaining = found.count - len(found.pairs)
            if not remaining or len(entries) == limit:
                return Page(tuple(entries), revision, remaining)
            first = found.pairs[-1].key + b"\0"

    # Writes that may have to be made again

    async def _put(self, key: str, value: bytes, expected: int) -> tuple[KeyValue | None, KeyValue | None]:
        """What was written, None where it was refused; and what was found."""
        stored, mark = self._stored(keys.checked(key)), _HEADER + os.urandom(_MARK_SIZE)
        try:
            answer, repeated = await self._transaction(messages.put_if(stored, mark + value, expected))
        except TooLargeForEtcd:
            raise TooLarge(key, len(value)) from None
        if answer.succeeded:
            return answer.found, answer.found
        written = await self._marked(stored, mark, answer.found, expected) if repeated else None
        return written, answer.found

    async def _transaction(self, request: bytes) -> tuple[Transacted, bool]:
        """The answer, and whether an earlier attempt may have been carried out."""
        answer, repeated = await self._repeated_call(messages.TXN, request)
        return messages.transacted(answer), repeated

    async def _marked(self, key: bytes, mark: bytes, pair: KeyValue | None, expected: int) -> KeyValue | None:
        """The version of the key that carries the mark: this one, or one that others have replaced in the meantime."""
        for _ in range(_MOST_VERSIONS):
            if pair is None or pair.revision <= expected:
                return None
            if pair.value.startswith(mark):
                return pair
            pair = await self._known(self._pair(key, pair.revision - 1))
        raise _unknown()

    async def _deletion(self, key: bytes, expected: int, found: KeyValue | None) -> int:
        """The revision at which the key was deleted right after the expected one; 0 where it was not."""
        if found is not None and found.created <= expected:
            return 0
        pair = await self._known(self._pair(key, expected))
        if pair is None or pair.revision != expected:
            return 0
        change = await self._known(self._first_change(key, expected))
        return change.pair.revision if change.deleted else 0

    async def _first_change(self, key: bytes, after: int) -> Change:
        """NB: only for a key that has changed after the revision."""
        async with aclosing(self._client.watch(key, b"", after)) as answers:
            async for answer in answers:
                for change in answer.changes:
                    if change.pair.revision > after:
                        return change
        raise _unknown()

    async def _known(self, asked: Awaitable[_Answer]) -> _Answer:
        try:
            return await asked
        except (Compacted, FutureRevision, Lost) as error:
            raise _unknown() from error

    # Following

    async def _follow(self) -> None:
        """Feeds the hub for as long as the store is open."""
        pause = _FIRST_PAUSE_SECONDS
        while True:
            try:
                async for batch in self._batches(self._hub.position):
                    self._hub.publish(batch.events, batch.revision)
                    pause = _FIRST_PAUSE_SECONDS
            except Compacted as error:
                self._hub.reset(error.oldest)
            except (Lost, Unavailable):
                pass
            await asyncio.sleep(pause)
            pause = min(pause * 2, _LONGEST_PAUSE_SECONDS)

    async def _history(self, prefix: str, after: int) -> AsyncGenerator[Batch, None]:
        """What the hub has not seen. It goes on past that, until an event tells that the hub has seen the rest."""
        while not self._hub.closed:
            try:
                async with aclosing(self._batches(after)) as batches:
                    async for batch in batches:
                        after = batch.revision
                        yield Batch(tuple(e for e in batch.events if e.key.startswith(prefix)), after)
            except Lost:
                await asyncio.sleep(_FIRST_PAUSE_SECONDS)

    async def _batches(self, after: int) -> AsyncGenerator[Batch, None]:
        """All that changes under the store's prefix, while one stream lives.

        NB: the stream starts at `after`, not behind it: etcd calls it compacted exactly when a reader at `after` would be.
        """
        async with aclosing(self._client.watch(*self._bounds(""), after)) as answers:
            async for answer in answers:
                batch = self._batch(answer, after)
                if batch is not None:
                    yield batch

    def _batch(self, answer: Watched, after: int) -> Batch | None:
        events = tuple(self._event(change) for change in answer.changes if change.pair.revision > after)
        if events:
            return Batch(events, events[-1].revision)
        tells_progress = not answer.changes and not answer.created
        return Batch((), answer.revision) if tells_progress and answer.revision > after else None

    # What is stored, and what is meant

    def _stored(self, key: str) -> bytes:
        return self._prefix + key.encode()

    def _bounds(self, prefix: str) -> tuple[bytes, bytes]:
        """NB: all keys start with a slash, so the whole store is what follows it; a neighbour's prefix may begin like ours."""
        prefix = prefix or "/"
        return self._stored(prefix), self._stored(keys.end_of(prefix) or "")

    def _entry(self, pair: KeyValue | None) -> Entry | None:
        return self._existing(pair) if pair else None

    def _existing(self, pair: KeyValue) -> Entry:
        return Entry(self._key(pair), _value(pair), pair.revision, pair.created)

    def _event(self, change: Change) -> Event:
        pair, previous = change.pair, change.previous
        if previous is None and (change.deleted or pair.created != pair.revision):
            raise Compacted(pair.revision, oldest=pair.revision)  # etcd could not read the previous value any more
        before = _value(previous) if previous else None
        if change.deleted:
            return Event(Kind.DELETE, self._key(pair), b"", before, pair.revision)
        return Event(Kind.PUT, self._key(pair), _value(pair), before, pair.revision)

    def _key(self, pair: KeyValue) -> str:
        return pair.key[len(self._prefix) :].decode(errors="replace")


def _value(pair: KeyValue) -> bytes:
    """NB: somebody may have put a value there by hand, without a mark."""
    return pair.value[len(_HEADER) + _MARK_SIZE :] if pair.value.startswith(_HEADER) else pair.value


def _unknown() -> Unavailable:
    return Unavailable("etcd did not answer, and whether it has written is unknown")


async def _patiently(attempt: Callable[[], Awaitable[_Answer]], patience_seconds: float) -> tuple[_Answer, bool]:
    """The answer, and whether it took more than one attempt."""
    deadline, pause, repeated = time.monotonic() + patience_seconds, _FIRST_PAUSE_SECONDS, False
    while True:
        try:
            return await attempt(), repeated
        except Lost as error:
            if time.monotonic() + pause > deadline:
                raise Unavailable(str(error)) from error
        repeated = True
        await asyncio.sleep(pause)
        pause = min(pause * 2, _LONGEST_PAUSE_SECONDS)
