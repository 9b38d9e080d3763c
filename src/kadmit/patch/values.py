"""JSON values as structured merge sees them: equality, order, and the way Go prints them in messages.

Python holds `True == 1`, and prints nothing as Go does; both would leak into ownership and into error texts. Whatever
compares, sorts or prints a value of a user goes through here. Numbers compare across int and float, booleans only
with booleans.
"""

import functools
import math
from collections.abc import Hashable, Mapping
from dataclasses import dataclass

from kadmit.patch import gotext


@dataclass(frozen=True, slots=True)
class Foreign:
    """A value that is not JSON (a CEL null, timestamp or nested list in an apply configuration).

    It fits no schema; the three texts are Go's `%T`, `%v` and `%#v` of it, which the refusals print.
    """

    type_name: str
    text: str
    syntax: str


def kind(value: object) -> str:
    """The JSON type of a value in one word: null, bool, number, string, list, map or foreign."""
    return _KINDS.get(type(value), "foreign")


_KINDS: Mapping[type, str] = {
    dict: "map",
    list: "list",
    str: "string",
    bool: "bool",
    int: "number",
    float: "number",
    type(None): "null",
}


def equal(left: object, right: object) -> bool:
    """Deep equality. Identical parts are not walked, so what an edit shared costs nothing."""
    if left is right:
        return True
    if isinstance(left, dict):
        return (
            isinstance(right, dict)
            and len(left) == len(right)
            and all(key in right and equal(value, right[key]) for key, value in left.items())
        )
    if isinstance(left, list):
        return isinstance(right, list) and len(left) == len(right) and all(map(equal, left, right))
    if isinstance(left, bool) or isinstance(right, bool):
        return False
    return left == right


def token(value: object) -> Hashable:
    """A stand-in for a value that can be a dictionary key and is equal exactly when `equal` says so."""
    if isinstance(value, bool):
        return ("bool", value)
    if isinstance(value, list):
        return ("list", tuple(token(item) for item in value))
    if isinstance(value, dict):
        return ("map", frozenset((key, token(item)) for key, item in value.items()))
    assert isinstance(value, Hashable)
    return value


_RANKS: Mapping[str, int] = {"number": 0, "string": 1, "bool": 2, "list": 3, "map": 4, "null": 5, "foreign": 6}


def compare(left: object, right: object) -> int:
    """Negative, zero or positive: a total order over all JSON values, numbers first and null last."""
    left_kind, right_kind = kind(left), kind(right)
    if left_kind != right_kind:
        return _RANKS[left_kind] - _RANKS[right_kind]
    if isinstance(left, list) and isinstance(right, list):
        return _compare_lists(left, right)
    if isinstance(left, dict) and isinstance(right, dict):
        return _compare_maps(left, right)
    if left_kind in ("null", "foreign"):
        return 0
    return bool(left > right) - bool(left < right)  # type: ignore[operator]


def _compare_lists(left: list[object], right: list[object]) -> int:
    for one, other in zip(left, right, strict=False):
        if order := compare(one, other):
            return order
    return len(left) - len(right)


def _compare_maps(left: dict[str, object], right: dict[str, object]) -> int:
    """By the first key, in order, on which they differ: there the map that has the key is the smaller."""
    for position, key in enumerate(sorted(left.keys() | right.keys())):
        if position == len(left) or position == len(right):
            return -1 if position == len(left) else 1
        if key not in left or key not in right:
            return 1 if key not in left else -1
        if order := compare(left[key], right[key]):
            return order
    return 0


ordering = functools.cmp_to_key(compare)


def float_text(number: float) -> str:
    """Go's `%v` of a float64: the shortest digits, with an exponent from 1e+06 on and below 0.0001."""
    if math.isinf(number) or math.isnan(number):
        return "NaN" if math.isnan(number) else ("+Inf" if number > 0 else "-Inf")
    mantissa, exponent = _shortest(number)
    if -4 <= exponent < 6:
        return _plain(number)
    return f"{mantissa}e{'-' if exponent < 0 else '+'}{abs(exponent):02d}"


def float_json(number: float) -> str:
    """A float64 as Go writes it into JSON: without exponent between 1e-6 and 1e21."""
    magnitude = abs(number)
    if magnitude == 0 or 1e-6 <= magnitude < 1e21:
        return _plain(number)
    mantissa, exponent = _shortest(number)
    return f"{mantissa}e{'-' if exponent < 0 else '+'}{abs(exponent)}"


def _shortest(number: float) -> tuple[str, int]:
    """The digits of repr as mantissa (one digit before the point) and decimal exponent."""
    sign = "-" if math.copysign(1.0, number) < 0 else ""
    digits, _, power = repr(abs(number)).partition("e")
    whole, _, fraction = digits.partition(".")
    exponent = int(power or 0) + len(whole) - 1
    significant = whole + fraction
    stripped = significant.lstrip("0")
    if not stripped:
        return f"{sign}0", 0
    exponent -= len(significant) - len(stripped)
    stripped = stripped.rstrip("0")
    return sign + stripped[0] + ("." + stripped[1:] if stripped[1:] else ""), exponent


def _plain(number: float) -> str:
    mantissa, exponent = _shortest(number)
    sign, body = ("-", mantissa[1:]) if mantissa.startswith("-") else ("", mantissa)
    digits = body.replace(".", "")
    if exponent < 0:
        return f"{sign}0.{'0' * (-exponent - 1)}{digits}"
    if len(digits) <= exponent + 1:
        return sign + digits.ljust(exponent + 1, "0")
    return f"{sign}{digits[: exponent + 1]}.{digits[exponent + 1 :]}"


def text(value: object) -> str:
    """Go's `%v` of a decoded JSON value."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float):
        return float_text(value)
    if isinstance(value, list):
        return "[" + " ".join(map(text, value)) + "]"
    if isinstance(value, dict):
        return "map[" + " ".join(f"{key}:{text(value[key])}" for key in sorted(value)) + "]"
    if isinstance(value, Foreign):
        return value.text
    return "<nil>" if value is None else str(value)


def syntax(value: object) -> str:
    """Go's `%#v` of a decoded JSON value."""
    if isinstance(value, str):
        return gotext.quote(value)
    if isinstance(value, list):
        return "[]interface {}{" + ", ".join(map(syntax, value)) + "}"
    if isinstance(value, dict):
        return "map[string]interface {}{" + ", ".join(f"{gotext.quote(key)}:{syntax(value[key])}" for key in sorted(value)) + "}"
    if isinstance(value, Foreign):
        return value.syntax
    return "interface {}(nil)" if value is None else text(value)


def type_name(value: object) -> str:
    """Go's `%T` of a decoded JSON value."""
    return value.type_name if isinstance(value, Foreign) else _TYPE_NAMES.get(type(value), "<nil>")


_TYPE_NAMES: Mapping[type, str] = {
    dict: "map[string]interface {}",
    list: "[]interface {}",
    str: "string",
    bool: "bool",
    int: "int64",
    float: "float64",
}
