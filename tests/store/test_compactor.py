"""When history is old enough to go."""

import asyncio

import pytest

from kadmit.store.base import FIRST_REVISION, Compacted, Store
from kadmit.store.compactor import Compactor
from kadmit.store.memory import MemoryStore


async def _write(store: Store, count: int) -> int:
    revision = await store.revision()
    for n in range(revision, revision + count):
        await store.create(f"/n{n}", b"")
    return await store.revision()


async def _oldest(store: Store) -> int:
    """The first revision that can still be read."""
    for revision in range(FIRST_REVISION, await store.revision() + 1):
        try:
            await store.list("", revision=revision)
        except Compacted:
            continue
        return revision
    raise AssertionError("not even the present can be read")


async def test_each_step_forgets_what_was_before_the_last_one() -> None:
    store = MemoryStore()
    compactor = Compactor(store)
    assert await _oldest(store) == FIRST_REVISION
    first = await _write(store, 5)
    await compactor.step()
    assert await _oldest(store) == FIRST_REVISION
    second = await _write(store, 5)
    await compactor.step()
    assert await _oldest(store) == first
    await compactor.step()
    assert await _oldest(store) == second


async def test_no_more_revisions_are_kept_than_allowed() -> None:
    store = MemoryStore()
    compactor = Compactor(store, most_revisions=10)
    last = await _write(store, 7)
    await compactor.trim()
    assert await _oldest(store) == FIRST_REVISION
    last = await _write(store, 20)
    await compactor.trim()
    assert await _oldest(store) == last - 10
    await compactor.step()
    assert await _oldest(store) == last - 10


async def test_it_runs_until_it_is_cancelled() -> None:
    store = MemoryStore()
    last = await _write(store, 20)
    running = asyncio.create_task(Compactor(store, most_revisions=100).run(0.002, count_seconds=0.001))
    async with asyncio.timeout(10):
        while await _oldest(store) < last:
            await asyncio.sleep(0)
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running
