"""Decoding into Go structs, the long way: who is wrong, where, and in Go's words.

This is the exact reading of a body: every unknown field and duplicate by path, the first type error with the struct, field
and type that Go names, Go's way with members given twice (structs and maps are merged, all else is replaced). It gives a clean
value: known fields, right types. `roundtrip` makes of it what the server holds.

NB: Go goes on after a type error and tells the first one at the end, but a value that reads itself (time, quantity,
int-or-string, a schema in a schema) ends everything with its own error.
"""

import base64
import json
from typing import Any, TypeAlias

from kadmit.cel import quantities
from kadmit.kinds import base64text, fulltext, schema, times
from kadmit.kinds.fulltext import Members, Numeral, Problem, Problems
from kadmit.kinds.schema import Field, Node, Schema

Json: TypeAlias = Any

_RANGES = {"int32": (-(2**31), 2**31 - 1)}
_INT64 = (-(2**63), 2**63 - 1)
_NILABLE = frozenset({Node.ARRAY, Node.MAP, Node.BYTES})
_SCHEMA_PROPS = "apiextensions-apiserver.pkg.apis.apiextensions.v1.JSONSchemaProps"
_LAYOUTS = {Node.TIME: times.SECONDS, Node.MICRO_TIME: times.MICROSECONDS}


class DecodeError(ValueError):
    """The body does not fit its kind; the message is Kubernetes'."""


class _Mismatch(Exception):
    """A value of another type than the field has. `value` is what the message calls the value."""

    def __init__(self, value: str, go_type: str, struct: str, fields: tuple[str, ...]) -> None:
        super().__init__()
        self.value = value
        self.go_type = go_type
        self.struct = struct
        self.fields = fields

    def message(self) -> str:
        where = f"Go struct field {self.struct}.{'.'.join(self.fields)}" if self.struct or self.fields else "Go value"
        return f"json: cannot unmarshal {self.value} into {where} of type {self.go_type}"


def read(node: Schema, value: Json) -> tuple[Json, list[Problem]]:
    """The clean value, and its unknown and duplicate fields. Raises DecodeError."""
    reader = _Reader()
    try:
        clean = reader.value(node, node.go_type, value, None)
    except _Mismatch as mismatch:
        raise DecodeError(mismatch.message()) from None
    except RecursionError:
        raise DecodeError(fulltext.TOO_DEEP) from None
    if reader.saved is not None:
        raise DecodeError(reader.saved if isinstance(reader.saved, str) else reader.saved.message())
    return clean, reader.problems.found


class _Reader:
    """One reading. Remembers where it is, once for strict problems (with keys and indexes) and once for type errors."""

    def __init__(self) -> None:
        self.problems = Problems()
        self.saved: _Mismatch | str | None = None
        self._path = ""
        self._struct = ""
        self._fields: tuple[str, ...] = ()

    def value(self, node: Schema, go_type: str, given: Json, into: Json) -> Json:
        """The clean value. `into`: what an earlier member of the same name left here."""
        kind = node.kind
        if node.name.startswith(_SCHEMA_PROPS) and node.name != _SCHEMA_PROPS:
            return self._schema_or_else(node.name.removeprefix(_SCHEMA_PROPS), given)
        if given is None:
            return into
        if kind is Node.RAW or kind is Node.ANY:
            return fulltext.plain(given)
        if kind is Node.OBJECT:
            return self._struct_of(node, go_type, given, into)
        if kind is Node.MAP:
            return self._map(node, go_type, given, into)
        if kind is Node.ARRAY:
            return self._list(node, go_type, given, into)
        return self._scalar(node, go_type, given, into)

    # --- Objects and lists

    def _struct_of(self, node: Schema, go_type: str, given: Json, into: Json) -> Json:
        pairs = fulltext.pairs(given)
        if pairs is None:
            return self._save(given, go_type, into)
        made: dict[str, Json] = dict(into) if into else {}
        seen: set[str] = set()
        here = self._path, self._struct, self._fields
        for name, member in pairs:
            field = node.fields.get(name)
            if field is None:
                self.problems.add("unknown", self._under(name))
                continue
            if name in seen:
                self.problems.add("duplicate", self._under(name))
            seen.add(name)
            self._enter(field, go_type)
            made[name] = self._field(field, member, made.get(name))
            self._path, self._struct, self._fields = here
        return made

    def _enter(self, field: Field, go_type: str) -> None:
        self._path = self._under(field.name)
        self._struct = go_type.rpartition(".")[2]
        within = tuple(field.embedded_in.split(".")) if field.embedded_in else ()
        self._fields = (*self._fields, *within, field.name)

    def _field(self, field: Field, given: Json, into: Json) -> Json:
        node = field.schema
        if given is None and (field.pointer or node.kind in _NILABLE):
            return None
        return self.value(node, field.go_type, given, into)

    def _map(self, node: Schema, go_type: str, given: Json, into: Json) -> Json:
        pairs = fulltext.pairs(given)
        if pairs is None:
            return self._save(given, go_type, into)
        assert node.additional is not None
        element = _element(go_type, node.additional)
        made: dict[str, Json] = dict(into) if into else {}
        seen: set[str] = set()
        here = self._path
        for key, member in pairs:
            if key in seen:
                self.problems.add("duplicate", self._under(key))
            seen.add(key)
            self._path = self._under(key)
            made[fulltext.clean_text(key)] = self.value(node.additional, element, member, None)
            self._path = here
        return made

    def _list(self, node: Schema, go_type: str, given: Json, into: Json) -> Json:
        if not isinstance(given, list):
            return self._save(given, go_type, into)
        assert node.items is not None
        element = _element(go_type, node.items)
        before = into or ()
        made = []
        here = self._path
        for index, item in enumerate(given):
            self._path = f"{here}[{index}]"
            made.append(self.value(node.items, element, item, before[index] if index < len(before) else None))
            self._path = here
        return made

    # --- Scalars

    def _scalar(self, node: Schema, go_type: str, given: Json, into: Json) -> Json:
        kind = node.kind
        if kind is Node.STRING:
            return fulltext.clean_text(given) if isinstance(given, str) else self._save(given, go_type, into)
        if kind is Node.BOOLEAN:
            return given if isinstance(given, bool) else self._save(given, go_type, into)
        if kind is Node.INTEGER:
            return self._integer(given, go_type, into, _RANGES.get(node.format, _INT64))
        if kind is Node.NUMBER:
            return self._float(given, go_type, into)
        if kind is Node.BYTES:
            return self._bytes(given, go_type, into)
        return self._own_rules(kind, given)

    def _integer(self, given: Json, go_type: str, into: Json, bounds: tuple[int, int]) -> Json:
        text = _number_text(given)
        if text is None:
            return self._save(given, go_type, into)
        whole = _whole(text, bounds)
        return self._save(given, go_type, into, text=text) if whole is None else whole

    def _float(self, given: Json, go_type: str, into: Json) -> Json:
        text = _number_text(given)
        if text is None:
            return self._save(given, go_type, into)
        found = fulltext.number(text)
        return self._save(given, go_type, into, text=text) if found in (float("inf"), float("-inf")) else found

    def _bytes(self, given: Json, go_type: str, into: Json) -> Json:
        if isinstance(given, list):
            return self._byte_list(given)
        if not isinstance(given, str):
            return self._save(given, go_type, into)
        try:
            return base64text.canonical(given)
        except base64text.Base64Error as error:
            self.saved = self.saved or str(error)
            return into

    def _byte_list(self, given: list[Json]) -> Json:
        """Go also takes bytes as a list of numbers."""
        made = bytearray()
        for item in given:
            made.append(self._integer(item, "uint8", 0, (0, 255)) if item is not None else 0)
        return base64.b64encode(made).decode()

    def _own_rules(self, kind: Node, given: Json) -> Json:
        """Values that read themselves."""
        if kind is Node.QUANTITY:
            return _quantity(given)
        if kind is Node.INT_OR_STRING:
            return self._int_or_string(given)
        if not isinstance(given, str):
            raise self._mismatch(given, "string")
        try:
            times.canonical(fulltext.clean_text(given), _LAYOUTS[kind])
        except times.TimeError as error:
            raise DecodeError(str(error)) from None
        return given  # NB: not yet canonical, which is null for the zero time, and null is no time at all

    def _int_or_string(self, given: Json) -> Json:
        if isinstance(given, str):
            return fulltext.clean_text(given)
        text = _number_text(given)
        whole = _whole(text, _RANGES["int32"]) if text is not None else None
        if whole is None:
            raise self._mismatch(given, "int32", text=text)
        return whole

    def _schema_or_else(self, which: str, given: Json) -> Json:
        """A schema, or what may stand in its place. NB: what it does not know is dropped without a word."""
        if isinstance(given, Members | dict):
            return self._apart(schema.definition(_SCHEMA_PROPS), given)
        if which == "OrBool":
            if not isinstance(given, bool):
                raise DecodeError("boolean or JSON schema expected")
            return given
        if not isinstance(given, list):
            return None
        item = {"type": "string"} if which == "OrStringArray" else {"$ref": _SCHEMA_PROPS}
        return self._apart(schema.node({"type": "array", "items": item}, schema.definition), given)

    def _apart(self, node: Schema, given: Json) -> Json:
        """Read by a reader of its own, whose first error ends this reading too."""
        inner = _Reader()
        try:
            clean = inner.value(node, node.go_type, given, None)
            if isinstance(inner.saved, _Mismatch):
                raise inner.saved
        except _Mismatch as found:
            raise _Mismatch(found.value, found.go_type, self._struct, (*self._fields, *found.fields)) from None
        return clean

    # --- Where and what

    def _under(self, name: str) -> str:
        return f"{self._path}.{name}" if self._path else name

    def _save(self, given: Json, go_type: str, into: Json, *, text: str | None = None) -> Json:
        if self.saved is None:
            self.saved = self._mismatch(given, go_type, text=text)
        return into

    def _mismatch(self, given: Json, go_type: str, *, text: str | None = None) -> _Mismatch:
        return _Mismatch(f"number {text}" if text is not None else called(given), go_type, self._struct, self._fields)


def _element(go_type: str, node: Schema) -> str:
    """The type of an item of a list, or a value of a map, as its Go type spells it."""
    if go_type.startswith("[]"):
        return go_type[2:]
    if go_type.startswith("map["):
        return go_type.partition("]")[2]
    return node.go_type


def called(given: Json) -> str:
    """What Go's messages call a value."""
    if isinstance(given, bool):
        return "bool"
    if isinstance(given, str):
        return "string"
    if isinstance(given, list):
        return "array"
    return "object" if isinstance(given, Members | dict) else "number"


def _number_text(given: Json) -> str | None:
    if isinstance(given, Numeral):
        return given.text
    if isinstance(given, bool) or not isinstance(given, int | float):
        return None
    return str(given)


def _whole(text: str, bounds: tuple[int, int]) -> int | None:
    if any(mark in text for mark in ".eE") or len(text) > 20:
        return None
    low, high = bounds
    whole = int(text)
    return whole if low <= whole <= high else None


def _quantity(given: Json) -> str:
    text = _number_text(given)
    if text is None:
        text = given if isinstance(given, str) else json.dumps(fulltext.plain(given))
    found = quantities.parse(text.strip())
    if isinstance(found, str):
        raise DecodeError(found)
    return found.text()
