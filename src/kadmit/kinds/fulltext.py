"""JSON with what plain dicts lose: members that are given twice, and the text of numbers.

Error messages and strict decoding need both; nothing else does. So this slow reading only happens to bodies that have
something wrong or odd about them.
"""

import json
import re
from collections.abc import Iterable
from typing import Any, NamedTuple, TypeAlias

import orjson

from kadmit.patch import goscanner, gotext

Json: TypeAlias = Any

UNREAD: Json = object()  # stands for the value of a body that nobody has read yet
MAX_PROBLEMS = 100  # Kubernetes stops counting there
TOO_DEEP = "exceeded max depth"
_INT_MIN, _INT_MAX = -(2**63), 2**63 - 1
_SPACED_COLON = re.compile(rb'"\s+:')


class SyntaxFault(ValueError):
    """Not JSON; the message is Go's."""


class Members:
    """An object, all its members in the order of the text."""

    __slots__ = ("pairs",)

    def __init__(self, pairs: list[tuple[str, Json]]) -> None:
        self.pairs = pairs


class Numeral:
    """A number by its text."""

    __slots__ = ("text",)

    def __init__(self, text: str) -> None:
        self.text = text


def loads(body: bytes) -> Json:
    """Plain values. Raises SyntaxFault."""
    try:
        return orjson.loads(body)
    except orjson.JSONDecodeError:
        return plain(read(body))


def read(body: bytes) -> Json:
    """Values with Members and Numerals. Raises SyntaxFault."""
    try:
        return json.loads(
            body.decode("utf-8", "replace"),
            object_pairs_hook=Members,
            parse_int=Numeral,
            parse_float=Numeral,
            parse_constant=_refuse,
        )
    except (RecursionError, ValueError):
        raise SyntaxFault(goscanner.fault(body) or TOO_DEEP) from None


def _refuse(constant: str) -> Json:
    """NaN and its like: Python's extension, not JSON."""
    raise ValueError(constant)


def plain(value: Json) -> Json:
    """The same without extras: of members given twice the last one counts."""
    if isinstance(value, Members):
        return {clean_text(key): plain(member) for key, member in value.pairs}
    if isinstance(value, list):
        return [plain(item) for item in value]
    if isinstance(value, Numeral):
        return number(value.text)
    return clean_text(value) if isinstance(value, str) else value


def number(text: str) -> int | float:
    """What Kubernetes makes of a number without a schema: whole ones are 64-bit integers as long as they fit."""
    if not any(mark in text for mark in ".eE") and len(text) < 21:
        whole = int(text)
        if _INT_MIN <= whole <= _INT_MAX:
            return whole
    return float(text)


def clean_text(text: str) -> str:
    """Halves of surrogate pairs become the replacement character, as in Go."""
    return text if text.isascii() else text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def has_no_duplicates(body: bytes, value: Json) -> bool:
    """Whether it is certain that no object of the body names a member twice.

    Either the body is just what orjson writes, or it holds as many keys as the value does. Raises SyntaxFault for values that
    are nested so deeply (254 levels) that orjson could never write them.
    """
    try:
        if orjson.dumps(value) == body.rstrip(b"\n"):
            return True
    except orjson.JSONEncodeError:
        raise SyntaxFault(TOO_DEEP) from None
    return _SPACED_COLON.search(body) is None and body.count(b'":') == _keys(value)


def _keys(value: Json) -> int:
    count, rest = 0, [value]
    while rest:
        node = rest.pop()
        if node.__class__ is dict:
            count += len(node)
            rest.extend(node.values())
        elif node.__class__ is list:
            rest.extend(node)
    return count


class Problem(NamedTuple):
    """A field that strict decoding has something against."""

    what: str  # unknown or duplicate
    path: str

    @property
    def text(self) -> str:
        return f"{self.what} field {gotext.quote(self.path)}"


class Problems:
    """The unknown and duplicate fields of a body, in the order in which they are met, each once."""

    __slots__ = ("found",)

    def __init__(self) -> None:
        self.found: list[Problem] = []

    def add(self, what: str, path: str) -> None:
        problem = Problem(what, path)
        if len(self.found) < MAX_PROBLEMS and problem not in self.found:
            self.found.append(problem)


def duplicates(value: Json) -> list[Problem]:
    """What strict decoding has against an object without a schema: members given twice."""
    problems = Problems()
    _find_duplicates(value, "", problems)
    return problems.found


def _find_duplicates(value: Json, path: str, problems: Problems) -> None:
    if isinstance(value, Members):
        seen: set[str] = set()
        for key, member in value.pairs:
            at = f"{path}.{key}" if path else key
            if key in seen:
                problems.add("duplicate", at)
            seen.add(key)
            _find_duplicates(member, at, problems)
    elif isinstance(value, list):
        for index, item in enumerate(value):
            _find_duplicates(item, f"{path}[{index}]", problems)


def pairs(value: Json) -> Iterable[tuple[str, Json]] | None:
    """The members of an object, however it was read; None if it is no object."""
    if isinstance(value, Members):
        return value.pairs
    return value.items() if isinstance(value, dict) else None
