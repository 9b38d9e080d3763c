"""The few messages of etcd's v3 API that the store needs: how each is written, and what is read from an answer.

Field numbers are etcd's public API (etcdserverpb and mvccpb). Fields that nobody here asks for are passed over.
"""

from collections.abc import Iterator

from msgspec import Struct

from kadmit.store import protobuf
from kadmit.store.protobuf import Malformed, data, integer, message

RANGE = "/etcdserverpb.KV/Range"
TXN = "/etcdserverpb.KV/Txn"
COMPACT = "/etcdserverpb.KV/Compact"
WATCH = "/etcdserverpb.Watch/Watch"

_EQUAL, _MOD = 0, 2
_NUMBERED_EVENT_DELETE = 1


class KeyValue(Struct, frozen=True):
    key: bytes
    value: bytes
    created: int
    revision: int


class Ranged(Struct, frozen=True):
    revision: int
    """Of the store, not of what was found."""
    pairs: tuple[KeyValue, ...]
    count: int
    """How many there are in the range, however few were asked for."""


class Transacted(Struct, frozen=True):
    revision: int
    succeeded: bool
    found: KeyValue | None
    """The key's state: after a write, or as found where the condition did not hold."""


class Change(Struct, frozen=True):
    pair: KeyValue
    previous: KeyValue | None
    deleted: bool


class Watched(Struct, frozen=True):
    revision: int
    changes: tuple[Change, ...]
    created: bool
    canceled: bool
    compacted: int
    """Other than 0 where the watch ends because history is gone."""
    reason: str


# Requests


def range_request(key: bytes, end: bytes = b"", *, revision: int = 0, limit: int = 0, keys_only: bool = False) -> bytes:
    return data(1, key) + data(2, end) + integer(3, limit) + integer(4, revision) + integer(8, keys_only)


def put_if(key: bytes, value: bytes, expected: int) -> bytes:
    """Writes the key if its revision is the expected one, 0 for a key that is not there; else reads it."""
    written = message(2, data(1, key) + data(2, value))
    described = message(1, range_request(key, keys_only=True))
    return _transaction(key, expected, message(2, written) + message(2, described))


def delete_if(key: bytes, expected: int) -> bytes:
    return _transaction(key, expected, message(2, message(3, data(1, key))))


def _transaction(key: bytes, expected: int, on_success: bytes) -> bytes:
    compare = integer(1, _EQUAL) + integer(2, _MOD) + data(3, key)
    # NB: the expected revision is one of several alternatives in the message, so it is written even when it is 0.
    compare += integer(6, expected) or b"\x30\x00"
    read = message(1, range_request(key))
    return message(1, compare) + on_success + message(3, read)


def compaction(revision: int) -> bytes:
    return integer(1, revision)


def watch_creation(key: bytes, end: bytes, start: int) -> bytes:
    """A watch that tells previous values, and from time to time its progress."""
    return message(1, data(1, key) + data(2, end) + integer(3, start) + integer(4, True) + integer(6, True))


# Answers


def ranged(buffer: bytes) -> Ranged:
    revision, count, pairs = 0, 0, []
    for number, value in protobuf.fields(buffer):
        if number == 1:
            revision = _header_revision(_bytes(value))
        elif number == 2:
            pairs.append(_pair(_bytes(value)))
        elif number == 4:
            count = _integer(value)
    return Ranged(revision, tuple(pairs), count)


def transacted(buffer: bytes) -> Transacted:
    revision, succeeded, found = 0, False, None
    for number, value in protobuf.fields(buffer):
        if number == 1:
            revision = _header_revision(_bytes(value))
        elif number == 2:
            succeeded = bool(value)
        elif number == 3:
            found = next((pair for answer in _nested(value, 1) for pair in ranged(answer).pairs), found)
    return Transacted(revision, succeeded, found)


def watched(buffer: bytes) -> Watched:
    revision, created, canceled, compacted, reason, changes = 0, False, False, 0, "", []
    for number, value in protobuf.fields(buffer):
        if number == 1:
            revision = _header_revision(_bytes(value))
        elif number == 3:
            created = bool(value)
        elif number == 4:
            canceled = bool(value)
        elif number == 5:
            compacted = _integer(value)
        elif number == 6:
            reason = _bytes(value).decode(errors="replace")
        elif number == 11:
            changes.append(_change(_bytes(value)))
    return Watched(revision, tuple(changes), created, canceled, compacted, reason)


def _change(buffer: bytes) -> Change:
    pair, previous, deleted = None, None, False
    for number, value in protobuf.fields(buffer):
        if number == 1:
            deleted = value == _NUMBERED_EVENT_DELETE
        elif number == 2:
            pair = _pair(_bytes(value))
        elif number == 3:
            previous = _pair(_bytes(value))
    if pair is None:
        raise Malformed("an event has no key")
    return Change(pair, previous, deleted)


def _pair(buffer: bytes) -> KeyValue:
    key, content, created, revision = b"", b"", 0, 0
    for number, value in protobuf.fields(buffer):
        if number == 1:
            key = _bytes(value)
        elif number == 2:
            created = _integer(value)
        elif number == 3:
            revision = _integer(value)
        elif number == 5:
            content = _bytes(value)
    return KeyValue(key, content, created, revision)


def _header_revision(buffer: bytes) -> int:
    return next((_integer(value) for number, value in protobuf.fields(buffer) if number == 3), 0)


def _nested(buffer: int | bytes, wanted: int) -> Iterator[bytes]:
    return (_bytes(value) for number, value in protobuf.fields(_bytes(buffer)) if number == wanted)


def _bytes(value: int | bytes) -> bytes:
    if isinstance(value, int):
        raise Malformed("a number stands where a message should")
    return value


def _integer(value: int | bytes) -> int:
    if isinstance(value, bytes):
        raise Malformed("a message stands where a number should")
    return protobuf.signed(value)
