"""The schema of a custom kind: what may stand in it, and where. `structure` and `schemadefaults` are asked first."""

from collections.abc import Iterator, Mapping
from typing import Any, TypeAlias

from msgspec import Struct, field
from msgspec.structs import replace

from kadmit.api import fields
from kadmit.api.fields import FieldError, Path
from kadmit.kinds import internals
from kadmit.kinds.rules import schemadefaults, schemarules, structure
from kadmit.kinds.rules.schemarules import Costs, Place

Json: TypeAlias = Any
Schema: TypeAlias = Mapping[str, Json]

_TYPES = ("array", "boolean", "integer", "number", "object", "string")
_META_FIELDS = frozenset({"metadata", "kind", "apiVersion"})
_AT_ROOT = (
    "Description Type Format Title Maximum ExclusiveMaximum Minimum ExclusiveMinimum MaxLength MinLength Pattern MaxItems "
    "MinItems UniqueItems MultipleOf Required Items Properties ExternalDocs Example XPreserveUnknownFields XValidations"
)
_UNSUPPORTED = ("id", "additionalItems", "patternProperties", "definitions", "dependencies", "$ref")


def validate(part: Schema | None, at: Path, *, has_status: bool, unchanged: bool = False) -> list[FieldError]:
    """What is wrong with a schema.

    has_status: its kind has a status subresource. unchanged: its rules may cost as much as they did.
    """
    raw: Schema | None = (part or {}).get("openAPIV3Schema")
    if raw is None:
        return []
    place = at.child("openAPIV3Schema")
    found = list(_root(raw, at, has_status=has_status))
    unsupported = structure.unsupported(raw)
    wrong = [] if unsupported else structure.validate(raw, place) or list(schemadefaults.validate(raw, place))
    costs = Costs(limited=not unchanged)
    rules = None if unsupported or wrong else Place.root(raw, costs)
    found += wrong
    below = _Findings()
    _walk(raw, place, _Where(is_root=True), rules, below)
    found += [*below.schema, *below.rules]
    if not found and unsupported:
        found.append(fields.invalid(place, "", unsupported))
    return [*found, *costs.errors(place)]


def _root(raw: Schema, at: Path, *, has_status: bool) -> Iterator[FieldError]:
    if has_status:
        allowed = frozenset(_AT_ROOT.split())
        for name, key in internals.members("JSONSchemaProps"):
            if raw.get(key) in (None, "", False) and raw.get(key) is not False:
                continue
            if name == "Type" and raw["type"] != "object":
                text = 'only "object" is allowed as the type at the root of the schema if the status subresource is enabled'
                yield fields.invalid(at.child("openAPIV3Schema.type"), raw["type"], text)
                break
            if name not in allowed and raw.get(key):
                text = f"only [{_AT_ROOT}] fields are allowed at the root of the schema if the status subresource is enabled"
                yield fields.invalid(at.child("openAPIV3Schema"), internals.shown("JSONSchemaProps", raw), text)
                break
    if raw.get("nullable"):
        yield fields.forbidden(at.child("openAPIV3Schema.nullable"), "nullable cannot be true at the root")


class _Where(Struct, frozen=True):
    """What a place in a schema inherits from those above. uncorrelated: the list that keeps its rules from using oldSelf."""

    is_root: bool = False
    no_default: str | None = None
    in_metadata: bool = False
    uncorrelated: Path | None = None

    def below(self, **changes: Any) -> "_Where":
        return replace(self, is_root=False, **changes)

    def without_old(self, at: Path) -> "_Where":
        return self if self.uncorrelated is not None else replace(self, uncorrelated=at)


class _Findings(Struct):
    """Errors of rules are told after those of the schema."""

    schema: list[FieldError] = field(default_factory=list)
    rules: list[FieldError] = field(default_factory=list)


def _walk(raw: Schema, at: Path, where: _Where, rules: Place | None, found: _Findings) -> None:
    before = len(found.schema)
    found.schema += _own(raw, at, where)
    _walk_parts(raw, at, where, rules, found)
    found.schema += _kinds_of_maps_and_lists(raw, at)
    found.schema += _map_keys(raw, at)
    if raw.get("x-kubernetes-validations"):
        found.schema += schemarules.fields_of(raw, at)
        if rules is not None and len(found.schema) == before:
            found.rules += schemarules.validate(raw, at, rules, where.uncorrelated)


def _walk_parts(raw: Schema, at: Path, where: _Where, rules: Place | None, found: _Findings) -> None:
    more, items = raw.get("additionalProperties"), raw.get("items")
    if isinstance(more, Mapping):
        below = where.below()
        if where.in_metadata:
            below = replace(below, no_default="inside additionalProperties applying to object metadata")
        _walk(more, at.child("additionalProperties"), below, rules.element(more) if rules else None, found)
    for key, part in (raw.get("properties") or {}).items():
        below = _below_property(key, raw, at, where)
        _walk(part, at.child("properties").key(key), below, rules.member(key, part) if rules else None, found)
    _walk_combined(raw, at, where.below(), found)
    below = where.below() if raw.get("x-kubernetes-list-type") == "map" else where.below().without_old(at)
    if isinstance(items, Mapping):
        _walk(items, at.child("items"), below, rules.element(items) if rules else None, found)
    elif items is not None:
        for index, part in enumerate(items):
            _walk(part, at.child("items").index(index), below, None, found)


def _walk_combined(raw: Schema, at: Path, below: _Where, found: _Findings) -> None:
    if raw.get("not") is not None:
        _walk(raw["not"], at.child("not"), below, None, found)
    for key in ("allOf", "oneOf", "anyOf"):
        for index, part in enumerate(raw.get(key) or ()):
            _walk(part, at.child(key).index(index), below, None, found)
    for key in ("definitions", "dependencies"):
        for name, part in (raw.get(key) or {}).items():
            if isinstance(part, Mapping):
                _walk(part, at.child(key).key(name), below, None, found)


def _below_property(key: str, raw: Schema, at: Path, where: _Where) -> _Where:
    below = where.below()
    if raw.get("x-kubernetes-map-type") not in (None, "granular", "atomic"):
        below = below.without_old(at)
    if (where.is_root or raw.get("x-kubernetes-embedded-resource")) and key in _META_FIELDS:
        below = replace(below, in_metadata=True)
        if where.is_root:
            below = replace(below, no_default=f"in top-level {key}")
    return below


# ---------------------------------------------------------------- one place


def _own(raw: Schema, at: Path, where: _Where) -> Iterator[FieldError]:
    kind, more = raw.get("type") or "", raw.get("additionalProperties")
    if kind and kind not in _TYPES:
        yield fields.not_supported(at.child("type"), kind, _TYPES)
    if raw.get("default") is not None and where.no_default is not None:
        yield fields.forbidden(at.child("default"), f"must not be set {where.no_default}")
    for key in _UNSUPPORTED:
        if raw.get(key):
            yield fields.forbidden(at.child(key), f"{key} is not supported")
    if kind == "null":
        yield fields.forbidden(at.child("type"), "type cannot be set to null, use nullable as an alternative")
    if isinstance(raw.get("items"), list):
        yield fields.forbidden(at.child("items"), "items must be a schema object and not an array")
    if where.in_metadata and raw.get("x-kubernetes-embedded-resource"):
        yield fields.forbidden(at.child("x-kubernetes-embedded-resource"), "must not be used inside of resource meta")
    if raw.get("uniqueItems"):
        text = "uniqueItems cannot be set to true since the runtime complexity becomes quadratic"
        yield fields.forbidden(at.child("uniqueItems"), text)
    if more is not None and more is not True and raw.get("properties"):
        yield fields.forbidden(at.child("additionalProperties"), "additionalProperties and properties are mutual exclusive")


def _kinds_of_maps_and_lists(raw: Schema, at: Path) -> Iterator[FieldError]:
    kind, map_type, list_type = raw.get("type") or "", raw.get("x-kubernetes-map-type"), raw.get("x-kubernetes-list-type")
    if raw.get("x-kubernetes-preserve-unknown-fields") is False:
        yield fields.invalid(at.child("x-kubernetes-preserve-unknown-fields"), False, "must be true or undefined")
    if map_type is not None and kind != "object":
        yield _other_type(kind, at, "must be object if x-kubernetes-map-type is specified")
    if map_type not in (None, "atomic", "granular"):
        yield fields.not_supported(at.child("x-kubernetes-map-type"), map_type, ("atomic", "granular"))
    if list_type is not None and kind != "array":
        yield _other_type(kind, at, "must be array if x-kubernetes-list-type is specified")
    elif list_type == "set" and isinstance(raw.get("items"), Mapping):
        yield from _set_items(raw["items"], at.child("items"))
    if list_type not in (None, "atomic", "set", "map"):
        yield fields.not_supported(at.child("x-kubernetes-list-type"), list_type, ("atomic", "set", "map"))
    if raw.get("x-kubernetes-list-map-keys") and list_type != "map":
        place, text = at.child("x-kubernetes-list-type"), "must be map if x-kubernetes-list-map-keys is non-empty"
        yield fields.required(place, text) if list_type is None else fields.invalid(place, list_type, text)
    if list_type == "map":
        yield from _map_items(raw, at)


def _other_type(kind: str, at: Path, text: str) -> FieldError:
    return fields.invalid(at.child("type"), kind, text) if kind else fields.required(at.child("type"), text)


def _set_items(items: Schema, at: Path) -> Iterator[FieldError]:
    """NB: both errors show the type of lists."""
    text, shown = "must be atomic as item of a list with x-kubernetes-list-type=set", items.get("x-kubernetes-list-type")
    if items.get("type") == "array" and shown not in (None, "atomic"):
        yield fields.invalid(at.child("x-kubernetes-list-type"), shown, text)
    if items.get("type") == "object" and items.get("x-kubernetes-map-type") != "atomic":
        yield fields.invalid(at.child("x-kubernetes-map-type"), shown, text)


def _map_items(raw: Schema, at: Path) -> Iterator[FieldError]:
    keys, items = raw.get("x-kubernetes-list-map-keys") or [], raw.get("items")
    if not keys:
        yield fields.required(at.child("x-kubernetes-list-map-keys"), "must not be empty if x-kubernetes-list-type is map")
    if items is None:
        yield fields.required(at.child("items"), "must have a schema if x-kubernetes-list-type is map")
        return
    if not isinstance(items, Mapping):
        text = "must only have a single schema if x-kubernetes-list-type is map"
        yield fields.invalid(at.child("items"), internals.shown("JSONSchemaPropsOrArray", items), text)
        return
    if items.get("type") != "object":
        text = "must be object if parent array's x-kubernetes-list-type is map"
        yield fields.invalid(at.child("items", "type"), items.get("type") or "", text)
        return
    yield from _listed_keys(keys, items.get("properties") or {}, at)


def _listed_keys(keys: list[str], properties: Schema, at: Path) -> Iterator[FieldError]:
    """NB: of a key that is no scalar, the error shows the type of the items."""
    for index, key in enumerate(keys):
        if key not in properties:
            place, text = at.child("x-kubernetes-list-map-keys"), "entries must all be names of item properties"
            yield fields.invalid(place, keys, text)
        elif properties[key].get("type") in ("array", "object"):
            text = "must be a scalar type if parent array's x-kubernetes-list-type is map"
            yield fields.invalid(at.child("items", "properties").key(key).child("type"), "object", text)
        if key in keys[:index]:
            yield fields.invalid(at.child("x-kubernetes-list-map-keys"), keys, "must not contain duplicate entries")


def _map_keys(raw: Schema, at: Path) -> Iterator[FieldError]:
    items, list_type = raw.get("items"), raw.get("x-kubernetes-list-type")
    if not isinstance(items, Mapping) or list_type not in ("set", "map"):
        return
    if items.get("nullable"):
        place, text = at.child("items", "nullable"), f"cannot be nullable when x-kubernetes-list-type is {list_type}"
        yield fields.forbidden(place, text)
    if list_type == "map":
        for key in raw.get("x-kubernetes-list-map-keys") or ():
            part = (items.get("properties") or {}).get(key)
            if part is not None:
                yield from _map_key(part, key in (items.get("required") or ()), at.child("items", "properties").key(key))


def _map_key(part: Schema, is_required: bool, at: Path) -> Iterator[FieldError]:
    listed = "this property is in x-kubernetes-list-map-keys, so it"
    if not is_required and part.get("default") is None:
        yield fields.required(at.child("default"), f"{listed} must have a default or be a required property")
    if part.get("nullable"):
        yield fields.forbidden(at.child("nullable"), f"{listed} cannot be nullable")
