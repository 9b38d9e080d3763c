"""A syntax tree as a text that shows everything that a test may want to compare.

`kinds` is the form of cel-go's own parser tests: nested calls over several lines, every node with its kind.
`ids` is one line with the id of every node.
"""

import re
from collections.abc import Iterable

from kadmit.cel import gotext
from kadmit.cel.ast import Call, Comprehension, Expr, Ident, ListExpr, Literal, MapExpr, Select, StructExpr
from kadmit.cel.values import UInt

_KINDS = {
    Ident: "IdentExpr",
    Select: "SelectExpr",
    Call: "CallExpr",
    ListExpr: "ListExpr",
    MapExpr: "StructExpr",
    StructExpr: "StructExpr",
    Comprehension: "ComprehensionExpr",
}
_CONSTANTS = {bool: "Bool", int: "Int64", UInt: "Uint64", float: "Double", str: "String", bytes: "Bytes", type(None): "Null"}
_ENTRY = "^#*expr.Expr_CreateStruct_Entry#"


def kinds(node: Expr, indent: int = 0) -> str:
    return _form(node, indent) + _kind(node)


def _kind(node: Expr) -> str:
    if isinstance(node, Literal):
        return f"^#*expr.Constant_{_CONSTANTS[type(node.value)]}Value#"
    return f"^#*expr.Expr_{_KINDS[type(node)]}#"


def _form(node: Expr, indent: int) -> str:
    match node:
        case Literal():
            return constant(node.value)
        case Ident():
            return node.name
        case Select():
            return f"{kinds(node.operand, indent)}.{node.field}{'~test-only~' if node.test else ''}"
        case Call():
            target = "" if node.target is None else kinds(node.target, indent) + "."
            return f"{target}{node.function}({_lines((kinds(arg, indent + 1) for arg in node.args), indent)})"
        case ListExpr():
            return f"[{_lines((kinds(element, indent + 1) for element in node.elements), indent)}]"
        case MapExpr():
            entries = (_entry(e.optional, kinds(e.key, indent + 1), kinds(e.value, indent + 1)) for e in node.entries)
            return f"{{{_lines(entries, indent)}}}"
        case StructExpr():
            fields = (_entry(f.optional, f.name, kinds(f.value, indent + 1)) for f in node.fields)
            return f"{node.type_name}{{{_lines(fields, indent)}}}"
        case Comprehension():
            return _fold(node, indent + 1)


def _lines(parts: Iterable[str], indent: int) -> str:
    margin = "  " * indent
    text = ",".join(f"\n{margin}  {part}" for part in parts)
    return f"{text}\n{margin}" if text else ""


def _entry(optional: bool, key: str, value: str) -> str:
    return f"{'?' if optional else ''}{key}:{value}{_ENTRY}"


def _fold(node: Comprehension, indent: int) -> str:
    parts = {
        "Variable": node.iter_var,
        "Target": kinds(node.iter_range, indent),
        "Accumulator": node.accu_var,
        "Init": kinds(node.accu_init, indent),
        "LoopCondition": kinds(node.loop_condition, indent),
        "LoopStep": kinds(node.loop_step, indent),
        "Result": kinds(node.result, indent),
    }
    margin = "  " * indent
    return "__comprehension__(" + ",".join(f"\n{margin}// {name}\n{margin}{part}" for name, part in parts.items()) + ")"


def constant(value: object) -> str:
    match value:
        case None:
            return "null"
        case bool():
            return "true" if value else "false"
        case float():
            return gotext.format_double(value)
        case str():
            return gotext.quote(value)
        case bytes():
            return "b" + re.sub(r"\\udc(..)", r"\\x\1", gotext.quote(value.decode("utf-8", "surrogateescape")))
        case _:
            return repr(value)


def ids(node: Expr) -> str:
    """(id what parts…), recursively."""
    return f"({node.id} {' '.join(_words(node))})"


def _words(node: Expr) -> list[str]:
    match node:
        case Literal():
            return [constant(node.value)]
        case Ident():
            return [node.name]
        case Select():
            return [("has ." if node.test else ".") + node.field, ids(node.operand)]
        case Call():
            target = [] if node.target is None else [ids(node.target)]
            return [("" if node.target is None else ".") + node.function, *target, *map(ids, node.args)]
        case ListExpr():
            return ["list", *(("?" if i in node.optional else "") + ids(e) for i, e in enumerate(node.elements))]
        case MapExpr():
            return ["map", *(f"{e.id}{'?' if e.optional else ':'} {ids(e.key)} {ids(e.value)}" for e in node.entries)]
        case StructExpr():
            return [node.type_name, *(f"{f.id}{'?' if f.optional else ':'} {f.name} {ids(f.value)}" for f in node.fields)]
        case Comprehension():
            names = f"fold({','.join(filter(None, (node.iter_var, node.iter_var2, node.accu_var)))})"
            parts = (node.iter_range, node.accu_init, node.loop_condition, node.loop_step, node.result)
            return [names, *map(ids, parts)]
