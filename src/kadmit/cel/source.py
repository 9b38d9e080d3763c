"""The text of an expression, positions in it, and what is wrong with it.

Every complaint about an expression is an `Issue`: a position and a message. Issues are collected, never raised half
way, and printed in one form: the line, and a caret under the column.
"""

from collections.abc import Sequence

from msgspec import Struct, field

MAX_REPORTED = 100
MAX_SNIPPET_BYTES = 16384


class Location(Struct, frozen=True, order=True):
    """A line from 1 and a column from 0, in code points; NOWHERE where no place can be named."""

    line: int
    column: int


NOWHERE = Location(-1, -1)


class Source:
    """An expression's text, able to say where an offset lies."""

    __slots__ = ("_line_starts", "text")

    def __init__(self, text: str) -> None:
        self.text = text
        self._line_starts = [0, *(i + 1 for i, c in enumerate(text) if c == "\n")]

    def location(self, offset: int) -> Location:
        from bisect import bisect_right

        line = bisect_right(self._line_starts, offset)
        return Location(line, offset - self._line_starts[line - 1])

    def offset(self, location: Location) -> int:
        return self._line_starts[location.line - 1] + location.column

    def line(self, number: int) -> str | None:
        """The text of a line, or None where there is no such line; an empty text has no lines."""
        if not self.text or not 1 <= number <= len(self._line_starts):
            return None
        start = self._line_starts[number - 1]
        end = self._line_starts[number] - 1 if number < len(self._line_starts) else len(self.text)
        return self.text[start:end]


class Issue(Struct, frozen=True):
    """One thing that is wrong, and where."""

    location: Location
    message: str
    node: int = 0

    def render(self, source: Source) -> str:
        head = f"ERROR: <input>:{self.location.line}:{self.location.column + 1}: {self.message}"
        line = source.line(self.location.line)
        if line is None or len(line.encode("utf-8", "surrogatepass")) > MAX_SNIPPET_BYTES:
            return head
        return f"{head}\n | {line.replace(chr(9), ' ')}\n | {_pointer(line, self.location.column)}"


def _pointer(line: str, column: int) -> str:
    """Dots up to the column and a caret, full-width under characters outside ASCII."""
    column = max(column, 0)
    dots = "".join("." if c < "\x80" else "．" for c in line[:column])
    under = line[column : column + 1]
    return dots + ("^" if under < "\x80" else "＾")


class Issues(Struct):
    """Collects issues; past a hundred it only counts."""

    source: Source
    found: list[Issue] = field(default_factory=list)
    count: int = 0

    def add(self, location: Location, message: str, node: int = 0) -> None:
        self.count += 1
        if self.count <= MAX_REPORTED:
            self.found.append(Issue(location, message, node))

    def __bool__(self) -> bool:
        return self.count > 0

    def render(self) -> str:
        return render_issues(self.found, self.source, self.count)


def render_issues(found: Sequence[Issue], source: Source, count: int | None = None) -> str:
    """All issues by position, one under the other."""
    texts = [issue.render(source) for issue in sorted(found, key=lambda i: i.location)]
    hidden = (count or len(found)) - len(found)
    if hidden > 0:
        texts.append(f"{hidden} more errors were truncated")
    return "\n".join(texts)


class CompileError(Exception):
    """An expression that cannot be compiled; str() is Kubernetes' text, with positions and carets."""

    def __init__(self, message: str, issues: Sequence[Issue] = ()) -> None:
        super().__init__(message)
        self.issues = tuple(issues)
