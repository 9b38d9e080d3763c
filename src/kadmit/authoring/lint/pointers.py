"""Paths of JSON patches, as far as an expression gives them away: constants, and holes where something is only known later.

"/spec/containers/" + string(i) + "/args" is /spec/containers/<one part>/args. What may be several parts ends the pointer.
"""

import re
from collections.abc import Sequence

from msgspec import Struct

from kadmit.authoring.lint.facts import Frame
from kadmit.authoring.lint.paths import ANY, Item, Path
from kadmit.cel import ast
from kadmit.cel.ast import Expr
from kadmit.kinds.schema import Node, Schema

HOLE = "\0"  # one part, or a piece of it
REST = "\1"  # nobody knows what, nor how many parts
END = "-"  # behind the last item of a list

_LONGEST = 2000
_FORMAT = re.compile(r"%(?:\.[0-9]{1,3})?[a-zA-Z]")
_INDEX = re.compile(r"-?[0-9]{1,9}")


class Pointer(Struct, frozen=True):
    """The parts of a path. `open`: there may be more behind them. `text`: how it is shown."""

    parts: tuple[str, ...]
    open: bool
    text: str

    def path(self, schema: Schema) -> Path:
        """As a path into the object."""
        made: list[str | Item] = ["object"]
        at: Schema | None = schema
        for part in self.parts:
            in_list = at is not None and at.kind is Node.ARRAY
            made.append(Item(part if part.isdecimal() else ANY) if in_list else part)
            at = below(at, part) if at is not None else None
        return tuple(made)


def of(node: Expr, frame: Frame) -> Pointer | None:
    """The pointer that a text gives; None if it is no pointer or if nothing is known of it."""
    template = _template(node, frame)
    if not template.startswith("/"):
        return None
    known, rest, _ = template.partition(REST)
    parts = known[1:].split("/")
    if rest:
        parts = parts[:-1]  # the last part may go on
    shown = "/" + "/".join(part.replace(HOLE, "…") for part in parts)
    return Pointer(tuple(map(_unescaped, parts)), bool(rest), shown)


def constant(node: Expr, frame: Frame) -> str | None:
    """A text that is known in full."""
    template = _template(node, frame)
    return None if HOLE in template or REST in template else template


def _unescaped(part: str) -> str:
    return HOLE if HOLE in part else part.replace("~1", "/").replace("~0", "~")


def escaped(part: str) -> str:
    return part.replace("~", "~0").replace("/", "~1")


def _template(node: Expr, frame: Frame) -> str:
    node = frame.written(node)
    variable = frame.variable(node)
    if variable is not None:
        text = variable.remembered("template", lambda: _template(variable.expression.root, variable))
        return text if len(text) < _LONGEST else REST
    match node:
        case ast.Literal(value=str() as text):
            return text
        case ast.Call(function="_+_", args=(a, b)):
            return _template(a, frame) + _template(b, frame)
        case ast.Call(function="string", args=(_,)):
            return HOLE
        case ast.Call(function="escapeKey" | "jsonpatch.escapeKey", args=(key,)):
            known = _template(key, frame)
            return HOLE if HOLE in known or REST in known else escaped(known)
        case ast.Call(function="format", target=ast.Literal(value=str() as text)):
            return _FORMAT.sub(HOLE, text)
    return REST


# ---------------------------------------------------------------- against a schema


class Wrong(Struct, frozen=True):
    """Why a pointer leads nowhere: the number of the part, what it is, and what could stand there."""

    position: int
    reason: str
    choices: Sequence[str] = ()
    unescaped: str = ""  # the key that was meant, where a slash in it was not escaped


def below(schema: Schema, part: str) -> Schema | None:
    match schema.kind:
        case Node.OBJECT:
            field = schema.fields.get(part)
            return field.schema if field is not None else schema.additional
        case Node.MAP:
            return schema.additional
        case Node.ARRAY:
            return schema.items
    return None


def is_open(schema: Schema) -> bool:
    """Whether there may be fields that the schema does not name."""
    return schema.preserve_unknown or bool(schema.raw.get("x-kubernetes-embedded-resource"))


def wrong(pointer: Pointer, schema: Schema, op: str) -> Wrong | None:
    """What is wrong with a pointer into objects of the schema."""
    at: Schema | None = schema
    last = len(pointer.parts) - 1
    map_at: int | None = None
    for i, part in enumerate(pointer.parts):
        if at is None or at.kind in (Node.ANY, Node.RAW) or is_open(at):
            return None
        if at.kind is Node.ARRAY:
            problem = _bad_index(part, op, is_last=i == last and not pointer.open)
            if problem:
                return Wrong(i, problem)
        elif at.kind is Node.OBJECT:
            if part == HOLE or (not at.fields and at.additional is None):
                return None
            if part not in at.fields and at.additional is None:
                return Wrong(i, f"there is no field {part!r}", tuple(at.fields))
        elif at.kind is Node.MAP:
            map_at = i
        else:
            before = pointer.parts[i - 1]
            if map_at is not None and HOLE not in pointer.parts[map_at:]:
                return Wrong(i, f"{before!r} is a {at.kind.value}", unescaped="/".join(pointer.parts[map_at:]))
            return Wrong(i, f"{before!r} is a {at.kind.value} and has no parts")
        at = below(at, part)
    return None


def _bad_index(part: str, op: str, *, is_last: bool) -> str:
    if part == HOLE or _INDEX.fullmatch(part):
        return ""
    if part == END:
        return "" if op == "add" and is_last else "'-' stands behind the last item, where nothing is"
    return f"items of a list have numbers, {part!r} is none"


def target(pointer: Pointer, schema: Schema) -> Schema | None:
    """The schema of what a pointer leads to, if it is known in full."""
    at: Schema | None = schema
    for part in pointer.parts:
        at = below(at, part) if at is not None else None
    return None if pointer.open else at
