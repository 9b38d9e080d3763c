"""A syntax tree as text again: for traces and explanations. Macros come out as they were written."""

from collections.abc import Mapping

from kadmit.cel import ast, gotext
from kadmit.cel.ast import Expr
from kadmit.cel.values import UInt

_BINARY = {
    "_||_": (1, "||"),
    "_&&_": (2, "&&"),
    "_<_": (3, "<"),
    "_<=_": (3, "<="),
    "_>_": (3, ">"),
    "_>=_": (3, ">="),
    "_==_": (3, "=="),
    "_!=_": (3, "!="),
    "@in": (3, "in"),
    "_+_": (4, "+"),
    "_-_": (4, "-"),
    "_*_": (5, "*"),
    "_/_": (5, "/"),
    "_%_": (5, "%"),
}
_UNARY = {"!_": "!", "-_": "-"}
_CONDITIONAL, _PREFIX, _ATOM = 0, 6, 7


def unparse(node: Expr, macros: Mapping[int, Expr]) -> str:
    """The text of a node, with as few parentheses as it can do with."""
    return _text(node, macros)[0]


def _text(node: Expr, macros: Mapping[int, Expr]) -> tuple[str, int]:
    """Text and how tightly it binds."""
    node = macros.get(node.id, node)
    match node:
        case ast.Literal():
            return _literal(node.value), _ATOM
        case ast.Ident():
            return node.name, _ATOM
        case ast.Select():
            selected = f"{_within(node.operand, _ATOM, macros)}.{node.field}"
            return (f"has({selected})" if node.test else selected), _ATOM
        case ast.ListExpr():
            elements = (("?" if i in node.optional else "") + _text(e, macros)[0] for i, e in enumerate(node.elements))
            return f"[{', '.join(elements)}]", _ATOM
        case ast.MapExpr():
            entries = (f"{'?' * e.optional}{_text(e.key, macros)[0]}: {_text(e.value, macros)[0]}" for e in node.entries)
            return "{" + ", ".join(entries) + "}", _ATOM
        case ast.StructExpr():
            fields = (f"{'?' * f.optional}{f.name}: {_text(f.value, macros)[0]}" for f in node.fields)
            return node.type_name + "{" + ", ".join(fields) + "}", _ATOM
        case ast.Comprehension():
            return "<comprehension>", _ATOM
        case ast.Call():
            return _call(node, macros)


def _within(node: Expr, level: int, macros: Mapping[int, Expr]) -> str:
    text, binds = _text(node, macros)
    return text if binds >= level else f"({text})"


def _call(node: ast.Call, macros: Mapping[int, Expr]) -> tuple[str, int]:
    name, args = node.function, node.args
    if name in _BINARY:
        level, symbol = _BINARY[name]
        first, *rest = args
        parts = [_within(first, level, macros), *(_within(a, level + 1, macros) for a in rest)]
        return f" {symbol} ".join(parts), level
    if name in _UNARY:
        return _UNARY[name] + _within(args[0], _PREFIX, macros), _PREFIX
    if name == "_?_:_":
        condition, truthy, falsy = _within(args[0], 1, macros), _within(args[1], 1, macros), _text(args[2], macros)[0]
        return f"{condition} ? {truthy} : {falsy}", _CONDITIONAL
    return _ordinary_call(node, macros), _ATOM


def _ordinary_call(node: ast.Call, macros: Mapping[int, Expr]) -> str:
    name, args = node.function, node.args
    if name in ("_[_]", "_[?_]"):
        return f"{_within(args[0], _ATOM, macros)}[{'?' if '?' in name else ''}{_text(args[1], macros)[0]}]"
    if name == "_?._" and isinstance(args[1], ast.Literal):
        return f"{_within(args[0], _ATOM, macros)}.?{args[1].value}"
    arguments = ", ".join(_text(a, macros)[0] for a in args)
    receiver = f"{_within(node.target, _ATOM, macros)}." if node.target is not None else ""
    return f"{receiver}{name}({arguments})"


def _literal(value: object) -> str:
    match value:
        case None | True | False:
            return {None: "null", True: "true", False: "false"}[value]
        case str():
            return gotext.quote(value)
        case UInt():
            return f"{int(value)}u"
        case float():
            text = gotext.format_double(value)
            return text if any(c in text for c in ".eIN") else f"{text}.0"
        case bytes():
            return 'b"' + "".join(f"\\x{b:02x}" for b in value) + '"'
    return str(value)
