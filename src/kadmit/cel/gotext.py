"""How Go writes numbers and values as text, and which texts it reads as numbers.

CEL's conversions and error messages are Go's `strconv` and `fmt` showing through, so they live here once: pure
functions from text to number and from value to text, without any CEL error wording of their own.
"""

import re
import unicodedata
from collections.abc import Callable
from math import inf, isinf, isnan, nan

from kadmit.cel import gotime, room, work
from kadmit.cel.types import Type
from kadmit.cel.values import INT_MAX, INT_MIN, UINT_MAX, Duration, MapValue, Optional, Timestamp, UInt, Value

_INT = re.compile(r"[+-]?[0-9]+", re.ASCII)
_UINT = re.compile(r"[0-9]+", re.ASCII)
_DECIMAL = re.compile(r"[+-]?(?:[0-9][0-9_]*\.?[0-9_]*|\.[0-9][0-9_]*)(?:[eE][+-]?[0-9][0-9_]*)?")
_HEX = re.compile(r"[+-]?0[xX](?=[0-9a-fA-F_.]*[0-9a-fA-F])[0-9a-fA-F_]*\.?[0-9a-fA-F_]*[pP][+-]?[0-9][0-9_]*")
_SPECIAL = {"inf": inf, "infinity": inf}
_BOOLS = dict.fromkeys(("1", "t", "T", "TRUE", "true", "True"), True) | dict.fromkeys(
    ("0", "f", "F", "FALSE", "false", "False"), False
)
_MAX_DIGITS = 20  # of a 64-bit number; more (beside leading zeros) is out of range without looking
_SPACE = "\t\n\v\f\r \x85\xa0\u1680" + "".join(map(chr, range(0x2000, 0x200B))) + "\u2028\u2029\u202f\u205f\u3000"


def trim_space(text: str) -> str:
    """strings.TrimSpace. NB: Python's own strip takes a few control characters more for space."""
    return text.strip(_SPACE)


# ---- texts to numbers ------------------------------------------------------------------------------------------


def parse_int(text: str) -> int | None:
    """strconv.ParseInt(text, 10, 64): an optional sign and ASCII digits, nothing else."""
    if _INT.fullmatch(text) is None:
        return None
    number = _digits(text)
    return number if INT_MIN <= number <= INT_MAX else None


def parse_uint(text: str) -> UInt | None:
    """strconv.ParseUint(text, 10, 64): ASCII digits only, not even a plus sign."""
    if _UINT.fullmatch(text) is None:
        return None
    number = _digits(text)
    return UInt(number) if number <= UINT_MAX else None


def _digits(text: str) -> int:
    # NB: int() refuses thousands of digits; leading zeros do not count, and anything longer is out of range anyway.
    sign = -1 if text[0] == "-" else 1
    digits = text.lstrip("+-").lstrip("0") or "0"
    return sign * int(digits) if len(digits) <= _MAX_DIGITS else sign * 10**_MAX_DIGITS


def atoi(text: str) -> int | str:
    """strconv.Atoi: the number, or the text of its error."""
    number = parse_int(text)
    if number is not None:
        return number
    reason = "value out of range" if _INT.fullmatch(text) else "invalid syntax"
    return f"strconv.Atoi: parsing {quote(text)}: {reason}"


def parse_float(text: str) -> float | None:
    """strconv.ParseFloat(text, 64): Go's decimal and hexadecimal literals, inf, infinity and nan in any case."""
    if _DECIMAL.fullmatch(text):
        return _finite(float(text.replace("_", ""))) if _underscores_separate_digits(text) else None
    if _HEX.fullmatch(text):
        return _parse_hex(text) if _underscores_separate_digits(text) else None
    return _parse_special(text)


def _finite(number: float) -> float | None:
    return None if isinf(number) else number


def _parse_hex(text: str) -> float | None:
    try:
        return _finite(float.fromhex(text.replace("_", "")))
    except OverflowError:
        return None


def _parse_special(text: str) -> float | None:
    lowered = text.lower() if text.isascii() else ""
    if lowered == "nan":
        return nan
    sign = -1.0 if lowered.startswith("-") else 1.0
    found = _SPECIAL.get(lowered[1:] if lowered[:1] in ("+", "-") else lowered)
    return None if found is None else sign * found


def _underscores_separate_digits(text: str) -> bool:
    """Each underscore stands between two digits, or between a base prefix and a digit."""
    if "_" not in text:
        return True
    body = text.lstrip("+-").lower()
    digits = "0123456789abcdef" if body.startswith("0x") else "0123456789"
    if body.startswith("0x"):
        body = "0" + body[2:]  # the prefix counts as a digit
    return all(0 < i < len(body) - 1 and body[i - 1] in digits and body[i + 1] in digits for i, c in enumerate(body) if c == "_")


def parse_bool(text: str) -> bool | None:
    """strconv.ParseBool."""
    return _BOOLS.get(text)


# ---- numbers and strings to texts ------------------------------------------------------------------------------


def format_double(number: float) -> str:
    """Go's %g and %v: the shortest digits that read back the same, with an exponent below 1e-4 and from 1e6 on."""
    if isinf(number) or isnan(number):
        return _not_finite(number)
    digits, point, sign = _shortest(number)
    exponent = point - 1
    if -4 <= exponent < 6:
        return sign + _plain(digits, point)
    mantissa = digits[0] + ("." + digits[1:] if len(digits) > 1 else "")
    return f"{sign}{mantissa}e{'-' if exponent < 0 else '+'}{abs(exponent):02d}"


def format_fixed(number: float) -> str:
    """strconv.FormatFloat(number, 'f', -1, 64): the shortest digits, never an exponent."""
    if isinf(number) or isnan(number):
        return _not_finite(number)
    digits, point, sign = _shortest(number)
    return sign + _plain(digits, point)


def _not_finite(number: float) -> str:
    return "NaN" if isnan(number) else "+Inf" if number > 0 else "-Inf"


def _shortest(number: float) -> tuple[str, int, str]:
    """Digits without trailing zeros, where the decimal point stands among them, and the sign."""
    text = repr(number)
    sign = "-" if text[0] == "-" else ""
    mantissa, _, exponent = text.lstrip("-").partition("e")
    whole, _, fraction = mantissa.partition(".")
    digits = (whole + fraction).lstrip("0")
    point = len(whole) + int(exponent or 0) - (len(whole + fraction) - len(digits))
    digits = digits.rstrip("0")
    return (digits, point, sign) if digits else ("0", 1, sign)


def _plain(digits: str, point: int) -> str:
    if point <= 0:
        return "0." + "0" * -point + digits
    if point >= len(digits):
        return digits + "0" * (point - len(digits))
    return f"{digits[:point]}.{digits[point:]}"


_ESCAPES = {
    "\a": "\\a", "\b": "\\b", "\f": "\\f", "\n": "\\n", "\r": "\\r", "\t": "\\t", "\v": "\\v", "\\": "\\\\", '"': '\\"',
}  # fmt: skip


def quote(text: str) -> str:
    """strconv.Quote, which is also %q of a string."""
    if text.isascii() and text.isprintable() and '"' not in text and "\\" not in text:
        return f'"{text}"'
    return '"' + "".join(map(_quoted, text)) + '"'


def _quoted(char: str) -> str:
    if char in _ESCAPES:
        return _ESCAPES[char]
    if _is_print(char):
        return char
    code = ord(char)
    if code < 0x80:
        return f"\\x{code:02x}"
    return f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


def _is_print(char: str) -> bool:
    return char == " " or unicodedata.category(char)[0] not in "CZ"


# ---- values to texts -------------------------------------------------------------------------------------------


def display(value: Value) -> str:
    """A value as `%v` prints it inside error texts, such as `no such key: %v`."""
    return value if value.__class__ is str else room.for_depth(_display, value)


def _display(value: Value) -> str:
    shown = _DISPLAY.get(value.__class__)
    return shown(value) if shown is not None else str(value)


def _display_list(value: Value) -> str:
    work.spend_visit(len(value))
    return "[" + ", ".join([_display(item) for item in value]) + "]"


def _display_map(value: Value) -> str:
    work.spend_visit(len(value))
    pairs = value.entries.values() if value.__class__ is MapValue else value.items()
    return "{" + ", ".join([f"{_display(k)}: {_display(v)}" for k, v in pairs]) + "}"


_DISPLAY: dict[type, Callable[[Value], str]] = {
    type(None): lambda _: "0",  # the number of protobuf's only null value
    bool: lambda v: "true" if v else "false",
    int: str,
    UInt: int.__repr__,  # NB: str() would show a u
    float: format_double,
    str: str,
    bytes: lambda v: "[" + " ".join(map(str, v)) + "]",
    list: _display_list,
    dict: _display_map,
    MapValue: _display_map,
    Timestamp: gotime.display_timestamp,
    Duration: gotime.display_duration,
    Optional: lambda v: f"optional({_display(v.value)})" if v.present else "optional.none()",
    Type: str,
}
