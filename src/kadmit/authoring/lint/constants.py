"""Whether an expression has the same value whatever is asked: it reads nothing, or what it reads cannot matter."""

from kadmit.authoring.lint.facts import Frame
from kadmit.authoring.lint.project import Expression, Policy
from kadmit.cel import ast, room
from kadmit.cel.ast import Expr
from kadmit.cel.environment import Environment
from kadmit.cel.source import CompileError

_MOST = 10_000  # of cost: nobody writes a large constant


def always(expression: Expression, policy: Policy | None = None) -> bool | None:
    """The value that a condition always has; None if it depends on something."""
    variables = policy.variables if policy is not None else {}
    return room.for_depth(_value, expression.root, Frame(expression, variables))


def _value(node: Expr, frame: Frame) -> bool | None:
    node = frame.written(node)
    variable = frame.variable(node)
    if variable is not None:
        return variable.remembered("constant", lambda: _value(variable.expression.root, variable))
    match node:
        case ast.Literal(value=bool() as value):
            return value
        case ast.Call(function="!_", args=(inner,)):
            found = _value(inner, frame)
            return None if found is None else not found
        case ast.Call(function="_&&_" | "_||_" as function, args=(a, b)):
            return _decided(_value(a, frame), _value(b, frame), by=function == "_||_")
        case ast.Call(function="_?_:_", args=(condition, a, b)):
            return _branch(_value(condition, frame), a, b, frame)
    return _evaluated(frame) if node is frame.written(frame.expression.root) and _reads_nothing(frame.expression) else None


def _decided(a: bool | None, b: bool | None, *, by: bool) -> bool | None:
    """NB: one side that decides is enough; two that do not are constant only together."""
    if a is by or b is by:
        return by
    return None if a is None or b is None else not by


def _branch(condition: bool | None, a: Expr, b: Expr, frame: Frame) -> bool | None:
    if condition is not None:
        return _value(a if condition else b, frame)
    one, other = _value(a, frame), _value(b, frame)
    return one if one is other else None


def _reads_nothing(expression: Expression) -> bool:
    """Whether no name in it stands for anything of a request. Names of loops are their own."""
    waiting, bound = [expression.root], set[str]()
    names: list[str] = []
    while waiting:
        node = waiting.pop()
        if isinstance(node, ast.Comprehension):
            bound |= {node.iter_var, node.iter_var2, node.accu_var}
        if isinstance(node, ast.Ident):
            names.append(node.name)
        waiting += node.args if isinstance(node, ast.Call) and node.id in expression.checked.functions else ast.children(node)
    return bound.issuperset(names)


def _evaluated(frame: Frame) -> bool | None:
    from kadmit.cel import environment

    env: Environment = environment.admission()
    try:
        value, _ = env.compile(frame.expression.text, limit=_MOST).evaluate({})
    except CompileError:
        return None
    return value if isinstance(value, bool) else None
