"""Files of suites: found in folders, read once, and read again when they changed."""

import fnmatch
import os
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from kadmit.authoring import manifests
from kadmit.authoring.manifests import Manifest, Unreadable
from kadmit.authoring.suite.model import Suite
from kadmit.cli import files

_OURS = ("kadmit-test.yaml", "kadmit-test.yml", "*.kadmit-test.yaml", "*.kadmit-test.yml")
_KYVERNOS = ("kyverno-test.yaml", "kyverno-test.yml")
_GATEKEEPERS = ("*suite*.yaml", "*suite*.yml")
_GATEKEEPER_MARK = b"test.gatekeeper.sh/"
_KYVERNO_MARK = b"cli.kyverno.io/"
_ENDINGS = (".json", ".yaml", ".yml")

Stamp = tuple[int, int, int]  # when it was changed, how long it is, which file it is


def stamp(path: str) -> Stamp | None:
    """What changes when a file does; None if it is not there."""
    try:
        found = os.stat(path)  # noqa: PTH116  # asked all the time while watching, and Path takes longer than the answer
    except (OSError, ValueError):
        return None
    return found.st_mtime_ns, found.st_size, found.st_ino


def is_file(path: str) -> bool:
    return Path(path).is_file()


class Disk:
    """Files as suites ask for them. What was read is kept as long as the file stays as it was."""

    def __init__(self) -> None:
        self._read: dict[str, tuple[Stamp | None, Sequence[Manifest]]] = {}

    def manifests(self, path: str) -> Sequence[Manifest]:
        now = stamp(path)
        known = self._read.get(path)
        if known is None or known[0] != now:
            known = self._read[path] = now, tuple(manifests.read(files.file(path)))
        return known[1]

    def found(self, pattern: str) -> Sequence[str]:
        """As kubectl reads a folder: YAML and JSON in it, not in folders inside of it."""
        with files.named(pattern):
            path = Path(pattern)
            if path.is_dir():
                return sorted(str(p) for p in path.iterdir() if p.suffix in _ENDINGS and p.is_file())
            return [pattern] if path.is_file() else sorted(str(p) for p in _matching(path) if p.is_file())

    def text(self, path: str) -> str | None:
        with files.named(path):
            try:
                return Path(path).read_text(encoding="utf-8")
            except FileNotFoundError:
                return None
            except UnicodeDecodeError:
                raise Unreadable(f"{path}: must be UTF-8") from None


def _matching(pattern: Path) -> Iterator[Path]:
    """NB: a glob begins where the pattern has its first wildcard."""
    parts = pattern.parts
    first = next((i for i, part in enumerate(parts) if set(part) & set("*?[")), None)
    return iter(()) if first is None else Path(*parts[:first]).glob("/".join(parts[first:]))


def suites(paths: Iterable[str]) -> list[str]:
    """The files of suites that these paths name, folders searched to their depths. Raises Unreadable."""
    found: dict[str, None] = {}
    for path in paths:
        if not path:
            raise Unreadable('"" is no path')
        plain = Path(os.path.normpath(path))
        with files.named(path):
            if plain.is_dir():
                found |= dict.fromkeys(_inside(plain))
            elif plain.exists():
                found[str(plain)] = None
            else:
                raise Unreadable(f"{path}: there is no such file or folder")
    return list(found)


def _inside(root: Path) -> Iterator[str]:
    for here, folders, names in os.walk(root):
        folders[:] = sorted(name for name in folders if not name.startswith(".") and name != "node_modules")
        for name in sorted(names):
            path = Path(here) / name
            if _is_named(name, _OURS + _KYVERNOS) or (_is_named(name, _GATEKEEPERS) and _holds(path, _GATEKEEPER_MARK)):
                yield str(path)


def _is_named(name: str, patterns: Iterable[str]) -> bool:
    return any(fnmatch.fnmatchcase(name, pattern) for pattern in patterns)


def _holds(path: Path, mark: bytes) -> bool:
    try:
        return mark in path.read_bytes()
    except OSError:
        return False


def suite(path: str, disk: Disk) -> list[Suite]:
    """What a file of suites holds; files of other tools may hold several. Raises Unreadable and BadSuite."""
    file, name = files.file(path), Path(path).name
    is_ours = _is_named(name, _OURS)
    if not is_ours and (_KYVERNO_MARK in file.data or _is_named(name, _KYVERNOS)):
        from kadmit.authoring.foreign import kyverno

        return kyverno.read(file, disk)
    if not is_ours and _GATEKEEPER_MARK in file.data:
        from kadmit.authoring.foreign import gatekeeper

        return gatekeeper.read(file, disk)
    from kadmit.authoring.suite import reading

    return [reading.read(file, disk)]
