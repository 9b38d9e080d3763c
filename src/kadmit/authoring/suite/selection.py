"""Which cases are meant: words, joined by `and`, `or`, `not` and brackets, and ids.

A word is meant wherever it stands in an id (`suite.yaml::case`), in capitals or not. A word with `::` in it is an id: it means a
case of this name, with all its variations, in every suite whose path ends so.
"""

import posixpath
import re
from collections.abc import Callable, Iterable

from msgspec import Struct

Wanted = Callable[[str], bool]

_TOKEN = re.compile(r"\s*(?:([()])|((?:\"[^\"]*\"|'[^']*'|[^\s()\"'])+))")
_QUOTED = re.compile(r"\"([^\"]*)\"|'([^']*)'")
_WORDS = ("and", "or", "not")
_MAX_DEPTH = 50


class BadExpression(ValueError):
    """A selection that cannot be read; the message tells the column."""


class _Token(Struct, frozen=True):
    text: str
    column: int
    kind: str  # "(", ")", "and", "or", "not", "word"


def expression(text: str) -> Wanted:
    """Raises BadExpression."""
    reading = _Reading(list(_tokens(text)), len(text))
    found = reading.either()
    reading.end()
    return found


def is_meant(term: str, case_id: str) -> bool:
    """Whether a word or an id means a case."""
    if "::" not in term:
        return term.lower() in case_id.lower()
    suite, _, name = term.partition("::")
    found_suite, _, found_name = case_id.partition("::")
    in_suite = not suite or found_suite == suite or (not suite.startswith("/") and found_suite.endswith(f"/{suite}"))
    return in_suite and (found_name == name or found_name.startswith(f"{name}["))


def plain(path: str) -> str:
    """A path as ids have it."""
    return posixpath.normpath(path)


def within(path: str) -> Wanted:
    """Every case of a file, or of the files in a folder."""
    here = plain(path)
    return lambda case_id: here == "." or case_id.startswith((f"{here}::", f"{here}/"))


def among(ids: Iterable[str]) -> Wanted:
    listed = frozenset(ids)
    return lambda case_id: case_id in listed


def _tokens(text: str) -> Iterable[_Token]:
    at = 0
    while text[at:].strip():
        found = _TOKEN.match(text, at)
        if found is None:
            column = at + len(text[at:]) - len(text[at:].lstrip()) + 1
            raise BadExpression(f"column {column}: a quotation mark has no partner")
        word, start = found[found.lastindex or 0], found.start(found.lastindex or 0) + 1
        kind = word if word in ("(", ")", *_WORDS) else "word"
        yield _Token(_QUOTED.sub(lambda m: m[1] or m[2] or "", word), start, kind)
        at = found.end()


class _Reading:
    """What is left to read."""

    def __init__(self, tokens: list[_Token], length: int) -> None:
        self._tokens = tokens
        self._length = length
        self._at = 0
        self._depth = 0

    def _next(self) -> _Token:
        return self._tokens[self._at] if self._at < len(self._tokens) else _Token("", self._length + 1, "end")

    def _take(self, kind: str) -> bool:
        taken = self._next().kind == kind
        self._at += taken
        return taken

    def _fail(self, wanted: str) -> BadExpression:
        token = self._next()
        return BadExpression(f"column {token.column}: expected {wanted}, found {token.text or 'the end'}")

    def end(self) -> None:
        if self._next().kind != "end":
            raise self._fail("and, or, or the end")

    def either(self) -> Wanted:
        parts = [self._both()]
        while self._take("or"):
            parts.append(self._both())
        return parts[0] if len(parts) == 1 else lambda case_id: any(part(case_id) for part in parts)

    def _both(self) -> Wanted:
        parts = [self._one()]
        while self._take("and"):
            parts.append(self._one())
        return parts[0] if len(parts) == 1 else lambda case_id: all(part(case_id) for part in parts)

    def _one(self) -> Wanted:
        self._depth += 1
        if self._depth > _MAX_DEPTH:
            raise BadExpression(f"column {self._next().column}: too many brackets")
        found = self._negated() if self._take("not") else self._bracketed() if self._take("(") else self._word()
        self._depth -= 1
        return found

    def _negated(self) -> Wanted:
        inner = self._one()
        return lambda case_id: not inner(case_id)

    def _bracketed(self) -> Wanted:
        inner = self.either()
        if not self._take(")"):
            raise self._fail("a closing bracket")
        return inner

    def _word(self) -> Wanted:
        token = self._next()
        if not self._take("word"):
            raise self._fail("a word")
        return lambda case_id: is_meant(token.text, case_id)
