"""What Kubernetes refuses in an expression that type-checks: bad literals, and literals of mixed types.

A literal duration, timestamp or pattern that cannot be read is refused when the policy is written. Lists and maps must
be of one type throughout, dyn included, except inside the arguments of `format`.
"""

from collections.abc import Iterator

from kadmit.cel import ast, gotime, re2
from kadmit.cel.ast import Expr
from kadmit.cel.checker import Checked
from kadmit.cel.library import formatting
from kadmit.cel.source import NOWHERE, Issues, Location
from kadmit.cel.types import Kind, Type

_LITERAL_CHECKS = {
    "duration": gotime.duration_literal_issue,
    "timestamp": gotime.timestamp_literal_issue,
    "matches": re2.pattern_literal_issue,
}
_EXEMPT = frozenset({"format"})


def validate(checked: Checked, issues: Issues) -> None:
    """Adds what is wrong to `issues`."""
    for node, exempt in _walk(checked.tree.root, exempt=False):
        if isinstance(node, ast.Call):
            _check_literal(checked, node, issues)
            _check_format(checked, node, issues)
        elif exempt:
            continue
        elif isinstance(node, ast.ListExpr):
            _check_list(checked, node, issues)
        elif isinstance(node, ast.MapExpr):
            _check_map(checked, node, issues)


def _walk(root: Expr, *, exempt: bool) -> Iterator[tuple[Expr, bool]]:
    """All nodes, each with whether it stands inside an exempt function. NB: iterative; trees may be deep."""
    waiting = [(root, exempt)]
    while waiting:
        node, inside = waiting.pop()
        yield node, inside
        below = inside or (isinstance(node, ast.Call) and node.function in _EXEMPT)
        waiting.extend((child, below) for child in ast.children(node))


def _location(checked: Checked, node_id: int) -> Location:
    offset = checked.tree.offsets.get(node_id)
    return NOWHERE if offset is None else checked.tree.source.location(offset)


def _check_literal(checked: Checked, node: ast.Call, issues: Issues) -> None:
    check = _LITERAL_CHECKS.get(node.function)
    if check is None or not node.args or not isinstance(node.args[0], ast.Literal):
        return
    problem = check(node.args[0].value)
    if problem is not None:
        issues.add(_location(checked, node.args[0].id), problem, node.args[0].id)


def _check_format(checked: Checked, node: ast.Call, issues: Issues) -> None:
    if node.function != "format" or not isinstance(node.target, ast.Literal) or not node.args:
        return
    problem = formatting.check_call(node, checked.types)
    if problem is not None:
        node_id, message = problem
        issues.add(_location(checked, node_id), message, node_id)


def _inner(t: Type, *, optional: bool) -> Type:
    return t.params[0] if optional and t.params else t


def _equivalent(a: Type, b: Type) -> bool:
    """Same type, whatever its type parameters are called."""
    if a.kind is not b.kind or len(a.params) != len(b.params):
        return False
    if a.kind is not Kind.TYPE_PARAM and a.name != b.name:
        return False
    return all(_equivalent(x, y) for x, y in zip(a.params, b.params, strict=True))


def _mismatch(checked: Checked, node: Expr, expected: Type, actual: Type, issues: Issues) -> None:
    message = f"expected type '{expected.formatted()}' but found '{actual.formatted()}'"
    issues.add(_location(checked, node.id), message, node.id)


def _check_list(checked: Checked, node: ast.ListExpr, issues: Issues) -> None:
    expected: Type | None = None
    for i, element in enumerate(node.elements):
        actual = _inner(checked.types[element.id], optional=i in node.optional)
        if expected is None:
            expected = actual
        elif not _equivalent(expected, actual):
            _mismatch(checked, element, expected, actual, issues)
            return


def _check_map(checked: Checked, node: ast.MapExpr, issues: Issues) -> None:
    expected: tuple[Type, Type] | None = None
    for entry in node.entries:
        key = checked.types[entry.key.id]
        value = _inner(checked.types[entry.value.id], optional=entry.optional)
        if expected is None:
            expected = key, value
            continue
        if not _equivalent(expected[0], key):
            _mismatch(checked, entry.key, expected[0], key, issues)
        if not _equivalent(expected[1], value):
            _mismatch(checked, entry.value, expected[1], value, issues)
