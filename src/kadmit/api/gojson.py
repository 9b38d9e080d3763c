"""How Go prints values into error texts: strings quoted as %q does, everything else as compact, escaped JSON."""

import json
import math

_SHORT = {"\a": "\\a", "\b": "\\b", "\f": "\\f", "\n": "\\n", "\r": "\\r", "\t": "\\t", "\v": "\\v", "\\": "\\\\", '"': '\\"'}


class Named(str):
    """A text of a Go type of its own, such as an enum: error texts show it as JSON, not as %q."""

    __slots__ = ()


def quoted(text: str) -> str:
    """%q: printable characters as they are, all others escaped."""
    return '"' + "".join(_quoted_character(c) for c in text) + '"'


def _quoted_character(character: str) -> str:
    short = _SHORT.get(character)
    if short is not None:
        return short
    code = ord(character)
    if character.isprintable():
        return character
    if code < 0x80:
        return f"\\x{code:02x}"
    return f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


def display(value: object) -> str:
    """A bad value in an error text."""
    if isinstance(value, str):
        return marshal(value) if isinstance(value, Named) else quoted(value)
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true" if value else "false"
    return str(value) if isinstance(value, int) else marshal(value)


def marshal(value: object) -> str:
    """encoding/json: compact, keys as they stand, <, > and & escaped."""
    text = json.dumps(_plain(value), ensure_ascii=False, separators=(",", ":"))
    escaped = text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")
    return escaped.replace("\u2028", "\\u2028").replace("\u2029", "\\u2029")


def _plain(value: object) -> object:
    """NB: Go prints whole doubles without a point."""
    if isinstance(value, float) and math.isfinite(value) and value == int(value) and abs(value) < 1e21:
        return int(value)
    if isinstance(value, dict):
        return {k: _plain(v) for k, v in value.items()}
    return [_plain(v) for v in value] if isinstance(value, list | tuple) else value
