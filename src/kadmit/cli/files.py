"""Files as commands with many of them take them: by name, from folders, and from standard input."""

import sys
from collections.abc import Iterable, Iterator
from pathlib import Path

from kadmit.authoring import manifests
from kadmit.authoring.manifests import File, Manifest, Unreadable

_ENDINGS = (".json", ".yaml", ".yml")


def read_all(paths: Iterable[str]) -> list[Manifest]:
    """The objects of all files, in order. Raises Unreadable."""
    return [manifest for file in _files(paths) for manifest in manifests.read(file)]


def _files(paths: Iterable[str]) -> Iterator[File]:
    for path in paths:
        if path == "-":
            yield File("standard input", sys.stdin.buffer.read())
        elif Path(path).is_dir():
            yield from map(_file, _inside(path))
        else:
            yield _file(Path(path))


def _inside(folder: str) -> list[Path]:
    """As kubectl reads a folder: YAML and JSON in it, not in folders inside of it."""
    try:
        return sorted(p for p in Path(folder).iterdir() if p.suffix in _ENDINGS and not p.is_dir())
    except OSError as e:
        raise Unreadable(f"{folder}: {e.strerror}") from None


def _file(path: Path) -> File:
    try:
        return File(str(path), path.read_bytes())
    except OSError as e:
        raise Unreadable(f"{path}: {e.strerror}") from None
