"""Answers as bytes, as Go writes them: compact JSON with a line break, JSON for people to read, or YAML.

Go escapes <, > and & in JSON, for the sake of browsers; so do we, because answers are compared byte by byte by caches.
"""

from typing import Any, TypeAlias

import orjson

from kadmit.presentation import yamltext
from kadmit.presentation.media import YAML, Representation

Json: TypeAlias = Any

_ESCAPES = (
    (b"&", b"\\u0026"),
    (b"<", b"\\u003c"),
    (b">", b"\\u003e"),
    ("\u2028".encode(), b"\\u2028"),
    ("\u2029".encode(), b"\\u2029"),
)


def encode(value: Json, how: Representation) -> bytes:
    """The body of an answer."""
    if how.media_type == YAML:
        return yamltext.dump(value)
    return pretty_json(value) if how.pretty else json(value) + b"\n"


def json(value: Json) -> bytes:
    return _escaped(orjson.dumps(value))


def pretty_json(value: Json) -> bytes:
    """NB: without a line break at its end."""
    return _escaped(orjson.dumps(value, option=orjson.OPT_INDENT_2))


def _escaped(text: bytes) -> bytes:
    """NB: none of these can stand outside of a JSON string."""
    for char, escape in _ESCAPES:
        if char in text:
            text = text.replace(char, escape)
    return text
