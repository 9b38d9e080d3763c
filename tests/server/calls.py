"""Calls for tests of the webhook client: a webhook with nothing but its client configuration."""

import asyncio
import base64
from collections.abc import Mapping
from typing import Any

from tests.server.certificates import authority
from tests.server.hooks import Hook

from kadmit.admission.answers import Answer
from kadmit.admission.webhooks import Call, compile_configuration
from kadmit.server.service_resolver import Address, ServiceError
from kadmit.server.webhook_client import WebhookClient


class Moved:
    """Services that are somewhere else than their names say."""

    def __init__(self, address: Address | str) -> None:
        self.address = address
        self.asked: list[tuple[str, str, int]] = []

    async def resolve(self, namespace: str, name: str, port: int) -> Address:
        self.asked.append((namespace, name, port))
        if isinstance(self.address, str):
            raise ServiceError(self.address)
        return self.address


def call_to(client: Mapping[str, Any], *, ca: bytes | None = None, timeout: int = 10, mutating: bool = True) -> Call:
    bundle = authority().pem if ca is None else ca
    config = {"caBundle": base64.b64encode(bundle).decode(), **client} if bundle else dict(client)
    hook = {"name": "hook.example.com", "clientConfig": config, "timeoutSeconds": timeout, "admissionReviewVersions": ["v1"]}
    webhook = compile_configuration({"metadata": {"name": "hooks"}, "webhooks": [hook]})[0]
    return Call(webhook, "v1", {"object": {"kind": "ConfigMap"}}, mutating)


def call_hook(hook: Hook, path: str = "/hook", **options: Any) -> Call:
    return call_to({"url": hook.url(path)}, **options)


async def ask(client: WebhookClient, call: Call, *, within: float | None = None) -> Answer:
    """The answer to one call; `within` is what is left of the request's own time."""
    deadline = None if within is None else asyncio.get_running_loop().time() + within
    (answer,) = await client.call([call], deadline=deadline)
    return answer


def message(answer: Answer) -> str:
    """What an allowing hook of these tests said."""
    assert answer.failure == ""
    assert answer.review is not None
    return str(answer.review["response"]["status"]["message"])
