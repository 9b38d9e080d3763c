"""Several servers over the same data: the workers of one machine on SQLite, replicas over one etcd."""

import asyncio
from contextlib import aclosing

import pytest
from tests.store.engines import Opener
from tests.store.watching import events_until, take

from kadmit.store.base import Conflict, Entry, Exists

KEY = "/registry//pods/default/a"


async def test_each_sees_the_others_writes_at_once(replicas: Opener) -> None:
    one, other = await replicas.open(), await replicas.open()
    created = await one.create(KEY, b"1")
    assert await other.get(KEY) == created
    updated = await other.update(KEY, b"2", created.revision)
    assert (await one.list("/registry/")).entries == (updated,)
    assert await one.revision() == await other.revision() == updated.revision


async def test_a_conflict_is_one_whoever_wrote(replicas: Opener) -> None:
    one, other = await replicas.open(), await replicas.open()
    created = await one.create(KEY, b"1")
    with pytest.raises(Exists):
        await other.create(KEY, b"2")
    updated = await one.update(KEY, b"2", created.revision)
    with pytest.raises(Conflict) as refused:
        await other.update(KEY, b"3", created.revision)
    assert refused.value.current == updated


async def test_a_watch_tells_what_another_wrote(replicas: Opener) -> None:
    one, other = await replicas.open(), await replicas.open()
    async with aclosing(one.watch("/registry/", await one.revision())) as batches:
        reader = asyncio.create_task(take(batches, 2))
        created = await other.create(KEY, b"1")
        updated = await one.update(KEY, b"2", created.revision)
        assert [(e.value, e.revision) for e in await reader] == [(b"1", created.revision), (b"2", updated.revision)]


async def test_all_tell_the_same_events_in_the_same_order(replicas: Opener) -> None:
    stores = [await replicas.open() for _ in range(3)]
    start = await stores[0].revision()
    followers = [asyncio.create_task(events_until(store, "", start, start + 150)) for store in stores]
    await asyncio.gather(*(store.create(f"/s{s}/n{n}", b"") for s, store in enumerate(stores) for n in range(50)))
    first, *others = await asyncio.gather(*followers)
    assert [event.revision for event in first] == list(range(start + 1, start + 151))
    assert all(events == first for events in others)


async def test_of_all_increments_of_a_counter_none_is_lost(replicas: Opener) -> None:
    stores = [await replicas.open() for _ in range(2)]
    await stores[0].create(KEY, b"0")

    async def increment(number: int) -> None:
        store = stores[number % 2]
        while True:
            entry = await store.get(KEY)
            assert isinstance(entry, Entry)
            try:
                await store.update(KEY, str(int(entry.value) + 1).encode(), entry.revision)
            except Conflict:
                continue
            return

    await asyncio.gather(*(increment(n) for n in range(30)))
    entry = await stores[0].get(KEY)
    assert entry is not None
    assert entry.value == b"30"


async def test_a_new_server_takes_up_a_watch_where_another_left_it(replicas: Opener) -> None:
    one = await replicas.open()
    made = [await one.create(f"/registry/n{n}", b"") for n in range(10)]
    await one.close()
    other = await replicas.open()
    last = await other.create("/registry/last", b"")
    events = await events_until(other, "/registry/", made[3].revision, last.revision)
    assert [event.revision for event in events] == list(range(made[4].revision, last.revision + 1))
