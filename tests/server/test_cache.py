"""The server's memory of a store where others write too: it never goes back, never lists what is yet to come, never stops."""

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import asynccontextmanager

import orjson

from kadmit.resources.effects import Put
from kadmit.resources.state import Name, Place
from kadmit.server.cache import Cache, key_of
from kadmit.store.base import Batch, Compacted, Entry, Page, Unavailable
from kadmit.store.memory import MemoryStore

PLACE: Place = ("", "configmaps")
NAME: Name = ("default", "a")
KEY = key_of(PLACE, NAME)
SECONDS = 10.0


@asynccontextmanager
async def cached(store: MemoryStore) -> AsyncIterator[Cache]:
    cache = Cache(store)
    async with asyncio.timeout(SECONDS):
        await cache.start()
        yield cache
        await cache.stop()
        await store.close()


def put(step: int, expected: int | None = None, name: Name = NAME) -> Put:
    return Put(PLACE, name, {"metadata": {}, "step": step}, None if expected is None else str(expected))


def value(step: int) -> bytes:
    return orjson.dumps({"metadata": {}, "step": step})


def step_in(cache: Cache) -> int | None:
    held = cache.state.objects[PLACE].get(NAME)
    return None if held is None else held["step"]


class SlowAcknowledgements(MemoryStore):
    """Somebody else writes, and the watch tells of it, before our own write is acknowledged."""

    cache: Cache

    async def create(self, key: str, value: bytes) -> Entry:
        made = await super().create(key, value)
        await self.update(key, orjson.dumps({"metadata": {}, "step": 2}), made.revision)
        await self.cache.settled(wait=True)
        return made


async def test_what_others_wrote_later_is_not_replaced_by_a_late_acknowledgement() -> None:
    store = SlowAcknowledgements()
    async with cached(store) as store.cache:
        assert await store.cache.put(put(1)) < store.cache.progress
        assert step_in(store.cache) == 2


async def test_a_write_counts_at_once() -> None:
    async with cached(MemoryStore()) as cache:
        revision = await cache.put(put(1))
        assert step_in(cache) == 1
        assert await cache.settled() == revision


async def test_a_list_amid_writes_shows_nothing_that_comes_after_it() -> None:
    """And comes to an end, although writes do not."""
    async with cached(MemoryStore()) as cache:
        over = False

        async def write(number: int) -> None:
            name = ("default", str(number))
            revision = await cache.put(put(0, name=name))
            while not over:
                revision = await cache.put(put(0, revision, name))
                await asyncio.sleep(0)

        async with asyncio.TaskGroup() as writers:
            for number in range(8):
                writers.create_task(write(number))
            for _ in range(200):
                await asyncio.sleep(0)
                assert await cache.settled() >= cache.state.revision
            over = True


class Forgetful(MemoryStore):
    """Has lost its history, and then is away just when it is read afresh."""

    def __init__(self) -> None:
        super().__init__()
        self.faults: list[Exception] = []

    async def list(self, prefix: str, *, revision: int = 0, limit: int = 0, after: str = "") -> Page:
        if self.faults:
            raise self.faults.pop()
        return await super().list(prefix, revision=revision, limit=limit, after=after)

    async def watch(self, prefix: str, after_revision: int, *, progress_seconds: float = 10.0) -> AsyncGenerator[Batch, None]:
        async for batch in super().watch(prefix, after_revision, progress_seconds=progress_seconds):
            if self.faults:
                raise Compacted(after_revision)
            yield batch


async def test_a_store_that_is_away_while_it_is_read_afresh_is_followed_again() -> None:
    store = Forgetful()
    async with cached(store) as cache:
        made = await store.create(KEY, value(1))
        await cache.settled(wait=True)
        store.faults = [Unavailable("away")]
        await store.update(KEY, value(2), made.revision)
        await cache.settled(wait=True)
        assert step_in(cache) == 2
        assert not store.faults
