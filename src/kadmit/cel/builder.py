"""Nodes as they come into being: each gets the next id, and the id remembers where it stands in the text.

Ids are not free to choose: the run-time cost tracker and error positions are keyed by them, so they are handed out in
the order in which cel-go hands them out. Both parsers (of valid and of broken text) and the macros build through here.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import TypeAlias

from kadmit.cel import literals
from kadmit.cel.ast import Call, Expr, Ident, Literal
from kadmit.cel.source import NOWHERE, Issues, Location, Source

RESERVED = frozenset(
    [
        "as",
        "break",
        "const",
        "continue",
        "else",
        "false",
        "for",
        "function",
        "if",
        "import",
        "in",
        "let",
        "loop",
        "package",
        "namespace",
        "null",
        "return",
        "true",
        "var",
        "void",
        "while",
    ]
)

# optMap() copies its target, so each call of a chain doubles what stands before it. cel-go would copy without end.
MAX_COPIES = 50_000

# The id, and the offset, of what stands nowhere. Only broken text has such nodes.
NO_NODE = -1

# (name, number of arguments, is it a method) -> what writes the call anew.
MacroKey: TypeAlias = tuple[str, int, bool]
Expander: TypeAlias = "Callable[[Builder, int, Expr | None, Sequence[Expr]], Expr]"
Macros: TypeAlias = Mapping[MacroKey, Expander]


class MacroError(Exception):
    """A macro called with arguments that it cannot take."""

    def __init__(self, node: int, message: str) -> None:
        super().__init__(message)
        self.node = node


class TooLargeError(Exception):
    """Macros copied more nodes than anybody wants to have."""


class Builder:
    """Everything that one parse makes: nodes, positions, macro calls as they were written, issues."""

    __slots__ = ("copies", "issues", "macro_calls", "macros", "next_id", "offsets", "optional_syntax", "source")

    def __init__(self, source: Source, macros: Macros, *, optional_syntax: bool) -> None:
        self.source = source
        self.macros = macros
        self.optional_syntax = optional_syntax
        self.issues = Issues(source)
        self.offsets: dict[int, int] = {}
        self.macro_calls: dict[int, Expr] = {}
        self.next_id = 1
        self.copies = 0

    def id(self, offset: int) -> int:
        """The next id, standing at the offset."""
        number = self.next_id
        self.offsets[number] = offset
        self.next_id = number + 1
        return number

    def location(self, node: int) -> Location:
        """Where a node stands. A node that stands nowhere (offset -1) is put before the first column."""
        offset = self.offsets.get(node)
        if offset is None:
            return NOWHERE
        return self.source.location(offset) if offset >= 0 else Location(1, offset)

    def nothing(self, offset: int) -> Literal:
        """Takes the place of what could not be built. Never seen by anybody: there is an issue, too."""
        return Literal(self.id(offset), None)

    def report(self, offset: int, message: str) -> Literal:
        place = self.nothing(offset)
        self.issues.add(self.location(place.id), message, place.id)
        return place

    def report_nowhere(self, message: str) -> Literal:
        place = self.nothing(NO_NODE)
        self.issues.add(NOWHERE, message, place.id)
        return place

    def ident(self, start: int, offset: int, name: str, *, dot: bool = False) -> Expr:
        """A name at the offset, in a construct that begins at `start` (at its leading dot, if there is one)."""
        if name in RESERVED:
            return self.report(start, f"reserved identifier: {name}")
        return Ident(self.id(offset), f".{name}" if dot else name)

    def literal(self, offset: int, value: object) -> Literal:
        return Literal(self.id(offset), value)

    def number(self, offset: int, text: str, read: Callable[[str], object]) -> Expr:
        try:
            value = read(text)
        except literals.LiteralError as error:
            return self.report(offset, str(error))
        return Literal(self.id(offset), value)

    def text(self, offset: int, text: str, read: Callable[[str], object]) -> Expr:
        """A string or bytes literal. One that cannot be read is reported, and stands for its own text."""
        try:
            value = read(text)
        except literals.LiteralError as error:
            self.report(offset, str(error))
            value = text
        return Literal(self.id(offset), value)

    def optional_select(self, dot: int, name_at: int, operand: Expr, name: str) -> Expr:
        if not self.optional_syntax:
            return self.report(dot, "unsupported syntax '.?'")
        field = Literal(self.id(name_at), name)
        return Call(self.id(dot), "_?._", None, (operand, field))

    def index(self, node: int, operand: Expr, index: Expr, *, optional: bool) -> Expr:
        if optional and not self.optional_syntax:
            return self.report(self.offsets.get(node, NO_NODE), "unsupported syntax '[?'")
        return Call(node, "_[?_]" if optional else "_[_]", None, (operand, index))

    def call(self, node: int, function: str, target: Expr | None, args: Sequence[Expr]) -> Expr:
        """A call, or what the macro of that name makes of it."""
        expand = self.macros.get((function, len(args), target is not None))
        if expand is None:
            return Call(node, function, target, tuple(args))
        try:
            expanded = expand(self, node, target, args)
        except MacroError as error:
            return self._misused_macro(node, error)
        self.macro_calls[expanded.id] = Call(expanded.id, function, target, tuple(args))
        self._forget(node)
        return expanded

    def _misused_macro(self, node: int, error: MacroError) -> Expr:
        location = self.location(error.node)
        offset = self.offsets.get(error.node, NO_NODE)
        self._forget(node)
        place = self.nothing(offset)
        self.issues.add(location, str(error), place.id)
        return place

    def _forget(self, node: int) -> None:
        """The id of a call that a macro replaced is gone; if it was the last one, it is given again."""
        self.offsets.pop(node, None)
        if node == self.next_id - 1:
            self.next_id = node

    def logic(self, function: str, terms: Sequence[Expr], nodes: Sequence[int]) -> Expr:
        """A chain of && or || as a balanced tree; nodes[i] is the operator between terms[i] and terms[i + 1]."""
        return self._balanced(function, terms, nodes, 0, len(nodes) - 1)

    def _balanced(self, function: str, terms: Sequence[Expr], nodes: Sequence[int], low: int, high: int) -> Expr:
        middle = (low + high + 1) // 2
        left = terms[middle] if middle == low else self._balanced(function, terms, nodes, low, middle - 1)
        right = terms[middle + 1] if middle == high else self._balanced(function, terms, nodes, middle + 1, high)
        return Call(nodes[middle], function, None, (left, right))
