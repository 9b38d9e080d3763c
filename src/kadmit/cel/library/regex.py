"""Kubernetes' own regular expression functions. `matches` is CEL's and lives in the standard library."""

from collections.abc import Sequence
from math import ceil

from kadmit.cel import re2, work
from kadmit.cel.declarations import Example, Function, function, member
from kadmit.cel.library.lists import TRAVERSAL, size_of
from kadmit.cel.types import INT, STRING, list_of
from kadmit.cel.values import CelError, Strings, Value

_PATTERN = 0.25
_LIST_OF_STRING = list_of(STRING)


def _find(text: str, pattern: str) -> Value:
    work.spend_match(text, pattern)
    compiled = re2.compile_value(pattern)
    return compiled.find(text) if isinstance(compiled, re2.Pattern) else _illegal(compiled)


def _find_all(text: str, pattern: str, limit: int = -1) -> Value:
    work.spend_match(text, pattern)
    compiled = re2.compile_value(pattern)
    return Strings(compiled.find_all(text, limit)) if isinstance(compiled, re2.Pattern) else _illegal(compiled)


def _illegal(error: CelError) -> CelError:
    return CelError(f"Illegal regex: {error.message}")


def _matching(_overload: str, args: Sequence[Value], _result: Value) -> int:
    """Each part of the pattern (four characters, about) is tried along the text; one more lest an empty text be free."""
    return ceil((1.0 + size_of(args[0])) * TRAVERSAL) * ceil(size_of(args[1]) * _PATTERN)


FUNCTIONS: tuple[Function, ...] = (
    function(
        "find",
        member("string_find_string", STRING, (STRING,), STRING, _find),
        cost=_matching,
        doc="The first match of an RE2 pattern, or the empty string.",
        examples=(Example("'abc 123'.find('[0-9]+')", "123"), Example("'abc'.find('[0-9]+')", "")),
    ),
    function(
        "findAll",
        member("string_find_all_string", STRING, (STRING,), _LIST_OF_STRING, _find_all),
        member("string_find_all_string_int", STRING, (STRING, INT), _LIST_OF_STRING, _find_all),
        cost=_matching,
        doc="All matches of an RE2 pattern, or the first so many of them.",
        examples=(
            Example("'123 abc 456'.findAll('[0-9]+')", ["123", "456"]),
            Example("'123 abc 456'.findAll('[0-9]+', 1)", ["123"]),
        ),
    ),
)
