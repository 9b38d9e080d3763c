"""Opening each engine for a test: alone, or several times over the same data as the replicas of one server would."""

import itertools
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path

from kadmit.store.base import Store
from kadmit.store.etcd import EtcdStore
from kadmit.store.memory import MemoryStore
from kadmit.store.sqlite import SqliteStore

ENGINES = ("memory", "sqlite", "etcd")
SHARED_ENGINES = ("sqlite", "etcd")

_numbers = itertools.count()


def unused_prefix() -> str:
    return f"/test-{next(_numbers)}"


class Opener:
    """Opens stores over one set of data, and closes them all."""

    def __init__(self, engine: str, folder: Path, endpoint: str, stack: AsyncExitStack) -> None:
        self._engine = engine
        self._folder = folder
        self._endpoint = endpoint
        self._prefix = unused_prefix()
        self._stack = stack

    async def open(self) -> Store:
        store = await self._opened()
        self._stack.push_async_callback(store.close)
        return store

    async def _opened(self) -> Store:
        if self._engine == "sqlite":
            return await SqliteStore.open(self._folder / "data", group="test")
        if self._engine == "etcd":
            return await EtcdStore.open([self._endpoint], prefix=self._prefix)
        return MemoryStore()


@asynccontextmanager
async def opener(engine: str, folder: Path, endpoint: str) -> AsyncIterator[Opener]:
    async with AsyncExitStack() as stack:
        yield Opener(engine, folder, endpoint, stack)
