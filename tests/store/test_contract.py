"""What every engine does, checked on every engine: a real etcd, SQLite on a real disk, and memory."""

import asyncio
from contextlib import aclosing

import pytest
from tests.store.watching import events_until, take

from kadmit.store.base import (
    VALUE_LIMIT,
    Compacted,
    Conflict,
    Entry,
    Event,
    Exists,
    FutureRevision,
    Kind,
    Store,
    TooLarge,
    Unavailable,
)

A, B, C = "/registry//pods/default/a", "/registry//pods/default/b", "/registry//pods/other/c"
PODS = "/registry//pods/"


async def _filled(store: Store, *keys: str) -> list[Entry]:
    return [await store.create(key, key.encode()) for key in keys]


# Writes and their revisions


async def test_an_empty_store_has_a_revision_above_zero(store: Store) -> None:
    assert await store.revision() >= 1
    assert (await store.list("")).revision == await store.revision()


async def test_each_write_takes_the_next_revision(store: Store) -> None:
    start = await store.revision()
    created = await store.create(A, b"1")
    updated = await store.update(A, b"2", created.revision)
    other = await store.create(B, b"")
    deleted = await store.delete(A, updated.revision)
    assert [created.revision, updated.revision, other.revision, deleted] == [start + n for n in (1, 2, 3, 4)]
    assert await store.revision() == deleted


async def test_a_created_key_can_be_read(store: Store) -> None:
    created = await store.create(A, b"\x00\xff")
    assert created == Entry(A, b"\x00\xff", created.revision, created=created.revision)
    assert await store.get(A) == created


async def test_an_update_keeps_the_revision_of_creation(store: Store) -> None:
    created = await store.create(A, b"1")
    updated = await store.update(A, b"2", created.revision)
    assert updated == Entry(A, b"2", updated.revision, created=created.revision)
    assert await store.get(A) == updated


async def test_a_deleted_key_is_gone_and_can_be_created_anew(store: Store) -> None:
    first = await store.create(A, b"1")
    await store.delete(A, first.revision)
    assert await store.get(A) is None
    second = await store.create(A, b"2")
    assert second.created == second.revision > first.revision


async def test_an_empty_value_is_a_value(store: Store) -> None:
    created = await store.create(A, b"")
    assert await store.get(A) == created
    assert (await store.update(A, b"", created.revision)).value == b""
    assert [(e.value, e.created) for e in await events_until(store, A, created.revision - 1, created.revision + 1)] == [
        (b"", True),
        (b"", False),
    ]


async def test_a_refused_write_takes_no_revision(store: Store) -> None:
    created = await store.create(A, b"1")
    for refused in (store.create(A, b"2"), store.update(A, b"2", created.revision + 7), store.delete(B, 2)):
        with pytest.raises((Exists, Conflict)):
            await refused
    assert await store.revision() == created.revision


async def test_creating_a_key_that_is_there_is_refused(store: Store) -> None:
    created = await store.create(A, b"1")
    with pytest.raises(Exists):
        await store.create(A, b"2")
    assert await store.get(A) == created


@pytest.mark.parametrize("difference", [-1, 1, 1000])
async def test_a_write_at_another_revision_conflicts_and_tells_the_current_entry(store: Store, difference: int) -> None:
    created = await store.create(A, b"1")
    for attempt in (store.update(A, b"2", created.revision + difference), store.delete(A, created.revision + difference)):
        with pytest.raises(Conflict) as refused:
            await attempt
        assert refused.value.current == created


@pytest.mark.parametrize("expected", [0, 1, 2])
async def test_writing_a_key_that_is_not_there_conflicts_with_nothing(store: Store, expected: int) -> None:
    for attempt in (store.update(A, b"2", expected), store.delete(A, expected)):
        with pytest.raises(Conflict) as refused:
            await attempt
        assert refused.value.current is None
    assert await store.get(A) is None


@pytest.mark.parametrize("expected", [-1, 0])
async def test_no_key_is_ever_at_revision_zero(store: Store, expected: int) -> None:
    created = await store.create(A, b"1")
    for attempt in (store.update(A, b"2", expected), store.delete(A, expected)):
        with pytest.raises(Conflict) as refused:
            await attempt
        assert refused.value.current == created


async def test_of_many_writers_at_one_revision_one_wins(store: Store) -> None:
    created = await store.create(A, b"")
    attempts = [store.update(A, str(n).encode(), created.revision) for n in range(20)]
    answers = await asyncio.gather(*attempts, return_exceptions=True)
    winners = [answer for answer in answers if isinstance(answer, Entry)]
    assert winners == [await store.get(A)]
    assert sum(isinstance(answer, Conflict) for answer in answers) == 19
    assert await store.revision() == created.revision + 1


async def test_of_many_creators_one_wins(store: Store) -> None:
    answers = await asyncio.gather(*(store.create(A, str(n).encode()) for n in range(20)), return_exceptions=True)
    assert [a for a in answers if isinstance(a, Entry)] == [await store.get(A)]
    assert sum(isinstance(answer, Exists) for answer in answers) == 19


async def test_concurrent_writes_take_distinct_revisions_without_gaps(store: Store) -> None:
    start = await store.revision()
    made = await asyncio.gather(*(store.create(f"{PODS}n{n}", b"") for n in range(50)))
    assert sorted(entry.revision for entry in made) == list(range(start + 1, start + 51))


async def test_a_value_beyond_the_limit_is_refused(store: Store) -> None:
    created = await store.create(A, b"x" * (VALUE_LIMIT - 1000))
    for attempt in (store.create(B, b"x" * (VALUE_LIMIT + 1)), store.update(A, b"x" * (VALUE_LIMIT + 1), created.revision)):
        with pytest.raises(TooLarge):
            await attempt
    assert await store.get(A) == created


@pytest.mark.parametrize("key", ["", "registry", "/a\0b", "/\ud800"])
async def test_a_key_that_engines_would_read_differently_is_refused(store: Store, key: str) -> None:
    with pytest.raises(ValueError):
        await store.create(key, b"")


async def test_a_closed_store_refuses_to_write(store: Store) -> None:
    await store.close()
    with pytest.raises(Unavailable):
        await store.create(A, b"")


# Lists


async def test_a_list_is_in_the_order_of_bytes_and_holds_only_the_prefix(store: Store) -> None:
    names = [
        "/p/a",
        "/p/a-b",
        "/p/a/b",
        "/p/a0",
        "/p/aa",
        "/p/Z",
        "/p/é",
        "/p/\ud7ff",
        "/p/\ue000",
        "/p/\U0001f600",
        "/p/\U0010ffff",
    ]
    await _filled(store, *names, "/p", "/o/x", "/q/x")
    page = await store.list("/p/")
    assert [entry.key for entry in page.entries] == sorted(names, key=str.encode)
    assert [entry.key for entry in (await store.list("/p/a/")).entries] == ["/p/a/b"]
    assert [entry.key for entry in (await store.list("/p/\ud7ff")).entries] == ["/p/\ud7ff"]
    assert len((await store.list("")).entries) == len(names) + 3
    assert not page.more


async def test_a_limited_list_tells_how_many_remain(store: Store) -> None:
    await _filled(store, *(f"{PODS}n{n}" for n in range(7)), "/registry//secrets/x")
    page = await store.list(PODS, limit=3)
    assert [entry.key[-2:] for entry in page.entries] == ["n0", "n1", "n2"]
    assert (page.more, page.remaining) == (True, 4)
    rest = await store.list(PODS, limit=4, after=page.entries[-1].key)
    assert [entry.key[-2:] for entry in rest.entries] == ["n3", "n4", "n5", "n6"]
    assert (rest.more, rest.remaining) == (False, 0)


async def test_pages_at_one_revision_are_one_list_whatever_is_written_between(store: Store) -> None:
    made = await _filled(store, *(f"{PODS}n{n}" for n in range(6)))
    first = await store.list(PODS, limit=2)
    await store.update(made[3].key, b"new", made[3].revision)
    await store.delete(made[4].key, made[4].revision)
    await store.create(f"{PODS}n2a", b"")
    second = await store.list(PODS, limit=2, after=first.entries[-1].key, revision=first.revision)
    third = await store.list(PODS, limit=2, after=second.entries[-1].key, revision=first.revision)
    assert [*first.entries, *second.entries, *third.entries] == made
    assert [first.remaining, second.remaining, third.remaining] == [4, 2, 0]
    assert {first.revision, second.revision, third.revision} == {made[-1].revision}


async def test_a_list_longer_than_a_chunk_is_complete(store: Store) -> None:
    names = [f"{PODS}n{n:05}" for n in range(1201)]
    await asyncio.gather(*(store.create(name, b"") for name in names))
    assert [entry.key for entry in (await store.list(PODS)).entries] == names
    page = await store.list(PODS, limit=1100)
    assert (len(page.entries), page.remaining) == (1100, 101)


async def test_an_empty_list_has_the_revision_of_the_store(store: Store) -> None:
    created = await store.create(A, b"")
    page = await store.list("/registry//nothing/", limit=5)
    assert (page.entries, page.revision, page.remaining) == ((), created.revision, 0)


# The past


async def test_a_read_at_a_revision_sees_what_was_then(store: Store) -> None:
    before = await store.revision()
    created = await store.create(A, b"1")
    updated = await store.update(A, b"2", created.revision)
    deleted = await store.delete(A, updated.revision)
    again = await store.create(A, b"3")
    seen = [await store.get(A, revision=r) for r in (before, created.revision, updated.revision, deleted, again.revision)]
    assert seen == [None, created, updated, None, again]
    pages = [await store.list("", revision=r) for r in (before, created.revision, updated.revision, deleted, again.revision)]
    assert [page.entries for page in pages] == [(), (created,), (updated,), (), (again,)]
    assert [page.revision for page in pages] == [before, created.revision, updated.revision, deleted, again.revision]


async def test_a_revision_in_the_future_cannot_be_read(store: Store) -> None:
    future = await store.revision() + 100
    for attempt in (store.get(A, revision=future), store.list("", revision=future), store.compact(future)):
        with pytest.raises(FutureRevision) as refused:
            await attempt
        assert refused.value.revision == future


async def test_compaction_forgets_what_was_before_its_revision_and_nothing_else(store: Store) -> None:
    first = await store.create(A, b"1")
    kept = await store.create(B, b"")
    second = await store.update(A, b"2", first.revision)
    third = await store.update(A, b"3", second.revision)
    await store.compact(second.revision)
    for attempt in (store.get(A, revision=first.revision), store.list("", revision=kept.revision)):
        with pytest.raises(Compacted):
            await attempt
    assert (await store.list("", revision=second.revision)).entries == (second, kept)
    assert (await store.list("", revision=third.revision)).entries == (third, kept)
    assert (await store.list("")).entries == (third, kept)
    assert await store.revision() == third.revision


async def test_compacting_again_or_further_back_changes_nothing(store: Store) -> None:
    created = await store.create(A, b"1")
    updated = await store.update(A, b"2", created.revision)
    for revision in (updated.revision, updated.revision, created.revision):
        await store.compact(revision)
    with pytest.raises(Compacted):
        await store.get(A, revision=created.revision)
    assert await store.get(A, revision=updated.revision) == updated


async def test_compaction_at_a_deletion_forgets_the_key_but_not_the_revision(store: Store) -> None:
    created = await store.create(A, b"1")
    deleted = await store.delete(A, created.revision)
    await store.compact(deleted)
    assert await store.get(A, revision=deleted) is None
    assert await store.revision() == deleted
    assert (await store.create(A, b"2")).revision == deleted + 1


# Watches


async def test_a_watch_tells_history_and_then_what_happens(store: Store) -> None:
    start = await store.revision()
    created = await store.create(A, b"1")
    updated = await store.update(A, b"2", created.revision)
    async with aclosing(store.watch(PODS, start)) as batches:
        events = await take(batches, 2)
        deleted = await store.delete(A, updated.revision)
        again = await store.create(A, b"3")
        events += await take(batches, 2)
    assert events == [
        Event(Kind.PUT, A, b"1", None, created.revision),
        Event(Kind.PUT, A, b"2", b"1", updated.revision),
        Event(Kind.DELETE, A, b"", b"2", deleted),
        Event(Kind.PUT, A, b"3", None, again.revision),
    ]
    assert [event.created for event in events] == [True, False, False, True]


async def test_a_watch_tells_only_its_prefix(store: Store) -> None:
    start = await store.revision()
    made = await _filled(store, A, "/registry//podsx/default/z", B, C, "/other")
    last = made[-1].revision
    assert [e.key for e in await events_until(store, PODS, start, last)] == [A, B, C]
    assert [e.key for e in await events_until(store, PODS + "default/", start, last)] == [A, B]
    assert [e.key for e in await events_until(store, A, start, last)] == [A]
    assert len(await events_until(store, "", start, last)) == 5


async def test_a_watch_begins_right_after_its_revision(store: Store) -> None:
    made = await _filled(store, A, B, C)
    assert await events_until(store, "", made[0].revision, made[2].revision) == [
        Event(Kind.PUT, entry.key, entry.value, None, entry.revision) for entry in made[1:]
    ]


async def test_what_is_written_between_asking_for_a_watch_and_reading_it_is_told(store: Store) -> None:
    async with aclosing(store.watch(PODS, await store.revision())) as batches:
        await _filled(store, A, B)
        assert [event.key for event in await take(batches, 2)] == [A, B]


async def test_every_watch_gets_every_event(store: Store) -> None:
    start = await store.revision()
    watches = [store.watch(PODS, start) for _ in range(5)]
    readers = [asyncio.create_task(take(watch, 20)) for watch in watches]
    await asyncio.gather(*(store.create(f"{PODS}n{n}", b"") for n in range(20)))
    for events in await asyncio.gather(*readers):
        assert [event.revision for event in events] == list(range(start + 1, start + 21))
    for watch in watches:
        await watch.aclose()


async def test_a_watch_that_changes_from_history_to_live_under_load_misses_and_repeats_nothing(store: Store) -> None:
    start = await store.revision()

    async def write(name: str) -> None:
        entry = await store.create(f"{PODS}{name}", b"0")
        for n in range(1, 20):
            entry = await store.update(entry.key, str(n).encode(), entry.revision)

    async def follow() -> list[int]:
        return [event.revision for event in await events_until(store, PODS, start, start + 200)]

    writers = asyncio.gather(*(write(f"w{n}") for n in range(10)))
    followers = []
    for _ in range(10):
        await store.revision()
        followers.append(asyncio.create_task(follow()))
    await writers
    for revisions in await asyncio.gather(*followers):
        assert revisions == list(range(start + 1, start + 201))


async def test_a_watch_from_a_future_revision_waits_for_it(store: Store) -> None:
    future = await store.revision() + 2
    async with aclosing(store.watch("", future)) as batches:
        reader = asyncio.create_task(take(batches, 1))
        await _filled(store, A, B, C)
        assert [event.key for event in await reader] == [C]


async def test_a_watch_tells_progress_while_others_write(store: Store) -> None:
    async with aclosing(store.watch(PODS, await store.revision(), progress_seconds=0.01)) as batches, asyncio.timeout(10):
        elsewhere = await store.create("/registry//secrets/x", b"")
        batch = await anext(batches)
        assert (batch.events, batch.revision) == ((), elsewhere.revision)
        await store.create(A, b"")
        assert [event.key for event in await take(batches, 1)] == [A]


async def test_a_watch_from_compacted_history_is_refused(store: Store) -> None:
    made = await _filled(store, A, B, C)
    await store.compact(made[1].revision)
    with pytest.raises(Compacted) as refused:
        await anext(store.watch("", made[0].revision))
    assert refused.value.revision == made[0].revision
    assert [event.key for event in await events_until(store, "", made[1].revision, made[2].revision)] == [C]


async def test_compaction_of_a_deletion_leaves_no_silent_gap(store: Store) -> None:
    created = await store.create(A, b"")
    deleted = await store.delete(A, created.revision)
    await store.create(B, b"")
    await store.compact(deleted)
    with pytest.raises(Compacted):
        await anext(store.watch("", created.revision))


async def test_a_running_watch_survives_compaction(store: Store) -> None:
    made = await _filled(store, A, B)
    async with aclosing(store.watch("", made[0].revision)) as batches:
        assert [event.key for event in await take(batches, 1)] == [B]
        await store.compact(made[1].revision)
        updated = await store.update(A, b"2", made[0].revision)
        assert await take(batches, 1) == [Event(Kind.PUT, A, b"2", A.encode(), updated.revision)]


async def test_closing_the_store_ends_its_watches(store: Store) -> None:
    watch = store.watch(PODS, await store.revision())
    reader = asyncio.create_task(anext(watch, None))
    await store.create(A, b"")
    assert await reader is not None
    waiting = asyncio.create_task(anext(watch, None))
    await store.revision()
    await store.close()
    async with asyncio.timeout(10):
        assert await waiting is None


async def test_a_watch_that_nobody_reads_holds_nobody_up(store: Store) -> None:
    start = await store.revision()
    idle = store.watch(PODS, start)
    await store.create(A, b"")
    await anext(idle)
    made = await asyncio.gather(*(store.create(f"{PODS}n{n}", b"") for n in range(100)))
    assert len(await take(idle, 100)) == len(made)
    await idle.aclose()
