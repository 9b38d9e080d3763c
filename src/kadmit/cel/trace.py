"""Every sub-expression of a program with the value that it had: for `kadmit eval --trace`, explain and coverage.

Macros are shown as they were written, not as the loops that they became; what a loop evaluated many times is shown
with its last value and the number of times.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from kadmit.cel import ast, jsonform
from kadmit.cel.ast import Expr
from kadmit.cel.program import Program
from kadmit.cel.unparser import unparse
from kadmit.cel.values import CelError, Value


@dataclass(frozen=True, slots=True)
class Step:
    """One sub-expression."""

    depth: int
    text: str
    value: Value
    times: int

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


def steps(program: Program, bindings: Mapping[str, Value]) -> list[Step]:
    """The sub-expressions that were evaluated, outermost first."""
    seen: dict[int, tuple[Value, int]] = {}
    last: tuple[int, Value] = (0, None)

    def record(node_id: int, value: Value) -> None:
        nonlocal last
        # NB: a path reports twice, as its last link and as the whole.
        if last[0] != node_id or last[1] is not value:
            seen[node_id] = value, seen.get(node_id, (None, 0))[1] + 1
        last = node_id, value

    program.evaluate_exact(bindings, record)
    tree = program.checked.tree
    found = []
    for node, depth in _written(tree):
        if node.id in seen and not isinstance(node, ast.Literal):
            value, times = seen[node.id]
            found.append(Step(depth, unparse(node, tree.macros), value, times))
    return found


def _written(tree: ast.Ast) -> Iterator[tuple[Expr, int]]:
    """The nodes of the expression as it was written, each with its depth."""
    waiting: list[tuple[Expr, int]] = [(tree.root, 0)]
    while waiting:
        node, depth = waiting.pop()
        yield node, depth
        below = tree.macros.get(node.id, node)
        parts = _arguments(below) if node.id in tree.macros else list(ast.children(node))
        waiting.extend((part, depth + 1) for part in reversed(parts))


def _arguments(call: Expr) -> list[Expr]:
    """What a macro was applied to; the names that it declares are no sub-expressions."""
    if not isinstance(call, ast.Call):
        return list(ast.children(call))
    parts = [*([call.target] if call.target is not None else []), *call.args]
    return [p for p in parts if not isinstance(p, ast.Ident)] if call.target is not None else parts
