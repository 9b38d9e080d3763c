"""Where in the given files policies, bindings and webhook configurations stand, and their expressions in them."""

from collections.abc import Iterable

from kadmit.api.registration import GROUP
from kadmit.authoring import positions
from kadmit.authoring.manifests import Manifest


class Places:
    """Answers with file:line:column, or with nothing where no file is known."""

    def __init__(self, manifests: Iterable[Manifest]) -> None:
        self._manifests = {(m.kind.kind, m.name): m for m in manifests if m.kind.group == GROUP}

    def of(self, kind: str, name: str, field: str = "", offset: int | None = None) -> str:
        """Of an object, of a field of it, or of a character in the text of that field."""
        manifest = self._manifests.get((kind, name))
        return "" if manifest is None else place(manifest, field, offset)


def place(manifest: Manifest, field: str = "", offset: int | None = None) -> str:
    path = [*manifest.within, *positions.parts(field)]
    line, column = manifest.file.positions.place(manifest.document, path, offset)
    return f"{manifest.file.name}:{line}:{column}"
