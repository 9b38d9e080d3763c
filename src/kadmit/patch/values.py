"""JSON values as structured merge sees them: equality, order, and the way Go prints them in messages.

Python holds `True == 1`, and prints nothing as Go does; both would leak into ownership and into error texts. Whatever
compares, sorts or prints a value of a user goes through here. Numbers compare across int and float, booleans only
with booleans.
"""

import functools
import json
import math
import re
from collections.abc import Hashable, Mapping

import orjson
from msgspec import Struct

from kadmit.patch import gotext


class Foreign(Struct, frozen=True):
    """A value that is not JSON (a CEL null, timestamp or nested list in an apply configuration).

    It fits no schema; the three texts are Go's `%T`, `%v` and `%#v` of it, which the refusals print.
    """

    type_name: str
    text: str
    syntax: str


NIL: list[object] = []
"""An empty list that an expression made: to Go a list that is not there, null once it is written."""


def equal(left: object, right: object) -> bool:
    """Deep equality. Identical parts are not walked, so what an edit shared costs nothing."""
    if left is right:
        return True
    if isinstance(left, dict):
        return isinstance(right, dict) and len(left) == len(right) and _equal_members(left, right)
    if isinstance(left, list):
        return isinstance(right, list) and len(left) == len(right) and all(map(equal, left, right))
    if isinstance(left, bool) or isinstance(right, bool):
        return False
    return left == right


def _equal_members(left: dict[str, object], right: dict[str, object]) -> bool:
    for key, value in left.items():
        other = right.get(key, _ABSENT)
        if value is not other and (other is _ABSENT or not equal(value, other)):
            return False
    return True


_ABSENT = object()


def same_json(left: object, right: object) -> bool:
    """Whether two values that Python holds for equal are surely so: their text tells true from 1, at the speed of C."""
    try:
        return orjson.dumps(left, option=orjson.OPT_SORT_KEYS) == orjson.dumps(right, option=orjson.OPT_SORT_KEYS)
    except TypeError:
        return False


def token(value: object) -> Hashable:
    """A stand-in for a value that can be a dictionary key and is equal exactly when `equal` says so."""
    if isinstance(value, bool):
        return ("bool", value)
    if isinstance(value, list):
        return ("list", tuple(token(item) for item in value))
    if isinstance(value, dict):
        return ("map", frozenset((key, token(item)) for key, item in value.items()))
    if isinstance(value, Foreign):
        return _FOREIGN
    assert isinstance(value, Hashable)
    return value


_FOREIGN = ("foreign",)  # NB: any two values that are not JSON count as the same one


def order(value: object) -> tuple[object, ...]:
    """A key to sort by: a total order over all JSON values, numbers first, then strings, booleans, lists, maps and null."""
    if type(value) is str:
        return (1, value)
    if isinstance(value, bool):
        return (2, value)
    if isinstance(value, int | float):
        return (0, value)
    if isinstance(value, list):
        return (3, [order(item) for item in value])
    return (4, _MAP_ORDER(value)) if isinstance(value, dict) else (5,)


def _compare_maps(left: dict[str, object], right: dict[str, object]) -> int:
    """By the first key, in order, on which they differ: there the map that has the key is the smaller."""
    for position, key in enumerate(sorted(left.keys() | right.keys())):
        if position == len(left) or position == len(right):
            return -1 if position == len(left) else 1
        if key not in left or key not in right:
            return 1 if key not in left else -1
        if not equal(left[key], right[key]):
            return -1 if order(left[key]) < order(right[key]) else 1
    return 0


_MAP_ORDER = functools.cmp_to_key(_compare_maps)


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


def json_text(value: object) -> str:
    """JSON as Go writes it: sorted keys, and `<`, `>`, `&` escaped in strings."""
    if isinstance(value, str):
        return f'"{value}"' if PLAIN.match(value) else '"' + value.translate(_VALUE_ESCAPES) + '"'
    if isinstance(value, float):
        return float_json(value)
    if isinstance(value, list):
        return "[" + ",".join(map(json_text, value)) + "]"
    if isinstance(value, dict):
        return "{" + ",".join(f"{json_text(key)}:{json_text(value[key])}" for key in sorted(value)) + "}"
    return json.dumps(value)


PLAIN = re.compile(r"[ !#-%'-;=?-\[\]-~]*\Z")
"""Strings that JSON writes as they are, which are most: names, addresses, numbers."""


def json_name(name: str) -> str:
    """A JSON string without the escapes for HTML, as Kubernetes writes the names of key fields."""
    return '"' + name.translate(_NAME_ESCAPES) + '"'


_NAME_ESCAPES: Mapping[int, str] = {
    **{code: f"\\u{code:04x}" for code in range(0x20)},
    ord('"'): '\\"',
    ord("\\"): "\\\\",
    ord("\n"): "\\n",
    ord("\r"): "\\r",
    ord("\t"): "\\t",
}
_VALUE_ESCAPES: Mapping[int, str] = {**_NAME_ESCAPES, **{ord(char): f"\\u{ord(char):04x}" for char in "<>&\u2028\u2029"}}


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
    if value is NIL:
        return "[]interface {}(nil)"
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
