"""Reading a watch in a test: as much as is expected, and no longer than is bearable."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import aclosing

from kadmit.store.base import Batch, Event, Store

_SECONDS = 20.0


async def take(batches: AsyncGenerator[Batch, None], count: int) -> list[Event]:
    """The next events, at least so many."""
    events: list[Event] = []
    async with asyncio.timeout(_SECONDS):
        while len(events) < count:
            events.extend((await anext(batches)).events)
    return events


async def events_until(store: Store, prefix: str, after: int, until: int) -> list[Event]:
    """Every event that a new watch tells, up to the one at a revision."""
    events: list[Event] = []
    async with asyncio.timeout(_SECONDS), aclosing(store.watch(prefix, after)) as batches:
        async for batch in batches:
            events.extend(batch.events)
            if batch.revision >= until:
                break
    return events
