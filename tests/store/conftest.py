"""One etcd for each process of the test run, and stores over it and over folders. Tests here may be coroutines."""

import asyncio
import inspect
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.store.engines import ENGINES, SHARED_ENGINES, Opener, opener
from tests.store.etcd_process import EtcdProcess

from kadmit.store.base import Store


@pytest.fixture(autouse=True)
def loop() -> Iterator[asyncio.Runner]:
    """An event loop of its own for each test, and for its stores."""
    with asyncio.Runner() as runner:
        yield runner


@pytest.hookimpl(tryfirst=True)
def pytest_pyfunc_call(pyfuncitem: pytest.Function) -> bool | None:
    if not inspect.iscoroutinefunction(pyfuncitem.obj):
        return None
    arguments = {name: pyfuncitem.funcargs[name] for name in inspect.signature(pyfuncitem.obj).parameters}
    runner = pyfuncitem.funcargs["loop"]
    assert isinstance(runner, asyncio.Runner)
    runner.run(pyfuncitem.obj(**arguments))
    return True


@pytest.fixture(scope="session")
def etcd(tmp_path_factory: pytest.TempPathFactory) -> Iterator[EtcdProcess]:
    with EtcdProcess(tmp_path_factory.mktemp("etcd")) as process:
        yield process


def _opener(request: pytest.FixtureRequest, folder: Path, loop: asyncio.Runner) -> Iterator[Opener]:
    """Only who needs etcd starts it."""
    endpoint = request.getfixturevalue("etcd").endpoint if request.param == "etcd" else ""
    context = opener(request.param, folder, endpoint)
    yield loop.run(context.__aenter__())
    loop.run(context.__aexit__(None, None, None))


@pytest.fixture(params=ENGINES)
def store(request: pytest.FixtureRequest, tmp_path: Path, loop: asyncio.Runner) -> Iterator[Store]:
    for one in _opener(request, tmp_path, loop):
        yield loop.run(one.open())


@pytest.fixture(params=SHARED_ENGINES)
def replicas(request: pytest.FixtureRequest, tmp_path: Path, loop: asyncio.Runner) -> Iterator[Opener]:
    yield from _opener(request, tmp_path, loop)
