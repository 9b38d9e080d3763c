"""The syntax tree: frozen nodes, each with an id that names it in positions, types and traces.

Macros are gone here: the parser expands them into `Comprehension`. `Ast.macros` remembers what was written.
"""

from collections.abc import Iterator, Mapping
from typing import TypeAlias

from msgspec import Struct

from kadmit.cel.source import Source


class Literal(Struct, frozen=True, eq=False):
    """null, bool, int, uint, double, string or bytes; `value` is its run-time value."""

    id: int
    value: object


class Ident(Struct, frozen=True, eq=False):
    """A name; a leading dot (`.a`) is kept in it."""

    id: int
    name: str


class Select(Struct, frozen=True, eq=False):
    """operand.field, or has(operand.field) where `test` is set."""

    id: int
    operand: "Expr"
    field: str
    test: bool = False


class Call(Struct, frozen=True, eq=False):
    """A function, operator (`_+_`) or method call. Chains of `&&` and `||` are balanced trees of binary calls."""

    id: int
    function: str
    target: "Expr | None"
    args: tuple["Expr", ...]


class ListExpr(Struct, frozen=True, eq=False):
    """[a, ?b]; `optional` holds the indexes marked with a question mark."""

    id: int
    elements: tuple["Expr", ...]
    optional: frozenset[int] = frozenset()


class MapEntry(Struct, frozen=True, eq=False):
    id: int
    key: "Expr"
    value: "Expr"
    optional: bool = False


class MapExpr(Struct, frozen=True, eq=False):
    """{k: v, ?k: v}."""

    id: int
    entries: tuple[MapEntry, ...]


class StructField(Struct, frozen=True, eq=False):
    id: int
    name: str
    value: "Expr"
    optional: bool = False


class StructExpr(Struct, frozen=True, eq=False):
    """Type.name{field: value}."""

    id: int
    type_name: str
    fields: tuple[StructField, ...]


class Comprehension(Struct, frozen=True, eq=False):
    """What every macro over a collection becomes: a fold with an accumulator."""

    id: int
    iter_range: "Expr"
    iter_var: str
    iter_var2: str  # "" in one-variable comprehensions
    accu_var: str
    accu_init: "Expr"
    loop_condition: "Expr"
    loop_step: "Expr"
    result: "Expr"


Expr: TypeAlias = Literal | Ident | Select | Call | ListExpr | MapExpr | StructExpr | Comprehension


class Ast(Struct, frozen=True):
    """A parsed expression: its tree, and where each node stands."""

    root: Expr
    source: Source
    offsets: Mapping[int, int]  # node id -> offset of what an error would point at, in code points
    macros: Mapping[int, Expr]  # id of an expanded macro -> the call as it was written


def children(node: Expr) -> Iterator[Expr]:
    """Direct sub-expressions, in the order in which they stand (a comprehension: in evaluation order)."""
    match node:
        case Select():
            yield node.operand
        case Call():
            if node.target is not None:
                yield node.target
            yield from node.args
        case ListExpr():
            yield from node.elements
        case MapExpr():
            for entry in node.entries:
                yield entry.key
                yield entry.value
        case StructExpr():
            for f in node.fields:
                yield f.value
        case Comprehension():
            yield node.iter_range
            yield node.accu_init
            yield node.loop_condition
            yield node.loop_step
            yield node.result
        case _:
            return
