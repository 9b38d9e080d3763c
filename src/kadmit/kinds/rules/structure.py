"""Whether the schema of a custom kind is structural: what its objects look like must be said once, outside of anyOf and the like.

Only then can objects be pruned and defaulted. Errors come sorted by their texts.
"""

from collections.abc import Iterator, Mapping
from typing import Any, TypeAlias

from kadmit.api import fields
from kadmit.api.fields import FieldError, Path
from kadmit.cel import go_regexp

Json: TypeAlias = Any
Schema: TypeAlias = Mapping[str, Json]

_UNSUPPORTED = ("id", "$schema", "$ref", "patternProperties", "dependencies", "additionalItems", "definitions")
_INT_OR_STRING = [{"type": "integer"}, {"type": "string"}]
_UNTYPED = {
    "root": "must not be empty at the root",
    "item": "must not be empty for specified array items",
    "field": "must not be empty for specified object fields",
}
_ELSEWHERE = (  # what only the schema itself may say
    ("type", "must be empty to be structural"),
    ("additionalProperties", "must be undefined to be structural"),
    ("default", "must be undefined to be structural"),
    ("title", "must be empty to be structural"),
    ("description", "must be empty to be structural"),
    ("nullable", "must be false to be structural"),
    ("x-kubernetes-preserve-unknown-fields", "must be false to be structural"),
    ("x-kubernetes-embedded-resource", "must be false to be structural"),
    ("x-kubernetes-int-or-string", "must be false to be structural"),
    ("x-kubernetes-list-map-keys", "must be empty to be structural"),
    ("x-kubernetes-list-type", "must be undefined to be structural"),
    ("x-kubernetes-map-type", "must be undefined to be structural"),
    ("x-kubernetes-validations", "must be empty to be structural"),
)
_NAMES = {"name", "generateName"}


def unsupported(raw: Schema) -> str:
    """Why a schema cannot be looked at as a structure at all; empty, if it can."""
    for key in _UNSUPPORTED:
        if raw.get(key):
            return f"OpenAPIV3Schema '{key.removeprefix('$') if key == '$schema' else key}' is not supported"
    if raw.get("x-kubernetes-preserve-unknown-fields") is False:
        return "internal error: 'x-kubernetes-preserve-unknown-fields' must be true or undefined"
    if isinstance(raw.get("items"), list):
        return "OpenAPIV3Schema 'items' must be a schema, but is an array"
    return next((found for part in _parts(raw) if (found := unsupported(part))), "")


def _parts(raw: Schema) -> Iterator[Schema]:
    for key in ("not", "items", "additionalProperties"):
        if isinstance(raw.get(key), Mapping):
            yield raw[key]
    for key in ("allOf", "anyOf", "oneOf"):
        yield from raw.get(key) or ()
    yield from (raw.get("properties") or {}).values()


def validate(raw: Schema, at: Path) -> list[FieldError]:
    """What keeps a schema from being structural."""
    return sorted([*_invariants(raw, "root", at), *_completeness(raw, raw, at, at)], key=str)


# ---------------------------------------------------------------- the structure itself


def _invariants(raw: Schema, level: str, at: Path) -> Iterator[FieldError]:
    items, more, properties = raw.get("items"), raw.get("additionalProperties"), raw.get("properties") or {}
    if raw.get("type") == "array" and items is None:
        yield fields.required(at.child("items"), "must be specified")
    if items is not None:
        yield from _invariants(items, "item", at.child("items"))
    for key, part in properties.items():
        yield from _invariants(part, "field", at.child("properties").key(key))
    if more is not None:
        if level == "root":
            yield fields.forbidden(at.child("additionalProperties"), "must not be used at the root")
        if isinstance(more, Mapping):
            yield from _invariants(more, "field", at.child("additionalProperties"))
    yield from _extensions(raw, at)
    yield from _values(raw, at, skip_any=_is_int_or_string(raw), skip_first=_is_first_int_or_string(raw))
    yield from _type(raw, level, at)
    yield from _identity(raw, level, at)


def _extensions(raw: Schema, at: Path) -> Iterator[FieldError]:
    if raw.get("x-kubernetes-int-or-string"):
        for key in ("x-kubernetes-preserve-unknown-fields", "x-kubernetes-embedded-resource"):
            if raw.get(key):
                yield fields.invalid(at.child(key), True, "must be false if x-kubernetes-int-or-string is true")


def _type(raw: Schema, level: str, at: Path) -> Iterator[FieldError]:
    given = raw.get("type") or ""
    embedded, preserves = raw.get("x-kubernetes-embedded-resource"), raw.get("x-kubernetes-preserve-unknown-fields")
    if embedded and given != "object":
        text = "must be object if x-kubernetes-embedded-resource is true"
        yield fields.invalid(at.child("type"), given, text) if given else fields.required(at.child("type"), text)
    elif not given and not raw.get("x-kubernetes-int-or-string") and not preserves:
        yield fields.required(at.child("type"), _UNTYPED[level])
    if embedded and raw.get("additionalProperties") is not None:
        yield fields.forbidden(at.child("additionalProperties"), "must not be used if x-kubernetes-embedded-resource is set")
    if level == "root" and given and given != "object":
        yield fields.invalid(at.child("type"), given, "must be object at the root")
    if embedded and not preserves and not raw.get("properties"):
        text = "must not be empty if x-kubernetes-embedded-resource is true without x-kubernetes-preserve-unknown-fields"
        yield fields.required(at.child("properties"), text)


def _identity(raw: Schema, level: str, at: Path) -> Iterator[FieldError]:
    """kind, apiVersion and metadata, which every object has."""
    properties, is_object = raw.get("properties") or {}, level == "root" or bool(raw.get("x-kubernetes-embedded-resource"))
    for key in ("kind", "apiVersion"):
        if is_object and key in properties and properties[key].get("type") != "string":
            place = at.child("properties").key(key).child("type")
            yield fields.invalid(place, properties[key].get("type") or "", "must be string")
    if "metadata" in properties:
        place, meta = at.child("properties").key("metadata"), properties["metadata"]
        if is_object and meta.get("type") != "object":
            yield fields.invalid(place.child("type"), meta.get("type") or "", "must be object")
        if level == "root" and not _says_only_names(meta):
            text = "must not specify anything other than name and generateName, but metadata is implicitly specified"
            yield fields.forbidden(place, text)


def _says_only_names(meta: Schema) -> bool:
    said = {key for key, value in meta.items() if value not in (None, "", False, [], {})}
    return said <= {"type", "default", "properties"} and set(meta.get("properties") or ()) <= _NAMES


def _is_int_or_string(raw: Schema) -> bool:
    return raw.get("anyOf") == _INT_OR_STRING


def _is_first_int_or_string(raw: Schema) -> bool:
    combined = raw.get("allOf") or []
    return bool(combined) and combined[0].get("anyOf") == _INT_OR_STRING


# ---------------------------------------------------------------- values: allOf, anyOf, oneOf, not


def _values(raw: Schema, at: Path, *, skip_any: bool = False, skip_first: bool = False) -> Iterator[FieldError]:
    if not skip_any:
        for index, part in enumerate(raw.get("anyOf") or ()):
            yield from _nested(part, at.child("anyOf").index(index))
    for index, part in enumerate(raw.get("allOf") or ()):
        yield from _nested(part, at.child("allOf").index(index), skip_any=skip_first and index == 0)
    for index, part in enumerate(raw.get("oneOf") or ()):
        yield from _nested(part, at.child("oneOf").index(index))
    if raw.get("not") is not None:
        yield from _nested(raw["not"], at.child("not"))
    pattern = raw.get("pattern")
    if pattern:
        issue = go_regexp.translate(pattern)
        if isinstance(issue, go_regexp.SyntaxIssue):
            yield fields.invalid(at.child("pattern"), pattern, f"must be a valid regular expression, but isn't: {issue}")


def _nested(raw: Schema, at: Path, *, skip_any: bool = False) -> Iterator[FieldError]:
    yield from _values(raw, at, skip_any=skip_any)
    if raw.get("items") is not None:
        yield from _nested(raw["items"], at.child("items"))
    for key, part in (raw.get("properties") or {}).items():
        yield from _nested(part, at.child("properties").key(key))
    for key, text in _ELSEWHERE:
        if raw.get(key) or (key == "additionalProperties" and isinstance(raw.get(key), Mapping)):
            yield fields.forbidden(at.child(key), text)
    if "metadata" in (raw.get("properties") or {}):
        yield fields.forbidden(at.child("properties").key("metadata"), "must not be specified in a nested context")


def _completeness(value: Schema, structure: Schema, at: Path, value_at: Path) -> Iterator[FieldError]:
    """Every part that a combination speaks of must be a part of the structure."""
    if value.get("not") is not None:
        yield from _complete(value["not"], structure, at, value_at.child("not"))
    for key in ("allOf", "anyOf", "oneOf"):
        for index, part in enumerate(value.get(key) or ()):
            yield from _complete(part, structure, at, value_at.child(key).index(index))


def _complete(value: Schema, structure: Json, at: Path, value_at: Path) -> Iterator[FieldError]:
    if not isinstance(structure, Mapping):
        yield fields.required(at, f"because it is defined in {value_at}")
        return
    yield from _completeness(value, structure, at, value_at)
    if value.get("items") is not None:
        yield from _complete(value["items"], structure.get("items"), at.child("items"), value_at.child("items"))
    for key, part in (value.get("properties") or {}).items():
        known = (structure.get("properties") or {}).get(key)
        yield from _complete(part, known, at.child("properties").key(key), value_at.child("properties").key(key))
