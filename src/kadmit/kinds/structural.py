"""What a custom resource's schema does to its objects: unknown fields go, misplaced nulls go, defaults come.

A schema is compiled once into a Structure. Shaping an object never changes it: what needs no change is shared, the rest is
copied on the way. The rules:
- A field that no schema names is dropped and reported, unless its object preserves unknown fields.
- null where null is not allowed is as good as nothing: dropped, or replaced by the default.
- A default fills in what is missing from an object that is there, also inside lists, maps and other defaults.
- An embedded resource has kind, apiVersion and metadata without naming them, and its metadata is that of any object.
"""

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple, TypeAlias

from kadmit.api import fields
from kadmit.api.fields import Path
from kadmit.kinds import roundtrip, schema, structs
from kadmit.kinds.conformity import ordered
from kadmit.kinds.structs import DecodeError

Json: TypeAlias = Any

_META_FIELDS = frozenset({"apiVersion", "kind", "metadata"})
_OBJECT_META = "apimachinery.pkg.apis.meta.v1.ObjectMeta"


class At(NamedTuple):
    """Where in an object: a chain, made into text only when something is to be reported."""

    above: "At | None"
    step: str | int
    in_map: bool = False

    def path(self) -> str:
        """As strict decoding writes it: spec.map.key."""
        before = self.above.path() if self.above is not None else ""
        if isinstance(self.step, int):
            return f"{before}[{self.step}]"
        return f"{before}.{self.step}" if before else self.step

    def field_path(self) -> str:
        """As field errors write it: spec.map[key]."""
        before = self.above.field_path() if self.above is not None else ""
        if self.in_map or isinstance(self.step, int):
            return f"{before}[{self.step}]"
        return f"{before}.{self.step}" if before else self.step


class Shaped(NamedTuple):
    """An object as its schema wants it, and the paths of the fields that were dropped, in the order of Kubernetes."""

    object: dict[str, Json]
    unknown: tuple[str, ...]


class Dropped:
    """What was dropped on the way."""

    __slots__ = ("in_metadata", "unknown")

    def __init__(self) -> None:
        self.unknown: list[str] = []
        self.in_metadata: list[str] = []  # of embedded resources


class Structure:
    """One schema, compiled."""

    __slots__ = ("additional", "any_keys", "default", "defaulted", "embedded", "items", "nullable", "preserves", "properties")

    def __init__(self, raw: Mapping[str, Json], *, defaulting: bool = True) -> None:
        """`defaulting`: false for a schema that only prunes."""
        self.preserves = bool(raw.get("x-kubernetes-preserve-unknown-fields"))
        self.embedded = bool(raw.get("x-kubernetes-embedded-resource"))
        self.nullable = bool(raw.get("nullable"))
        parts = (raw.get("properties") or {}).items()
        self.properties = {name: Structure(part, defaulting=defaulting) for name, part in parts}
        more = raw.get("additionalProperties")
        self.any_keys = isinstance(more, bool)
        self.additional = Structure(more, defaulting=defaulting) if isinstance(more, Mapping) else None
        items = raw.get("items")
        self.items = Structure(items, defaulting=defaulting) if isinstance(items, Mapping) else None
        self.defaulted = tuple((name, part) for name, part in self.properties.items() if part.default is not None)
        self.default: Json = self._own_default(raw.get("default")) if defaulting else None

    def _own_default(self, given: Json) -> Json:
        """The default, itself shaped. NB: one that embeds malformed metadata is refused when it is registered, not here."""
        try:
            return self.shape(given, Dropped(), None)
        except DecodeError:
            return given

    def shape_root(self, value: dict[str, Json]) -> Shaped:
        """The object, except for its own kind, apiVersion and metadata, which are not this schema's business."""
        dropped = Dropped()
        made = self._object(value, dropped, None, embedded=True, preserves=self.preserves, root=True)
        return Shaped(made, (*sorted(dropped.unknown), *sorted(dropped.in_metadata)))

    def shape(self, value: Json, dropped: Dropped, at: At | None, *, preserves: bool = False) -> Json:
        kind = value.__class__
        if kind is dict:
            return self._object(value, dropped, at, embedded=self.embedded, preserves=self.preserves or preserves)
        if kind is list:
            return self._list(value, dropped, at, preserves=self.preserves or preserves)
        return value

    def _object(
        self, value: dict[str, Json], dropped: Dropped, at: At | None, *, embedded: bool, preserves: bool, root: bool = False
    ) -> dict[str, Json]:
        made = value
        for key, member in value.items():
            if embedded and key in _META_FIELDS:
                new = member if root else self._meta_field(key, member, dropped, at)
            else:
                new = self._member(key, member, dropped, at, preserves=preserves)
            if new is not member:
                if made is value:
                    made = value.copy()
                if new is _GONE:
                    del made[key]
                else:
                    made[key] = new
        for name, part in self.defaulted:
            if name not in made:
                if made is value:
                    made = value.copy()
                made[name] = copied(part.default)
        return made

    def _member(self, key: str, member: Json, dropped: Dropped, at: At | None, *, preserves: bool) -> Json:
        named = self.properties.get(key)
        part = named or self.additional
        if part is None:
            return self._unnamed(key, member, dropped, at, preserves=preserves)
        if member is None and not part.nullable:
            return _GONE if part.default is None else copied(part.default)
        if member.__class__ is dict or member.__class__ is list:
            return part.shape(member, dropped, At(at, key, named is None))
        return member

    def _unnamed(self, key: str, member: Json, dropped: Dropped, at: At | None, *, preserves: bool) -> Json:
        if self.any_keys:
            return member if preserves else _hollow(member, dropped, At(at, key))
        if preserves:
            return member
        if at is not None or key not in _META_FIELDS:
            dropped.unknown.append(At(at, key).path())
        return _GONE

    def _list(self, value: list[Json], dropped: Dropped, at: At | None, *, preserves: bool) -> list[Json]:
        part = self.items
        if part is None:
            return value if preserves else _mapped(value, lambda index, item: _hollow(item, dropped, At(at, index)))
        return _mapped(value, lambda index, item: part._item(item, dropped, At(at, index), preserves=preserves))

    def _item(self, item: Json, dropped: Dropped, at: At, *, preserves: bool) -> Json:
        if item is None and not self.nullable:
            return copied(self.default)
        return self.shape(item, dropped, at, preserves=preserves)

    def _meta_field(self, key: str, member: Json, dropped: Dropped, at: At | None) -> Json:
        """Part of an embedded resource's identity. Raises DecodeError."""
        path = At(at, key).field_path()
        if key != "metadata":
            if not isinstance(member, str):
                raise DecodeError(str(fields.invalid(Path(path), ordered(member), "must be a string")))
            return member
        try:
            made, unknown = object_meta(member)
        except DecodeError as error:
            raise DecodeError(str(fields.invalid(Path(path), ordered(member), str(error)))) from None
        dropped.in_metadata.extend(f"{path}.{name}" for name in unknown)
        return made


def object_meta(value: Json) -> tuple[dict[str, Json], list[str]]:
    """Metadata as Kubernetes holds it, and the paths in it that it does not know. Raises DecodeError."""
    node = schema.definition(_OBJECT_META)
    walk = roundtrip.walker(node)
    try:
        return walk(value), []
    except roundtrip.Unusual:
        clean, problems = structs.read(node, value)
        return walk(clean), [problem.path for problem in problems]


def with_readable_metadata(value: dict[str, Json]) -> dict[str, Json]:
    """A custom object without the fields of its metadata that cannot be read; what is only unknown stays.

    NB: to Kubernetes these are not there until the object is stored, and gone afterwards.
    """
    given = value.get("metadata")
    if not isinstance(given, dict):
        return value
    try:
        made = roundtrip.walker(schema.definition(_OBJECT_META))(given)
    except roundtrip.Unusual:
        made = {name: part for name, part in map(_readable, given.items()) if part is not _GONE}
    return value if made is given else {**value, "metadata": made}


def _readable(field: tuple[str, Json]) -> tuple[str, Json]:
    name, value = field
    try:
        made, unknown = object_meta({name: value})
    except DecodeError:
        return name, _GONE
    return name, value if unknown else made.get(name, _GONE)


_GONE: Json = object()


def _mapped(value: list[Json], change: Callable[[int, Json], Json]) -> list[Json]:
    """The list with its items changed; the same list if none does."""
    made = value
    for index, item in enumerate(value):
        new = change(index, item)
        if new is not item:
            if made is value:
                made = value.copy()
            made[index] = new
    return made


def _hollow(value: Json, dropped: Dropped, at: At) -> Json:
    """A value that no schema describes: of objects nothing is left."""
    if value.__class__ is dict:
        dropped.unknown.extend(At(at, key).path() for key in value)
        return {} if value else value
    if value.__class__ is list:
        return _mapped(value, lambda index, item: _hollow(item, dropped, At(at, index)))
    return value


def copied(value: Json) -> Json:
    """A default is handed out as a copy, so that no object shares it with the schema."""
    if value.__class__ is dict:
        return {key: copied(member) for key, member in value.items()}
    if value.__class__ is list:
        return [copied(item) for item in value]
    return value
