"""What a default is made of: small rules, each for one place in an object, put together into a rule for the whole.

A rule takes a value and what stood there before, and gives the value with its defaults. It never changes what it was given:
what needs no default is returned as it is, the rest is copied on the way. Whatever is the very same thing as before has its
defaults already, so a rule only walks what changed.

Rules see objects as decoding leaves them: empty fields are gone, or show null or their zero value where Go always writes them.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeAlias

Json: TypeAlias = Any
Object: TypeAlias = dict[str, Json]
Rule: TypeAlias = Callable[[Json, Json], Json]  # the value, and what stood there before (or None)
Step: TypeAlias = Callable[[Object], Object]  # a default that depends on the fields beside it

_UNKNOWN: Object = {}


def struct(
    absent: Mapping[str, Json] | None = None,
    *,
    empty: Mapping[str, Json] | None = None,
    first: Sequence[Step] = (),
    parts: Mapping[str, Rule] | None = None,
) -> Rule:
    """The rule of an object: first the steps, then fields that are absent or null (or, for `empty`, have no value), then its parts."""
    fills = tuple((name, _fresh(value)) for name, value in (absent or {}).items())
    zeros = tuple((empty or {}).items())
    inner = tuple((parts or {}).items())
    steps = tuple(first)

    def apply(value: Object, before: Json) -> Object:
        made = value
        for step in steps:
            made = step(made)
        for name, default in fills:
            if made.get(name) is None:
                if made is value:
                    made = value.copy()
                made[name] = default.copy() if default.__class__ in _COPIED else default
        for name, default in zeros:
            if not made.get(name):
                if made is value:
                    made = value.copy()
                made[name] = default
        known = before if before.__class__ is dict else _UNKNOWN
        for name, rule in inner:
            part = made.get(name)
            if part is None or part is known.get(name):
                continue
            new = rule(part, known.get(name))
            if new is not part:
                if made is value:
                    made = value.copy()
                made[name] = new
        return made

    return apply


_COPIED = frozenset({dict, list})


def _fresh(default: Json) -> Json:
    """Defaults that are copied when they are handed out must be flat."""
    assert default.__class__ not in _COPIED or not any(part.__class__ in _COPIED for part in _parts(default))
    return default


def _parts(value: Json) -> Sequence[Json]:
    return list(value.values()) if value.__class__ is dict else value


def each(rule: Rule) -> Rule:
    """The rule of a list whose items all follow one rule. Items may have moved: they are known again wherever they stand."""

    def apply(items: list[Json], before: Json) -> list[Json]:
        earlier = before if before.__class__ is list else ()
        known = {id(item) for item in earlier}
        made = items
        for index, item in enumerate(items):
            if id(item) in known:
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
