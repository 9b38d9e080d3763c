"""What to write instead of an apply configuration that sets an atomic list or map: a JSON patch that does.

A proposal is an expression made of the author's own. It is only given if it compiles where the old one stood.
"""

from collections.abc import Iterator

from kadmit.authoring.lint import facts
from kadmit.authoring.lint.facts import Frame, Loop
from kadmit.authoring.lint.placements import Placed
from kadmit.authoring.lint.pointers import escaped
from kadmit.authoring.lint.project import Policy
from kadmit.cel import ast, gotext
from kadmit.cel.ast import Expr
from kadmit.cel.source import CompileError
from kadmit.cel.unparser import unparse
from kadmit.patch.shapes import ListShape
from kadmit.patch.typed import resolved
from kadmit.policy.compiler import PATCH_LIST

_LONGEST = 2000


def instead_of(policy: Policy, placed: Placed) -> str:
    """An expression that sets what `placed` cannot; "" where none is known."""
    for text in _proposals(policy, placed):
        if len(text) <= _LONGEST and _compiles(policy, text):
            return text
    return ""


def _compiles(policy: Policy, text: str) -> bool:
    try:
        return policy.scope.check(text).output.same(PATCH_LIST)
    except CompileError:
        return False


def _proposals(policy: Policy, placed: Placed) -> Iterator[str]:
    lists = [i for i, step in enumerate(placed.path) if step == "*"]
    if not lists:
        yield from _of_field(policy, placed)
    elif len(lists) == 1:
        yield from _of_item(policy, placed, lists[0])


# ---------------------------------------------------------------- a field outside of lists


def _of_field(policy: Policy, placed: Placed) -> Iterator[str]:
    made = f'[JSONPatch{{op: "add", path: {_pointer(placed.path)}, value: {_value(placed, placed.node)}}}]'
    yield _with_parents(policy, placed, placed.path[:-1], made)


def _with_parents(policy: Policy, placed: Placed, parents: tuple[str, ...], made: str) -> str:
    """The patch, after one for each parent that may be missing."""
    missing = [parents[: i + 1] for i in range(len(parents)) if _may_be_missing(policy, placed, parents[: i + 1])]
    guards = [f'({_has(path)} ? [] : [JSONPatch{{op: "add", path: {_pointer(path)}, value: {{}}}}]) +\n' for path in missing[:1]]
    return "".join(guards) + made if len(missing) < 2 else ""


def _may_be_missing(policy: Policy, placed: Placed, path: tuple[str, ...]) -> bool:
    return policy.project.presence(placed.kind).may_be_missing(path)


def _has(path: tuple[str, ...]) -> str:
    return f"has(object.{'.'.join(path)})"


def _pointer(path: tuple[str, ...]) -> str:
    return gotext.quote("".join(f"/{escaped(step)}" for step in path))


# ---------------------------------------------------------------- a field of a list's items


def _of_item(policy: Policy, placed: Placed, at: int) -> Iterator[str]:
    holder, item = placed.around[at], (*placed.around, placed)[at + 1]
    if _may_be_missing(policy, placed, holder.path[:-1]):
        return
    frame = Frame(placed.expression, policy.variables)
    if isinstance(holder.node, ast.ListExpr) and isinstance(item.node, ast.StructExpr):
        yield from _of_written_item(policy, placed, holder, item.node)
    loop = facts.loop_of(holder.node)
    if loop is not None:
        yield from _of_each_item(placed, holder, loop, frame, at)


def _of_written_item(policy: Policy, placed: Placed, holder: Placed, item: ast.StructExpr) -> Iterator[str]:
    shape = None if holder.shape is None else resolved(holder.shape)
    keys = shape.keys if isinstance(shape, ListShape) else ()
    named = {f.name: f.value for f in item.fields}
    if placed.node is item:
        yield _appended(policy, placed, holder, item)
        return
    rest = set(named) - set(keys) - {placed.path[len(holder.path) + 1]}
    if rest or not keys:
        yield _appended(policy, placed, holder, item)
    elif all(key in named for key in keys):
        over = "object." + ".".join(holder.path)
        if _may_be_missing(policy, placed, holder.path):
            over = f"object.{'.'.join(holder.path[:-1])}.?{holder.path[-1]}.orValue([])"
        chosen = " && ".join(f"item.{key} == {_text(placed, named[key])}" for key in keys)
        yield f"{over}.transformList(i, item, {chosen}, {_operation(placed, holder)})"


def _appended(policy: Policy, placed: Placed, holder: Placed, item: ast.StructExpr) -> str:
    added = f'[JSONPatch{{op: "add", path: {_pointer((*holder.path, "-"))}, value: {_text(placed, item)}}}]'
    if not _may_be_missing(policy, placed, holder.path):
        return added
    return f'({_has(holder.path)} ? [] : [JSONPatch{{op: "add", path: {_pointer(holder.path)}, value: []}}]) +\n{added}'


def _of_each_item(placed: Placed, holder: Placed, loop: Loop, frame: Frame, at: int) -> Iterator[str]:
    over, chosen = loop.over, loop.chosen
    before = facts.loop_of(frame.written(over))
    if before is not None and chosen is None and before.names == loop.names:
        over, chosen = before.over, before.body
    if facts.path_of(over, frame) != ("object", *holder.path) or placed.path[-1] == "*":
        return
    index = loop.names[0] if len(loop.names) == 2 else "i" if loop.item() != "i" else "n"
    condition = "" if chosen is None else f"{_text(placed, chosen)}, "
    operation = _operation(placed, holder, index)
    yield f"{_text(placed, over)}.transformList({index}, {loop.item()}, {condition}{operation})"


def _operation(placed: Placed, holder: Placed, index: str = "i") -> str:
    before = gotext.quote("".join(f"/{escaped(step)}" for step in holder.path) + "/")
    after = gotext.quote("".join(f"/{escaped(step)}" for step in placed.path[len(holder.path) + 1 :]))
    return f'JSONPatch{{op: "add", path: {before} + string({index}) + {after}, value: {_value(placed, placed.node)}}}'


# ---------------------------------------------------------------- texts


def _text(placed: Placed, node: Expr) -> str:
    return unparse(node, placed.expression.checked.tree.macros)


def _value(placed: Placed, node: Expr) -> str:
    """A value for a patch. NB: a list or map of Objects cannot be one, so Objects in them are written as maps."""
    node = placed.expression.written(node)
    if isinstance(node, ast.ListExpr) and any(isinstance(e, ast.StructExpr) for e in node.elements):
        return f"[{', '.join(_plain(placed, e) for e in node.elements)}]"
    return _text(placed, node)


def _plain(placed: Placed, node: Expr) -> str:
    node = placed.expression.written(node)
    if isinstance(node, ast.StructExpr):
        known = placed.expression.checked.types
        kinds = {known[f.value.id].formatted() for f in node.fields if f.value.id in known}
        mixed = len(kinds) > 1 or any(isinstance(f.value, ast.StructExpr) for f in node.fields)
        parts = ((f.name, _plain(placed, f.value)) for f in node.fields)
        return "{" + ", ".join(f'"{name}": dyn({text})' if mixed else f'"{name}": {text}' for name, text in parts) + "}"
    if isinstance(node, ast.ListExpr):
        return f"[{', '.join(_plain(placed, e) for e in node.elements)}]"
    return _text(placed, node)
