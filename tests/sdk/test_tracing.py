"""Spans: one a review, below the caller's, where OpenTelemetry is set up; nothing where it is not."""

import subprocess
import sys
from collections.abc import Iterator

import pytest
from opentelemetry import trace
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from tests.sdk.serving import review, serving

from kadmit.webhook import tracing

PARENT = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"


@pytest.fixture
def spans(monkeypatch: pytest.MonkeyPatch) -> Iterator[InMemorySpanExporter]:
    exporter = InMemorySpanExporter()
    provider = TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    monkeypatch.setattr(trace, "get_tracer_provider", lambda: provider)
    monkeypatch.setattr(trace, "get_tracer", provider.get_tracer)
    yield exporter
    provider.shutdown()


async def test_a_review_is_a_span_below_the_callers(spans: InMemorySpanExporter) -> None:
    async with serving() as served:
        assert (await served.ask("/hook", review(), Traceparent=PARENT)).response["allowed"]
    (span,) = spans.get_finished_spans()
    assert span.name == "review /hook"
    assert span.kind is trace.SpanKind.SERVER
    assert span.parent is not None
    assert format(span.parent.span_id, "016x") == "b7ad6b7169203331"
    assert dict(span.attributes or {}) == {
        "kadmit.path": "/hook",
        "k8s.admission.uid": "u-1",
        "k8s.admission.operation": "CREATE",
        "k8s.admission.kind": "ConfigMap",
        "k8s.namespace.name": "default",
        "k8s.object.name": "a",
        "kadmit.allowed": True,
        "kadmit.patch.operations": 0,
        "kadmit.warnings": 0,
    }


def test_nobody_who_has_not_set_it_up_pays_for_it() -> None:
    program = (
        "import sys; from kadmit.webhook import tracing; sys.exit(tracing.tracer() is not None or 'opentelemetry' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", program], check=False).returncode == 0


def test_without_a_provider_there_are_no_spans() -> None:
    assert tracing.tracer() is None
