"""How Go prints plain values: some of Kubernetes' error texts hold whole patches in this form."""

import math
import re

_PRINTABLE_ASCII = re.compile(r"[ !#-\[\]-~]*\Z")
_ESCAPES = {"\a": "\\a", "\b": "\\b", "\f": "\\f", "\n": "\\n", "\r": "\\r", "\t": "\\t", "\v": "\\v", "\\": "\\\\", '"': '\\"'}
_TYPE_NAMES = {
    dict: "map[string]interface {}",
    list: "[]interface {}",
    str: "string",
    bool: "bool",
    int: "int64",
    float: "float64",
}


def type_name(value: object) -> str:
    """The Go type that holds this value, as %s prints it."""
    return _TYPE_NAMES.get(type(value), "%!s(<nil>)")


def value_text(value: object) -> str:
    """%v: strings bare, maps sorted by key, nil as <nil>."""
    if isinstance(value, dict):
        return f"map[{' '.join(f'{key}:{value_text(value[key])}' for key in sorted(value))}]"
    if isinstance(value, list):
        return f"[{' '.join(map(value_text, value))}]"
    return _scalar_text(value)


def string_text(value: object) -> str:
    """%s: as %v for strings, but it complains of any other scalar. NB: not of a nil inside a map or list."""
    return "%!s(<nil>)" if value is None else _inner_string_text(value)


def _inner_string_text(value: object) -> str:
    if value is None or isinstance(value, str):
        return _scalar_text(value)
    if isinstance(value, dict):
        return f"map[{' '.join(f'{key}:{_inner_string_text(value[key])}' for key in sorted(value))}]"
    if isinstance(value, list):
        return f"[{' '.join(map(_inner_string_text, value))}]"
    return f"%!s({type_name(value)}={_scalar_text(value)})"


def quote(text: str) -> str:
    """%q of a string."""
    if _PRINTABLE_ASCII.match(text):
        return f'"{text}"'
    return '"' + "".join(map(_quoted_character, text)) + '"'


def _quoted_character(character: str) -> str:
    if character in _ESCAPES:
        return _ESCAPES[character]
    if character.isprintable() and (character == " " or not character.isspace()):
        return character
    code = ord(character)
    if code < 0x80:
        return f"\\x{code:02x}"
    return f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


def _scalar_text(value: object) -> str:
    if value is None:
        return "<nil>"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float):
        return _float_text(value)
    return str(value)


def _float_text(value: float) -> str:
    """%v of a float64: the shortest digits that read back, with an exponent below 1e-04 and from 1e+06 on."""
    if not math.isfinite(value):
        return {math.inf: "+Inf", -math.inf: "-Inf"}.get(value, "NaN")
    sign = "-" if math.copysign(1, value) < 0 else ""
    digits, point = _shortest_digits(abs(value))
    if point - 1 < -4 or point - 1 >= 6:
        mantissa = digits[0] + ("." + digits[1:] if digits[1:] else "")
        return f"{sign}{mantissa}e{point - 1:+03d}"
    if point <= 0:
        return f"{sign}0.{'0' * -point}{digits}" if value else f"{sign}0"
    whole, fraction = digits[:point].ljust(point, "0"), digits[point:]
    return f"{sign}{whole}{'.' + fraction if fraction else ''}"


def _shortest_digits(value: float) -> tuple[str, int]:
    """The significant digits, and where the decimal point stands among them."""
    mantissa, _, exponent = f"{value!r}e0".partition("e")
    whole, _, fraction = mantissa.partition(".")
    point = len(whole) + int(exponent.split("e")[0])
    digits = (whole + fraction).lstrip("0")
    point -= len(whole + fraction) - len(digits)
    return digits.rstrip("0") or "0", point
