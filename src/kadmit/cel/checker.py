"""Gives every node a type, and every name and call what it refers to.

The rules are cel-go's, because the answer shows: in the texts of compile errors, and in the run-time cost, which
depends on whether exactly one overload fits. The tree is not changed; what was found out lies beside it, by node id.
"""

from collections.abc import Mapping, Sequence
from typing import Protocol

from msgspec import Struct, field

from kadmit.cel import ast, types, unification
from kadmit.cel.ast import Expr
from kadmit.cel.declarations import Function
from kadmit.cel.source import NOWHERE, Issues, Location
from kadmit.cel.types import Kind, Type
from kadmit.cel.values import type_of


class TypeProvider(Protocol):
    """Knows struct types by name. The seam through which schemas, requests and `Object` get their fields."""

    def struct(self, name: str) -> Type | None:
        """The struct type of this name, or None."""

    def field(self, struct_name: str, field_name: str) -> Type | None:
        """The type of a struct's field, or None where it has no such field."""


class Declarations(Struct, frozen=True):
    """What names mean in an environment."""

    variables: Mapping[str, Type]
    functions: Mapping[str, Function]
    provider: TypeProvider


class Checked(Struct, frozen=True):
    """A tree that type-checks, and what the checker learnt of it."""

    tree: ast.Ast
    types: Mapping[int, Type]
    idents: Mapping[int, str]  # id of an Ident, or of a Select that is a qualified name -> full name
    overloads: Mapping[int, tuple[str, ...]]  # id of a Call -> ids of the overloads that fit
    functions: Mapping[int, str]  # id of a Call whose target is a namespace (`optional.of`) -> full name

    @property
    def output(self) -> Type:
        return self.types[self.tree.root.id]

    def has_optionals(self) -> bool:
        """Whether a value may be an optional, or hold one; of a policy's variables that is not known."""
        made = any(t.name == types.OPTIONAL.name for t in self.types.values())
        return made or "variables" in self.idents.values()


def check(tree: ast.Ast, declarations: Declarations, issues: Issues) -> Checked:
    """Check a tree; what is wrong with it is added to `issues`."""
    checker = _Checker(tree, declarations, issues)
    checker.check(tree.root)
    known = checker.known
    final = {i: unification.resolve(known, t, free_as_dyn=True) for i, t in checker.types.items()}
    return Checked(tree, final, checker.idents, checker.overloads, checker.functions)


def qualified_name(node: Expr) -> str | None:
    """a.b.c as one name, where a tree could be read so."""
    parts: list[str] = []
    while isinstance(node, ast.Select) and not node.test:
        parts.append(node.field)
        node = node.operand
    if not isinstance(node, ast.Ident):
        return None
    return ".".join([node.name, *reversed(parts)])


_MESSAGE_OF = {Kind.TIMESTAMP: "google.protobuf.Timestamp", Kind.DURATION: "google.protobuf.Duration"}


def _stands_for_message(t: Type) -> bool:
    """Whether a type that is no struct has a protobuf message, by whose name it can be built."""
    if t.kind in (Kind.ANY, Kind.TIMESTAMP, Kind.DURATION, Kind.DYN, Kind.NULL) or t.nullable:
        return True
    if t.kind is Kind.LIST:
        return t.params[0].kind is Kind.DYN
    return t.kind is Kind.MAP and t.params[0].kind is Kind.STRING and t.params[1].kind is Kind.DYN


def _signature(arguments: Sequence[Type], *, member: bool) -> str:
    texts = [t.formatted() for t in arguments]
    return f"{texts[0]}.({', '.join(texts[1:])})" if member else f"({', '.join(texts)})"


class _Checker(Struct):
    tree: ast.Ast
    declarations: Declarations
    issues: Issues
    known: unification.Substitution = field(default_factory=dict)
    types: dict[int, Type] = field(default_factory=dict)
    idents: dict[int, str] = field(default_factory=dict)
    overloads: dict[int, tuple[str, ...]] = field(default_factory=dict)
    functions: dict[int, str] = field(default_factory=dict)
    scopes: list[dict[str, Type]] = field(default_factory=list)
    free: int = 0

    # ------------------------------------------------------------ places and messages

    def location(self, node_id: int) -> Location:
        offset = self.tree.offsets.get(node_id)
        return NOWHERE if offset is None else self.tree.source.location(offset)

    def report(self, node_id: int, message: str) -> None:
        self.issues.add(self.location(node_id), message, node_id)

    def mismatch(self, node_id: int, expected: Type, actual: Type) -> None:
        self.report(node_id, f"expected type '{expected.formatted()}' but found '{actual.formatted()}'")

    def undeclared(self, node: Expr, name: str) -> None:
        self.report(node.id, f"undeclared reference to '{name}' (in container '')")
        self.types[node.id] = types.ERROR

    # ------------------------------------------------------------ names

    def lookup(self, name: str) -> tuple[str, Type] | None:
        """Full name and type of an identifier: a loop variable, a variable, or a type."""
        name = name.removeprefix(".")
        for scope in reversed(self.scopes):
            if name in scope:
                return name, scope[name]
        declared = self.declarations.variables.get(name)
        if declared is not None:
            return name, declared
        struct = self.declarations.provider.struct(name)
        return None if struct is None else (name, types.type_of_type(struct))

    def function(self, name: str) -> Function | None:
        return self.declarations.functions.get(name.removeprefix("."))

    # ------------------------------------------------------------ types

    def type(self, node: Expr) -> Type:
        return self.types[node.id]

    def resolved(self, t: Type) -> Type:
        return unification.resolve(self.known, t)

    def assignable(self, target: Type, value: Type) -> bool:
        found = unification.assign(self.known, target, value)
        if found is None:
            return False
        self.known = found
        return True

    def fresh(self) -> Type:
        self.free += 1
        return types.param(f"_var{self.free - 1}")

    # ------------------------------------------------------------ nodes

    def check(self, node: Expr) -> None:
        match node:
            case ast.Literal():
                self.types[node.id] = type_of(node.value)
            case ast.Ident():
                self._ident(node)
            case ast.Select():
                self._select(node)
            case ast.Call():
                self._call(node)
            case ast.ListExpr():
                self._list(node)
            case ast.MapExpr():
                self._map(node)
            case ast.StructExpr():
                self._struct(node)
            case ast.Comprehension():
                self._comprehension(node)

    def _ident(self, node: ast.Ident) -> None:
        found = self.lookup(node.name)
        if found is None:
            self.undeclared(node, node.name)
            return
        self.idents[node.id], self.types[node.id] = found

    def _select(self, node: ast.Select) -> None:
        name = qualified_name(node)
        found = self.lookup(name) if name is not None else None
        if found is not None:
            self.idents[node.id], self.types[node.id] = found
            return
        result = self._field(node, node.operand, node.field, optional=False)
        self.types[node.id] = self.resolved(types.BOOL if node.test else result)

    def _field(self, node: Expr, operand: Expr, name: str, *, optional: bool) -> Type:
        """The type of operand.name."""
        self.check(operand)
        target = self.resolved(self.type(operand))
        if target.name == "optional_type" and target.kind is Kind.OPAQUE:
            target, optional = target.params[0], True
        result = self._field_of(node, target, name)
        return types.optional_of(result) if optional else result

    def _field_of(self, node: Expr, target: Type, name: str) -> Type:
        if target.kind is Kind.MAP:
            return target.params[1]
        if target.kind is Kind.STRUCT:
            return self._struct_field(node.id, target.name, name) or types.ERROR
        if target.kind is Kind.TYPE_PARAM:
            self.assignable(types.DYN, target)
        elif not target.is_dyn and target.kind is not Kind.ERROR:
            self.report(node.id, f"type '{target.formatted()}' does not support field selection")
        return types.DYN

    def _struct_field(self, node_id: int, struct_name: str, name: str) -> Type | None:
        provider = self.declarations.provider
        if provider.struct(struct_name) is None:
            self.report(node_id, f"unexpected failed resolution of '{struct_name}'")
            return None
        found = provider.field(struct_name, name)
        if found is None:
            self.report(node_id, f"undefined field '{name}'")
        return found

    # ------------------------------------------------------------ calls

    def _call(self, node: ast.Call) -> None:
        if node.function == "_?._":
            self._optional_select(node)
            return
        for arg in node.args:
            self.check(arg)
        if node.target is None:
            self._resolve_named(node, node.function)
            return
        prefix = qualified_name(node.target)
        if prefix is not None and self.function(f"{prefix}.{node.function}") is not None:
            self.functions[node.id] = f"{prefix}.{node.function}".removeprefix(".")
            self._resolve_named(node, f"{prefix}.{node.function}")
            return
        self.check(node.target)
        function = self.function(node.function)
        if function is None:
            self.undeclared(node, node.function)
            return
        self._resolve(node, function, (node.target, *node.args), member=True)

    def _resolve_named(self, node: ast.Call, name: str) -> None:
        function = self.function(name)
        if function is None:
            self.undeclared(node, name)
            return
        self._resolve(node, function, node.args, member=False)

    def _optional_select(self, node: ast.Call) -> None:
        operand, name = node.args
        assert isinstance(name, ast.Literal)
        result = self._field(node, operand, str(name.value), optional=True)
        self.types[node.id] = self.resolved(result)
        self.overloads[node.id] = ("select_optional_field",)

    def _resolve(self, node: ast.Call, function: Function, arguments: Sequence[Expr], *, member: bool) -> None:
        if function.name in ("_&&_", "_||_"):
            self._logic(node, function, arguments)
            return
        given = [self.type(a) for a in arguments]
        fitting: list[str] = []
        result: Type | None = None
        for overload in function.overloads:
            if overload.member != member:
                continue
            wanted, gives = self._instantiate(overload.args, overload.result)
            found = unification.assign_all(self.known, given, wanted)
            if found is None:
                continue
            self.known = found
            fitting.append(overload.id)
            candidate = self.resolved(gives)
            if result is None:
                result = candidate
            elif not result.is_dyn and not candidate.same(result):
                result = types.DYN
        if result is None:
            shown = [unification.resolve(self.known, t, free_as_dyn=True) for t in given]
            signature = _signature(shown, member=member)
            self.report(node.id, f"found no matching overload for '{function.name}' applied to '{signature}'")
            self.types[node.id] = types.ERROR
            return
        self.types[node.id] = result
        self.overloads[node.id] = tuple(fitting)

    def _logic(self, node: ast.Call, function: Function, arguments: Sequence[Expr]) -> None:
        """&& and ||: each term must be a bool, and is complained of by itself."""
        good = True
        for argument in arguments:
            if not self.assignable(self.type(argument), types.BOOL):
                self.mismatch(argument.id, types.BOOL, self.type(argument))
                good = False
        self.types[node.id] = types.BOOL if good else types.ERROR
        if good:
            self.overloads[node.id] = (function.overloads[0].id,)

    def _instantiate(self, wanted: tuple[Type, ...], gives: Type) -> tuple[list[Type], Type]:
        """A signature with type variables of its own. NB: messages number them: those of the result come first."""
        names = unification.variables_in((gives, *wanted))
        if not names:
            return list(wanted), gives
        fresh = {name: self.fresh() for name in names}
        return [unification.resolve(fresh, t) for t in wanted], unification.resolve(fresh, gives)

    # ------------------------------------------------------------ literals

    def _join(self, previous: Type | None, current: Type) -> Type:
        if previous is None:
            return current
        # NB: mixed literals are dyn here; that Kubernetes refuses them is the validators' business.
        return unification.more_general(previous, current) if self.assignable(previous, current) else types.DYN

    def _unwrapped(self, node: Expr) -> Type:
        """The type inside an optional that `?` marks, which must be one."""
        t = self.type(node)
        if t.kind is Kind.OPAQUE and t.name == "optional_type":
            return t.params[0]
        if not t.is_dyn:
            self.mismatch(node.id, types.optional_of(t), t)
        return t

    def _list(self, node: ast.ListExpr) -> None:
        element: Type | None = None
        for i, e in enumerate(node.elements):
            self.check(e)
            element = self._join(element, self._unwrapped(e) if i in node.optional else self.type(e))
        self.types[node.id] = types.list_of(element if element is not None else self.fresh())

    def _map(self, node: ast.MapExpr) -> None:
        key: Type | None = None
        value: Type | None = None
        for entry in node.entries:
            self.check(entry.key)
            key = self._join(key, self.type(entry.key))
            self.check(entry.value)
            value = self._join(value, self._unwrapped(entry.value) if entry.optional else self.type(entry.value))
        if key is None or value is None:
            key, value = self.fresh(), self.fresh()
        self.types[node.id] = types.map_of(key, value)

    def _struct(self, node: ast.StructExpr) -> None:
        found = self.lookup(node.type_name)
        if found is None:
            self.undeclared(node, node.type_name)
            return
        name, declared = found
        self.idents[node.id] = name
        instance = self._struct_type(node, declared)
        self.types[node.id] = instance
        name = _MESSAGE_OF.get(instance.kind, instance.name if instance.kind is Kind.STRUCT else name)
        for f in node.fields:
            self.check(f.value)
            wanted = self._struct_field(f.id, name, f.name) or types.ERROR
            given = self._unwrapped(f.value) if f.optional else self.type(f.value)
            if not self.assignable(wanted, given):
                texts = f"'{wanted.formatted()}' but provided type is '{given.formatted()}'"
                self.report(f.id, f"expected type of field '{f.name}' is {texts}")

    def _struct_type(self, node: ast.StructExpr, declared: Type) -> Type:
        if declared.kind is not Kind.TYPE:
            self.report(node.id, f"'{declared.name}' is not a type")
            return types.ERROR
        instance = declared.params[0]
        if instance.kind is Kind.STRUCT or _stands_for_message(instance):
            return instance
        self.report(node.id, f"'{instance.name}' is not a message type")
        return types.ERROR

    # ------------------------------------------------------------ comprehensions

    def _comprehension(self, node: ast.Comprehension) -> None:
        self.check(node.iter_range)
        self.check(node.accu_init)
        over = self.resolved(self.type(node.iter_range))
        accumulated = self.type(node.accu_init)
        self.scopes.append({node.accu_var: accumulated})
        first, second = self._loop_variables(node, over)
        loop = {node.iter_var: first}
        if node.iter_var2:
            loop[node.iter_var2] = second
        self.scopes.append(loop)
        self.check(node.loop_condition)
        self._assert_type(node.loop_condition, types.BOOL)
        self.check(node.loop_step)
        self._assert_type(node.loop_step, accumulated)
        self.scopes.pop()
        self.check(node.result)
        self.scopes.pop()
        self.types[node.id] = self.resolved(self.type(node.result))

    def _loop_variables(self, node: ast.Comprehension, over: Type) -> tuple[Type, Type]:
        if over.kind is Kind.LIST:
            return (types.INT, over.params[0]) if node.iter_var2 else (over.params[0], types.DYN)
        if over.kind is Kind.MAP:
            return over.params[0], over.params[1]
        if over.kind in (Kind.DYN, Kind.ERROR, Kind.TYPE_PARAM):
            self.assignable(types.DYN, over)
            return types.DYN, types.DYN
        text = f"expression of type '{over.formatted()}' cannot be range of a comprehension (must be list, map, or dynamic)"
        self.report(node.iter_range.id, text)
        return types.ERROR, types.ERROR

    def _assert_type(self, node: Expr, wanted: Type) -> None:
        if not self.assignable(wanted, self.type(node)):
            self.mismatch(node.id, wanted, self.type(node))
