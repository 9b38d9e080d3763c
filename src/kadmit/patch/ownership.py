"""Who owns which fields of an object, and how an update or an apply changes that.

An updater takes what it changes. An applier owns what it mentions: a different value in somebody else's field is a
conflict unless forced, and what it mentioned before and no longer does is removed if nobody else owns it. Managers may
have worked in different versions of a kind, so every comparison is made in the manager's version.
"""

from collections.abc import Callable, Iterable, Mapping
from typing import TypeAlias, TypeVar, cast

from msgspec import Struct, field

from kadmit.patch import values
from kadmit.patch.compare import Comparison, compare
from kadmit.patch.fieldpath import EMPTY, Filter, Path, Set
from kadmit.patch.merge import merge
from kadmit.patch.reconcile import reconciled, with_named_fields
from kadmit.patch.removal import remove_items
from kadmit.patch.shapes import Shape
from kadmit.patch.typed import MergeError, Object, to_field_set

Name = TypeVar("Name")


class MissingVersion(Exception):
    """The kind is not served in this version, any more or at all. Managers of such versions are forgotten."""


class Owned(Struct, frozen=True):
    """What one manager owns, in which version of the kind, and whether by applying."""

    paths: Set
    api_version: str
    applied: bool


Managers: TypeAlias = Mapping[Name, Owned]


class Versions(Struct, frozen=True):
    """What ownership must know of a kind's versions. `convert` and `shape` raise MissingVersion for one that is not served.

    `resets` has, per version, what of a set may be owned through the endpoint in use.
    """

    shape: Callable[[str], Shape]
    convert: Callable[[Object, str], Object]
    resets: Mapping[str, Filter] = field(default_factory=dict)

    def converted(self, value: Object, api_version: str) -> Object:
        return value if value.get("apiVersion") == api_version else self.convert(value, api_version)

    def allowed(self, paths: Set, api_version: str) -> Set:
        keep = self.resets.get(api_version)
        return paths if keep is None else keep(paths)

    def compare(self, before: Object, after: Object, api_version: str) -> Comparison:
        shape = self.shape(api_version)
        found = compare(shape, self.converted(before, api_version), self.converted(after, api_version))
        return found.filtered(self.resets.get(api_version))


class Conflict(Struct, frozen=True):
    manager: object
    path: Path


class Conflicts(Exception):
    """An apply that would change fields of other managers."""

    def __init__(self, conflicts: Iterable[Conflict]) -> None:
        self.conflicts = tuple(conflicts)
        super().__init__(f"{len(self.conflicts)} conflicts")


def update(
    versions: Versions, live: Object, new: Object, *, managers: Managers[Name], manager: Name, api_version: str
) -> dict[Name, Owned]:
    """The managers after an update of `live` to `new`, both in `api_version`."""
    current = _reconciled(versions, live, managers)
    found, left = _settled(versions, live, new, managers=current, manager=manager, api_version=api_version, force=True)
    previous = left[manager].paths if manager in left else EMPTY
    paths = versions.allowed((previous - found.removed) | found.modified | found.added, api_version)
    left.pop(manager, None)
    return {**left, manager: Owned(paths, api_version, applied=False)} if paths else left


def apply(
    versions: Versions,
    live: Object,
    config: Object,
    *,
    managers: Managers[Name],
    manager: Name,
    api_version: str,
    force: bool,
) -> tuple[Object | None, dict[Name, Owned]]:
    """The object with `config` applied (None: nothing changed) and its managers; raises Conflicts."""
    current = _reconciled(versions, live, managers)
    shape = versions.shape(api_version)
    merged = cast("Object", merge(shape, live, config))
    last = current.get(manager)
    current[manager] = Owned(versions.allowed(to_field_set(shape, config), api_version), api_version, applied=True)
    new = _pruned(versions, merged, managers=current, manager=manager, last=last)
    _, left = _settled(versions, live, new, managers=current, manager=manager, api_version=api_version, force=force)
    return (None if values.equal(live, new) else new), left


def _reconciled(versions: Versions, live: Object, managers: Managers[Name]) -> dict[Name, Owned]:
    """The managers whose versions are still served, with sets that fit today's shapes."""
    current: dict[Name, Owned] = {}
    for name, owned in managers.items():
        try:
            versions.converted(live, owned.api_version)
            shape = versions.shape(owned.api_version)
        except MissingVersion:
            continue
        paths = reconciled(owned.paths, shape)
        current[name] = owned if paths is owned.paths else Owned(paths, owned.api_version, owned.applied)
    return current


def _settled(
    versions: Versions,
    live: Object,
    new: Object,
    *,
    managers: Managers[Name],
    manager: Name,
    api_version: str,
    force: bool,
) -> tuple[Comparison, dict[Name, Owned]]:
    """What changed, and the managers without what `manager` takes from the others; raises Conflicts unless forced."""
    found = {api_version: versions.compare(live, new, api_version)}
    conflicts: list[Conflict] = []
    left: dict[Name, Owned] = {}
    for name, owned in managers.items():
        if name == manager:
            left[name] = owned
            continue
        if owned.api_version not in found:
            try:
                found[owned.api_version] = versions.compare(live, new, owned.api_version)
            except MissingVersion:
                continue
        changes = found[owned.api_version]
        taken = owned.paths & (changes.modified | changes.added)
        conflicts.extend(Conflict(name, path) for path in taken)
        left[name] = Owned(owned.paths - taken - changes.removed, owned.api_version, owned.applied)
    if conflicts and not force:
        raise Conflicts(conflicts)
    return found[api_version], {name: owned for name, owned in left.items() if owned.paths}


def _pruned(versions: Versions, merged: Object, *, managers: Managers[Name], manager: Name, last: Owned | None) -> Object:
    """The merged object without what the manager applied last time, does not apply now, and nobody else owns."""
    if last is None or not last.paths:
        return merged
    now = managers[manager]
    if last.api_version == now.api_version and not last.paths - now.paths:
        return merged  # Everything is applied again, so there is nothing to take away.
    try:
        whole = versions.converted(merged, last.api_version)
        shape = versions.shape(last.api_version)
    except MissingVersion:
        return merged
    gone = cast("Object", remove_items(shape, whole, with_named_fields(last.paths, shape)))
    kept = _with_owned_items(versions, whole, gone, managers=managers, api_version=last.api_version)
    return versions.converted(_without_unowned_only(versions, whole, kept, last), now.api_version)


def _with_owned_items(versions: Versions, whole: Object, pruned: Object, *, managers: Managers[Name], api_version: str) -> Object:
    """What pruning took, given back where a manager owns it: first in this version, whose fields others may need to convert."""
    by_version: dict[str, Set] = {}
    for owned in managers.values():
        by_version[owned.api_version] = by_version.get(owned.api_version, EMPTY) | owned.paths
    for version in sorted(by_version, key=lambda version: version != api_version):
        try:
            whole, pruned = versions.converted(whole, version), versions.converted(pruned, version)
            shape = versions.shape(version)
        except MissingVersion:
            continue
        kept = with_named_fields(to_field_set(shape, pruned), shape) | with_named_fields(by_version[version], shape)
        everything = with_named_fields(to_field_set(shape, whole), shape)
        pruned = cast("Object", remove_items(shape, whole, everything - kept))
    return pruned


def _without_unowned_only(versions: Versions, whole: Object, pruned: Object, last: Owned) -> Object:
    """What pruning took, given back where the manager had not owned it: unowned fields outlive their neighbours."""
    shape = versions.shape(last.api_version)
    try:
        pruned = versions.converted(pruned, last.api_version)
    except MissingVersion:
        return whole
    taken = with_named_fields(to_field_set(shape, whole), shape) - with_named_fields(to_field_set(shape, pruned), shape)
    result = remove_items(shape, whole, taken & with_named_fields(last.paths, shape))
    if not isinstance(result, dict):
        raise MergeError("failed to prune fields: failed to convert value to unstructured for type <nil>")
    return result
