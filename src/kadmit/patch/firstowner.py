"""What the creator of an object owns, as FieldsV1 at once: the short way for the most frequent write.

Who creates an object owns all of it but what its Go type always has, so there is nothing to compare and no set to calculate with.
Each shape is compiled, when a value of it is first met, into a writer that goes over the value once. Structs remember what they
write for the fields that a value has: most differ in values only, which do not show.

Writers are for the ordinary case. Anything else (items that occur twice, keys of odd types, fields that no schema declares)
raises Unusual, and the caller takes the long way (`kadmit.patch.ownership`), which a property test holds to the same answers.

NB: what is written is shared between answers and must never be changed, as all objects here.
"""

from collections.abc import Callable, Mapping
from operator import itemgetter
from typing import Any, NamedTuple, TypeAlias, TypeVar

from kadmit.patch import values
from kadmit.patch.fieldpath import Element, Set
from kadmit.patch.shapes import Deduced, Lazy, Leaf, ListShape, MapShape, Shape
from kadmit.patch.typed import DEDUCED_MAP, resolved

Fields: TypeAlias = dict[str, object]
Writer: TypeAlias = Callable[[Any], Fields]
_Step: TypeAlias = Callable[[Any], Fields | None]
_Names: TypeAlias = tuple[Any, ...]
_T = TypeVar("_T")

_MOST_WRITERS, _MOST_CREATORS = 4096, 512
_MOST_PLANS = 64
_MOST_TEXTS = 512
_LONGEST_REMEMBERED = 128
_NOTHING: Fields = {}
_TEXTS = {str}


class Unusual(Exception):
    """The value needs the long way."""


def fields_of(shape: Shape, blank: Mapping[str, object], new: Mapping[str, object], *, never: Set, excluded: Set) -> Fields:
    """What the creator owns: not what `blank` has already, nor `never`, nor `excluded` and what is below. Raises Unusual."""
    key = (id(shape), id(blank), id(never), id(excluded))
    found = _creators.get(key)
    if found is None:
        if len(_creators) >= _MOST_CREATORS:
            _creators.clear()
        found = _creators[key] = (shape, blank, never, excluded), _creator(shape, blank, never, excluded)
    try:
        return found[1](new)
    except RecursionError:
        raise Unusual from None


_creators: dict[tuple[int, ...], tuple[object, Writer]] = {}  # NB: what the ids are of is held here, so that they stay its own


class _Plan(NamedTuple):
    """What a struct with certain fields writes: a template, the fields whose contents belong into it, and those to ask about."""

    template: Fields
    deep: tuple[tuple[str, str, Writer], ...]
    special: tuple[tuple[str, str, _Step], ...] = ()


# -- beside what is there from the start --------------------------------------------------------------------------------


def _creator(shape: Shape, blank: Mapping[str, object], never: Set, excluded: Set) -> Writer:
    if excluded.children:
        raise Unusual
    return _beside_writer(_as_map(resolved(shape)), blank, never, excluded.members)


def _as_map(shape: Shape) -> MapShape:
    if type(shape) is MapShape and not shape.atomic:
        return shape
    if type(shape) is Deduced:
        return DEDUCED_MAP
    raise Unusual


def _beside_writer(shape: MapShape, before: Mapping[str, object], never: Set, excluded: frozenset[Element]) -> Writer:
    """Writes the fields that came, or differ from what was there; nothing for the value itself."""
    plans: dict[tuple[str, ...], _Plan] = {}
    declared = shape.fields.keys()
    steps: dict[str, _Step] = {}

    def plan_of(value: dict[str, object], names: tuple[str, ...]) -> _Plan:
        for name in names:
            if name not in steps and (name in before or name in never.members or name in never.children or name in excluded):
                steps[name] = _step(_child(shape, name), name, before, never, owned=name not in excluded)
        plan = _plan(shape, names, {}, steps)
        if declared >= value.keys():
            _remember(plans, names, plan)
        return plan

    def write(value: dict[str, object]) -> Fields:
        names = tuple(value)
        template, deep, special = plans.get(names) or plan_of(value, names)
        written = template.copy()
        for name, text, below in deep:
            item = value[name]
            if item:
                written[text] = below(item)
        for name, text, step in special:
            found = step(value[name])
            if found is None:
                del written[text]
            else:
                written[text] = found
        return written

    return write


def _step(shape: Shape, name: str, before: Mapping[str, object], never: Set, *, owned: bool) -> _Step:
    """What is written for a field about which something is known from the start; None: nothing, not even that it is there."""
    shape = resolved(shape)
    came = name not in before
    found = _came_step(shape, never.below(name)) if came else _changed_step(shape, before[name], never.below(name))
    itself = owned and name not in never.members

    def step(value: object) -> Fields | None:
        changed, below = found(value)
        if not owned:  # NB: looked at all the same, for what does not fit its shape makes the whole object nobody's
            return None
        if changed and itself:
            return {".": _NOTHING, **below} if below else _NOTHING
        return below or None

    return step


_Found: TypeAlias = Callable[[Any], tuple[bool, Fields]]


def _came_step(shape: Shape, never: Set) -> _Found:
    """Whether the field itself is owned, and what below it is."""
    if writer(shape) is None:
        return lambda _: (True, _NOTHING)
    inside = _beside_writer(_as_map(shape), {}, never, frozenset())

    def step(value: object) -> tuple[bool, Fields]:
        return True, inside(value) if value and type(value) is dict else _NOTHING

    return step


def _changed_step(shape: Shape, old: object, never: Set) -> _Found:
    write = writer(shape)
    inside = None
    if type(shape) is not ListShape and write is not None:
        inside = _beside_writer(_as_map(shape), old if type(old) is dict else {}, never, frozenset())

    def step(value: object) -> tuple[bool, Fields]:
        if write is None:
            return not values.equal(old, value), _NOTHING
        if value == old and values.same_json(value, old):
            return False, _NOTHING
        if inside is not None and value and type(value) is dict and (old is None or type(old) is dict):
            return False, inside(value)
        if inside is None and value and type(value) is list and not old:
            return False, {text: below for text, below in write(value).items() if text != "."}
        raise Unusual

    return step


# -- what came as a whole -----------------------------------------------------------------------------------------------

_writers: dict[int, tuple[Shape, Writer | None]] = {}


def writer(shape: Shape) -> Writer | None:
    """What writes the fields of a value that is not empty, the value's own "." included. None: the value is a leaf."""
    shape = resolved(shape) if type(shape) is Lazy else shape
    found = _writers.get(id(shape))  # NB: the shape is held here, so that its id stays its own
    if found is None:
        if len(_writers) >= _MOST_WRITERS:
            _writers.clear()
        found = _writers[id(shape)] = shape, _new_writer(shape)
    return found[1]


def _new_writer(shape: Shape) -> Writer | None:
    if type(shape) is Leaf:
        return None
    if type(shape) is MapShape and not shape.atomic:
        return _struct_writer(shape) if shape.fields else _map_writer(shape)
    if type(shape) is ListShape and shape.associative:
        return _keyed_writer(shape) if shape.keys else _set_writer
    return _deduced if type(shape) is Deduced else None


def _struct_writer(shape: MapShape) -> Writer:
    plans: dict[tuple[str, ...], _Plan] = {}
    declared = shape.fields.keys()

    def plan_of(value: dict[str, object], names: tuple[str, ...]) -> _Plan:
        plan = _plan(shape, names, {".": _NOTHING}, {})
        if declared >= value.keys():  # NB: other names are the user's, and may be of any number and length
            _remember(plans, names, plan)
        return plan

    def write(value: Any) -> Fields:
        if type(value) is not dict:
            return _NOTHING
        names = tuple(value)
        template, deep, _ = plans.get(names) or plan_of(value, names)
        if not deep:
            return template
        written = template.copy()
        for name, text, below in deep:
            item = value[name]
            if item:
                written[text] = below(item)
        return written

    return write


def _plan(shape: MapShape, names: tuple[str, ...], begun: Fields, steps: Mapping[str, _Step]) -> _Plan:
    ordered = sorted(names)
    deep = [(name, "f:" + name, below) for name in ordered if name not in steps and (below := writer(_child(shape, name)))]
    special = [(name, "f:" + name, steps[name]) for name in ordered if name in steps]
    return _Plan(begun | {"f:" + name: _NOTHING for name in ordered}, tuple(deep), tuple(special))


def _remember(plans: dict[tuple[str, ...], _Plan], names: tuple[str, ...], plan: _Plan) -> None:
    if len(plans) >= _MOST_PLANS:
        plans.clear()
    plans[names] = plan


def _child(shape: MapShape, name: str) -> Shape:
    child = shape.fields.get(name, shape.element)
    if child is None:
        raise Unusual
    return child


def _map_writer(shape: MapShape) -> Writer:
    if shape.element is None:
        return _no_map
    element = shape.element
    if type(element) is not Lazy and writer(element) is None:
        return _leaves_writer()

    def write(value: Any) -> Fields:
        if type(value) is not dict:
            return _NOTHING
        inner = writer(element) or _leaf
        written: Fields = {".": _NOTHING}
        for name in sorted(value):
            item = value[name]
            written["f:" + name] = inner(item) if item else _NOTHING
        return written

    return write


def _leaf(_value: object) -> Fields:
    return _NOTHING


def _leaves_writer() -> Writer:
    """For maps whose names are the user's: only few and short ones are remembered (`cpu`, `memory`)."""
    known: dict[tuple[str, ...], Fields] = {}

    def write(value: Any) -> Fields:
        if type(value) is not dict:
            return _NOTHING
        names = tuple(value)
        written = known.get(names)
        if written is None:
            written = dict.fromkeys([".", *["f:" + name for name in sorted(names)]], _NOTHING)
            if sum(map(len, names)) <= _LONGEST_REMEMBERED:
                if len(known) >= _MOST_PLANS:
                    known.clear()
                known[names] = written
        return written

    return write


def _no_map(value: object) -> Fields:
    if type(value) is dict:
        raise Unusual
    return _NOTHING


def _deduced(value: Any) -> Fields:
    if type(value) is not dict:
        return _NOTHING
    written: Fields = {".": _NOTHING}
    for name in sorted(value):
        item = value[name]
        written["f:" + name] = _deduced(item) if item and type(item) is dict else _NOTHING
    return written


# -- lists --------------------------------------------------------------------------------------------------------------


def _keyed_writer(shape: ListShape) -> Writer:
    return _one_key_writer(shape, shape.keys[0]) if len(shape.keys) == 1 else _many_keys_writer(shape, tuple(sorted(shape.keys)))


def _remembered(texts: dict[_T, str], key: _T, text: str) -> str:
    """The text, kept for the next time unless it is long. NB: names are users', so there is an end to what is kept."""
    if len(text) <= _LONGEST_REMEMBERED:
        if len(texts) >= _MOST_TEXTS:
            texts.clear()
        texts[key] = text
    return text


def _one_key_writer(shape: ListShape, key: str) -> Writer:
    opening = f"k:{{{values.json_name(key)}:"
    texts: dict[str, str] = {}  # of names that were met before: they come with every request

    def text_of(name: str) -> str:
        return _remembered(texts, name, f"{opening}{_key_text(name)}}}")

    def write(value: Any) -> Fields:
        if type(value) is not list:
            return _NOTHING
        try:
            found = {item[key]: item for item in value}
        except (KeyError, TypeError):
            found = _named(shape, key, value)
        if len(found) != len(value) or set(map(type, found)) != _TEXTS:
            raise Unusual
        below = writer(shape.element) or _leaf
        written: Fields = {".": _NOTHING}
        for name in sorted(found):
            item = found[name]
            written[texts.get(name) or text_of(name)] = below(item) if item else _NOTHING
        return written

    return write


def _named(shape: ListShape, key: str, items: list[object]) -> dict[str | int, object]:
    default = shape.defaults.get(key)
    return {_key_value(item.get(key, default)): item for item in map(_map, items)}


def _many_keys_writer(shape: ListShape, keys: tuple[str, ...]) -> Writer:
    openings = [("," if position else "k:{") + values.json_name(key) + ":" for position, key in enumerate(keys)]
    several: Callable[[Any], _Names] = itemgetter(*keys)
    texts: dict[_Names, str] = {}  # by names and their types, for 1 is True

    def text_of(names: _Names, exactly: _Names) -> str:
        text = "".join([opening + _key_text(name) for opening, name in zip(openings, names, strict=True)]) + "}"
        return _remembered(texts, exactly, text)

    def write(value: Any) -> Fields:
        if type(value) is not list:
            return _NOTHING
        try:
            found = {several(item): item for item in value}
        except (KeyError, TypeError):
            found = _named_by(shape, keys, value)
        if len(found) != len(value):
            raise Unusual
        below = writer(shape.element) or _leaf
        written: Fields = {".": _NOTHING}
        for names in found if len(found) == 1 else _in_order(found):
            item = found[names]
            exactly = (names, *map(type, names))
            written[texts.get(exactly) or text_of(names, exactly)] = below(item) if item else _NOTHING
        return written

    return write


def _named_by(shape: ListShape, keys: tuple[str, ...], items: list[object]) -> dict[_Names, object]:
    defaults = shape.defaults
    return {tuple([_key_value(item.get(key, defaults.get(key))) for key in keys]): item for item in map(_map, items)}


def _in_order(found: Mapping[_Names, object]) -> list[_Names]:
    try:
        return sorted(found)
    except TypeError:
        raise Unusual from None


def _map(item: object) -> dict[str, object]:
    if type(item) is not dict:
        raise Unusual
    return item


def _key_value(value: object) -> str | int:
    """NB: numbers with a fraction, truth values and missing keys are for the long way."""
    if type(value) is str or type(value) is int:
        return value
    raise Unusual


def _key_text(value: object) -> str:
    if type(value) is str:
        return f'"{value}"' if values.PLAIN.match(value) else values.json_text(value)
    return str(_key_value(value))


def _set_writer(value: Any) -> Fields:
    if type(value) is not list:
        return _NOTHING
    if set(map(type, value)) != _TEXTS or len(set(value)) != len(value):
        raise Unusual
    return {".": _NOTHING, **{f"v:{values.json_text(item)}": _NOTHING for item in sorted(value)}}
