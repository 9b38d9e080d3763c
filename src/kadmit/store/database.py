"""The SQLite database: its schema, and every statement that is ever run on it. Synchronous; one connection, one thread at a time.

`history` has one row a revision, with the value it wrote; `entries` says which row is a key's latest. A deletion is a row
whose `created` is 0. The revision of the store is the last row's, so that row is never removed.
Compaction happens in two steps: `compacted` is raised at once, and rows that nobody can see any more are swept away
a few at a time, together with later writes, up to `swept`.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import apsw
from msgspec import Struct

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
    Unavailable,
    Unusable,
)

_APPLICATION = 0x6B61646D
_SCHEMA_VERSION = 1
_SWEEP = 256
_BUSY_MILLISECONDS = 10_000

PRAGMAS = ("journal_mode = WAL", "synchronous = FULL", "wal_autocheckpoint = 4000", "journal_size_limit = 67108864")
"""FULL: in WAL mode only that syncs the disk at each commit."""

_SCHEMA = """
CREATE TABLE history (
  revision INTEGER PRIMARY KEY, key TEXT NOT NULL, value BLOB, created INTEGER NOT NULL, previous INTEGER NOT NULL
);
CREATE INDEX history_of_key ON history (key, revision, created);
CREATE TABLE entries (key TEXT PRIMARY KEY, revision INTEGER NOT NULL, created INTEGER NOT NULL) WITHOUT ROWID;
CREATE TABLE state (compacted INTEGER NOT NULL, swept INTEGER NOT NULL);
INSERT INTO state VALUES (1, 1);
"""

_ENTRY = """
SELECT e.key, h.value, e.revision, e.created FROM entries AS e JOIN history AS h ON h.revision = e.revision WHERE e.key = ?
"""

_CURRENT = """
SELECT e.key, h.value, e.revision, e.created FROM entries AS e JOIN history AS h ON h.revision = e.revision
WHERE e.key >= ? AND e.key < ? AND e.key > ? ORDER BY e.key LIMIT ?
"""
_CURRENT_COUNT = "SELECT count(*) FROM entries WHERE key >= ? AND key < ? AND key > ?"

# Of each key the last version up to a revision, found in the index alone.
_PAST = """
SELECT l.key, h.value, l.revision, l.created FROM (
  SELECT key, max(revision) AS revision, created FROM history INDEXED BY history_of_key
  WHERE key >= ? AND key < ? AND key > ? AND revision <= ? GROUP BY key HAVING created > 0
) AS l JOIN history AS h ON h.revision = l.revision ORDER BY l.key LIMIT ?
"""
_PAST_COUNT = """
SELECT count(*) FROM (
  SELECT key, max(revision), created FROM history INDEXED BY history_of_key
  WHERE key >= ? AND key < ? AND key > ? AND revision <= ? GROUP BY key HAVING created > 0
)
"""

# The plus signs keep SQLite from looking for keys first and sorting after: rows are in the order of revisions already.
_EVENTS = """
SELECT h.key, h.value, p.value, h.revision, h.created FROM history AS h LEFT JOIN history AS p ON p.revision = h.previous
WHERE h.revision > ? AND +h.key >= ? AND +h.key < ? ORDER BY h.revision LIMIT ?
"""

_SWEEP_REPLACED = """
DELETE FROM history WHERE revision IN (SELECT previous FROM history WHERE revision > ? AND revision <= ?)
"""
_SWEEP_DELETIONS = "DELETE FROM history WHERE revision > ? AND revision <= ? AND created = 0"

_Bounds = tuple[str, str | bytes, str]
"""A prefix, the end of it, and the key after which to begin."""

_NO_END = b""
"""Greater than every key, since SQLite orders blobs after text."""


class Written(Struct, frozen=True):
    """A write, and the revision at which its key was created."""

    event: Event
    created: int


class Database:
    def __init__(self, path: Path) -> None:
        self._connection = apsw.Connection(str(path))
        self._connection.set_busy_timeout(_BUSY_MILLISECONDS)
        for pragma in PRAGMAS:
            self._connection.execute(f"PRAGMA {pragma}").fetchall()

    def close(self) -> None:
        self._connection.close()

    # Setting up

    def prepare(self) -> None:
        """Makes the schema where there is none. Raises Unusable where there is another."""
        with self.writing():
            application, version = self._number("PRAGMA application_id"), self._number("PRAGMA user_version")
            if not application and not self._number("SELECT count(*) FROM sqlite_schema"):
                self._make_schema()
            elif application != _APPLICATION:
                raise Unusable("the database belongs to another program")
            elif version != _SCHEMA_VERSION:
                raise Unusable(f"the database has schema version {version}, this program knows version {_SCHEMA_VERSION}")

    def check(self) -> None:
        """Reads the whole database. Raises Unusable where it is damaged."""
        found = str(self._connection.execute("PRAGMA quick_check(1)").get)
        if found != "ok":
            raise Unusable(f"the database is damaged: {found}")
        if self._number("SELECT count(*) FROM entries WHERE revision NOT IN (SELECT revision FROM history)"):
            raise Unusable("the database is damaged: an entry has no value")

    def _make_schema(self) -> None:
        self._connection.execute(_SCHEMA).fetchall()
        self._connection.execute(f"PRAGMA application_id = {_APPLICATION}")
        self._connection.execute(f"PRAGMA user_version = {_SCHEMA_VERSION}")

    # Reading

    @contextmanager
    def reading(self) -> Iterator[None]:
        """All reads inside see one state of the store."""
        self._connection.execute("BEGIN")
        try:
            yield
        finally:
            self._connection.execute("ROLLBACK")

    def revision(self) -> int:
        return self._number("SELECT coalesce(max(revision), ?) FROM history", (FIRST_REVISION,))

    def compacted(self) -> int:
        return self._number("SELECT compacted FROM state")

    def entry(self, key: str) -> Entry | None:
        row = self._connection.execute(_ENTRY, (key,)).fetchone()
        return Entry(*row) if row else None

    def entry_at(self, key: str, revision: int) -> Entry | None:
        with self.reading():
            self._check_readable(revision, self.revision())
            sql = (
                "SELECT key, value, revision, created FROM history WHERE key = ? AND revision <= ? ORDER BY revision DESC LIMIT 1"
            )
            row = self._connection.execute(sql, (key, revision)).fetchone()
            return Entry(*row) if row and row[3] else None

    def page(self, prefix: str, *, revision: int, limit: int, after: str) -> Page:
        with self.reading():
            current = self.revision()
            at = revision or current
            self._check_readable(at, current)
            bounds = (prefix, keys.end_of(prefix) or _NO_END, after)
            entries = self._entries(bounds, 0 if at == current else at, limit or -1)
            rest = self._count((*bounds[:2], entries[-1].key), 0 if at == current else at) if len(entries) == limit > 0 else 0
            return Page(entries, at, remaining=rest)

    def _entries(self, bounds: _Bounds, past: int, limit: int) -> tuple[Entry, ...]:
        if past:
            rows = self._connection.execute(_PAST, (*bounds, past, limit))
        else:
            rows = self._connection.execute(_CURRENT, (*bounds, limit))
        return tuple(Entry(*row) for row in rows)

    def _count(self, bounds: _Bounds, past: int) -> int:
        return self._number(_PAST_COUNT, (*bounds, past)) if past else self._number(_CURRENT_COUNT, bounds)

    def events(self, prefix: str, after: int, limit: int) -> Batch:
        """The next events under the prefix. Raises Compacted."""
        with self.reading():
            if after < (oldest := self.compacted()):
                raise Compacted(after, oldest=oldest)
            current = self.revision()
            rows = self._connection.execute(_EVENTS, (after, prefix, keys.end_of(prefix) or _NO_END, limit))
            events = tuple(_event(*row) for row in rows)
            return Batch(events, events[-1].revision if len(events) == limit else max(current, after))

    def _check_readable(self, revision: int, current: int) -> None:
        if revision > current:
            raise FutureRevision(revision)
        if revision < (oldest := self.compacted()):
            raise Compacted(revision, oldest=oldest)

    # Writing

    @contextmanager
    def writing(self) -> Iterator[None]:
        """All or nothing, and on the disk when it ends."""
        self._connection.execute("BEGIN IMMEDIATE")
        try:
            yield
            self._connection.execute("COMMIT")
        except BaseException:
            if self._connection.in_transaction:
                self._connection.execute("ROLLBACK")
            raise

    def create(self, key: str, value: bytes, revision: int) -> Written:
        if self._exists(key):
            raise Exists(key)
        self._append(revision, key, value, created=revision, previous=0)
        self._connection.execute("INSERT INTO entries VALUES (?, ?, ?)", (key, revision, revision))
        return Written(Event(Kind.PUT, key, value, None, revision), created=revision)

    def update(self, key: str, value: bytes, expected: int, revision: int) -> Written:
        current = self._expected(key, expected)
        self._append(revision, key, value, created=current.created, previous=expected)
        self._connection.execute("UPDATE entries SET revision = ? WHERE key = ?", (revision, key))
        return Written(Event(Kind.PUT, key, value, current.value, revision), current.created)

    def delete(self, key: str, expected: int, revision: int) -> Written:
        current = self._expected(key, expected)
        self._append(revision, key, None, created=0, previous=expected)
        self._connection.execute("DELETE FROM entries WHERE key = ?", (key,))
        return Written(Event(Kind.DELETE, key, b"", current.value, revision), created=0)

    def compact(self, compacted: int, revision: int) -> None:
        """Takes no revision itself: the one that it is given is for the next write."""
        if compacted >= revision:
            raise FutureRevision(compacted)
        self._connection.execute("UPDATE state SET compacted = max(compacted, ?)", (compacted,))

    def sweep(self) -> bool:
        """Removes some of what nobody can see any more; whether there is more of it."""
        swept = self._number("SELECT swept FROM state")
        last = min(self.compacted(), self.revision() - 1)
        until = min(last, swept + _SWEEP)
        if until <= swept:
            return False
        self._connection.execute(_SWEEP_REPLACED, (swept, until))
        self._connection.execute(_SWEEP_DELETIONS, (swept, until))
        self._connection.execute("UPDATE state SET swept = ?", (until,))
        return until < last

    def _exists(self, key: str) -> bool:
        return self._connection.execute("SELECT 1 FROM entries WHERE key = ?", (key,)).fetchone() is not None

    def _expected(self, key: str, revision: int) -> Entry:
        current = self.entry(key)
        if current is None or current.revision != revision:
            raise Conflict(key, current)
        return current

    def _append(self, revision: int, key: str, value: bytes | None, *, created: int, previous: int) -> None:
        self._connection.execute("INSERT INTO history VALUES (?, ?, ?, ?, ?)", (revision, key, value, created, previous))

    def _number(self, sql: str, bindings: tuple[str | bytes | int, ...] = ()) -> int:
        return int(self._connection.execute(sql, bindings).get)


def _event(key: str, value: bytes | None, previous: bytes | None, revision: int, created: int) -> Event:
    if not created:
        return Event(Kind.DELETE, key, b"", previous, revision)
    return Event(Kind.PUT, key, value or b"", previous, revision)


@contextmanager
def failures_named() -> Iterator[None]:
    """SQLite's errors, such as a full disk, as the store's."""
    try:
        yield
    except (apsw.CorruptError, apsw.NotADBError) as error:
        raise Unusable(f"the database is damaged: {error}") from error
    except apsw.Error as error:
        raise Unavailable(f"the database failed: {error}") from error
