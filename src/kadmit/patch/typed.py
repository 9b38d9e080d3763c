"""One value under its shape: is it valid, which paths does it hold, how are its list items named.

The texts of refusals are Kubernetes' own, since they reach users through server-side apply and policies. All walks
follow the shape, not the value alone; a shape is resolved once per step, for recursive kinds.
"""

from collections.abc import Hashable, Iterable, Mapping
from typing import TypeAlias

from kadmit.patch import gotext, values
from kadmit.patch.fieldpath import EMPTY, Element, Index, Key, Set, Value, element_text
from kadmit.patch.shapes import Atomic, Deduced, Lazy, Leaf, ListShape, MapShape, Scalar, Shape

Object: TypeAlias = dict[str, object]


class MergeError(Exception):
    """A value that does not fit its shape, or cannot be merged; the message is what users are shown."""


TOO_DEEP = "object is nested too deeply"


def resolved(shape: Shape) -> Shape:
    while type(shape) is Lazy:
        shape = shape.resolve()
    return shape


def child_shape(shape: MapShape, name: str) -> Shape:
    """The shape of a field that is known to exist; an undeclared one has no type at all."""
    child = shape.fields.get(name, shape.element)
    if child is None:
        raise MergeError("schema error: invalid atom: inlined")
    return child


# -- names of list items ------------------------------------------------------------------------------------------------


class ItemError(Exception):
    """A list item that has no name."""


def item_element(shape: ListShape, item: object) -> Element:
    """How an item of an associative list is named in paths."""
    return _keyed_element(shape, item) if shape.keys else _set_element(item)


def _keyed_element(shape: ListShape, item: object) -> Key:
    if item is None:
        raise ItemError("associative list with keys may not have a null element")
    if not isinstance(item, dict):
        raise ItemError("associative list with keys may not have non-map elements")
    defaults = shape.defaults
    named = [(key, item[key] if key in item else defaults[key]) for key in shape.keys if key in item or key in defaults]
    if not named:
        keys = " ".join(map(gotext.quote, shape.keys))
        raise ItemError(
            f"associative list with keys has an element that omits all key fields [{keys}]"
            " (and doesn't have default values for any key fields)"
        )
    return Key(named)


def _set_element(item: object) -> Value:
    if isinstance(item, dict):
        raise ItemError("associative list without keys has an element that's a map type")
    if isinstance(item, list):
        raise ItemError("not supported: associative list with lists as elements")
    if item is None:
        raise ItemError("associative list without keys has an element that's an explicit null")
    return Value(item)


def item_token(shape: ListShape, item: object) -> Hashable:
    """A cheap stand-in for `item_element`: equal tokens are equal names within one list."""
    keys = shape.keys
    if len(keys) == 1 and type(item) is dict:
        key = item.get(keys[0])
        if type(key) is str:
            return key
    elif not keys and type(item) is str:
        return item
    element = item_element(shape, item)
    if isinstance(element, Key):
        return element.fields[0][1] if len(keys) == 1 and type(element.fields[0][1]) is str else element
    return element


def item_elements(shape: ListShape, items: Iterable[object]) -> list[Element]:
    return [_named(shape, position, item) for position, item in enumerate(items)]


def _named(shape: ListShape, position: int, item: object) -> Element:
    try:
        return item_element(shape, item)
    except ItemError as error:
        raise MergeError(f"element {position}: {error}") from None


# -- validation ---------------------------------------------------------------------------------------------------------

Problem: TypeAlias = tuple[str, str]
"""Where, as a path in text, and what."""


def validate(shape: Shape, value: object, *, allow_duplicates: bool = False) -> None:
    """Raises a MergeError with every violation, or does nothing."""
    try:
        problems = list(_problems(shape, value, allow_duplicates))
    except RecursionError:
        raise MergeError(TOO_DEEP) from None
    if problems:
        raise MergeError(_all_in_one(problems))


def _all_in_one(problems: list[Problem]) -> str:
    texts = [f"{where}: {what}" if where else what for where, what in problems]
    return texts[0] if len(texts) == 1 else "\n".join(["errors:", *("  " + text for text in texts)])


_FITTING: Mapping[Scalar, frozenset[type]] = {
    Scalar.STRING: frozenset((str, type(None))),
    Scalar.NUMERIC: frozenset((int, float, type(None))),
    Scalar.BOOLEAN: frozenset((bool, type(None))),
    Scalar.UNTYPED: frozenset((str, int, float, bool, type(None))),
}

_MISFITS: Mapping[Scalar, str] = {
    Scalar.STRING: "expected string, got &value.valueUnstructured{{Value:{syntax}}}",
    Scalar.NUMERIC: "expected numeric (int or float), got {type}",
    Scalar.BOOLEAN: "expected boolean, got &{{{text}}}",
    Scalar.UNTYPED: "expected any scalar, got &{{{text}}}",
}


def _problems(shape: Shape, value: object, duplicates: bool) -> Iterable[Problem]:
    if type(shape) is Lazy:
        shape = resolved(shape)
    if type(shape) is Leaf:
        return () if type(value) in _FITTING[shape.scalar] else (("", _misfit(shape.scalar, value)),)
    if value is None:
        return ()
    if type(shape) is MapShape:
        return (
            _map_problems(shape, value, duplicates)
            if type(value) is dict
            else (("", f"expected map, got &{{{values.text(value)}}}"),)
        )
    if type(shape) is ListShape:
        return (
            _list_problems(shape, value, duplicates)
            if type(value) is list
            else (("", f"expected list, got &{{{values.text(value)}}}"),)
        )
    return _untyped_problems(value)


def _misfit(scalar: Scalar, value: object) -> str:
    return _MISFITS[scalar].format(syntax=values.syntax(value), type=values.type_name(value), text=values.text(value))


def _map_problems(shape: MapShape, value: dict[str, object], duplicates: bool) -> list[Problem]:
    found: list[Problem] = []
    fields, element = shape.fields, shape.element
    for name, item in value.items():
        child = fields.get(name, element)
        if child is None:
            found.append(("." + name, "field not declared in schema"))
            break
        if problems := _problems(child, item, duplicates):
            found.extend((f".{name}{where}", what) for where, what in problems)
    return found


def _list_problems(shape: ListShape, value: list[object], duplicates: bool) -> list[Problem]:
    found: list[Problem] = []
    seen: set[Hashable] = set()
    for position, item in enumerate(value):
        if shape.associative:
            try:
                token = item_token(shape, item)
            except ItemError as error:
                return [*found, ("", f"element {position}: {error}")]
            if token in seen and not duplicates:
                found.append(("", f"duplicate entries for key {element_text(item_element(shape, item))}"))
            seen.add(token)
        if problems := _problems(shape.element, item, duplicates):
            element = item_element(shape, item) if shape.associative else Index(position)
            found.extend((element_text(element) + where, what) for where, what in problems)
    return found


def _untyped_problems(value: object) -> Iterable[Problem]:
    """Any JSON fits; only what is no JSON does not."""
    if isinstance(value, dict):
        inside = ((f".{name}", _untyped_problems(item)) for name, item in value.items())
    elif isinstance(value, list):
        inside = ((f"[{position}]", _untyped_problems(item)) for position, item in enumerate(value))
    else:
        return (("", f"expected map, got &{{{value.text}}}"),) if isinstance(value, values.Foreign) else ()
    return [(prefix + where, what) for prefix, problems in inside for where, what in problems]


# -- the paths of a value -----------------------------------------------------------------------------------------------


def to_field_set(shape: Shape, value: object) -> Set:
    """Every leaf and item that a configuration mentions: what its applier owns."""
    try:
        return _mentioned(shape, value)[1]
    except RecursionError:
        raise MergeError(TOO_DEEP) from None


def _mentioned(shape: Shape, value: object) -> tuple[bool, Set]:
    """Whether the value is itself a leaf, and the paths below it."""
    shape = resolved(shape)
    if is_atomic(shape, value):
        return True, EMPTY
    if isinstance(shape, ListShape):
        return False, _mentioned_items(shape, value) if isinstance(value, list) else EMPTY
    return False, _mentioned_fields(shape, value) if isinstance(value, dict) else EMPTY


def is_atomic(shape: Shape, value: object) -> bool:
    """Whether the shape (resolved) makes this value one leaf, whatever is in it."""
    if type(shape) is MapShape:
        return shape.atomic
    if type(shape) is ListShape:
        return not shape.associative
    if type(shape) is Deduced:
        return value is not None and type(value) is not dict
    return type(shape) in (Leaf, Atomic)


DEDUCED_MAP = MapShape(element=Deduced())


def as_map(shape: Shape) -> MapShape:
    """The shape of a value that is known to be a map."""
    return shape if type(shape) is MapShape else DEDUCED_MAP


def _mentioned_fields(shape: Shape, value: dict[str, object]) -> Set:
    shape = as_map(shape)
    members: set[Element] = set()
    children: dict[Element, Set] = {}
    for name, item in value.items():
        leaf, below = _mentioned(child_shape(shape, name), item)
        if leaf or item is None or item == {} or name not in shape.fields:
            members.add(name)
        if below:
            children[name] = below
    return Set(frozenset(members), children)


def _mentioned_items(shape: ListShape, value: list[object]) -> Set:
    """An item that occurs twice is owned as one leaf: its fields could not be told apart."""
    elements = item_elements(shape, value)
    children: dict[Element, Set] = {}
    for element, item in zip(elements, value, strict=True):
        if element in children:
            children[element] = EMPTY
        else:
            children[element] = _mentioned(shape.element, item)[1]
    return Set(frozenset(children), {element: below for element, below in children.items() if below})
