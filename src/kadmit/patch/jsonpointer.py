"""Paths into a document, read once and walked many times.

They are JSON Pointers (RFC 6901) as Kubernetes reads them: whatever stands before the first slash is ignored, an index may be
negative (from the end) or written `+1` or `01`, and a text without any slash points nowhere.
"""

import functools
import re
from typing import NamedTuple

from kadmit.patch import gotext

_INTEGER = re.compile(r"[+-]?[0-9]+\Z")
_INT64_DIGITS = 19
_USUAL_LENGTH = 256


class Token(NamedTuple):
    """One step: the key of an object, and its reading as the index of a list, if it has one."""

    key: str
    place: int | None


class Pointer(NamedTuple):
    """text: as written; parents: the way to the container; last: what to look up in it, None if it points nowhere."""

    text: str
    parents: tuple[Token, ...]
    last: Token | None


def parse(text: str) -> Pointer:
    """Any text is a pointer, though perhaps to nowhere. Those of policies and webhooks come again with every request."""
    return _remembered(text) if len(text) <= _USUAL_LENGTH else _parsed(text)


def _parsed(text: str) -> Pointer:
    tokens = tuple(map(token, text.split("/")[1:]))
    return Pointer(text, tokens[:-1], tokens[-1] if tokens else None)


_remembered = functools.lru_cache(maxsize=4096)(_parsed)


def token(part: str) -> Token:
    key = part.replace("~1", "/").replace("~0", "~") if "~" in part else part
    return Token(key, _index(key))


def escape(key: str) -> str:
    """One key as a part of a pointer."""
    return key.replace("~", "~0").replace("/", "~1")


def index_fault(key: str) -> str:
    """Go's complaint about a key that is no index."""
    trouble = "value out of range" if _INTEGER.match(key) else "invalid syntax"
    return f"strconv.Atoi: parsing {gotext.quote(key)}: {trouble}"


def _index(key: str) -> int | None:
    """NB: digits are counted before they are converted: a long number costs Python quadratic time."""
    if key.isalpha() or not _INTEGER.match(key) or len(key.lstrip("+-").lstrip("0")) > _INT64_DIGITS:
        return None
    value = int(key)
    return value if -(2**63) <= value < 2**63 else None
