"""OpenAPI: what the API says of its kinds and paths, for kubectl explain, apply and diff, and for generators of clients.

    published = OpenApi(catalog, definitions)
    published.index()                       # /openapi/v3
    published.document("apis/apps/v1")      # /openapi/v3/apis/apps/v1
    published.swagger()                     # /openapi/v2

Documents are made when they are first asked for and kept as bytes. The hash of one is known before: it is made of what the
document is made of, so that the index costs next to nothing.
"""

import functools
import hashlib
from collections.abc import Iterable, Mapping
from typing import Any, TypeAlias

import orjson
from msgspec import Struct

from kadmit.kinds.catalog import Catalog, Resource
from kadmit.presentation.openapi import operations, schemas
from kadmit.presentation.openapi.operations import Operation, Paths

Json: TypeAlias = Any

_INFO = {"title": "Kubernetes", "version": "1.36"}
_CUSTOM_INFO = {"title": "Kubernetes CRD Swagger", "version": "v0.1.0"}
_TOKEN = {"type": "apiKey", "name": "authorization", "in": "header", "description": "Bearer Token authentication"}
_REVISION = "1.36/1"  # counts up when documents of the same resources come out differently


class Document(Struct, frozen=True):
    body: bytes
    etag: str  # with its quotes


class _Source(Struct, frozen=True):
    """What a document is made of: the resources of a version, or a path that tells what is served."""

    resources: tuple[Resource, ...] = ()
    discovery: tuple[str, str, str, str] | None = None  # path, name of the operation, tag, kind of the answer

    @property
    def custom(self) -> bool:
        return any(resource.custom for resource in self.resources)


class OpenApi:
    """The documents of one catalog. `definitions`: the CustomResourceDefinitions whose kinds are in it."""

    def __init__(self, catalog: Catalog, definitions: Iterable[Mapping[str, Json]] = ()) -> None:
        self._versions = {
            (spec["group"], spec["names"]["plural"], version["name"]): version
            for spec in (definition.get("spec") or {} for definition in definitions)
            for version in spec.get("versions") or ()
        }
        self._sources = _sources(catalog)
        self._documents: dict[str, Document] = {}
        self._swagger: Document | None = None
        self._swagger_protobuf: Document | None = None

    def index(self) -> Json:
        """/openapi/v3"""
        return {
            "paths": {path: {"serverRelativeURL": f"/openapi/v3/{path}?hash={self.hash(path)}"} for path in sorted(self._sources)}
        }

    def hash(self, path: str) -> str | None:
        """The state of a document; None if there is none. It stands in the index, in the URL and, quoted, in the ETag."""
        source = self._sources.get(path)
        return None if source is None else self._hash(path, source)

    def _hash(self, path: str, source: _Source) -> str:
        digest = hashlib.sha512(f"{_REVISION} {path} {source}".encode())
        for resource in source.resources:
            version = self._versions.get((resource.group, resource.plural, resource.version))
            digest.update(orjson.dumps(version, option=orjson.OPT_SORT_KEYS))
        return digest.hexdigest().upper()

    def document(self, path: str) -> Document | None:
        """/openapi/v3/PATH"""
        source = self._sources.get(path)
        if source is None:
            return None
        if path not in self._documents:
            self._documents[path] = Document(orjson.dumps(self._made(source)), f'"{self._hash(path, source)}"')
        return self._documents[path]

    def _made(self, source: _Source) -> Json:
        paths = _paths(source)
        components: Json = {"schemas": _everywhere(source, self._components(paths))}
        if not source.custom:
            components["securitySchemes"] = {"BearerToken": _TOKEN}
        return {
            "openapi": "3.0.0",
            "info": _CUSTOM_INFO if source.custom else _INFO,
            "paths": {path: _path(found) for path, found in sorted(paths.items())},
            "components": components,
        }

    def _components(self, paths: Paths) -> dict[str, Json]:
        used = {name for found in paths.values() for one in found for name in (*one.answers.values(), one.body) if name}
        return schemas.closure(used, self._schema)

    def _schema(self, name: str) -> Json:
        custom = self._custom.get(name)
        return schemas.builtin(name) if custom is None else custom

    @functools.cached_property
    def _custom(self) -> dict[str, Json]:
        found: dict[str, Json] = {}
        for source in self._sources.values():
            for resource in source.resources:
                version = self._versions.get((resource.group, resource.plural, resource.version))
                if resource.custom and version is not None:
                    found |= schemas.custom(resource, version)
        return found

    def swagger(self) -> Document:
        """/openapi/v2"""
        if self._swagger is None:
            body = orjson.dumps(self._in_v2())
            self._swagger = Document(body, f'"{hashlib.sha512(body).hexdigest().upper()}"')
        return self._swagger

    def swagger_protobuf(self) -> Document:
        """/openapi/v2 in protobuf. NB: both forms have one ETag; what tells them apart is the Accept header."""
        if self._swagger_protobuf is None:
            from kadmit.presentation.openapi import gnostic  # only some clients ask for it

            made = self.swagger()
            self._swagger_protobuf = Document(gnostic.document(orjson.loads(made.body)), made.etag)
        return self._swagger_protobuf

    def _in_v2(self) -> Json:
        paths = {path: found for source in self._sources.values() for path, found in _paths(source).items()}
        definitions = {name: schemas.in_v2(name, schema) for name, schema in self._components(paths).items()}
        return {
            "swagger": "2.0",
            "info": _INFO,
            "paths": {path: _path_in_v2(found) for path, found in sorted(paths.items())},
            "definitions": definitions,
            "securityDefinitions": {"BearerToken": _TOKEN},
            "security": [{"BearerToken": []}],
        }


def _sources(catalog: Catalog) -> dict[str, _Source]:
    """By path without a leading slash. Custom groups have no document of their own, only their versions have."""
    found: dict[str, _Source] = {
        "api": _Source(discovery=("/api", "getCoreAPIVersions", "core", "APIVersions")),
        "apis": _Source(discovery=("/apis", "getAPIVersions", "apis", "APIGroupList")),
    }
    for resource in catalog:
        path, title = operations.root(resource.group, resource.version)
        before = found.get(path[1:], _Source())
        found[path[1:]] = _Source((*before.resources, resource), before.discovery)
        if resource.custom:
            continue
        named = (path, f"get{title}APIResources", operations.tag(resource.group, resource.version), "APIResourceList")
        found[path[1:]] = _Source((*before.resources, resource), named)
        if resource.group:
            name = f"get{title.removesuffix(resource.version.capitalize())}APIGroup"
            group = (f"/apis/{resource.group}", name, operations.tag(resource.group), "APIGroup")
            found[f"apis/{resource.group}"] = _Source(discovery=group)
    return found


def _paths(source: _Source) -> Paths:
    found: Paths = operations.discovery(*source.discovery) if source.discovery else {}
    for resource in source.resources:
        found |= operations.of(resource)
    return found


def _everywhere(source: _Source, found: dict[str, Json]) -> dict[str, Json]:
    """Options and events belong to every group; in its own documents a group says so."""
    group, version = (source.resources[0].group, source.resources[0].version) if source.resources else ("", "")
    if not group or source.custom:
        return found
    for name in (f"io.k8s.{operations.DELETE_OPTIONS}", f"io.k8s.{operations.WATCH_EVENT}"):
        if name in found:
            known = found[name]["x-kubernetes-group-version-kind"]
            also = {"group": group, "kind": name.rpartition(".")[2], "version": version}
            found[name] = {**found[name], "x-kubernetes-group-version-kind": [*known, also]}
    return found


# ---------------------------------------------------------------- writing


def _common(found: list[Operation]) -> tuple[str, ...]:
    """Parameters that all operations of a path have stand there once."""
    shared = set(found[0].parameters).intersection(*(one.parameters for one in found))
    return tuple(sorted(shared, key=_parameter_order))


def _parameter_name(name: str) -> str:
    return name.strip("{}")


def _parameter_order(name: str) -> tuple[str, bool]:
    return _parameter_name(name), not name.startswith("{")


def _path(found: list[Operation]) -> Json:
    common = _common(found)
    made: Json = {one.method: _operation(one, common) for one in found}
    if common:
        made["parameters"] = [_parameter(name) for name in common]
    return made


def _operation(one: Operation, common: tuple[str, ...]) -> Json:
    made: Json = {"tags": [one.tag], "operationId": one.id}
    own = sorted(set(one.parameters).difference(common), key=_parameter_order)
    if own:
        made["parameters"] = [_parameter(name) for name in own]
    if one.body:
        made["requestBody"] = {"content": {media: _content(one.body) for media in sorted(one.consumes)}}
        if one.body_required:
            made["requestBody"]["required"] = True
    made["responses"] = {code: _answer(one, code, schema) for code, schema in one.answers.items()}
    made["responses"]["401"] = {"description": operations.ANSWERS["401"]}
    return {**made, **_extensions(one)}


def _answer(one: Operation, code: str, schema: str) -> Json:
    streamed = one.action in ("list", "watch", "watchlist") and not one.consumes[0].startswith("application/")
    produced = (*one.produces, "application/json;stream=watch") if streamed else one.produces
    return {"description": operations.ANSWERS[code], "content": {media: _content(schema) for media in sorted(produced)}}


def _content(schema: str) -> Json:
    return {"schema": {"$ref": f"{schemas.V3}{schema}"} if schema else {"type": "string"}}


def _extensions(one: Operation) -> Json:
    if not one.action:
        return {}
    group, version, kind = one.gvk
    named = {"group": group, "version": version, "kind": kind}
    return {"x-kubernetes-action": one.action, "x-kubernetes-group-version-kind": named}


def _parameter(name: str) -> Json:
    made: Json = {"name": _parameter_name(name), "in": "path" if name.startswith("{") else "query"}
    if name.startswith("{"):
        made["required"] = True
    return {**made, "schema": {"type": operations.TYPES.get(name, "string"), "uniqueItems": True}}


def _path_in_v2(found: list[Operation]) -> Json:
    common = _common(found)
    made: Json = {one.method: _operation_in_v2(one, common) for one in found}
    if common:
        made["parameters"] = [_parameter_in_v2(name) for name in common]
    return made


def _operation_in_v2(one: Operation, common: tuple[str, ...]) -> Json:
    own = [_parameter_in_v2(name) for name in sorted(set(one.parameters).difference(common), key=_parameter_order)]
    if one.body:
        body: Json = {"name": "body", "in": "body", "schema": {"$ref": f"{schemas.V2}{one.body}"}}
        own.insert(0, {**body, "required": True} if one.body_required else body)
    answers = {code: {"description": operations.ANSWERS[code], "schema": _in_v2(name)} for code, name in one.answers.items()}
    made: Json = {
        "consumes": [*one.consumes],
        "produces": [*one.produces],
        "schemes": ["https"],
        "tags": [one.tag],
        "operationId": one.id,
        "parameters": own,
        "responses": {**answers, "401": {"description": operations.ANSWERS["401"]}},
        **_extensions(one),
    }
    return made if own else {key: value for key, value in made.items() if key != "parameters"}


def _in_v2(schema: str) -> Json:
    return {"$ref": f"{schemas.V2}{schema}"} if schema else {"type": "string"}


def _parameter_in_v2(name: str) -> Json:
    made = _parameter(name)
    return {**made.pop("schema"), **made}


__all__ = ["Document", "OpenApi"]
