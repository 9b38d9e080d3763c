"""Following a collection: lists, watches, what was forgotten, and what was missed."""

import asyncio
from collections.abc import AsyncIterator, Mapping
from typing import Any, TypeAlias, cast

import pytest

from kadmit.api.errors import ApiError
from kadmit.webhook import cluster as api
from kadmit.webhook.cluster import Cluster
from kadmit.webhook.following import Collection, Follower, Gone, Pause, Progress

Json: TypeAlias = dict[str, Any]

PODS = Collection("", "v1", "pods")


def pod(name: str, version: int) -> Json:
    return {"kind": "Pod", "metadata": {"name": name, "resourceVersion": str(version)}}


class Seen:
    """What a sink holds after all."""

    def __init__(self) -> None:
        self.names: dict[str, str] = {}

    def replace(self, values: list[Json]) -> None:
        self.names = {}
        for value in values:
            self.put(value)

    def put(self, value: Json) -> None:
        self.names[value["metadata"]["name"]] = value["metadata"]["resourceVersion"]

    def remove(self, value: Json) -> None:
        self.names.pop(value["metadata"]["name"], None)


def test_events_move_the_version_on() -> None:
    seen = Seen()
    progress = Progress(seen)
    progress.listed([pod("a", 3)], "5")
    progress.take({"type": "ADDED", "object": pod("b", 6)})
    progress.take({"type": "MODIFIED", "object": pod("a", 7)})
    progress.take({"type": "DELETED", "object": pod("b", 8)})
    progress.take({"type": "BOOKMARK", "object": {"metadata": {"resourceVersion": "20"}}})
    assert (seen.names, progress.version) == ({"a": "7"}, "20")


def test_a_version_that_was_forgotten_is_told_apart_from_other_errors() -> None:
    progress = Progress(Seen(), "5")
    with pytest.raises(Gone):
        progress.take({"type": "ERROR", "object": {"kind": "Status", "code": 410, "reason": "Expired"}})
    with pytest.raises(ApiError):
        progress.take({"type": "ERROR", "object": {"kind": "Status", "code": 500, "message": "broken"}})


def test_pauses_grow_and_begin_anew() -> None:
    pause = Pause(chance=lambda: 1.0)
    assert [pause.seconds() for _ in range(9)] == [0.25, 0.5, 1, 2, 4, 8, 16, 30, 30]
    pause.reset()
    assert pause.seconds() == 0.25


def test_chance_makes_a_pause_shorter() -> None:
    assert Pause(chance=lambda: 0.0).seconds() == 0.125


def test_paths_of_collections() -> None:
    assert PODS.path == "/api/v1/pods"
    assert Collection("apps", "v1", "deployments").path == "/apis/apps/v1/deployments"
    secret = Collection("", "v1", "secrets", "n", "metadata.name=s")
    assert (secret.path, secret.query) == ("/api/v1/namespaces/n/secrets", {"fieldSelector": "metadata.name=s"})


class Scripted:
    """A cluster that answers lists and watches from a script, and ends the test when that is over."""

    def __init__(self, lists: list[Json | Exception], watches: list[list[Json] | Exception]) -> None:
        self.lists, self.watches = lists, watches
        self.asked: list[str] = []
        self.over = asyncio.Event()

    async def get(self, path: str, query: Mapping[str, str]) -> Json:
        self.asked.append(f"list {query.get('continue', '')}".strip())
        found: Json = self._next(self.lists)
        return found

    async def watch(self, path: str, query: Mapping[str, str]) -> AsyncIterator[Json]:
        self.asked.append(f"watch {query['resourceVersion']}")
        if not self.watches:
            self.over.set()
            await asyncio.Event().wait()
        for event in self._next(self.watches):
            yield event

    def _next(self, script: list[Any]) -> Any:
        found = script.pop(0)
        if isinstance(found, Exception):
            raise found
        return found


def page(*pods: Json, version: int, more: str = "") -> Json:
    items = [{key: value for key, value in each.items() if key != "kind"} for each in pods]
    return {
        "kind": "PodList",
        "apiVersion": "v1",
        "metadata": {"resourceVersion": str(version), "continue": more},
        "items": items,
    }


async def followed(monkeypatch: pytest.MonkeyPatch, lists: list[Any], watches: list[Any]) -> tuple[Seen, list[str], list[str]]:
    monkeypatch.setattr("kadmit.webhook.following.FIRST_PAUSE", 0.0)
    server, seen, told = Scripted(lists, watches), Seen(), list[str]()
    follower = Follower(cast("Cluster", server), PODS, seen, told.append)
    follower._pause = Pause(chance=lambda: 0.0, _next=0.0)
    task = asyncio.ensure_future(follower.run())
    async with asyncio.timeout(10):
        await server.over.wait()
    task.cancel()
    assert follower.synced.is_set()
    return seen, server.asked, told


async def test_a_list_may_have_several_pages(monkeypatch: pytest.MonkeyPatch) -> None:
    pages = [page(pod("a", 1), version=5, more="x"), page(pod("b", 2), version=5)]
    seen, asked, _ = await followed(monkeypatch, pages, [[]])
    assert seen.names == {"a": "1", "b": "2"}
    assert asked == ["list", "list x", "watch 5", "watch 5"]


async def test_a_watch_goes_on_where_it_ended(monkeypatch: pytest.MonkeyPatch) -> None:
    events = [{"type": "ADDED", "object": pod("b", 7)}, {"type": "BOOKMARK", "object": pod("", 9)}]
    seen, asked, _ = await followed(
        monkeypatch, [page(pod("a", 1), version=5)], [events, [{"type": "DELETED", "object": pod("a", 11)}]]
    )
    assert seen.names == {"b": "7"}
    assert asked == ["list", "watch 5", "watch 9", "watch 11"]


async def test_what_went_while_nobody_looked_is_gone(monkeypatch: pytest.MonkeyPatch) -> None:
    gone = [{"type": "ERROR", "object": {"kind": "Status", "code": 410}}]
    lists = [page(pod("a", 1), pod("b", 2), version=5), page(pod("b", 2), version=90)]
    seen, asked, _ = await followed(monkeypatch, lists, [gone])
    assert seen.names == {"b": "2"}
    assert asked == ["list", "watch 5", "list", "watch 90"]


async def test_a_server_that_is_away_is_asked_again(monkeypatch: pytest.MonkeyPatch) -> None:
    expired = api.of_status({"code": 410, "reason": "Expired"})
    lists = [OSError("no route"), page(pod("a", 1), version=5), page(version=8)]
    seen, asked, told = await followed(monkeypatch, lists, [TimeoutError(), expired])
    assert seen.names == {}
    assert asked == ["list", "list", "watch 5", "watch 5", "list", "watch 8"]
    assert told == ["cannot follow /api/v1/pods: no route", "cannot follow /api/v1/pods: TimeoutError"]


async def test_a_resource_that_is_not_served_has_no_objects(monkeypatch: pytest.MonkeyPatch) -> None:
    missing = api.of_status({"code": 404, "reason": "NotFound"})
    seen, asked, told = await followed(monkeypatch, [missing, page(pod("a", 1), version=5)], [])
    assert (seen.names, asked, told) == ({"a": "1"}, ["list", "list", "watch 5"], [])
