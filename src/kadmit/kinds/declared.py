"""What the CEL rules of a schema may know of `self`: types, and bounds of sizes for estimating what a rule may cost.

Properties without a type that CEL knows (preserved unknown fields) are not declared: rules cannot name them. Names that are no
CEL identifiers are escaped: `a-b` is `a__dash__b`, `namespace` is `__namespace__`.
"""

import re
from collections.abc import Mapping
from typing import Any, TypeAlias

from msgspec import Struct, field

from kadmit.cel import types
from kadmit.cel.types import Type

Json: TypeAlias = Any
Schema: TypeAlias = Mapping[str, Json]

LARGEST_REQUEST = 3 * 1024 * 1024
_RESERVED = frozenset(
    [
        "true",
        "false",
        "null",
        "in",
        "as",
        "break",
        "const",
        "continue",
        "else",
        "for",
        "function",
        "if",
        "import",
        "let",
        "loop",
        "package",
        "namespace",
        "return",
        "var",
        "void",
        "while",
    ]
)
_ESCAPES = {"__": "__underscores__", ".": "__dot__", "-": "__dash__", "/": "__slash__"}
_ESCAPED = re.compile("__|[./-]")
_NAME = re.compile("[A-Za-z_][A-Za-z0-9_./-]*+")
_TEXT: Schema = {"type": "string"}
_IDENTITY: Mapping[str, Schema] = {
    "kind": _TEXT,
    "apiVersion": _TEXT,
    "metadata": {"type": "object", "properties": {"name": _TEXT, "generateName": _TEXT}},
}
# type, smallest size as JSON, most characters
_FORMATS: Mapping[str, tuple[Type, int, int]] = {
    "duration": (types.DURATION, 3, 32),
    "date": (types.TIMESTAMP, 12, 12),
    "date-time": (types.TIMESTAMP, 21, 32),
}
_SCALARS: Mapping[str, tuple[Type, int]] = {"boolean": (types.BOOL, 4), "number": (types.DOUBLE, 1), "integer": (types.INT, 1)}


class Declared(Struct, frozen=True):
    """The type of a place in an object. `most`: items, entries or characters; `least`: its size in bytes as JSON."""

    type: Type
    least: int
    most: int = 0
    fields: Mapping[str, "Declared"] | None = None
    element: "Declared | None" = None
    structs: Mapping[str, Mapping[str, Type]] = field(default_factory=dict)  # all structs in it, by name


def escaped(name: str) -> str | None:
    """A property's name in CEL; None, if it cannot be written there."""
    if name in _RESERVED:
        return f"__{name}__"
    if _NAME.fullmatch(name) is None:
        return None
    return _ESCAPED.sub(lambda match: _ESCAPES[match[0]], name)


def with_identity(raw: Schema) -> Schema:
    """The schema of an object with what every object has; more of its metadata rules cannot see."""
    return {**raw, "properties": {**(raw.get("properties") or {}), **_IDENTITY}}


def declare(raw: Schema, *, name: str = "selfType", is_object: bool = False) -> Declared | None:
    """The type of what a schema describes, structs in it named after `name`. is_object: it is a resource, not a part of one."""
    if raw.get("x-kubernetes-int-or-string"):
        return Declared(types.DYN, 1, _characters(raw))
    if is_object:
        raw = with_identity(raw)
    kind = raw.get("type")
    if kind == "array":
        return _list(raw, name)
    if kind == "object":
        return _object(raw, name)
    if kind == "string":
        return _string(raw)
    known = _SCALARS.get(kind or "")
    return Declared(*known) if known else None


def _part(raw: Schema, name: str) -> Declared | None:
    return declare(raw, name=name, is_object=bool(raw.get("x-kubernetes-embedded-resource")))


def _list(raw: Schema, name: str) -> Declared | None:
    items = raw.get("items")
    element = _part(items, f"{name}.@idx") if isinstance(items, Mapping) else None
    if element is None:
        return None
    limit = raw.get("maxItems")
    most = (LARGEST_REQUEST - 2) // (element.least + 1) if limit is None else max(limit, 0)
    return Declared(types.list_of(element.type), 2, most, element=element, structs=element.structs)


def _object(raw: Schema, name: str) -> Declared | None:
    more = raw.get("additionalProperties")
    if isinstance(more, Mapping):
        return _map(raw, more, name)
    required = set(raw.get("required") or ())
    declared: dict[str, Declared] = {}
    structs: dict[str, Mapping[str, Type]] = {}
    least = 2
    for key, part in (raw.get("properties") or {}).items():
        called = escaped(key)
        found = _part(part, f"{name}.{called}")
        if found is None:
            continue
        if called is not None:
            declared[called] = found
            structs.update(found.structs)
        if key in required and part.get("default") is None:
            least += len(key.encode()) + found.least + 4
    structs[name] = {key: part.type for key, part in declared.items()}
    return Declared(types.struct(name), least, fields=declared, structs=structs)


def _map(raw: Schema, more: Schema, name: str) -> Declared | None:
    element = _part(more, f"{name}.@elem")
    if element is None:
        return None
    limit = raw.get("maxProperties")
    most = (LARGEST_REQUEST - 2) // (element.least + 6) if limit is None else max(limit, 0)
    return Declared(types.map_of(types.STRING, element.type), 2, most, element=element, structs=element.structs)


def _string(raw: Schema) -> Declared:
    form = raw.get("format")
    if isinstance(form, str) and form in _FORMATS:
        return Declared(*_FORMATS[form])
    if form == "byte":
        limit = raw.get("maxLength")
        return Declared(types.BYTES, 2, LARGEST_REQUEST - 2 if limit is None else max(limit, 0))
    allowed = raw.get("enum") or ()
    if raw.get("maxLength") is None and allowed:
        return Declared(types.STRING, 2, max((len(one.encode()) for one in allowed if isinstance(one, str)), default=0))
    return Declared(types.STRING, 2, _characters(raw))


def _characters(raw: Schema) -> int:
    """NB: a limit counts characters, of which each may take four bytes."""
    limit = raw.get("maxLength")
    return LARGEST_REQUEST - 2 if limit is None else max(limit, 0) * 4
