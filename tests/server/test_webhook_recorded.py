"""The recorded conversations with kube-apiserver, as far as they are about calling: credentials, failures, retries.

What was registered is called for real, over TLS on loopback; what the webhook was sent and what was said of a failure are as
recorded.
"""

import base64
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import yaml
from tests.server import hooks
from tests.server.calls import ask
from tests.server.certificates import authority, good_context
from tests.server.hooks import Asked, Hook, serving

from kadmit.admission import webhooks
from kadmit.admission.answers import Answer, CallFailed, read
from kadmit.admission.webhooks import Call
from kadmit.server import credentials
from kadmit.server.credentials import Credentials
from kadmit.server.service_resolver import ClusterAddresses
from kadmit.server.webhook_client import WebhookClient

CASES = Path(__file__).parent.parent / "conformance" / "cases"
FAILURES = (
    "ca-other",
    "host-name-mismatch",
    "refused-fail",
    "request-timeout",
    "service-headless",
    "service-missing",
    "timeout-fail",
)
NS = "the-namespace"


@dataclass(frozen=True)
class Recorded:
    area: str
    name: str

    @property
    def case(self) -> str:
        return (CASES / self.area / f"{self.name}.yaml").read_text()

    @property
    def steps(self) -> list[dict[str, Any]]:
        path = CASES / self.area / f"{self.name}.expected.json"
        return list(json.loads(path.read_text())["steps"])

    def given(self, hook: Hook) -> list[dict[str, Any]]:
        text = re.sub(r"\$\{hook:([^}]*)\}", rf"https://127.0.0.1:{hook.port}/{self.area}-{self.name}/\1", self.case)
        ca = base64.b64encode(authority().pem).decode()
        text = text.replace("${hookport}", str(hook.port)).replace("${ca}", ca).replace("${ns}", NS)
        given: list[dict[str, Any]] = yaml.safe_load(text)["given"]
        return given

    def credentials(self, hook: Hook, folder: Path) -> Mapping[str, Credentials]:
        """The files that the server was started with."""
        needs = yaml.safe_load(self.case).get("needs")
        for path in (CASES / self.area / f"{needs}.config").glob("*"):
            (folder / path.name).write_text(
                path.read_text().replace("${dir}", str(folder)).replace("${hookport}", str(hook.port))
            )
        return credentials.load(folder / "admission.conf" if needs else None)


class Given:
    """Services among the objects of a case."""

    def __init__(self, objects: Sequence[dict[str, Any]]) -> None:
        self._objects = objects

    async def service(self, namespace: str, name: str) -> dict[str, Any] | None:
        wanted = {"name": name, "namespace": namespace}
        return next((o for o in self._objects if o["kind"] == "Service" and o["metadata"] == wanted), None)

    async def endpoint_slices(self, namespace: str, service: str) -> Sequence[dict[str, Any]]:
        raise AssertionError("cluster IPs need no endpoints")


def _calls(objects: Sequence[dict[str, Any]]) -> Iterator[Call]:
    for o in objects:
        if o["kind"].endswith("WebhookConfiguration"):
            for webhook in webhooks.compile_configuration(o):
                yield Call(webhook, "v1", {}, o["kind"].startswith("Mutating"))


async def _run(recorded: Recorded, hook: Hook, folder: Path, within: float | None = None) -> list[str]:
    """What became of each call: `allowed`, or why it failed."""
    given = recorded.given(hook)
    client = WebhookClient(ClusterAddresses(Given(given)), credentials=recorded.credentials(hook, folder))
    async with client:
        return [_outcome(c, await ask(client, c, within=within)) for c in _calls(given)]


def _outcome(call: Call, answer: Answer) -> str:
    try:
        return "allowed" if read(call, answer).allowed else "denied"
    except CallFailed as e:
        return f'failed calling webhook "{call.webhook.name}": {e}'


def _said(steps: list[dict[str, Any]], hook: Hook) -> list[str]:
    texts = [s["body"].get("message", "allowed").removeprefix("Internal error occurred: ") for s in steps]
    back = [t.replace("${hookport}", str(hook.port)).replace("${ns}", NS) for t in texts]
    return [re.sub(r"\$\{hook:([^}]*)\}", rf"https://127.0.0.1:{hook.port}/AREA/\1", t) for t in back]


def _sent(asked: Asked) -> dict[str, str]:
    shown = {"webhook": asked.target.partition("?")[0].strip("/"), "contentType": asked.headers["content-type"]}
    if "authorization" in asked.headers:
        shown["authorization"] = asked.headers["authorization"]
    return {**shown, **{k: v for k, v in asked.headers.items() if k.startswith("impersonate-")}}


def _answering(name: str) -> list[hooks.Behaviour]:
    return [hooks.redirects(307, "other"), hooks.allows()] if name == "token-on-redirect" else [hooks.allows()]


@pytest.mark.parametrize("name", sorted(p.stem for p in (CASES / "webhook-auth").glob("*.yaml")))
async def test_credentials_are_sent_as_recorded(name: str, tmp_path: Path) -> None:
    recorded = Recorded("webhook-auth", name)
    async with serving(*_answering(name), context=good_context()) as hook:
        outcomes = await _run(recorded, hook, tmp_path)
    assert outcomes == _said(recorded.steps, hook)
    calls = [c for s in recorded.steps for c in s.get("calls", [])]
    assert [_sent(a) for a in hook.asked] == [{k: v for k, v in c.items() if k not in ("review", "query")} for c in calls]
    assert [["timeout"] if "?timeout=" in a.target else None for a in hook.asked] == [c.get("query") for c in calls]


@pytest.mark.parametrize("name", FAILURES)
async def test_failures_are_told_as_recorded(name: str, tmp_path: Path) -> None:
    recorded = Recorded("webhook-failure", name)
    within = {"request-timeout": 3.0, "timeout-fail": 0.3}.get(name)
    async with serving(hooks.stalls() if name == "timeout-fail" else hooks.allows(), context=good_context()) as hook:
        outcomes = await _run(recorded, hook, tmp_path, within)
    assert [o.replace(f"webhook-failure-{name}", "AREA") for o in outcomes] == _said(recorded.steps, hook)
