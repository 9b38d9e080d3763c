"""Manifests: the objects of files, each of which knows the file and the line that it comes from."""

from collections.abc import Iterator
from functools import cached_property
from typing import Any, TypeAlias

from msgspec import Struct, field

from kadmit.api import yaml
from kadmit.api.gojson import marshal
from kadmit.api.meta import GroupVersionKind
from kadmit.authoring import positions
from kadmit.authoring.positions import Positions
from kadmit.kinds import fulltext
from kadmit.kinds.fulltext import SyntaxFault

Json: TypeAlias = dict[str, Any]

_KINDS = {list: "a list", str: "a text", bool: "true or false", int: "a number", float: "a number"}


class Unreadable(ValueError):
    """A file that holds no objects; the message names it."""


class File:
    """A file that was read. `name` is how messages call it."""

    def __init__(self, name: str, data: bytes) -> None:
        self.name = name
        self.data = data

    @cached_property
    def positions(self) -> Positions:
        return Positions(self.data)


class Manifest(Struct, frozen=True):
    """One object of a file. `within` leads to it from the top of its document: items of a List are objects, too."""

    file: File
    document: int
    value: Json
    within: tuple[str, ...] = ()
    repeated: tuple[str, ...] = field(default=())  # keys that are given twice

    @property
    def kind(self) -> GroupVersionKind:
        group, _, version = str(self.value.get("apiVersion") or "").rpartition("/")
        return GroupVersionKind(group, version, str(self.value.get("kind") or ""))

    @property
    def metadata(self) -> Json:
        found = self.value.get("metadata")
        return found if isinstance(found, dict) else {}

    @property
    def name(self) -> str:
        return str(self.metadata.get("name") or self.metadata.get("generateName") or "")

    @property
    def body(self) -> bytes:
        return marshal(self.value).encode()

    def line(self, field_path: str = "") -> int:
        """The line of a field, or of where the object begins."""
        return self.file.positions.place(self.document, [*self.within, *positions.parts(field_path)]).line

    def place(self, field_path: str = "", message: str = "") -> str:
        """file:line:column of a field, or of where the object begins."""
        line, column = self.file.positions.told(self.document, [*self.within, *positions.parts(field_path)], message)
        return f"{self.file.name}:{line}:{column}"


def read(file: File) -> list[Manifest]:
    """All objects of a file, those in Lists too. Raises Unreadable."""
    try:
        return list(_objects(file))
    except yaml.YamlError as e:
        at = positions.fault(file.data)
        raise Unreadable(f"{file.name}:{f'{at.line}:{at.column}:' if at else ''} {e}") from None


def _objects(file: File) -> Iterator[Manifest]:
    for number, document in enumerate(_documents(file.data)):
        if document.value is None:
            continue
        if not isinstance(document.value, dict):
            line, column = file.positions.place(number, ())
            raise Unreadable(f"{file.name}:{line}:{column}: must be an object, is {_KINDS[document.value.__class__]}")
        yield from _unfolded(Manifest(file, number, document.value, repeated=document.repeated))


def _documents(data: bytes) -> Iterator[yaml.Document]:
    if data.lstrip()[:1] == b"{":
        try:
            value = fulltext.loads(data)
            return iter((yaml.Document(value, _repeated(data, value)),))
        except SyntaxFault:
            pass  # YAML has braces too, and its own words for what is wrong in them
    return yaml.load_all(data)


def _repeated(data: bytes, value: Any) -> tuple[str, ...]:
    """Members that JSON names twice, in the words of a server that is sent them."""
    if fulltext.has_no_duplicates(data, value):
        return ()
    return tuple(problem.text for problem in fulltext.duplicates(fulltext.read(data)))


def _unfolded(manifest: Manifest) -> Iterator[Manifest]:
    """The items of a List, or the object itself."""
    value = manifest.value
    items = value.get("items")
    if value.get("apiVersion") != "v1" or value.get("kind") != "List" or not isinstance(items, list):
        yield manifest
        return
    for i, item in enumerate(items):
        if not isinstance(item, dict):
            raise Unreadable(f"{manifest.place(f'items[{i}]')}: must be an object, is {_KINDS.get(item.__class__, 'null')}")
        yield Manifest(manifest.file, manifest.document, item, ("items", str(i)), manifest.repeated)
