"""Columns of a Table: each says what it is called, of which type it is, and how its cell is read from an object.

    Column("Desired", at("spec.replicas", 0), type="integer")

A cell is a text, a number or a boolean. Priority 1 marks columns that kubectl shows only with -o wide. A column without a name
gives a cell and is not listed.
"""

from collections.abc import Callable, Iterable, Mapping
from typing import Any, TypeAlias, TypeVar

from msgspec import Struct

from kadmit.presentation import ages

Json: TypeAlias = Any
Cell: TypeAlias = str | int | float | bool | None
_T = TypeVar("_T")

NONE, UNSET = "<none>", "<unset>"


class Item:
    """An object that is shown, at a moment."""

    __slots__ = ("_memory", "now", "value")

    def __init__(self, value: Json, now: float) -> None:
        self.value = value
        self.now = now
        self._memory: dict[Callable[[Item], Any], Any] = {}

    def at(self, path: str, otherwise: Json = None) -> Json:
        """What stands at spec.a.b; NB: null is nothing, as in Go."""
        value = self.value
        for name in path.split("."):
            value = value.get(name) if isinstance(value, dict) else None
        return otherwise if value is None else value

    def items(self, path: str) -> list[Json]:
        found = self.at(path)
        return found if isinstance(found, list) else []

    def members(self, path: str) -> Mapping[str, Json]:
        found = self.at(path)
        return found if isinstance(found, dict) else {}

    def since(self, path: str) -> str:
        return ages.since(self.at(path), self.now)

    def once(self, question: "Callable[[Item], _T]") -> _T:
        """The answer to a question that several columns ask."""
        if question not in self._memory:
            self._memory[question] = question(self)
        answer: _T = self._memory[question]
        return answer

    @property
    def deleted(self) -> bool:
        return self.at("metadata.deletionTimestamp") is not None


Reader: TypeAlias = Callable[[Item], Cell]


class Column(Struct, frozen=True):
    name: str
    cell: Reader
    type: str = "string"
    format: str = ""
    priority: int = 0
    description: str = ""

    def as_json(self) -> dict[str, Json]:
        return {
            "name": self.name,
            "type": self.type,
            "format": self.format,
            "description": self.description,
            "priority": self.priority,
        }


Columns: TypeAlias = tuple[Column, ...]


# ---------------------------------------------------------------- reading


def at(path: str, otherwise: Cell = "") -> Reader:
    """What stands there, or this."""

    def read(item: Item) -> Cell:
        found: Cell = item.at(path, otherwise)
        return found

    return read


def filled(path: str, otherwise: str = NONE) -> Reader:
    """What stands there, or this if it is missing or empty."""

    def read(item: Item) -> Cell:
        found: Cell = item.at(path)
        return found or otherwise

    return read


def count(*paths: str) -> Reader:
    """How many items or members stand there, all together."""
    return lambda item: sum(len(item.at(path) or ()) for path in paths)


def name(item: Item) -> Cell:
    found: str = item.at("metadata.name", "")
    return found


def age(item: Item) -> Cell:
    return item.since("metadata.creationTimestamp")


NAME = Column("Name", name, format="name")
AGE = Column("Age", age)


def wide(title: str, cell: Reader) -> Column:
    return Column(title, cell, priority=1)


def number(title: str, path: str) -> Column:
    return Column(title, at(path, 0), type="integer")


# ---------------------------------------------------------------- texts


def labels(found: Mapping[str, str] | None) -> str:
    """a=b,c=d"""
    return ",".join(f"{key}={value}" for key, value in sorted((found or {}).items())) or NONE


def selector(found: Mapping[str, Json] | None) -> str:
    """A label selector in one line; nothing for one that selects everything, or nothing."""
    if not found:
        return ""
    terms = [(key, f"{key}={value}") for key, value in (found.get("matchLabels") or {}).items()]
    terms += [(term.get("key", ""), _expression(term)) for term in found.get("matchExpressions") or ()]
    return ",".join(text for _, text in sorted(terms, key=lambda term: term[0]))


def _expression(term: Mapping[str, Json]) -> str:
    key, values = term.get("key", ""), ",".join(sorted(term.get("values") or ()))
    match term.get("operator"):
        case "In":
            return f"{key} in ({values})"
        case "NotIn":
            return f"{key} notin ({values})"
        case "DoesNotExist":
            return f"!{key}"
    return str(key)


def few(found: Iterable[str], limit: int = 3, *, empty: str = UNSET) -> str:
    """The first of them, and how many more there are."""
    texts = list(found)
    shown = ",".join(texts[:limit])
    if len(texts) > limit:
        return f"{shown} + {len(texts) - limit} more..."
    return shown or empty


def condition(found: Iterable[Json], kind: str) -> Json:
    """The first condition of this type, or None."""
    return next((one for one in found if one.get("type") == kind), None)


def holds(found: Iterable[Json], kind: str) -> bool:
    one = condition(found, kind)
    return one is not None and one.get("status") == "True"
