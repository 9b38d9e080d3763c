"""One server process a test worker, as a user would start it: `kadmit serve`, its own data folder, a free port, TLS.

Clients get nothing but the kubeconfig that the server wrote. Each test works in a namespace of its own.
"""

import itertools
from collections.abc import Callable

import pytest
from tests.clients.kubectl import Json, Kubectl

from kadmit.testing import Server

_numbers = itertools.count(1)


@pytest.fixture(scope="session")
def server(kadmit_server_factory: Callable[..., Server]) -> Server:
    return kadmit_server_factory()


@pytest.fixture(scope="session")
def admin(server: Server, tmp_path_factory: pytest.TempPathFactory) -> Kubectl:
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
