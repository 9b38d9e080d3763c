"""A process that writes as fast as it can until it is killed, and prints each write once the store has acknowledged it.

python -m tests.store.crash_writer sqlite FOLDER NAME
python -m tests.store.crash_writer etcd ENDPOINT#PREFIX NAME
"""

import asyncio
import sys
from collections.abc import Callable
from pathlib import Path

from kadmit.store.base import Event, Kind, Store

WRITERS = 12


async def write(store: Store, key: str, tell: Callable[[Event], None], stopped: Callable[[], bool] = lambda: False) -> None:
    """Creates, updates and deletes one key over and over."""
    number = 0
    while not stopped():
        entry = await store.create(key, b"%d" % number)
        tell(Event(Kind.PUT, key, entry.value, None, entry.revision))
        for _ in range(3):
            before, number = entry, number + 1
            entry = await store.update(key, b"%d" % number, before.revision)
            tell(Event(Kind.PUT, key, entry.value, before.value, entry.revision))
        deleted = await store.delete(key, entry.revision)
        tell(Event(Kind.DELETE, key, b"", entry.value, deleted))


def parsed(line: bytes) -> Event | None:
    """A printed write; None for a line that was cut off by the end of its process."""
    if not line.endswith(b"\n"):
        return None
    kind, key, value, previous, revision = line.decode().split(",")
    return Event(Kind(kind), key, value.encode(), previous.encode() or None, int(revision))


async def opened(engine: str, place: str) -> Store:
    """Loads only what the engine needs: these processes start many times."""
    if engine == "sqlite":
        from kadmit.store.sqlite import SqliteStore

        return await SqliteStore.open(Path(place), group="crash")
    from kadmit.store.etcd import EtcdStore

    endpoint, _, prefix = place.partition("#")
    return await EtcdStore.open([endpoint], prefix=prefix)


def _tell(event: Event) -> None:
    previous = (event.previous or b"").decode()
    sys.stdout.buffer.write(f"{event.kind.value},{event.key},{event.value.decode()},{previous},{event.revision}\n".encode())
    sys.stdout.buffer.flush()


async def _main(engine: str, place: str, name: str) -> None:
    store = await opened(engine, place)
    await asyncio.gather(*(write(store, f"/crash/{name}/{n}", _tell) for n in range(WRITERS)))


if __name__ == "__main__":
    asyncio.run(_main(*sys.argv[1:]))
