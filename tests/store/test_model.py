"""Any sequence of operations has the same answers from SQLite and from etcd as from the store in memory, which is the model.

A store may start at any revision: answers are compared relative to it.
"""

import asyncio
import shutil
import tempfile
from collections.abc import Awaitable
from pathlib import Path
from typing import ClassVar

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule, run_state_machine_as_test
from tests.store.engines import unused_prefix

from kadmit.store.base import Compacted, Conflict, Entry, Event, Page, Store, StoreError
from kadmit.store.etcd import EtcdStore
from kadmit.store.memory import MemoryStore
from kadmit.store.sqlite import SqliteStore

KEYS = st.sampled_from(["/a", "/a/b", "/a/c", "/a-b", "/b/a", "/b/é", "/b/\U0001f600"])
PREFIXES = st.sampled_from(["", "/", "/a", "/a/", "/b/", "/b/é", "/c"])
VALUES = st.binary(max_size=3)
BACK = st.integers(0, 12)
"""How many revisions back: small numbers find what is there, large ones what is not."""

Comparable = Entry | Page | Event | int | str | None


class Side:
    """One store, whose revisions are told relative to its start. Negative revisions are before that, and mean nothing."""

    def __init__(self, store: Store, start: int) -> None:
        self.store = store
        self._start = start

    def absolute(self, revision: int) -> int:
        return revision + self._start

    def relative(self, answer: Entry | Page | Event | int | None) -> Comparable:
        if isinstance(answer, int):
            return answer - self._start
        if isinstance(answer, Page):
            return str(([self.relative(entry) for entry in answer.entries], answer.revision - self._start, answer.remaining))
        if isinstance(answer, Entry):
            return Entry(answer.key, answer.value, answer.revision - self._start, answer.created - self._start)
        if isinstance(answer, Event):
            return Event(answer.kind, answer.key, answer.value, answer.previous, answer.revision - self._start)
        return answer

    async def outcome(self, asked: Awaitable[Entry | Page | int | None]) -> Comparable:
        try:
            return self.relative(await asked)
        except Conflict as refused:
            return f"Conflict {self.relative(refused.current)}"
        except StoreError as refused:
            return type(refused).__name__


class Comparison(RuleBasedStateMachine):
    engine: ClassVar[str]
    endpoint: ClassVar[str]

    def __init__(self) -> None:
        super().__init__()
        self._runner = asyncio.Runner()
        self._folder = Path(tempfile.mkdtemp(prefix="kadmit-model-"))
        self._now = 0

    @initialize()
    def open(self) -> None:
        store = self._runner.run(self._opened())
        model = MemoryStore()
        self._sides = [Side(one, self._runner.run(one.revision())) for one in (model, store)]

    async def _opened(self) -> Store:
        if self.engine == "sqlite":
            return await SqliteStore.open(self._folder)
        return await EtcdStore.open([self.endpoint], prefix=unused_prefix())

    def teardown(self) -> None:
        for side in getattr(self, "_sides", ()):
            self._runner.run(side.store.close())
        self._runner.close()
        shutil.rmtree(self._folder)

    def _past(self, back: int) -> int:
        return max(self._now - back, 0)

    def _same(self, *asked: Awaitable[Entry | Page | int | None]) -> Comparable:
        expected, found = (self._runner.run(side.outcome(one)) for side, one in zip(self._sides, asked, strict=True))
        assert found == expected
        return expected

    @rule(key=KEYS, value=VALUES)
    def create(self, key: str, value: bytes) -> None:
        self._same(*(side.store.create(key, value) for side in self._sides))

    @rule(key=KEYS, value=VALUES)
    def update_what_is_there(self, key: str, value: bytes) -> None:
        entry = self._same(*(side.store.get(key) for side in self._sides))
        if isinstance(entry, Entry):
            self._same(*(side.store.update(key, value, side.absolute(entry.revision)) for side in self._sides))

    @rule(key=KEYS)
    def delete_what_is_there(self, key: str) -> None:
        entry = self._same(*(side.store.get(key) for side in self._sides))
        if isinstance(entry, Entry):
            self._same(*(side.store.delete(key, side.absolute(entry.revision)) for side in self._sides))

    @rule(key=KEYS, value=VALUES, back=BACK)
    def update_at_any_revision(self, key: str, value: bytes, back: int) -> None:
        self._same(*(side.store.update(key, value, side.absolute(self._past(back))) for side in self._sides))

    @rule(key=KEYS, back=BACK)
    def delete_at_any_revision(self, key: str, back: int) -> None:
        self._same(*(side.store.delete(key, side.absolute(self._past(back))) for side in self._sides))

    @rule(key=KEYS, back=st.integers(-2, 12))
    def read_the_past(self, key: str, back: int) -> None:
        self._same(*(side.store.get(key, revision=side.absolute(self._past(back))) for side in self._sides))

    @rule(prefix=PREFIXES, limit=st.integers(0, 4), after=st.one_of(st.just(""), KEYS))
    def list_the_present(self, prefix: str, limit: int, after: str) -> None:
        self._same(*(side.store.list(prefix, limit=limit, after=after) for side in self._sides))

    @rule(prefix=PREFIXES, limit=st.integers(0, 4), after=st.one_of(st.just(""), KEYS), back=BACK)
    def list_the_past(self, prefix: str, limit: int, after: str, back: int) -> None:
        revision = self._past(back)
        self._same(*(s.store.list(prefix, limit=limit, after=after, revision=s.absolute(revision)) for s in self._sides))

    @rule(back=BACK)
    def compact(self, back: int) -> None:
        for side in self._sides:
            self._runner.run(side.store.compact(side.absolute(self._past(back))))

    @rule(prefix=PREFIXES, back=BACK)
    def watch_from_the_past(self, prefix: str, back: int) -> None:
        expected, found = (self._runner.run(self._told(side, prefix, self._past(back))) for side in self._sides)
        assert found == expected

    async def _told(self, side: Side, prefix: str, after: int) -> list[Comparable]:
        """All that a watch tells up to now."""
        now = side.absolute(self._now)
        batches = side.store.watch(prefix, side.absolute(after), progress_seconds=0.001)
        told: list[Comparable] = []
        revision = side.absolute(after)
        try:
            async with asyncio.timeout(20):
                # A watch that starts now is asked for nothing: it would only tell what comes.
                while revision < now:
                    batch = await anext(batches)
                    assert batch.revision > revision
                    told, revision = told + [side.relative(event) for event in batch.events], batch.revision
        except Compacted:
            return ["Compacted"]
        finally:
            await batches.aclose()
        return told

    @invariant()
    def revisions_are_the_same(self) -> None:
        if hasattr(self, "_sides"):
            now = self._same(*(side.store.revision() for side in self._sides))
            assert isinstance(now, int)
            assert now >= self._now
            self._now = now


_SETTINGS = settings(
    max_examples=40, stateful_step_count=40, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck)
)


@pytest.mark.parametrize("engine", ["sqlite", "etcd"])
def test_any_sequence_of_operations_has_the_answers_of_the_model(engine: str, request: pytest.FixtureRequest) -> None:
    endpoint = request.getfixturevalue("etcd").endpoint if engine == "etcd" else ""
    machine = type(f"Comparison_{engine}", (Comparison,), {"engine": engine, "endpoint": endpoint})
    run_state_machine_as_test(machine, settings=_SETTINGS)
