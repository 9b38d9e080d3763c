"""`kadmit serve` as a cluster without policies of its own, and an administrator who speaks to it."""

import json
import re
import ssl
import time
import urllib.error
import urllib.request
from base64 import b64decode
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeAlias

from tests.webhook.processes import NAMESPACE, SECONDS, Process
from tests.webhook.reviewing import GROUP

Json: TypeAlias = Any

OFF = "--disable-admission-plugins=MutatingAdmissionPolicy,ValidatingAdmissionPolicy"
ACCOUNT = f"system:serviceaccount:{NAMESPACE}:kadmit-webhook"
TOKENS = f"""admin-token,admin,1,"system:masters"
webhook-token,{ACCOUNT},2,"system:serviceaccounts,system:serviceaccounts:{NAMESPACE},system:authenticated"
"""
_CONFIGURATION = "/apis/admissionregistration.k8s.io/v1/{}webhookconfigurations/00-kadmit"


class Served(Process):
    """A cluster. Services are reached at their endpoints, as there is no network of its own."""

    def __init__(self, folder: Path, *more: str) -> None:
        tokens = folder / "tokens.csv"
        tokens.write_text(TOKENS)
        flags = ["--storage=memory", "--secure-port=0", f"--data-dir={folder / 'data'}", f"--token-auth-file={tokens}"]
        super().__init__(["serve", *flags, "--service-resolver=endpoints", OFF, *more])

    @property
    def kubeconfig(self) -> Path:
        found = re.search(r"KUBECONFIG=(\S+)", self.line)
        assert found is not None
        return Path(found[1])

    def send(self, method: str, path: str, body: Json = None) -> tuple[int, Json]:
        """On a connection of its own, as the administrator."""
        data = None if body is None else json.dumps(body).encode()
        headers = {"Authorization": "Bearer admin-token", "Content-Type": "application/json"}
        request = urllib.request.Request(f"{self.url}{path}", data, headers, method=method)
        context = ssl.create_default_context()
        context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
        try:
            with urllib.request.urlopen(request, timeout=SECONDS, context=context) as answer:
                return answer.status, json.loads(answer.read())
        except urllib.error.HTTPError as error:
            return error.code, json.loads(error.read())

    def create(self, path: str, body: Json) -> Json:
        status, made = self.send("POST", path, body)
        assert status == 201, made
        return made

    def namespace(self, name: str = NAMESPACE) -> None:
        self.create("/api/v1/namespaces", {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}})

    def register(self, *objects: Json) -> None:
        """Policies and bindings of the API."""
        for each in objects:
            self.create(f"/apis/{each['apiVersion']}/{_plural(each['kind'])}", each)

    def configuration(self, half: str = "mutating") -> Json:
        return self.send("GET", _CONFIGURATION.format(half))[1]

    def bundle(self) -> str:
        """Whom an API server trusts for the webhook now."""
        return b64decode(self.configuration()["webhooks"][0]["clientConfig"]["caBundle"]).decode()

    def until(self, holds: Callable[[], bool], why: Callable[[], object] = lambda: "") -> None:
        """Waits for something that processes do on their own."""
        deadline = time.monotonic() + SECONDS
        while not holds():
            assert time.monotonic() < deadline, why()
            time.sleep(0.02)

    def until_registered(self, rules: int = 1, half: str = "mutating") -> None:
        def registered() -> bool:
            hooks = self.configuration(half).get("webhooks") or []
            return sum(len(resource["resources"]) for hook in hooks for resource in hook["rules"]) >= rules

        self.until(registered, self.configuration)


def _plural(kind: str) -> str:
    return f"{kind[:-1].lower()}ies" if kind.endswith("y") else f"{kind.lower()}s"


def config_map(name: str, namespace: str = "default") -> Json:
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name, "namespace": namespace}}


__all__ = ["GROUP", "Served", "config_map"]
