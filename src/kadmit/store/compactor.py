"""Deciding what history is old: as kube-apiserver does, what was there an interval ago; and never more than so many revisions.

Engine-independent, and harmless when several servers do it over one store: compacting twice is compacting once.
"""

import asyncio
from contextlib import suppress

from kadmit.store.base import FIRST_REVISION, Store, Unavailable

INTERVAL_SECONDS = 300.0
MOST_REVISIONS = 100_000


class Compactor:
    """Each step forgets what was before the last step. So a revision is kept for one interval at least, and two at most."""

    def __init__(self, store: Store, *, most_revisions: int = MOST_REVISIONS) -> None:
        self._store = store
        self._most = most_revisions
        self._noted = FIRST_REVISION

    async def run(self, interval_seconds: float = INTERVAL_SECONDS, *, count_seconds: float = 10.0) -> None:
        """Until cancelled: a step each interval, and a look at the count more often."""
        waited = 0.0
        while True:
            await asyncio.sleep(count_seconds)
            waited += count_seconds
            with suppress(Unavailable):  # the next turn will do
                if waited >= interval_seconds:
                    waited = 0.0
                    await self.step()
                else:
                    await self.trim()

    async def step(self) -> None:
        """Compacts to the revision of the last step."""
        old, self._noted = self._noted, await self._store.revision()
        await self._compact(max(old, self._noted - self._most))

    async def trim(self) -> None:
        """Compacts only where there are too many revisions."""
        await self._compact(await self._store.revision() - self._most)

    async def _compact(self, revision: int) -> None:
        if revision > FIRST_REVISION:
            await self._store.compact(revision)
