"""The operator itself, as it is deployed: kopf, its webhooks and the policies, with a real server."""

import os
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from shops import handlers

from kadmit.testing import Certificate, Server, assert_admitted, assert_denied

PROJECT = Path(__file__).parent.parent
SECONDS = 30.0
BAKERY = {
    "apiVersion": "example.com/v1",
    "kind": "Shop",
    "metadata": {"name": "bakery", "namespace": "market"},
    "spec": {"goods": "bread"},
}
REGISTERED = [
    {"apiVersion": "admissionregistration.k8s.io/v1", "kind": kind, "metadata": {"name": handlers.CONFIGURATION}}
    for kind in ("MutatingWebhookConfiguration", "ValidatingWebhookConfiguration")
]


@pytest.fixture
def server(kadmit_server: Server) -> Server:
    return kadmit_server.load(PROJECT / "manifests", PROJECT / "policies" / "team.yaml", PROJECT / "policies" / "counters.yaml")


@pytest.fixture
def operator(server: Server, kadmit_certificate: Certificate, tmp_path: Path) -> Iterator[Path]:
    """The operator in a process of its own, once its webhooks are registered; the path of its log."""
    log = tmp_path / "operator.log"
    command = [sys.executable, "-m", "kopf", "run", "--standalone", "--namespace=market", "-m", "shops.handlers"]
    environment = {
        **os.environ,
        "KUBECONFIG": str(server.kubeconfig),
        "WEBHOOK_ADDRESS": "127.0.0.1",
        "WEBHOOK_HOST": "127.0.0.1",
        "WEBHOOK_AUTHORITY": str(kadmit_certificate.authority),
        "WEBHOOK_CERTIFICATE": str(kadmit_certificate.certificate),
        "WEBHOOK_KEY": str(kadmit_certificate.key),
    }
    with log.open("wb") as out, subprocess.Popen(command, cwd=PROJECT, env=environment, stdout=out, stderr=out) as process:
        try:
            for configuration in REGISTERED:
                eventually(server, configuration, lambda found: found.get("webhooks"), log)
            yield log
        finally:
            process.terminate()
            process.wait(SECONDS)


def eventually(server: Server, obj: dict[str, Any], is_so: Any, log: Path) -> dict[str, Any]:
    """The object, once it is as it should be."""
    ends = time.monotonic() + SECONDS
    while time.monotonic() < ends:
        found = server.get(obj)
        if found is not None and is_so(found):
            return found
        time.sleep(0.05)
    raise AssertionError(f"{obj['kind']} {obj['metadata']['name']} is not as it should be; the operator says:\n{log.read_text()}")


def test_a_shop_is_admitted_and_opened(server: Server, operator: Path) -> None:
    opened = server.create(BAKERY)
    assert_admitted(opened, object={"spec": {"counters": 1}}, warnings=["the shop opens with one counter"])
    eventually(server, BAKERY, lambda found: (found.get("status") or {}).get("phase") == "Open", operator)
    found = server.get({**BAKERY, "apiVersion": "apps/v1", "kind": "Deployment"})
    assert found is not None
    assert found["metadata"]["labels"] == {"shop": "bakery", "team": "traders"}

    refused = server.patch(BAKERY, {"spec": {"goods": "shoes"}})
    assert_denied(refused, message="a shop for bread cannot become one for shoes: open another one")
    assert_denied(server.patch(BAKERY, {"spec": {"counters": 9}}), message="this town allows 3 counters, not 9")
