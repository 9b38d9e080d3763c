"""Real calls of webhooks out of a test: one event loop in a thread of its own, so that a test may or may not have one itself."""

import asyncio
import threading
from collections.abc import Sequence

from kadmit.admission.answers import Answer
from kadmit.admission.webhooks import Call
from kadmit.server.proxies import Proxies
from kadmit.server.webhook_client import WebhookClient


class Caller:
    """Calls until it is closed."""

    def __init__(self) -> None:
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="kadmit webhook calls", daemon=True)
        self._thread.start()
        self._client = asyncio.run_coroutine_threadsafe(self._made(), self._loop).result()

    @staticmethod
    async def _made() -> WebhookClient:
        """NB: what tests serve is on this machine, whatever proxy the environment names."""
        return WebhookClient(proxies=Proxies())

    def ask(self, calls: Sequence[Call]) -> Sequence[Answer]:
        return asyncio.run_coroutine_threadsafe(self._client.call(calls), self._loop).result()

    def close(self) -> None:
        asyncio.run_coroutine_threadsafe(self._client.close(), self._loop).result()
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()
