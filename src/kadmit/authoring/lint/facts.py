"""What is known to be there when a condition holds: `has(object.spec.a)` says that object.spec.a is.

Facts are paths. A condition that cannot hold (or cannot fail) at all says everything, which is None here: what stands behind
it is never evaluated. Where it is not clear what a condition says, it is taken to say more rather than less: a warning too few is
better than one that is wrong.
"""

from collections.abc import Callable, Mapping
from typing import Any, TypeAlias, TypeVar

from msgspec import Struct, field
from msgspec.structs import replace

from kadmit.authoring.lint import paths
from kadmit.authoring.lint.paths import Item, Path
from kadmit.authoring.lint.project import Expression
from kadmit.cel import ast
from kadmit.cel.ast import Expr

T = TypeVar("T")
Facts: TypeAlias = frozenset[Path]

NONE: Facts = frozenset()
ROOTS = ("object", "oldObject", "namespaceObject")
LOOPS = frozenset(
    "all exists exists_one existsOne filter map sortBy transformList transformMap transformMapEntry".split()  # noqa: SIM905
)
_OBJECTS_OF = {"CREATE": ("object",), "UPDATE": ("object", "oldObject"), "DELETE": ("oldObject",)}
_FLIPPED = {"_<_": "_>_", "_>_": "_<_", "_<=_": "_>=_", "_>=_": "_<=_"}
_MOST = 40  # levels of variables in variables


class Frame(Struct, frozen=True):
    """Where a node stands: in which expression, under which loops, and among which variables of the policy."""

    expression: Expression
    variables: Mapping[str, Expression]
    scope: Mapping[str, Path | None] = field(default_factory=dict)
    depth: int = 0
    said: dict[tuple[object, ...], Facts | None] = field(default_factory=dict)  # what was asked before
    memory: dict[tuple[str, int], Any] = field(default_factory=dict)

    def within(self, **scope: Path | None) -> "Frame":
        return replace(self, scope={**self.scope, **scope})

    def variable(self, node: Expr) -> "Frame | None":
        """The frame of the variable that `variables.x` refers to."""
        if not isinstance(node, ast.Select) or node.test or not _is_named(node.operand, "variables") or self.depth > _MOST:
            return None
        found = self.variables.get(node.field)
        return None if found is None else Frame(found, self.variables, depth=self.depth + 1, said=self.said, memory=self.memory)

    def written(self, node: Expr) -> Expr:
        return self.expression.written(node)

    def remembered(self, what: str, find: Callable[[], T]) -> T:
        """Something about the whole expression. NB: variables may use each other twice at every step."""
        key = (what, id(self.expression))
        if key not in self.memory:
            self.memory[key] = find()
        found: T = self.memory[key]
        return found


def _is_named(node: Expr, name: str) -> bool:
    return isinstance(node, ast.Ident) and node.name == name


# ---------------------------------------------------------------- paths


def path_of(node: Expr, frame: Frame) -> Path | None:
    """Where a value comes from, if it comes from the objects of the request as it is."""
    node = frame.written(node)
    variable = frame.variable(node)
    if variable is not None:
        return path_of(variable.expression.root, variable)
    match node:
        case ast.Ident():
            return frame.scope.get(node.name, (node.name,) if node.name in ROOTS else None)
        case ast.Select(test=False):
            return _longer(path_of(node.operand, frame), node.field)
        case ast.Call(function="_?._" | "_[_]" | "_[?_]"):
            return _indexed(node, frame)
        case ast.Call(function="filter" | "value" | "sortBy", target=target) if target is not None:
            return path_of(target, frame)
        case ast.Call(function="dyn", args=(inner,)):
            return path_of(inner, frame)
    return None


def _longer(path: Path | None, step: "str | Item") -> Path | None:
    return None if path is None else (*path, step)


def _indexed(node: ast.Call, frame: Frame) -> Path | None:
    index = node.args[1]
    if not isinstance(index, ast.Literal):
        return None
    if isinstance(index.value, str):
        return _longer(path_of(node.args[0], frame), index.value)
    return _longer(path_of(node.args[0], frame), Item(str(index.value)))


def is_optional(node: Expr, frame: Frame) -> bool:
    """Whether the value is an optional: then whatever is selected from it is one, too."""
    node = frame.written(node)
    if isinstance(node, ast.Call) and node.function in ("_?._", "_[?_]"):
        return True
    if isinstance(node, ast.Select) and not node.test:
        return is_optional(node.operand, frame)
    if isinstance(node, ast.Call) and node.function == "_[_]":
        return is_optional(node.args[0], frame)
    known = frame.expression.checked.types.get(node.id)
    return known is not None and known.name == "optional_type"


# ---------------------------------------------------------------- loops


class Loop(Struct, frozen=True):
    """A macro over a collection: what it is over, what it calls the items, which of them it takes, what it does with each."""

    over: Expr
    names: tuple[str, ...]
    chosen: Expr | None
    body: Expr

    def item(self) -> str:
        """The name that stands for the item; with two, the first is its index or key."""
        return self.names[-1]


def loop_of(node: Expr) -> Loop | None:
    """A written node as a loop, if it is one."""
    if not isinstance(node, ast.Call) or node.target is None or node.function not in LOOPS or len(node.args) < 2:
        return None
    two = node.function.startswith("transform") or (node.function not in ("map", "filter", "sortBy") and len(node.args) == 3)
    count = 2 if two else 1
    names = [arg.name for arg in node.args[:count] if isinstance(arg, ast.Ident)]
    rest = node.args[count:]
    if len(names) != count or not 1 <= len(rest) <= 2:
        return None
    return Loop(node.target, tuple(names), rest[0] if len(rest) == 2 else None, rest[-1])


def entered(loop: Loop, frame: Frame, which: str) -> tuple[Frame, Facts]:
    """The frame inside of a loop, and what is known of its item because it was chosen."""
    item = _longer(path_of(loop.over, frame), Item(which))
    inside = frame.within(**{**dict.fromkeys(loop.names), loop.item(): item})
    known = NONE
    before = loop_of(frame.written(loop.over))
    if before is not None and frame.written(loop.over).function == "filter":  # type: ignore[union-attr]  # a loop is a call
        chosen = frame.within(**{**dict.fromkeys(before.names), before.item(): item})
        known = holding(before.body, chosen, true=True) or NONE
    return inside, known | _iterated(loop.over, frame)


def _iterated(over: Expr, frame: Frame) -> Facts:
    """x.orValue({}) has items only if x is there."""
    over = frame.written(over)
    if isinstance(over, ast.Call) and over.function == "orValue" and over.target is not None:
        return _present(path_of(over.target, frame))
    return NONE


# ---------------------------------------------------------------- facts


def holding(node: Expr, frame: Frame, *, true: bool) -> Facts | None:
    """What is there if the node is true (or false); None if it can never be."""
    key = (id(frame.expression), node.id, true, frozenset(frame.scope.items()))
    if key not in frame.said:
        frame.said[key] = _holding(node, frame, true=true)
    return frame.said[key]


def _holding(node: Expr, frame: Frame, *, true: bool) -> Facts | None:
    node = frame.written(node)
    variable = frame.variable(node)
    if variable is not None:
        return holding(variable.expression.root, variable, true=true)
    match node:
        case ast.Literal(value=bool() as value):
            return NONE if value is true else None
        case ast.Call(function="has", args=(selected,)):
            return _present(path_of(selected, frame)) if true else NONE
        case ast.Call(function="!_", args=(inner,)):
            return holding(inner, frame, true=not true)
        case ast.Call(function="_&&_", args=(a, b)):
            return _both(a, b, frame, true=true) if true else _either(a, b, frame, true=true)
        case ast.Call(function="_||_", args=(a, b)):
            return _either(a, b, frame, true=true) if true else _both(a, b, frame, true=true)
        case ast.Call(function="_?_:_", args=(condition, a, b)):
            return _chosen(condition, a, b, frame, true=true)
        case ast.Call(function="hasValue", target=target) if target is not None:
            return _present(path_of(target, frame)) if true else NONE
        case ast.Call(function="@in", args=(key, holder)):
            return _contained(key, holder, frame) if true else _not_contained(key, holder)
        case ast.Call(function="all" | "exists"):
            return _of_loop(node, frame, true=true)
        case ast.Call(function="_==_" | "_!=_" | "_<_" | "_>_" | "_<=_" | "_>=_"):
            return _compared(node, frame, true=true)
    return NONE


def _present(path: Path | None) -> Facts:
    return NONE if path is None else frozenset({path})


def _both(a: Expr, b: Expr, frame: Frame, *, true: bool) -> Facts | None:
    one, other = holding(a, frame, true=true), holding(b, frame, true=true)
    return None if one is None or other is None else one | other


def _either(a: Expr, b: Expr, frame: Frame, *, true: bool) -> Facts | None:
    return _common(holding(a, frame, true=true), holding(b, frame, true=true))


def _common(one: Facts | None, other: Facts | None) -> Facts | None:
    """What both say. A fact about a part says that the whole is there."""
    if one is None or other is None:
        return other if one is None else one
    return frozenset({p for p in one if paths.is_known(p, other)} | {p for p in other if paths.is_known(p, one)})


def _chosen(condition: Expr, a: Expr, b: Expr, frame: Frame, *, true: bool) -> Facts | None:
    first, second = holding(condition, frame, true=True), holding(condition, frame, true=False)
    left, right = holding(a, frame, true=true), holding(b, frame, true=true)
    one = None if first is None or left is None else first | left
    other = None if second is None or right is None else second | right
    return _common(one, other)


def _of_loop(node: ast.Call, frame: Frame, *, true: bool) -> Facts:
    """all() that is true speaks of every item; so does exists() that is false."""
    loop = loop_of(node)
    if loop is None:
        return NONE
    over = path_of(loop.over, frame)
    if (node.function == "all") != true:
        return _present(over)
    inside = frame.within(**{**dict.fromkeys(loop.names), loop.item(): _longer(over, Item(paths.ALL))})
    return holding(loop.body, inside, true=true) or NONE


def _contained(key: Expr, holder: Expr, frame: Frame) -> Facts:
    operations = _operations(key, holder)
    if operations is not None:
        return _objects(operations)
    path = path_of(_unwrapped(holder, frame), frame)
    if path is None:
        return NONE
    return frozenset({(*path, key.value)}) if isinstance(key, ast.Literal) and isinstance(key.value, str) else frozenset({path})


def _not_contained(key: Expr, holder: Expr) -> Facts:
    operations = _operations(key, holder)
    return NONE if operations is None else _objects(set(_OBJECTS_OF) - operations)


def _operations(key: Expr, holder: Expr) -> set[str] | None:
    """The operations of `request.operation in [...]`."""
    if not _is_operation(key) or not isinstance(holder, ast.ListExpr):
        return None
    return {str(e.value) for e in holder.elements if isinstance(e, ast.Literal)}


def _is_operation(node: Expr) -> bool:
    return isinstance(node, ast.Select) and node.field == "operation" and _is_named(node.operand, "request")


def _objects(operations: set[str]) -> Facts:
    """Which objects there are, whichever of the operations it is."""
    known: list[set[Path]] = [{(name,) for name in _OBJECTS_OF.get(operation, ("object",))} for operation in operations]
    return frozenset(set.intersection(*known)) if known else NONE


def _unwrapped(node: Expr, frame: Frame) -> Expr:
    """x of x.orValue(…), size(x), x.size()."""
    node = frame.written(node)
    if isinstance(node, ast.Call) and node.function in ("orValue", "size", "value", "lowerAscii", "trim", "int", "string"):
        inner = node.target if node.target is not None else node.args[0] if node.args else None
        return node if inner is None else _unwrapped(inner, frame)
    return node


def _compared(node: ast.Call, frame: Frame, *, true: bool) -> Facts | None:
    a, b = (frame.written(arg) for arg in node.args)
    function = node.function
    if isinstance(a, ast.Literal):
        a, b, function = b, a, _FLIPPED.get(function, function)
    same = (function == "_==_") == true if function in ("_==_", "_!=_") else None
    if isinstance(b, ast.Literal) and isinstance(b.value, bool) and same is not None:
        return holding(a, frame, true=b.value is same)
    if _is_operation(a) and isinstance(b, ast.Literal) and same is not None:
        named = {str(b.value)}
        return _objects(named if same else set(_OBJECTS_OF) - named)
    if isinstance(b, ast.Literal) and b.value is None:
        return _present(path_of(a, frame)) if same is False else NONE
    inner = _unwrapped(a, frame)
    if inner is a or not isinstance(b, ast.Literal):
        return NONE
    return _present(path_of(inner, frame)) if _says_present(function, b, a, same=same, true=true) else NONE


def _says_present(function: str, literal: ast.Literal, call: Expr, *, same: bool | None, true: bool) -> bool:
    """Whether x.orValue(d) or size(x) compared so means that x is there."""
    if same is None:
        return (function in ("_>_", "_>=_")) == true
    default = call.args[0] if isinstance(call, ast.Call) and call.function == "orValue" and call.args else None
    equal = default.value == literal.value if isinstance(default, ast.Literal) else literal.value in (0, "")
    return same != equal
