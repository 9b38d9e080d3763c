"""The SQLite database: its schema, and every statement that is ever run on it. Synchronous; one connection, one thread at a time.

`history` has one row a revision, with the value it wrote; `entries` says which row is a key's latest. A deletion is a row
whose `created` is 0. The revision of the store is the last row's, so that row is never removed.
Compaction happens in two steps: `compacted` is raised at once, and rows that nobody can see any more are swept away
a few at a time, together with later writes, up to `swept`.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import apsw

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

_SCHEMA = f"""
CREATE TABLE history (revision INTEGER PRIMARY KEY, key TEXT NOT NULL, value BLOB, created INTEGER NOT NULL, previous INTEGER NOT NULL);
CREATE INDEX history_of_key ON history (key, revision, created);
CREATE TABLE entries (key TEXT PRIMARY KEY, revision INTEGER NOT NULL, created INTEGER NOT NULL) WITHOUT ROWID;
CREATE TABLE state (compacted INTEGER NOT NULL, swept INTEGER NOT NULL);
INSERT INTO state VALUES ({FIRST_REVISION}, {FIRST_REVISION});
PRAGMA application_id = {_APPLICATION};
PRAGMA user_version = {_SCHEMA_VERSION};
"""

_CURRENT = "SELECT key, value, revision, e.created FROM entries AS e JOIN history AS h USING (key, revision)"
_LATEST = """
SELECT key, max(revision) AS revision, created FROM history INDEXED BY history_of_key
WHERE key >= ? AND key < ? AND key > ? AND revision <= ? GROUP BY key HAVING created > 0
"""
# The plus signs keep SQLite from sorting what it would find by key: rows are in the order of revisions already.
_EVENTS = """
SELECT h.key, h.value, p.value, h.revision, h.created FROM history AS h LEFT JOIN history AS p ON p.revision = h.previous
WHERE h.revision > ? AND +h.key >= ? AND +h.key < ? ORDER BY h.revision LIMIT ?
"""
_NO_END = b""
"""Greater than every key, since SQLite orders blobs after text."""


@dataclass(frozen=True, slots=True)
class Written:
    """A write, and the revision at which its key was created."""

    event: Event
    created: int


class Database:
    def __init__(self, path: Path) -> None:
        self._connection = apsw.Connection(str(path))
        self._connection.set_busy_timeout(_BUSY_MILLISECONDS)
        for pragma in ("journal_mode = WAL", "synchronous = FULL", "wal_autocheckpoint = 4000", "journal_size_limit = 67108864"):
            self._connection.execute(f"PRAGMA {pragma}").fetchall()

    def close(self) -> None:
        self._connection.close()

    # Setting up

    def prepare(self) -> None:
        """Makes the schema where there is none. Raises Unusable where there is another."""
        with self.writing():
            application, version = self._number("PRAGMA application_id"), self._number("PRAGMA user_version")
            if not application and not self._number("SELECT count(*) FROM sqlite_schema"):
                self._connection.execute(_SCHEMA).fetchall()
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
        return self._number(f"SELECT coalesce(max(revision), {FIRST_REVISION}) FROM history")

    def compacted(self) -> int:
        return self._number("SELECT compacted FROM state")

    def entry(self, key: str) -> Entry | None:
        row = self._connection.execute(f"{_CURRENT} WHERE key = ?", (key,)).fetchone()
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
            read, count = (self._current, self._count) if at == current else (self._past, self._past_count)
            entries = read(bounds, at, limit or -1)
            rest = count((*bounds[:2], entries[-1].key), at) if limit and len(entries) == limit else 0
            return Page(entries, at, remaining=rest)

    def _current(self, bounds: tuple[str, str | bytes, str], at: int, limit: int) -> tuple[Entry, ...]:
        sql = f"{_CURRENT} WHERE key >= ? AND key < ? AND key > ? ORDER BY key LIMIT ?"
        return tuple(Entry(*row) for row in self._connection.execute(sql, (*bounds, limit)))

    def _count(self, bounds: tuple[str, str | bytes, str], at: int) -> int:
        return self._number("SELECT count(*) FROM entries WHERE key >= ? AND key < ? AND key > ?", bounds)

    def _past(self, bounds: tuple[str, str | bytes, str], at: int, limit: int) -> tuple[Entry, ...]:
        sql = f"SELECT key, value, revision, created FROM ({_LATEST}) JOIN history USING (key, revision, created) ORDER BY key LIMIT ?"
        return tuple(Entry(*row) for row in self._connection.execute(sql, (*bounds, at, limit)))

    def _past_count(self, bounds: tuple[str, str | bytes, str], at: int) -> int:
        return self._number(f"SELECT count(*) FROM ({_LATEST})", (*bounds, at))

    def events(self, prefix: str, after: int, limit: int) -> Batch:
        """The next events under the prefix. Raises Compacted."""
        with self.reading():
            if after < self.compacted():
                raise Compacted(after)
            current = self.revision()
            rows = self._connection.execute(_EVENTS, (after, prefix, keys.end_of(prefix) or _NO_END, limit))
            events = tuple(_event(*row) for row in rows)
            return Batch(events, events[-1].revision if len(events) == limit else max(current, after))

    def _check_readable(self, revision: int, current: int) -> None:
        if revision > current:
            raise FutureRevision(revision)
        if revision < self.compacted():
            raise Compacted(revision)

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
        compacted, swept = self._connection.execute("SELECT compacted, swept FROM state").fetchall()[0]
        last = min(compacted, self.revision() - 1)
        until = min(last, swept + _SWEEP)
        if until <= swept:
            return False
        seen = (swept, until)
        replaced = "SELECT previous FROM history WHERE revision > ? AND revision <= ? AND previous > 0"
        self._connection.execute(f"DELETE FROM history WHERE revision IN ({replaced})", seen)
        self._connection.execute("DELETE FROM history WHERE revision > ? AND revision <= ? AND created = 0", seen)
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
