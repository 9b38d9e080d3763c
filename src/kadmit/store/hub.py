"""The hub: takes every event of a store once, in order, and hands it to the watches that want it.

One hub follows the store for a whole process, so a thousand idle watches cost the engine nothing. A watch is found by its
prefix, not by asking each: the price of a write depends on how many lengths of prefixes are watched. Recent events stay
in a window, from which most watches start; older ones are the engine's to look up (`History`). A watch that does not
keep up loses its queue, not its place: it starts again from where it was.
"""

import asyncio
from bisect import bisect_right
from collections import Counter
from collections.abc import AsyncGenerator, Callable, Iterable, Sequence
from contextlib import aclosing

from kadmit.store.base import Batch, Compacted, Event

History = Callable[[str, int], AsyncGenerator[Batch, None]]
"""history(prefix, after): what the engine remembers under the prefix after a revision. Raises Compacted."""

WINDOW_EVENTS = 4096
WINDOW_BYTES = 32 << 20


class Hub:
    """Events after `floor` are in the window; everything up to `position` has been published."""

    def __init__(self, position: int, *, window_events: int = WINDOW_EVENTS, window_bytes: int = WINDOW_BYTES) -> None:
        self.floor = position
        self.position = position
        self.closed = False
        self._window = Window(window_events, window_bytes)
        self._subscriptions: dict[str, set[Subscription]] = {}
        self._lengths: Counter[int] = Counter()

    def publish(self, events: Iterable[Event], position: int = 0) -> None:
        """Takes events in the order of revisions; those taken before are passed over."""
        for event in events:
            if event.revision > self.position:
                self.position = event.revision
                self.floor = max(self.floor, self._window.append(event))
                self._deliver(event)
        self.position = max(self.position, position)

    def forget(self, revision: int) -> None:
        """No watch starts from before the revision any more, unless the engine's history says otherwise."""
        if revision > self.floor:
            self.floor = revision
            self._window.drop_until(revision)

    def reset(self, position: int) -> None:
        """Starts over where events were missed for good: whoever waits for them is told that history is gone."""
        self.floor = self.position = max(position, self.position)
        self._window.clear()
        for subscription in self._everybody():
            subscription.lose(self.floor)

    def close(self) -> None:
        self.closed = True
        for subscription in self._everybody():
            subscription.wake()

    async def watch(self, prefix: str, after: int, history: History, progress_seconds: float) -> AsyncGenerator[Batch, None]:
        """Batches from history until the window has the rest, then from the window and live."""
        position = after
        while not self.closed:
            async with aclosing(self._older(prefix, position, history)) as older:
                async for batch in older:
                    position = batch.revision
                    yield batch
            async with aclosing(self._newer(prefix, position, progress_seconds)) as newer:
                async for batch in newer:
                    position = batch.revision
                    yield batch

    async def _older(self, prefix: str, position: int, history: History) -> AsyncGenerator[Batch, None]:
        if position >= self.floor:
            return
        async with aclosing(history(prefix, position)) as batches:
            async for batch in batches:
                yield batch
                if batch.revision >= self.floor:
                    return

    async def _newer(self, prefix: str, after: int, progress_seconds: float) -> AsyncGenerator[Batch, None]:
        """Until the watch falls out of the window, or the hub closes."""
        if after < self.floor:
            return
        subscription = Subscription(prefix, after, self._window.limit)
        self._add(subscription)
        try:
            subscription.offer(e for e in self._window.after(after) if e.key.startswith(prefix))
            while not self.closed and not subscription.overflowed:
                await subscription.news(progress_seconds)
                batch = subscription.take(self.position)
                if batch is not None:
                    yield batch
        finally:
            self._remove(subscription)

    def _deliver(self, event: Event) -> None:
        for length in self._lengths:
            for subscription in self._subscriptions.get(event.key[:length], ()):
                subscription.offer((event,))

    def _add(self, subscription: "Subscription") -> None:
        self._subscriptions.setdefault(subscription.prefix, set()).add(subscription)
        self._lengths[len(subscription.prefix)] += 1

    def _remove(self, subscription: "Subscription") -> None:
        peers = self._subscriptions[subscription.prefix]
        peers.discard(subscription)
        if not peers:
            del self._subscriptions[subscription.prefix]
        length = len(subscription.prefix)
        self._lengths[length] -= 1
        if not self._lengths[length]:
            del self._lengths[length]

    def _everybody(self) -> "list[Subscription]":
        return [subscription for peers in self._subscriptions.values() for subscription in peers]


class Subscription:
    """What one watch has not taken yet."""

    def __init__(self, prefix: str, after: int, limit: int) -> None:
        self.prefix = prefix
        self.overflowed = False
        self._told = after
        self._limit = limit
        self._oldest = 0
        self._pending: list[Event] = []
        self._awake = asyncio.Event()

    def offer(self, events: Iterable[Event]) -> None:
        if self.overflowed:
            return
        before = len(self._pending)
        self._pending.extend(e for e in events if e.revision > self._told)
        if len(self._pending) > self._limit:
            self.overflowed = True
            self._pending.clear()
            self.wake()
        elif len(self._pending) > before:
            self.wake()

    def wake(self) -> None:
        self._awake.set()

    def lose(self, oldest: int) -> None:
        """Events up to `oldest` will not come. Nothing is lost on a watch that starts later."""
        if self._told < oldest:
            self._oldest = oldest
            self.wake()

    async def news(self, seconds: float) -> None:
        """Returns when there is something to take, or when it is time to tell progress."""
        if self._awake.is_set():
            return
        try:
            async with asyncio.timeout(seconds):
                await self._awake.wait()
        except TimeoutError:
            pass

    def take(self, position: int) -> Batch | None:
        """All that is pending, and how far that is; None where it would say nothing new.

        NB: a lost watch still gets what was queued before the loss, and so learns of it in the right place.
        """
        self._awake.clear()
        events, self._pending = tuple(self._pending), []
        if self._oldest:
            if not events:
                raise Compacted(self._told, oldest=self._oldest)
            self.wake()
            position = events[-1].revision
        if self.overflowed or (not events and position <= self._told):
            return None
        self._told = max(position, self._told)
        return Batch(events, self._told)


class Window:
    """The latest events, as many and as large as is allowed."""

    def __init__(self, limit: int, size_limit: int) -> None:
        self.limit = limit
        self._size_limit = size_limit
        self._events: list[Event] = []
        self._size = 0

    def append(self, event: Event) -> int:
        """Keeps the event; the revision of the last one that had to go for it, 0 for none."""
        self._events.append(event)
        self._size += _size(event)
        if len(self._events) <= self.limit and self._size <= self._size_limit:
            return 0
        return self._make_room()

    def after(self, revision: int) -> Sequence[Event]:
        return self._events[bisect_right(self._events, revision, key=_revision) :]

    def drop_until(self, revision: int) -> None:
        self._drop(bisect_right(self._events, revision, key=_revision))

    def clear(self) -> None:
        self._drop(len(self._events))

    def _make_room(self) -> int:
        """Drops an eighth at once: dropping one at a time would move the whole list for each event."""
        count, size = 0, self._size
        while count < len(self._events) and (count < self.limit // 8 + 1 or size > self._size_limit):
            size -= _size(self._events[count])
            count += 1
        last = self._events[count - 1].revision
        self._drop(count)
        return last

    def _drop(self, count: int) -> None:
        self._size -= sum(map(_size, self._events[:count]))
        del self._events[:count]


def _size(event: Event) -> int:
    return len(event.value) + len(event.previous or b"")


def _revision(event: Event) -> int:
    return event.revision
