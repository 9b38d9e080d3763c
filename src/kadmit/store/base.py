"""What every storage engine does: the Store protocol, the records it hands out, and the ways in which it refuses.

Rules that hold for all engines, and that one contract suite checks on all of them:
- A store has one revision. It starts at 1 and only grows; each successful write takes exactly one revision.
- A write names the revision it expects (compare and swap), so that nobody overwrites what they have not seen.
- Keys are text, ordered by their UTF-8 bytes. Values are bytes that the engine never looks into.
- History is kept until somebody compacts it. Asking for what is gone is `Compacted`, never a silent gap.
"""

from collections.abc import AsyncGenerator
from enum import Enum
from typing import Protocol

from msgspec import Struct

FIRST_REVISION = 1
"""The revision of an empty store: never 0, which means "any" or "now" to Kubernetes' clients."""

VALUE_LIMIT = 1_572_864
"""etcd's own limit on a request; other engines keep to it, so that a store can be moved to etcd."""


class Entry(Struct, frozen=True):
    """A key's value at some revision."""

    key: str
    value: bytes
    revision: int
    """The revision of the last change: what the next write has to expect."""
    created: int
    """The revision at which the key came into being."""


class Page(Struct, frozen=True):
    """Entries in the order of their keys, all as they were at one revision."""

    entries: tuple[Entry, ...]
    revision: int
    remaining: int = 0
    """How many entries follow after this page."""

    @property
    def more(self) -> bool:
        return self.remaining > 0


class Kind(Enum):
    PUT = "put"
    DELETE = "delete"


class Event(Struct, frozen=True):
    """One write. A deletion has no value; a creation has nothing previous."""

    kind: Kind
    key: str
    value: bytes
    previous: bytes | None
    revision: int

    @property
    def created(self) -> bool:
        return self.kind is Kind.PUT and self.previous is None


class Batch(Struct, frozen=True):
    """Events in the order of their revisions, and how far the watch has come.

    Everything under the watched prefix up to `revision` has been handed out; a batch without events only says that.
    """

    events: tuple[Event, ...]
    revision: int


class StoreError(Exception):
    """The store did not do what it was asked."""


class Exists(StoreError):
    """The key to be created is there already."""

    def __init__(self, key: str) -> None:
        super().__init__(f"key {key!r} exists")
        self.key = key


class Conflict(StoreError):
    """The key is not at the expected revision. `current` is what it holds instead, None where it holds nothing."""

    def __init__(self, key: str, current: Entry | None) -> None:
        state = f"is at revision {current.revision}" if current else "does not exist"
        super().__init__(f"key {key!r} {state}")
        self.current = current


class Compacted(StoreError):
    """History from `revision` on is no longer complete. Read afresh and start again from there."""

    def __init__(self, revision: int, *, oldest: int = 0) -> None:
        super().__init__(f"revision {revision} has been compacted")
        self.revision = revision
        self.oldest = oldest
        """The first revision that can still be asked for; 0 where the engine does not tell."""


class FutureRevision(StoreError):
    """The store has not come to `revision` yet."""

    def __init__(self, revision: int) -> None:
        super().__init__(f"revision {revision} is in the future")
        self.revision = revision


class TooLarge(StoreError):
    """The value is larger than the store takes."""

    def __init__(self, key: str, size: int) -> None:
        super().__init__(f"value of key {key!r} is too large: {size} bytes")
        self.key = key


class Unavailable(StoreError):
    """The store cannot be reached or cannot write now. Whether a write that fails so has happened is unknown."""


class Unusable(StoreError):
    """The store cannot be opened: in use by somebody else, damaged, or of another version."""


class Store(Protocol):
    """Where the API server keeps its objects.

    The seam exists because one server is a file on a laptop, a replica over a shared etcd, or a fixture in a test; and
    because all that Kubernetes promises about resource versions and watches rests on these few operations.
    """

    async def get(self, key: str, *, revision: int = 0) -> Entry | None:
        """The key's entry, now or as it was at a revision. Raises Compacted, FutureRevision."""

    async def list(self, prefix: str, *, revision: int = 0, limit: int = 0, after: str = "") -> Page:
        """Entries whose keys start with the prefix and follow `after`, all at one revision. Raises Compacted, FutureRevision."""

    async def create(self, key: str, value: bytes) -> Entry:
        """Writes a key that must not be there. Raises Exists, TooLarge."""

    async def update(self, key: str, value: bytes, expected_revision: int) -> Entry:
        """Writes a key that must be at the expected revision. Raises Conflict, TooLarge."""

    async def delete(self, key: str, expected_revision: int) -> int:
        """Deletes a key that must be at the expected revision; the revision of the deletion. Raises Conflict."""

    async def revision(self) -> int:
        """The revision of the last write that anybody has made."""

    def watch(self, prefix: str, after_revision: int, *, progress_seconds: float = 10.0) -> AsyncGenerator[Batch, None]:
        """Every event under the prefix after the revision: first from history, then as they happen; none missed, none twice.

        An empty batch tells progress while nothing under the prefix changes, at most every `progress_seconds`.
        A revision in the future is waited for. The watch ends when the store is closed. Raises Compacted, also later on,
        when a watcher falls so far behind that history goes before it was read. Close the generator to stop watching.
        """

    async def compact(self, revision: int) -> None:
        """Forgets what was before the revision: reads and watches from there on still work. Raises FutureRevision."""

    async def close(self) -> None:
        """Ends watches and lets go of all resources. Writes already asked for are finished first."""
