"""Paths into an object, and sets of paths: what a field manager owns.

A path is a sequence of elements. A field name is by far the most frequent element and is a plain string; list items are
named by their keys (`Key`), by their value (`Value`, in sets) or by position (`Index`, in atomic lists). A `Set` is a
trie: `members` are the paths that end here, `children` hold the longer ones. Sets are never changed once made, so
results share the parts of their inputs, and a child is never empty.
"""

import types
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import TypeAlias

from msgspec import Struct

from kadmit.patch import gotext, values


class Key:
    """A list item by its key fields, sorted by name. Equal keys are equal as JSON: 1 is 1.0, but not true."""

    __slots__ = ("_hash", "_token", "fields")

    def __init__(self, fields: Iterable[tuple[str, object]]) -> None:
        self.fields = tuple(sorted(fields, key=_name_of))
        self._token = tuple([(name, value if type(value) is str else values.token(value)) for name, value in self.fields])
        self._hash = hash(self._token)

    def __eq__(self, other: object) -> bool:
        return self is other or (isinstance(other, Key) and self._token == other._token)

    def __hash__(self) -> int:
        return self._hash

    def __repr__(self) -> str:
        return f"Key({self.fields!r})"


def _name_of(named: tuple[str, object]) -> str:
    return named[0]


class Value:
    """An item of a set, by its value."""

    __slots__ = ("_token", "value")

    def __init__(self, value: object) -> None:
        self.value = value
        self._token = values.token(value)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Value) and self._token == other._token

    def __hash__(self) -> int:
        return hash(("value", self._token))

    def __repr__(self) -> str:
        return f"Value({self.value!r})"


class Index(Struct, frozen=True):
    """An item of a list without keys, by its position."""

    position: int


Element: TypeAlias = str | Key | Value | Index
Path: TypeAlias = tuple[Element, ...]


def element_text(element: Element) -> str:
    """An element as messages print it: `.spec`, `[name="app"]`, `[="a"]`, `[0]`."""
    if isinstance(element, str):
        return "." + element
    if isinstance(element, Key):
        return "[" + ",".join(f"{name}={_value_text(value)}" for name, value in element.fields) + "]"
    if isinstance(element, Value):
        return f"[={_value_text(element.value)}]"
    return f"[{element.position}]"


def path_text(path: Iterable[Element]) -> str:
    return "".join(map(element_text, path))


def _value_text(value: object) -> str:
    if isinstance(value, str):
        return gotext.quote(value)
    if isinstance(value, list):
        return "[" + ",".join(map(_value_text, value)) + "]"
    if isinstance(value, dict):
        return "".join(f"{key}={_value_text(item)}" for key, item in value.items())
    if isinstance(value, values.Foreign):
        return "{{undefined}}"
    return "null" if value is None else values.text(value)


def element_order(element: Element) -> tuple[object, ...]:
    """Sorts elements: field names, then keys, then values, then positions."""
    if isinstance(element, str):
        return (0, element)
    if isinstance(element, Key):
        return (1, tuple([(name, values.order(value)) for name, value in element.fields]))
    if isinstance(element, Value):
        return (2, values.order(element.value))
    return (3, element.position)


_NOTHING: frozenset[Element] = frozenset()
_CHILDLESS: "Mapping[Element, Set]" = types.MappingProxyType({})


class Set:
    """A set of paths. `Set()` is the empty one; nobody owns the root.

    Thousands are made per request, hence no dataclass: one costs four times as much to make.
    """

    __slots__ = ("children", "members")

    def __init__(self, members: frozenset[Element] = _NOTHING, children: "Mapping[Element, Set]" = _CHILDLESS) -> None:
        self.members = members
        self.children = children

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Set) and self.members == other.members and self.children == other.children

    def __hash__(self) -> int:
        return hash(self.members) ^ hash(frozenset(self.children))

    def __repr__(self) -> str:
        return f"Set({', '.join(map(path_text, self))})"

    def __bool__(self) -> bool:
        return bool(self.members or self.children)

    def __contains__(self, path: object) -> bool:
        if not isinstance(path, tuple) or not path:
            return False
        node = self
        for element in path[:-1]:
            if element not in node.children:
                return False
            node = node.children[element]
        return path[-1] in node.members

    def __iter__(self) -> Iterator[Path]:
        """All paths in order; those that end here come before the longer ones, as conflicts are listed."""
        yield from self._walk(())

    def _walk(self, prefix: Path) -> Iterator[Path]:
        for element in sorted(self.members, key=element_order):
            yield (*prefix, element)
        for element in sorted(self.children, key=element_order):
            yield from self.children[element]._walk((*prefix, element))

    def __len__(self) -> int:
        return len(self.members) + sum(map(len, self.children.values()))

    def __or__(self, other: "Set") -> "Set":
        """Union."""
        if not other or self is other:
            return self
        if not self:
            return other
        children = dict(self.children)
        for element, child in other.children.items():
            mine = children.get(element)
            children[element] = child if mine is None else mine | child
        return Set(self.members | other.members, children)

    def __and__(self, other: "Set") -> "Set":
        """Intersection; elements are this set's own, which matters for how a number was written."""
        if self is other:
            return self
        shared = (
            (element, child & other.children[element]) for element, child in self.children.items() if element in other.children
        )
        members = frozenset(element for element in self.members if element in other.members)
        return Set(members, {element: child for element, child in shared if child})

    def __sub__(self, other: "Set") -> "Set":
        """Difference path by path: taking `.a` away leaves `.a.b`."""
        if not other or not self:
            return self
        return Set(self.members - other.members, self._children_without(other, Set.__sub__))

    def without(self, other: "Set") -> "Set":
        """Recursive difference: taking `.a` away takes `.a.b` too."""
        if not other or not self:
            return self
        kept = {element: child for element, child in self.children.items() if element not in other.members}
        return Set(self.members - other.members, Set(_NOTHING, kept)._children_without(other, Set.without))

    def _children_without(self, other: "Set", difference: "Callable[[Set, Set], Set]") -> "dict[Element, Set]":
        kept = {}
        for element, child in self.children.items():
            taken = other.children.get(element)
            remaining = child if taken is None else difference(child, taken)
            if remaining:
                kept[element] = remaining
        return kept

    def leaves(self) -> "Set":
        """The paths that no other path continues."""
        members = frozenset(element for element in self.members if element not in self.children)
        return Set(members, {element: child.leaves() for element, child in self.children.items()})

    def below(self, element: Element) -> "Set":
        """The paths that begin with the element, without it."""
        return self.children.get(element, EMPTY)


EMPTY = Set()


def set_of(*paths: Iterable[Element]) -> Set:
    """A set of the given paths. Parents are not implied."""
    members: set[Element] = set()
    longer: dict[Element, list[Path]] = {}
    for path in paths:
        head, *rest = path
        if rest:
            longer.setdefault(head, []).append(tuple(rest))
        else:
            members.add(head)
    return Set(frozenset(members), {head: set_of(*rests) for head, rests in longer.items()})


Filter: TypeAlias = Callable[[Set], Set]
"""What of a set a manager may own: the fields that an endpoint resets are taken out."""


class Excluding(Struct, frozen=True):
    """A filter that takes out the given paths and everything below them."""

    paths: Set

    def __call__(self, owned: Set) -> Set:
        return owned.without(self.paths)


def excluding(*paths: Iterable[Element]) -> Excluding:
    return Excluding(set_of(*paths))


ANY = Index(-1)
"""In a pattern of `including`, stands for any element."""


def including(*prefixes: Iterable[Element]) -> Filter:
    """A filter that keeps only paths on the way to, at, or below one of the prefixes."""
    patterns = tuple(tuple(prefix) for prefix in prefixes)
    return lambda owned: _included(owned, patterns)


def _included(owned: Set, patterns: tuple[Path, ...]) -> Set:
    if any(not pattern for pattern in patterns):
        return owned

    def tails(element: Element) -> tuple[Path, ...]:
        return tuple(pattern[1:] for pattern in patterns if pattern[0] in (ANY, element))

    members = frozenset(element for element in owned.members if tails(element))
    children = {element: _included(child, tails(element)) for element, child in owned.children.items() if tails(element)}
    return Set(members, {element: child for element, child in children.items() if child})
