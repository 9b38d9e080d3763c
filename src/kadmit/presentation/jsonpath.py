r"""JSONPath as custom columns use it: `.spec.size`, `.status.conditions[?(@.type=="Ready")].status`, `.a\.b['c'][0]`, `..name`.

A path is compiled once. Evaluation gives the values found; a path that does not fit the object (an index out of bounds, a
filter on what is no list) finds nothing. Results are bounded, so that no path can exhaust us.
"""

import operator
import re
from collections.abc import Callable, Iterable, Sequence
from typing import Any, TypeAlias

from msgspec import Struct

Json: TypeAlias = Any
Step: TypeAlias = Callable[[list[Json]], list[Json]]

_MOST = 10_000  # values at any step
_LONGEST, _DEEPEST = 4096, 8  # text of a path, filters within filters
_NAME = re.compile(r"(?:\\.|[^\\ \t\r\n.,\[\]$@{}|])+", re.DOTALL)
_QUOTED = re.compile(r"""'((?:[^'\\]|\\.)*)'|"((?:[^"\\]|\\.)*)\"""", re.DOTALL)
_SLICE = re.compile(r"(-?[0-9]{0,9})(:-?[0-9]{0,9})?(:-?[0-9]{0,9})?\Z")
_KEY = re.compile(r"'([^']*)'\Z")
_COMPARED = re.compile(r"([^!<>=]+)(==|!=|<=|>=|<|>)(.+)\Z", re.DOTALL)
_NUMBER = re.compile(r"[+-]?[0-9]+(?:\.[0-9]*)?\Z|[+-]?\.[0-9]+\Z")
_COMPARISONS: dict[str, Callable[[Json, Json], bool]] = {
    "==": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}


class JsonPathError(ValueError):
    """Not a path."""


class _Misfit(Exception):
    """The path does not fit this object."""


class JsonPath(Struct, frozen=True):
    steps: tuple[Step, ...]

    def find(self, value: Json) -> list[Json]:
        try:
            return _walk(self.steps, [value])
        except (_Misfit, TypeError):
            return []


def compile_path(text: str) -> JsonPath:
    """Raises JsonPathError."""
    if len(text) > _LONGEST:
        raise JsonPathError("path is too long")
    return JsonPath(tuple(_Reader(text, 0).steps()))


def _walk(steps: Iterable[Step], values: list[Json]) -> list[Json]:
    for step in steps:
        values = step(values)
        if len(values) > _MOST:
            raise _Misfit
    return values


# ---------------------------------------------------------------- steps


def _field(name: str) -> Step:
    return lambda values: [value[name] for value in values if isinstance(value, dict) and name in value]


def _children(value: Json) -> list[Json]:
    if isinstance(value, dict):
        return [*value.values()]
    return value if isinstance(value, list) else []


def _wildcard(values: list[Json]) -> list[Json]:
    return [child for value in values for child in _children(value)]


def _descend(values: list[Json]) -> list[Json]:
    """Every object and list that holds something, from the outside in."""
    found: list[Json] = []
    waiting = [*reversed(values)]
    while waiting and len(found) <= _MOST:
        value = waiting.pop()
        children = _children(value)
        if children:
            found.append(value)
            waiting.extend(reversed(children))
    return found


def _slice(start: str, end: str | None, step: str | None) -> Step:
    def pick(values: list[Json]) -> list[Json]:
        return [item for value in values if value is not None for item in _sliced(value, start, end, step)]

    return pick


def _sliced(value: Json, start: str, end: str | None, step: str | None) -> Sequence[Json]:
    if not isinstance(value, list):
        raise _Misfit
    size = len(value)
    first = int(start or "0")
    first += size if first < 0 else 0
    last = _last(first, start, end, size)
    if first == last:
        return []
    every = int(step[1:]) if step and step[1:] else 1
    if not 0 <= first < size or not 0 <= last <= size or first > last or every <= 0:
        raise _Misfit
    return value[first:last:every]


def _last(first: int, start: str, end: str | None, size: int) -> int:
    if end is None:
        return first + 1 if start else size
    last = int(end[1:]) if end[1:] else size
    return last + size if last < 0 else last


def _filter(left: Sequence[Step], comparison: str, right: Sequence[Step]) -> Step:
    def keep(values: list[Json]) -> list[Json]:
        return [item for value in values for item in _listed(value) if _passes(item, left, comparison, right)]

    return keep


def _listed(value: Json) -> list[Json]:
    if not isinstance(value, list):
        raise _Misfit
    return value


def _passes(item: Json, left: Sequence[Step], comparison: str, right: Sequence[Step]) -> bool:
    lefts = _walk(left, [item])
    if not comparison:
        return bool(lefts)
    rights = _walk(right, [item])
    if not lefts or not rights:
        return False
    if len(lefts) > 1 or len(rights) > 1 or not _comparable(lefts[0], rights[0]):
        raise _Misfit
    return _COMPARISONS[comparison](lefts[0], rights[0])


def _comparable(left: Json, right: Json) -> bool:
    """NB: only like is compared with like; a whole number is not like a fraction."""
    return type(left) is type(right) and isinstance(left, str | int | float | bool)


def _union(parts: Sequence[Sequence[Step]]) -> Step:
    return lambda values: [found for steps in parts for found in _walk(steps, values)]


def _constant(value: Json) -> Step:
    return lambda values: [value for _ in values]


# ---------------------------------------------------------------- reading


class _Reader:
    def __init__(self, text: str, depth: int) -> None:
        if depth > _DEEPEST:
            raise JsonPathError("filters are nested too deeply")
        self.text = text
        self.depth = depth
        self.at = 0

    def steps(self) -> Iterable[Step]:
        while self.at < len(self.text):
            step = self._step()
            if step is not None:
                yield step

    def _step(self) -> Step | None:
        here = self.text[self.at]
        if self.text.startswith("[?(", self.at):
            return self._filtered()
        if self.text.startswith("..", self.at):
            return self._descending()
        if here in " @$":
            self.at += 1
            return None
        if here == "[":
            return self._bracket()
        if here == ".":
            self.at += 1
            return self._named()
        return self._literal()

    def _descending(self) -> Step:
        self.at += 2
        named = _NAME.match(self.text, self.at)
        if named is None:
            return _descend
        field = self._named()
        return lambda values: field(_descend(values))

    def _named(self) -> Step:
        found = _NAME.match(self.text, self.at)
        if found is None:
            return _field("")
        self.at = found.end()
        return _wildcard if found[0] == "*" else _field(found[0].replace("\\", ""))

    def _literal(self) -> Step:
        quoted = _QUOTED.match(self.text, self.at)
        if quoted is not None:
            self.at = quoted.end()
            return _constant(re.sub(r"\\(.)", r"\1", quoted[1] if quoted[1] is not None else quoted[2], flags=re.DOTALL))
        word = re.compile(r"[^ \t\r\n\[\]$@{}]+").match(self.text, self.at)
        if word is None:
            raise JsonPathError(f"unrecognized character in action: {self.text[self.at]}")
        self.at = word.end()
        if word[0] in ("true", "false"):
            return _constant(word[0] == "true")
        if not _NUMBER.match(word[0]):
            raise JsonPathError(f"unrecognized identifier {word[0]}")
        return _constant(float(word[0]) if "." in word[0] else int(word[0]))

    def _bracket(self) -> Step:
        end = self.text.find("]", self.at)
        if end < 0:
            raise JsonPathError("unterminated array")
        inside, self.at = self.text[self.at + 1 : end], end + 1
        parts = inside.split(",")
        if len(parts) > 1:
            return _union([[*_Reader(f"[{part.strip(' ')}]", self.depth + 1).steps()] for part in parts])
        key = _KEY.match(inside)
        return self._keyed(key[1]) if key is not None else _picked(inside)

    def _keyed(self, key: str) -> Step:
        """NB: a dot in a quoted key parts names all the same."""
        steps = [*_Reader(f".{key}", self.depth + 1).steps()]
        return lambda values: _walk(steps, values)

    def _filtered(self) -> Step:
        inside = self._balanced()
        compared = _COMPARED.match(inside)
        left = [*_Reader(compared[1] if compared else inside, self.depth + 1).steps()]
        right = [*_Reader(compared[3], self.depth + 1).steps()] if compared else []
        return _filter(left, compared[2] if compared else "", right)

    def _balanced(self) -> str:
        """The text of a filter, up to the bracket that closes it. Quoted brackets do not count."""
        begin, depth, position, quote = self.at + 3, 1, self.at + 3, ""
        while position < len(self.text):
            char = self.text[position]
            if quote:
                quote = "" if char == quote and self.text[position - 1] != "\\" else quote
            elif char in "\"'":
                quote = char
            else:
                depth += {"(": 1, ")": -1}.get(char, 0)
            if depth == 0 and self.text.startswith("]", position + 1):
                self.at = position + 2
                return self.text[begin:position]
            position += 1
        raise JsonPathError("unterminated filter")


def _picked(inside: str) -> Step:
    bounds = _SLICE.match(":" if inside == "*" else inside)
    if bounds is None or not bounds[0]:
        raise JsonPathError(f"invalid array index {inside}")
    return _slice(bounds[1], bounds[2], bounds[3])
