"""What was covered of each policy, and where what was not stands."""

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from kadmit.authoring import positions
from kadmit.authoring.coverage.points import Point
from kadmit.authoring.manifests import Json, Manifest

MAX_TEXT = 80  # characters of an expression in a line


class Missing(NamedTuple):
    """A point that no request met."""

    file: str
    line: int
    column: int
    point: Point

    @staticmethod
    def of(manifest: Manifest, point: Point) -> "Missing":
        path = [*manifest.within, *positions.parts(point.field)]
        line, column = manifest.file.positions.place(manifest.document, path, point.offset)
        return Missing(manifest.file.name, line, column, point)

    @property
    def place(self) -> str:
        return f"{self.file}:{self.line}:{self.column}"

    def as_json(self) -> Json:
        point = self.point
        made: dict[str, Any] = {"file": self.file, "line": self.line, "column": self.column, "field": point.field}
        made |= {"what": point.what, "never": point.never}
        return made | ({"expression": point.text} if point.text else {})

    def __str__(self) -> str:
        text = " ".join(self.point.text.split())
        shown = text if len(text) <= MAX_TEXT else f"{text[:MAX_TEXT]}…"
        return f"{self.place}: {self.point.what}: {self.point.never}" + (f": {shown}" if shown else "")


class Covered(NamedTuple):
    """One policy, binding or webhook configuration."""

    manifest: Manifest
    points: int
    missing: tuple[Missing, ...]

    @property
    def met(self) -> int:
        return self.points - len(self.missing)

    @property
    def percent(self) -> float:
        return _percent(self.met, self.points)

    def as_json(self) -> Json:
        kind, file = self.manifest.kind.kind, self.manifest.file.name
        made: dict[str, Any] = {"kind": kind, "name": self.manifest.name, "file": file, "line": self.manifest.line()}
        made |= {"percent": self.percent, "met": self.met, "points": self.points}
        return made | {"missing": [m.as_json() for m in self.missing]}

    def __str__(self) -> str:
        return f"{self.manifest.kind.kind} {self.manifest.name}: {self.percent:.1f}% ({self.met} of {self.points})"


class Report(NamedTuple):
    """All of them together."""

    covered: Sequence[Covered]

    @property
    def points(self) -> int:
        return sum(c.points for c in self.covered)

    @property
    def met(self) -> int:
        return sum(c.met for c in self.covered)

    @property
    def percent(self) -> float:
        return _percent(self.met, self.points)

    @property
    def missing(self) -> tuple[Missing, ...]:
        return tuple(m for c in self.covered for m in c.missing)

    def as_json(self) -> Json:
        made: dict[str, Any] = {"percent": self.percent, "met": self.met, "points": self.points}
        return made | {"policies": [c.as_json() for c in self.covered]}

    def lines(self) -> list[str]:
        """For people: what is missing, policy by policy, and the sum."""
        return list(self._lines())

    def _lines(self) -> Iterator[str]:
        for covered in self.covered:
            yield str(covered)
            yield from (f"  {missing}" for missing in covered.missing)
        yield f"policy coverage: {self.percent:.1f}% ({self.met} of {self.points})"


def _percent(met: int, points: int) -> float:
    """To one place, and never 100 where something is missing."""
    if met >= points:
        return 100.0
    return min(99.9, round(100 * met / points, 1))
