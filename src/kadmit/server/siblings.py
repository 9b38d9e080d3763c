"""The numbers of all workers. A scrape reaches any one of them, which asks the others before it answers.

Each worker tells its numbers to whoever connects to its socket, in a folder that only this user can enter. A worker that does
not answer at once (it is starting, ending, or was killed) is left out.
"""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable
from pathlib import Path

from kadmit.server.metrictext import Snapshot, together

SECONDS = 1.0
"""That a worker waits for another one."""


class Siblings:
    """A worker among others. `folder` holds their sockets, each called by a worker's number; None: there are no others."""

    def __init__(self, snapshot: Callable[[], Snapshot], folder: Path | None = None, number: int = 0) -> None:
        self._snapshot = snapshot
        self._folder = folder
        self._number = number

    async def numbers(self) -> Snapshot:
        """Those of all workers, taken together."""
        own = self._snapshot()
        if self._folder is None:
            return own
        others = [path for path in sorted(self._folder.iterdir()) if path.name != str(self._number)]
        found = await asyncio.gather(*map(_asked, others))
        return together([own, *(other for other in found if other is not None)])

    @contextlib.asynccontextmanager
    async def telling(self) -> AsyncIterator[None]:
        """While this lasts, others are told."""
        if self._folder is None:
            yield
            return
        server = await asyncio.start_unix_server(self._tell, self._folder / str(self._number))
        try:
            yield
        finally:
            server.close()

    async def _tell(self, _reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with contextlib.suppress(OSError):
            writer.write(self._snapshot().packed())
            await writer.drain()
        writer.close()


async def _asked(path: Path) -> Snapshot | None:
    try:
        async with asyncio.timeout(SECONDS):
            reader, writer = await asyncio.open_unix_connection(path)
            try:
                return Snapshot.unpacked(await reader.read())
            finally:
                writer.close()
    except (OSError, ValueError):  # a deadline is an OSError, and half an answer a ValueError
        return None
