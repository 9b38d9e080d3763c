"""One server process a test worker, as a user would start it: `kadmit serve`, its own data folder, a free port, TLS.

Clients get nothing but the kubeconfig that the server wrote. Each test works in a namespace of its own.
"""

import itertools
import re
import subprocess
import sys
import threading
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from tests.clients.kubectl import Json, Kubectl

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
    """Its first line; a server that has none to give is ended."""
    assert process.stdout is not None
    patience = threading.Timer(READY_SECONDS, process.kill)
    patience.start()
    try:
        return process.stdout.readline().decode()
    finally:
        patience.cancel()


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
def widgets(admin: Kubectl, namespace: str) -> str:
    """The group of a custom kind, Widget, that only this test has."""
    group = f"{namespace}.example.com"
    admin.apply(_definition(group))
    admin("wait", "--for=condition=Established", f"crd/widgets.{group}", "--timeout=10s")
    return group


def _definition(group: str) -> Json:
    spec = {"type": "object", "properties": {"size": {"type": "integer", "minimum": 1}}}
    state = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    version = {
        "name": "v1",
        "served": True,
        "storage": True,
        "schema": {"openAPIV3Schema": {"type": "object", "properties": {"spec": spec, "status": state}}},
        "subresources": {"status": {}},
        "additionalPrinterColumns": [{"name": "Size", "type": "integer", "jsonPath": ".spec.size"}],
    }
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"widgets.{group}"},
        "spec": {"group": group, "scope": "Namespaced", "names": {"plural": "widgets", "kind": "Widget"}, "versions": [version]},
    }


@pytest.fixture
def kubectl(admin: Kubectl, namespace: str) -> Kubectl:
    """kubectl in a namespace that nobody else uses."""
    return admin.inside(namespace)
