"""Tokens to a syntax tree.

Valid text, which is nearly all text, is read here in one pass with explicit stacks: operands wait in one, operators in
another, open brackets in a third. Nothing recurses, so no text can exhaust Python's stack. Whatever is not plainly
valid is left to `broken`, which reads it again, slowly, to find out what exactly is wrong with it.
"""

from collections.abc import Callable
from typing import Any

from kadmit.cel import depth, literals
from kadmit.cel import lexer as lex
from kadmit.cel.ast import Ast, Call, Expr, ListExpr, MapEntry, MapExpr, Select, StructExpr, StructField
from kadmit.cel.builder import RESERVED, Builder, Macros, TooLargeError
from kadmit.cel.source import NOWHERE, Issues, Source

MAX_CODE_POINTS = 100_000


def parse(text: str, *, macros: Macros, optional_syntax: bool = True) -> tuple[Ast | None, Issues]:
    """The tree, or None and what is wrong. `macros.available` says which macros a version of Kubernetes has."""
    source = Source(text)
    builder = Builder(source, macros, optional_syntax=optional_syntax)
    if len(text) > MAX_CODE_POINTS:
        size = f"size: {len(text)}, limit {MAX_CODE_POINTS}"
        builder.report_nowhere(f"expression code point size exceeds limit: {size}")
        return None, builder.issues
    try:
        root = _valid(text, builder)
        if root is None:
            builder = Builder(source, macros, optional_syntax=optional_syntax)
            from kadmit.cel import broken  # only syntax errors need the grammar, which takes time to load

            root = broken.parse(text, builder)
    except TooLargeError:
        builder.issues.add(NOWHERE, "expression is too large after macro expansion")
        return None, builder.issues
    if root is None or builder.issues:
        return None, builder.issues
    return Ast(root, source, builder.offsets, builder.macro_calls), builder.issues


def _valid(text: str, builder: Builder) -> Expr | None:
    """The tree of a text without syntax errors; None where there are some, or where it nests too deeply."""
    tokens = lex.tokens(text)
    if tokens is None or depth.may_exceed_limit(tokens.kinds):
        return None
    try:
        return _Parser(tokens, builder).root()
    except _BrokenError:
        return None


class _BrokenError(Exception):
    """The text is not plainly valid."""


# What a frame is.
_WHOLE, _PAREN, _CALL, _INDEX, _LIST, _MAP_KEY, _MAP_VALUE, _STRUCT, _THEN, _ELSE = range(10)

_BINARY = {
    lex.LESS: (3, "_<_"),
    lex.LESS_EQUALS: (3, "_<=_"),
    lex.GREATER_EQUALS: (3, "_>=_"),
    lex.GREATER: (3, "_>_"),
    lex.EQUALS: (3, "_==_"),
    lex.NOT_EQUALS: (3, "_!=_"),
    lex.IN: (3, "@in"),
    lex.PLUS: (4, "_+_"),
    lex.MINUS: (4, "_-_"),
    lex.STAR: (5, "_*_"),
    lex.SLASH: (5, "_/_"),
    lex.PERCENT: (5, "_%_"),
}
_OR_LEVEL, _AND_LEVEL, _PREFIX_LEVEL = 1, 2, 6


class _Frame:
    """An open construct: brackets, or a conditional whose end is not yet known."""

    __slots__ = ("base", "extra", "kind", "node", "parts")

    def __init__(self, kind: int, base: int, node: int = 0, extra: Any = None) -> None:
        self.kind = kind
        self.base = base  # the height of the operator stack at its beginning
        self.node = node
        self.parts: list[Any] = []
        self.extra = extra  # what else is known of it; that differs from kind to kind


class _Parser:
    """Handlers return whether an operand is expected next."""

    __slots__ = ("at", "builder", "done", "frame", "frames", "kinds", "operators", "out", "starts", "texts")

    def __init__(self, tokens: lex.Tokens, builder: Builder) -> None:
        self.kinds, self.starts, self.texts = tokens.kinds, tokens.starts, tokens.texts
        self.builder = builder
        self.at = 0
        self.done = False
        self.out: list[Expr] = []
        # (level, function, node), or for chains of && and || [level, function, terms, nodes, offset of the last operator]
        self.operators: list[Any] = []
        self.frame = _Frame(_WHOLE, 0)
        self.frames: list[_Frame] = []

    def root(self) -> Expr:
        kinds = self.kinds
        expecting = True
        while not self.done:
            handle = (_OPERAND if expecting else _OPERATOR)[kinds[self.at]]
            expecting = handle(self)
        return self.out[0]

    def broken(self) -> bool:
        raise _BrokenError

    # Operands

    def name(self) -> bool:
        return self._name_at(self.at, self.starts[self.at], dot=False)

    def dotted_name(self) -> bool:
        start = self.at
        self.at += 1
        if self.kinds[self.at] != lex.IDENTIFIER:
            raise _BrokenError
        return self._name_at(self.at, self.starts[start], dot=True)

    def _name_at(self, at: int, start: int, *, dot: bool) -> bool:
        kinds = self.kinds
        after = kinds[at + 1]
        if after == lex.LPAREN:
            return self._open_function(at, dot=dot)
        if after == lex.DOT or after == lex.LBRACE:
            end = self._qualified_end(at + 1)
            if kinds[end] == lex.LBRACE:
                return self._open_struct(at, end, dot=dot)
        self.out.append(self.builder.ident(start, self.starts[at], self.texts[at], dot=dot))
        self.at = at + 1
        return False

    def _qualified_end(self, at: int) -> int:
        kinds = self.kinds
        while kinds[at] == lex.DOT and kinds[at + 1] == lex.IDENTIFIER:
            at += 2
        return at

    def _open_function(self, at: int, *, dot: bool) -> bool:
        name = self.texts[at]
        if name in RESERVED:
            raise _BrokenError
        return self._open_call(at + 1, f".{name}" if dot else name, None)

    def _open_call(self, paren: int, function: str, target: Expr | None) -> bool:
        self._open(_CALL, self.builder.id(self.starts[paren]), (function, target))
        self.at = paren + 1
        return self.kinds[self.at] != lex.RPAREN or self._close_empty()

    def _open(self, kind: int, node: int, extra: object = None) -> None:
        self.frames.append(self.frame)
        self.frame = _Frame(kind, len(self.operators), node, extra)

    def _close_empty(self) -> bool:
        """Closes a bracket without contents (or with a trailing comma): the token at hand is the closing one."""
        self._close()
        self.at += 1
        return False

    def _open_struct(self, first: int, brace: int, *, dot: bool) -> bool:
        name = "".join(self.texts[first:brace])
        self._open(_STRUCT, self.builder.id(self.starts[brace]), [f".{name}" if dot else name, None, False, 0])
        self.at = brace + 1
        if self.kinds[self.at] == lex.COMMA and self.kinds[self.at + 1] == lex.RBRACE:
            self.at += 1
        return self._field()

    def _field(self) -> bool:
        """At the beginning of a field, or at the brace that ends the struct."""
        if self.kinds[self.at] == lex.RBRACE:
            return self._close_empty()
        optional = self._optional_mark()
        if self.kinds[self.at] != lex.IDENTIFIER or self.kinds[self.at + 1] != lex.COLON:
            raise _BrokenError
        extra = self.frame.extra
        extra[1:] = [self.texts[self.at], optional, self.builder.id(self.starts[self.at + 1])]
        self.at += 2
        return True

    def _optional_mark(self) -> bool:
        if self.kinds[self.at] != lex.QUESTION:
            return False
        if not self.builder.optional_syntax:
            raise _BrokenError
        self.at += 1
        return True

    def paren(self) -> bool:
        self._open(_PAREN, 0)
        self.at += 1
        return True

    def list(self) -> bool:
        self._open(_LIST, self.builder.id(self.starts[self.at]), [])
        self.at += 1
        return self._element(first=True)

    def _element(self, *, first: bool) -> bool:
        """At the beginning of an element, or at the bracket that ends the list."""
        kind = self.kinds[self.at]
        if first and kind == lex.COMMA and self.kinds[self.at + 1] == lex.RBRACKET:
            self.at += 1
            return self._close_empty()
        if kind == lex.RBRACKET:
            return self._close_empty()
        if self._optional_mark():
            self.frame.extra.append(len(self.frame.parts))
        return True

    def map(self) -> bool:
        self._open(_MAP_KEY, self.builder.id(self.starts[self.at]))
        self.at += 1
        if self.kinds[self.at] == lex.COMMA and self.kinds[self.at + 1] == lex.RBRACE:
            self.at += 1
        return self._entry()

    def _entry(self) -> bool:
        """At the beginning of a key, or at the brace that ends the map. An entry's id comes before those of its key."""
        if self.kinds[self.at] == lex.RBRACE:
            return self._close_empty()
        optional = self._optional_mark()
        self.frame.kind = _MAP_KEY
        self.frame.extra = [self.builder.id(-1), optional, None]
        return True

    def string(self) -> bool:
        self.out.append(self.builder.text(self.starts[self.at], self.texts[self.at], literals.string_value))
        self.at += 1
        return False

    def bytes(self) -> bool:
        self.out.append(self.builder.text(self.starts[self.at], self.texts[self.at][1:], literals.bytes_value))
        self.at += 1
        return False

    def number(self) -> bool:
        read = _NUMBERS[self.kinds[self.at]]
        self.out.append(self.builder.number(self.starts[self.at], self.texts[self.at], read))
        self.at += 1
        return False

    def constant(self) -> bool:
        self.out.append(self.builder.literal(self.starts[self.at], _CONSTANTS[self.kinds[self.at]]))
        self.at += 1
        return False

    def minus(self) -> bool:
        """A sign belongs to the number behind it; two or more are operators, of which every pair cancels out."""
        if self.kinds[self.at + 1] in (lex.INT, lex.FLOAT):
            return self._signed_number()
        self._prefix(lex.MINUS, "-_")
        if self.kinds[self.at] == lex.EXCLAM:
            raise _BrokenError
        return True

    def _signed_number(self) -> bool:
        sign = self.at
        read = _NUMBERS[self.kinds[sign + 1]]
        self.out.append(self.builder.number(self.starts[sign], "-" + self.texts[sign + 1], read))
        self.at = sign + 2
        return False

    def exclamation(self) -> bool:
        self._prefix(lex.EXCLAM, "!_")
        if self.kinds[self.at] == lex.MINUS:
            if self.kinds[self.at + 1] in (lex.INT, lex.FLOAT):
                return self._signed_number()
            raise _BrokenError
        return True

    def _prefix(self, kind: int, function: str) -> None:
        first = self.at
        while self.kinds[self.at] == kind:
            self.at += 1
        if (self.at - first) % 2:
            self.operators.append((_PREFIX_LEVEL, function, self.builder.id(self.starts[first])))

    # Operators

    def binary(self) -> bool:
        level, function = _BINARY[self.kinds[self.at]]
        self._reduce(level)
        self.operators.append((level, function, self.builder.id(self.starts[self.at])))
        self.at += 1
        return True

    def both(self) -> bool:
        return self._chain(_AND_LEVEL, "_&&_")

    def either(self) -> bool:
        return self._chain(_OR_LEVEL, "_||_")

    def _chain(self, level: int, function: str) -> bool:
        """One more term of a chain. An operator gets its id only when the term behind it is complete."""
        self._reduce(level + 1)
        operators = self.operators
        term = self.out.pop()
        if len(operators) > self.frame.base and operators[-1][0] == level:
            chain = operators[-1]
            chain[2].append(term)
            chain[3].append(self.builder.id(chain[4]))
            chain[4] = self.starts[self.at]
        else:
            operators.append([level, function, [term], [], self.starts[self.at]])
        self.at += 1
        return True

    def _reduce(self, level: int) -> None:
        """Applies the operators that bind at least as strongly as `level`, down to the bracket."""
        operators, out, base = self.operators, self.out, self.frame.base
        while len(operators) > base and operators[-1][0] >= level:
            operator = operators.pop()
            right = out.pop()
            if operator[0] == _PREFIX_LEVEL:
                out.append(Call(operator[2], operator[1], None, (right,)))
            elif operator[0] > _AND_LEVEL:
                out.append(Call(operator[2], operator[1], None, (out.pop(), right)))
            else:
                _, function, terms, nodes, last = operator
                terms.append(right)
                nodes.append(self.builder.id(last))
                out.append(self.builder.logic(function, terms, nodes))

    def dot(self) -> bool:
        at, kinds = self.at, self.kinds
        if kinds[at + 1] == lex.IDENTIFIER:
            if kinds[at + 2] == lex.LPAREN:
                return self._open_call(at + 2, self.texts[at + 1], self.out.pop())
            operand = self.out.pop()
            self.out.append(Select(self.builder.id(self.starts[at]), operand, self.texts[at + 1]))
            self.at = at + 2
            return False
        if kinds[at + 1] == lex.QUESTION and kinds[at + 2] == lex.IDENTIFIER:
            name_at, name = self.starts[at + 2], self.texts[at + 2]
            self.out.append(self.builder.optional_select(self.starts[at], name_at, self.out.pop(), name))
            self.at = at + 3
            return False
        raise _BrokenError

    def index(self) -> bool:
        node = self.builder.id(self.starts[self.at])
        self.at += 1
        optional = self._optional_mark()
        self._open(_INDEX, node, (self.out.pop(), optional))
        return True

    def question(self) -> bool:
        """The part behind it may not hold another conditional without parentheses; the part behind the colon may."""
        self._reduce(_OR_LEVEL)
        if self.frame.kind == _THEN:
            raise _BrokenError
        self._open(_THEN, self.builder.id(self.starts[self.at]))
        self.at += 1
        return True

    def colon(self) -> bool:
        self._finish()
        kind = self.frame.kind
        if kind == _THEN:
            self.frame.kind = _ELSE
        elif kind == _MAP_KEY:
            extra = self.frame.extra
            self.builder.offsets[extra[0]] = self.starts[self.at]
            extra[2] = self.out.pop()
            self.frame.kind = _MAP_VALUE
        else:
            raise _BrokenError
        self.at += 1
        return True

    def _finish(self) -> None:
        """Ends an operand that a bracket, comma or colon follows: with its operators, and with conditionals around it."""
        self._reduce(_OR_LEVEL)
        while self.frame.kind == _ELSE:
            otherwise, then, condition = self.out.pop(), self.out.pop(), self.out.pop()
            self.out.append(Call(self.frame.node, "_?_:_", None, (condition, then, otherwise)))
            self.frame = self.frames.pop()

    def comma(self) -> bool:
        self._finish()
        kind = self.frame.kind
        self.at += 1
        if kind == _CALL:
            self.frame.parts.append(self.out.pop())
            return True
        if kind == _LIST:
            self.frame.parts.append(self.out.pop())
            return self._element(first=False)
        if kind == _MAP_VALUE:
            self._take_entry()
            return self._entry()
        if kind == _STRUCT:
            self._take_field()
            return self._field()
        raise _BrokenError

    def _take_entry(self) -> None:
        node, optional, key = self.frame.extra
        self.frame.parts.append(MapEntry(node, key, self.out.pop(), optional))

    def _take_field(self) -> None:
        _, name, optional, node = self.frame.extra
        self.frame.parts.append(StructField(node, name, self.out.pop(), optional))

    def close_paren(self) -> bool:
        self._finish()
        if self.frame.kind == _CALL:
            self.frame.parts.append(self.out.pop())
        elif self.frame.kind != _PAREN:
            raise _BrokenError
        return self._close_empty()

    def close_bracket(self) -> bool:
        self._finish()
        if self.frame.kind not in (_LIST, _INDEX):
            raise _BrokenError
        self.frame.parts.append(self.out.pop())
        return self._close_empty()

    def close_brace(self) -> bool:
        self._finish()
        if self.frame.kind == _MAP_VALUE:
            self._take_entry()
        elif self.frame.kind == _STRUCT:
            self._take_field()
        else:
            raise _BrokenError
        return self._close_empty()

    def _close(self) -> None:
        frame = self.frame
        kind, node, parts, extra = frame.kind, frame.node, frame.parts, frame.extra
        self.frame = self.frames.pop()
        if kind == _CALL:
            function, target = extra
            self.out.append(self.builder.call(node, function, target, parts))
        elif kind == _LIST:
            self.out.append(ListExpr(node, tuple(parts), frozenset(extra)))
        elif kind == _INDEX:
            operand, optional = extra
            self.out.append(self.builder.index(node, operand, parts[0], optional=optional))
        elif kind == _STRUCT:
            self.out.append(StructExpr(node, extra[0], tuple(parts)))
        elif kind != _PAREN:
            self.out.append(MapExpr(node, tuple(parts)))

    def end(self) -> bool:
        self._finish()
        if self.frame.kind != _WHOLE:
            raise _BrokenError
        self.done = True
        return False


_NUMBERS: dict[int, Callable[[str], object]] = {
    lex.INT: literals.int_value,
    lex.UINT: literals.uint_value,
    lex.FLOAT: literals.double_value,
}
_CONSTANTS = {lex.TRUE: True, lex.FALSE: False, lex.NULL: None}

_Handler = Callable[[_Parser], bool]


def _table(handlers: dict[int, _Handler]) -> tuple[_Handler, ...]:
    return tuple(handlers.get(kind, _Parser.broken) for kind in range(lex.ESC_IDENTIFIER + 1))


_OPERAND = _table(
    {
        lex.IDENTIFIER: _Parser.name,
        lex.DOT: _Parser.dotted_name,
        lex.LPAREN: _Parser.paren,
        lex.LBRACKET: _Parser.list,
        lex.LBRACE: _Parser.map,
        lex.MINUS: _Parser.minus,
        lex.EXCLAM: _Parser.exclamation,
        lex.STRING: _Parser.string,
        lex.BYTES: _Parser.bytes,
        **dict.fromkeys(_NUMBERS, _Parser.number),
        **dict.fromkeys(_CONSTANTS, _Parser.constant),
    }
)
_OPERATOR = _table(
    {
        **dict.fromkeys(_BINARY, _Parser.binary),
        lex.AND: _Parser.both,
        lex.OR: _Parser.either,
        lex.DOT: _Parser.dot,
        lex.LBRACKET: _Parser.index,
        lex.QUESTION: _Parser.question,
        lex.COLON: _Parser.colon,
        lex.COMMA: _Parser.comma,
        lex.RPAREN: _Parser.close_paren,
        lex.RBRACKET: _Parser.close_bracket,
        lex.RBRACE: _Parser.close_brace,
        lex.EOF: _Parser.end,
    }
)
