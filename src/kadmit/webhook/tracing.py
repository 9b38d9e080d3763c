"""Spans for OpenTelemetry, where the process has set it up: one a review, below the span of the API server that asked.

Whoever wants spans has loaded the package and given it a provider, be it by `opentelemetry-instrument`. Nobody else pays for
loading it, or for spans that go nowhere.
"""

import contextlib
import sys
from collections.abc import Iterator, Mapping
from typing import Any

from kadmit.webhook.review import Response, Review


class Span:
    """What is told of a review when its verdict is known."""

    def __init__(self, span: Any) -> None:
        self._span = span

    def verdict(self, response: Response) -> None:
        self._span.set_attribute("kadmit.allowed", response.allowed)
        self._span.set_attribute("kadmit.patch.operations", len(response.patch))
        self._span.set_attribute("kadmit.warnings", len(response.warnings))


class Tracer:
    """Makes spans."""

    def __init__(self) -> None:
        from opentelemetry import propagate, trace

        self._extract = propagate.extract
        self._tracer = trace.get_tracer("kadmit.webhook")
        self._server = trace.SpanKind.SERVER

    @contextlib.contextmanager
    def review(self, path: str, review: Review, trace: Mapping[str, str]) -> Iterator[Span]:
        attributes = {"kadmit.path": path, "k8s.admission.uid": review.uid, **_about(review.request)}
        with self._tracer.start_as_current_span(
            f"review {path}", context=self._extract(dict(trace)), kind=self._server, attributes=attributes
        ) as span:
            yield Span(span)


def tracer() -> Tracer | None:
    """None where nobody would see a span."""
    if "opentelemetry.trace" not in sys.modules:
        return None
    from opentelemetry import trace

    return None if isinstance(trace.get_tracer_provider(), trace.ProxyTracerProvider) else Tracer()


def _about(request: Mapping[str, Any]) -> dict[str, str]:
    kind = request.get("kind")
    found = {
        "k8s.admission.operation": request.get("operation"),
        "k8s.admission.kind": kind.get("kind") if isinstance(kind, dict) else None,
        "k8s.namespace.name": request.get("namespace"),
        "k8s.object.name": request.get("name"),
    }
    return {name: value for name, value in found.items() if isinstance(value, str) and value}
