"""The objects of `-f`, as the webhook takes them: read through the author's workspace, which says what is wrong and where."""

from collections.abc import Sequence
from pathlib import Path

from kadmit.authoring.workspace import Workspace
from kadmit.cli import files
from kadmit.matching.attributes import Json

_FIRST = "CustomResourceDefinition"


class PolicyFiles:
    """Files and folders, by name. Raises ValueError where they cannot be used."""

    def __init__(self, paths: Sequence[str]) -> None:
        self._paths = paths

    def stamp(self) -> object:
        return [_stamp(path) for given in self._paths for path in _within(Path(given))]

    def read(self) -> Sequence[Json]:
        workspace = Workspace()
        found: list[Json] = []
        for manifest in sorted(files.read_all(self._paths), key=lambda m: m.kind.kind != _FIRST):
            value = workspace.read(manifest)
            workspace.cluster.put(value)
            target = workspace.cluster.target(value)
            metadata = {**manifest.metadata, **({"namespace": target.namespace} if target.resource.namespaced else {})}
            found.append({**value, "metadata": metadata})
        return found


def _within(path: Path) -> list[Path]:
    """NB: a mounted ConfigMap changes by its links, so links are followed."""
    return [path, *sorted(path.iterdir())] if path.is_dir() else [path]


def _stamp(path: Path) -> tuple[str, int, int, int]:
    try:
        found = path.stat()
    except OSError:
        return str(path), 0, 0, 0
    return str(path), found.st_mtime_ns, found.st_size, found.st_ino
