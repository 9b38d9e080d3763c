"""What a literal stands for: its value, or the text of what is wrong with it."""

import math
import re

from kadmit.cel.values import INT_MAX, INT_MIN, UINT_MAX, UInt

_CANNOT = "unable to unescape string"
_SIMPLE = {"a": "\a", "b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t", "v": "\v"}
# The lexer has let only whole escapes through.
_ESCAPE = re.compile(r"\\(?:[xX](..)|u(....)|U(........)|([0-3]..)|(.))")


class LiteralError(ValueError):
    """A literal that has no value; str() is the message."""


def int_value(text: str) -> int:
    """A decimal or 0x number, with its sign."""
    value = _whole_number(text)
    if value is None or not INT_MIN <= value <= INT_MAX:
        raise LiteralError("invalid int literal")
    return value


def uint_value(text: str) -> UInt:
    """A decimal or 0x number and a u."""
    value = _whole_number(text[:-1])
    if value is None or value > UINT_MAX:
        raise LiteralError("invalid uint literal")
    return UInt(value)


def _whole_number(text: str) -> int | None:
    """None where it is far too large: Python may refuse to read thousands of digits."""
    sign, digits = (-1, text[1:]) if text[0] == "-" else (1, text)
    base = 16 if digits.startswith("0x") else 10
    digits = digits.removeprefix("0x").lstrip("0")
    return sign * int(digits or "0", base) if len(digits) <= 20 else None


def double_value(text: str) -> float:
    value = float(text)
    if math.isinf(value):
        raise LiteralError("invalid double literal")
    return value


def string_value(text: str) -> str:
    body, escaped = _body(text)
    return _ESCAPE.sub(_character, body) if escaped else body


def bytes_value(text: str) -> bytes:
    """The literal without its b: characters stand for their UTF-8 bytes, \\x and octal escapes for single bytes."""
    body, escaped = _body(text)
    if not escaped:
        return body.encode("utf-8", "surrogatepass")
    pieces: list[bytes] = []
    end = 0
    for m in _ESCAPE.finditer(body):
        pieces.append(body[end : m.start()].encode("utf-8", "surrogatepass"))
        pieces.append(_byte(m))
        end = m.end()
    return b"".join([*pieces, body[end:].encode("utf-8", "surrogatepass")])


def _body(text: str) -> tuple[str, bool]:
    """What stands between the quotes, and whether escapes are to be read in it. All line ends are \\n."""
    if "\r" in text:
        text = text.replace("\r\n", "\n").replace("\r", "\n")
    raw = text[0] in "rR"
    if raw:
        text = text[1:]
    quote = 3 if len(text) >= 6 and text[:3] in ("'''", '"""') else 1
    body = text[quote:-quote]
    return body, not raw and "\\" in body


def _character(m: re.Match[str]) -> str:
    if simple := m[5]:
        return _SIMPLE.get(simple, simple)
    code = int(m[4], 8) if m[4] else int(m[1] or m[2] or m[3], 16)
    if code > 0x10FFFF or 0xD800 <= code <= 0xDFFF:
        raise LiteralError("invalid unicode code point")
    return chr(code)


def _byte(m: re.Match[str]) -> bytes:
    if simple := m[5]:
        return _SIMPLE.get(simple, simple).encode()
    if m[2] or m[3]:
        raise LiteralError(_CANNOT)
    return bytes([int(m[4], 8) if m[4] else int(m[1], 16)])
