"""The hub by itself: windows, slow watches, lost history; with an engine's history as a table."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import aclosing

import pytest

from kadmit.store.base import Batch, Compacted, Event, Kind
from kadmit.store.hub import Hub


def _event(revision: int, key: str = "/a", size: int = 0) -> Event:
    return Event(Kind.PUT, key, b"x" * size, None, revision)


class Engine:
    """Remembers all events after `oldest`."""

    def __init__(self, hub: Hub, oldest: int = 1) -> None:
        self.hub = hub
        self.oldest = oldest
        self.events: list[Event] = []
        self.asked = 0

    def write(self, *events: Event) -> None:
        self.events.extend(events)
        self.hub.publish(events)

    async def history(self, prefix: str, after: int) -> AsyncGenerator[Batch, None]:
        self.asked += 1
        if after < self.oldest:
            raise Compacted(after, oldest=self.oldest)
        events = [e for e in self.events if e.revision > after and e.key.startswith(prefix)]
        yield Batch(tuple(events), max(after, self.hub.position))

    def watch(self, prefix: str = "/", after: int = 1, progress: float = 10.0) -> AsyncGenerator[Batch, None]:
        return self.hub.watch(prefix, after, self.history, progress)


async def _revisions(watch: AsyncGenerator[Batch, None], until: int) -> list[int]:
    revisions: list[int] = []
    async with asyncio.timeout(10), aclosing(watch):
        async for batch in watch:
            revisions += [event.revision for event in batch.events]
            if batch.revision >= until:
                break
    return revisions


async def test_a_watch_within_the_window_does_not_ask_the_engine() -> None:
    engine = Engine(Hub(1))
    engine.write(*map(_event, range(2, 10)))
    assert await _revisions(engine.watch(after=4), 9) == [5, 6, 7, 8, 9]
    assert engine.asked == 0


@pytest.mark.parametrize("hub", [Hub(1, window_events=4), Hub(1, window_bytes=400)], ids=["events", "bytes"])
async def test_a_watch_from_before_the_window_asks_the_engine_for_the_rest(hub: Hub) -> None:
    engine = Engine(hub)
    engine.write(*(_event(n, size=100) for n in range(2, 30)))
    assert hub.floor > 20
    assert await _revisions(engine.watch(after=5), 29) == list(range(6, 30))
    assert engine.asked == 1


async def test_an_event_larger_than_the_window_still_reaches_the_watches() -> None:
    engine = Engine(Hub(1, window_bytes=10))
    watch = engine.watch()
    reader = asyncio.create_task(_revisions(watch, 3))
    await asyncio.sleep(0)
    engine.write(_event(2, size=1000), _event(3, size=1000))
    assert await reader == [2, 3]


async def test_a_watch_that_falls_behind_the_window_goes_on_from_where_it_was() -> None:
    engine = Engine(Hub(1, window_events=4))
    watch = engine.watch()
    engine.write(_event(2))
    assert [e.revision for e in (await anext(watch)).events] == [2]
    engine.write(*map(_event, range(3, 100)))
    assert await _revisions(watch, 99) == list(range(3, 100))
    assert engine.asked >= 1


async def test_a_watch_that_falls_behind_history_is_told_so() -> None:
    engine = Engine(Hub(1, window_events=4))
    watch = engine.watch()
    engine.write(_event(2))
    await anext(watch)
    engine.write(*map(_event, range(3, 100)))
    engine.oldest = 50
    with pytest.raises(Compacted) as refused:
        await anext(watch)
    assert (refused.value.revision, refused.value.oldest) == (2, 50)


async def test_after_a_reset_a_watch_gets_what_it_was_owed_and_then_the_truth() -> None:
    engine = Engine(Hub(1))
    watch, later = engine.watch(), engine.watch(after=60)
    engine.write(_event(2))
    await anext(watch)
    waiting = asyncio.create_task(anext(later))
    await asyncio.sleep(0)
    engine.write(_event(3), _event(4))
    engine.hub.reset(50)
    assert [e.revision for e in (await anext(watch)).events] == [3, 4]
    with pytest.raises(Compacted):
        await anext(watch)
    engine.write(_event(61))
    assert [e.revision for e in (await waiting).events] == [61]
    await later.aclose()


async def test_events_published_twice_are_told_once() -> None:
    engine = Engine(Hub(1))
    engine.hub.publish([_event(2), _event(3)])
    engine.hub.publish([_event(2), _event(3), _event(4)])
    assert await _revisions(engine.watch(), 4) == [2, 3, 4]


async def test_progress_is_told_once_for_each_step() -> None:
    engine = Engine(Hub(1))
    async with aclosing(engine.watch("/b", progress=0.001)) as watch:
        for revision in (2, 3, 4):
            engine.write(_event(revision, "/a"))
            assert await anext(watch) == Batch((), revision)
        engine.hub.publish((), position=9)
        assert await anext(watch) == Batch((), 9)


async def test_a_closed_watch_leaves_nothing_behind() -> None:
    hub = Hub(1)
    engine = Engine(hub)
    watches = [engine.watch(prefix) for prefix in ("/", "/", "/b")]
    engine.write(_event(2), _event(3, "/b"))
    for watch in watches:
        await anext(watch)
        await watch.aclose()
    assert (hub._subscriptions, dict(hub._lengths)) == ({}, {})
