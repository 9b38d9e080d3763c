"""Spans for OpenTelemetry, where the process has set it up.

Whoever wants spans has loaded the package and given it a provider, be it by `opentelemetry-instrument`. Nobody else pays for
loading it, or for spans that go nowhere.
"""

import contextlib
import sys
from collections.abc import Iterator, Mapping
from typing import Any


class Spans:
    """Makes the spans of one part of Kadmit."""

    def __init__(self, name: str) -> None:
        from opentelemetry import propagate, trace

        self._propagate = propagate
        self._tracer = trace.get_tracer(name)
        self._kinds = {"server": trace.SpanKind.SERVER, "client": trace.SpanKind.CLIENT}

    @contextlib.contextmanager
    def served(self, name: str, headers: Mapping[str, str], attributes: Mapping[str, Any]) -> Iterator[Any]:
        """Something that was asked for, below the span of whoever asked."""
        parent = self._propagate.extract(dict(headers))
        with self._tracer.start_as_current_span(
            name, context=parent, kind=self._kinds["server"], attributes=dict(attributes)
        ) as span:
            yield span

    @contextlib.contextmanager
    def called(self, name: str, attributes: Mapping[str, Any]) -> Iterator[dict[str, str]]:
        """Somebody else is asked; with the headers that tell them below which span."""
        headers: dict[str, str] = {}
        with self._tracer.start_as_current_span(name, kind=self._kinds["client"], attributes=dict(attributes)):
            self._propagate.inject(headers)
            yield headers


def spans(name: str) -> Spans | None:
    """None where nobody would see a span."""
    if "opentelemetry.trace" not in sys.modules:
        return None
    from opentelemetry import trace

    return None if isinstance(trace.get_tracer_provider(), trace.ProxyTracerProvider) else Spans(name)
