"""Knowing that a webhook has caught up, instead of sleeping until it probably has.

A webhook tells, for each resource that it follows, a digest of the objects that it has seen, and that of the policies for which
it last wrote its configurations. The same digests, worked out from what the server lists, say that there is nothing left to see.
"""

import http.client
import json
import ssl
import time
from typing import Any
from urllib.parse import urlsplit

from tests.conformance import replay
from tests.webhook.processes import SECONDS, Webhook

from kadmit.webhook.view import POLICIES, fingerprint

_MODULUS = 256**6
_PLACES = {
    "namespaces": "/api/v1/namespaces",
    "customresourcedefinitions.apiextensions.k8s.io": "/apis/apiextensions.k8s.io/v1/customresourcedefinitions",
    **{f"{plural}.{group}": f"/apis/{group}/v1/{plural}" for group, plural in POLICIES},
}
_WRITES = ("POST", "PUT", "PATCH", "DELETE")
_POLICIES = [f"{plural}.{group}" for group, plural in POLICIES]
_UNCHECKED = ssl.create_default_context()
_UNCHECKED.check_hostname = False
_UNCHECKED.verify_mode = ssl.CERT_NONE


class Settled(replay.Server):
    """A server that is asked only once the webhook has seen what was written before."""

    def __init__(self, url: str, tokens: dict[str, str], audit_log: str, webhook: Webhook) -> None:
        replay.Server.__init__(self, url, tokens, audit_log)
        self._webhook = webhook
        self._listing = http.client.HTTPSConnection(urlsplit(url).netloc, timeout=SECONDS, context=_UNCHECKED)
        self._authorization = {"Authorization": f"Bearer {tokens['admin']}"}
        self._followed: set[str] = set(_PLACES)
        self._written = True

    def request(self, method: str, path: str, *more: Any, **given: Any) -> Any:
        if self._written and not _configures(path):
            self.settle()
        answer = replay.Server.request(self, method, path, *more, **given)
        if method in _WRITES and (_configures(path) or _resource(path) in self._followed):
            self._written = True
        return answer

    def settle(self) -> None:
        """NB: nobody else writes meanwhile, so what there is to see is worked out once."""
        there = {name: self._digest(path) for name, path in _PLACES.items()}
        deadline = time.monotonic() + SECONDS
        while not self._is_settled(there):
            assert time.monotonic() < deadline, self._webhook.complaints
            time.sleep(0.005)
        self._written = False

    def _is_settled(self, there: dict[str, int]) -> bool:
        metrics = self._webhook.metrics()
        observed = metrics.get("kadmit_webhook_observed_digest", {})
        if any(observed.get(name, 0) != there[name] for name in _PLACES):
            return False
        if metrics["kadmit_webhook_registered_digest"][""] != sum(there[name] for name in _POLICIES) % _MODULUS:
            return False
        for name in observed.keys() - there.keys():
            there[name] = self._digest(self._path(name))
        self._followed = {*_PLACES, *observed}
        return all(observed[name] == there[name] for name in observed)

    def _digest(self, path: str) -> int:
        metas = [item["metadata"] for item in self._get(path).get("items", ())]
        return sum(fingerprint(m.get("namespace", ""), m["name"], m["uid"], m["resourceVersion"]) for m in metas) % _MODULUS

    def _path(self, name: str) -> str:
        """Of a resource by its name and group."""
        plural, _, group = name.partition(".")
        if not group:
            return f"/api/v1/{plural}"
        version = self._get(f"/apis/{group}").get("preferredVersion", {}).get("version", "v1")
        return f"/apis/{group}/{version}/{plural}"

    def _get(self, path: str) -> Any:
        self._listing.request("GET", path, headers=self._authorization)
        answer = self._listing.getresponse()
        found = answer.read()
        return json.loads(found) if answer.status == 200 else {}

    def close(self) -> None:
        self._listing.close()


def _configures(path: str) -> bool:
    """NB: what configures admission is never itself judged, so it need not wait."""
    return path.startswith("/apis/admissionregistration.k8s.io/")


def _resource(path: str) -> str:
    """pods, or deployments.apps: which resource a path is about."""
    parts = path.partition("?")[0].strip("/").split("/")
    group, rest = ("", parts[2:]) if parts[0] == "api" else (parts[1], parts[3:])
    if rest[:1] == ["namespaces"] and len(rest) > 2 and rest[2] not in ("status", "finalize"):
        rest = rest[2:]
    return f"{rest[0]}.{group}" if group and rest else rest[0] if rest else ""
