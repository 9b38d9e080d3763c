"""Managed fields for the kinds of a server: which shapes and versions structured merge may ask for."""

from typing import Any

from kadmit.api.meta import GroupVersionKind, parse_api_version
from kadmit.kinds import blanks, shapes
from kadmit.kinds.conversion import UnknownConversion
from kadmit.kinds.known import Known
from kadmit.matching.attributes import Json
from kadmit.patch import managedfields, managers
from kadmit.patch.managedfields import Scope
from kadmit.patch.managers import ManagedFieldsError
from kadmit.patch.ownership import MissingVersion
from kadmit.patch.shapes import Shape
from kadmit.resources.context import Context, Target, metadata_of, with_metadata


def scope(known: Known, target: Target) -> Scope:
    """Where a request's fields are owned; made once for each kind and part of it."""
    key = (Scope, target.resource.gvk, target.subresource)
    found: Scope | None = known.remembered.get(key)
    if found is None:
        found = known.remembered[key] = _scope(known, target)
    return found


def _scope(known: Known, target: Target) -> Scope:
    """NB: who writes a Scale owns a field of the whole object."""
    kind = GroupVersionKind(*target.resource.gvk) if target.subresource == "scale" else target.kind

    def in_version(api_version: str) -> GroupVersionKind:
        group_version = parse_api_version(api_version)
        wanted = GroupVersionKind(group_version.group, group_version.version, kind.kind)
        if known.kind(wanted) is None and wanted != kind:
            raise MissingVersion(api_version)
        return wanted

    made: dict[str, Shape] = {}

    def shape(api_version: str) -> Shape:
        found = made.get(api_version)
        if found is None:
            wanted = in_version(api_version)
            # NB: what is only ever posted to a part (an Eviction) is owned, though no policy can apply a configuration to it.
            found = known.shape(wanted) or (shapes.for_kind(kind) if wanted == kind and target.subresource else None)
            if found is None:
                raise MissingVersion(api_version)
            made[api_version] = found
        return found

    def convert(value: dict[str, Any], api_version: str) -> dict[str, Any]:
        return known.convert(value, in_version(api_version))

    return Scope(
        api_version=str(kind.group_version),
        kind=kind.kind,
        shape=shape,
        convert=convert,
        blank=blanks.blank(kind),
        subresource=target.subresource,
        resets=blanks.resets(target.resource.gvk, target.subresource),
    )


def own(context: Context, target: Target, live: Json | None, new: Json) -> Json:
    """The new object with its managed fields, as a create, update or patch leaves them."""
    where = scope(context.known, target)
    try:
        return managedfields.update(where, live, new, manager=context.options.manager, now=context.given.now)
    except UnknownConversion:  # NB: an object that says to be of another version is refused later, and owned by nobody
        return new


def intact(context: Context, before: Json | None, mutated: Json) -> Json:
    """A mutated object. Managed fields that a mutation left unreadable are put back as they were, with a warning."""
    old, new = metadata_of(before or {}).get("managedFields"), metadata_of(mutated).get("managedFields")
    if new is old:
        return mutated
    try:
        managers.decode(new)
    except ManagedFieldsError as error:
        context.record.warn(f"{_UNREADABLE}: {error}")
        return with_metadata(mutated, managedFields=old)
    return mutated


_UNREADABLE = (
    ".metadata.managedFields was in an invalid state after admission; "
    "this could be caused by an outdated mutating admission controller; please fix your requests"
)


def timeless(new: Json, live: Json) -> Json:
    """NB: who first writes a Scale owns its field since no time at all, and so comes first."""
    metadata = new.get("metadata") or {}
    known = {_entry(e) for e in (live.get("metadata") or {}).get("managedFields") or ()}
    entries = [
        {k: v for k, v in e.items() if k != "time" or _entry(e) in known or e.get("subresource") != "scale"}
        for e in metadata.get("managedFields") or ()
    ]
    entries.sort(key=lambda e: (e.get("operation") or "", e.get("time") or "", e.get("manager") or ""))
    return {**new, "metadata": {**metadata, "managedFields": entries}} if entries else new


def _entry(entry: Json) -> tuple[Any, ...]:
    return tuple(entry.get(k) for k in ("manager", "operation", "apiVersion", "subresource"))
