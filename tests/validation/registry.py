"""A registry without HTTP: as much of a server as it takes to ask validation what it thinks of the recorded requests."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import orjson
from tests.validation.rbac import USERS, Roles

from kadmit import validation
from kadmit.api import errors, registration
from kadmit.api.errors import ApiError
from kadmit.api.meta import GroupVersionKind, parse_api_version
from kadmit.kinds import catalog, decoding, metadata, schema
from kadmit.validation import authorization

Json = dict[str, Any]
NOW = "2026-01-01T00:00:00Z"


def kind_of(obj: Mapping[str, Any]) -> GroupVersionKind:
    """Nothing's, for a body that names none."""
    try:
        return GroupVersionKind(*parse_api_version(obj.get("apiVersion", "")), obj.get("kind", ""))
    except ValueError:
        return GroupVersionKind("", "", "")


def decoded(obj: Mapping[str, Any]) -> Json:
    """As the server holds it; objects of versions that it does not have stay as they are."""
    kind = kind_of(obj)
    found = schema.for_kind(kind)
    made = dict(obj) if found is None else decoding.decode(found, orjson.dumps(obj)).object
    meta = {field: value for field, value in (made.get("metadata") or {}).items() if field != "managedFields"}
    return registration.with_defaults(kind, {**made, "metadata": meta})


@dataclass(slots=True)
class Registry:
    objects: dict[tuple[str, str], Json] = field(default_factory=dict)
    roles: list[Json] = field(default_factory=list)

    def resource(self, kind: GroupVersionKind) -> str | None:
        found = catalog.builtin().kind(*kind)
        return None if found is None else found.plural

    def policy(self, kind: str, name: str) -> Json | None:
        return self.objects.get((kind, name))

    def create(self, obj: Mapping[str, Any], *, user: str = "admin", dry_run: bool = False) -> Json:
        """The object as it was created; raises ApiError."""
        made = registration.as_created(_named(decoded(obj)))
        self._settle(validation.validate_create(kind_of(obj), made), made, None, user)
        return made if dry_run else self.put(made)

    def update(self, obj: Mapping[str, Any], *, user: str = "admin", dry_run: bool = False) -> Json:
        old = self.objects[obj["kind"], obj["metadata"]["name"]]
        new = decoded(obj)
        kept = {**new, "metadata": metadata.kept_on_update(new["metadata"], old["metadata"], namespaced=False)}
        made = registration.as_updated(kept, old)
        self._settle(validation.validate_update(kind_of(obj), made, old), made, old, user)
        return made if dry_run else self.put(made)

    def update_status(self, obj: Mapping[str, Any]) -> Json:
        old = self.objects[obj["kind"], obj["metadata"]["name"]]
        made = registration.with_status_updated(decoded(obj), old)
        found = validation.validate_status_update(kind_of(obj), made, old)
        if found:
            raise errors.invalid(kind_of(obj).group_kind, made["metadata"]["name"], found)
        return self.put(made)

    def delete(self, kind: str, name: str) -> None:
        """An object with finalizers only begins to go."""
        obj = self.objects.pop((kind, name))
        meta = obj["metadata"]
        if meta.get("finalizers"):
            going = {"deletionTimestamp": NOW, "deletionGracePeriodSeconds": 0, "generation": meta["generation"] + 1}
            self.put({**obj, "metadata": {**meta, **({} if "deletionTimestamp" in meta else going)}})

    def put(self, obj: Json) -> Json:
        """What the server adds comes first, so that an object that has it keeps it."""
        meta = {"resourceVersion": "1", "uid": "u-1", "creationTimestamp": NOW, **obj["metadata"]}
        if meta.get("finalizers") or "deletionTimestamp" not in meta:
            self.objects[obj["kind"], meta["name"]] = {**obj, "metadata": meta}
        else:
            self.objects.pop((obj["kind"], meta["name"]), None)
        return {**obj, "metadata": meta}

    def _settle(self, found: list[Any], new: Json, old: Json | None, user: str) -> None:
        if not found:
            found = authorization.authorize(USERS[user], new, old, authorizer=Roles(self.roles), registry=self)
        if found:
            raise errors.invalid(kind_of(new).group_kind, new["metadata"].get("name") or "", found)


def _named(obj: Json) -> Json:
    meta = metadata.cleared_on_create(obj.get("metadata") or {}, namespaced=False)
    if meta.get("name") or not meta.get("generateName"):
        return {**obj, "metadata": meta}
    return {**obj, "metadata": {**meta, "name": meta["generateName"] + "x7k2p"}}


def status_of(error: ApiError) -> Json:
    return error.status.as_json()
