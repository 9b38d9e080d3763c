"""Files as commands with many of them take them: by name, from folders, and from standard input."""

import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NoReturn

from kadmit.authoring import manifests
from kadmit.authoring.manifests import File, Manifest, Unreadable

_ENDINGS = (".json", ".yaml", ".yml")
_STDIN = "standard input"


def read_all(paths: Iterable[str]) -> list[Manifest]:
    """The objects of all files, in order. Raises Unreadable."""
    return [manifest for path in paths for manifest in _objects(path)]


def read_some(paths: Iterable[str]) -> list[Manifest]:
    """The same, where every path must lead to something: who names it means it. Raises Unreadable."""
    return [manifest for path in paths for manifest in _objects(path) or _nothing(path)]


def _objects(path: str) -> list[Manifest]:
    return [manifest for file in _files(path) for manifest in manifests.read(file)]


def _nothing(path: str) -> NoReturn:
    inside = f" in {', '.join(f'*{ending}' for ending in _ENDINGS)}" if Path(path).is_dir() else ""
    raise Unreadable(f"{_STDIN if path == '-' else path}: holds no objects{inside}")


def _files(path: str) -> Iterator[File]:
    if path == "-":
        yield File(_STDIN, sys.stdin.buffer.read())
        return
    for found in _inside(path):
        yield file(str(found))


def _inside(path: str) -> list[Path]:
    """A file, or as kubectl reads a folder: YAML and JSON in it, not in folders inside of it."""
    if not path:
        raise Unreadable('"" is no path')  # NB: to Path it is the folder that we are in, which nobody means
    with named(path):
        root = Path(path)
        return sorted(p for p in root.iterdir() if p.suffix in _ENDINGS and not p.is_dir()) if root.is_dir() else [root]


def file(path: str) -> File:
    """Raises Unreadable."""
    with named(path):
        return File(path, Path(path).read_bytes())


@contextmanager
def named(path: str) -> Iterator[None]:
    """What the system has against a path becomes Unreadable. NB: it has something against the mere name of some."""
    try:
        yield
    except OSError as e:
        raise Unreadable(f"{path}: {e.strerror}") from None
    except Unreadable:
        raise
    except ValueError as e:
        raise Unreadable(f"{path}: {e}") from None
