"""Where in a YAML or JSON file a field stands, and where in it a character of a text: for people who look for what a message is
about.

Only asked when there is something to tell, so the file is parsed a second time then, by the parser's own nodes. YAML writes a
text in five ways, and only some keep its lines: so the characters of a text are looked up one by one in the file.
"""

import re
from collections.abc import Iterator, Sequence
from functools import cached_property
from typing import Any, NamedTuple, TypeAlias

import yaml

Path: TypeAlias = Sequence[str]

_LOADER: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
_PART = re.compile(r"\[([^\]]*)\]|([^.\[]+)")
_IN_EXPRESSION = re.compile(r"<input>:([0-9]{1,9}):([0-9]{1,9}): ")
_SPACE = frozenset(" \t\r\n")
_ESCAPE = re.compile(r"\\(?:x[0-9a-fA-F]{2}|u[0-9a-fA-F]{4}|U[0-9a-fA-F]{8}|\r?\n[ \t]*|.)", re.DOTALL)
_NUMBERED = "xuU"
_ESCAPED = {"0": "\0", "a": "\a", "b": "\b", "t": "\t", "n": "\n", "v": "\v", "f": "\f", "r": "\r", "e": "\x1b"}
_ESCAPED |= {"N": "\x85", "_": "\xa0", "L": "\u2028", "P": "\u2029"}


class Place(NamedTuple):
    """A line and a column, both counted from 1; columns count characters."""

    line: int
    column: int


def parts(field: str) -> list[str]:
    """spec.rules[0].operations as its parts: spec, rules, 0, operations."""
    return [index or name for index, name in _PART.findall(field)]


def offset_in(text: str, message: str) -> int | None:
    """Where in an expression its compile error is, if the message tells."""
    found = _IN_EXPRESSION.search(message)
    if found is None:
        return None
    lines = text.split("\n")
    line, column = int(found[1]), int(found[2])
    if not 1 <= line <= len(lines):
        return None
    return sum(len(before) + 1 for before in lines[: line - 1]) + min(column - 1, len(lines[line - 1]))


def fault(data: bytes) -> Place | None:
    """Where a file stops being YAML; None where its syntax is not what is wrong with it."""
    try:
        for _ in yaml.compose_all(data, Loader=_LOADER):
            pass
    except yaml.MarkedYAMLError as e:
        mark = e.problem_mark or e.context_mark
        return None if mark is None else _within(data, mark.line, mark.column)
    except yaml.reader.ReaderError as e:
        before = data[: e.position].decode("utf-8", "replace").split("\n")
        return Place(len(before), len(before[-1]) + 1)
    except (yaml.YAMLError, ValueError, RecursionError):
        pass  # told without a place
    return None


def _within(data: bytes, line: int, column: int) -> Place:
    """NB: a file that ends too early ends in a line of its own, to its parser."""
    lines = data.decode("utf-8-sig", "replace").split("\n")
    return Place(line + 1, column + 1) if line < len(lines) else Place(len(lines), len(lines[-1]) + 1)


class Positions:
    """The places of one file."""

    def __init__(self, data: bytes) -> None:
        self._data = data
        self._characters: dict[int, list[int]] = {}  # of each text, the places of its characters, and of its end
        try:
            self._roots: list[Any] = list(yaml.compose_all(data, Loader=_LOADER))
        except (yaml.YAMLError, UnicodeDecodeError):
            self._roots = []  # JSON that is not YAML: tabs, for one

    @cached_property
    def lines(self) -> list[str]:
        return self._data.decode("utf-8-sig", "replace").split("\n")

    @cached_property
    def _text(self) -> str:
        return "\n".join(self.lines)

    @cached_property
    def _starts(self) -> list[int]:
        starts, at = [], 0
        for line in self.lines:
            starts.append(at)
            at += len(line) + 1
        return starts

    def told(self, document: int, path: Path, message: str = "") -> Place:
        """Where a field stands, or the nearest thing around it; inside an expression, if the message tells where."""
        offset = None
        if message and document < len(self._roots):
            _, node = _found(self._roots[document], path)
            offset = offset_in(node.value, message) if isinstance(node, yaml.ScalarNode) else None
        return self.place(document, path, offset)

    def place(self, document: int, path: Path, offset: int | None = None) -> Place:
        """Where a field stands, or the nearest thing around it; with an offset, where this character of its text stands."""
        if document >= len(self._roots):
            return Place(1, 1)
        mark, node = _found(self._roots[document], path)
        if offset is None or not isinstance(node, yaml.ScalarNode):
            return Place(mark.line + 1, mark.column + 1)
        return self._inside(node, offset)

    def _inside(self, node: Any, offset: int) -> Place:
        if id(node) not in self._characters:
            start, end = self._index(node.start_mark), self._index(node.end_mark)
            source = self._text[start:end]
            places = [start + at for at in _characters(node.value, source, node.style or "")]
            self._characters[id(node)] = [*places, start + len(source.rstrip())]
        known = self._characters[id(node)]
        return self._place(known[min(offset, len(known) - 1)])

    def _index(self, mark: Any) -> int:
        """NB: libyaml's own index counts bytes or characters, depending on where its input comes from."""
        line: int = min(mark.line, len(self._starts) - 1)
        return self._starts[line] + int(mark.column)

    def _place(self, index: int) -> Place:
        from bisect import bisect_right

        line = bisect_right(self._starts, index)
        return Place(line, index - self._starts[line - 1] + 1)


def _found(root: Any, path: Path) -> tuple[Any, Any]:
    """Where the key at the end of a path stands, and its value, as far as there is one."""
    mark, node = root.start_mark, root
    for part in path:
        if isinstance(node, yaml.MappingNode):
            named = [(key, value) for key, value in node.value if key.value == part]
            if not named:
                break
            key, node = named[-1]
            mark = key.start_mark
        elif isinstance(node, yaml.SequenceNode) and part.isdecimal() and int(part) < len(node.value):
            node = node.value[int(part)]
            mark = node.start_mark
        else:
            break
    return mark, node


def _characters(text: str, source: str, style: str) -> Iterator[int]:
    """For each character of a text its place in the source that it was read from. Space may stand anywhere near."""
    at = _beginning(source, style)
    for character in text:
        if character in _SPACE and style != "|":
            yield at
            continue
        at, width = _next(character, source, at, style)
        yield at
        at += width


def _beginning(source: str, style: str) -> int:
    """Behind what opens the text. NB: an anchor or a tag may stand before it."""
    if style in ("|", ">"):
        return source.find("\n") + 1
    return source.find(style) + 1 if style else 0


def _next(character: str, source: str, at: int, style: str) -> tuple[int, int]:
    """Where the character stands, from `at` on, and how many characters stand for it."""
    while at < len(source):
        found = source[at]
        if style == '"' and found == "\\":
            escape = _ESCAPE.match(source, at)
            width = escape.end() - at if escape else 1
            if escape and _meant(escape[0]) == character:
                return at, width
            at += width
        elif found == character:
            return at, 2 if style == "'" and source.startswith("''", at) else 1
        else:
            at += 1
    return at, 0


def _meant(escape: str) -> str:
    name = escape[1]
    if name in _NUMBERED:
        code = int(escape[2:], 16)
        return chr(code) if code < 0x110000 else ""
    return "" if name in "\r\n" else _ESCAPED.get(name, name)
