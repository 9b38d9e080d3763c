"""When the webhook configurations are written."""

import asyncio
from typing import Any, cast

import pytest

from kadmit.webhook import registering
from kadmit.webhook.cluster import Cluster
from kadmit.webhook.configuration import Target, Wishes
from kadmit.webhook.registering import Registrar
from kadmit.webhook.view import View


class Applied:
    """A cluster that takes everything, and tells when."""

    def __init__(self) -> None:
        self.paths: list[str] = []

    async def apply(self, path: str, value: Any, manager: str) -> Any:
        self.paths.append(path)
        return value


async def test_a_leader_that_was_none_for_a_moment_writes_all_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(registering, "RETRY", 0.01)
    cluster, view, asked = Applied(), View(), []
    written = asyncio.Event()

    def leads() -> bool:
        asked.append(True)
        return len(asked) > 1  # nobody says that this has changed

    view.publish()
    registrar = Registrar(
        cast("Cluster", cluster),
        view,
        lambda: Wishes(Target(url="https://hook")),
        leads,
        lambda text: None,
        wrote=lambda digest: written.set(),
    )
    running = asyncio.create_task(registrar.run())
    async with asyncio.timeout(20):
        await written.wait()
    running.cancel()
    assert len(cluster.paths) == 2
