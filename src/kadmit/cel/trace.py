"""Every sub-expression of a program with the value that it had: for `kadmit eval --trace` and explain.

Macros are shown as they were written, not as the loops that they became; what a loop evaluated many times is shown
with its last value and the number of times.
"""

from collections.abc import Iterator, Mapping
from typing import NamedTuple

from kadmit.cel import ast, jsonform
from kadmit.cel.ast import Expr
from kadmit.cel.program import Program
from kadmit.cel.unparser import unparse
from kadmit.cel.values import CelError, Value

_INDEXING = frozenset({"_[_]", "_[?_]", "_?._"})
_CHAINS = frozenset({"_&&_", "_||_"})


class Step(NamedTuple):
    """One sub-expression. `offset`: where its text begins; `link`: only a piece of a path that could be followed, or of a chain;
    `literal`: it only holds other sub-expressions together, as a list does.
    """

    depth: int
    text: str
    value: Value
    times: int
    offset: int = 0
    link: bool = False
    literal: bool = False

    def as_json(self) -> dict[str, object]:
        shown: dict[str, object] = {"expr": self.text, "depth": self.depth, "times": self.times}
        if self.value.__class__ is CelError:
            return {**shown, "error": self.value.message}
        return {**shown, "value": jsonform.to_json(self.value)}

    def value_text(self) -> str:
        import json

        many = f" ({self.times} times)" if self.times > 1 else ""
        if self.value.__class__ is CelError:
            return f"error: {self.value.message}{many}"
        return json.dumps(jsonform.to_json(self.value), ensure_ascii=False) + many


class TooMany(Exception):
    """Evaluations that nobody wants to watch to their end."""


class Traced(NamedTuple):
    """An evaluation with its steps, outermost first."""

    value: Value
    cost: int
    steps: list[Step]


def steps(program: Program, bindings: Mapping[str, Value]) -> list[Step]:
    """The sub-expressions that were evaluated, outermost first."""
    return traced(program, bindings).steps


def traced(program: Program, bindings: Mapping[str, Value], limit: int | None = None) -> Traced:
    """`limit`: of how many evaluations at most; what takes more has no steps, for to watch it would take long."""
    seen: dict[int, tuple[Value, int]] = {}
    last = left = 0

    def record(node_id: int, value: Value) -> None:
        nonlocal last, left
        # NB: a path reports twice, as its last link and as the whole, where it may have become an optional.
        times = seen.get(node_id, (None, 0))[1]
        seen[node_id] = value, times if last == node_id else times + 1
        last = node_id
        left -= 1
        if not left:
            raise TooMany

    left = limit or 0
    try:
        value, cost = program.evaluate_exact(bindings, record)
    except TooMany:
        return Traced(*program.run(bindings), [])
    return Traced(value, cost, list(_steps(program.checked.tree, seen)))


def _steps(tree: ast.Ast, seen: Mapping[int, tuple[Value, int]]) -> Iterator[Step]:
    for node, depth, parent in written(tree):
        if node.id in seen and not isinstance(node, ast.Literal):
            value, times = seen[node.id]
            link = parent is not None and _is_link(node, parent) and _is_good(seen.get(parent.id))
            literal = isinstance(node, ast.ListExpr | ast.MapExpr | ast.StructExpr)
            yield Step(depth, unparse(node, tree.macros), value, times, start(node, tree), link, literal)


def _is_link(node: Expr, parent: Expr) -> bool:
    if not isinstance(parent, ast.Call):
        return isinstance(parent, ast.Select)
    if parent.function in _CHAINS:
        return isinstance(node, ast.Call) and node.function == parent.function
    return parent.function in _INDEXING and parent.args[0] is node


def _is_good(found: tuple[Value, int] | None) -> bool:
    return found is not None and found[0].__class__ is not CelError


# ---------------------------------------------------------------- the expression as it was written


def written(tree: ast.Ast, top: Expr | None = None) -> Iterator[tuple[Expr, int, Expr | None]]:
    """The nodes of the expression as it was written, each with its depth and what it is a part of."""
    waiting: list[tuple[Expr, int, Expr | None]] = [(top if top is not None else tree.root, 0, None)]
    while waiting:
        node, depth, parent = waiting.pop()
        yield node, depth, parent
        waiting.extend((part, depth + 1, node) for part in reversed(parts(node, tree)))


def parts(node: Expr, tree: ast.Ast) -> list[Expr]:
    """Direct sub-expressions; of a macro, what it was applied to."""
    return _arguments(tree.macros[node.id]) if node.id in tree.macros else list(ast.children(node))


def _arguments(call: Expr) -> list[Expr]:
    """What a macro was applied to; the names that it declares are no sub-expressions."""
    if not isinstance(call, ast.Call):
        return list(ast.children(call))
    found = [*([call.target] if call.target is not None else []), *call.args]
    return [p for p in found if not isinstance(p, ast.Ident)] if call.target is not None else found


def start(node: Expr, tree: ast.Ast) -> int:
    """Where a node's text begins. NB: its own offset is where an error would point, such as at an operator."""
    found = tree.offsets.get(node.id, 0)
    first: Expr | None = node
    while first is not None:
        found = min(found, tree.offsets.get(first.id, found))
        first = next(iter(parts(first, tree)), None)
    return _before_name(tree.source.text, found)


def _before_name(text: str, offset: int) -> int:
    """The beginning of f(…) or T{…}, whose offset is the bracket."""
    if text[offset : offset + 1] in ("(", "{"):
        while offset and (text[offset - 1].isalnum() or text[offset - 1] in "_."):
            offset -= 1
    return offset
