"""Where the values of a mutation go: each field of `Object{…}`, and each part of a patch's value, beside the schema of its place.

Values are followed through lists, maps, branches, sums and loops; of anything else the type is known, at most.
"""

import re
from collections.abc import Iterator, Sequence

from msgspec import Struct, field

from kadmit.api.meta import GroupVersionKind
from kadmit.authoring.lint import facts, pointers
from kadmit.authoring.lint.project import Expression, Policy, Role
from kadmit.authoring.lint.reading import Patch
from kadmit.cel import ast, room, types
from kadmit.cel.ast import Expr
from kadmit.cel.checker import Checked
from kadmit.cel.source import CompileError
from kadmit.cel.types import Type
from kadmit.kinds import schema as schemas
from kadmit.kinds.schema import Node, Schema
from kadmit.patch.shapes import Atomic, Deduced, ListShape, MapShape, Shape
from kadmit.patch.typed import resolved

_ITEM = re.compile(r"\.(?:[*-]|\0|[0-9]+)(?=\.|$)")

Anchor = Expr | ast.StructField | ast.MapEntry


class Placed(Struct, frozen=True):
    """A value and its place. `schema` is None where the place does not exist; `shape` where nothing is merged."""

    expression: Expression
    kind: GroupVersionKind
    anchor: Anchor  # what to point at
    node: Expr  # the value, as it was written
    type: Type
    path: tuple[str, ...]  # fields and keys; * for an item of a list
    schema: Schema | None
    shape: Shape | None = None
    siblings: Sequence[str] = ()  # fields that do exist, where this one does not
    around: "tuple[Placed, ...]" = field(default=())  # the values that this one is a part of, outermost first
    free: bool = False  # under a key of a map that may have any

    @property
    def text(self) -> str:
        return _ITEM.sub("[*]", ".".join(self.path))

    @property
    def is_atomic(self) -> bool:
        """Whether a value here would replace the whole."""
        shape = None if self.shape is None else resolved(self.shape)
        if isinstance(shape, ListShape):
            return not shape.associative
        if isinstance(shape, Deduced):
            return self.type.kind is types.Kind.LIST
        return isinstance(shape, Atomic) or (isinstance(shape, MapShape) and shape.atomic)


class _Walk(Struct):
    policy: Policy
    expression: Expression
    kind: GroupVersionKind
    checked: Checked
    frame: facts.Frame

    def values(self, node: Expr, place: Placed) -> Iterator[Placed]:
        """What stands in a value that is placed."""
        node = self.frame.written(node)
        match node:
            case ast.StructExpr():
                for part in node.fields:
                    value = _of_optional(part.value, self.frame) if part.optional else part.value
                    yield from self._placed(part, value, part.name, place)
            case ast.MapExpr():
                for entry in node.entries:
                    if isinstance(entry.key, ast.Literal) and isinstance(entry.key.value, str):
                        yield from self._placed(entry, entry.value, entry.key.value, place)
            case ast.ListExpr():
                for element in node.elements:
                    yield from self._item(element, place)
            case ast.Call(function="_?_:_", args=(_, a, b)) | ast.Call(function="_+_", args=(a, b)):
                yield from self.values(a, place)
                yield from self.values(b, place)
            case ast.Call(function="map" | "transformList"):
                loop = facts.loop_of(node)
                if loop is not None:
                    yield from self._item(loop.body, place)

    def _placed(self, anchor: Anchor, value: Expr, name: str, place: Placed) -> Iterator[Placed]:
        schema, shape, free = _child(place, name)
        known = place.schema is None or schema is not None
        written = self.frame.written(value)
        made = Placed(
            self.expression,
            self.kind,
            anchor,
            written,
            self._type(written),
            (*place.path, name),
            schema,
            shape,
            () if known or place.schema is None else tuple(place.schema.fields),
            (*place.around, place),
            free,
        )
        yield made
        if schema is not None:
            yield from self.values(value, made)

    def _item(self, element: Expr, place: Placed) -> Iterator[Placed]:
        if place.schema is None or place.schema.kind is not Node.ARRAY or place.schema.items is None:
            return
        shape = None if place.shape is None else resolved(place.shape)
        inner = shape.element if isinstance(shape, ListShape) else None
        written = self.frame.written(element)
        path, around = (*place.path, "*"), (*place.around, place)
        made = Placed(
            self.expression,
            self.kind,
            written,
            written,
            self._type(written),
            path,
            place.schema.items,
            inner,
            around=around,
            free=place.free,
        )
        yield made
        yield from self.values(element, made)

    def _type(self, node: Expr) -> Type:
        return self.checked.types.get(node.id, types.DYN)


def _of_optional(node: Expr, frame: facts.Frame) -> Expr:
    """x of optional.of(x)."""
    written = frame.written(node)
    if isinstance(written, ast.Call) and written.function in ("of", "ofNonZeroValue") and written.args:
        return written.args[0]
    return node


def _child(place: Placed, name: str) -> tuple[Schema | None, Shape | None, bool]:
    schema, shape = place.schema, None if place.shape is None else resolved(place.shape)
    if schema is None:
        return None, None, place.free
    inner: Shape | None = None
    free = place.free
    if isinstance(shape, MapShape):
        inner = shape.fields.get(name)
        if inner is None:
            inner, free = shape.element, True
    below = pointers.below(schema, name) if schema.kind in (Node.OBJECT, Node.MAP) else _ANY
    if below is None and (pointers.is_open(schema) or not schema.fields):
        below = _ANY
    return below, inner, free


_ANY = Schema(Node.ANY, {}, schemas.definition)


def of_object(policy: Policy, expression: Expression, kind: GroupVersionKind) -> list[Placed]:
    """The values of an apply configuration, for objects of one kind."""
    schema, shape = policy.project.schema_of(kind), policy.project.known.shape(kind)
    walk = _walk(policy, expression, kind)
    if schema is None or shape is None or walk is None or expression.role is not Role.APPLY:
        return []
    root = Placed(expression, kind, expression.root, expression.root, types.DYN, (), schema, shape)
    return room.for_depth(lambda: list(walk.values(expression.root, root)))


def of_patch(policy: Policy, patch: Patch, kind: GroupVersionKind) -> list[Placed]:
    """The value of a patch operation and its parts, for objects of one kind."""
    path, value, schema = patch.value("path"), patch.value("value"), policy.project.schema_of(kind)
    walk = _walk(policy, patch.expression, kind)
    if path is None or value is None or schema is None or walk is None:
        return []
    pointer = pointers.of(path, patch.frame)
    target = pointers.target(pointer, schema) if pointer is not None else None
    if pointer is None or target is None:
        return []
    written = patch.frame.written(value)
    root = Placed(patch.expression, kind, written, written, walk.checked.types.get(written.id, types.DYN), pointer.parts, target)
    return [root, *room.for_depth(lambda: list(walk.values(value, root)))]


def _walk(policy: Policy, expression: Expression, kind: GroupVersionKind) -> _Walk | None:
    checked = policy.checked(expression, kind)
    if checked is None or isinstance(checked, CompileError):
        checked = expression.checked  # what does not fit is told elsewhere
    # NB: the same text gives the same ids, so types that were found with a schema belong to these nodes.
    return _Walk(policy, expression, kind, checked, facts.Frame(expression, policy.variables))


def all_of(policy: Policy) -> Iterator[Placed]:
    """The values of all mutations, for each kind."""
    for kind in policy.kinds:
        for expression in policy.mutations:
            yield from of_object(policy, expression, kind)
        for patch in policy.reading.patches:
            yield from of_patch(policy, patch, kind)


_APART = re.compile(r"\bhas\s*\(|\.\?|\bobject\.kind\b|\b[kK]ind\.kind\b|\.resource\b|\bapiVersion\b")


def tells_kinds_apart(policy: Policy, expression: Expression) -> bool:
    """Whether an expression may do different things for different kinds: then what does not fit one of them may never meet it."""
    listed = [expression.text, *(e.text for e in (*policy.conditions, *policy.variables.values()))]
    return any(_APART.search(text) for text in listed)
