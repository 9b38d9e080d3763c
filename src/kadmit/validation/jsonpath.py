"""Whether a text is a JSONPath to Kubernetes, which never evaluates it here: only what is wrong with it matters.

The grammar is kubectl's. It is read token by token in a loop; what stands in brackets and filters is read by itself.
"""

import math
import re

_INDEX = re.compile(r"(-?[0-9]*)(:-?[0-9]*)?(:-?[0-9]*)?")
_KEY = re.compile(r"'([^']*)'")
_COMPARISON = re.compile(r"([^!<>=]+)([!<>=]+)(.+)", re.DOTALL)
_DECIMAL = re.compile(r"[+-]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)")
_ESCAPED = re.compile(
    r"""\\(?:[abfnrtv\\]|(?P<quote>['"])|x[0-9a-fA-F]{2}|u(?P<u>[0-9a-fA-F]{4})|U(?P<U>[0-9a-fA-F]{8})|(?P<o>[0-7]{3}))|[^\\]""",
    re.DOTALL,
)
_ENDS_NAME = frozenset(" \t\r\n.,[]$@{}")
_INT64 = 2**63
_DEEPEST = 50  # filters within filters


class _Fault(Exception):
    pass


def problem(text: str) -> str | None:
    """What is wrong with a path, or None."""
    try:
        _Reader(f"{{{text}}}", 0).read()
    except _Fault as fault:
        return str(fault)
    return None


class _Reader:
    """A text with actions in braces, and how far it is read."""

    __slots__ = ("at", "depth", "descending", "text")

    def __init__(self, text: str, depth: int) -> None:
        self.text = text
        self.at = 0
        self.depth = depth
        self.descending = False  # the last token was ..

    def read(self) -> None:
        """Plain text may stand around actions."""
        while True:
            self.at = self.text.find("{", self.at) + 1
            if not self.at:
                return
            self.descending = False
            while self._token():
                pass

    def _token(self) -> bool:
        """Reads one token; False if it ended the action."""
        here = self.text[self.at : self.at + 1]
        if here == "}":
            self.at += 1
            return False
        if self.text.startswith("[?(", self.at):
            self._filter()
        elif self.text.startswith("..", self.at):
            self._descent()
            return True
        elif here in ("", "\r", "\n"):
            raise _Fault("unclosed action")
        elif here in " @$":
            self.at += 1
            return True
        else:
            self._plain_token(here)
        self.descending = False
        return True

    def _plain_token(self, here: str) -> None:
        if here == "[":
            self._brackets()
        elif here in "\"'":
            self._quote(here)
        elif here == ".":
            self.at += 1
            self._field()
        elif here in "+-" or here.isdecimal():
            self._number()
        elif here == "_" or here.isalpha():
            self._identifier()
        else:
            shown = f" '{here}'" if here.isprintable() else ""
            raise _Fault(f"unrecognized character in action: U+{ord(here):04X}{shown}")

    def _descent(self) -> None:
        if self.descending:
            raise _Fault("invalid multiple recursive descent")
        self.at += 2
        following = self.text[self.at : self.at + 1]
        self.descending = not (following == "_" or following.isalpha() or following.isdecimal())
        if not self.descending:
            self._field()

    def _identifier(self) -> None:
        while self.at < len(self.text) and self.text[self.at] not in _ENDS_NAME:
            self.at += 1

    def _field(self) -> None:
        """As a name, but a backslash takes the next character along."""
        while self.at < len(self.text) and self.text[self.at] not in _ENDS_NAME:
            self.at += 2 if self.text[self.at] == "\\" else 1
        self.at = min(self.at, len(self.text))

    def _number(self) -> None:
        start = self.at
        self.at += self.text[start] in "+-"
        while self.at < len(self.text) and (self.text[self.at] == "." or self.text[self.at].isdecimal()):
            self.at += 1
        number = self.text[start : self.at]
        if _DECIMAL.fullmatch(number) is None or not math.isfinite(float(number)):
            raise _Fault(f"cannot parse number {number}")

    def _quote(self, mark: str) -> None:
        start, line = self.at, self._line_end()
        end = start + 1
        while True:
            end = self.text.find(mark, end, line)
            if end < 0:
                raise _Fault("unterminated quoted string")
            if self.text[end - 1] != "\\":
                break
            end += 1
        self.at = end + 1
        if not _unquotes(self.text[start + 1 : end], mark):
            raise _Fault(f"unquote string {self.text[start : self.at]} error invalid syntax")

    def _line_end(self) -> int:
        end = self.text.find("\n", self.at)
        return len(self.text) if end < 0 else end

    def _brackets(self) -> None:
        end = self.text.find("]", self.at, self._line_end())
        if end < 0:
            raise _Fault("unterminated array")
        inside, self.at = self.text[self.at + 1 : end], end + 1
        parts = inside.split(",")
        if len(parts) > 1:
            for part in parts:
                self._nested(f"[{part.strip(' ')}]")
        elif (key := _KEY.fullmatch(inside)) is not None:
            self._nested(f".{key[1]}")
        elif inside != "*":
            _check_index(inside)

    def _filter(self) -> None:
        start = self.at + len("[?(")
        end = self._filter_end(start)
        if self.text[end + 1 : end + 2] != "]":
            raise _Fault("unclosed array expect ]")
        self.at = end + 2
        compared = _COMPARISON.fullmatch(self.text[start:end])
        for side in (compared[1], compared[3]) if compared is not None else (self.text[start:end],):
            self._nested(side)

    def _filter_end(self, start: int) -> int:
        """Where the parenthesis closes that is not within quotes. NB: only the first quoted text is known as one."""
        opened, closed = "", False
        for i in range(start, self._line_end()):
            here = self.text[i]
            if here in "\"'":
                if not opened:
                    opened = here
                elif here == opened and self.text[i - 1] != "\\":
                    closed = True
            elif here == ")" and bool(opened) == closed:
                return i
        raise _Fault("unterminated filter")

    def _nested(self, text: str) -> None:
        if self.depth < _DEEPEST:
            _Reader(f"{{{text}}}", self.depth + 1).read()


def _check_index(text: str) -> None:
    found = _INDEX.fullmatch(text)
    if found is None:
        raise _Fault(f"invalid array index {text}")
    for part in found.groups(""):
        number = part.removeprefix(":")
        if number and (number == "-" or not -_INT64 <= int(number) < _INT64):
            raise _Fault(f"array index {number} is not a number")


def _unquotes(text: str, mark: str) -> bool:
    """Whether every escape in a quoted text is one."""
    at = 0
    while at < len(text):
        found = _ESCAPED.match(text, at)
        if found is None or found["quote"] not in (None, mark) or not _is_character(found):
            return False
        at = found.end()
    return True


def _is_character(found: re.Match[str]) -> bool:
    code = int(found["u"] or found["U"] or "0", 16)
    return code <= 0x10FFFF and not 0xD800 <= code <= 0xDFFF and int(found["o"] or "0", 8) <= 0xFF
