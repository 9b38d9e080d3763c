"""Go's regular expression grammar: whether Go takes a pattern, its error text if not, and the same pattern for RE2.

Go and the C++ library are siblings, not twins: they differ in names of character classes, group names, escapes and in
every error text. So a pattern is read here by Go's rules and written out again in the plainest spelling that both
agree on: groups without capture, characters by number. What is written out always compiles to the same matcher.

The reader keeps, per open group, what has been read of the current branch: that is what a repetition applies to and
what the limits on nesting, repetition and size are counted on.
"""

import re
from enum import Enum

from msgspec import Struct, field

from kadmit.cel import unicode_classes

_MAX_REPEAT = 1000
_MAX_HEIGHT = 1000
_MAX_SIZE = (128 << 20) // 40  # instructions
_TOO_BIG = 10**8  # a repeat count that Go does not even read to its end

_REPEAT = re.compile(r"\{(0|[1-9][0-9]*)(?:(,)(0|[1-9][0-9]*)?)?\}")
_FLAGS = re.compile(r"\(\?(?:[imsU]*|[imsU]*-[imsU]+)[:)]")
_FLAGS_READ = re.compile(r"\(\?[imsU]*(?:-[imsU]*)?")
_GROUP_NAME = re.compile(r"[A-Za-z0-9_]+")
_HEX_DIGITS = frozenset("0123456789abcdefABCDEF")
_OCTAL_DIGITS = frozenset("01234567")
_CONTROL = {"a": 7, "f": 12, "n": 10, "r": 13, "t": 9, "v": 11}
_PERL_CLASSES = frozenset("dDsSwW")
_POSITIONS = {"A": r"\A", "b": r"\b", "B": r"\B", "z": r"\z"}
_POSIX = frozenset(
    f"[:{sign}{name}:]"
    for sign in ("", "^")
    for name in (
        "alnum", "alpha", "ascii", "blank", "cntrl", "digit", "graph", "lower", "print", "punct", "space", "upper", "word",
        "xdigit",
    )
)  # fmt: skip


class SyntaxIssue(Struct, frozen=True):
    """Why Go refuses a pattern."""

    code: str
    fragment: str

    def __str__(self) -> str:
        return f"error parsing regexp: {self.code}: `{self.fragment}`"


class _Refused(Exception):
    """Ends the reading of a pattern; never leaves this module."""

    def __init__(self, code: str, fragment: str) -> None:
        super().__init__()
        self.issue = SyntaxIssue(code, fragment)


class _Op(Enum):
    LITERAL = "literal"
    CLASS = "class"  # one character of several
    POSITION = "position"  # or nothing at all
    CONCAT = "concat"
    ALTERNATE = "alternate"
    UNARY = "unary"  # a repetition or a capture


class _Node(Struct):
    """A piece of the tree, with only what the limits ask for."""

    op: _Op
    height: int = 1
    size: int = 1
    repeats: int = 0  # copies of the innermost thing that nested {n} ask for
    inner: int = 0  # height of the highest part, for a sequence that dissolves into an outer one
    count: int = 1  # of a {n}
    folded: bool = False


class _Frame(Struct):
    """An open group, or the whole pattern."""

    capture: bool
    folded: bool  # case-insensitive when it was opened, restored when it closes
    items: list[_Node] = field(default_factory=list)
    branches: list[_Node] = field(default_factory=list)


def translate(pattern: str) -> str | SyntaxIssue:
    """The pattern in RE2's spelling, or Go's objection."""
    try:
        return _Reader(pattern).read()
    except _Refused as refused:
        return refused.issue


class _Reader:
    __slots__ = ("folded", "frames", "nodes", "out", "pattern", "product")

    def __init__(self, pattern: str) -> None:
        self.pattern = pattern
        self.out: list[str] = []
        self.folded = False
        self.frames = [_Frame(capture=False, folded=False)]
        self.nodes = 0  # allocated by Go, about
        self.product = 1  # of all repeat counts

    def read(self) -> str:
        pattern, at, last_repeat = self.pattern, 0, -1
        while at < len(pattern):
            char = pattern[at]
            start, repeated = at, False
            if char in "*+?":
                at = self._repeat(at, at + 1, None, last_repeat)
                repeated = True
            elif char == "{" and (found := _REPEAT.match(pattern, at)):
                at = self._counted(at, found, last_repeat)
                repeated = True
            else:
                at = self._atom(char, at)
            last_repeat = start if repeated else -1
        self._branch_end()
        self._alternation()
        if len(self.frames) > 1:
            raise _Refused("missing closing )", pattern)
        return "".join(self.out)

    def _atom(self, char: str, at: int) -> int:
        """Read what is not a repetition; gives where it ends."""
        if char == "(":
            return self._open(at)
        if char == ")":
            return self._close(at)
        if char == "|":
            self._branch_end()
            self.out.append("|")
            return at + 1
        if char == "[":
            return self._brackets(at)
        if char == "\\":
            return self._escape(at)
        if char in "^$.":
            return self._push_atom(char, at + 1, _Op.CLASS if char == "." else _Op.POSITION)
        return self._push_literal(ord(char), at + 1)

    # ---- repetition --------------------------------------------------------------------------------------------

    def _counted(self, at: int, found: re.Match[str], last_repeat: int) -> int:
        low = _count(found[1])
        high = low if not found[2] else _count(found[3]) if found[3] else -1
        if low > _MAX_REPEAT or high > _MAX_REPEAT or 0 <= high < low:
            raise _Refused("invalid repeat count", found[0])
        return self._repeat(at, found.end(), (low, high), last_repeat)

    def _repeat(self, start: int, end: int, counts: tuple[int, int] | None, last_repeat: int) -> int:
        if self.pattern.startswith("?", end):
            end += 1
        text = self.pattern[start:end]
        if last_repeat >= 0:
            raise _Refused("invalid nested repetition operator", self.pattern[last_repeat:end])
        items = self.frames[-1].items
        if not items:
            raise _Refused("missing argument to repetition operator", text)
        node = items[-1] = _repeated(items[-1], text[0], counts)
        self.nodes += 1
        self._check(node)
        if counts is not None and max(counts) >= 2 and node.repeats > _MAX_REPEAT:
            raise _Refused("invalid repeat count", text)
        self.out.append(text)
        return end

    # ---- groups ------------------------------------------------------------------------------------------------

    def _open(self, at: int) -> int:
        pattern = self.pattern
        if not pattern.startswith("(?", at):
            return self._push_frame("(?:", at + 1, capture=True, folded=self.folded)
        rest = len(pattern) - at
        if (rest > 4 and pattern.startswith("(?P<", at)) or (rest > 3 and pattern.startswith("(?<", at)):
            return self._named(at)
        return self._flags(at)

    def _named(self, at: int) -> int:
        start = self.pattern.index("<", at) + 1
        end = self.pattern.find(">", at)
        if end < 0:
            raise _Refused("invalid named capture", self.pattern[at:])
        if not _GROUP_NAME.fullmatch(self.pattern, start, end):
            raise _Refused("invalid named capture", self.pattern[at : end + 1])
        return self._push_frame("(?:", end + 1, capture=True, folded=self.folded)

    def _flags(self, at: int) -> int:
        found = _FLAGS.match(self.pattern, at)
        if found is None:
            read = _FLAGS_READ.match(self.pattern, at)
            assert read is not None
            raise _Refused("invalid or unsupported Perl syntax", self.pattern[at : read.end() + 1])
        set_flags, _, cleared = found[0][2:-1].partition("-")
        folded = (self.folded or "i" in set_flags) and "i" not in cleared
        if found[0].endswith(")"):
            self.folded = folded
            self.out.append(found[0])
            return found.end()
        return self._push_frame(found[0], found.end(), capture=False, folded=folded)

    def _push_frame(self, text: str, end: int, *, capture: bool, folded: bool) -> int:
        self.frames.append(_Frame(capture=capture, folded=self.folded))
        self.folded = folded
        self.nodes += 1
        self.out.append(text)
        return end

    def _close(self, at: int) -> int:
        self._branch_end()
        node = self._alternation()
        if len(self.frames) == 1:
            raise _Refused("unexpected )", self.pattern)
        frame = self.frames.pop()
        self.folded = frame.folded
        if frame.capture:
            node = _Node(_Op.UNARY, node.height + 1, node.size + 2, node.repeats)
        self.frames[-1].items.append(node)
        self._check(node)
        self.out.append(")")
        return at + 1

    def _branch_end(self) -> None:
        frame = self.frames[-1]
        node = self._one(_Op.CONCAT, frame.items)
        if frame.branches and _is_one_character(frame.branches[-1]) and _is_one_character(node):
            frame.branches[-1] = _Node(_Op.CLASS)  # a|b is [ab]
        else:
            frame.branches.append(node)
        frame.items = []

    def _alternation(self) -> _Node:
        return self._one(_Op.ALTERNATE, self.frames[-1].branches)

    def _one(self, op: _Op, parts: list[_Node]) -> _Node:
        """One node out of many; the only one as it is."""
        if len(parts) == 1:
            node = parts[0]
        else:
            node = _joined(op, parts) if parts else _Node(_Op.POSITION)
            self.nodes += 1
        self._check(node)
        return node

    # ---- atoms -------------------------------------------------------------------------------------------------

    def _push_atom(self, text: str, end: int, op: _Op = _Op.CLASS) -> int:
        self._push(_Node(op))
        self.out.append(text)
        return end

    def _push_literal(self, code: int, end: int) -> int:
        items = self.frames[-1].items
        if len(items) > 1 and _mergeable(items[-2], items[-1]):
            # A run of characters is one node, except for its last, which may still be repeated.
            items[-2].size += items.pop().size
            self.nodes -= 1
        self._push(_Node(_Op.LITERAL, folded=self.folded))
        self.out.append(_spelled(code))
        return end

    def _push(self, node: _Node) -> None:
        self.nodes += 1
        self.frames[-1].items.append(node)
        self._check(node)

    def _check(self, node: _Node) -> None:
        """Go's limits, at each step that Go checks them. NB: a {n} counts again each time that it is moved up."""
        self.product = min(self.product * node.count, _MAX_SIZE)
        if node.height > _MAX_HEIGHT:
            raise _Refused("expression nests too deeply", self.pattern)
        if node.size > _MAX_SIZE and self.nodes >= _MAX_SIZE // self.product:
            raise _Refused("expression too large", self.pattern)

    def _escape(self, at: int) -> int:
        following = self.pattern[at + 1 : at + 2]
        if following in _POSITIONS:
            return self._push_atom(_POSITIONS[following], at + 2, _Op.POSITION)
        if following == "C":
            raise _Refused("invalid escape sequence", r"\C")
        if following == "Q":
            return self._quoted(at + 2)
        if following and following in "pP":
            name, negated, end = self._unicode_class(at)
            return self._push_atom(unicode_classes.standing_alone(name, negated=negated), end)
        if following in _PERL_CLASSES:
            return self._push_atom("\\" + following, at + 2)
        code, end = self._escaped(at)
        return self._push_literal(code, end)

    def _quoted(self, start: int) -> int:
        r"""\Q…\E; the end may be missing."""
        end = self.pattern.find(r"\E", start)
        stop = len(self.pattern) if end < 0 else end
        for at in range(start, stop):
            self._push_literal(ord(self.pattern[at]), at + 1)
        return stop if end < 0 else end + 2

    def _unicode_class(self, at: int) -> tuple[str, bool, int]:
        r"""\pN, \p{Name}, \P{^Name} at this place: the class, whether negated, and where it ends."""
        end = at + 3
        name = self.pattern[at + 2 : end]
        if name == "{":
            closing = self.pattern.find("}", at)
            if closing < 0:
                raise _Refused("invalid character class range", self.pattern[at:])
            end = closing + 1
            name = self.pattern[at + 3 : closing]
        negated = (self.pattern[at + 1] == "P") != name.startswith("^")
        resolved = unicode_classes.resolve(name.removeprefix("^"))
        if resolved is None:
            raise _Refused("invalid character class range", self.pattern[at:end])
        return resolved, negated, end

    def _escaped(self, at: int) -> tuple[int, int]:
        """The character that an escape stands for, and where the escape ends."""
        pattern, end = self.pattern, at + 2
        char = pattern[at + 1 : end]
        if not char:
            raise _Refused("trailing backslash at end of expression", "")
        if char in _CONTROL:
            return _CONTROL[char], end
        if char == "x":
            return self._hexadecimal(at)
        if char in _OCTAL_DIGITS and (char == "0" or pattern[end : end + 1] in _OCTAL_DIGITS):
            while end < at + 4 and pattern[end : end + 1] in _OCTAL_DIGITS:
                end += 1
            return int(pattern[at + 1 : end], 8), end
        if char.isascii() and not char.isalnum():
            return ord(char), end
        raise _Refused("invalid escape sequence", pattern[at:end])

    def _hexadecimal(self, at: int) -> tuple[int, int]:
        pattern = self.pattern
        if not pattern.startswith("{", at + 2):
            digits = pattern[at + 2 : at + 4]
            if len(digits) == 2 and _HEX_DIGITS.issuperset(digits):
                return int(digits, 16), at + 4
            raise _Refused("invalid escape sequence", pattern[at : at + 4])
        code, end = 0, at + 3
        while pattern[end : end + 1] in _HEX_DIGITS:
            code = code * 16 + int(pattern[end], 16)
            end += 1
            if code > 0x10FFFF:
                raise _Refused("invalid escape sequence", pattern[at:end])
        if end == at + 3 or not pattern.startswith("}", end):
            raise _Refused("invalid escape sequence", pattern[at : end + 1])
        return code, end + 1

    # ---- brackets ----------------------------------------------------------------------------------------------

    def _brackets(self, start: int) -> int:
        pattern, at = self.pattern, start + 1
        parts = ["["]
        if pattern.startswith("^", at):
            parts.append("^")
            at += 1
        first = True
        while first or not pattern.startswith("]", at):
            first = False
            text, at = self._bracket_part(at, start)
            parts.append(text)
        parts.append("]")
        return self._push_atom("".join(parts), at + 1)

    def _bracket_part(self, at: int, start: int) -> tuple[str, int]:
        pattern = self.pattern
        if pattern.startswith("[:", at) and (end := pattern.find(":]", at + 2)) >= 0:
            name = pattern[at : end + 2]
            if name not in _POSIX:
                raise _Refused("invalid character class range", name)
            return name, end + 2
        escape = pattern[at : at + 2]
        if escape in (r"\p", r"\P"):
            name, negated, end = self._unicode_class(at)
            return unicode_classes.within_brackets(name, negated=negated), end
        if len(escape) == 2 and escape[0] == "\\" and escape[1] in _PERL_CLASSES:
            return escape, at + 2
        return self._range(at, start)

    def _range(self, start: int, bracket: int) -> tuple[str, int]:
        pattern = self.pattern
        low, at = self._bracket_char(start, bracket)
        high = low
        if pattern.startswith("-", at) and pattern[at + 1 : at + 2] not in ("", "]"):
            high, at = self._bracket_char(at + 1, bracket)
            if high < low:
                raise _Refused("invalid character class range", pattern[start:at])
        return (f"\\x{{{low:x}}}" if low == high else f"\\x{{{low:x}}}-\\x{{{high:x}}}"), at

    def _bracket_char(self, at: int, bracket: int) -> tuple[int, int]:
        char = self.pattern[at : at + 1]
        if not char:
            raise _Refused("missing closing ]", self.pattern[bracket:])
        return self._escaped(at) if char == "\\" else (ord(char), at + 1)


def _count(digits: str) -> int:
    return int(digits) if len(digits) < 10 else _TOO_BIG


def _spelled(code: int) -> str:
    char = chr(code)
    return char if char.isascii() and char.isalnum() else f"\\x{{{code:x}}}"


def _mergeable(left: _Node, right: _Node) -> bool:
    return left.op is _Op.LITERAL and right.op is _Op.LITERAL and left.folded is right.folded


def _is_one_character(node: _Node) -> bool:
    return node.op is _Op.CLASS or (node.op is _Op.LITERAL and node.size == 1)


def _repeated(node: _Node, operator: str, counts: tuple[int, int] | None) -> _Node:
    if counts is None:
        return _Node(_Op.UNARY, node.height + 1, node.size + (2 if operator == "*" else 1), node.repeats)
    low, high = counts
    copies = low if high < 0 else high
    repeats = 0 if high == 0 else max(node.repeats, 1) * copies if copies else node.repeats
    if high < 0:
        size = low * node.size + 1 if low else node.size + 2
    else:
        size = high * node.size + high - low
    return _Node(_Op.UNARY, node.height + 1, max(size, 1), repeats, count=max(copies, 1))


def _joined(op: _Op, parts: list[_Node]) -> _Node:
    """A sequence or an alternation; one of the same kind among the parts dissolves into it."""
    if op is _Op.CONCAT and len(parts) == 2 and _mergeable(*parts):
        return _Node(_Op.LITERAL, size=parts[0].size + parts[1].size, folded=parts[0].folded)
    inner = max(part.inner if part.op is op else part.height for part in parts)
    bars = len(parts) - 1 if op is _Op.ALTERNATE else 0
    return _Node(op, inner + 1, sum(part.size for part in parts) + bars, max(part.repeats for part in parts), inner)
