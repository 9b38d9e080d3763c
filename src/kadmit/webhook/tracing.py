"""A review as a span, below the span of the API server that asked."""

import contextlib
from collections.abc import Iterator, Mapping
from typing import Any

from kadmit import tracing
from kadmit.tracing import Spans
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

    def __init__(self, spans: Spans) -> None:
        self._spans = spans

    @contextlib.contextmanager
    def review(self, path: str, review: Review, trace: Mapping[str, str]) -> Iterator[Span]:
        attributes = {"kadmit.path": path, "k8s.admission.uid": review.uid, **_about(review.request)}
        with self._spans.served(f"review {path}", trace, attributes) as span:
            yield Span(span)


def tracer() -> Tracer | None:
    """None where nobody would see a span."""
    spans = tracing.spans("kadmit.webhook")
    return None if spans is None else Tracer(spans)


def _about(request: Mapping[str, Any]) -> dict[str, str]:
    kind = request.get("kind")
    found = {
        "k8s.admission.operation": request.get("operation"),
        "k8s.admission.kind": kind.get("kind") if isinstance(kind, dict) else None,
        "k8s.namespace.name": request.get("namespace"),
        "k8s.object.name": request.get("name"),
    }
    return {name: value for name, value in found.items() if isinstance(value, str) and value}
