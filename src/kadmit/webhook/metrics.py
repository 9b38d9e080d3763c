"""What a webhook counts, and its text in Prometheus' format (0.0.4).

Counting happens between requests on the event loop, so it only touches plain dicts. Labels are paths and words of ours, never
what a caller sends, so there are few series.
"""

from bisect import bisect_left
from collections.abc import Iterable, Iterator
from typing import TypeAlias

from msgspec import Struct, field

from kadmit import __version__

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"
COUNTER, GAUGE, HISTOGRAM = "counter", "gauge", "histogram"

_Labels: TypeAlias = tuple[str, ...]


class Metric(Struct, frozen=True):
    """One metric; label values come in the order of `labels`."""

    name: str
    type: str
    help: str
    labels: tuple[str, ...] = ()
    buckets: tuple[float, ...] = ()


_SECONDS = (0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0)

REVIEWS = Metric(
    "kadmit_webhook_reviews_total", COUNTER, "Reviews answered, by path and verdict: allowed, patched, denied or failed.",
    ("path", "verdict"),
)  # fmt: skip
DURATION = Metric(
    "kadmit_webhook_review_duration_seconds", HISTOGRAM, "Time from a whole body to its answer, queueing included.",
    ("path",), _SECONDS,
)  # fmt: skip
REFUSED = Metric(
    "kadmit_webhook_refused_total", COUNTER,
    "Requests that were given no verdict: bad_review, too_large, slow_body, overload, deadline, unauthorized, not_found.",
    ("reason",),
)  # fmt: skip
INFLIGHT = Metric("kadmit_webhook_inflight_reviews", GAUGE, "Reviews that are being worked on.")
QUEUED = Metric("kadmit_webhook_queued_reviews", GAUGE, "Reviews that wait for their turn.")
CONNECTIONS = Metric("kadmit_webhook_connections", GAUGE, "Open connections.")
CERTIFICATES = Metric("kadmit_webhook_certificate_replacements_total", COUNTER, "Certificates replaced while serving.")
BUILD = Metric("kadmit_build_info", GAUGE, "Always 1; the version is in the label.", ("version",))
CPU = Metric("process_cpu_seconds_total", COUNTER, "Processor time used, of user and system.")

DEFINITIONS = (REVIEWS, DURATION, REFUSED, INFLIGHT, QUEUED, CONNECTIONS, CERTIFICATES, BUILD, CPU)


class Metrics(Struct):
    """The numbers of one process. `more` metrics stand after the server's own."""

    more: tuple[Metric, ...] = ()
    values: dict[str, dict[_Labels, float]] = field(default_factory=dict)
    histograms: dict[str, dict[_Labels, list[float]]] = field(default_factory=dict)  # counts of each bucket, then the sum

    def __post_init__(self) -> None:
        for metric in self.definitions:
            self.values[metric.name] = {} if metric.labels or metric.type == HISTOGRAM else {(): 0.0}
            self.histograms[metric.name] = {}
        self.set(BUILD, 1, __version__)

    @property
    def definitions(self) -> tuple[Metric, ...]:
        return (*DEFINITIONS, *self.more)

    def add(self, metric: Metric, by: float = 1, /, *labels: str) -> None:
        series = self.values[metric.name]
        series[labels] = series.get(labels, 0.0) + by

    def set(self, metric: Metric, value: float, /, *labels: str) -> None:
        self.values[metric.name][labels] = value

    def observe(self, metric: Metric, value: float, /, *labels: str) -> None:
        series = self.histograms[metric.name]
        found = series.get(labels)
        if found is None:
            found = series[labels] = [0.0] * (len(metric.buckets) + 2)
        found[bisect_left(metric.buckets, value)] += 1
        found[-1] += value

    def render(self, cpu_seconds: float = 0.0) -> bytes:
        """NB: whoever acts tells the processor time."""
        self.set(CPU, cpu_seconds)
        return "".join(line for metric in self.definitions for line in self._lines(metric)).encode()

    def _lines(self, metric: Metric) -> Iterator[str]:
        lines = [*self._values(metric), *self._histograms(metric)]
        if lines:
            yield f"# HELP {metric.name} {metric.help}\n# TYPE {metric.name} {metric.type}\n"
            yield from lines

    def _values(self, metric: Metric) -> Iterator[str]:
        for labels, value in sorted(self.values[metric.name].items()):
            yield f"{metric.name}{_braces(zip(metric.labels, labels, strict=True))} {_number(value)}\n"

    def _histograms(self, metric: Metric) -> Iterator[str]:
        for labels, counts in sorted(self.histograms[metric.name].items()):
            pairs, total = list(zip(metric.labels, labels, strict=True)), 0.0
            for bound, count in zip((*map(_number, metric.buckets), "+Inf"), counts, strict=False):
                total += count
                yield f"{metric.name}_bucket{_braces([*pairs, ('le', bound)])} {_number(total)}\n"
            yield f"{metric.name}_sum{_braces(pairs)} {_number(counts[-1])}\n"
            yield f"{metric.name}_count{_braces(pairs)} {_number(total)}\n"


def _braces(pairs: Iterable[tuple[str, str]]) -> str:
    inside = ",".join(f'{name}="{_escaped(value)}"' for name, value in pairs)
    return f"{{{inside}}}" if inside else ""


def _escaped(text: str) -> str:
    return text.replace("\\", "\\\\").replace("\n", "\\n").replace('"', '\\"')


def _number(value: float) -> str:
    return str(int(value)) if value == int(value) and abs(value) < 1e15 else repr(value)
