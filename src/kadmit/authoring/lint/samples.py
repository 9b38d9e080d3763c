"""Objects made up from a schema: as little as is required, something of everything, or much of everything.

They fit their schema's types, and need not be valid otherwise: rules are tried on them before any validation would be asked.
"""

from collections.abc import Mapping
from typing import Any

from msgspec import Struct

from kadmit.kinds.schema import Node, Schema

_DEEPEST = 12
_TEXTS = {
    "date-time": "2026-01-01T00:00:00Z",
    "date": "2026-01-01",
    "duration": "1h",
    "ipv4": "192.0.2.1",
    "uri": "https://a.example",
}
_TIME = "2026-01-01T00:00:00Z"
_SERVER_SET = frozenset({"managedFields", "ownerReferences", "finalizers", "deletionTimestamp", "selfLink"})


class Size(Struct, frozen=True):
    """How much of everything. `items`: of lists, by how many lists are around; `keys`: of maps; `letters`: of texts."""

    optional: bool = False
    items: tuple[int, ...] = (1,)
    keys: int = 1
    letters: int = 8
    text: str = ""  # what texts are made of
    names: frozenset[str] | None = None  # of optional fields that are wanted; None: all


LEAST = Size()
# What schemas do not require, and no object does without.
BARE = Size(optional=True, names=frozenset({"metadata", "spec", "template", "jobTemplate", "image"}))
SOME = Size(optional=True, items=(2, 1, 1))
LARGE = Size(optional=True, items=(50, 20, 10, 2), keys=30, letters=64)


def of(schema: Schema, size: Size = LEAST) -> Any:
    """A value of the schema."""
    return _Maker(size).value(schema, "", 0, 0, frozenset())


class _Maker:
    """One object in the making; `budget` ends what would grow without end."""

    def __init__(self, size: Size) -> None:
        self._size = size
        self._budget = 60_000
        self._count = 0

    def value(self, schema: Schema, name: str, depth: int, lists: int, within: frozenset[str]) -> Any:
        self._budget -= 1
        if schema.enum:
            return schema.enum[0]
        match schema.kind:
            case Node.OBJECT:
                return self._object(schema, depth, lists, within | ({schema.name} if schema.name else set()))
            case Node.MAP:
                return self._map(schema, depth, lists, within)
            case Node.ARRAY:
                return self._list(schema, name, depth, lists, within)
            case Node.STRING:
                return _TEXTS.get(schema.format) or self._text(schema)
            case Node.INTEGER | Node.NUMBER:
                return max(int(schema.raw.get("minimum") or 0), 1)
            case Node.BOOLEAN:
                return True
            case Node.INT_OR_STRING:
                return 1
            case Node.QUANTITY:
                return "1"
            case Node.BYTES:
                return "YQ=="
            case Node.TIME | Node.MICRO_TIME:
                return _TIME
        return {}

    def _object(self, schema: Schema, depth: int, lists: int, within: frozenset[str]) -> dict[str, Any]:
        made = {}
        for name, field in schema.fields.items():
            wanted = field.required or (self._size.optional and self._is_wanted(name))
            if not wanted or field.schema.name in within or depth > _DEEPEST or self._budget < 0:
                continue
            made[name] = self.value(field.schema, name, depth + 1, lists, within)
        return made

    def _is_wanted(self, name: str) -> bool:
        names = self._size.names
        return name not in _SERVER_SET if names is None else name in names

    def _map(self, schema: Schema, depth: int, lists: int, within: frozenset[str]) -> dict[str, Any]:
        if schema.additional is None or depth > _DEEPEST:
            return {}
        if schema.additional.name in within:
            return {}
        return {f"key-{i}": self.value(schema.additional, "", depth + 1, lists, within) for i in range(self._size.keys)}

    def _list(self, schema: Schema, name: str, depth: int, lists: int, within: frozenset[str]) -> list[Any]:
        if schema.items is None or depth > _DEEPEST or schema.items.name in within:
            return []
        items = self._size.items
        count = items[min(lists, len(items) - 1)]
        most = schema.raw.get("maxItems")
        count = min(count, most) if isinstance(most, int) else count
        made = []
        for _ in range(count):
            if self._budget < 0:
                break
            self._count += 1
            made.append(self._keyed(self.value(schema.items, name, depth + 1, lists + 1, within), schema))
        return made

    def _keyed(self, item: Any, schema: Schema) -> Any:
        """Items of a list differ in their keys, or in what they are called."""
        if not isinstance(item, dict) or schema.items is None:
            return f"{item}-{self._count}" if isinstance(item, str) and schema.list_type == "set" else item
        merge_key = schema.raw.get("x-kubernetes-patch-merge-key")
        for key in schema.list_keys or ((merge_key,) if merge_key else ()) or ("name",):
            field = schema.items.fields.get(key)
            if field is not None and field.schema.kind is Node.STRING and not field.schema.enum and key in item:
                item[key] = f"{item[key]}-{self._count}"
            elif field is not None and field.schema.kind is Node.INTEGER and key in item:
                item[key] = self._count
        return item

    def _text(self, schema: Schema) -> str:
        least = schema.raw.get("minLength")
        length = max(self._size.letters, least if isinstance(least, int) else 0)
        most = schema.raw.get("maxLength")
        length = min(length, most) if isinstance(most, int) else length
        if self._size.text:
            return self._size.text[: most if isinstance(most, int) else None]
        return "a" * min(length, 4096)


def named(body: Mapping[str, Any], api_version: str, kind: str, namespace: str = "") -> dict[str, Any]:
    """An object with the identity that every object has."""
    metadata = {**(body.get("metadata") or {}), "name": "sample"}
    if namespace:
        metadata["namespace"] = namespace
    metadata.pop("generateName", None)
    return {**body, "apiVersion": api_version, "kind": kind, "metadata": metadata}
