"""Answers as bytes, as Go writes them: compact JSON with a line break, JSON for people to read, or YAML.

Go escapes <, > and & in JSON, for the sake of browsers; so do we, because answers are compared byte by byte by caches. Go writes
a double without an exponent as long as it can, and never with a useless `.0`. Only objects whose schemas are their own hold
doubles, so only there are numbers looked at, and only written anew where one of them looks different.
"""

import re
from typing import Any, TypeAlias

import orjson

from kadmit.cel import gotext
from kadmit.presentation.media import YAML, Representation

Json: TypeAlias = Any

_ESCAPES = (
    (b"&", b"\\u0026"),
    (b"<", b"\\u003c"),
    (b">", b"\\u003e"),
)
_LINE_ENDS = (
    ("\u2028".encode(), b"\\u2028"),
    ("\u2029".encode(), b"\\u2029"),
)
_BEGINS_LINE_END = b"\xe2"
_UNLIKE_GO = re.compile(rb"[:\[,\s]-?[0-9]+(?:\.0[,\]}\s]|(?:\.[0-9]+)?e)")


def encode(value: Json, how: Representation, *, go_floats: bool = False) -> bytes:
    """The body of an answer. `go_floats`: the value may hold doubles."""
    if how.media_type == YAML:
        from kadmit.presentation import yamltext  # few ask for it, and it brings a library along

        return yamltext.dump(value)
    made = pretty_json(value) if how.pretty else _line(value)
    if not go_floats or _UNLIKE_GO.search(made) is None:
        return made
    numbered = _with_go_floats(value)
    return pretty_json(numbered) if how.pretty else _line(numbered)


def _line(value: Json) -> bytes:
    return _escaped(orjson.dumps(value, option=orjson.OPT_APPEND_NEWLINE))


def json(value: Json) -> bytes:
    return _escaped(orjson.dumps(value))


def pretty_json(value: Json) -> bytes:
    """NB: without a line break at its end."""
    return _escaped(orjson.dumps(value, option=orjson.OPT_INDENT_2))


def _with_go_floats(value: Json) -> Json:
    """The value with every double as Go's text of it."""
    if isinstance(value, float):
        return orjson.Fragment(double_text(value))
    if isinstance(value, dict):
        return {k: _with_go_floats(v) for k, v in value.items()}
    return [_with_go_floats(v) for v in value] if isinstance(value, list) else value


def double_text(value: float) -> str:
    """As Go's encoding/json has it: an exponent only where it is very long without, and that without a leading zero."""
    if value == 0 or 1e-6 <= abs(value) < 1e21:
        return gotext.format_fixed(value)
    return gotext.format_double(value).replace("e-0", "e-")


def _escaped(text: bytes) -> bytes:
    """NB: none of these can stand outside of a JSON string."""
    for char, escape in _ESCAPES:
        if char in text:
            text = text.replace(char, escape)
    if _BEGINS_LINE_END in text:  # NB: one byte is looked for many times faster than three
        for char, escape in _LINE_ENDS:
            text = text.replace(char, escape)
    return text
