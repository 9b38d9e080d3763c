"""Object metadata, which every kind has: what may stand in it, and what an update may change.

Kinds differ in their names only: each brings its `NameRule`. The server asks for the same things twice on an update, once for
every kind alike and once for the kind's own sake, so that a bad label is listed several times; callers add the lists up.
Managed fields are taken as the server keeps them: what clients send as such has been read, or dropped, before.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, TypeAlias

from kadmit.api import fields
from kadmit.api.fields import FieldError, Path
from kadmit.api.gojson import Named, quoted
from kadmit.api.meta import GroupVersion, GroupVersionKind, parse_api_version
from kadmit.cel.library import names
from kadmit.kinds import labels, soundnames

# What is wrong with a name, or with a generateName (True: more letters will follow).
NameRule: TypeAlias = Callable[[str, bool], list[str]]
Meta: TypeAlias = Mapping[str, Any]

AT = fields.path("metadata")
ANNOTATIONS_LIMIT = 256 * 1024
MANAGER_LIMIT, SUBRESOURCE_LIMIT = 128, 256
ORPHAN, FOREGROUND = "orphan", "foregroundDeletion"
STANDARD_FINALIZERS = ("kubernetes", ORPHAN, FOREGROUND)
IMMUTABLE = "field is immutable"
_OPERATIONS = ("Apply", "Update")

_EVENT = GroupVersionKind("", "v1", "Event")  # the one kind that cannot own anything
_OWNER_FIELDS = ("apiVersion", "kind", "name", "uid", "controller", "blockOwnerDeletion")
_CLEARED = ("uid", "creationTimestamp", "deletionTimestamp", "deletionGracePeriodSeconds", "selfLink")
_STAMPS = ("generation", "creationTimestamp", "deletionTimestamp")
_SERVER_FIELDS = (*_STAMPS, "uid", "deletionGracePeriodSeconds")


# ---------------------------------------------------------------- names


def path_segment(name: str, prefix: bool) -> list[str]:
    """What every name must be, since it becomes part of a path."""
    if not prefix and name in (".", ".."):
        return [f"may not be '{name}'"]
    return [f"may not contain '{part}'" for part in ("/", "%") if part in name]


def dns_subdomain(name: str, prefix: bool) -> list[str]:
    return names.dns1123_subdomain(names.as_prefix(name) if prefix else name)


def dns_label(name: str, prefix: bool) -> list[str]:
    return names.dns1123_label(names.as_prefix(name) if prefix else name)


def dns1035_label(name: str, prefix: bool) -> list[str]:
    return names.dns1035_label(names.as_prefix(name) if prefix else name)


# ---------------------------------------------------------------- an object by itself


def validate(meta: Meta, *, namespaced: bool, name_rule: NameRule = path_segment, at: Path = AT) -> list[FieldError]:
    """Metadata of an object whose name has been generated already."""
    found = [] if _has_sound_name(meta, name_rule) else list(_names(meta, name_rule, at))
    if not _is_sound_namespace(meta.get("namespace") or "", namespaced=namespaced):
        found += _namespace(meta.get("namespace") or "", at.child("namespace"), namespaced=namespaced)
    if (meta.get("generation") or 0) < 0:
        found.append(fields.invalid(at.child("generation"), meta["generation"], "must be greater than or equal to 0"))
    if meta.get("labels"):
        found += labels.validate_labels(meta["labels"], at.child("labels"))
    if meta.get("annotations"):
        found += validate_annotations(meta["annotations"], at.child("annotations"))
    if meta.get("ownerReferences"):
        found += _owners(meta["ownerReferences"], at.child("ownerReferences"))
    if meta.get("finalizers"):
        found += _finalizers(meta["finalizers"], at.child("finalizers"))
    if meta.get("managedFields"):
        found += _managed_fields(meta["managedFields"], at.child("managedFields"))
    return found


def _has_sound_name(meta: Meta, rule: NameRule) -> bool:
    return bool(meta.get("name")) and not meta.get("generateName") and not rule(meta["name"], False)


def _is_sound_namespace(namespace: str, *, namespaced: bool) -> bool:
    return soundnames.is_label(namespace) if namespaced else not namespace


def _names(meta: Meta, rule: NameRule, at: Path) -> Iterator[FieldError]:
    generated, name = meta.get("generateName") or "", meta.get("name") or ""
    if generated:
        yield from (fields.invalid(at.child("generateName"), generated, problem) for problem in rule(generated, True))
    if name:
        yield from (fields.invalid(at.child("name"), name, problem) for problem in rule(name, False))
    else:
        yield fields.required(at.child("name"), "name or generateName is required")


def _namespace(namespace: str, at: Path, *, namespaced: bool) -> Iterator[FieldError]:
    if not namespaced:
        if namespace:
            yield fields.forbidden(at, "not allowed on this type")
    elif not namespace:
        yield fields.required(at)
    else:
        yield from (fields.invalid(at, namespace, problem) for problem in dns_label(namespace, False))


def validate_annotations(annotations: Mapping[str, str] | None, at: Path) -> list[FieldError]:
    """Keys as those of labels, but in any case; values of any form, up to a total size."""
    if not annotations:
        return []
    pairs = sorted(annotations.items())
    found = [fields.invalid(at, key, problem) for key, _ in pairs for problem in _annotation_problems(key)]
    if sum(_size(key) + _size(value) for key, value in pairs) > ANNOTATIONS_LIMIT:
        found.append(fields.too_long(at, ANNOTATIONS_LIMIT))
    return found


def _annotation_problems(key: str) -> list[str]:
    lower = key.lower()
    return [] if soundnames.is_label_key(lower) else names.label_key(lower)


def _size(text: str) -> int:
    return len(text) if text.isascii() else len(text.encode("utf-8", "surrogatepass"))


# ---------------------------------------------------------------- owners and finalizers


def _owners(owners: Sequence[Mapping[str, Any]], at: Path) -> Iterator[FieldError]:
    """NB: errors do not say which of the owners they are about."""
    controller = ""
    for owner in owners:
        yield from _owner(owner, at)
        if not owner.get("controller"):
            continue
        called = f"{owner.get('kind') or ''}/{owner.get('name') or ''}"
        if controller:
            both = f'Found "true" in references for {controller} and {called}'
            yield fields.invalid(at, [_shown(o) for o in owners], f"Only one reference can have Controller set to true. {both}")
        else:
            controller = called


def _owner(owner: Mapping[str, Any], at: Path) -> Iterator[FieldError]:
    api_version, kind = owner.get("apiVersion") or "", owner.get("kind") or ""
    group, version = _group_version(api_version)
    if not version:
        yield fields.invalid(at.child("apiVersion"), api_version, "version must not be empty")
    for field in ("kind", "name", "uid"):
        if not owner.get(field):
            yield fields.invalid(at.child(field), "", "must not be empty")
    if (group, version, kind) == _EVENT:
        yield fields.invalid(at, _shown(owner), f"{_EVENT} is disallowed from being an owner")


def _group_version(text: str) -> GroupVersion:
    try:
        return parse_api_version(text)
    except ValueError:
        return GroupVersion("", "")


def _shown(owner: Mapping[str, Any]) -> dict[str, Any]:
    """As Go writes it: the four names always, the rest where it is set."""
    required = dict.fromkeys(_OWNER_FIELDS[:4], "")
    given = {field: owner[field] for field in _OWNER_FIELDS if owner.get(field) is not None}
    return {**required, **given}


def _finalizers(finalizers: Sequence[str], at: Path) -> Iterator[FieldError]:
    for finalizer in finalizers:
        yield from labels.validate_key(finalizer, at)
    if ORPHAN in finalizers and FOREGROUND in finalizers:
        yield fields.invalid(at, list(finalizers), f"finalizer {ORPHAN} and {FOREGROUND} cannot be both set")


# ---------------------------------------------------------------- managed fields


def finalizer_warnings(new: Meta, old: Meta | None = None) -> list[str]:
    """What is said of new finalizers of custom objects, whose names are not refused."""
    added = set(new.get("finalizers") or ()) - set((old or {}).get("finalizers") or ())
    return [f"metadata.finalizers: {quoted(name)}: {words}" for name in sorted(added) for words in _finalizer_words(name)]


def _finalizer_words(name: str) -> Iterator[str]:
    yield from names.label_key(name)
    if "/" not in name and name not in STANDARD_FINALIZERS:
        path = " including a path (/)" if "." in name else ""
        yield f"prefer a domain-qualified finalizer name{path} to avoid accidental conflicts with other finalizer writers"


def without_repeated_owners(meta: Meta) -> tuple[Meta, list[str]]:
    """Each owner once, and the uids of those that were there again, as often as they were."""
    kept: list[Mapping[str, Any]] = []
    repeated: list[str] = []
    for owner in meta.get("ownerReferences") or ():
        if owner in kept:
            repeated.append(owner.get("uid") or "")
        else:
            kept.append(owner)
    return ({**meta, "ownerReferences": kept}, repeated) if repeated else (meta, repeated)


def _managed_fields(entries: Sequence[Mapping[str, Any]], at: Path) -> Iterator[FieldError]:
    for i, entry in enumerate(entries):
        if not _is_ordinary_entry(entry):
            yield from _managed_entry(entry, at.index(i))


def _is_ordinary_entry(entry: Mapping[str, Any]) -> bool:
    manager = entry.get("manager") or ""
    is_short = len(manager) * 4 <= MANAGER_LIMIT and manager.isprintable()
    known = entry.get("operation") in _OPERATIONS and entry.get("fieldsType") == "FieldsV1"
    return is_short and known and (entry.get("subresource") or "status") == "status"


def _managed_entry(entry: Mapping[str, Any], at: Path) -> Iterator[FieldError]:
    operation, form = entry.get("operation") or "", entry.get("fieldsType") or ""
    if operation not in _OPERATIONS:
        yield fields.invalid(at.child("operation"), Named(operation), "must be `Apply` or `Update`")
    if form not in ("", "FieldsV1"):
        yield fields.invalid(at.child("fieldsType"), form, "must be `FieldsV1`")
    yield from validate_manager(entry.get("manager") or "", at.child("manager"))
    if _size(entry.get("subresource") or "") > SUBRESOURCE_LIMIT:
        yield fields.too_long(at.child("subresource"), SUBRESOURCE_LIMIT)


def validate_manager(manager: str, at: Path) -> list[FieldError]:
    """The name of a field manager: short, and all of it printable."""
    found = [fields.too_long(at, MANAGER_LIMIT)] if _size(manager) > MANAGER_LIMIT else []
    if manager.isprintable():
        return found
    for i, character in enumerate(manager):
        if not character.isprintable():
            where = f"invalid character U+{ord(character):04X} (at position {_size(manager[:i])})"
            found.append(fields.invalid(at, manager, where))
    return found


# ---------------------------------------------------------------- what only the server writes


def cleared_on_create(new: Meta, *, namespaced: bool) -> dict[str, Any]:
    """What a create makes of metadata before it is looked at: without what the server is about to write, or never would."""
    cleared = _CLEARED if namespaced else (*_CLEARED, "namespace")
    return {field: value for field, value in new.items() if field not in cleared}


def kept_on_update(new: Meta, old: Meta, *, namespaced: bool) -> dict[str, Any]:
    """What an update makes of metadata before it is looked at: what only the server writes stays, quietly."""
    made = {field: value for field, value in new.items() if field != "selfLink" and (namespaced or field != "namespace")}
    for field in _SERVER_FIELDS:
        # NB: another uid or grace period is kept, to be refused; other times are not.
        if old.get(field) is not None and (field in _STAMPS or not new.get(field)):
            made[field] = old[field]
    return made


# ---------------------------------------------------------------- updates


def validate_update(new: Meta, old: Meta, *, namespaced: bool, at: Path = AT) -> list[FieldError]:
    """What every kind alike has against an update; the kind's own rules come after it."""
    return [*validate(new, namespaced=namespaced, at=at), *changes(new, old, at)]


def changes(new: Meta, old: Meta, at: Path) -> Iterator[FieldError]:
    if old.get("deletionTimestamp") is not None:
        yield from _no_new_finalizers(new.get("finalizers") or (), old.get("finalizers") or (), at.child("finalizers"))
    if not new.get("resourceVersion"):
        yield fields.invalid(at.child("resourceVersion"), "", "must be specified for an update")
    if (new.get("generation") or 0) < (old.get("generation") or 0):
        yield fields.invalid(at.child("generation"), new.get("generation") or 0, "must not be decremented")
    for field in ("name", "namespace"):
        yield from _immutable(new.get(field) or "", old.get(field) or "", at.child(field))
    yield from _immutable(Named(new.get("uid") or ""), old.get("uid") or "", at.child("uid"))
    for field in ("creationTimestamp", "deletionTimestamp", "deletionGracePeriodSeconds"):
        yield from _immutable(new.get(field), old.get(field), at.child(field))
    yield from labels.validate_labels(new.get("labels"), at.child("labels"))
    yield from validate_annotations(new.get("annotations"), at.child("annotations"))
    yield from _owners(new.get("ownerReferences") or (), at.child("ownerReferences"))
    yield from _managed_fields(new.get("managedFields") or (), at.child("managedFields"))


def _immutable(new: Any, old: Any, at: Path) -> Iterator[FieldError]:
    if new != old:
        yield fields.invalid(at, new, IMMUTABLE)


def _no_new_finalizers(new: Sequence[str], old: Sequence[str], at: Path) -> Iterator[FieldError]:
    extra = sorted(set(new) - set(old))
    if extra:
        listed = ", ".join(quoted(finalizer) for finalizer in extra)
        text = "no new finalizers can be added if the object is being deleted, found new finalizers"
        yield fields.forbidden(at, f"{text} []string{{{listed}}}")
