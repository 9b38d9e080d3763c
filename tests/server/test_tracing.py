"""Spans of a real server: one a request, one a webhook call, all in the client's trace."""

import sys
from pathlib import Path

import orjson
from tests.server.process import running

PARENT = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
# As opentelemetry-instrument would do it: set up first, then the command.
SET_UP = """
import sys
from opentelemetry import trace
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import ConsoleSpanExporter, SimpleSpanProcessor

line = lambda span: span.to_json(indent=None) + "\\n"
provider = TracerProvider()
provider.add_span_processor(SimpleSpanProcessor(ConsoleSpanExporter(out=open({path!r}, "a"), formatter=line)))
trace.set_tracer_provider(provider)
"""
CONFIGURATION = {
    "apiVersion": "admissionregistration.k8s.io/v1",
    "kind": "ValidatingWebhookConfiguration",
    "metadata": {"name": "hooks"},
    "webhooks": [
        {
            "name": "hook.example.com",
            "clientConfig": {"url": "https://127.0.0.1:1/"},
            "rules": [{"apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": ["configmaps"]}],
            "failurePolicy": "Ignore",
            "timeoutSeconds": 1,
            "sideEffects": "None",
            "admissionReviewVersions": ["v1"],
        }
    ],
}


async def test_requests_and_webhook_calls_are_spans_of_the_clients_trace(tmp_path: Path) -> None:
    (tmp_path / "sitecustomize.py").write_text(SET_UP.format(path=str(tmp_path / "spans")))
    with running(tmp_path / "data", environment={"PYTHONPATH": f"{tmp_path}:{':'.join(filter(None, sys.path))}"}) as server:
        path = "/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations"
        assert (await server.ask("POST", path, orjson.dumps(CONFIGURATION))).status == 201
        body = orjson.dumps({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}})
        answer = await server.ask("POST", "/api/v1/namespaces/default/configmaps", body, Traceparent=PARENT)
        assert answer.status == 201
    spans = [orjson.loads(line) for line in (tmp_path / "spans").read_text().splitlines()]
    called, served = (
        next(s for s in spans if s["name"] == name) for name in ("call webhook hook.example.com", "create configmaps")
    )
    assert served["parent_id"] == "0xb7ad6b7169203331"
    assert served["attributes"] == {
        "http.request.method": "POST",
        "url.path": "/api/v1/namespaces/default/configmaps",
        "http.response.status_code": 201,
    }
    assert called["parent_id"] == served["context"]["span_id"]
    assert called["context"]["trace_id"] == "0x0af7651916cd43dd8448eb211c80319c"
