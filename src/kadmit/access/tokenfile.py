"""The file of static tokens: CSV, a line a token: token,user,uid,"group1,group2".

Read as Go reads CSV, and not as Python does: a quote inside a plain field is an error, blank lines are skipped, spaces count.
"""

from collections.abc import Iterator, Mapping

from msgspec import Struct, field

from kadmit.cel.library.authorizer import User

_BARE_QUOTE = 'bare " in non-quoted-field'
_STRAY_QUOTE = 'extraneous or missing " in quoted-field'


class TokenFileError(ValueError):
    """A file of which nothing can be used."""


class Tokens(Struct, frozen=True):
    """Who each token is, and what is odd about the file."""

    users: Mapping[str, User] = field(default_factory=dict)
    warnings: tuple[str, ...] = ()


def parse(text: str, path: str) -> Tokens:
    users: dict[str, User] = {}
    warnings: list[str] = []
    for number, record in enumerate(_records(text), 1):
        if len(record) < 3:
            needed = "must have at least 3 columns (token, user name, user uid)"
            raise TokenFileError(f"token file '{path}' {needed}, found {len(record)}")
        token = record[0]
        if not token or token in users:
            odd = "duplicate" if token else "empty"
            warnings.append(f"{odd} token has been found in token file '{path}', record number '{number}'")
        if token:
            users[token] = _user(record)
    return Tokens(users, tuple(warnings))


def _user(record: list[str]) -> User:
    """NB: an empty column of groups is one group without a name."""
    return User(record[1], record[2], tuple(record[3].split(",")) if len(record) > 3 else ())


# ---------------------------------------------------------------- CSV


def _records(text: str) -> Iterator[list[str]]:
    lines = _Lines(text)
    while lines.advance():
        if lines.rest != "\n":
            yield _record(lines)


class _Lines:
    """The text, line by line: each ends with a newline, but the last of a file that does not."""

    __slots__ = ("_lines", "number", "position", "rest")

    def __init__(self, text: str) -> None:
        *whole, last = text.replace("\r\n", "\n").split("\n")
        self._lines = iter((*(f"{line}\n" for line in whole), last.removesuffix("\r")))
        self.number, self.position, self.rest = 0, 1, ""

    def advance(self) -> bool:
        line = next(self._lines, "")
        self.number, self.position, self.rest = self.number + bool(line), 1, line
        return bool(line)

    def take(self, count: int) -> None:
        self.position += len(self.rest[:count].encode())
        self.rest = self.rest[count:]


def _record(lines: _Lines) -> list[str]:
    start, found = lines.number, []
    while True:
        value, more = _quoted_field(lines, start) if lines.rest.startswith('"') else _plain_field(lines, start)
        found.append(value)
        if not more:
            return found


def _plain_field(lines: _Lines, start: int) -> tuple[str, bool]:
    """A field, and whether another follows."""
    comma = lines.rest.find(",")
    value = lines.rest[:comma] if comma >= 0 else lines.rest.removesuffix("\n")
    if '"' in value:
        lines.take(value.index('"'))
        raise _malformed(lines, start, _BARE_QUOTE)
    lines.take(len(value) + 1)
    return value, comma >= 0


def _quoted_field(lines: _Lines, start: int) -> tuple[str, bool]:
    parts: list[str] = []
    lines.take(1)
    while True:
        quote = lines.rest.find('"')
        if quote < 0:
            parts.append(lines.rest)
            lines.take(len(lines.rest))
            if not _next_line(lines):
                raise _malformed(lines, start, _STRAY_QUOTE)
            continue
        parts.append(lines.rest[:quote])
        lines.take(quote + 1)
        if not lines.rest.startswith('"'):
            break
        parts.append('"')
        lines.take(1)
    return "".join(parts), _field_follows(lines, start)


def _next_line(lines: _Lines) -> bool:
    """NB: at the end of the file the place stays where it was, for the error to name."""
    position = lines.position
    if lines.advance():
        return True
    lines.position = position
    return False


def _field_follows(lines: _Lines, start: int) -> bool:
    if lines.rest in ("", "\n"):
        return False
    if not lines.rest.startswith(","):
        lines.position -= 1
        raise _malformed(lines, start, _STRAY_QUOTE)
    lines.take(1)
    return True


def _malformed(lines: _Lines, start: int, reason: str) -> TokenFileError:
    where = f"parse error on line {lines.number}, column {lines.position}: {reason}"
    return TokenFileError(where if lines.number == start else f"record on line {start}; {where}")
