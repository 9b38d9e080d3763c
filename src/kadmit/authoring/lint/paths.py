"""Paths: where a value of an expression comes from, such as object.spec.containers, an item of it, its image.

An item of a list knows whose it is: what a loop has found out about its own item holds for that item, what is true of all items
holds for each.
"""

from collections.abc import Iterable
from typing import NamedTuple, TypeAlias

ALL = ""  # every item
ANY = "?"  # an item of which nobody knows which


class Item(NamedTuple):
    """An item of a list: of a loop, by an index, ALL or ANY."""

    which: str


Step: TypeAlias = str | Item
Path: TypeAlias = tuple[Step, ...]


def is_known(path: Path, facts: Iterable[Path]) -> bool:
    """Whether one of the facts says that there is something at the path: the fact is about it, or about a part of it."""
    return any(len(fact) >= len(path) and all(map(_same, path, fact)) for fact in facts)


def _same(asked: Step, fact: Step) -> bool:
    if isinstance(asked, Item) and isinstance(fact, Item):
        return fact.which == ALL or asked.which in (ANY, fact.which) or fact.which == ANY
    return asked == fact


def text(path: Path) -> str:
    """As people write it: object.spec.containers[*].image, object.metadata.labels["a/b"]."""
    made = ""
    for step in path:
        if isinstance(step, Item):
            made += f"[{step.which}]" if step.which.isdecimal() else "[*]"
        elif step.isidentifier():
            made += f".{step}" if made else step
        else:
            made += f'["{step}"]'
    return made
