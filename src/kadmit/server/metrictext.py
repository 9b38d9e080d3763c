"""Numbers at one moment, and their text in Prometheus' format (0.0.4).

Only metrics that have a value are shown. Label names stand in the order of the alphabet, with `le` last, as Go's library
writes them. Workers send each other theirs as JSON, and one of them makes them one.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cache
from typing import Any, TypeAlias, TypeVar

import orjson
from msgspec import Struct

from kadmit.cel import gotext
from kadmit.server.metricnames import BY_NAME, DEFINITIONS, Definition

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"

_Labels: TypeAlias = tuple[str, ...]
_T = TypeVar("_T")


class Snapshot(Struct, frozen=True):
    """`values` by metric and label values; `histograms` likewise, each the counts of its buckets and then the sum."""

    values: Mapping[str, Mapping[_Labels, float]]
    histograms: Mapping[str, Mapping[_Labels, Sequence[float]]]

    def render(self) -> bytes:
        return "".join(line for definition in DEFINITIONS for line in self._lines(definition)).encode()

    def packed(self) -> bytes:
        return orjson.dumps([_listed(self.values), _listed(self.histograms)])

    @staticmethod
    def unpacked(data: bytes) -> "Snapshot":
        """Raises ValueError."""
        values, histograms = orjson.loads(data)
        return Snapshot(_by_labels(values), _by_labels(histograms))

    def _lines(self, definition: Definition) -> Iterator[str]:
        lines = list(self._samples(definition))
        if lines:
            stability = f"[{definition.stability}] " if definition.stability else ""
            yield f"# HELP {definition.name} {stability}{definition.help}\n"
            yield f"# TYPE {definition.name} {definition.type}\n"
            yield from lines

    def _samples(self, definition: Definition) -> Iterator[str]:
        for labels, value in sorted(self.values.get(definition.name, {}).items()):
            yield f"{definition.name}{_braces(definition.labels, labels)} {_number(value)}\n"
        for labels, counts in sorted(self.histograms.get(definition.name, {}).items()):
            yield from _histogram(definition, labels, counts)


def together(snapshots: Sequence[Snapshot]) -> Snapshot:
    """The numbers of several workers as those of one server."""
    values = _joined([s.values for s in snapshots], lambda name, found: BY_NAME[name].joined(found))
    histograms = _joined([s.histograms for s in snapshots], lambda _, found: [sum(n) for n in zip(*found, strict=True)])
    return Snapshot(values, histograms)


def _joined(
    all_of_them: Iterable[Mapping[str, Mapping[_Labels, _T]]], join: Callable[[str, list[_T]], _T]
) -> dict[str, dict[_Labels, _T]]:
    found: dict[str, dict[_Labels, list[_T]]] = {}
    for metrics in all_of_them:
        for name, series in metrics.items():
            gathered = found.setdefault(name, {})
            for labels, value in series.items():
                gathered.setdefault(labels, []).append(value)
    return {name: {labels: join(name, values) for labels, values in series.items()} for name, series in found.items()}


def _listed(metrics: Mapping[str, Mapping[_Labels, Any]]) -> dict[str, list[tuple[list[str], Any]]]:
    """JSON has no keys but texts, and orjson writes no named tuples."""
    return {name: [([*labels], value) for labels, value in series.items()] for name, series in metrics.items()}


def _by_labels(metrics: Mapping[str, Sequence[tuple[Sequence[str], Any]]]) -> dict[str, dict[_Labels, Any]]:
    return {name: {tuple(labels): value for labels, value in series} for name, series in metrics.items()}


def _histogram(definition: Definition, labels: _Labels, counts: Sequence[float]) -> Iterator[str]:
    name, pairs, total = definition.name, _pairs(definition.labels, labels), 0.0
    before = f"{pairs}," if pairs else ""
    for bound, count in zip(_bounds(definition), counts, strict=False):
        total += count
        yield f'{name}_bucket{{{before}le="{bound}"}} {_number(total)}\n'
    braces = f"{{{pairs}}}" if pairs else ""
    yield f"{name}_sum{braces} {_number(counts[-1])}\n"
    yield f"{name}_count{braces} {_number(total)}\n"


@cache
def _bounds(definition: Definition) -> tuple[str, ...]:
    return (*(_number(bound) for bound in definition.buckets), "+Inf")


def _braces(names: Sequence[str], values: Sequence[str]) -> str:
    return f"{{{_pairs(names, values)}}}" if names else ""


def _pairs(names: Sequence[str], values: Sequence[str]) -> str:
    return ",".join([f'{name}="{_escaped(value)}"' for name, value in zip(names, values, strict=True)])


def _escaped(text: str) -> str:
    return text.replace("\\", "\\\\").replace("\n", "\\n").replace('"', '\\"')


def _number(value: float) -> str:
    """NB: whole numbers below a million, which is nearly all, need no more than this."""
    return str(int(value)) if 0 <= value < 1e6 and value == int(value) else gotext.format_double(float(value))
