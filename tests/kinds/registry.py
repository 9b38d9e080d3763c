"""The part of an API server that kinds make up, in memory: decode, defaults, preparation, rules. No admission, no HTTP.

It answers recorded conversations as far as they are about objects: creates, updates and patches. What else a step holds
(`NotHere`) is not asked for.
"""

import json
import re
from typing import Any, TypeAlias

from kadmit.api import errors
from kadmit.api.meta import GroupResource, GroupVersionKind, parse_api_version
from kadmit.kinds import allocation, custom, hub, metadata, patchmeta, rules, strategy
from kadmit.kinds.catalog import Resource
from kadmit.kinds.decoding import DecodeError, kind_of
from kadmit.kinds.known import Known
from kadmit.patch import jsonpatch, mergepatch, strategic

Json: TypeAlias = Any
Object: TypeAlias = dict[str, Json]

NAMESPACE = "ns"
UID = "11111111-2222-3333-4444-555555555555"
_PATH = re.compile(r"/api(?:s/([^/]+))?/([^/]+)(?:/namespaces/([^/]+)(?=/))?/([^/]+)(?:/([^/]+))?(?:/([^/]+))?")


class NotHere(Exception):
    """A step that needs more than this."""


def _fits(resource: Resource, body: Object, namespace: str | None, name: str | None) -> bool:
    """Whether a body belongs to the path that it is sent to; if not, that is HTTP's concern."""
    meta = body.get("metadata") or {}
    if not isinstance(meta, dict):
        return True
    same_name = name is None or meta.get("name") == name
    same_place = not resource.namespaced or meta.get("namespace") in (None, "", namespace)
    return same_name and same_place


class Registry:
    """Objects by kind and name, as they are stored."""

    def __init__(self) -> None:
        self.objects: dict[tuple[str, str, str, str], Object] = {}
        self.definitions: dict[str, Object] = {}
        self.known = Known()
        self.pool = allocation.Pool()

    # ------------------------------------------------------------ steps

    def answer(self, step: Object) -> tuple[int, Json]:
        """Status code and body of what the step asks."""
        try:
            return self._answer(step)
        except errors.ApiError as error:
            return error.status.code, error.status.as_json()

    def _answer(self, step: Object) -> tuple[int, Json]:
        if "create" in step:
            if (step["create"].get("metadata") or {}).get("resourceVersion"):
                raise NotHere  # the store's to refuse
            return 201, self.create(step["create"])
        if "update" in step:
            resource = self._resource(step["update"])
            return 200, self.update(resource, step["update"])
        send = step.get("send") or {}
        match = _PATH.fullmatch(send.get("path", ""))
        if not match or send.get("query") or step.get("query") or send.get("method") not in ("POST", "PUT", "PATCH"):
            raise NotHere
        return self._send(send, match)

    def _send(self, send: Object, match: "re.Match[str]") -> tuple[int, Json]:
        group, version, _, plural, name, subresource = match.groups()
        resource = self.known.catalog.resource(group or "", version, plural)
        if resource is None or not isinstance(send.get("body"), dict | list | str):
            raise NotHere
        if send["method"] == "PATCH":
            return 200, self._patch(resource, name, send["contentType"], send["body"], subresource or "")
        if not isinstance(send["body"], dict) or subresource or not _fits(resource, send["body"], match[3], name):
            raise NotHere
        if send["method"] == "POST":
            return 201, self.create(send["body"], resource)
        return 200, self.update(resource, send["body"])

    # ------------------------------------------------------------ verbs

    def create(self, value: Object, resource: Resource | None = None) -> Object:
        found = resource or self._resource(value)
        gvk = self._gvk(found, value)
        decoded = self._decode(found, value)
        meta = metadata.cleared_on_create(decoded.get("metadata") or {}, namespaced=found.namespaced)
        if found.namespaced:
            meta.setdefault("namespace", NAMESPACE)
        decoded = {**decoded, "metadata": {**meta, "uid": UID, "creationTimestamp": "2024-01-02T03:04:05Z"}}
        made, wrong = self._allocated(found, decoded, None)
        if not wrong:
            own = found if found.custom else None
            made = strategy.prepare_for_create(gvk, made, custom=own)
            wrong = self._new_errors(found, made)
        self._refuse(gvk, made, wrong)
        key = self._key(found, made)
        if key in self.objects:
            raise errors.already_exists(_group_resource(found), key[3])
        stored = self._store(found, made)
        if found.kind == "CustomResourceDefinition":
            self.objects[key] = _established(stored)
        return stored

    def update(self, resource: Resource, value: Object) -> Object:
        key = self._key(resource, value)
        old = self.objects.get(key)
        if old is None:
            raise NotHere
        given = dict(value.get("metadata") or {})
        given.setdefault("resourceVersion", "1")
        return self._replace(resource, self._decode(resource, {**value, "metadata": given}), old, "")

    def _patch(self, resource: Resource, name: str, content_type: str, patch: Json, subresource: str) -> Object:
        key = (resource.group, resource.plural, NAMESPACE if resource.namespaced else "", name)
        old = self.objects.get(key)
        if old is None:
            raise NotHere
        current = {**old, "metadata": {**old["metadata"], "resourceVersion": "1"}}
        if content_type.startswith("application/json-patch"):
            changed: Json = jsonpatch.decode(patch).apply(current)
        elif content_type.startswith("application/merge-patch"):
            changed = mergepatch.apply(current, patch)
        else:
            shape = patchmeta.for_kind(resource.gvk)
            if shape is None:
                raise NotHere
            changed = strategic.apply(current, patch, shape)
        return self._replace(resource, self._decode(resource, changed), old, subresource)

    def _replace(self, resource: Resource, new: Object, old: Object, subresource: str) -> Object:
        gvk = GroupVersionKind(*resource.gvk)
        meta = dict(new.get("metadata") or {})
        if resource.namespaced:
            meta.setdefault("namespace", NAMESPACE)
        made, wrong = self._allocated(resource, {**new, "metadata": meta}, old)
        if not wrong:
            own = resource if resource.custom else None
            made = strategy.prepare_for_update(gvk, made, old, subresource, custom=own)
            wrong = self._change_errors(resource, made, old, subresource)
        self._refuse(gvk, made, wrong)
        return self._store(resource, made)

    # ------------------------------------------------------------ their parts

    def _decode(self, resource: Resource, value: Object) -> Object:
        gvk = GroupVersionKind(*resource.gvk)
        named = {"apiVersion": resource.api_version, "kind": resource.kind, **value}
        if not resource.custom and kind_of(named) != resource.gvk:
            raise NotHere
        try:
            decoded = self.known.decode(gvk, json.dumps(named).encode())
            return hub.through(gvk, decoded.object)
        except DecodeError as error:
            kind, version = named["kind"], resource.version
            raise errors.bad_request(f'{kind} in version "{version}" cannot be handled as a {resource.kind}: {error}') from None

    def _allocated(self, resource: Resource, new: Object, old: Object | None) -> tuple[Object, list[Json]]:
        if resource.gvk != ("", "v1", "Service"):
            return new, []
        return allocation.allocate(new, old, self.pool)

    def _new_errors(self, resource: Resource, value: Object) -> list[Json]:
        kind = self.known.custom.get(resource.gvk)
        if kind is not None:
            return custom.validate_create(kind, value)
        return rules.validate_create(GroupVersionKind(*resource.gvk), value)

    def _change_errors(self, resource: Resource, new: Object, old: Object, subresource: str) -> list[Json]:
        kind = self.known.custom.get(resource.gvk)
        before = {**old, "metadata": {**old["metadata"], "resourceVersion": "1"}}
        if kind is not None:
            return custom.validate_update(kind, new, before, subresource)
        return rules.validate_update(GroupVersionKind(*resource.gvk), new, before, rules.Context(subresource=subresource))

    def _refuse(self, gvk: GroupVersionKind, value: Object, wrong: list[Json]) -> None:
        if wrong:
            kind = gvk._replace(kind=value.get("kind") or gvk.kind).group_kind
            raise errors.invalid(kind, (value.get("metadata") or {}).get("name") or "", wrong)

    def _store(self, resource: Resource, value: Object) -> Object:
        """What comes out of a store is decoded again, and gets defaults again."""
        meta = {key: member for key, member in value["metadata"].items() if key != "resourceVersion"}
        value = self.known.normalise(GroupVersionKind(*resource.gvk), {**value, "metadata": meta}).object
        self.objects[self._key(resource, value)] = value
        if resource.kind == "CustomResourceDefinition":
            self.definitions[meta["name"]] = value
            self.known = Known(self.definitions.values())
        if resource.gvk == ("", "v1", "Service"):
            self.pool = allocation.taken(self.pool, (o for key, o in self.objects.items() if key[1] == "services"))
        return value

    def _resource(self, value: Object) -> Resource:
        group, version = parse_api_version(value["apiVersion"])
        found = self.known.catalog.kind(group, version, value["kind"])
        if found is None:
            raise NotHere
        return found

    def _gvk(self, resource: Resource, value: Object) -> GroupVersionKind:
        return GroupVersionKind(*resource.gvk)

    def _key(self, resource: Resource, value: Object) -> tuple[str, str, str, str]:
        name = (value.get("metadata") or {}).get("name") or ""
        return (resource.group, resource.plural, NAMESPACE if resource.namespaced else "", name)


def _established(definition: Object) -> Object:
    """What a controller makes of a new definition."""
    condition = {"type": "Established", "status": "True", "lastTransitionTime": None, "reason": "InitialNamesAccepted"}
    return {**definition, "status": {**definition["status"], "conditions": [condition]}}


def _group_resource(resource: Resource) -> GroupResource:
    return GroupResource(resource.group, resource.plural)
