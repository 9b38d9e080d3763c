"""One server process a test worker, as a user would start it: `kadmit serve`, its own data folder, a free port, TLS.

Clients get nothing but the kubeconfig that the server wrote. Each test works in a namespace of its own.
"""

import itertools
import os
import re
import selectors
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from tests.clients.kubectl import Kubectl

READY_SECONDS = 30.0
_READY = re.compile(r"kadmit is ready at (?P<url>\S+); export KUBECONFIG=(?P<kubeconfig>\S+)\n")
_numbers = itertools.count(1)


@dataclass(frozen=True)
class Running:
    """A server that answers."""

    url: str
    kubeconfig: Path
    folder: Path


@pytest.fixture(scope="session")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    folder = tmp_path_factory.mktemp("server")
    log = folder / "log"
    command = [sys.executable, "-m", "kadmit", "serve", "--storage=memory", "--secure-port=0", f"--data-dir={folder / 'data'}"]
    with log.open("wb") as errors, subprocess.Popen(command, stdout=subprocess.PIPE, stderr=errors) as process:
        try:
            line = _first_line(process)
            ready = _READY.fullmatch(line)
            assert ready is not None, (line, log.read_text())
            yield Running(ready["url"], Path(ready["kubeconfig"]), folder)
        finally:
            process.terminate()
            process.communicate(timeout=READY_SECONDS)


def _first_line(process: "subprocess.Popen[bytes]") -> str:
    assert process.stdout is not None
    with selectors.DefaultSelector() as selector:
        selector.register(process.stdout, selectors.EVENT_READ)
        return os.read(process.stdout.fileno(), 4096).decode() if selector.select(READY_SECONDS) else ""


@pytest.fixture(scope="session")
def admin(server: Running, tmp_path_factory: pytest.TempPathFactory) -> Kubectl:
    """kubectl as the administrator, with a home of its own: it keeps what it discovered there."""
    return Kubectl(server.kubeconfig, tmp_path_factory.mktemp("home"))


@pytest.fixture
def namespace(admin: Kubectl) -> str:
    name = f"test-{next(_numbers)}"
    admin.apply({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}})
    return name


@pytest.fixture
def kubectl(admin: Kubectl, namespace: str) -> Kubectl:
    """kubectl in a namespace that nobody else uses."""
    return admin.inside(namespace)
