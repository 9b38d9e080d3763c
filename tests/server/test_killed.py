"""Servers that are killed while clients write: nothing acknowledged is lost, no revision goes back, no watch misses or repeats.

Each writer has one ConfigMap and takes it through the same steps over and over: created, updated, deleted. So a step's number
says what must be there after it, and an event says which step it tells of.
"""

import asyncio
import random
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Coroutine, Iterable, Iterator
from contextlib import AsyncExitStack, aclosing, asynccontextmanager
from pathlib import Path
from typing import Any

import aiohttp
import orjson
import pytest
from tests.server.process import TOKEN, Running, running
from tests.store.etcd_process import EtcdProcess

ROUNDS = 20
WRITERS = [f"writer-{number}" for number in range(8)]
FEWEST_WRITES, MOST_WRITES = 20, 100
CYCLE = 6  # steps from one creation to the next
EVENTS_A_WATCH = 25
ETCD_RESTARTS = 3
REPLICA_WRITES = 10
SECONDS = 240.0  # more than anything here takes, on a busy machine too

MAPS = "/api/v1/namespaces/default/configmaps"
REGISTRATION = "/apis/admissionregistration.k8s.io/v1"
POLICIES, BINDINGS = f"{REGISTRATION}/validatingadmissionpolicies", f"{REGISTRATION}/validatingadmissionpolicybindings"

Json = dict[str, Any]


# ---------------------------------------------------------------- clients


class Expired(Exception):
    """The server no longer knows what came after the revision asked for."""


class Client:
    """Speaks to one server, over connections that it keeps."""

    def __init__(self, session: aiohttp.ClientSession) -> None:
        self._session = session

    async def ask(self, method: str, path: str, body: Json | None = None, **headers: str) -> tuple[int, Json]:
        given = {"Content-Type": "application/json"} | {name.replace("_", "-"): value for name, value in headers.items()}
        data = None if body is None else orjson.dumps(body)
        async with self._session.request(method, path, data=data, headers=given) as answer:
            return answer.status, await answer.json()

    async def do(self, method: str, path: str, body: Json | None = None) -> Json:
        status, value = await self.ask(method, path, body)
        assert status in (200, 201), value
        return value

    async def watch(self, path: str, after: int) -> AsyncGenerator[Json, None]:
        """Events, until the server is gone. Raises Expired."""
        async with self._session.get(path, params={"watch": "1", "resourceVersion": str(after)}) as answer:
            async for line in answer.content:
                event: Json = orjson.loads(line)
                if event["type"] == "ERROR":
                    assert event["object"]["code"] == 410, event
                    raise Expired
                yield event

    async def until(self, path: str, after: int, wanted: Callable[[Json], bool]) -> Json:
        """The first object that is wanted, as a watch tells of it."""
        async with aclosing(self.watch(path, after)) as events:
            async for event in events:
                if wanted(event["object"]):
                    return dict(event["object"])
        raise AssertionError("the watch has ended")


@asynccontextmanager
async def client_of(server: Running) -> AsyncIterator[Client]:
    connector = aiohttp.TCPConnector(ssl=server.context, limit=0)
    headers = {"Authorization": f"Bearer {TOKEN}"}
    async with aiohttp.ClientSession(server.url, connector=connector, headers=headers) as session:
        yield Client(session)


def revision_of(value: Json) -> int:
    return int(value["metadata"]["resourceVersion"])


def name_of(value: Json) -> str:
    return str(value["metadata"]["name"])


def config_map(name: str, **data: str) -> Json:
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}, "data": data}


# ---------------------------------------------------------------- what was asked, told and seen


class Ledger:
    """Of each writer the last step that it asked for, and the last that was acknowledged; and when the latter was enough."""

    def __init__(self) -> None:
        self.asked = dict.fromkeys(WRITERS, 0)
        self.told = dict.fromkeys(WRITERS, 0)
        self.acknowledged: list[tuple[int, str, int]] = []
        self.revision = 0
        self._count = 0
        self._waiting: dict[int, asyncio.Event] = {}

    def ask(self, name: str) -> int:
        self.asked[name] = self.told[name] + 1
        return self.asked[name]

    def hear(self, name: str, answer: Json) -> None:
        """An answer to what was asked for. NB: that to a deletion has no revision."""
        self.told[name] = self.asked[name]
        if self.told[name] % CYCLE:
            self.acknowledged.append((revision_of(answer), name, self.told[name]))
        self._count += 1
        if self._count in self._waiting:
            self._waiting.pop(self._count).set()

    async def more(self, writes: int) -> None:
        """Until so many more writes are acknowledged."""
        await self._waiting.setdefault(self._count + writes, asyncio.Event()).wait()

    def settle(self, listed: Json) -> dict[str, int]:
        """The steps that a server shows while nobody writes: those acknowledged, or also what was under way at the end."""
        shown = steps_in(listed)
        for name in WRITERS:
            possible = {0 if step % CYCLE == 0 else step: step for step in (self.told[name], self.asked[name])}
            assert shown.get(name, 0) in possible, f"{name}: {shown.get(name)} is there, {self.told[name]} was acknowledged"
            self.told[name] = self.asked[name] = possible[shown.get(name, 0)]
        latest = max([self.revision, *(revision for revision, _, _ in self.acknowledged)])
        assert revision_of(listed) >= latest, "the revision has gone back"
        self.revision = revision_of(listed)
        self.acknowledged.clear()
        return dict(self.told)


def steps_in(listed: Json) -> dict[str, int]:
    """What a list shows. Nothing in it may be newer than itself, for a watch from there would repeat it."""
    items = [item for item in listed["items"] if name_of(item) in WRITERS]
    assert all(revision_of(item) <= revision_of(listed) for item in items), "a list shows what comes after it"
    return {name_of(item): int(item["data"]["step"]) for item in items}


class Follower:
    """One that watches from a list on, and knows what the next event must be."""

    def __init__(self, steps: dict[str, int], revision: int) -> None:
        self.steps, self.revision = steps, revision

    def take(self, event: Json) -> None:
        value = event["object"]
        if (name := name_of(value)) not in WRITERS:
            return
        step = int(value["data"]["step"]) + (event["type"] == "DELETED")
        assert event["type"] == {0: "DELETED", 1: "ADDED"}.get(step % CYCLE, "MODIFIED")
        if name in self.steps:
            assert step == self.steps[name] + 1, f"{name}: step {step} follows {self.steps[name]}"
        else:
            assert step % CYCLE == 1, f"{name}: step {step} follows nothing"
        assert revision_of(value) > self.revision
        self.steps[name], self.revision = step, revision_of(value)

    async def follow(self, client: Client, most: int) -> None:
        """So many events at most. Raises Expired."""
        async with aclosing(client.watch(MAPS, self.revision)) as events:
            async for event in events:
                self.take(event)
                if (most := most - 1) == 0:
                    return

    def has_seen_all_of(self, acknowledged: Iterable[tuple[int, str, int]]) -> bool:
        """Of what was acknowledged up to where this has come."""
        return all(self.steps[name] >= step for revision, name, step in acknowledged if revision <= self.revision)


# ---------------------------------------------------------------- what goes on at once


async def write(client: Client, ledger: Ledger, name: str, stop: Callable[[], bool]) -> None:
    while not stop():
        step = ledger.ask(name)
        if step % CYCLE == 0:
            answer = await client.do("DELETE", f"{MAPS}/{name}")
        elif step % CYCLE == 1:
            answer = await client.do("POST", MAPS, config_map(name, step=str(step)))
        else:
            answer = await client.do("PUT", f"{MAPS}/{name}", config_map(name, step=str(step)))
        ledger.hear(name, answer)


async def resume(client: Client, follower: Follower, listed: Json, steps: dict[str, int], stop: Callable[[], bool]) -> None:
    """Goes on where it was before the server was killed, or is told to read afresh: once. Then it reconnects again and again."""
    try:
        await follower.follow(client, EVENTS_A_WATCH)
    except Expired:
        follower.steps, follower.revision = dict(steps), revision_of(listed)
    while not stop():
        await follower.follow(client, EVENTS_A_WATCH)


async def come_and_go(client: Client, ledger: Ledger, stop: Callable[[], bool]) -> None:
    """Lists amid writes, and watches from there: what was acknowledged before is there, and what follows follows."""
    while not stop():
        told = dict(ledger.told)
        listed = await client.do("GET", MAPS)
        steps = steps_in(listed)
        assert all(step >= told[name] for name, step in steps.items()), "a list lacks what was acknowledged before"
        await Follower(steps, revision_of(listed)).follow(client, EVENTS_A_WATCH)


class Life:
    """From the start of a server until it is killed."""

    def __init__(self, server: Running, client: Client, ledger: Ledger) -> None:
        self._server, self._client, self._ledger = server, client, ledger
        self._killed = False

    async def live(self, follower: Follower, writes: int) -> None:
        listed = await self._client.do("GET", MAPS)
        steps = self._ledger.settle(listed)
        assert all(step <= steps[name] for name, step in follower.steps.items()), "what a watch has told is lost"
        assert follower.revision <= revision_of(listed)
        if not follower.revision:  # NB: from revision 0 a watch tells first what is there, in the order of names
            follower.steps, follower.revision = dict(steps), revision_of(listed)
        async with asyncio.TaskGroup() as group:
            for name in WRITERS:
                group.create_task(self._to_the_end(write(self._client, self._ledger, name, self._is_over)))
            group.create_task(self._to_the_end(resume(self._client, follower, listed, steps, self._is_over)))
            group.create_task(self._to_the_end(come_and_go(self._client, self._ledger, self._is_over)))
            await self._ledger.more(writes)
            self._killed = True
            self._server.process.kill()
        assert self._server.complaints == ""
        assert follower.has_seen_all_of(self._ledger.acknowledged), "the watch has missed an event"

    def _is_over(self) -> bool:
        return self._killed

    async def _to_the_end(self, work: Coroutine[Any, Any, None]) -> None:
        """Connections may break, but only by the kill."""
        try:
            await work
        except (aiohttp.ClientError, ConnectionError):
            if not self._killed:
                raise


async def _killed_again_and_again(data: Path, *flags: str) -> None:
    ledger, follower, chance = Ledger(), Follower({}, 0), random.Random(data.name)
    async with asyncio.timeout(SECONDS):
        for _ in range(ROUNDS):
            with running(data, *flags) as server:
                async with client_of(server) as client:
                    await Life(server, client, ledger).live(follower, chance.randint(FEWEST_WRITES, MOST_WRITES))
        with running(data, *flags) as server:
            async with client_of(server) as client:
                ledger.settle(await client.do("GET", MAPS))


# ---------------------------------------------------------------- killing servers


async def test_a_server_on_sqlite_that_is_killed_loses_and_repeats_nothing(tmp_path: Path) -> None:
    await _killed_again_and_again(tmp_path / "data", "--storage=sqlite")


async def test_an_etcd_that_is_killed_and_restarted_under_load_only_makes_clients_wait(tmp_path: Path) -> None:
    ledger, stopped = Ledger(), asyncio.Event()
    with (
        EtcdProcess(tmp_path) as etcd,
        running(tmp_path / "server", "--storage=etcd", f"--etcd-servers={etcd.endpoint}") as server,
    ):
        async with asyncio.timeout(SECONDS), client_of(server) as client:
            listed = await client.do("GET", MAPS)
            follower = Follower(ledger.settle(listed), revision_of(listed))
            watching = asyncio.create_task(follower.follow(client, -1))
            async with asyncio.TaskGroup() as writers:
                for name in WRITERS:
                    writers.create_task(write(client, ledger, name, stopped.is_set))
                for _ in range(ETCD_RESTARTS):
                    await ledger.more(60)
                    await asyncio.to_thread(etcd.kill)
                    await asyncio.to_thread(etcd.start)
                await ledger.more(60)
                stopped.set()
            assert ledger.told == ledger.asked
            last = revision_of(await client.do("POST", MAPS, config_map("last")))
            await client.until(MAPS, last - 1, lambda value: name_of(value) == "last")
            assert not watching.done(), "the watch has ended"
            await _comes_to(follower, ledger.told)
            watching.cancel()
            ledger.settle(await client.do("GET", MAPS))


async def _comes_to(follower: Follower, steps: dict[str, int]) -> None:
    while follower.steps != steps:
        await asyncio.sleep(0.01)


# ---------------------------------------------------------------- replicas


@pytest.fixture
def etcd(tmp_path: Path) -> Iterator[EtcdProcess]:
    with EtcdProcess(tmp_path) as process:
        yield process


@asynccontextmanager
async def replicas(folder: Path, etcd: EtcdProcess) -> AsyncIterator[tuple[Client, Client]]:
    """Clients of two servers over one etcd."""
    flags = ("--storage=etcd", f"--etcd-servers={etcd.endpoint}")
    async with AsyncExitStack() as stack:
        servers = [stack.enter_context(running(folder / name, *flags)) for name in ("one", "other")]
        one, other = [await stack.enter_async_context(client_of(server)) for server in servers]
        await stack.enter_async_context(asyncio.timeout(SECONDS))
        yield one, other
        assert [server.complaints for server in servers] == ["", ""]


async def test_replicas_see_each_others_writes_and_lose_none(tmp_path: Path, etcd: EtcdProcess) -> None:
    async with replicas(tmp_path, etcd) as both:
        path, begun = f"{MAPS}/shared", revision_of(await both[0].do("POST", MAPS, config_map("shared")))
        await both[1].until(MAPS, begun - 1, lambda value: name_of(value) == "shared")
        names = [[f"{number}-{writer}" for writer in range(4)] for number in range(2)]
        latest = max(
            revision
            for each in await asyncio.gather(
                *(_add(client, path, name) for client, some in zip(both, names, strict=True) for name in some)
            )
            for revision in each
        )
        expected = {f"{name}-{turn}": "" for some in names for name in some for turn in range(REPLICA_WRITES)}
        for client in both:
            told = await client.until(MAPS, begun, lambda value: revision_of(value) == latest)
            assert told["data"] == expected
            assert await client.do("GET", path) == told


async def _add(client: Client, path: str, name: str) -> list[int]:
    """One member after the other, each in a patch of its own; at what revisions."""
    revisions = []
    for turn in range(REPLICA_WRITES):
        status = 409
        while status == 409:  # as a client does that has lost against others too often
            patch: Json = {"data": {f"{name}-{turn}": ""}}
            status, answer = await client.ask("PATCH", path, patch, Content_Type="application/merge-patch+json")
        assert status == 200, answer
        revisions.append(revision_of(answer))
    return revisions


async def test_a_policy_written_on_one_replica_binds_on_the_other(tmp_path: Path, etcd: EtcdProcess) -> None:
    """As soon as a watch there tells of it."""
    rule = {"apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": ["configmaps"]}
    spec = {
        "matchConstraints": {"resourceRules": [rule]},
        "validations": [{"expression": "object.metadata.name != 'refused'", "message": "not this one"}],
    }
    binding = {"policyName": "names", "validationActions": ["Deny"]}
    async with replicas(tmp_path, etcd) as (one, other):
        assert (await other.ask("POST", f"{MAPS}?dryRun=All", config_map("refused")))[0] == 201
        await one.do("POST", POLICIES, {"metadata": {"name": "names"}, "spec": spec})
        bound = await one.do("POST", BINDINGS, {"metadata": {"name": "names"}, "spec": binding})
        await other.until(BINDINGS, revision_of(bound) - 1, lambda value: name_of(value) == "names")
        status, answer = await other.ask("POST", MAPS, config_map("refused"))
        assert (status, answer["message"].endswith("denied request: not this one")) == (422, True)


async def test_a_server_on_etcd_that_is_killed_loses_and_repeats_nothing(tmp_path: Path, etcd: EtcdProcess) -> None:
    """NB: far from the same on SQLite, so that another process of a parallel test run takes it."""
    await _killed_again_and_again(tmp_path / "server", "--storage=etcd", f"--etcd-servers={etcd.endpoint}")
