"""Writing the webhook configurations: by the leader, when what is obeyed has changed, and now and then, lest others changed them.

They are applied by the server (server-side apply), so that what others add to them, such as a bundle from cert-manager, stays.
"""

import asyncio
from collections.abc import Callable

from kadmit.api.errors import ApiError
from kadmit.matching.attributes import Json
from kadmit.webhook import configuration
from kadmit.webhook.cluster import Cluster, Unreachable
from kadmit.webhook.configuration import MANAGER, Wishes
from kadmit.webhook.following import Pause
from kadmit.webhook.view import View

PERIOD, RETRY = 300.0, 1.0


class Registrar:
    """`wishes` is None for as long as it is not known how to be reached; `wrote` is told the digest of the policies that the
    configurations are for."""

    def __init__(
        self,
        cluster: Cluster,
        view: View,
        wishes: Callable[[], Wishes | None],
        leads: Callable[[], bool],
        told: Callable[[str], None],
        *,
        wrote: Callable[[int], None] = lambda _: None,
        period: float = PERIOD,
    ) -> None:
        self._cluster = cluster
        self._view = view
        self._wishes = wishes
        self._leads = leads
        self._told = told
        self._wrote = wrote
        self._period = period
        self._changed = asyncio.Event()
        self._last: tuple[Json, Json] | None = None
        self.authority = b""  # the bundle that they have

    def reconsider(self) -> None:
        self._changed.set()

    def begin(self) -> None:
        """This replica leads, or does not any more: somebody else may have written in between."""
        self._last = None
        self._changed.set()

    async def run(self) -> None:
        pause = Pause()
        while True:
            self._changed.clear()
            try:
                written = await self.write()
                pause.reset()
            except (ApiError, *Unreachable) as error:
                self._told(f"cannot write webhook configurations: {str(error) or type(error).__name__}")
                await asyncio.sleep(pause.seconds())
                continue
            await self._until_due(self._period if written else RETRY)

    async def _until_due(self, seconds: float) -> None:
        try:
            async with asyncio.timeout(seconds):
                await self._changed.wait()
        except TimeoutError:
            self._last = None

    async def write(self) -> bool:
        """Whether it was ours to do. NB: a leader that was kept busy may not be one for a moment, and nobody tells when it is
        again. Raises ApiError and those of Unreachable."""
        wishes = self._wishes()
        if wishes is None or not self._leads():
            return False
        digest, published = self._view.policies_digest, self._view.published
        made = configuration.configurations(published, wishes)
        if made != self._last:
            for each in made:
                await self._cluster.apply(configuration.path_of(each), each, MANAGER)
        self._last, self.authority = made, wishes.target.authority
        self._wrote(digest)
        return True
