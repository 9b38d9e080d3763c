"""Processes that are killed while they write: nothing acknowledged is lost, no revision goes back, no watch misses or repeats."""

import asyncio
import random
import sys
from collections.abc import AsyncGenerator, Iterable
from contextlib import aclosing
from pathlib import Path

import pytest
from tests.store import crash_writer
from tests.store.engines import unused_prefix
from tests.store.etcd_process import EtcdProcess

from kadmit.store.base import Batch, Event, Kind, Store
from kadmit.store.etcd import EtcdStore

ROUNDS = 20
ETCD_RESTARTS = 5
_MOST_WRITES = 300
_SECONDS = 120.0

Place = tuple[str, str]


async def _killed_writer(place: Place, name: str) -> list[Event]:
    """What a writer had acknowledged when it was killed, some time after a random number of writes."""
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "tests.store.crash_writer", *place, name), stdout=asyncio.subprocess.PIPE
    )
    assert process.stdout is not None
    lines = [await process.stdout.readline() for _ in range(random.Random(name).randint(1, _MOST_WRITES))]
    process.kill()
    lines += [line async for line in process.stdout]
    await process.wait()
    assert lines[0], "the writer has not written at all"
    return [event for line in lines if (event := crash_writer.parsed(line))]


class Audit:
    """All events so far, and what they must agree with."""

    def __init__(self, start: int) -> None:
        self.events: dict[int, Event] = {}
        self.revision = start
        self._state: dict[str, bytes] = {}

    def take(self, events: Iterable[Event]) -> None:
        for event in events:
            assert event.revision == self.revision + 1, "the watch has missed or repeated an event"
            assert event.previous == self._state.pop(event.key, None)
            if event.kind is Kind.PUT:
                self._state[event.key] = event.value
            self.revision = event.revision
            self.events[event.revision] = event

    async def follow(self, batches: AsyncGenerator[Batch, None], until: int) -> None:
        while self.revision < until:
            self.take((await anext(batches)).events)

    async def agrees_with(self, store: Store) -> None:
        entries = (await store.list("/crash/", revision=self.revision)).entries
        assert {entry.key: entry.value for entry in entries} == self._state


async def _check(audit: Audit, store: Store, batches: AsyncGenerator[Batch, None], told: list[Event]) -> None:
    revision = await store.revision()
    assert revision >= max(audit.revision, *(event.revision for event in told)), "the revision has gone back"
    await audit.follow(batches, revision)
    assert [audit.events[event.revision] for event in told] == told, "an acknowledged write is lost"
    await audit.agrees_with(store)


@pytest.fixture(params=["sqlite", "etcd"])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> Place:
    if request.param == "sqlite":
        return "sqlite", str(tmp_path / "data")
    return "etcd", f"{request.getfixturevalue('etcd').endpoint}#{unused_prefix()}"


async def test_a_server_that_stays_sees_all_that_killed_ones_had_acknowledged(place: Place) -> None:
    """Two at once, so that one is killed while the other writes."""
    store = await crash_writer.opened(*place)
    audit = Audit(await store.revision())
    async with asyncio.timeout(_SECONDS), aclosing(store.watch("/crash/", audit.revision)) as batches:
        for number in range(ROUNDS // 2):
            told = await asyncio.gather(*(_killed_writer(place, f"{number}{half}") for half in "ab"))
            await _check(audit, store, batches, [event for one in told for event in one])
    await store.close()


async def test_a_server_started_after_a_crash_finds_all_that_was_acknowledged(place: Place) -> None:
    store = await crash_writer.opened(*place)
    audit = Audit(await store.revision())
    await store.close()
    async with asyncio.timeout(_SECONDS):
        for number in range(ROUNDS):
            told = await _killed_writer(place, str(number))
            store = await crash_writer.opened(*place)
            async with aclosing(store.watch("/crash/", audit.revision)) as batches:
                await _check(audit, store, batches, told)
            await store.close()


async def test_an_etcd_that_is_killed_and_restarted_under_load_only_makes_writers_wait(tmp_path: Path) -> None:
    with EtcdProcess(tmp_path) as etcd:
        store = await EtcdStore.open([etcd.endpoint])
        audit, told, stop = Audit(await store.revision()), list[Event](), asyncio.Event()
        async with asyncio.timeout(_SECONDS), aclosing(store.watch("/crash/", audit.revision)) as batches:
            async with asyncio.TaskGroup() as writers:
                for number in range(8):
                    writers.create_task(crash_writer.write(store, f"/crash/{number}", told.append, stop.is_set))
                for _ in range(ETCD_RESTARTS):
                    await audit.follow(batches, audit.revision + 300)
                    await asyncio.to_thread(etcd.kill)
                    await asyncio.to_thread(etcd.start)
                await audit.follow(batches, audit.revision + 300)
                stop.set()
            await _check(audit, store, batches, told)
        assert sorted(event.revision for event in told) == sorted(audit.events), "a write has happened of which nobody was told"
        await store.close()
