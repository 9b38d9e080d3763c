"""Where an expression may go one way or another, and which ways an evaluation has gone: for coverage.

A `?:` has two branches. Of a chain of `&&` or `||`, every operand may be the one that decides, or none of them does. Inside a
macro this is seen at every turn of its loop; the macro's own logic, which nobody wrote, is not looked at.
"""

from collections.abc import Callable, Iterator, Mapping
from typing import NamedTuple

from kadmit.cel import ast
from kadmit.cel.ast import Expr
from kadmit.cel.program import Program
from kadmit.cel.trace import TooMany, start, written
from kadmit.cel.unparser import unparse
from kadmit.cel.values import Value

AND, OR, CONDITIONAL = "_&&_", "_||_", "_?_:_"
MAX_WATCHED = 50_000  # evaluations of sub-expressions; a fraction of a second
_SHOWN = {AND: "&&", OR: "||"}


class Branch(NamedTuple):
    """One way. `never` says what is wrong if it is not gone; `root`: it is a way of the expression as a whole."""

    text: str
    offset: int
    never: str
    root: bool = False


class _Chain(NamedTuple):
    """Operands by node id, and the points that they and their common indecision are."""

    decisive: bool
    operands: Mapping[int, int]
    undecided: int


class Branches:
    """The ways of one expression."""

    __slots__ = ("_chains", "_conditions", "points")

    def __init__(self, tree: ast.Ast) -> None:
        self.points: list[Branch] = []
        self._chains: dict[int, _Chain] = {}
        self._conditions: dict[int, list[int]] = {}  # id of a condition -> where its two branches are among the points
        for node, _, parent in written(tree):
            if isinstance(node, ast.Call) and node.id not in tree.macros:
                self._add(node, parent, tree)

    def _add(self, node: ast.Call, parent: Expr | None, tree: ast.Ast) -> None:
        if node.function == CONDITIONAL:
            self._conditions.setdefault(node.args[0].id, []).append(len(self.points))
            for branch in node.args[1:]:
                self._point(branch, tree, "branch never taken")
        elif node.function in _SHOWN and not _is_chain(parent, node.function):
            operands = {operand.id: self._point(operand, tree, "operand never decisive") for operand in _operands(node)}
            outcome = "true" if node.function == AND else "false"
            undecided = self._point(node, tree, f"{_SHOWN[node.function]} never {outcome}", root=parent is None)
            self._chains[node.id] = _Chain(node.function == OR, operands, undecided)

    def _point(self, node: Expr, tree: ast.Ast, never: str, *, root: bool = False) -> int:
        self.points.append(Branch(unparse(node, tree.macros), start(node, tree), never, root))
        return len(self.points) - 1

    def taken(self, program: Program, bindings: Mapping[str, Value]) -> tuple[Value, set[int]]:
        """The program's value, and which of the points its evaluation meets. NB: a very long one is only watched for a while."""
        met: set[int] = set()
        if not self.points:
            return program.run(bindings)[0], met
        try:
            return program.evaluate_exact(bindings, self._watcher(met)).value, met
        except TooMany:
            return program.run(bindings)[0], met

    def _watcher(self, met: set[int]) -> Callable[[int, Value], None]:
        decided: dict[int, Value] = {}  # operands' values since their chain last had one
        watched = {operand for chain in self._chains.values() for operand in chain.operands}
        left = MAX_WATCHED

        def watch(node_id: int, value: Value) -> None:
            nonlocal left
            left -= 1
            if not left:
                raise TooMany
            if node_id in self._chains:
                self._end(self._chains[node_id], value, decided, met)
            if node_id in watched:
                decided[node_id] = value
            if value is True or value is False:
                met.update(first + (not value) for first in self._conditions.get(node_id, ()))

        return watch

    @staticmethod
    def _end(chain: _Chain, value: Value, decided: dict[int, Value], met: set[int]) -> None:
        """A chain has its value: whose was it?"""
        if value is (not chain.decisive):
            met.add(chain.undecided)
        for operand, point in chain.operands.items():
            if decided.pop(operand, None) is chain.decisive and value is chain.decisive:
                met.add(point)


def _is_chain(node: Expr | None, function: str) -> bool:
    return isinstance(node, ast.Call) and node.function == function


def _operands(node: ast.Call) -> Iterator[Expr]:
    """The operands of a whole chain, however the parser has balanced it."""
    waiting: list[Expr] = [node]
    while waiting:
        at = waiting.pop()
        if isinstance(at, ast.Call) and at.function == node.function:
            waiting.extend(reversed(at.args))
        else:
            yield at
