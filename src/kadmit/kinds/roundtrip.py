"""An object through its Go structs and back: what the server holds, and writes, of what was sent.

Go's structs change objects on the way: fields without value vanish or show their zero value, null becomes nothing or "",
times and quantities get their canonical text. Every schema is compiled once into a walker. A walker takes a plain value and
gives the value as Go would write it; what needs no change is returned as it is, never copied and never changed.

Walkers are for the ordinary case. Anything else - unknown fields, wrong types, numbers whose text matters - raises Unusual,
and the caller takes the long way round (`kadmit.kinds.decoding`), which knows what to say.
"""

from collections.abc import Callable
from decimal import Decimal
from typing import Any, NamedTuple, TypeAlias

from kadmit.cel import quantities
from kadmit.kinds import base64text, schema, times
from kadmit.kinds.schema import Field, Node, Schema

Json: TypeAlias = Any
Walker: TypeAlias = Callable[[Json], Json]

_INT32 = (-(2**31), 2**31 - 1)
_INT64 = (-(2**63), 2**63 - 1)
_EXACT_FLOAT = 2**53
_USUAL_LENGTH = 40
_REMEMBERED = 4096

_SCHEMA_OR = "apiextensions-apiserver.pkg.apis.apiextensions.v1.JSONSchemaPropsOr"
_SCHEMA_PROPS = "apiextensions-apiserver.pkg.apis.apiextensions.v1.JSONSchemaProps"


class Unusual(Exception):
    """The value needs a closer look."""


_OMIT: Json = object()  # the field is left out
_ZERO: Json = object()  # the field shows Go's zero value


class _Walkers(dict[str, Walker]):
    """Walkers of named schemas, made when first needed, so that schemas may hold themselves."""

    def __missing__(self, name: str) -> Walker:
        walker = self[name] = _value_walker(schema.definition(name))
        return walker


_walkers = _Walkers()


def walker(definition: Schema) -> Walker:
    """The walker of a built-in kind. It raises Unusual."""
    return _walkers[definition.name]


def _value_walker(node: Schema) -> Walker:
    """A walker for a value that is there, such as an item of a list. Null is Go's zero value."""
    make = _MAKERS.get(node.name) or _VALUE_MAKERS[node.kind]
    return make(node)


# --- Structs ---------------------------------------------------------------------------------------------------------

_NIL_KINDS = frozenset({Node.ARRAY, Node.MAP, Node.BYTES})


class _Plan(NamedTuple):
    """How a struct treats one of its fields."""

    walk: Walker
    drops_empty: bool
    nil: Json  # what null becomes: nothing, null, or Go's zero value, which the walker knows


def _plan(field: Field, walk: Walker) -> _Plan:
    nilable = field.pointer or field.schema.kind in _NIL_KINDS
    drops_empty = not field.pointer and not field.always_written
    nil: Json = _ZERO
    if nilable or drops_empty:
        nil = None if field.always_written else _OMIT
    return _Plan(walk, drops_empty, nil)


def _plans(node: Schema) -> dict[str, _Plan]:
    """The plans of a struct. A named part is not made now: it may be this very struct. It takes its place when first used."""
    plans: dict[str, _Plan] = {}

    def later(field: Field) -> Walker:
        def walk(given: Json) -> Json:
            made = _walkers[field.schema.name]
            plans[field.name] = plans[field.name]._replace(walk=made)
            return made(given)

        return walk

    for name, field in node.fields.items():
        plans[name] = _plan(field, later(field) if field.schema.name else _value_walker(field.schema))
    return plans


def _plain_names(node: Schema, kind: Node, form: str = "") -> frozenset[str]:
    """Fields whose values stay as they are, unless they are empty or of another type."""
    schemas = ((name, field.schema) for name, field in node.fields.items())
    return frozenset(name for name, part in schemas if not part.name and part.kind is kind and form in ("", part.format))


def _struct_walker(node: Schema) -> Walker:
    plans = _plans(node)
    texts, flags = _plain_names(node, Node.STRING), _plain_names(node, Node.BOOLEAN)
    numbers = _plain_names(node, Node.INTEGER, "int32")
    always = tuple(name for name, field in node.fields.items() if field.always_written)

    def walk(given: Json) -> Json:
        if given.__class__ is not dict:
            if given is not None:
                raise Unusual
            given = {}
        made = given
        for name, value in given.items():
            # NB: most values are scalars that stay as they are; these lines save half of the time.
            kind = value.__class__
            if kind is str:
                if value and name in texts:
                    continue
            elif kind is int:
                if value and name in numbers and _INT32[0] <= value <= _INT32[1]:
                    continue
            elif value is True and name in flags:
                continue
            plan = plans.get(name)
            if plan is None:
                raise Unusual
            field, drops_empty, nil = plan
            if value is None:
                new = field(None) if nil is _ZERO else nil
            else:
                new = field(value)
                if drops_empty and not new:
                    new = _OMIT
            if new is not value:
                if made is given:
                    made = given.copy()
                if new is _OMIT:
                    del made[name]
                else:
                    made[name] = new
        for name in always:
            if name not in made:
                if made is given:
                    made = given.copy()
                field, _, nil = plans[name]
                made[name] = field(None) if nil is _ZERO else nil
        return made

    return walk


def _map_walker(node: Schema) -> Walker:
    part = node.additional
    assert part is not None
    texts = part.kind is Node.STRING
    value_walker: Walker | None = None

    def walk(given: Json) -> Json:
        nonlocal value_walker
        if given.__class__ is not dict:
            return _nil(given)
        if value_walker is None:
            value_walker = _part_walker(part)
        made = given
        for key, value in given.items():
            if texts and value.__class__ is str:
                continue
            new = value_walker(value)
            if new is not value:
                if made is given:
                    made = given.copy()
                made[key] = new
        return made

    return walk


def _list_walker(node: Schema) -> Walker:
    part = node.items
    assert part is not None
    texts = part.kind is Node.STRING
    item_walker: Walker | None = None

    def walk(given: Json) -> Json:
        nonlocal item_walker
        if given.__class__ is not list:
            return _nil(given)
        if item_walker is None:
            item_walker = _part_walker(part)
        made = given
        for index, item in enumerate(given):
            if texts and item.__class__ is str:
                continue
            new = item_walker(item)
            if new is not item:
                if made is given:
                    made = given.copy()
                made[index] = new
        return made

    return walk


def _part_walker(node: Schema) -> Walker:
    return _walkers[node.name] if node.name else _value_walker(node)


def _nil(given: Json) -> Json:
    """A list or map within another one: null stays null."""
    if given is not None:
        raise Unusual
    return None


# --- Scalars ---------------------------------------------------------------------------------------------------------


def _text(given: Json) -> Json:
    if given.__class__ is str:
        return given
    if given is None:
        return ""
    raise Unusual


def _truth(given: Json) -> Json:
    if given.__class__ is bool:
        return given
    if given is None:
        return False
    raise Unusual


def _integer_walker(node: Schema) -> Walker:
    low, high = _INT32 if node.format == "int32" else _INT64

    def walk(given: Json) -> Json:
        if given.__class__ is int and low <= given <= high:
            return given
        if given is None:
            return 0
        raise Unusual

    return walk


def _number(given: Json) -> Json:
    """NB: Go writes a double with the shortest digits that read back, then zeros, and no point. What no 64-bit integer can hold
    stays a double here, because orjson could not write it otherwise."""
    if given.__class__ is int:
        return given if -_EXACT_FLOAT <= given <= _EXACT_FLOAT else _number(float(given))
    if given.__class__ is float:
        return int(Decimal(repr(given))) if given.is_integer() and abs(given) < _INT64[1] else given
    if given is None:
        return 0
    raise Unusual


def _int_or_string(given: Json) -> Json:
    if given.__class__ is str:
        return given
    if given.__class__ is int and _INT32[0] <= given <= _INT32[1]:
        return given
    if given is None:
        return 0
    raise Unusual


class _Quantities(dict[str, str]):
    """Canonical texts of quantities, remembered while they are few and short, as they are in nearly all objects."""

    def __missing__(self, text: str) -> str:
        found = quantities.canonical(text)
        if found is None:
            raise Unusual
        if len(text) <= _USUAL_LENGTH:
            if len(self) >= _REMEMBERED:
                self.clear()
            self[text] = found
        return found


_quantities = _Quantities()


def _quantity(given: Json) -> Json:
    """NB: a fraction or exponent must come as text: 1e3 and 1000.0 are different quantities."""
    if given.__class__ is str:
        made = _quantities[given]
        return given if made == given else made
    if given.__class__ is int:
        return _quantities[str(given)]
    if given is None:
        return "0"
    raise Unusual


def _time_walker(layout: times.Layout) -> Callable[[Schema], Walker]:
    def walk(given: Json) -> Json:
        if given is None:
            return None
        if given.__class__ is not str:
            raise Unusual
        try:
            made = times.canonical(given, layout)
        except times.TimeError:
            raise Unusual from None
        return given if made == given else made

    return lambda node: walk


def _base64(given: Json) -> Json:
    if given.__class__ is str and base64text.is_canonical(given):
        return given
    if given is None:
        return None
    raise Unusual


def _as_it_is(given: Json) -> Json:
    return given


# --- Schemas of schemas ----------------------------------------------------------------------------------------------


def _schema_or_bool(given: Json) -> Json:
    if given.__class__ is dict:
        return _walkers[_SCHEMA_PROPS](given)
    if given.__class__ is bool:
        return given
    raise Unusual


def _schema_or_array(given: Json) -> Json:
    """NB: an empty list, like everything that is neither schema nor list, is read as nothing and written as null."""
    if given.__class__ is dict:
        return _walkers[_SCHEMA_PROPS](given)
    if given.__class__ is list and given:
        return [_walkers[_SCHEMA_PROPS](item) for item in given]
    return None


def _schema_or_texts(given: Json) -> Json:
    if given.__class__ is dict:
        return _walkers[_SCHEMA_PROPS](given)
    if given.__class__ is list and given:
        return [_text(item) for item in given]
    return None


def _always(walk: Walker) -> Callable[[Schema], Walker]:
    return lambda node: walk


_VALUE_MAKERS: dict[Node, Callable[[Schema], Walker]] = {
    Node.OBJECT: _struct_walker,
    Node.MAP: _map_walker,
    Node.ARRAY: _list_walker,
    Node.STRING: _always(_text),
    Node.BYTES: _always(_base64),
    Node.INTEGER: _integer_walker,
    Node.NUMBER: _always(_number),
    Node.BOOLEAN: _always(_truth),
    Node.INT_OR_STRING: _always(_int_or_string),
    Node.QUANTITY: _always(_quantity),
    Node.TIME: _time_walker(times.SECONDS),
    Node.MICRO_TIME: _time_walker(times.MICROSECONDS),
    Node.RAW: _always(_as_it_is),
    Node.ANY: _always(_as_it_is),
}
_MAKERS: dict[str, Callable[[Schema], Walker]] = {
    f"{_SCHEMA_OR}Bool": _always(_schema_or_bool),
    f"{_SCHEMA_OR}Array": _always(_schema_or_array),
    f"{_SCHEMA_OR}StringArray": _always(_schema_or_texts),
}
