"""Following a collection of a cluster: list it, then watch it from there, and never miss or invent a change.

A watch goes on from the last version that was seen, bookmarks included. When the server has forgotten that version (410), the
collection is listed again, and what has gone in between is gone here, too. When nobody answers, there is a pause that grows, with
chance in it, so that replicas do not come back all at once.
"""

import asyncio
import random
from collections.abc import Callable, Mapping
from typing import NamedTuple, Protocol

from msgspec import Struct, field

from kadmit.api.errors import ApiError
from kadmit.matching.attributes import Json
from kadmit.webhook import cluster as api
from kadmit.webhook.cluster import Cluster, Unreachable

PAGE = 500
FIRST_PAUSE, LONGEST_PAUSE = 0.25, 30.0


class Collection(NamedTuple):
    """All objects of a resource; `field_selector` narrows it, `namespace` too."""

    group: str
    version: str
    plural: str
    namespace: str = ""
    field_selector: str = ""

    @property
    def path(self) -> str:
        base = f"/apis/{self.group}/{self.version}" if self.group else f"/api/{self.version}"
        return f"{base}/namespaces/{self.namespace}/{self.plural}" if self.namespace else f"{base}/{self.plural}"

    @property
    def query(self) -> Mapping[str, str]:
        return {"fieldSelector": self.field_selector} if self.field_selector else {}


class Sink(Protocol):
    """Where what was seen goes. A seam, because Secrets, policies and params are put to different use."""

    def replace(self, values: list[Json]) -> None:
        """All there is, as a list shows it."""

    def put(self, value: Json) -> None: ...

    def remove(self, value: Json) -> None: ...


class Gone(Exception):
    """The server has forgotten the version that we would go on from."""


class Progress(Struct):
    """How far a collection has been seen: the pure half of following."""

    sink: Sink
    version: str = ""

    def listed(self, values: list[Json], version: str) -> None:
        self.sink.replace(values)
        self.version = version

    def take(self, event: Json) -> None:
        """One event of a watch. Raises Gone, and ApiError for other errors that the server tells."""
        kind, value = event.get("type"), event.get("object") or {}
        if kind == "ERROR":
            if value.get("code") == 410:
                raise Gone
            raise api.of_status(value)
        if kind in ("ADDED", "MODIFIED"):
            self.sink.put(value)
        elif kind == "DELETED":
            self.sink.remove(value)
        self.version = (value.get("metadata") or {}).get("resourceVersion") or self.version


class Pause(Struct):
    """How long to wait after a failure: twice as long each time, less by chance."""

    chance: Callable[[], float] = random.random
    _next: float = FIRST_PAUSE

    def seconds(self) -> float:
        now, self._next = self._next, min(self._next * 2, LONGEST_PAUSE)
        return now * (0.5 + self.chance() / 2)

    def reset(self) -> None:
        self._next = FIRST_PAUSE


class Follower:
    """Follows one collection until cancelled. `synced` is set once it has been listed, `answered` once the server has said
    anything, if only that we may not; `told` hears of what goes wrong."""

    def __init__(
        self, cluster: Cluster, collection: Collection, sink: Sink, told: Callable[[str], None] = lambda _: None
    ) -> None:
        self.collection = collection
        self.synced = asyncio.Event()
        self.answered = asyncio.Event()
        self._cluster = cluster
        self._progress = Progress(sink)
        self._pause = Pause()
        self._told = told

    async def run(self) -> None:
        while True:
            try:
                await self._turn()
            except Gone:
                self._progress.version = ""
            except ApiError as error:
                await self._failed(error)
            except Unreachable as error:
                self._told(f"cannot follow {self.collection.path}: {str(error) or type(error).__name__}")
                await asyncio.sleep(self._pause.seconds())

    async def _turn(self) -> None:
        if not self._progress.version:
            await self._list()
        query = {**self.collection.query, "resourceVersion": self._progress.version}
        lively = False
        async for event in self._cluster.watch(self.collection.path, query):
            self._pause.reset()
            self._progress.take(event)
            lively = True
        if not lively:  # a server that ends watches at once is not to be asked in a loop
            await asyncio.sleep(self._pause.seconds())

    async def _failed(self, error: ApiError) -> None:
        """NB: a resource that is not served, because its definition is gone or not there yet, has no objects."""
        code = error.status.code
        self.answered.set()
        if code in (404, 410):
            self._progress.version = ""
        if code == 404:
            self._progress.sink.replace([])
            self.synced.set()
        elif code != 410:
            self._told(f"cannot follow {self.collection.path}: {error}")
        await asyncio.sleep(self._pause.seconds())

    async def _list(self) -> None:
        """All pages. NB: one that comes too late (410) begins anew."""
        found: list[Json] = []
        query = {**self.collection.query, "limit": str(PAGE)}
        while True:
            page = await self._cluster.get(self.collection.path, query)
            found += _items(page)
            metadata = page.get("metadata") or {}
            if not metadata.get("continue"):
                break
            query["continue"] = metadata["continue"]
        self._progress.listed(found, metadata.get("resourceVersion") or "")
        self.synced.set()
        self.answered.set()


def _items(page: Json) -> list[Json]:
    """NB: items of built-in kinds come without apiVersion and kind."""
    named = {"apiVersion": page.get("apiVersion"), "kind": str(page.get("kind") or "").removesuffix("List")}
    return [item if "kind" in item else {**named, **item} for item in page.get("items") or ()]


class Followers(Struct):
    """Followers by collection, each a task of its own."""

    cluster: Cluster
    told: Callable[[str], None]
    _running: dict[Collection, tuple[Follower, "asyncio.Task[None]"]] = field(default_factory=dict)

    def start(self, collection: Collection, sink: Sink) -> Follower:
        known = self._running.get(collection)
        if known is not None:
            return known[0]
        follower = Follower(self.cluster, collection, sink, self.told)
        self._running[collection] = follower, asyncio.ensure_future(follower.run())
        return follower

    def stop(self, collection: Collection) -> None:
        found = self._running.pop(collection, None)
        if found is not None:
            found[1].cancel()

    async def close(self) -> None:
        tasks = [task for _, task in self._running.values()]
        self._running.clear()
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
