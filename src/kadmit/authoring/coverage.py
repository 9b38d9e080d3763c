"""Which expressions, branches and match clauses of policies were never decisive while requests were made."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from kadmit.admission.outcome import Record
from kadmit.authoring.manifests import Manifest

Counts: TypeAlias = dict[str, int]  # how often each point was met; plain data, so that it can be sent between processes


@dataclass(frozen=True, slots=True)
class Report:
    """What was covered, and what was not."""

    met: int
    points: int
    missing: tuple[str, ...] = ()

    @property
    def percent(self) -> float:
        return 100.0 * self.met / self.points if self.points else 100.0

    def as_json(self) -> dict[str, Any]:
        return {"percent": round(self.percent, 1), "met": self.met, "points": self.points, "missing": list(self.missing)}

    def lines(self) -> list[str]:
        return [*self.missing, f"policy coverage: {self.percent:.1f}% ({self.met} of {self.points})"]


@dataclass(slots=True)
class Coverage:
    """Watches requests; `manifests` are the policies and webhook configurations that are asked about."""

    manifests: Iterable[Manifest]
    _counts: Counts = field(default_factory=dict)

    def observe(self, record: Record) -> None:
        """Take in what one request met; its record must have events."""

    def counts(self) -> Counts:
        return dict(self._counts)

    def add_counts(self, data: Mapping[str, int]) -> None:
        """Take in what another process has counted."""
        for point, times in data.items():
            self._counts[point] = self._counts.get(point, 0) + times

    def report(self) -> Report:
        return Report(0, 0)
