"""Field management of whole requests: what a create, update, patch or apply makes of an object's managed fields.

`update` is for writes whose result is known and needs owners; `apply` makes the result. Both take and give objects with
`metadata.managedFields`, never change what they are given, and are told the time. The object that comes out of an apply
may hold nulls where lists lost their last item; decoding it as its kind drops them.
"""

from collections.abc import Callable, Mapping

from msgspec import Struct, field
from msgspec.structs import replace

from kadmit.patch import firstowner, lastapplied, managers, ownership, values
from kadmit.patch.fieldpath import Excluding, Filter, excluding, set_of
from kadmit.patch.managers import Managed, ManagedFieldsError, Manager
from kadmit.patch.ownership import Conflicts, Versions
from kadmit.patch.shapes import Shape
from kadmit.patch.typed import MergeError, Object, validate


class ApplyRefused(Exception):
    """An apply that is wrong as a request (400)."""


class ApplyConflict(Exception):
    """An apply that conflicts with other managers (409): the message, and one cause per field."""

    def __init__(self, conflicts: Conflicts) -> None:
        super().__init__(managers.conflict_message(conflicts))
        self.causes = tuple(managers.conflict_causes(conflicts))


class Scope(Struct, frozen=True):
    """Where a request goes: the kind in the version of the URL, and the subresource.

    `blank` is the kind's new object as its Go type has it: structs that are always written are there, empty, so that their
    creation is nobody's. `shape` and `convert` raise MissingVersion for versions that are not served. `resets` has, per
    version, what may be owned through this endpoint.
    """

    api_version: str
    kind: str
    shape: Callable[[str], Shape]
    convert: Callable[[Object, str], Object]
    blank: Mapping[str, object] = field(default_factory=dict)
    subresource: str = ""
    resets: Mapping[str, Filter] = field(default_factory=dict)

    @property
    def versions(self) -> Versions:
        return Versions(self.shape, self.convert, self.resets)

    def new_object(self) -> Object:
        return {**self.blank, "apiVersion": self.api_version, "kind": self.kind}


_NEVER_OWNED = set_of(
    ("apiVersion",),
    ("kind",),
    ("metadata",),
    *(
        ("metadata", name)
        for name in (
            "name",
            "namespace",
            "creationTimestamp",
            "selfLink",
            "uid",
            "clusterName",
            "generation",
            "managedFields",
            "resourceVersion",
        )
    ),
)

_SELF = Manager("current-operation", managers.UPDATE)
"""Stands for the updater while it works, so that what it takes now is told from what it has."""

_BEFORE_FIRST_APPLY = "before-first-apply"


# -- updates ------------------------------------------------------------------------------------------------------------


def update(scope: Scope, live: Object | None, new: Object, *, manager: str, now: str) -> Object:
    """The new object with its managed fields; `live` is None on create. What cannot be tracked is left without entries."""
    bare = _with_entries(new, None)
    if live is None and (created := _created(scope, new, bare, manager=manager, now=now)) is not None:
        return created
    before = scope.new_object() if live is None else live
    try:
        managed = _live_or_new(before, new, from_live=bool(scope.subresource))
        if not managed.fields and _metadata(before).get("uid"):
            return bare  # Nobody has managed this object so far, and an update is not where it starts.
        return _with_managed(bare, _updated(scope, before, bare, managed, manager=manager, now=now))
    except (MergeError, ManagedFieldsError, ownership.MissingVersion):
        return bare


def _created(scope: Scope, new: Object, bare: Object, *, manager: str, now: str) -> Object | None:
    """The short way of a create: its creator owns all of it. None where the long way must be taken."""
    sent, keep = _metadata(new).get("managedFields"), scope.resets.get(scope.api_version, _ALL)
    if scope.subresource or not isinstance(keep, Excluding) or (sent and not managers.is_reset(sent)):
        return None
    try:
        shape = scope.shape(scope.api_version)
        fields = firstowner.fields_of(shape, scope.blank, bare, never=_NEVER_OWNED, excluded=keep.paths)
    except (firstowner.Unusual, ownership.MissingVersion):
        return None
    if not fields:
        return bare
    entry = {"manager": manager or managers.UNKNOWN, "operation": managers.UPDATE, "apiVersion": scope.api_version}
    if now:
        entry["time"] = now
    whole = {**entry, "fieldsType": "FieldsV1", "fieldsV1": fields}
    return {**bare, "metadata": {**_metadata(bare), "managedFields": [whole]}}


_ALL = excluding()


def _live_or_new(live: Object, new: Object, *, from_live: bool) -> Managed:
    """Whose entries count: the client's, if it sent any that can be read, or the stored ones; a reset forgets both."""
    entries = None if from_live else _metadata(new).get("managedFields")
    if managers.is_reset(entries):
        return Managed()
    try:
        managed = managers.decode(entries)
    except ManagedFieldsError:
        managed = Managed()
    return managed if managed.fields else _readable(live)


def _readable(live: Object) -> Managed:
    try:
        return managers.decode(_metadata(live).get("managedFields"))
    except ManagedFieldsError:
        return Managed()


def _updated(scope: Scope, live: Object, new: Object, managed: Managed, *, manager: str, now: str) -> Managed:
    versions, version = scope.versions, scope.api_version
    before = versions.converted(live, version)
    fields = ownership.update(versions, before, new, managers=managed.fields, manager=_SELF, api_version=version)
    taken = fields.pop(_SELF, None)
    times = {owner: time for owner, time in managed.times.items() if owner in fields}
    paths = taken and taken.paths - _NEVER_OWNED
    if taken and paths:
        itself = managers.updater(manager, version, scope.subresource)
        fields[itself] = replace(taken, paths=paths | fields[itself].paths if itself in fields else paths)
        times[itself] = now
    return managers.capped(Managed(fields, times))


# -- applies ------------------------------------------------------------------------------------------------------------


def apply(scope: Scope, live: Object | None, config: Object, *, manager: str, force: bool = False, now: str) -> Object:
    """The object with the configuration applied; `live` is None if it is to be created.

    Raises ApplyConflict, ApplyRefused, or MergeError when the configuration does not fit its kind.
    """
    before = scope.new_object() if live is None else live
    try:
        managed = managers.decode(_metadata(before).get("managedFields"))
    except ManagedFieldsError as error:
        raise MergeError(f"failed to decode managed fields: {error}") from None
    _check_type(scope, config)
    managed = managed if managed.fields else _managed_before(scope, before, now=now)
    before = scope.versions.converted(before, scope.api_version)
    result, managed = _applied_as(scope, before, config, managed, manager=manager, force=force, now=now)
    if manager == lastapplied.MANAGER and lastapplied.annotation_of(result):
        result = lastapplied.with_last_applied(result, config)
    return _with_managed(result, managed)


def _check_type(scope: Scope, config: Object) -> None:
    if (config.get("apiVersion"), config.get("kind")) != (scope.api_version, scope.kind):
        raise ApplyRefused(f"invalid object type: {kind_text(config)}")


def _managed_before(scope: Scope, live: Object, *, now: str) -> Managed:
    """An object that nobody has managed belongs to one manager for all before it is applied to."""
    bare = scope.versions.converted(_with_entries(live, None), scope.api_version)
    return _updated(scope, scope.new_object(), bare, Managed(), manager=_BEFORE_FIRST_APPLY, now=now)


def _applied_as(
    scope: Scope, live: Object, config: Object, managed: Managed, *, manager: str, force: bool, now: str
) -> tuple[Object, Managed]:
    """Applies; `kubectl` takes over without force what its client-side predecessor owned."""
    try:
        return _applied(scope, live, config, managed, manager=manager, force=force, now=now)
    except Conflicts as conflicts:
        if manager != lastapplied.MANAGER:
            raise ApplyConflict(conflicts) from None
        allowed = lastapplied.owned_by_client(live, scope.shape(scope.api_version), scope.api_version)
        remaining = [conflict for conflict in conflicts.conflicts if conflict.path not in allowed]
        if remaining:
            raise ApplyConflict(Conflicts(remaining)) from None
    return _applied(scope, live, config, managed, manager=manager, force=True, now=now)


def _applied(
    scope: Scope, live: Object, config: Object, managed: Managed, *, manager: str, force: bool, now: str
) -> tuple[Object, Managed]:
    _check_config(scope, config)
    itself = managers.applier(manager, scope.subresource)
    result, fields = ownership.apply(
        scope.versions, live, config, managers=managed.fields, manager=itself, api_version=scope.api_version, force=force
    )
    if itself in fields:
        paths = fields[itself].paths - _NEVER_OWNED
        fields[itself] = replace(fields[itself], paths=paths)
        if not paths:
            del fields[itself]
    times = dict(managed.times) if result is None else {**managed.times, itself: now}
    return (live if result is None else result), Managed(
        fields, {owner: time for owner, time in times.items() if owner in fields}
    )


def _check_config(scope: Scope, config: Object) -> None:
    if isinstance(_metadata(config).get("managedFields"), list):
        raise ApplyRefused("metadata.managedFields must be nil")
    shape = scope.shape(scope.api_version)
    try:
        validate(shape, config)
    except MergeError:
        _refuse_as_decoded(shape, config)


def _refuse_as_decoded(shape: Shape, config: Object) -> None:
    """Refusals print numbers as the floats that YAML gives them there."""
    try:
        validate(shape, _with_floats(config))
    except MergeError as error:
        metadata = _metadata(config)
        named = (metadata.get(key) for key in ("namespace", "name"))
        where = f"{'/'.join(text if isinstance(text, str) else '' for text in named)}; {kind_text(config)}"
        raise MergeError(f"failed to create typed patch object ({where}): {error}") from None


def _with_floats(value: object) -> object:
    if isinstance(value, dict):
        return {name: _with_floats(item) for name, item in value.items()}
    if isinstance(value, list):
        return [_with_floats(item) for item in value]
    return float(value) if type(value) is int else value


# -- objects and their entries ------------------------------------------------------------------------------------------


def kind_text(value: Mapping[str, object]) -> str:
    """`apps/v1, Kind=Deployment`; the core group is empty: `/v1, Kind=Pod`."""
    api_version, kind = value.get("apiVersion"), value.get("kind")
    version = api_version if isinstance(api_version, str) else ""
    return f"{version if '/' in version else '/' + version}, Kind={kind if isinstance(kind, str) else ''}"


def _metadata(value: Mapping[str, object]) -> Mapping[str, object]:
    metadata = value.get("metadata")
    return metadata if isinstance(metadata, dict) else {}


def _with_managed(value: Object, managed: Managed) -> Object:
    return _with_entries(value, managers.encode(managed) or None)


def _with_entries(value: Object, entries: list[dict[str, object]] | None) -> Object:
    metadata = _metadata(value)
    if entries is None and "managedFields" not in metadata:
        return value
    others = {name: part for name, part in metadata.items() if name != "managedFields"}
    return {**value, "metadata": others if entries is None else {**others, "managedFields": entries}}


def keep_times(new: Object, old: Object) -> Object:
    """The new object with the old one's times, if nothing but times differs: no write is made of that."""
    entries, before = _metadata(new).get("managedFields"), _metadata(old).get("managedFields")
    if not entries or not before or entries == before:
        return new
    if not values.equal(_timeless(entries), _timeless(before)):
        return new
    return old if values.equal(_with_entries(new, None), _with_entries(old, None)) else new


def _timeless(entries: object) -> list[object]:
    return [
        {name: part for name, part in entry.items() if name != "time"} if isinstance(entry, dict) else entry
        for entry in (entries if isinstance(entries, list) else ())
    ]


_LONGEST_MANAGER = 128


def manager_name(field_manager: str, user_agent: str) -> str:
    """The manager that a request names, or else the program in its User-Agent."""
    if field_manager:
        return field_manager
    name, size = "", 0
    for char in filter(str.isprintable, user_agent.split("/")[0]):
        size += len(char.encode())
        if size > _LONGEST_MANAGER:
            break
        name += char
    return name
