"""From a checked tree to steps: finds each call's code, joins chains of selections, folds constants.

What is folded here is what Kubernetes folds, because it shows: a literal of constants costs nothing, `x in [constants]`
becomes a set, a constant conversion or pattern that fails makes the policy fail to compile, not to run.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Protocol

from msgspec import Struct

from kadmit.cel import ast, re2, types, work
from kadmit.cel.ast import Expr
from kadmit.cel.attributes import (
    Attribute,
    AttributeStep,
    Computed,
    Conditional,
    FieldReader,
    Key,
    Named,
    Relative,
    constant_qualifier_error,
)
from kadmit.cel.checker import Checked
from kadmit.cel.declarations import Function, Impl, Overload
from kadmit.cel.evaluator import (
    Append,
    Bindings,
    Call,
    Const,
    Equality,
    Fold,
    Insert,
    ListStep,
    Logic,
    MapStep,
    OptionalOr,
    Run,
    SetMembership,
    Step,
    StructStep,
)
from kadmit.cel.library.comprehensions import MAP_INSERT, insert, insert_all
from kadmit.cel.operators import NO_OVERLOAD, double_to_int, double_to_uint
from kadmit.cel.types import Kind, Type
from kadmit.cel.unboxing import native
from kadmit.cel.values import INT_MAX, CelError, Duration, MapValue, Panic, Strings, Timestamp, UInt, Value, key_of, type_of

CONVERSIONS = frozenset({"bool", "bytes", "double", "duration", "dyn", "int", "string", "timestamp", "type", "uint"})
PATTERN_FUNCTIONS = frozenset({"matches", "find", "findAll"})
_PRIMITIVE = frozenset({bool, float, int, str, UInt})


class PlanError(Exception):
    """A constant part that fails: `program instantiation failed`."""


class Structs(Protocol):
    """How struct values are made and read. The seam that gives `Object{}` and `JSONPatch{}` their values."""

    def maker(self, name: str) -> Callable[[dict[str, Value]], Value] | None:
        """What builds a struct of this name, or None if it cannot be built."""

    def reader(self, name: str, field: str) -> FieldReader | None:
        """What reads a field straight from a struct, or None where the value is read as a map."""


class Catalogue(Struct, frozen=True):
    """What the planner needs beside the tree."""

    functions: Mapping[str, Function]
    type_names: Mapping[str, Type]  # names that are types at run time (`int`, `net.IP`)
    structs: Structs


def plan(checked: Checked, catalogue: Catalogue) -> Step:
    """The steps of a checked tree; raises PlanError."""
    return _Planner(checked, catalogue).plan(checked.tree.root)


def fits(declared: Type, value: Value) -> bool:
    """Whether a value may be passed for a declared type; of lists and maps only the first entry is looked at."""
    kind = declared.kind
    if kind is Kind.DYN or kind is Kind.TYPE_PARAM or kind is Kind.ANY:
        return True
    if declared.name != type_of(value).name:
        return False
    if kind is Kind.LIST and value:
        return fits(declared.params[0], value[0])
    if kind is Kind.MAP and len(value):
        key = next(iter(value))
        first = value[key] if value.__class__ is dict else next(iter(value.entries.values()))[1]
        return fits(declared.params[0], key) and fits(declared.params[1], first)
    return True


def _no_such_overload(name: str, args: Sequence[Value]) -> CelError:
    for a in args:
        if a.__class__ is CelError:
            return a
    return CelError(f"no such overload: {name}({', '.join(type_of(a).name for a in args)})")


def guarded(name: str, overload: Overload) -> Impl:
    """An overload's code behind a look at its arguments' types."""
    declared, code = overload.args, overload.impl
    assert code is not None
    checks = [_check(d) for d in declared]

    def call(*args: Value) -> Value:
        if len(args) == len(declared) and all(a.__class__ is CelError or fit(a) for fit, a in zip(checks, args, strict=True)):
            return code(*args)
        return _no_such_overload(name, args)

    if not overload.strict or len(declared) not in (1, 2):
        return call
    return _guarded_one(name, checks[0], code) if len(declared) == 1 else _guarded_two(name, checks[0], checks[1], code)


_Check = Callable[[Value], bool]


def _guarded_one(name: str, fit: _Check, code: Impl) -> Impl:
    """NB: most calls have one or two arguments, and a loop over them would cost more than their code."""

    def call(a: Value) -> Value:
        return code(a) if fit(a) else _no_such_overload(name, (a,))

    return call


def _guarded_two(name: str, first: _Check, second: _Check, code: Impl) -> Impl:
    def call(a: Value, b: Value) -> Value:
        return code(a, b) if first(a) and second(b) else _no_such_overload(name, (a, b))

    return call


_CLASS_OF = {
    Kind.BOOL: bool,
    Kind.BYTES: bytes,
    Kind.DOUBLE: float,
    Kind.DURATION: Duration,
    Kind.INT: int,
    Kind.STRING: str,
    Kind.TIMESTAMP: Timestamp,
    Kind.UINT: UInt,
}


def _check(declared: Type) -> _Check:
    """`fits` for one declared type."""
    if declared.kind in (Kind.DYN, Kind.TYPE_PARAM, Kind.ANY):
        return lambda _: True
    wanted = _CLASS_OF.get(declared.kind)
    if wanted is not None:
        return lambda value: value.__class__ is wanted
    return lambda value: fits(declared, value)


def dispatched(function: Function) -> Impl:
    """All overloads of a function behind one entrance: the first whose types fit."""
    candidates = [(o.args, o.impl) for o in function.overloads if o.impl is not None]

    def call(*args: Value) -> Value:
        for declared, code in candidates:
            if len(args) == len(declared) and all(fits(d, a) for d, a in zip(declared, args, strict=True)):
                return code(*args)
        return _no_such_overload(function.name, args)

    return call


class _Planner:
    __slots__ = ("accumulators", "catalogue", "checked")

    def __init__(self, checked: Checked, catalogue: Catalogue) -> None:
        self.checked = checked
        self.catalogue = catalogue
        self.accumulators: list[str] = []  # of the loops around, "" where the loop must not grow it in place

    def plan(self, node: Expr) -> Step:
        match node:
            case ast.Literal():
                return Const(node.id, node.value)
            case ast.Ident():
                return self._name(node.id)
            case ast.Select():
                return self._select(node)
            case ast.Call():
                return self._call(node)
            case ast.ListExpr():
                return self._list(node)
            case ast.MapExpr():
                return self._map(node)
            case ast.StructExpr():
                return self._struct(node)
            case ast.Comprehension():
                return self._fold(node)

    # ------------------------------------------------------------ paths

    def _name(self, node_id: int) -> Step:
        name = self.checked.idents[node_id]
        if self.checked.types[node_id].kind is Kind.TYPE:
            found = self.catalogue.type_names.get(name)
            if found is None:
                raise PlanError(f"reference to undefined type: {name}")
            return Const(node_id, found)
        return AttributeStep(Named(node_id, name))

    def _path(self, operand: Step) -> Attribute:
        """A chain that starts at a step, going on with its own if it is one."""
        if isinstance(operand, AttributeStep) and not operand.test:
            return operand.attribute
        return Relative(operand.id, operand)

    def _select(self, node: ast.Select) -> Step:
        if node.id in self.checked.idents:
            return self._name(node.id)
        operand_type = self.checked.types[node.operand.id]
        read = self._reader(operand_type, node.field)
        attribute = self._path(self.plan(node.operand))
        attribute.add(Key(node.id, node.field, optional=False, test=node.test, read=read))
        return AttributeStep(attribute, test=node.test)

    def _reader(self, operand: Type, field: str) -> FieldReader | None:
        return self.catalogue.structs.reader(operand.name, field) if operand.kind is Kind.STRUCT else None

    def _index(self, node: ast.Call, args: Sequence[Step], *, optional: bool) -> Step:
        operand, index = args
        operand_type = self.checked.types[node.args[0].id]
        attribute = self._path(operand)
        if isinstance(index, Const):
            problem = constant_qualifier_error(index.value)
            if problem is not None:
                raise PlanError(problem)
            read = self._reader(operand_type, index.value) if index.value.__class__ is str else None
            attribute.add(Key(node.id, index.value, optional=optional, read=read))
        elif isinstance(index, AttributeStep):
            attribute.add(Computed(node.id, index.attribute, optional=optional, step=False))
        else:
            attribute.add(Computed(node.id, Relative(node.id, index), optional=optional, step=True))
        return AttributeStep(attribute)

    # ------------------------------------------------------------ calls

    def _call(self, node: ast.Call) -> Step:
        name = self.checked.functions.get(node.id) or node.function.removeprefix(".")
        operands = node.args if node.target is None or node.id in self.checked.functions else (node.target, *node.args)
        args = [self.plan(a) for a in operands]
        special = self._special(node, name, args)
        if special is not None:
            return special
        return self._folded(node, self._function_call(node, name, args))

    def _special(self, node: ast.Call, name: str, args: Sequence[Step]) -> Step | None:
        """Operators and functions that decide themselves which of their arguments they evaluate."""
        match name:
            case "_&&_" | "_||_":
                return Logic(node.id, args, decisive=name == "_||_")
            case "_?_:_":
                truthy, falsy = (self._branch(a) for a in args[1:])
                return AttributeStep(Conditional(node.id, args[0], truthy, falsy))
            case "_==_" | "_!=_":
                return Equality(node.id, args[0], args[1], negated=name == "_!=_")
            case "_[_]":
                return self._index(node, args, optional=False)
            case "_?._" | "_[?_]":
                return self._index(node, args, optional=True)
            case "or" | "orValue" if len(args) == 2 and self._overload(node) in (
                "",
                "optional_or_optional",
                "optional_orValue_value",
            ):
                return OptionalOr(node.id, args[0], args[1], unwrap=name == "orValue")
        return None

    def _branch(self, step: Step) -> Attribute:
        return step.attribute if isinstance(step, AttributeStep) else Relative(step.id, step)

    def _overload(self, node: ast.Call) -> str:
        """The one overload that fits, or "" if the values must decide."""
        found = self.checked.overloads.get(node.id, ())
        return found[0] if len(found) == 1 else ""

    def _function_call(self, node: ast.Call, name: str, args: Sequence[Step]) -> Call:
        function = self.catalogue.functions[name]
        overload = self._overload(node)
        impl, strict, eager = _code(function, overload)
        eager = eager and len(args) <= 2
        return Call(node.id, name, overload, args, impl, trait=function.trait, strict=strict, eager=eager, charge=function.cost)

    def _folded(self, node: ast.Call, call: Call) -> Step:
        """What Kubernetes works out once, when a policy is written."""
        if call.overload == "in_list" and isinstance(call.args[1], Const):
            return _membership(call, call.args[1].value)
        if call.function in CONVERSIONS and len(call.args) == 1 and isinstance(call.args[0], Const):
            value = call.apply((call.args[0].value,))
            if value.__class__ is CelError:
                raise PlanError(value.message)
            return Const(node.id, value)
        if call.function in PATTERN_FUNCTIONS and len(call.args) >= 2:
            return _with_pattern(call)
        return self._growing(call)

    def _growing(self, call: Call) -> Step:
        """accumulator + [...], or an insertion into it, of the innermost loop may grow the loop's own value."""
        accumulator = self.accumulators[-1] if self.accumulators else ""
        if not accumulator or not call.args or not _is_name(call.args[0], accumulator):
            return call
        if call.function == "_+_":
            return Append(call)
        return _insertion(call) if call.function == MAP_INSERT else call

    # ------------------------------------------------------------ literals

    def _list(self, node: ast.ListExpr) -> Step:
        elements = [self.plan(e) for e in node.elements]
        step = ListStep(node.id, elements, node.optional)
        return _constant(step) if all(isinstance(e, Const) for e in elements) else step

    def _map(self, node: ast.MapExpr) -> Step:
        entries = [(self.plan(e.key), self.plan(e.value), e.optional) for e in node.entries]
        step = MapStep(node.id, entries)
        return _constant(step) if all(isinstance(k, Const) and isinstance(v, Const) for k, v, _ in entries) else step

    def _struct(self, node: ast.StructExpr) -> Step:
        name = self.checked.idents[node.id]
        make = self.catalogue.structs.maker(name)
        if make is None:
            raise PlanError(f"unknown type: {node.type_name}")
        return StructStep(node.id, [(f.name, self.plan(f.value), f.optional) for f in node.fields], make)

    def _fold(self, node: ast.Comprehension) -> Step:
        initial = self.plan(node.accu_init)
        range_ = self.plan(node.iter_range)
        growable = isinstance(initial, Const) and initial.value in ([], {})
        self.accumulators.append(node.accu_var if growable else "")
        condition = self.plan(node.loop_condition)
        step = self.plan(node.loop_step)
        self.accumulators.pop()
        result = self.plan(node.result)
        names = (node.iter_var, node.iter_var2, node.accu_var)
        return Fold(node.id, names, range_, initial, condition, step, result)


def _code(function: Function, overload_id: str) -> tuple[Impl | None, bool, bool]:
    """A function's code for this overload, whether it is strict, and whether all arguments are evaluated regardless."""
    if function.impl is not None:
        return function.impl, all(o.strict for o in function.overloads), True
    chosen = next((o for o in function.overloads if o.id == overload_id and o.impl is not None), None)
    bound = [o for o in function.overloads if o.impl is not None]
    if chosen is None and len(bound) == 1:
        chosen = bound[0]
    if chosen is not None:
        return guarded(function.name, chosen), chosen.strict, chosen.eager
    if not bound:
        return None, True, True
    return dispatched(function), all(o.strict for o in bound), False


def _is_name(step: Step, name: str) -> bool:
    attribute = step.attribute if isinstance(step, AttributeStep) else None
    return isinstance(attribute, Named) and attribute.name == name and not attribute.qualifiers


def _insertion(call: Call) -> Step:
    copying = call.impl
    assert copying is not None

    def insert_in_place(target: Value, *entry: Value) -> Value:
        if target.__class__ is not dict and target.__class__ is not MapValue:
            return copying(target, *entry)
        if len(entry) == 2:
            return insert(target, entry[0], entry[1])
        return insert_all(target, entry[0]) if fits(types.MAP, entry[0]) else copying(target, *entry)

    return Insert(call.id, call.function, call.overload, call.args, insert_in_place, eager=call.eager, charge=call.charge)


def _constant(step: Step) -> Const:
    try:
        value = step.evaluate(Run(INT_MAX), Bindings({}))
    except Panic as e:
        raise PlanError(f"internal error: {e}") from None
    if value.__class__ is CelError:
        raise PlanError(value.message)
    return Const(step.id, value)


def _membership(call: Call, constants: list[Value]) -> Step:
    if not constants:
        return Const(call.id, False)
    if any(c.__class__ not in _PRIMITIVE for c in constants):
        return call
    members: set[object] = set()
    for constant in constants:
        if constant == constant:  # NaN is in no set
            members.update(_equal_keys(constant))
    return SetMembership(call.id, call.args[0], frozenset(members))


def _equal_keys(constant: Value) -> list[object]:
    """A constant under each number type that can hold it."""
    keys: list[object] = [key_of(constant)]
    kind = constant.__class__
    if kind is float:
        whole, natural = double_to_int(constant), double_to_uint(constant)
        keys += [(int, whole)] if whole is not None else []
        keys += [(UInt, natural)] if natural is not None else []
    elif kind is int:
        keys += [(float, float(constant))] + ([(UInt, UInt(constant))] if constant >= 0 else [])
    elif kind is UInt:
        keys += [(float, float(constant))] + ([(int, int(constant))] if constant <= INT_MAX else [])
    return keys


def _with_pattern(call: Call) -> Step:
    """matches, find and findAll with a constant pattern: compiled now, or refused now."""
    pattern = call.args[1]
    if not isinstance(pattern, Const) or pattern.value.__class__ is not str:
        return call
    compiled = re2.compile_pattern(pattern.value)
    if isinstance(compiled, CelError):
        raise PlanError(compiled.message)
    impl = _pattern_code(call.function, compiled)
    return Call(call.id, call.function, call.overload, call.args, impl, eager=False, charge=call.charge)


def _pattern_code(function: str, pattern: re2.Pattern) -> Impl:
    free = work.free_length(pattern.source)

    def matches(given: Value, _: Value) -> Value:
        text = native(given)
        if text.__class__ is not str:
            return NO_OVERLOAD
        if len(text) > free:
            work.spend_match(text, pattern.source)
        return pattern.search(text)

    def find(given: Value, _: Value) -> Value:
        text = native(given)
        if text.__class__ is not str:
            return NO_OVERLOAD
        if len(text) > free:
            work.spend_match(text, pattern.source)
        return pattern.find(text)

    def find_all(given: Value, _: Value, limit: Value = -1) -> Value:
        text = native(given)
        if text.__class__ is not str or limit.__class__ is not int:
            return NO_OVERLOAD
        if len(text) > free:
            work.spend_match(text, pattern.source)
        return Strings(pattern.find_all(text, limit))

    return {"matches": matches, "find": find, "findAll": find_all}[function]
