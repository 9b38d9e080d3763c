"""Macros: calls that the parser writes anew, before anybody evaluates them.

Each expander gives a tree over the arguments. All nodes that it makes stand where the call's parenthesis stands. The
order in which an expander makes nodes is part of what it means: ids follow from it.
"""

from collections.abc import Callable, Mapping, Sequence
from functools import cache

from kadmit.cel.ast import (
    Call,
    Comprehension,
    Expr,
    Ident,
    ListExpr,
    Literal,
    MapEntry,
    MapExpr,
    Select,
    StructExpr,
    StructField,
    children,
)
from kadmit.cel.builder import MAX_COPIES, NO_NODE, Builder, Expander, MacroError, MacroKey, Macros, TooLargeError

ACCUMULATOR = "@result"
_OLD_ACCUMULATOR = "__result__"  # still refused as a variable
UNUSED = "#unused"
SORT_INPUT = "@__sortBy_input__"


class _Writer:
    """Makes nodes at one place."""

    __slots__ = ("builder", "offset")

    def __init__(self, builder: Builder, call: int) -> None:
        self.builder = builder
        self.offset = builder.offsets.get(call, NO_NODE)

    def _id(self) -> int:
        return self.builder.id(self.offset)

    def literal(self, value: object) -> Expr:
        return Literal(self._id(), value)

    def ident(self, name: str) -> Expr:
        return Ident(self._id(), name)

    def accumulator(self) -> Expr:
        return Ident(self._id(), ACCUMULATOR)

    def list(self, *elements: Expr) -> Expr:
        return ListExpr(self._id(), elements)

    def empty_map(self) -> Expr:
        return MapExpr(self._id(), ())

    def call(self, function: str, *args: Expr) -> Expr:
        return Call(self._id(), function, None, args)

    def method(self, function: str, target: Expr, *args: Expr) -> Expr:
        return Call(self._id(), function, target, args)

    def present(self, operand: Expr, field: str) -> Expr:
        return Select(self._id(), operand, field, test=True)

    def fold(self, over: Expr, names: Sequence[str], accu: str, init: Expr, condition: Expr, step: Expr, result: Expr) -> Expr:
        first, second = names if len(names) == 2 else (names[0], "")
        return Comprehension(self._id(), over, first, second, accu, init, condition, step, result)

    def bind_value(self, name: str, optional: Expr, result: Expr) -> Expr:
        """result, with the name standing for the value of (a copy of) an optional: a fold over nothing."""
        nothing = self.list()
        value = self.method("value", self.copy(optional))
        return self.fold(nothing, (UNUSED,), name, value, self.literal(value=False), self.ident(name), result)

    def copy(self, node: Expr) -> Expr:
        """The same tree with new ids. Parents get theirs before their children, arguments before the target."""
        return _Copier(self).copy(node)


class _Copier:
    """Copies without recursion: a tree may be deeper than Python's stack."""

    def __init__(self, writer: _Writer) -> None:
        self._writer = writer
        self._nodes: list[tuple[Expr, int, list[int]]] = []  # original, new id, new ids of its entries

    def copy(self, root: Expr) -> Expr:
        self._number(root)
        done: list[Expr] = []
        for node, number, entries in reversed(self._nodes):
            done.append(_rebuilt(node, number, entries, done))
        return done[0]

    def _number(self, root: Expr) -> None:
        """Walks parents first and hands out ids; an entry gets its own right before its key."""
        builder = self._writer.builder
        todo: list[tuple[Expr, list[int] | None]] = [(root, None)]
        while todo:
            node, entry_of = todo.pop()
            if entry_of is not None:
                entry_of.append(builder.id(self._writer.offset))
            entries: list[int] = []
            self._nodes.append((node, builder.id(builder.offsets.get(node.id, 0)), entries))
            todo.extend(reversed([(child, entries if starts_entry else None) for child, starts_entry in _parts(node)]))
            builder.copies += 1
            if builder.copies > MAX_COPIES:
                raise TooLargeError


def _parts(node: Expr) -> list[tuple[Expr, bool]]:
    """Children in the order of copying; True where one begins an entry of a map or struct."""
    match node:
        case Call(target=None):
            return [(arg, False) for arg in node.args]
        case Call(target=target):
            return [*((arg, False) for arg in node.args), (target, False)]  # type: ignore[list-item]  # not None: see above
        case MapExpr():
            return [part for entry in node.entries for part in ((entry.key, True), (entry.value, False))]
        case StructExpr():
            return [(field.value, True) for field in node.fields]
        case _:
            return [(child, False) for child in children(node)]


def _rebuilt(node: Expr, number: int, entries: list[int], done: list[Expr]) -> Expr:
    """The node with its new id. Its copied children are the last of `done`, the first child on top; they are taken off."""
    parts = [done.pop() for _ in _parts(node)]
    match node:
        case Literal():
            return Literal(number, node.value)
        case Ident():
            return Ident(number, node.name)
        case Select():
            return Select(number, parts[0], node.field, node.test)
        case Call(target=None):
            return Call(number, node.function, None, tuple(parts))
        case Call():
            return Call(number, node.function, parts[-1], tuple(parts[:-1]))
        case ListExpr():
            return ListExpr(number, tuple(parts), node.optional)
        case MapExpr():
            pairs = zip(entries, node.entries, parts[::2], parts[1::2], strict=True)
            return MapExpr(number, tuple(MapEntry(i, key, value, old.optional) for i, old, key, value in pairs))
        case StructExpr():
            fields = zip(entries, node.fields, parts, strict=True)
            return StructExpr(number, node.type_name, tuple(StructField(i, f.name, v, f.optional) for i, f, v in fields))
        case Comprehension():
            return Comprehension(number, parts[0], node.iter_var, node.iter_var2, node.accu_var, *parts[1:])


def _has(builder: Builder, call: int, _target: Expr | None, args: Sequence[Expr]) -> Expr:
    select = args[0]
    if not isinstance(select, Select):
        raise MacroError(select.id, "invalid argument to has() macro")
    return _Writer(builder, call).present(select.operand, select.field)


def _variable(arg: Expr, complaint: str) -> str:
    if not isinstance(arg, Ident):
        raise MacroError(arg.id, complaint)
    return arg.name


def _not_the_accumulator(arg: Expr, name: str) -> None:
    if name in (ACCUMULATOR, _OLD_ACCUMULATOR):
        raise MacroError(arg.id, "iteration variable overwrites accumulator variable")


def _one_variable(args: Sequence[Expr], complaint: str) -> tuple[str]:
    name = _variable(args[0], complaint)
    _not_the_accumulator(args[0], name)
    return (name,)


def _two_variables(args: Sequence[Expr]) -> tuple[str, str]:
    first = _variable(args[0], "argument must be a simple name")
    second = _variable(args[1], "argument must be a simple name")
    if first == second:
        raise MacroError(args[1].id, f"duplicate variable name: {first}")
    _not_the_accumulator(args[0], first)
    _not_the_accumulator(args[1], second)
    return first, second


def _names(args: Sequence[Expr], count: int) -> Sequence[str]:
    return _two_variables(args) if count == 2 else _one_variable(args, "argument must be a simple name")


def _all(count: int) -> Expander:
    def expand(builder: Builder, call: int, target: Expr | None, args: Sequence[Expr]) -> Expr:
        assert target is not None
        names = _names(args, count)
        w = _Writer(builder, call)
        init = w.literal(value=True)
        condition = w.call("@not_strictly_false", w.accumulator())
        step = w.call("_&&_", w.accumulator(), args[count])
        return w.fold(target, names, ACCUMULATOR, init, condition, step, w.accumulator())

    return expand


def _exists(count: int) -> Expander:
    def expand(builder: Builder, call: int, target: Expr | None, args: Sequence[Expr]) -> Expr:
        assert target is not None
        names = _names(args, count)
        w = _Writer(builder, call)
        init = w.literal(value=False)
        condition = w.call("@not_strictly_false", w.call("!_", w.accumulator()))
        step = w.call("_||_", w.accumulator(), args[count])
        return w.fold(target, names, ACCUMULATOR, init, condition, step, w.accumulator())

    return expand


def _exists_one(count: int) -> Expander:
    def expand(builder: Builder, call: int, target: Expr | None, args: Sequence[Expr]) -> Expr:
        assert target is not None
        names = _names(args, count)
        w = _Writer(builder, call)
        init = w.literal(0)
        condition = w.literal(value=True)
        step = w.call("_?_:_", args[count], w.call("_+_", w.accumulator(), w.literal(1)), w.accumulator())
        result = w.call("_==_", w.accumulator(), w.literal(1))
        return w.fold(target, names, ACCUMULATOR, init, condition, step, result)

    return expand


def _map(builder: Builder, call: int, target: Expr | None, args: Sequence[Expr]) -> Expr:
    assert target is not None
    names = _one_variable(args, "argument is not an identifier")
    w = _Writer(builder, call)
    init = w.list()
    condition = w.literal(value=True)
    step = w.call("_+_", w.accumulator(), w.list(args[-1]))
    if len(args) == 3:
        step = w.call("_?_:_", args[1], step, w.accumulator())
    return w.fold(target, names, ACCUMULATOR, init, condition, step, w.accumulator())


def _filter(builder: Builder, call: int, target: Expr | None, args: Sequence[Expr]) -> Expr:
    assert target is not None
    names = _one_variable(args, "argument is not an identifier")
    w = _Writer(builder, call)
    init = w.list()
    condition = w.literal(value=True)
    step = w.call("_+_", w.accumulator(), w.list(args[0]))
    step = w.call("_?_:_", args[1], step, w.accumulator())
    return w.fold(target, names, ACCUMULATOR, init, condition, step, w.accumulator())


def _transform(init: Callable[[_Writer], Expr], step: Callable[[_Writer, str, Expr], Expr]) -> Expander:
    """transformX(k, v, [filter,] transform): the step is made first, then the beginning."""

    def expand(builder: Builder, call: int, target: Expr | None, args: Sequence[Expr]) -> Expr:
        assert target is not None
        names = _two_variables(args)
        w = _Writer(builder, call)
        taken = step(w, names[0], args[-1])
        if len(args) == 4:
            taken = w.call("_?_:_", args[2], taken, w.accumulator())
        return w.fold(target, names, ACCUMULATOR, init(w), w.literal(value=True), taken, w.accumulator())

    return expand


def _append(w: _Writer, _key: str, value: Expr) -> Expr:
    return w.call("_+_", w.accumulator(), w.list(value))


def _insert(w: _Writer, key: str, value: Expr) -> Expr:
    return w.call("cel.@mapInsert", w.accumulator(), w.ident(key), value)


def _insert_entries(w: _Writer, _key: str, entries: Expr) -> Expr:
    return w.call("cel.@mapInsert", w.accumulator(), entries)


def _opt_map(builder: Builder, call: int, target: Expr | None, args: Sequence[Expr]) -> Expr:
    assert target is not None
    name = _variable(args[0], "optMap() variable name must be a simple identifier")
    w = _Writer(builder, call)
    present = w.method("hasValue", target)
    mapped = w.call("optional.of", w.bind_value(name, target, args[1]))
    return w.call("_?_:_", present, mapped, w.call("optional.none"))


def _opt_flat_map(builder: Builder, call: int, target: Expr | None, args: Sequence[Expr]) -> Expr:
    assert target is not None
    name = _variable(args[0], "optFlatMap() variable name must be a simple identifier")
    w = _Writer(builder, call)
    present = w.method("hasValue", target)
    mapped = w.bind_value(name, target, args[1])
    return w.call("_?_:_", present, mapped, w.call("optional.none"))


def _sort_by(builder: Builder, call: int, target: Expr | None, args: Sequence[Expr]) -> Expr:
    """The input bound to a name, then sorted by the keys that a map() over that name gives."""
    w = _Writer(builder, call)
    name = w.ident(SORT_INPUT)
    if not isinstance(target, ListExpr | Select | Ident | Comprehension | Call):
        assert target is not None
        raise MacroError(target.id, "sortBy can only be applied to a list, identifier, comprehension, call or select expression")
    keys = _map(builder, call, w.copy(name), args)
    result = w.method("@sortByAssociatedKeys", w.copy(name), keys)
    return w.fold(w.list(), (UNUSED,), SORT_INPUT, target, w.literal(value=False), name, result)


def _empty_list(w: _Writer) -> Expr:
    return w.list()


def _empty_map(w: _Writer) -> Expr:
    return w.empty_map()


_TO_LIST = _transform(_empty_list, _append)
_TO_MAP = _transform(_empty_map, _insert)
_TO_ENTRIES = _transform(_empty_map, _insert_entries)

# The minor version of Kubernetes that brought them, and what they are.
_SINCE: tuple[tuple[int, Mapping[MacroKey, Expander]], ...] = (
    (
        0,
        {
            ("has", 1, False): _has,
            ("all", 2, True): _all(1),
            ("exists", 2, True): _exists(1),
            ("exists_one", 2, True): _exists_one(1),
            ("map", 2, True): _map,
            ("map", 3, True): _map,
            ("filter", 2, True): _filter,
        },
    ),
    (28, {("optMap", 2, True): _opt_map, ("optFlatMap", 2, True): _opt_flat_map}),
    (
        32,
        {
            ("all", 3, True): _all(2),
            ("exists", 3, True): _exists(2),
            ("existsOne", 3, True): _exists_one(2),
            ("exists_one", 3, True): _exists_one(2),
            ("transformList", 3, True): _TO_LIST,
            ("transformList", 4, True): _TO_LIST,
            ("transformMap", 3, True): _TO_MAP,
            ("transformMap", 4, True): _TO_MAP,
            ("transformMapEntry", 3, True): _TO_ENTRIES,
            ("transformMapEntry", 4, True): _TO_ENTRIES,
        },
    ),
    (34, {("sortBy", 2, True): _sort_by}),
)


@cache
def available(minor: int) -> Macros:
    """The macros that Kubernetes 1.`minor` knows."""
    return {key: expand for since, macros in _SINCE if since <= minor for key, expand in macros.items()}
