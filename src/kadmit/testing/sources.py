"""What tests may hand over as objects: dicts, YAML, files, folders, and lists of these. All become manifests with a place."""

from collections.abc import Iterable, Iterator, Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any, TypeAlias

from kadmit.api.gojson import marshal
from kadmit.authoring import manifests
from kadmit.authoring.manifests import File, Manifest, Unreadable

Source: TypeAlias = Mapping[str, Any] | str | Path | Iterable[Any]

DICT, YAML = "dict", "YAML"
NAMELESS = (DICT, YAML)  # what stands for a file where there is none

_ENDINGS = (".json", ".yaml", ".yml")


class Sources:
    """Reads sources. A relative path is looked for in each of the folders; names of files are told from the first."""

    def __init__(self, *folders: Path) -> None:
        self._folders = folders or (Path.cwd(),)

    def read(self, source: Source) -> Iterator[Manifest]:
        """Raises Unreadable."""
        if isinstance(source, Mapping):
            yield from manifests.read(File(DICT, marshal(dict(source)).encode()))
        elif isinstance(source, Path):
            yield from self._path(source)
        elif isinstance(source, str):
            yield from self._text(source)
        else:
            for each in source:
                yield from self.read(each)

    def one(self, source: Source) -> Manifest:
        """The only object of a source. Raises Unreadable."""
        found = list(self.read(source))
        if len(found) != 1:
            raise Unreadable(f"a request has one object, not {len(found)}")
        return found[0]

    def _text(self, text: str) -> Iterator[Manifest]:
        """NB: a path has no line ends, and YAML that makes an object has some, or braces."""
        if "\n" in text or text.lstrip().startswith("{"):
            yield from manifests.read(File(YAML, text.encode()))
        else:
            yield from self._path(Path(text))

    def _path(self, path: Path) -> Iterator[Manifest]:
        found = next((folder / path for folder in self._folders if (folder / path).exists()), None)
        if found is None:
            looked = " or ".join(str(folder) for folder in self._folders)
            raise Unreadable(f"{path}: no such file or folder in {looked}")
        for file in sorted(p for p in found.iterdir() if p.suffix in _ENDINGS and not p.is_dir()) if found.is_dir() else [found]:
            status = file.stat()
            yield from _read(file, self._named(file), status.st_mtime_ns, status.st_size)

    def _named(self, file: Path) -> str:
        """NB: the last folder is that of the project, by which everybody knows a file."""
        root = self._folders[-1]
        return str(file.relative_to(root)) if file.is_relative_to(root) else str(file)


@lru_cache(maxsize=256)
def _read(file: Path, name: str, _changed: int, _size: int) -> tuple[Manifest, ...]:
    """A file is read once, however many tests load it."""
    return tuple(manifests.read(File(name, file.read_bytes())))
