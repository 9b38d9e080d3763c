"""Webhooks called from a command, which has no event loop: one loop for the whole run, entered for each batch of calls."""

import asyncio
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from kadmit.admission.answers import Answer
from kadmit.admission.webhooks import Call
from kadmit.authoring.cluster import Ask
from kadmit.server.webhook_client import WebhookClient


@contextmanager
def webhooks() -> Iterator[Ask]:
    """A way to ask webhooks that lasts as long as the context."""
    with asyncio.Runner() as runner:
        client = WebhookClient()

        def ask(calls: Sequence[Call]) -> Sequence[Answer]:
            return runner.run(client.call(calls))

        try:
            yield ask
        finally:
            runner.run(client.close())
