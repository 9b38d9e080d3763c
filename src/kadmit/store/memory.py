"""A store in memory: the plainest thing that keeps the contract, for tests and for `--storage memory`.

It is the model that the other engines are compared with, so it favours being obviously right: every version of every key
is kept until compaction, and each operation runs without giving way to another.
"""

from bisect import bisect_left, bisect_right, insort
from collections.abc import AsyncGenerator, Iterator

from msgspec import Struct

from kadmit.store import keys
from kadmit.store.base import (
    FIRST_REVISION,
    VALUE_LIMIT,
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
from kadmit.store.hub import Hub


class _Version(Struct, frozen=True):
    revision: int
    entry: Entry | None
    """None where this version is a deletion."""


_Versions = list[_Version]


class MemoryStore:
    def __init__(self) -> None:
        self._revision = FIRST_REVISION
        self._compacted = FIRST_REVISION
        self._versions: dict[str, list[_Version]] = {}
        self._keys: list[str] = []
        self._events: list[Event] = []
        self._hub = Hub(FIRST_REVISION)

    async def get(self, key: str, *, revision: int = 0) -> Entry | None:
        return self._at(key, self._readable(revision))

    async def list(self, prefix: str, *, revision: int = 0, limit: int = 0, after: str = "") -> Page:
        at = self._readable(revision)
        found = [entry for key in self._under(prefix, after) if (entry := self._at(key, at)) is not None]
        shown = found[:limit] if limit else found
        return Page(tuple(shown), at, remaining=len(found) - len(shown))

    async def create(self, key: str, value: bytes) -> Entry:
        self._check_writable(key, value)
        if self._at(key, self._revision) is not None:
            raise Exists(key)
        revision = self._revision + 1
        return self._put(Entry(key, value, revision, created=revision), None)

    async def update(self, key: str, value: bytes, expected_revision: int) -> Entry:
        self._check_writable(key, value)
        current = self._expected(key, expected_revision)
        return self._put(Entry(key, value, self._revision + 1, current.created), current)

    async def delete(self, key: str, expected_revision: int) -> int:
        self._check_writable(key, b"")
        current = self._expected(key, expected_revision)
        self._record(key, None, Event(Kind.DELETE, key, b"", current.value, self._revision + 1))
        return self._revision

    async def revision(self) -> int:
        return self._revision

    def watch(self, prefix: str, after_revision: int, *, progress_seconds: float = 10.0) -> AsyncGenerator[Batch, None]:
        return self._hub.watch(prefix, max(after_revision, FIRST_REVISION), self._history, progress_seconds)

    async def compact(self, revision: int) -> None:
        if revision > self._revision:
            raise FutureRevision(revision)
        self._compacted = max(self._compacted, revision)
        self._hub.forget(revision)
        self._events = [event for event in self._events if event.revision > self._compacted]
        for key, versions in list(self._versions.items()):
            self._keep(key, _readable_from(versions, self._compacted))

    async def close(self) -> None:
        self._hub.close()

    def _check_writable(self, key: str, value: bytes) -> None:
        keys.checked(key)
        if len(value) > VALUE_LIMIT:
            raise TooLarge(key, len(value))
        if self._hub.closed:
            raise Unavailable("the store is closed")

    def _readable(self, revision: int) -> int:
        if revision > self._revision:
            raise FutureRevision(revision)
        if 0 < revision < self._compacted:
            raise Compacted(revision, oldest=self._compacted)
        return revision or self._revision

    def _under(self, prefix: str, after: str) -> Iterator[str]:
        end = keys.end_of(prefix)
        first = max(bisect_left(self._keys, prefix), bisect_right(self._keys, after) if after else 0)
        last = len(self._keys) if end is None else bisect_left(self._keys, end)
        return iter(self._keys[first:last])

    def _at(self, key: str, revision: int) -> Entry | None:
        versions = self._versions.get(key, [])
        count = bisect_right(versions, revision, key=_revision)
        return versions[count - 1].entry if count else None

    def _expected(self, key: str, revision: int) -> Entry:
        current = self._at(key, self._revision)
        if current is None or current.revision != revision:
            raise Conflict(key, current)
        return current

    def _put(self, entry: Entry, replaced: Entry | None) -> Entry:
        previous = replaced.value if replaced else None
        self._record(entry.key, entry, Event(Kind.PUT, entry.key, entry.value, previous, entry.revision))
        return entry

    def _record(self, key: str, entry: Entry | None, event: Event) -> None:
        self._revision = event.revision
        if key not in self._versions:
            insort(self._keys, key)
        self._versions.setdefault(key, []).append(_Version(event.revision, entry))
        self._events.append(event)
        self._hub.publish([event])

    def _keep(self, key: str, versions: _Versions) -> None:
        if versions:
            self._versions[key] = versions
        else:
            del self._versions[key]
            del self._keys[bisect_left(self._keys, key)]

    async def _history(self, prefix: str, after: int) -> AsyncGenerator[Batch, None]:
        if after < self._compacted:
            raise Compacted(after, oldest=self._compacted)
        events = [event for event in self._events if event.revision > after and event.key.startswith(prefix)]
        yield Batch(tuple(events), self._revision)


def _readable_from(versions: _Versions, compacted: int) -> _Versions:
    """What a reader at the compacted revision, or later, can still see."""
    count = bisect_right(versions, compacted, key=_revision)
    visible = versions[count - 1 : count] if count else []
    return [v for v in visible if v.entry is not None] + versions[count:]


def _revision(version: _Version) -> int:
    return version.revision
