"""Policy coverage of a whole test run: every cluster tells what its requests met, workers tell the controller, and one report
comes of it.

Only policies that stand in files count, for only there can somebody go and look. NB: a server is another process; what it decides
is not seen.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from msgspec import Struct, field

from kadmit.admission.outcome import Record
from kadmit.authoring import manifests
from kadmit.authoring.coverage.coverage import Coverage, Report
from kadmit.authoring.manifests import File, Manifest, Unreadable
from kadmit.testing.sources import NAMELESS, Sources

_GROUP = "admissionregistration.k8s.io"


class Covering:
    """What a run has met so far. With paths, only what stands there counts; without, every policy that a test loads."""

    def __init__(self, root: Path, paths: Sequence[str] = ()) -> None:
        """Raises Unreadable."""
        self._root = root
        self._asked = [m for path in paths for m in _asked(root, path)] if paths else None
        self._files: dict[str, bytes] = {}
        self._made: dict[tuple[int, ...], Coverage] = {}
        self._kept: list[Manifest] = []  # NB: as long as these live, their ids are theirs
        self._counts: Counter[str] = Counter()

    def watcher(self) -> "Watching":
        return Watching(self)

    def coverage(self, found: Sequence[Manifest]) -> Coverage:
        """One for all clusters with the same policies."""
        key = tuple(sorted(map(id, found)))
        if key not in self._made:
            self._kept += found
            self._files |= {m.file.name: m.file.data for m in found}
            self._made[key] = Coverage(found)
        return self._made[key]

    def wanted(self, found: Iterable[Manifest]) -> list[Manifest]:
        policies = [m for m in found if is_policy(m) and m.file.name not in NAMELESS]
        if self._asked is None:
            return policies
        places = {(m.file.name, m.document, m.within) for m in self._asked}
        return [m for m in policies if (m.file.name, m.document, m.within) in places]

    # ------------------------------------------------------------ between processes

    def told(self) -> dict[str, Any]:
        """All of it as plain data."""
        counts = Counter(self._counts)
        for made in self._made.values():
            counts.update(made.counts())
        return {"files": dict(self._files), "counts": dict(counts)}

    def add(self, told: Mapping[str, Any]) -> None:
        """What another process has met."""
        self._files |= told["files"]
        self._counts.update(told["counts"])

    def report(self) -> Report:
        told = self.told()
        total = Coverage(self._asked if self._asked is not None else _policies(told["files"]))
        total.add_counts(told["counts"])
        return total.report()


class Watching(Struct):
    """One cluster's share."""

    covering: Covering
    _loaded: list[Manifest] = field(default_factory=list)
    _coverage: Coverage | None = None

    def loaded(self, found: Sequence[Manifest]) -> None:
        wanted = self.covering.wanted(found)
        if wanted:
            self._loaded += wanted
            self._coverage = self.covering.coverage(self._loaded)

    def observe(self, record: Record) -> None:
        if self._coverage is not None:
            self._coverage.observe(record)


def _asked(root: Path, path: str) -> list[Manifest]:
    """NB: of no policies all is covered, which says nothing. Raises Unreadable."""
    found = [m for m in Sources(root).read(Path(path)) if is_policy(m)]
    if not found:
        raise Unreadable(f"{path}: holds no policy, binding or webhook configuration")
    return found


def is_policy(manifest: Manifest) -> bool:
    return manifest.kind.group == _GROUP


def _policies(files: Mapping[str, bytes]) -> list[Manifest]:
    return [m for name in sorted(files) for m in manifests.read(File(name, files[name])) if is_policy(m)]
