"""What only the distributed store has: members that fail, answers that are lost, neighbours, TLS, and etcd's own progress."""

import asyncio
import subprocess
from collections.abc import AsyncGenerator, Awaitable, Callable, Iterator
from contextlib import aclosing
from pathlib import Path

import pytest
from tests.store.engines import unused_prefix
from tests.store.etcd_process import EtcdProcess, free_ports
from tests.store.watching import events_until, take

from kadmit.store import etcd as etcd_module
from kadmit.store import etcd_messages as messages
from kadmit.store.base import Compacted, Conflict, Entry, Exists, Unavailable
from kadmit.store.etcd import EtcdStore
from kadmit.store.etcd_client import Client, Lost, Tls
from kadmit.store.etcd_messages import Change, KeyValue, Watched

KEY = "/registry//pods/default/a"


async def _opened(etcd: EtcdProcess, prefix: str = "") -> EtcdStore:
    return await EtcdStore.open([etcd.endpoint], prefix=prefix or unused_prefix())


async def _revision(etcd: EtcdProcess) -> int:
    client = Client([etcd.endpoint])
    found = messages.ranged(await client.call(messages.RANGE, messages.range_request(b"/")))
    await client.close()
    return found.revision


def _dead_endpoint() -> str:
    return f"http://127.0.0.1:{free_ports(1)[0]}"


# Members


async def test_a_dead_member_is_left_for_the_next_one(etcd: EtcdProcess) -> None:
    store = await EtcdStore.open([_dead_endpoint(), etcd.endpoint, _dead_endpoint()], prefix=unused_prefix())
    created = await store.create(KEY, b"")
    assert [e.key for e in await events_until(store, "", created.revision - 1, created.revision)] == [KEY]
    await store.close()


async def test_patience_ends_where_no_member_answers() -> None:
    with pytest.raises(Unavailable):
        await EtcdStore.open([_dead_endpoint(), _dead_endpoint()], patience_seconds=0.1)


@pytest.mark.parametrize("endpoints", [[], ["ftp://x:1"], ["http://"]])
async def test_what_is_no_endpoint_is_refused(endpoints: list[str]) -> None:
    with pytest.raises(ValueError, match="endpoint"):
        await EtcdStore.open(endpoints)


async def test_a_watch_goes_on_after_etcd_was_away(tmp_path: Path) -> None:
    with EtcdProcess(tmp_path) as etcd:
        one, other = await _opened(etcd, "/p"), await _opened(etcd, "/p")
        async with aclosing(one.watch("/", await one.revision())) as batches:
            first = await other.create("/a", b"")
            assert [e.revision for e in await take(batches, 1)] == [first.revision]
            await asyncio.to_thread(etcd.kill)
            waiting = asyncio.create_task(other.create("/b", b""))
            await asyncio.to_thread(etcd.start)
            second = await waiting
            assert [e.revision for e in await take(batches, 1)] == [second.revision]
        await one.close()
        await other.close()


async def test_a_watch_learns_that_history_went_while_etcd_was_away(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with EtcdProcess(tmp_path) as etcd:
        one, other = await _opened(etcd, "/p"), await _opened(etcd, "/p")
        watch = one.watch("/", await one.revision())
        await other.create("/a", b"")
        await take(watch, 1)
        reconnected = asyncio.Event()
        stream = Client.watch

        async def later(self: Client, key: bytes, end: bytes, start: int) -> AsyncGenerator[Watched, None]:
            await reconnected.wait()
            async with aclosing(stream(self, key, end, start)) as answers:
                async for answer in answers:
                    yield answer

        monkeypatch.setattr(Client, "watch", later)
        await asyncio.to_thread(etcd.kill)
        await asyncio.to_thread(etcd.start)
        last = [await other.create(f"/n{n}", b"") for n in range(3)][-1]
        await other.compact(last.revision)
        reconnected.set()
        with pytest.raises(Compacted):
            await take(watch, 4)
        await one.close()
        await other.close()


# Answers that are lost


class Mishap:
    """Loses the answer of the next transaction, carried out or not, and lets others act before the next try."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self._call = Client.call
        self._armed = False
        self._carried_out = True
        self._meanwhile: Callable[[], Awaitable[object]] | None = None
        mishap = self

        async def call(client: Client, method: str, request: bytes, *, seconds: float = 5.0) -> bytes:
            return await mishap.answer(client, method, request)

        monkeypatch.setattr(Client, "call", call)

    def arm(self, *, carried_out: bool, meanwhile: Callable[[], Awaitable[object]] | None = None) -> None:
        self._armed, self._carried_out, self._meanwhile = True, carried_out, meanwhile

    async def answer(self, client: Client, method: str, request: bytes) -> bytes:
        if not self._armed or method != messages.TXN:
            return await self._call(client, method, request)
        self._armed = False
        if self._carried_out:
            await self._call(client, method, request)
        if self._meanwhile:
            await self._meanwhile()
        raise Lost("for a test")


@pytest.fixture
def mishap(monkeypatch: pytest.MonkeyPatch) -> Mishap:
    return Mishap(monkeypatch)


@pytest.fixture
def store(etcd: EtcdProcess, loop: asyncio.Runner) -> Iterator[EtcdStore]:
    one = loop.run(_opened(etcd))
    yield one
    loop.run(one.close())


@pytest.mark.parametrize("carried_out", [True, False])
async def test_a_write_whose_answer_is_lost_happens_once(store: EtcdStore, mishap: Mishap, carried_out: bool) -> None:
    start = await store.revision()
    mishap.arm(carried_out=carried_out)
    created = await store.create(KEY, b"1")
    assert created == await store.get(KEY) == Entry(KEY, b"1", start + 1, start + 1)
    mishap.arm(carried_out=carried_out)
    updated = await store.update(KEY, b"2", created.revision)
    assert updated == await store.get(KEY) == Entry(KEY, b"2", start + 2, start + 1)
    mishap.arm(carried_out=carried_out)
    assert await store.delete(KEY, updated.revision) == start + 3
    assert len(await events_until(store, "", start, start + 3)) == 3


async def test_a_write_is_ones_own_even_if_others_have_written_since(store: EtcdStore, mishap: Mishap) -> None:
    first = await store.create(KEY, b"1")

    async def others_write() -> None:
        for _ in range(3):
            current = await store.get(KEY)
            assert current is not None
            await store.update(KEY, b"theirs", current.revision)

    mishap.arm(carried_out=True, meanwhile=others_write)
    assert await store.update(KEY, b"ours", first.revision) == Entry(KEY, b"ours", first.revision + 1, first.created)


async def test_the_same_value_from_somebody_else_is_not_ones_own(store: EtcdStore, mishap: Mishap) -> None:
    mishap.arm(carried_out=False, meanwhile=lambda: store.create(KEY, b"same"))
    with pytest.raises(Exists):
        await store.create(KEY, b"same")
    theirs = await store.get(KEY)
    assert theirs is not None
    mishap.arm(carried_out=False, meanwhile=lambda: store.update(KEY, b"again", theirs.revision))
    with pytest.raises(Conflict) as refused:
        await store.update(KEY, b"again", theirs.revision)
    assert refused.value.current == await store.get(KEY)


async def test_a_deletion_after_somebody_elses_update_conflicts(store: EtcdStore, mishap: Mishap) -> None:
    created = await store.create(KEY, b"1")

    async def update_and_delete() -> None:
        updated = await store.update(KEY, b"2", created.revision)
        await store.delete(KEY, updated.revision)

    mishap.arm(carried_out=False, meanwhile=update_and_delete)
    with pytest.raises(Conflict) as refused:
        await store.delete(KEY, created.revision)
    assert refused.value.current is None


async def test_a_deletion_is_found_behind_a_key_created_anew(store: EtcdStore, mishap: Mishap) -> None:
    created = await store.create(KEY, b"1")
    mishap.arm(carried_out=True, meanwhile=lambda: store.create(KEY, b"new"))
    assert await store.delete(KEY, created.revision) == created.revision + 1
    assert await store.get(KEY) is not None


async def test_a_deletion_of_what_never_was_conflicts(store: EtcdStore, mishap: Mishap) -> None:
    created = await store.create("/other", b"")
    mishap.arm(carried_out=False)
    with pytest.raises(Conflict):
        await store.delete(KEY, created.revision)


async def test_a_write_of_which_history_is_gone_is_unknown(store: EtcdStore, mishap: Mishap) -> None:
    created = await store.create(KEY, b"1")

    async def overwrite_and_compact() -> None:
        current = await store.get(KEY)
        assert current is not None
        updated = await store.update(KEY, b"theirs", current.revision)
        await store.compact(updated.revision)

    mishap.arm(carried_out=True, meanwhile=overwrite_and_compact)
    with pytest.raises(Unavailable, match="unknown"):
        await store.update(KEY, b"ours", created.revision)


# What the hub has not seen


@pytest.mark.parametrize("deleted", [True, False])
async def test_an_event_whose_previous_value_etcd_has_compacted_is_no_event(
    etcd: EtcdProcess, monkeypatch: pytest.MonkeyPatch, deleted: bool
) -> None:
    prefix = unused_prefix()
    start = await _revision(etcd)
    pair = KeyValue(prefix.encode() + b"/a", b"", created=start - 1, revision=start + 1)

    async def incomplete(self: Client, key: bytes, end: bytes, start: int) -> AsyncGenerator[Watched, None]:
        yield Watched(start + 1, (Change(pair, None, deleted),), created=False, canceled=False, compacted=0, reason="")
        await asyncio.Event().wait()

    monkeypatch.setattr(Client, "watch", incomplete)
    store = await _opened(etcd, prefix)
    with pytest.raises(Compacted):
        await take(store.watch("/", start), 1)
    await store.close()


async def test_history_from_before_the_hub_is_read_from_etcd(etcd: EtcdProcess, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(etcd_module, "_LOOK_BACK", 0)
    prefix = unused_prefix()
    first = await _opened(etcd, prefix)
    made = [await first.create(f"/n{n}", b"") for n in range(20)]
    await first.close()
    second = await _opened(etcd, prefix)
    async with aclosing(second.watch("/", made[4].revision)) as batches:
        assert [e.revision for e in await take(batches, 15)] == [entry.revision for entry in made[5:]]
        for n in range(3):
            created = await second.create(f"/m{n}", b"")
            assert [e.revision for e in await take(batches, 1)] == [created.revision]
    await second.compact(made[10].revision)
    with pytest.raises(Compacted):
        await anext(second.watch("/", made[9].revision))
    waiting = second.watch("/none/", made[10].revision)
    reader = asyncio.create_task(anext(waiting, None))
    await second.revision()
    await second.close()
    async with asyncio.timeout(10):
        await reader


async def test_progress_comes_also_from_etcd(tmp_path: Path) -> None:
    with EtcdProcess(tmp_path, "--experimental-watch-progress-notify-interval", "50ms") as etcd:
        one, neighbour = await _opened(etcd, "/one"), await _opened(etcd, "/neighbour")
        async with aclosing(one.watch("/", await one.revision(), progress_seconds=0.01)) as batches, asyncio.timeout(20):
            created = await neighbour.create(KEY, b"")
            batch = await anext(batches)
            assert (batch.events, batch.revision) == ((), created.revision)
        await one.close()
        await neighbour.close()


# Neighbours


async def test_a_neighbour_whose_prefix_begins_alike_is_not_seen(etcd: EtcdProcess) -> None:
    prefix = unused_prefix()
    store, neighbour = await _opened(etcd, prefix), await _opened(etcd, prefix + "0")
    start = await store.revision()
    await neighbour.create(KEY, b"")
    mine = await store.create("/mine", b"")
    assert (await store.list("")).entries == (mine,)
    assert [event.key for event in await events_until(store, "", start, mine.revision)] == ["/mine"]
    await store.close()
    await neighbour.close()


async def test_a_value_put_there_by_hand_is_taken_as_it_is(etcd: EtcdProcess) -> None:
    prefix = unused_prefix()
    store = await _opened(etcd, prefix)
    client = Client([etcd.endpoint])
    await client.call(messages.TXN, messages.put_if(prefix.encode() + b"/hand", b"{}", 0))
    entry = await store.get("/hand")
    assert entry is not None
    assert entry.value == b"{}"
    updated = await store.update("/hand", b"{1}", entry.revision)
    assert [e.previous for e in await events_until(store, "", entry.revision, updated.revision)] == [b"{}"]
    await client.close()
    await store.close()


# TLS


def _openssl(folder: Path, *arguments: str) -> None:
    subprocess.run(["openssl", *arguments], cwd=folder, check=True, capture_output=True)


def _certificates(folder: Path) -> None:
    """A CA, and one certificate that it has signed, for 127.0.0.1 as server and as client."""
    key = ("-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2")
    _openssl(folder, "req", "-x509", *key, "-keyout", "ca.key", "-out", "ca.crt", "-subj", "/CN=test CA")
    signed = ("-CA", "ca.crt", "-CAkey", "ca.key", "-addext", "subjectAltName=IP:127.0.0.1")
    _openssl(folder, "req", "-x509", *key, "-keyout", "tls.key", "-out", "tls.crt", "-subj", "/CN=kadmit", *signed)


async def test_etcd_is_spoken_to_over_tls_with_a_client_certificate(tmp_path: Path) -> None:
    _certificates(tmp_path)
    ca, certificate, key = (tmp_path / name for name in ("ca.crt", "tls.crt", "tls.key"))
    files = ("--cert-file", str(certificate), "--key-file", str(key), "--trusted-ca-file", str(ca), "--client-cert-auth")
    with EtcdProcess(tmp_path, *files, scheme="https") as etcd:
        store = await EtcdStore.open([etcd.endpoint], tls=Tls(ca, certificate, key))
        created = await store.create(KEY, b"secret")
        assert [e.key for e in await events_until(store, "", created.revision - 1, created.revision)] == [KEY]
        await store.close()
        for unknown in (Tls(ca), Tls(None, certificate, key)):
            with pytest.raises(Unavailable):
                await EtcdStore.open([etcd.endpoint], tls=unknown, patience_seconds=0.2)
