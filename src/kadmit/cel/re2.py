"""Regular expressions of users: Go's syntax and texts, run by RE2, so that no pattern takes exponential time.

`go_regexp` decides whether Go accepts a pattern and rewrites the few spellings that the C++ library lacks; this module
compiles, caches and matches. The library is called through its bare extension type: its Python wrapper is several
times slower.
"""

from functools import lru_cache

from re2 import _re2

from kadmit.cel import go_regexp, work
from kadmit.cel.values import CelError

_ANYWHERE = _re2.RE2.Anchor.UNANCHORED
_NO_MATCH = -1
_CACHED_PATTERNS = 128  # each may use up to _MEMORY
_MEMORY = 8 << 20
_LARGE_MEMORY = 64 << 20  # for patterns which Go takes and the usual budget does not; these are never cached
_CACHED_LENGTH = 10_000
_STEPS = 20  # of work, to compile a character, or for one match of many
MAX_LENGTH = 100_000  # as long as an expression, and so any pattern that is written in one


class Pattern:
    """A compiled pattern. Texts are matched as UTF-8, so offsets inside are bytes; results are strings again."""

    __slots__ = ("_match", "source")

    def __init__(self, source: str, compiled: _re2.RE2) -> None:
        self.source = source
        self._match = compiled.Match

    def search(self, text: str) -> bool:
        """Whether it matches anywhere in the text."""
        data = _utf8(text)
        return bool(self._match(_ANYWHERE, data, 0, len(data))[0][0] != _NO_MATCH)

    def find(self, text: str) -> str:
        """The leftmost match, or the empty string."""
        data = _utf8(text)
        start, end = self._match(_ANYWHERE, data, 0, len(data))[0]
        return "" if start == _NO_MATCH else data[start:end].decode()

    def find_all(self, text: str, limit: int = -1) -> list[str]:
        """The first `limit` matches (all if negative), as Go counts them: no empty match right after another match."""
        data = _utf8(text)
        size = len(data)
        found: list[str] = []
        position, previous_end = 0, -1
        while position <= size and len(found) != limit:
            start, end = self._match(_ANYWHERE, data, position, size)[0]
            if start == _NO_MATCH:
                break
            if end > position:
                position = end
                accepted = True
            else:
                accepted = start != previous_end
                position = _next_character(data, position)
            previous_end = end
            if accepted:
                found.append(data[start:end].decode())
        work.spend(_STEPS * len(found))
        return found


def _utf8(text: str) -> bytes:
    try:
        return text.encode()
    except UnicodeEncodeError:  # a lone surrogate
        return text.encode("utf-8", "replace")


def _next_character(data: bytes, position: int) -> int:
    position += 1
    while position < len(data) and data[position] & 0xC0 == 0x80:
        position += 1
    return position


def compile_pattern(source: str) -> Pattern | CelError:
    """The pattern, or `error parsing regexp: …` in Go's words."""
    if len(source) > MAX_LENGTH:
        return _too_large(source)
    found = _cached(source) if len(source) <= _CACHED_LENGTH else _compile(source, _MEMORY)
    if found is None:
        found = _compile(source, _LARGE_MEMORY)
    # Go's limit is higher than what we give to one pattern; the answer is the one that Go has for that.
    return found or _too_large(source)


def compile_value(source: str) -> Pattern | CelError:
    """The same for a pattern that is only known when an expression runs: what is not cached is counted as work."""
    if len(source) > _CACHED_LENGTH:
        work.spend(_STEPS * len(source))
    return compile_pattern(source)


def _too_large(source: str) -> CelError:
    return CelError(str(go_regexp.SyntaxIssue("expression too large", source)))


def _compile(source: str, memory: int) -> Pattern | CelError | None:
    """None if it takes more memory."""
    translated = go_regexp.translate(source)
    if isinstance(translated, go_regexp.SyntaxIssue):
        return CelError(str(translated))
    compiled = _re2.RE2(_utf8(translated), _options(memory))
    return Pattern(source, compiled) if compiled.ok() else None


@lru_cache(maxsize=_CACHED_PATTERNS)
def _cached(source: str) -> Pattern | CelError | None:
    return _compile(source, _MEMORY)


def _options(memory: int) -> _re2.RE2.Options:
    options = _re2.RE2.Options()
    options.log_errors = False
    options.never_capture = True  # nothing asks for groups, and a match without them is faster
    options.max_mem = memory
    return options


def pattern_literal_issue(value: object) -> str | None:
    """What the compiler says of the first argument of matches(LITERAL …), if anything."""
    good = isinstance(value, str) and not isinstance(compile_pattern(value), CelError)
    return None if good else "invalid matches argument"
