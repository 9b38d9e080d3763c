"""Tests here may be coroutines; each has an event loop of its own. Those with processes share one cluster a test file."""

import asyncio
import inspect
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.webhook.clusters import Served


@pytest.hookimpl(tryfirst=True)
def pytest_pyfunc_call(pyfuncitem: pytest.Function) -> bool | None:
    if not inspect.iscoroutinefunction(pyfuncitem.obj):
        return None
    arguments = {name: pyfuncitem.funcargs[name] for name in inspect.signature(pyfuncitem.obj).parameters}
    asyncio.run(pyfuncitem.obj(**arguments))
    return True


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[Served]:
    with Served(tmp_path) as served:
        yield served
