"""Schemas as OpenAPI documents publish them: of built-in kinds from the packaged table, of custom kinds from their definitions.

The table has no descriptions. Custom kinds keep theirs, and get those of the fields that every object has.
NB: in version 3 a reference with anything beside it stands in an allOf; version 2 has no such rule, no defaults, and no
unions of types.
"""

import functools
from collections.abc import Callable, Iterable, Mapping
from typing import Any, TypeAlias

from kadmit.kinds import table
from kadmit.kinds.catalog import Resource
from kadmit.presentation.openapi.operations import schema_name

Json: TypeAlias = Any

V3, V2 = "#/components/schemas/", "#/definitions/"
_PREFIX = "io.k8s."
_OBJECT_META = f"{_PREFIX}apimachinery.pkg.apis.meta.v1.ObjectMeta"
_LIST_META = f"{_PREFIX}apimachinery.pkg.apis.meta.v1.ListMeta"
_CONVENTIONS = "https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md"
_API_VERSION = (
    "APIVersion defines the versioned schema of this representation of an object. Servers should convert recognized schemas to "
    f"the latest internal value, and may reject unrecognized values. More info: {_CONVENTIONS}#resources"
)
_KIND = (
    "Kind is a string value representing the REST resource this object represents. Servers may infer this from the endpoint the "
    f"client submits requests to. Cannot be updated. In CamelCase. More info: {_CONVENTIONS}#types-kinds"
)
_EMBEDDED_API_VERSION = (
    f"apiVersion defines the versioned schema of this representation of an object. More info: {_CONVENTIONS}#resources"
)
_EMBEDDED_KIND = (
    f"kind is a string value representing the type of this object. In CamelCase. More info: {_CONVENTIONS}#types-kinds"
)
_METADATA = f"Standard object's metadata. More info: {_CONVENTIONS}#metadata"
_LIST_METADATA = f"Standard list metadata. More info: {_CONVENTIONS}#types-kinds"


@functools.cache
def _kinds() -> Mapping[str, list[Json]]:
    """Which kinds a schema is the schema of."""
    found: dict[str, list[Json]] = {}
    for text, name in sorted(table.schema_names().items()):
        group, version, kind = text.split("/")
        found.setdefault(name, []).append({"group": group, "kind": kind, "version": version})
    return found


def builtin(name: str) -> Json:
    """The schema of this name (with `io.k8s.`), in the words of version 3."""
    short = name.removeprefix(_PREFIX)
    if short not in table.definition_names():
        return {}
    made = _published(table.definition(short))
    return {**made, "x-kubernetes-group-version-kind": _kinds()[short]} if short in _kinds() else made


def _published(raw: Mapping[str, Json], *, field: bool = False) -> Json:
    """NB: a field that is a reference always stands in an allOf, for in Kubernetes its description stands beside it."""
    made = {key: value for key, value in raw.items() if not key.startswith("x-go") and key != "$ref"}
    for key in ("items", "additionalProperties"):
        if isinstance(raw.get(key), Mapping):
            made[key] = _published(raw[key])
    if "properties" in raw:
        made["properties"] = {name: _published(part, field=True) for name, part in raw["properties"].items()}
    if "$ref" not in raw:
        return made
    reference = {"$ref": f"{V3}{_PREFIX}{raw['$ref']}"}
    return {**made, "allOf": [reference]} if made or field else reference


# ---------------------------------------------------------------- custom kinds


def custom(resource: Resource, version: Mapping[str, Json]) -> dict[str, Json]:
    """The schemas of a custom kind and of its lists."""
    raw = (version.get("schema") or {}).get("openAPIV3Schema") or {}
    selectable = [
        {"fieldPath": str(one.get("jsonPath") or "").removeprefix(".")} for one in version.get("selectableFields") or ()
    ]
    extra = {"x-kubernetes-selectable-fields": selectable} if selectable else {}
    list_gvk = (resource.group, resource.version, resource.list_kind)
    return {
        schema_name(resource.gvk): {**_root(raw), **_named(resource, resource.kind), **extra},
        schema_name(list_gvk): {**_listed(resource), **_named(resource, resource.list_kind), **extra},
    }


def _named(resource: Resource, kind: str) -> Json:
    return {"x-kubernetes-group-version-kind": [{"group": resource.group, "kind": kind, "version": resource.version}]}


def _root(raw: Mapping[str, Json]) -> Json:
    made = _structural(raw) or {"type": "object"}
    fields = {
        **(made.get("properties") or {}),
        "apiVersion": {"description": _API_VERSION, "type": "string"},
        "kind": {"description": _KIND, "type": "string"},
        "metadata": {"description": _METADATA, "allOf": [{"$ref": f"{V3}{_OBJECT_META}"}]},
    }
    return {**made, "type": "object", "properties": dict(sorted(fields.items()))}


def _listed(resource: Resource) -> Json:
    return {
        "description": f"{resource.list_kind} is a list of {resource.kind}",
        "type": "object",
        "required": ["items"],
        "properties": {
            "apiVersion": {"description": _API_VERSION, "type": "string"},
            "items": {
                "description": f"List of {resource.plural}. More info: {_CONVENTIONS}",
                "type": "array",
                "items": {"$ref": f"{V3}{schema_name(resource.gvk)}"},
            },
            "kind": {"description": _KIND, "type": "string"},
            "metadata": {"description": _LIST_METADATA, "allOf": [{"$ref": f"{V3}{_LIST_META}"}]},
        },
    }


def _structural(raw: Mapping[str, Json]) -> Json:
    made = {key: value for key, value in raw.items() if value is not None and key not in ("$ref", "example", "id")}
    for key in ("items", "additionalProperties", "not"):
        if isinstance(raw.get(key), Mapping):
            made[key] = _structural(raw[key])
    for key in ("allOf", "anyOf", "oneOf"):
        if isinstance(raw.get(key), list):
            made[key] = [_structural(part) for part in raw[key] if isinstance(part, Mapping)]
    if isinstance(raw.get("properties"), Mapping):
        made["properties"] = {name: _structural(part) for name, part in sorted(raw["properties"].items())}
    if raw.get("x-kubernetes-int-or-string") and "anyOf" not in made and "allOf" not in made:
        made["anyOf"] = [{"type": "integer"}, {"type": "string"}]
    return _embedded(made) if raw.get("x-kubernetes-embedded-resource") else made


def _embedded(made: dict[str, Json]) -> Json:
    fields = {
        **(made.get("properties") or {}),
        "apiVersion": {"description": _EMBEDDED_API_VERSION, "type": "string"},
        "kind": {"description": _EMBEDDED_KIND, "type": "string"},
        "metadata": {"description": _METADATA, "allOf": [{"$ref": f"{V3}{_OBJECT_META}"}]},
    }
    required = [*(made.get("required") or ())]
    required += [name for name in ("kind", "apiVersion") if name not in required]
    return {**made, "required": required, "properties": dict(sorted(fields.items()))}


# ---------------------------------------------------------------- what a document needs


def closure(names: Iterable[str], find: Callable[[str], Json]) -> dict[str, Json]:
    """These schemas and all that they refer to, by name."""
    found: dict[str, Json] = {}
    waiting = [*names]
    while waiting:
        name = waiting.pop()
        if name not in found:
            found[name] = find(name)
            waiting.extend(_references(found[name]))
    return dict(sorted(found.items()))


def _references(schema: Json) -> list[str]:
    found: list[str] = []
    waiting = [schema]
    while waiting:
        part = waiting.pop()
        if isinstance(part, dict):
            target = part.get("$ref")
            if isinstance(target, str):
                found.append(target.removeprefix(V3))
            waiting.extend(part.values())
        elif isinstance(part, list):
            waiting.extend(part)
    return found


# ---------------------------------------------------------------- version 2

_NOT_IN_V2 = frozenset({"default", "nullable", "oneOf", "anyOf", "allOf", "not"})
_OWN_IN_V2: Mapping[str, Json] = {
    f"{_PREFIX}apimachinery.pkg.util.intstr.IntOrString": {"type": "string", "format": "int-or-string"},
    f"{_PREFIX}apimachinery.pkg.api.resource.Quantity": {"type": "string"},
}


def in_v2(name: str, schema: Json) -> Json:
    if name in _OWN_IN_V2:
        return _OWN_IN_V2[name]
    if schema.get("x-kubernetes-preserve-unknown-fields"):
        return {key: schema[key] for key in ("description", "type", "x-kubernetes-group-version-kind") if key in schema}
    return _downgraded(schema)


def _downgraded(schema: Json) -> Json:
    """NB: what preserves unknown fields, or may be null, has no type at all: clients would drop or refuse too much."""
    target = schema.get("$ref") or next((part["$ref"] for part in schema.get("allOf") or () if "$ref" in part), None)
    made = {key: value for key, value in schema.items() if key not in _NOT_IN_V2 and key != "$ref"}
    if target is not None:
        return {**made, "$ref": f"{V2}{target.removeprefix(V3)}"}
    if schema.get("x-kubernetes-preserve-unknown-fields"):
        return {key: value for key, value in made.items() if key.startswith("x-kubernetes") or key == "description"}
    if schema.get("nullable"):
        return {key: value for key, value in made.items() if key not in ("type", "items", "properties", "required")}
    for key in ("items", "additionalProperties"):
        if isinstance(made.get(key), Mapping):
            made[key] = _downgraded(made[key])
    if "properties" in made:
        made["properties"] = {name: _downgraded(part) for name, part in made["properties"].items()}
    return made
