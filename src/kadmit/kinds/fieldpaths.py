"""Paths to fields of a schema, as rules and selectable fields write them: .spec.a['b-c'].d"""

import re
from collections.abc import Mapping
from typing import Any, TypeAlias

from kadmit.api.fields import Path

Json: TypeAlias = Any
Schema: TypeAlias = Mapping[str, Json]

_TOKEN = re.compile(r"'(?:(?<!\\)'|.*?(?<!\\)')|[.\[\]]|[^.\[\]]++", re.DOTALL)
_ESCAPE = re.compile(r"\\(.)", re.DOTALL)
_ESCAPED = {"a": "\a", "b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t", "v": "\v", "'": "'", "\\": "\\"}


class FieldPathError(ValueError):
    """Not a path to a field; the message is Kubernetes'."""


def normalised(text: str, raw: Schema) -> str | None:
    """The path as errors write it; None, if it is no path in this schema."""
    try:
        return follow(text, raw)[0].text
    except FieldPathError:
        return None


def follow(text: str, raw: Schema, *, brackets: bool = True) -> tuple[Path, Schema | None]:
    """The path, and the schema at its end. Raises FieldPathError."""
    tokens = _tokens(text)
    path, schema = Path(), raw
    while tokens:
        token = tokens.pop(0)
        if token == "[":  # noqa: S105 - a token of the grammar
            if not brackets:
                raise FieldPathError("array notation is not allowed")
            name = _quoted(_next(tokens))
            path, schema = _step(path, schema, name)
            closing = _next(tokens)
            if closing != "]":
                raise FieldPathError(f"expected ] but got {closing}")
        elif token == ".":  # noqa: S105
            path, schema = _step(path, schema, _next(tokens))
        else:
            raise FieldPathError(f"expected [ or . but got: {token}")
    return path, schema


def _tokens(text: str) -> list[str]:
    return _TOKEN.findall(text)


def _next(tokens: list[str]) -> str:
    if not tokens:
        raise FieldPathError("unexpected end of JSON path")
    return tokens.pop(0)


def _quoted(token: str) -> str:
    if len(token) < 2 or token[0] != "'" or token[-1] != "'":
        raise FieldPathError(f"expected single quoted string but got {token}")
    wrong = next((match[0] for match in _ESCAPE.finditer(token[1:-1]) if match[1] not in _ESCAPED), None)
    if wrong is not None:
        raise FieldPathError(f"invalid string literal: invalid escape char {wrong}")
    return _ESCAPE.sub(lambda match: _ESCAPED[match[1]], token[1:-1])


def _step(path: Path, schema: Schema, name: str) -> tuple[Path, Schema]:
    properties, more = schema.get("properties"), schema.get("additionalProperties")
    if properties:
        if name not in properties:
            raise FieldPathError("does not refer to a valid field")
        return path.child(name), properties[name]
    if more is None:
        raise FieldPathError("does not refer to a valid field")
    return path.key(name), more if isinstance(more, Mapping) else {}
