"""Entries of `metadata.managedFields`: reading, writing, ordering them, and keeping their number down.

A manager is known by name, operation, version and subresource together; an applier without its version, so that it
stays the same manager when it moves on to a newer one. Times are texts as the API has them and come from the caller.
"""

import datetime
import json
from collections.abc import Mapping, Sequence

from msgspec import Struct, field
from msgspec.structs import replace

from kadmit.patch import fieldsv1, gotext, values
from kadmit.patch.fieldpath import path_text
from kadmit.patch.ownership import Conflicts, Owned

APPLY, UPDATE = "Apply", "Update"
UNKNOWN = "unknown"


class ManagedFieldsError(Exception):
    """Entries that cannot be read."""


class Manager(Struct, frozen=True):
    name: str
    operation: str
    api_version: str = ""
    subresource: str = ""

    @property
    def identifier(self) -> str:
        """Sorts managers as Kubernetes does, which keeps them as a JSON text."""
        parts = {
            "manager": self.name,
            "operation": self.operation,
            "apiVersion": self.api_version,
            "subresource": self.subresource,
        }
        return json.dumps({name: part for name, part in parts.items() if part}, ensure_ascii=False, separators=(",", ":"))

    @property
    def text(self) -> str:
        """As conflicts name it: `"editor" using v1`, `"kubectl" with subresource "status" using apps/v1`."""
        text = gotext.quote(self.name)
        if self.subresource:
            text += f" with subresource {gotext.quote(self.subresource)}"
        return f"{text} using {self.api_version}" if self.operation == UPDATE else text


def applier(name: str, subresource: str = "") -> Manager:
    return Manager(name or UNKNOWN, APPLY, "", subresource)


def updater(name: str, api_version: str, subresource: str = "") -> Manager:
    return Manager(name or UNKNOWN, UPDATE, api_version, subresource)


class Managed(Struct, frozen=True):
    """Everybody's fields, and when each manager last changed something (a manager may have no time)."""

    fields: Mapping[Manager, Owned] = field(default_factory=dict)
    times: Mapping[Manager, str] = field(default_factory=dict)


def is_reset(entries: object) -> bool:
    """Whether a client asks to forget all managers: with `[]`, or with one empty entry."""
    return isinstance(entries, list) and (entries in ([], [{}]))


def decode(entries: object) -> Managed:
    """The managers that the entries tell of; the last of several entries for one manager counts."""
    fields: dict[Manager, Owned] = {}
    times: dict[Manager, str] = {}
    for position, entry in enumerate(entries if isinstance(entries, Sequence) else ()):
        manager, owned, time = _decoded(position, entry if isinstance(entry, Mapping) else {})
        fields[manager] = owned
        times.pop(manager, None)
        if time:
            times[manager] = time
    return Managed(fields, times)


def _decoded(position: int, entry: Mapping[str, object]) -> tuple[Manager, Owned, str]:
    operation, api_version, fields_type = _text(entry, "operation"), _text(entry, "apiVersion"), _text(entry, "fieldsType")
    if operation not in (APPLY, UPDATE):
        raise ManagedFieldsError("operation must be `Apply` or `Update`")
    if not api_version:
        raise ManagedFieldsError("apiVersion must not be empty")
    if not fields_type:
        raise ManagedFieldsError(f"missing fieldsType in managed fields entry {position}")
    if fields_type != "FieldsV1":
        raise ManagedFieldsError(f"invalid fieldsType {gotext.quote(fields_type)} in managed fields entry {position}")
    try:
        paths = fieldsv1.decode(entry.get("fieldsV1") or {})
    except fieldsv1.FieldsError as error:
        raise ManagedFieldsError(
            f"error decoding versioned set from {values.text(dict(entry))}: error decoding set: {error}"
        ) from None
    applied = operation == APPLY
    manager = Manager(_text(entry, "manager"), operation, "" if applied else api_version, _text(entry, "subresource"))
    return manager, Owned(paths, api_version, applied), _text(entry, "time")


def _text(entry: Mapping[str, object], name: str) -> str:
    found = entry.get(name)
    return found if isinstance(found, str) else ""


def encode(managed: Managed) -> list[dict[str, object]]:
    """The entries in Kubernetes' order: appliers first, then by time, name, version and subresource."""
    ordered = sorted(managed.fields.items(), key=lambda item: _position(managed, *item))
    return [
        entry(manager, owned.api_version, fieldsv1.encode(owned.paths), managed.times.get(manager, ""), applied=owned.applied)
        for manager, owned in ordered
    ]


def _position(managed: Managed, manager: Manager, owned: Owned) -> tuple[str, int, str, str, str]:
    seconds = seconds_of(managed.times.get(manager, ""))
    return (_operation(manager, owned), seconds, manager.name, owned.api_version, manager.subresource)


def _operation(manager: Manager, owned: Owned) -> str:
    return APPLY if owned.applied else manager.operation


def entry(
    manager: Manager, api_version: str, fields: Mapping[str, object], time: str, *, applied: bool = False
) -> dict[str, object]:
    """One entry; what is empty is left out."""
    made = {
        "manager": manager.name,
        "operation": APPLY if applied else manager.operation,
        "apiVersion": api_version,
        "time": time,
        "fieldsType": "FieldsV1",
        "fieldsV1": fields,
        "subresource": manager.subresource,
    }
    return {name: part for name, part in made.items() if part != ""}


def seconds_of(time: str) -> int:
    """A time as whole seconds; none, or one that cannot be read, is the oldest."""
    try:
        return int(datetime.datetime.fromisoformat(time).timestamp()) if time else 0
    except ValueError:
        return 0


MOST_UPDATERS = 10
_ANCIENT = "ancient-changes"


def capped(managed: Managed) -> Managed:
    """At most ten entries by updates: the oldest of one version are merged into one entry."""
    fields, times = dict(managed.fields), dict(managed.times)
    updaters = [manager for manager, owned in fields.items() if not owned.applied]
    excess = len(updaters) - MOST_UPDATERS
    if excess <= 0:
        return managed
    updaters.sort(key=lambda manager: (seconds_of(times.get(manager, "")), manager.identifier))
    first: dict[str, Manager] = {}
    for manager in updaters:
        if not excess:
            break
        owned = fields[manager]
        bucket = updater(_ANCIENT, owned.api_version)
        if owned.api_version not in first:
            first[owned.api_version] = manager
            continue
        if bucket not in fields:
            fields[bucket] = fields.pop(first[owned.api_version])
        older = fields[bucket]
        if manager != bucket:
            del fields[manager]
        fields[bucket] = replace(owned, paths=owned.paths | older.paths)
        excess -= 1
        if manager in times:
            times[bucket] = times[manager]
    return Managed(fields, {manager: time for manager, time in times.items() if manager in fields})


class ConflictCause(Struct, frozen=True):
    """One conflict as the Status of a refused apply lists it."""

    message: str
    field: str


def conflict_causes(conflicts: Conflicts) -> list[ConflictCause]:
    return [ConflictCause(f"conflict with {manager.text}", path) for manager, path in _listed(conflicts)]


def conflict_message(conflicts: Conflicts) -> str:
    """Kubernetes' text, in which each manager is named once and its fields are listed below."""
    listed = _listed(conflicts)
    if len(listed) == 1:
        return f"Apply failed with 1 conflict: conflict with {listed[0][0].text}: {listed[0][1]}"
    by_manager: dict[Manager, list[str]] = {}
    for manager, path in listed:
        by_manager.setdefault(manager, []).append(f"- {path}")
    lines = [line for manager, paths in by_manager.items() for line in (f"conflicts with {manager.text}:", *paths)]
    return f"Apply failed with {len(listed)} conflicts: " + "\n".join(lines)


def _listed(conflicts: Conflicts) -> list[tuple[Manager, str]]:
    found = [
        (conflict.manager, path_text(conflict.path)) for conflict in conflicts.conflicts if isinstance(conflict.manager, Manager)
    ]
    return sorted(found, key=lambda item: item[0].identifier)
