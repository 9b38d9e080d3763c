"""YAML as Kubernetes reads it: the values that its JSON would have, and its words for what is wrong.

The reading itself is in `yamlvalues`, which is loaded, with the library beneath it, when there is YAML to read: most requests are
JSON, and a server that starts has none to read at all.
"""

from collections.abc import Iterator
from typing import Any, TypeAlias

from msgspec import Struct

Json: TypeAlias = Any


class YamlError(ValueError):
    """Not YAML, or not JSON; the message is Kubernetes'."""


class Document(Struct, frozen=True):
    """One document. `repeated` names keys that are given twice: `line 5: key "data" already set in map`."""

    value: Json
    repeated: tuple[str, ...] = ()

    @property
    def strict_error(self) -> str:
        """What strict decoding says of repeated keys; nothing if there are none."""
        return "yaml: unmarshal errors:\n  " + "\n  ".join(self.repeated) if self.repeated else ""


def load(text: str | bytes) -> Document:
    """The first document; what follows it is not looked at. Raises YamlError."""
    return next(load_all(text), Document(None))


def load_all(text: str | bytes) -> Iterator[Document]:
    """Every document, empty ones too. Raises YamlError."""
    from kadmit.api import yamlvalues

    yield from yamlvalues.documents(text)
