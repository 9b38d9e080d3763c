"""What an object of a kind may hold: types, required fields, enums, list types and keys, defaults.

Schemas of built-in kinds come from the packaged table, those of custom kinds from their CustomResourceDefinition; both are
the same nodes. A named schema is made once and its fields when they are first looked at, so schemas may refer to themselves.

Built-in kinds also carry what their Go structs say: whether a field is a pointer, whether it is written when empty, what its
type is called in decoding errors. OpenAPI does not tell these, and no custom kind needs them.
"""

import enum
import functools
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeAlias

from kadmit.kinds import table
from kadmit.kinds.catalog import Gvk

Json: TypeAlias = Any
Resolver: TypeAlias = "Callable[[str], Schema]"


class Node(enum.Enum):
    """What kind of value stands here."""

    OBJECT = "object"  # named fields
    MAP = "map"  # any keys, values of one schema
    ARRAY = "array"
    STRING = "string"
    BYTES = "bytes"  # base64 text
    INTEGER = "integer"
    NUMBER = "number"
    BOOLEAN = "boolean"
    INT_OR_STRING = "int-or-string"
    QUANTITY = "quantity"
    TIME = "time"
    MICRO_TIME = "micro-time"
    RAW = "raw"  # an embedded object, kept as it was sent
    ANY = "any"

    __hash__ = object.__hash__


# Definitions whose Go types read and write themselves.
_OWN_RULES = {
    "apimachinery.pkg.api.resource.Quantity": Node.QUANTITY,
    "apimachinery.pkg.util.intstr.IntOrString": Node.INT_OR_STRING,
    "apimachinery.pkg.apis.meta.v1.Time": Node.TIME,
    "apimachinery.pkg.apis.meta.v1.MicroTime": Node.MICRO_TIME,
    "apimachinery.pkg.apis.meta.v1.FieldsV1": Node.RAW,
    "apimachinery.pkg.runtime.RawExtension": Node.RAW,
}
_SCALARS = {"string": Node.STRING, "integer": Node.INTEGER, "number": Node.NUMBER, "boolean": Node.BOOLEAN}

_MISSING: Json = object()


class Field:
    """A named place in an object."""

    __slots__ = ("_raw", "_resolver", "_schema", "name", "required")

    def __init__(self, name: str, raw: Mapping[str, Json], resolver: Resolver, *, required: bool) -> None:
        self.name = name
        self.required = required
        self._raw = raw
        self._resolver = resolver
        self._schema: Schema | None = None

    @property
    def schema(self) -> "Schema":
        if self._schema is None:
            self._schema = node(self._raw, self._resolver)
        return self._schema

    @property
    def has_default(self) -> bool:
        return "default" in self._raw

    @property
    def default(self) -> Json:
        return self._raw.get("default")

    @property
    def pointer(self) -> bool:
        """In Go a pointer: an empty value that was given is kept."""
        return "p" in self._raw.get("x-go", "")

    @property
    def always_written(self) -> bool:
        """Written even when empty: as null for pointers, lists and maps, else as Go's zero value."""
        return "w" in self._raw.get("x-go", "")

    @property
    def embedded_in(self) -> str:
        """The Go struct (or path of structs) inside which the field is declared; decoding errors name it."""
        within: str = self._raw.get("x-go-in", "")
        return within

    @property
    def go_type(self) -> str:
        return self._raw.get("x-go-type") or self.schema.go_type

    @property
    def patch_strategy(self) -> tuple[str, ...]:
        strategy: str = self._raw.get("x-kubernetes-patch-strategy", "")
        return tuple(strategy.split(",")) if strategy else ()

    @property
    def patch_merge_key(self) -> str:
        key: str = self._raw.get("x-kubernetes-patch-merge-key", "")
        return key

    @property
    def map_type(self) -> str:
        """atomic or granular; a reference may say otherwise than the schema that it refers to."""
        return self._raw.get("x-kubernetes-map-type") or self.schema.map_type

    def __repr__(self) -> str:
        return f"Field({self.name!r})"


class Schema:
    """One node. Its parts are made when they are first asked for."""

    __slots__ = ("_additional", "_fields", "_items", "_raw", "_resolver", "kind", "name")

    def __init__(self, kind: Node, raw: Mapping[str, Json], resolver: Resolver, *, name: str = "") -> None:
        self.kind = kind
        self.name = name
        self._raw = raw
        self._resolver = resolver
        self._fields: dict[str, Field] | None = None
        self._items: Schema | None = None
        self._additional: Schema | None = _MISSING

    @property
    def raw(self) -> Mapping[str, Json]:
        """The OpenAPI text that the node was made of."""
        return self._raw

    @property
    def fields(self) -> Mapping[str, Field]:
        if self._fields is None:
            required = frozenset(self._raw.get("required") or ())
            self._fields = {
                name: Field(name, raw, self._resolver, required=name in required)
                for name, raw in (self._raw.get("properties") or {}).items()
            }
        return self._fields

    @property
    def required(self) -> Sequence[str]:
        return tuple(self._raw.get("required") or ())

    @property
    def items(self) -> "Schema | None":
        """The schema of a list's items."""
        if self._items is None and isinstance(self._raw.get("items"), Mapping):
            self._items = node(self._raw["items"], self._resolver)
        return self._items

    @property
    def additional(self) -> "Schema | None":
        """The schema of a map's values; None where no other keys than the fields are known."""
        if self._additional is _MISSING:
            more = self._raw.get("additionalProperties")
            if isinstance(more, Mapping):
                self._additional = node(more, self._resolver)
            else:
                self._additional = node({}, self._resolver) if more is True else None
        return self._additional

    @property
    def format(self) -> str:
        text: str = self._raw.get("format") or ""
        return text

    @property
    def enum(self) -> Sequence[Json] | None:
        values: Sequence[Json] | None = self._raw.get("enum")
        return values

    @property
    def has_default(self) -> bool:
        return "default" in self._raw

    @property
    def default(self) -> Json:
        return self._raw.get("default")

    @property
    def nullable(self) -> bool:
        return bool(self._raw.get("nullable"))

    @property
    def list_type(self) -> str:
        """atomic, set or map; "" where the schema does not say, which is atomic to server-side apply."""
        text: str = self._raw.get("x-kubernetes-list-type") or ""
        return text

    @property
    def list_keys(self) -> tuple[str, ...]:
        return tuple(self._raw.get("x-kubernetes-list-map-keys") or ())

    @property
    def map_type(self) -> str:
        text: str = self._raw.get("x-kubernetes-map-type") or ""
        return text

    @property
    def preserve_unknown(self) -> bool:
        return bool(self._raw.get("x-kubernetes-preserve-unknown-fields"))

    @property
    def go_type(self) -> str:
        """What Go calls the type, as decoding errors print it."""
        return self._raw.get("x-go-type") or _go_type(self)

    def __repr__(self) -> str:
        return f"Schema({self.name or self.kind.value!r})"


def node(raw: Mapping[str, Json], resolver: Resolver) -> Schema:
    """The node that an OpenAPI schema describes."""
    target = raw.get("$ref")
    if target is not None:
        return resolver(target)
    return Schema(_kind(raw), raw, resolver)


def _kind(raw: Mapping[str, Json]) -> Node:
    kind = raw.get("type")
    if raw.get("x-kubernetes-int-or-string") or raw.get("format") == "int-or-string":
        return Node.INT_OR_STRING
    if kind == "object":
        if raw.get("properties") or not raw.get("additionalProperties"):
            return Node.OBJECT
        return Node.MAP
    if kind == "array":
        return Node.ARRAY
    if kind == "string" and raw.get("format") == "byte":
        return Node.BYTES
    return _SCALARS.get(kind or "", Node.ANY)


_GO_SCALARS = {
    Node.STRING: "string",
    Node.BYTES: "[]uint8",
    Node.NUMBER: "float64",
    Node.BOOLEAN: "bool",
    Node.ANY: "interface {}",
}


def _go_type(schema: Schema) -> str:
    if schema.name:
        package, _, name = schema.name.rpartition(".")
        return f"{package.rpartition('.')[2]}.{name}"
    if schema.kind is Node.ARRAY:
        return f"[]{schema.items.go_type if schema.items else 'interface {}'}"
    if schema.kind is Node.MAP:
        return f"map[string]{schema.additional.go_type if schema.additional else 'interface {}'}"
    if schema.kind is Node.INTEGER:
        return schema.format or "int64"
    return _GO_SCALARS.get(schema.kind, "map[string]interface {}")


@functools.cache
def definition(name: str) -> Schema:
    """The built-in schema of this name (without `io.k8s.`)."""
    raw = table.definition(name)
    return Schema(_OWN_RULES.get(name) or _kind(raw), raw, definition, name=name)


def for_kind(gvk: Gvk) -> Schema | None:
    """The schema of a built-in kind."""
    name = table.schema_names().get("/".join(gvk))
    return definition(name) if name is not None else None


def custom(raw: Mapping[str, Json]) -> Schema:
    """The schema that a CustomResourceDefinition gives."""
    return node(raw, _known)


def _known(name: str) -> Schema:
    """A built-in schema if there is one. NB: users may write any reference: validation refuses it, making nodes must not fail."""
    return definition(name) if name in table.definition_names() else Schema(Node.ANY, {}, _known)
