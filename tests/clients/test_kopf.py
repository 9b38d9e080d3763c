"""kopf, unmodified: an operator registers its own webhooks with the server, and is called by it over TLS."""

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.clients import kopf_handlers
from tests.clients.kubectl import Json, Kubectl

from kadmit.testing import Certificate, Server

SECONDS = 30.0
KINDS = ("mutatingwebhookconfiguration", "validatingwebhookconfiguration")


def configmap(name: str, **data: str) -> Json:
    metadata = {"name": name, "labels": kopf_handlers.WATCHED}
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": data}


@pytest.fixture
def operator(server: Server, kubectl: Kubectl, kadmit_certificate: Certificate, tmp_path: Path) -> Iterator[Path]:
    """A running operator whose webhooks the server knows; its log."""
    log = tmp_path / "kopf.log"
    command = [sys.executable, "-m", "kopf", "run", "--standalone", f"--namespace={kubectl.namespace}", kopf_handlers.__file__]
    environment = {
        "KUBECONFIG": str(server.kubeconfig),
        "HOME": str(tmp_path),
        "AUTHORITY": str(kadmit_certificate.authority),
        "CERTIFICATE": str(kadmit_certificate.certificate),
        "KEY": str(kadmit_certificate.key),
    }
    with log.open("wb") as out, subprocess.Popen(command, env=environment, stdout=out, stderr=out) as process:
        try:
            for kind in KINDS:
                _until_known(kubectl, kind, log)
            yield log
        finally:
            process.terminate()
            process.wait(SECONDS)


def _until_known(kubectl: Kubectl, kind: str, log: Path) -> None:
    place = f"{kind}/{kopf_handlers.CONFIGURATION}"
    for condition in ("create", "jsonpath={.webhooks[0].clientConfig.caBundle}"):
        ended = kubectl.ended("wait", f"--for={condition}", place, "--timeout=20s")
        assert ended.code == 0, (ended.err, log.read_text())


def test_an_operator_admits_over_tls_and_handles_what_was_made(kubectl: Kubectl, operator: Path) -> None:
    made = kubectl.ended("create", "-f", "-", given=configmap("good", x="1"))
    assert (made.out, made.err) == ("configmap/good created\n", "Warning: marked by kopf\n"), operator.read_text()
    assert kubectl.read("cm", "good")["metadata"]["annotations"]["made-by"] == "kubernetes-admin"
    refused = kubectl.fails("create", "-f", "-", given=configmap("wrong", bad="1"))
    webhook = f"refuse.{kopf_handlers.CONFIGURATION}"
    assert f'admission webhook "{webhook}" denied the request: no bad data, please' in refused
    assert 'configmaps "wrong" not found' in kubectl.fails("get", "cm", "wrong")
    kubectl("wait", "--for=jsonpath={.data.greeted}=yes", "cm/good", "--timeout=20s")
