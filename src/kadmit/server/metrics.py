"""What the server counts, under Kubernetes' names and labels, so that dashboards and alerts made for it work here.

Counting happens on the event loop while requests wait, so it only touches plain dicts. A scrape takes a snapshot, which is
quick, and turns it into text wherever it likes. Each worker counts for itself; `siblings` takes their numbers together.
"""

from bisect import bisect_left
from collections.abc import Iterable

from msgspec import Struct, field

from kadmit import __version__
from kadmit.admission.outcome import Increment
from kadmit.server import processinfo
from kadmit.server.exchange import Waited
from kadmit.server.metricnames import BY_NAME, COUNTER, DEFINITIONS, GAUGE, HISTOGRAM, Definition
from kadmit.server.metrictext import Snapshot
from kadmit.server.requestlabels import RequestLabels

MAX_SERIES = 20_000
"""Of one metric. Labels come from names that users choose; past this many, new ones are dropped, and that is counted."""

DROPPED = "kadmit_metrics_dropped_total"

_Labels = tuple[str, ...]


class Metrics(Struct):
    """One worker's numbers. Label values stand in the order of their names."""

    values: dict[str, dict[_Labels, float]] = field(default_factory=dict)
    histograms: dict[str, dict[_Labels, list[float]]] = field(default_factory=dict)  # counts of each bucket, then the sum

    def __post_init__(self) -> None:
        for definition in DEFINITIONS:
            if definition.type == HISTOGRAM:
                self.histograms[definition.name] = {}
            else:
                self.values[definition.name] = {} if definition.labels else {(): 0}
        for kind in ("mutating", "readOnly"):
            self.values["apiserver_current_inflight_requests"][(kind,)] = 0
        self.values["kadmit_build_info"][(__version__,)] = 1

    def apply(self, increments: Iterable[Increment]) -> None:
        """What a pass through the admission chain wants counted."""
        for increment in increments:
            series = self.values[increment.metric]
            labels = tuple([value for _, value in increment.labels])
            if labels in series:
                series[labels] += 1
            else:
                _check_names(BY_NAME[increment.metric], [name for name, _ in increment.labels])
                self._start(series, labels, 1)

    def count(self, metric: str, by: float = 1, /, **labels: str) -> None:
        """Adds to a counter, or (also less than nothing) to a gauge."""
        series = self.values[metric]
        key = _ordered(BY_NAME[metric], labels)
        if key in series:
            series[key] += by
        else:
            self._start(series, key, by)

    def observe(self, metric: str, seconds: float, /, **labels: str) -> None:
        self._observe(BY_NAME[metric], _ordered(BY_NAME[metric], labels), seconds)

    def request(self, about: RequestLabels, code: int, seconds: float) -> None:
        """A request that has been answered."""
        self._observe(_REQUEST_DURATION, about, seconds)
        series = self.values["apiserver_request_total"]
        key = (str(code), *about)
        if key in series:
            series[key] += 1
        else:
            self._start(series, key, 1)

    def webhooks(self, increments: Iterable[Increment], waited: Iterable[Waited]) -> None:
        """How long webhooks took: the n-th call of a name belongs to the n-th time that it is counted."""
        times: dict[tuple[str, str], list[float]] = {}
        for name, mutating, seconds in waited:
            times.setdefault((name, "admit" if mutating else "validating"), []).append(seconds)
        for increment in increments if times else ():
            labels = dict(increment.labels) if increment.metric == _WEBHOOK_CALLS else {}
            if left := times.get((labels.get("name", ""), labels.get("type", ""))):
                del labels["code"]
                self.observe("apiserver_admission_webhook_admission_duration_seconds", left.pop(0), **labels)

    def inflight(self, by: int, *, mutating: bool) -> None:
        """+1 when a request that is no watch comes in, -1 when it is answered."""
        self.values["apiserver_current_inflight_requests"][("mutating" if mutating else "readOnly",)] += by

    def longrunning(self, about: RequestLabels, by: int) -> None:
        """+1 when a watch begins, -1 when it ends."""
        self.count("apiserver_longrunning_requests", by, **about.without_dry_run)

    def watched(self, about: RequestLabels, events: int) -> None:
        """Events that were sent to a watch."""
        self.count("apiserver_watch_events_total", events, group=about.group, resource=about.resource, version=about.version)

    def snapshot(self) -> Snapshot:
        """NB: to be taken where counting happens (the event loop), so that nothing grows meanwhile."""
        values = {name: dict(series) for name, series in self.values.items()}
        for name, value in processinfo.read().items():
            values[name] = {(): value}
        histograms = {name: {k: list(v) for k, v in series.items()} for name, series in self.histograms.items()}
        return Snapshot(values, histograms)

    def _observe(self, definition: Definition, labels: _Labels, value: float) -> None:
        series = self.histograms[definition.name]
        found = series.get(labels)
        if found is None:
            if len(series) >= MAX_SERIES:
                self.values[DROPPED][()] += 1
                return
            found = series[labels] = [0.0] * (len(definition.buckets) + 2)
        found[bisect_left(definition.buckets, value)] += 1
        found[-1] += value

    def _start(self, series: dict[_Labels, float], labels: _Labels, value: float) -> None:
        if len(series) < MAX_SERIES:
            series[labels] = value
        else:
            self.values[DROPPED][()] += 1


_WEBHOOK_CALLS = "apiserver_admission_webhook_request_total"
_REQUEST_DURATION = BY_NAME["apiserver_request_duration_seconds"]


def _ordered(definition: Definition, labels: dict[str, str]) -> _Labels:
    if len(labels) != len(definition.labels):
        _check_names(definition, sorted(labels))
    return tuple([labels[name] for name in definition.labels])


def _check_names(definition: Definition, names: list[str]) -> None:
    if tuple(names) != definition.labels:
        raise ValueError(f"metric {definition.name} has the labels {', '.join(definition.labels)}, not {', '.join(names)}")


__all__ = ["COUNTER", "DEFINITIONS", "GAUGE", "HISTOGRAM", "MAX_SERIES", "Metrics", "RequestLabels", "Snapshot"]
