"""What changed between two objects of one shape: paths added, modified and removed.

This is how an update's ownership is found, and how an apply's conflicts are. Parts that both objects share are skipped
without a look.
"""

from collections.abc import Mapping

from msgspec import Struct

from kadmit.patch import values
from kadmit.patch.fieldpath import EMPTY, Element, Filter, Set
from kadmit.patch.shapes import Leaf, ListShape, MapShape, Shape
from kadmit.patch.typed import TOO_DEEP, MergeError, Object, as_map, child_shape, is_atomic, item_elements, resolved


class Comparison(Struct, frozen=True):
    """No path is in two of the sets; all empty means that the objects are equal."""

    added: Set = EMPTY
    modified: Set = EMPTY
    removed: Set = EMPTY

    def filtered(self, keep: Filter | None) -> "Comparison":
        return self if keep is None else Comparison(keep(self.added), keep(self.modified), keep(self.removed))


def compare(shape: Shape, before: object, after: object) -> Comparison:
    changes = _Changes()
    try:
        _compare_contents(resolved(shape), before, after, changes)
    except RecursionError:
        raise MergeError(TOO_DEEP) from None
    return Comparison(changes.added.frozen(), changes.modified.frozen(), changes.removed.frozen())


class _Growing:
    """A Set while it is being made."""

    __slots__ = ("children", "members")

    def __init__(self) -> None:
        self.members: set[Element] = set()
        self.children: dict[Element, Set] = {}

    def graft(self, element: Element, below: Set) -> None:
        if below:
            self.children[element] = self.children.get(element, EMPTY) | below

    def frozen(self) -> Set:
        return Set(frozenset(self.members), self.children) if self.members or self.children else EMPTY


class _Changes:
    """Changes below one path."""

    __slots__ = ("added", "modified", "removed")

    def __init__(self) -> None:
        self.added, self.modified, self.removed = _Growing(), _Growing(), _Growing()

    def graft(self, element: Element, inner: "_Changes") -> None:
        self.added.graft(element, inner.added.frozen())
        self.modified.graft(element, inner.modified.frozen())
        self.removed.graft(element, inner.removed.frozen())

    def came(self, shape: Shape, element: Element, value: object) -> None:
        self.added.members.add(element)
        self.added.graft(element, _everything(shape, value))

    def went(self, shape: Shape, element: Element, value: object) -> None:
        self.removed.members.add(element)
        self.removed.graft(element, _everything(shape, value))


def _compare(shape: Shape, before: object, after: object, changes: _Changes, here: Element) -> None:
    """Compares two values at `here`, noting changes relative to its parent."""
    if type(shape) is Leaf:
        if not values.equal(before, after):
            changes.modified.members.add(here)
        return
    if before is after or (before == after and values.same_json(before, after)):
        return
    shape = resolved(shape)
    if is_changed_leaf(shape, before, after):
        changes.modified.members.add(here)
    if not (is_atomic(shape, before) and is_atomic(shape, after)):
        inner = _Changes()
        _compare_contents(shape, before, after, inner)
        changes.graft(here, inner)


def _compare_contents(shape: Shape, before: object, after: object, changes: _Changes) -> None:
    if type(shape) is ListShape:
        _compare_lists(shape, before if isinstance(before, list) else [], after if isinstance(after, list) else [], changes)
    else:
        _compare_maps(as_map(shape), _fields(shape, before), _fields(shape, after), changes)


_NO_FIELDS: Mapping[str, object] = {}


def _fields(shape: Shape, value: object) -> Mapping[str, object]:
    return value if isinstance(value, dict) and not is_atomic(shape, value) else _NO_FIELDS


def is_changed_leaf(shape: Shape, before: object, after: object) -> bool:
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
            changes.went(child, name, old)
    for name, new in after.items():
        if name not in before:
            changes.came(child_shape(shape, name), name, new)


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
        changes.went(shape.element, element, olds[0])
    if len(news) == 1:
        changes.came(shape.element, element, news[0])
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
    if not value or type(shape) is Leaf:
        return EMPTY
    shape = resolved(shape)
    if is_atomic(shape, value):
        return EMPTY
    if type(shape) is ListShape:
        return _every_item(shape, value) if type(value) is list else EMPTY
    return _every_field(as_map(shape), value) if type(value) is dict else EMPTY


def _every_field(shape: MapShape, value: Object) -> Set:
    fields, element = shape.fields, shape.element
    children: dict[Element, Set] = {}
    for name, item in value.items():
        child = fields.get(name, element)
        if type(child) is Leaf:
            continue
        if below := _everything(child or child_shape(shape, name), item):
            children[name] = below
    return Set(frozenset(value), children)


def _every_item(shape: ListShape, value: list[object]) -> Set:
    """A repeated item has no paths of its own below it."""
    children: dict[Element, Set] = {}
    for element, item in zip(item_elements(shape, value), value, strict=True):
        children[element] = EMPTY if element in children else _everything(shape.element, item)
    return Set(frozenset(children), {element: below for element, below in children.items() if below})
