"""Makes the compact table of kinds that kadmit.kinds carries, out of what an API server publishes.

    python tools/build_kinds.py --openapi FILE_OR_FOLDER --discovery FILE [--fields FILE] [--go-types FILE] --out FILE

--openapi takes a map of schemas by name, one or more /openapi/v3 documents, or a folder of them; --discovery takes
aggregated discovery documents (`/api` and `/apis`, as they are or together as {"api": …, "apis": …}). --fields and
--go-types add what no server publishes: facts of the Go structs (which fields are pointers, what their types are called).

The table is zlib-compressed text. Its first line is JSON: resources, and which schema a kind has. Every other line is
a schema: its name, a space, JSON. Lines are found without being parsed, so a kind that nobody asks for costs nothing.
"""

import argparse
import json
import zlib
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, TypeAlias

Json: TypeAlias = Any

PREFIX = "io.k8s."
KEPT = (
    "type",
    "format",
    "required",
    "enum",
    "default",
    "oneOf",
    "x-kubernetes-list-type",
    "x-kubernetes-list-map-keys",
    "x-kubernetes-map-type",
    "x-kubernetes-patch-strategy",
    "x-kubernetes-patch-merge-key",
    "x-kubernetes-preserve-unknown-fields",
    "x-kubernetes-int-or-string",
    "x-kubernetes-embedded-resource",
)


class Facts:
    """What is known of Go's structs beyond OpenAPI. Without it the rules of presence() are all there is."""

    def __init__(self, fields: Json, go_types: Json) -> None:
        self.fields = fields
        self.go_types = go_types

    def told(self, fact: str, struct: str, field: str) -> bool:
        return field in self.fields.get(fact, {}).get(struct, ())

    def of(self, fact: str, struct: str, field: str) -> str | None:
        found: str | None = self.go_types.get(fact, {}).get(struct, {}).get(field)
        return found


def short(name: str) -> str:
    return name.removeprefix(PREFIX)


def reference(schema: Json) -> str | None:
    """The schema that this one stands for. Servers wrap a reference in allOf to give it a default."""
    target = schema.get("$ref") or next((part["$ref"] for part in schema.get("allOf", ()) if "$ref" in part), None)
    return short(target.rpartition("/")[2]) if target else None


def presence(facts: Facts, struct: str, field: str, schema: Json, *, required: bool) -> str:
    """How Go writes the field: p for a pointer, w when it is written even if empty."""
    known = facts.of("presence", struct, field)
    if known is not None:
        return known
    required = (required or facts.told("writtenThoughNotRequired", struct, field)) and not facts.told(
        "leftOutThoughRequired", struct, field
    )
    if reference(schema) is None:
        pointer = facts.told("pointerScalars", struct, field)
        written = required
    else:
        pointer = "default" not in schema and not facts.told("plainTimes", struct, field)
        written = required or not pointer
    return "p" * pointer + "w" * written


def compact(schema: Json) -> Json:
    """The schema without what nobody reads at run time."""
    kept = {key: schema[key] for key in KEPT if key in schema}
    target = reference(schema)
    if target is not None:
        kept["$ref"] = target
    if "items" in schema:
        kept["items"] = compact(schema["items"])
    if "additionalProperties" in schema:
        more = schema["additionalProperties"]
        kept["additionalProperties"] = compact(more) if isinstance(more, dict) else more
    if "properties" in schema:
        kept["properties"] = {name: compact(of) for name, of in schema["properties"].items()}
    return kept


def definition(facts: Facts, name: str, schema: Json) -> Json:
    """A named schema, its fields marked with what Go's struct says of them."""
    made = compact(schema)
    required = set(schema.get("required", ()))
    typed = "x-kubernetes-group-version-kind" in schema
    for field, of in made.get("properties", {}).items():
        flags = presence(facts, name, field, schema["properties"][field], required=field in required)
        if flags:
            of["x-go"] = flags
        go_type = facts.of("types", name, field)
        if go_type:
            of["x-go-type"] = go_type
        within = facts.of("embedded", name, field) or ("TypeMeta" if typed and field in ("apiVersion", "kind") else None)
        if within:
            of["x-go-in"] = within
    return made


def kinds_of(schemas: Json) -> dict[str, str]:
    """Which schema a kind has: "group/version/Kind" -> name."""
    return {
        f"{gvk['group']}/{gvk['version']}/{gvk['kind']}": short(name)
        for name, schema in sorted(schemas.items())
        for gvk in schema.get("x-kubernetes-group-version-kind", ())
    }


def resources_of(documents: Iterable[Json]) -> Iterator[Json]:
    for document in documents:
        for group in document["items"]:
            for version in group["versions"]:
                for resource in version.get("resources", ()):
                    yield resource_row(group["metadata"].get("name", ""), version["version"], resource)


def resource_row(group: str, version: str, resource: Json) -> Json:
    row = {
        "g": group,
        "v": version,
        "k": resource["responseKind"]["kind"],
        "p": resource["resource"],
        "s": resource.get("singularResource", ""),
        "n": resource.get("shortNames", []),
        "c": resource.get("categories", []),
        "ns": resource["scope"] == "Namespaced",
        "verbs": resource["verbs"],
        "sub": [subresource_row(group, version, sub) for sub in resource.get("subresources", ())],
    }
    return {key: value for key, value in row.items() if value not in ([], "", False) or key == "g"}


def subresource_row(group: str, version: str, sub: Json) -> Json:
    """A subresource answers with its own kind; without group and version it is one of its parent's."""
    kind = sub["responseKind"]
    own = [kind["group"], kind["version"]] if kind.get("version") else [group, version]
    return [sub["subresource"], *own, kind["kind"], sub["verbs"]]


def read_schemas(paths: Iterable[Path]) -> dict[str, Json]:
    schemas: dict[str, Json] = {}
    for path in paths:
        for file in sorted(path.rglob("*.json")) if path.is_dir() else [path]:
            document = json.loads(file.read_text())
            schemas |= document.get("components", {}).get("schemas", {}) if "openapi" in document else document
    return schemas


def read_discovery(paths: Iterable[Path]) -> Iterator[Json]:
    for path in paths:
        document = json.loads(path.read_text())
        if "items" in document:
            yield document
        else:
            yield from (document[key] for key in ("api", "apis") if key in document)


def table(schemas: Json, discovery: Iterable[Json], facts: Facts) -> bytes:
    published = {**facts.go_types.get("schemas", {}), **schemas}
    head = {"resources": list(resources_of(discovery)), "kinds": kinds_of(published)}
    named = {short(name): definition(facts, short(name), published[name]) for name in sorted(published)}
    lines = [text(head), *(f"{name} {text(schema)}" for name, schema in named.items())]
    return zlib.compress("\n".join(lines).encode(), 9)


def text(value: Json) -> str:
    return json.dumps(value, separators=(",", ":"))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--openapi", type=Path, nargs="+", required=True)
    parser.add_argument("--discovery", type=Path, nargs="+", required=True)
    parser.add_argument("--fields", type=Path)
    parser.add_argument("--go-types", type=Path)
    parser.add_argument("--out", type=Path, required=True)
    options = parser.parse_args()
    facts = Facts(
        json.loads(options.fields.read_text()) if options.fields else {},
        json.loads(options.go_types.read_text()) if options.go_types else {},
    )
    data = table(read_schemas(options.openapi), read_discovery(options.discovery), facts)
    options.out.write_bytes(data)
    print(f"{options.out}: {len(data)} bytes")


if __name__ == "__main__":
    main()
