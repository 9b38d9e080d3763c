"""What a default is made of: small rules, each for one place in an object, put together into a rule for the whole.

A rule takes a value and what stood there before, and gives the value with its defaults. It never changes what it was given:
what needs no default is returned as it is, the rest is copied on the way. Whatever is the very same thing as before has its
defaults already, so a rule only walks what changed.

Rules see objects as decoding leaves them: empty fields are gone, or show null or their zero value where Go always writes them.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, TypeAlias

Json: TypeAlias = Any
Object: TypeAlias = dict[str, Json]
Rule: TypeAlias = Callable[[Json, Json], Json]  # the value, and what stood there before (or None)
Step: TypeAlias = Callable[[Object], Object]  # a default that depends on the fields beside it

_UNKNOWN: Object = {}
_FEW = 4


def struct(
    absent: Mapping[str, Json] | None = None,
    *,
    null: Mapping[str, Json] | None = None,
    empty: Mapping[str, Json] | None = None,
    first: Sequence[Step] = (),
    parts: Mapping[str, Rule] | None = None,
) -> Rule:
    """The rule of an object: first the steps, then its own fields, then its parts.

    `absent` fields get their default when they are not there; `null` ones when they are null, as Go writes pointers that it
    always writes; `empty` ones also when they are 0, "" or false, as it writes all else.
    """
    fill = _fill(absent or {})
    steps = (*first, *_replaced(null or {}, empty or {}))
    names = frozenset(absent or ())
    if not parts:
        return _leaf(names, fill, steps)
    pairs = tuple(parts.items())
    find = parts.get
    few = len(pairs) <= 2 * _FEW

    def apply(value: Object, before: Json) -> Object:
        made = value
        for step in steps:
            made = step(made)
        if names and not made.keys() >= names:
            made = fill(made)
        known = before if before.__class__ is dict else _UNKNOWN
        # NB: this is where the time goes. Most objects of a kind with many parts have few of them, and are new.
        for name, rule in pairs if few or len(made) > _FEW else [(name, find(name)) for name in made]:
            part = made.get(name)
            if part is None or rule is None:
                continue
            earlier = known.get(name) if known else None
            if part is earlier:
                continue
            new = rule(part, earlier)
            if new is not part:
                if made is value:
                    made = value.copy()
                made[name] = new
        return made

    return apply


def _leaf(names: frozenset[str], fill: Step, steps: Sequence[Step]) -> Rule:
    """The rule of an object whose parts have no defaults."""
    if not steps:
        return lambda value, before: value if value.keys() >= names else fill(value)

    def apply(value: Object, before: Json) -> Object:
        made = value
        for step in steps:
            made = step(made)
        return made if made.keys() >= names else fill(made)

    return apply


def _fill(absent: Mapping[str, Json]) -> Step:
    plain = tuple((name, default) for name, default in absent.items() if default.__class__ not in _COPIED)
    copied = tuple((name, default) for name, default in absent.items() if default.__class__ in _COPIED)
    assert not any(part.__class__ in _COPIED for _, default in copied for part in default)

    def fill(value: Object) -> Object:
        made = value.copy()
        for name, default in plain:
            if name not in made:
                made[name] = default
        for name, default in copied:
            if name not in made:
                made[name] = default.copy()
        return made

    return fill


_COPIED = frozenset({dict, list})


def _replaced(null: Mapping[str, Json], empty: Mapping[str, Json]) -> Iterable[Step]:
    if not null and not empty:
        return

    def replace(value: Object) -> Object:
        missing = {name: default for name, default in null.items() if value.get(name) is None}
        missing |= {name: default for name, default in empty.items() if not value.get(name)}
        return {**value, **missing} if missing else value

    yield replace


def each(rule: Rule, *, having: str = "") -> Rule:
    """The rule of a list whose items (or those that have a certain field) all follow one rule.

    Items may have moved: they are known again wherever they stand.
    """

    def apply(items: list[Json], before: Json) -> list[Json]:
        earlier = before if before.__class__ is list else ()
        known = {id(item) for item in earlier} if earlier else ()
        made = items
        for index, item in enumerate(items):
            if id(item) in known or (having and having not in item):
                continue
            new = rule(item, earlier[index] if index < len(earlier) else None)
            if new is not item:
                if made is items:
                    made = items.copy()
                made[index] = new
        return made

    return apply


def each_value(rule: Rule) -> Rule:
    """The rule of a map whose values all follow one rule."""

    def apply(values: Object, before: Json) -> Object:
        known = before if before.__class__ is dict else _UNKNOWN
        made = values
        for key, value in values.items():
            if value is known.get(key):
                continue
            new = rule(value, known.get(key))
            if new is not value:
                if made is values:
                    made = values.copy()
                made[key] = new
        return made

    return apply
