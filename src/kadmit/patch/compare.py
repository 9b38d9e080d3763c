"""What changed between two objects of one shape: paths added, modified and removed.

This is how an update's ownership is found, and how an apply's conflicts are. Parts that both objects share are skipped
without a look.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import cast

from kadmit.patch import values
from kadmit.patch.fieldpath import EMPTY, Element, Filter, Set
from kadmit.patch.shapes import ListShape, MapShape, Shape
from kadmit.patch.typed import TOO_DEEP, MergeError, Object, as_map, child_shape, is_atomic, item_elements, resolved


@dataclass(frozen=True, slots=True)
class Comparison:
    """No path is in two of the sets; all empty means that the objects are equal."""

    added: Set = EMPTY
    modified: Set = EMPTY
    removed: Set = EMPTY

    def filtered(self, keep: Filter | None) -> "Comparison":
        return self if keep is None else Comparison(keep(self.added), keep(self.modified), keep(self.removed))


def compare(shape: Shape, before: object, after: object) -> Comparison:
    changes = _Changes()
    try:
        _compare(shape, before, after, changes, None)
    except RecursionError:
        raise MergeError(TOO_DEEP) from None
    return Comparison(changes.added.frozen(), changes.modified.frozen(), changes.removed.frozen())


@dataclass(slots=True)
class _Growing:
    """A Set while it is being made."""

    members: set[Element] = field(default_factory=set)
    children: dict[Element, Set] = field(default_factory=dict)

    def graft(self, element: Element, below: Set, *, itself: bool) -> None:
        if itself:
            self.members.add(element)
        if below:
            self.children[element] = self.children.get(element, EMPTY) | below

    def frozen(self) -> Set:
        return Set(frozenset(self.members), self.children) if self.members or self.children else EMPTY


@dataclass(slots=True)
class _Changes:
    """Changes below one path."""

    added: _Growing = field(default_factory=_Growing)
    modified: _Growing = field(default_factory=_Growing)
    removed: _Growing = field(default_factory=_Growing)

    def graft(self, element: Element, inner: "_Changes") -> None:
        self.added.graft(element, inner.added.frozen(), itself=False)
        self.modified.graft(element, inner.modified.frozen(), itself=False)
        self.removed.graft(element, inner.removed.frozen(), itself=False)


def _compare(shape: Shape, before: object, after: object, changes: _Changes, here: Element | None) -> None:
    """Compares two values at `here` (None: the root, which nobody owns), noting changes relative to its parent."""
    if before is after:
        return
    shape = resolved(shape)
    inner = changes if here is None else _Changes()
    if _is_changed_leaf(shape, before, after) and here is not None:
        changes.modified.members.add(here)
    if isinstance(shape, ListShape):
        if shape.associative:
            _compare_lists(shape, before if isinstance(before, list) else [], after if isinstance(after, list) else [], inner)
    elif not (is_atomic(shape, before) and is_atomic(shape, after)):
        _compare_maps(as_map(shape), _fields(shape, before), _fields(shape, after), inner)
    if here is not None:
        changes.graft(here, inner)


_NO_FIELDS: Mapping[str, object] = {}


def _fields(shape: Shape, value: object) -> Mapping[str, object]:
    return value if isinstance(value, dict) and not is_atomic(shape, value) else _NO_FIELDS


def _is_changed_leaf(shape: Shape, before: object, after: object) -> bool:
    """Whether the values differ as leaves: atomic ones do, and so do an empty container and null."""
    if is_atomic(shape, before) or is_atomic(shape, after) or not (before or after):
        return not values.equal(before, after)
    return False


def _compare_maps(shape: MapShape, before: Mapping[str, object], after: Mapping[str, object], changes: _Changes) -> None:
    for name, old in before.items():
        child = child_shape(shape, name)
        if name in after:
            _compare(child, old, after[name], changes, name)
        else:
            changes.removed.graft(name, _everything(child, old), itself=True)
    for name, new in after.items():
        if name not in before:
            changes.added.graft(name, _everything(child_shape(shape, name), new), itself=True)


def _compare_lists(shape: ListShape, before: list[object], after: list[object], changes: _Changes) -> None:
    """Items by name. A name that occurs twice is one leaf, since its items cannot be told apart."""
    old, new = _grouped(shape, before), _grouped(shape, after)
    for element in old | new:
        olds, news = old.get(element, []), new.get(element, [])
        if len(olds) == 1 and len(news) == 1:
            _compare(shape.element, olds[0], news[0], changes, element)
        elif len(olds) > 1 and len(news) > 1:
            if not values.equal(olds, news):
                changes.modified.members.add(element)
        else:
            _compare_changed_count(shape, element, olds, news, changes)


def _compare_changed_count(shape: ListShape, element: Element, olds: list[object], news: list[object], changes: _Changes) -> None:
    """An item came, went, became repeated or stopped being so."""
    if len(olds) == 1:
        changes.removed.graft(element, _everything(shape.element, olds[0]), itself=True)
    if len(news) == 1:
        changes.added.graft(element, _everything(shape.element, news[0]), itself=True)
    if len(olds) > 1:
        changes.removed.members.add(element)
    if len(news) > 1:
        changes.added.members.add(element)


def _grouped(shape: ListShape, items: list[object]) -> dict[Element, list[object]]:
    groups: dict[Element, list[object]] = {}
    for element, item in zip(item_elements(shape, items), items, strict=True):
        groups.setdefault(element, []).append(item)
    return groups


def _everything(shape: Shape, value: object) -> Set:
    """All paths below a value that came or went as a whole; containers are changed like their contents."""
    shape = resolved(shape)
    if not value or is_atomic(shape, value):
        return EMPTY
    if isinstance(shape, ListShape):
        return _every_item(shape, cast("list[object]", value)) if isinstance(value, list) else EMPTY
    return _every_field(as_map(shape), cast("Object", value)) if isinstance(value, dict) else EMPTY


def _every_field(shape: MapShape, value: Object) -> Set:
    children = {name: _everything(child_shape(shape, name), item) for name, item in value.items()}
    return Set(frozenset(children), {name: below for name, below in children.items() if below})


def _every_item(shape: ListShape, value: list[object]) -> Set:
    groups = _grouped(shape, value)
    children = {element: _everything(shape.element, items[0]) for element, items in groups.items() if len(items) == 1}
    return Set(frozenset(groups), {element: below for element, below in children.items() if below})
