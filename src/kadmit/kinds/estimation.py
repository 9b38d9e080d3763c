"""How much a CEL rule may cost at most, before any object is seen: from its text, and from the limits in its schema.

    estimation.most(program.checked, self_type)

A rule that reads a list without maxItems may be asked of as large a list as fits into a request; so its estimate is large, and
the rule may be refused. The price of single calls is in `callcosts`.
"""

from collections.abc import Sequence
from typing import TypeAlias

from msgspec import Struct

from kadmit.cel import ast, room
from kadmit.cel.ast import Expr
from kadmit.cel.checker import Checked
from kadmit.cel.types import Kind, Type
from kadmit.kinds import callcosts
from kadmit.kinds.callcosts import Node, Price
from kadmit.kinds.declared import Declared
from kadmit.kinds.ranges import ANY, EMPTY, NOTHING, ONE, PATTERN, TRAVERSAL, Range, exactly

Steps: TypeAlias = tuple[str, ...]

_NEW_LIST, _NEW_MAP, _NEW_MESSAGE = exactly(10), exactly(30), exactly(40)
_SCALARS = frozenset({Kind.BOOL, Kind.DOUBLE, Kind.DURATION, Kind.INT, Kind.TIMESTAMP, Kind.UINT})
_HIDDEN = ("__result__", "@result")
_COMPARISONS = frozenset(
    {f"{how}_{kind}" for how in ("less", "greater", "less_equals", "greater_equals") for kind in ("string", "bytes")}
    | {"equals", "not_equals"}
)


def most(checked: Checked, self_type: Declared) -> int:
    """The most that one evaluation may cost."""
    return room.for_depth(lambda: _Estimate(checked, self_type).cost(checked.tree.root)).most


class _Entries(Struct, frozen=True):
    """How large the keys and values of a list or map written in the rule are."""

    kind: Kind
    key: Range
    value: Range

    def covering(self, other: "_Entries | None") -> "_Entries | None":
        if other is None:
            return None
        return _Entries(self.kind, self.key.covering(other.key), self.value.covering(other.value))


class _Local(Struct, frozen=True):
    """A variable of a macro: where it comes from in the object, and how large it is."""

    steps: Steps
    size: Range | None
    entries: _Entries | None = None


class _Estimate:
    """One walk over a tree."""

    __slots__ = ("checked", "entries", "locals", "self_type", "sizes", "steps")

    def __init__(self, checked: Checked, self_type: Declared) -> None:
        self.checked = checked
        self.self_type = self_type
        self.steps: dict[int, Steps] = {}  # node -> where its value stands in the object
        self.sizes: dict[int, Range] = {}
        self.entries: dict[int, _Entries] = {}
        self.locals: dict[str, list[_Local]] = {}

    def cost(self, node: Expr) -> Range:
        match node:
            case ast.Literal():
                return NOTHING
            case ast.Ident():
                return self._ident(node, node.name)
            case ast.Select():
                return self._select(node)
            case ast.Call():
                return self._call(node)
            case ast.ListExpr():
                return self._list(node)
            case ast.MapExpr():
                return self._map(node)
            case ast.StructExpr():
                return self._sum([part.value for part in node.fields]).plus(_NEW_MESSAGE)
            case ast.Comprehension():
                return self._bind(node) if _is_bind(node) else self._comprehension(node)

    def _sum(self, nodes: Sequence[Expr]) -> Range:
        total = NOTHING
        for node in nodes:
            total = total.plus(self.cost(node))
        return total

    # ------------------------------------------------------------ names

    def _ident(self, node: Expr, name: str) -> Range:
        found = self._local(name)
        self.steps[node.id] = found.steps if found is not None else (name,)
        return ONE

    def _select(self, node: ast.Select) -> Range:
        qualified = self.checked.idents.get(node.id)
        if qualified is not None:
            return self._ident(node, qualified)
        total = self.cost(node.operand)
        if node.test:
            return total
        if self._type(node.operand).kind in (Kind.MAP, Kind.STRUCT, Kind.TYPE_PARAM):
            total = total.plus(ONE)
        self.steps[node.id] = (*self._steps(node.operand), node.field)
        return total

    # ------------------------------------------------------------ what a rule makes

    def _list(self, node: ast.ListExpr) -> Range:
        total, item = NOTHING, EMPTY if node.elements else NOTHING
        for element in node.elements:
            total = total.plus(self.cost(element))
            item = item.covering(self._bound(element))
        self.entries[node.id] = _Entries(Kind.LIST, ONE, item)
        return total.plus(_NEW_LIST)

    def _map(self, node: ast.MapExpr) -> Range:
        total = NOTHING
        key = value = EMPTY if node.entries else NOTHING
        for entry in node.entries:
            total = total.plus(self.cost(entry.key)).plus(self.cost(entry.value))
            key, value = key.covering(self._bound(entry.key)), value.covering(self._bound(entry.value))
        self.entries[node.id] = _Entries(Kind.MAP, key, value)
        return total.plus(_NEW_MAP)

    # ------------------------------------------------------------ macros

    def _comprehension(self, node: ast.Comprehension) -> Range:
        total = self.cost(node.iter_range).plus(self.cost(node.accu_init))
        self._push(node.accu_var, self._bound_variable(node.accu_init))
        self._push_iteration(node)
        each = self.cost(node.loop_condition).plus(self.cost(node.loop_step))
        self._pop(node.iter_var)
        if node.iter_var2:
            self._pop(node.iter_var2)
        total = total.plus(self.cost(node.result))
        self._pop(node.accu_var)
        count = self._bound(node.iter_range)
        self._size_comprehension(node, count)
        return total.plus(count.times(each))

    def _size_comprehension(self, node: ast.Comprehension, count: Range) -> None:
        if isinstance(node.accu_init, ast.Literal):
            size = self._size(node.accu_init)
            if size is not None:
                self.sizes[node.id] = size
        elif isinstance(node.accu_init, ast.ListExpr | ast.MapExpr):
            self.sizes[node.id] = count
            step = self._entries(node.loop_step)
            if step is not None:
                self.entries[node.id] = step

    def _push_iteration(self, node: ast.Comprehension) -> None:
        entries, steps = self._entries(node.iter_range), self._steps(node.iter_range)
        is_list = (entries.kind if entries is not None else self._type(node.iter_range).kind) is Kind.LIST
        key = _Local((*steps, "@indices" if is_list else "@keys"), entries.key if entries is not None else None)
        value = _Local((*steps, "@items" if is_list else "@values"), entries.value if entries is not None else None)
        if node.iter_var2:
            self._push(node.iter_var, key)
            self._push(node.iter_var2, value)
        else:
            self._push(node.iter_var, value if is_list else key)

    def _bind(self, node: ast.Comprehension) -> Range:
        total = self.cost(node.iter_range).plus(self.cost(node.accu_init))
        self._push(node.accu_var, self._bound_variable(node.accu_init))
        total = total.plus(self.cost(node.result))
        self._pop(node.accu_var)
        self._same_size(node, node.result)
        return total

    def _bound_variable(self, node: Expr) -> _Local:
        return _Local(self._steps(node), self._size(node), self._entries(node))

    def _push(self, name: str, local: _Local) -> None:
        self.locals.setdefault(name, []).append(local)

    def _pop(self, name: str) -> None:
        self.locals[name].pop()

    def _local(self, name: str) -> _Local | None:
        found = self.locals.get(name)
        return found[-1] if found else None

    # ------------------------------------------------------------ calls

    def _call(self, node: ast.Call) -> Range:
        function = self.checked.functions.get(node.id)
        target = node.target if function is None else None
        function = function or node.function
        if function == "dyn":
            total = ONE.plus(self.cost(node.args[0]))
            self._same_size(node, node.args[0])
            return total
        costs = [self.cost(arg) for arg in node.args]
        args = [self._node(arg) for arg in node.args]
        overloads = self.checked.overloads.get(node.id) or ()
        if not overloads:
            return NOTHING
        total = self.cost(target) if target is not None else NOTHING
        receiver = self._node(target) if target is not None else None
        return total.plus(self._overloads(node, function, overloads, receiver, args, costs))

    def _overloads(
        self, node: ast.Call, function: str, overloads: Sequence[str], target: Node | None, args: list[Node], costs: list[Range]
    ) -> Range:
        """NB: which of them is called is not known: the price covers all."""
        total, size = EMPTY, None
        for overload in overloads:
            found = self._priced(node, function, overload, target, args, costs)
            total = total.covering(found.cost)
            if found.size is not None:
                size = found.size if size is None else size.covering(found.size)
            if overload in ("index_list", "index_map"):
                entries = self._entries(node.args[0])
                size = entries.value if entries is not None else None
                self.steps[node.id] = (*self._steps(node.args[0]), "@items" if overload == "index_list" else "@values")
            if size is None:
                size = self._size(node)
        if size is not None:
            self.sizes[node.id] = size
        return total

    def _priced(
        self, node: ast.Call, function: str, overload: str, target: Node | None, args: list[Node], costs: list[Range]
    ) -> Price:
        given = NOTHING
        for one in costs:
            given = given.plus(one)
        known = callcosts.price(function, overload, target, args) or _standard(overload, target, args)
        if known is not None:
            return Price(known.cost.plus(given), known.size)
        match overload:
            case "logical_or" | "logical_and":
                return Price(Range(costs[0].least, given.most))
            case "conditional":
                return self._conditional(node, args, costs)
            case "add_string" | "add_bytes" | "add_list":
                return self._added(node, overload, args, given)
        return Price(ONE.plus(given))

    def _conditional(self, node: ast.Call, args: list[Node], costs: list[Range]) -> Price:
        left, right = self._entries(node.args[1]), self._entries(node.args[2])
        entries = left.covering(right) if left is not None else None
        if entries is not None:
            self.entries[node.id] = entries
        return Price(costs[0].plus(costs[1].covering(costs[2])), args[1].bound.covering(args[2].bound))

    def _added(self, node: ast.Call, overload: str, args: list[Node], given: Range) -> Price:
        size = args[0].bound.plus(args[1].bound)
        left, right = self._entries(node.args[0]), self._entries(node.args[1])
        entries = left.covering(right) if left is not None else None
        if entries is not None:
            self.entries[node.id] = entries
        cost = ONE if overload == "add_list" else size.scaled(TRAVERSAL)
        return Price(cost.plus(given), size)

    # ------------------------------------------------------------ sizes

    def _node(self, node: Expr) -> Node:
        steps = self._steps(node)
        if steps and steps[0] in _HIDDEN:
            steps = ()
        return Node(node, self._type(node), self._size(node), self._declared((*steps, "@items")) if steps else ANY)

    def _type(self, node: Expr) -> Type:
        return self.checked.types[node.id]

    def _steps(self, node: Expr) -> Steps:
        if isinstance(node, ast.Ident):
            found = self._local(node.name)
            if found is not None:
                return found.steps
        return self.steps.get(node.id, ())

    def _entries(self, node: Expr) -> _Entries | None:
        known = self.entries.get(node.id)
        if known is None and isinstance(node, ast.Ident):
            found = self._local(node.name)
            return found.entries if found is not None else None
        return known

    def _bound(self, node: Expr) -> Range:
        found = self._size(node)
        return ANY if found is None else found

    def _size(self, node: Expr) -> Range | None:
        if node.id in self.sizes:
            return self.sizes[node.id]
        written = _written_size(node)
        if written is not None:
            return written
        steps = self._steps(node)
        declared = self._declared_size(steps) if steps else None
        if declared is not None:
            self.sizes[node.id] = declared
            return declared
        if _is_scalar(self._type(node)):
            return ONE
        found = self._local(node.name) if isinstance(node, ast.Ident) else None
        return found.size if found is not None else None

    def _declared(self, steps: Steps) -> Range:
        found = self._declared_size(steps)
        return ANY if found is None else found

    def _declared_size(self, steps: Steps) -> Range | None:
        """What the schema says of a place. NB: whatever variable a path starts with is taken to be like `self`."""
        at: Declared | None = self.self_type
        for step in steps[1:]:
            if at is None:
                return None
            if step in ("@items", "@values"):
                at = at.element
            elif step == "@keys":
                return NOTHING if at.type.kind is Kind.MAP else None
            else:
                at = (at.fields or {}).get(step)
        return Range(0, at.most) if at is not None else None

    def _same_size(self, node: Expr, other: Expr) -> None:
        size, entries = self._size(other), self._entries(other)
        if size is not None:
            self.sizes[node.id] = size
        if entries is not None:
            self.entries[node.id] = entries


def _is_bind(node: ast.Comprehension) -> bool:
    return (
        isinstance(node.iter_range, ast.ListExpr)
        and not node.iter_range.elements
        and isinstance(node.loop_condition, ast.Literal)
        and node.loop_condition.value is False
        and node.accu_var != "__result__"
    )


def _is_scalar(kind: Type) -> bool:
    if kind.kind is Kind.OPAQUE and kind.name == "optional_type":
        return _is_scalar(kind.params[0])
    return kind.kind in _SCALARS


def _written_size(node: Expr) -> Range | None:
    match node:
        case ast.Literal(value=str() | bytes() as text):
            return exactly(len(text))
        case ast.Literal():
            return ONE
        case ast.ListExpr():
            return exactly(len(node.elements))
        case ast.MapExpr():
            return exactly(len(node.entries))
    return None


def _standard(overload: str, target: Node | None, args: list[Node]) -> Price | None:
    """The functions of CEL itself that read texts and lists."""
    if overload in _COMPARISONS:
        shorter = min(args[0].bound.most, args[1].bound.most)
        return Price(Range(1 if shorter else 0, shorter).scaled(TRAVERSAL))
    match overload:
        case "string_format":
            return Price(target.bound.scaled(TRAVERSAL)) if target is not None else None
        case "string_to_bytes":
            return Price(args[0].bound.scaled(TRAVERSAL), Range(args[0].bound.least, args[0].bound.most * 4 % 2**64))
        case "bytes_to_string":
            return Price(args[0].bound.scaled(TRAVERSAL), Range(args[0].bound.least // 4, args[0].bound.most))
        case "strings_quote":
            size = args[0].bound
            return Price(size.scaled(TRAVERSAL), Range(size.least + 2, (size.most * 2 + 2) % 2**64))
        case "starts_with_string" | "ends_with_string":
            return Price(args[0].bound.scaled(TRAVERSAL))
        case "in_list":
            return Price(args[1].bound.scaled(1))
    if target is None or len(args) != 1:
        return None
    match overload:
        case "matches_string":
            return Price(target.bound.plus(ONE).scaled(TRAVERSAL).times(args[0].bound.scaled(PATTERN)))
        case "contains_string":
            return Price(target.bound.scaled(TRAVERSAL).times(args[0].bound.scaled(TRAVERSAL)))
    return None
