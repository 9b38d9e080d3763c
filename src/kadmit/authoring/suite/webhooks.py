"""Webhooks that answer from a script, in process: what each says to its first call, its second, and so on."""

import base64
from collections.abc import Sequence
from typing import Any

from kadmit.admission import replies
from kadmit.admission.answers import Answer
from kadmit.admission.webhooks import Call, Webhook
from kadmit.api.gojson import marshal, quoted
from kadmit.authoring.manifests import Json
from kadmit.authoring.suite.model import DENY, FAIL, RESPONSE, TIMEOUT, Reply, Scripts
from kadmit.authoring.suite.outcome import Called

UID = "00000000-0000-4000-8000-000000000000"
_ALLOWS = (Reply(),)


class Scripted:
    """Answers calls from scripts, and remembers them. A webhook without a script allows everything."""

    def __init__(self, scripts: Scripts) -> None:
        self._scripts = scripts
        self.called: list[Called] = []

    def ask(self, calls: Sequence[Call]) -> Sequence[Answer]:
        return [self._answer(call) for call in calls]

    def _answer(self, call: Call) -> Answer:
        name = call.webhook.name
        script = self._scripts.get(name, _ALLOWS)
        before = sum(called.name == name for called in self.called)
        self.called.append(Called(name, {"uid": UID, **call.request}))
        return answer(call, script[min(before, len(script) - 1)])


def answer(call: Call, reply: Reply) -> Answer:
    """What came over the wire, had a webhook replied so."""
    if reply.does == TIMEOUT:
        return Answer(failure=f"failed to call webhook: {_post(call.webhook)}: context deadline exceeded", code=504)
    if reply.does == FAIL:
        return Answer(failure=f"failed to call webhook: {reply.message or f'{_post(call.webhook)}: EOF'}")
    version = f"admission.k8s.io/{call.version}"
    if reply.does == RESPONSE and reply.response is not None:
        written = {"apiVersion": version, "kind": "AdmissionReview", "response": {"uid": UID, **reply.response}}
        return replies.read(call, UID, status=200, content_type="application/json", body=marshal(written).encode())
    return Answer(UID, {"apiVersion": version, "kind": "AdmissionReview", "response": _response(reply)})


def _response(reply: Reply) -> Json:
    made: dict[str, Any] = {"uid": UID, "allowed": reply.does != DENY}
    if reply.does == DENY:
        status = {"code": reply.code, "reason": reply.reason, "message": reply.message}
        made["status"] = {key: value for key, value in status.items() if value}
    if reply.patch:
        made["patchType"] = "JSONPatch"
        made["patch"] = base64.b64encode(marshal(list(reply.patch)).encode()).decode()
    if reply.warnings:
        made["warnings"] = list(reply.warnings)
    if reply.annotations:
        made["auditAnnotations"] = dict(reply.annotations)
    return made


def _post(webhook: Webhook) -> str:
    """What was tried, as Go tells it."""
    client = webhook.client
    url = client.get("url") or ""
    if client.get("service") is not None:
        service = client["service"]
        host = f"{service.get('name')}.{service.get('namespace')}.svc:{service.get('port') or 443}"
        url = f"https://{host}/{(service.get('path') or '').lstrip('/')}"
    return f"Post {quoted(f'{url}?timeout={webhook.timeout}s')}"
