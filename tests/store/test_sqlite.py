"""What only the embedded store has: a folder with a lock, a file that may be damaged, groups, processes that wake each other."""

import asyncio
import os
from collections.abc import Iterator
from contextlib import aclosing, contextmanager
from pathlib import Path

import apsw
import pytest
from tests.store.watching import events_until, take

from kadmit.store import database, sqlite
from kadmit.store.base import FIRST_REVISION, Compacted, Entry, Unavailable, Unusable
from kadmit.store.database import Database
from kadmit.store.sqlite import SqliteStore
from kadmit.store.wakeup import Announcements

KEY = "/registry//pods/default/a"

# The folder


async def test_a_reopened_store_is_as_it_was(tmp_path: Path) -> None:
    store = await SqliteStore.open(tmp_path / "deep" / "data")
    created = await store.create(KEY, b"1")
    await store.create("/x", b"")
    await store.close()
    again = await SqliteStore.open(tmp_path / "deep" / "data")
    assert await again.get(KEY) == created
    assert await again.revision() == created.revision + 1
    assert [e.key for e in await events_until(again, "", FIRST_REVISION, created.revision + 1)] == [KEY, "/x"]
    await again.close()


@pytest.mark.parametrize(("first", "second"), [("", ""), ("", "b"), ("a", ""), ("a", "b")])
async def test_a_folder_in_use_by_another_server_is_refused(tmp_path: Path, first: str, second: str) -> None:
    store = await SqliteStore.open(tmp_path, group=first)
    with pytest.raises(Unusable) as refused:
        await SqliteStore.open(tmp_path, group=second)
    assert str(refused.value) == f"data folder {str(tmp_path)!r} is in use by process {os.getpid()}"
    await store.close()
    await (await SqliteStore.open(tmp_path, group=second)).close()


async def test_workers_that_start_together_share_the_folder(tmp_path: Path) -> None:
    stores = await asyncio.gather(*(SqliteStore.open(tmp_path, group="one server") for _ in range(6)))
    created = await stores[0].create(KEY, b"")
    assert [await store.get(KEY) for store in stores] == [created] * 6
    for store in stores:
        await store.close()


async def test_the_folder_is_for_its_owner_only(tmp_path: Path) -> None:
    store = await SqliteStore.open(tmp_path / "data")
    assert (tmp_path / "data").stat().st_mode & 0o077 == 0
    await store.close()


# The file


async def test_a_file_that_is_no_database_is_refused(tmp_path: Path) -> None:
    (tmp_path / "kadmit.db").write_bytes(b"some other file, which is longer than a header of SQLite " * 100)
    with pytest.raises(Unusable, match="the database is damaged"):
        await SqliteStore.open(tmp_path)


async def test_a_damaged_database_is_refused_when_it_is_opened(tmp_path: Path) -> None:
    store = await SqliteStore.open(tmp_path)
    await asyncio.gather(*(store.create(f"/n{n}", b"x" * 1000) for n in range(200)))
    await store.close()
    with (tmp_path / "kadmit.db").open("r+b") as file:
        for page in range(10, 40):
            file.seek(page * 4096)
            file.write(b"\xff" * 512)
    with pytest.raises(Unusable, match="the database is damaged"):
        await SqliteStore.open(tmp_path)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ("PRAGMA application_id = 7", "the database belongs to another program"),
        ("PRAGMA user_version = 99", "the database has schema version 99, this program knows version 1"),
        ("UPDATE entries SET revision = 77", "the database is damaged: an entry has no value"),
    ],
)
async def test_a_database_that_this_program_would_misread_is_refused(tmp_path: Path, change: str, message: str) -> None:
    store = await SqliteStore.open(tmp_path)
    await store.create(KEY, b"")
    await store.close()
    connection = apsw.Connection(str(tmp_path / "kadmit.db"))
    connection.execute(change)
    connection.close()
    with pytest.raises(Unusable) as refused:
        await SqliteStore.open(tmp_path)
    assert str(refused.value) == message


async def test_a_full_disk_refuses_writes_and_harms_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(database, "PRAGMAS", (*database.PRAGMAS, "max_page_count = 30"))
    store = await SqliteStore.open(tmp_path)
    created = await store.create(KEY, b"1")
    with pytest.raises(Unavailable, match="full"):
        await store.create("/large", b"x" * 200_000)
    assert await store.get("/large") is None
    updated = await store.update(KEY, b"2", created.revision)
    assert updated.revision == created.revision + 1
    await store.close()


# Groups


async def test_writes_that_wait_together_are_committed_together(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    store = await SqliteStore.open(tmp_path)
    commits = 0
    writing = Database.writing

    @contextmanager
    def counted(self: Database) -> Iterator[None]:
        nonlocal commits
        commits += 1
        with writing(self):
            yield

    monkeypatch.setattr(Database, "writing", counted)
    await asyncio.gather(*(store.create(f"/n{n}", b"") for n in range(200)))
    assert 0 < commits < 50
    await store.close()


async def test_one_refused_write_does_not_touch_its_group(tmp_path: Path) -> None:
    store = await SqliteStore.open(tmp_path)
    answers = await asyncio.gather(*(store.create(f"/n{n // 2}", b"") for n in range(40)), return_exceptions=True)
    assert sum(isinstance(answer, Entry) for answer in answers) == 20
    assert len((await store.list("/")).entries) == 20
    await store.close()


async def test_a_writer_who_gives_up_does_not_hold_up_the_others(tmp_path: Path) -> None:
    store = await SqliteStore.open(tmp_path)
    writes = [asyncio.ensure_future(store.create(f"/n{n}", b"")) for n in range(10)]
    await asyncio.sleep(0)
    writes[3].cancel()
    answers = await asyncio.gather(*writes, return_exceptions=True)
    assert [isinstance(answer, Entry) for answer in answers] == [n != 3 for n in range(10)]
    await store.close()


async def test_closing_finishes_what_was_asked_for(tmp_path: Path) -> None:
    store = await SqliteStore.open(tmp_path)
    writes = [asyncio.ensure_future(store.create(f"/n{n}", b"")) for n in range(50)]
    await asyncio.sleep(0)
    await store.close()
    await store.close()
    assert all(isinstance(answer, Entry) for answer in await asyncio.gather(*writes))


async def test_a_writer_is_answered_after_the_watches_of_its_process_have_the_event(tmp_path: Path) -> None:
    store = await SqliteStore.open(tmp_path)
    watch = store.watch("/", FIRST_REVISION)
    for n in range(3):
        created = await store.create(f"/n{n}", b"")
        assert (await asyncio.wait_for(anext(watch), 0.5)).revision == created.revision
    await watch.aclose()
    await store.close()


# Other processes


async def test_a_commit_wakes_the_other_processes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sqlite, "_POLL_SECONDS", 3600.0)
    one, other = [await SqliteStore.open(tmp_path, group="g") for _ in range(2)]
    async with aclosing(one.watch("/", FIRST_REVISION)) as batches:
        for n in range(3):
            await other.create(f"/n{n}", b"")
            assert len(await take(batches, 1)) == 1
    await one.close()
    await other.close()


async def test_a_commit_is_found_even_if_its_writer_died_before_it_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sqlite, "_POLL_SECONDS", 0.02)
    monkeypatch.setattr(Announcements, "announce", lambda self, revision: None)
    one, other = [await SqliteStore.open(tmp_path, group="g") for _ in range(2)]
    async with aclosing(one.watch("/", FIRST_REVISION)) as batches:
        await other.create("/n", b"")
        assert len(await take(batches, 1)) == 1
    await one.close()
    await other.close()


async def test_a_process_that_slept_through_compaction_tells_its_watches(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sqlite, "_POLL_SECONDS", 3600.0)
    one, other = [await SqliteStore.open(tmp_path, group="g") for _ in range(2)]
    watch = one.watch("/", FIRST_REVISION)
    await other.create("/n0", b"")
    assert len(await take(watch, 1)) == 1
    monkeypatch.setattr(Announcements, "announce", lambda self, revision: None)
    last = [await other.create(f"/n{n}", b"") for n in range(1, 5)][-1]
    await other.compact(last.revision)
    monkeypatch.undo()
    await other.create("/awake", b"")
    with pytest.raises(Compacted):
        await take(watch, 5)
    await one.close()
    await other.close()


# Sweeping


def test_sweeping_removes_what_nobody_can_see_and_nothing_else(tmp_path: Path) -> None:
    data = Database(tmp_path / "db")
    data.prepare()
    with data.writing():
        data.create("/kept", b"1", 2)
        data.create("/changed", b"1", 3)
        data.update("/changed", b"2", 3, 4)
        data.create("/deleted", b"1", 5)
        data.delete("/deleted", 5, 6)
        data.update("/changed", b"3", 4, 7)
        data.update("/changed", b"4", 7, 8)
        data.compact(7, 9)
        assert not data.sweep()
    rows = [int(row[0]) for row in apsw.Connection(str(tmp_path / "db")).execute("SELECT revision FROM history ORDER BY 1")]
    assert rows == [2, 7, 8]
    assert [event.previous for event in data.events("", 7, 10).events] == [b"3"]
    data.close()


def test_sweeping_goes_in_small_steps_and_never_takes_the_last_revision(tmp_path: Path) -> None:
    data = Database(tmp_path / "db")
    data.prepare()
    with data.writing():
        for revision in range(2, 2002, 2):
            data.create("/a", b"", revision)
            data.delete("/a", revision, revision + 1)
        data.compact(2001, 2002)
    steps = 0
    more = True
    while more:
        with data.writing():
            more = data.sweep()
        steps += 1
    assert steps == 8
    assert data.revision() == 2001
    with data.writing():
        data.create("/b", b"", 2002)
        data.compact(2002, 2003)
        data.sweep()
    assert [int(r[0]) for r in apsw.Connection(str(tmp_path / "db")).execute("SELECT revision FROM history")] == [2002]
    data.close()


async def test_sweeping_is_taken_up_again_after_a_restart(tmp_path: Path) -> None:
    data = Database(tmp_path / "kadmit.db")
    data.prepare()
    with data.writing():
        data.create("/a", b"", 2)
        for revision in range(3, 1000):
            data.update("/a", b"", revision - 1, revision)
        data.compact(999, 1000)
    data.close()
    store = await SqliteStore.open(tmp_path)
    connection = apsw.Connection(str(tmp_path / "kadmit.db"))
    async with asyncio.timeout(10):
        while connection.execute("SELECT count(*) FROM history").get > 2:
            await store.revision()
            await asyncio.sleep(0.001)
    connection.close()
    await store.close()
