"""PersistentVolumeClaims: how much storage, of which class, and what of it may change later."""

from collections.abc import Iterator, Mapping
from typing import Any, TypeAlias

from kadmit.api import fields
from kadmit.api.fields import FieldError, Path
from kadmit.api.gojson import Named
from kadmit.cel.library import names
from kadmit.kinds import internals, labels
from kadmit.kinds.rules import enums, meta, naming, resources
from kadmit.kinds.rules.meta import Object

Json: TypeAlias = Any

ACCESS_MODES = ("ReadOnlyMany", "ReadWriteMany", "ReadWriteOnce", "ReadWriteOncePod")
VOLUME_MODES = ("Block", "Filesystem")
CLASS_ANNOTATION = "volume.beta.kubernetes.io/storage-class"
_AT = fields.path("spec")


def driver(name: str, at: Path) -> Iterator[FieldError]:
    """The name of a CSI driver."""
    if not name:
        yield fields.required(at)
        return
    if naming.size(name) > 63:
        yield fields.too_long(at, 63)
    yield from naming.complaints(names.dns1123_subdomain(name.lower()), name, at)


def access_modes(
    modes: list[str], at: Path, *, alone: str = "may not use ReadWriteOncePod with other access modes"
) -> Iterator[FieldError]:
    for mode in modes:
        yield from enums.one_of(mode, ACCESS_MODES, at)
    if "ReadWriteOncePod" in modes and any(mode in ACCESS_MODES for mode in modes if mode != "ReadWriteOncePod"):
        yield fields.forbidden(at, alone)


def spec(value: Mapping[str, Json], at: Path, *, any_group: bool = False, any_value: bool = False) -> Iterator[FieldError]:
    modes = value.get("accessModes") or []
    if not modes:
        yield fields.required(at.child("accessModes"), "at least 1 access mode is required")
    yield from labels.validate_selector(value.get("selector"), at.child("selector"), any_value=any_value)
    yield from access_modes(modes, at.child("accessModes"))
    yield from _storage(value, at.child("resources").key("storage"))
    yield from _class_name(value.get("storageClassName"), at.child("storageClassName"))
    yield from enums.one_of(value.get("volumeMode"), VOLUME_MODES, at.child("volumeMode"))
    for member in ("dataSource", "dataSourceRef"):
        if value.get(member) is not None:
            yield from _data_source(value[member], at.child(member), any_group=any_group)
    yield from _both_sources(value, at)
    yield from _class_name(value.get("volumeAttributesClassName"), at.child("volumeAttributesClassName"))


def _storage(value: Mapping[str, Json], at: Path) -> Iterator[FieldError]:
    amount = ((value.get("resources") or {}).get("requests") or {}).get("storage")
    if amount is None:
        yield fields.required(at)
    else:
        yield from resources.positive(amount, at)


def _class_name(name: str | None, at: Path) -> Iterator[FieldError]:
    if name:
        yield from naming.subdomain(name, at)


def _data_source(source: Mapping[str, Json], at: Path, *, any_group: bool) -> Iterator[FieldError]:
    yield from (fields.required(at.child(member)) for member in ("name", "kind") if not source.get(member))
    group, kind = source.get("apiGroup") or "", source.get("kind") or ""
    if not group and kind != "PersistentVolumeClaim":
        yield fields.invalid(at, kind, "must be 'PersistentVolumeClaim' when referencing the default apiGroup")
    if group and not any_group:
        yield from naming.subdomain(group, at.child("apiGroup"))
    if source.get("namespace"):
        yield from naming.label(source["namespace"], at.child("namespace"))


def _both_sources(value: Mapping[str, Json], at: Path) -> Iterator[FieldError]:
    source, reference = value.get("dataSource"), value.get("dataSourceRef")
    if source is None or reference is None:
        return
    # NB: what is shown is the path, a struct without public fields.
    if reference.get("namespace"):
        yield fields.invalid(at, {}, "may not be specified when dataSourceRef.namespace is specified")
    elif any(source.get(member) != reference.get(member) for member in ("apiGroup", "kind", "name")):
        yield fields.invalid(at, {}, "must match dataSourceRef")


# ---------------------------------------------------------------- the kind


def create(claim: Object) -> Iterator[FieldError]:
    yield from meta.created(claim)
    yield from spec(claim.get("spec") or {}, _AT)


def update(new: Object, old: Object) -> Iterator[FieldError]:
    after, before = new.get("spec") or {}, old.get("spec") or {}
    yield from meta.updated(new, old)
    yield from meta.created(new)
    yield from spec(
        after,
        _AT,
        any_group=any((before.get(member) or {}).get("apiGroup") is not None for member in ("dataSource", "dataSourceRef")),
        any_value=bool(labels.validate_selector(before.get("selector"), _AT)),
    )
    yield from _class_annotation(new, old)
    yield from _changes(new, old)
    yield from _shrinking(new, old)
    if after.get("volumeMode") != before.get("volumeMode"):
        yield fields.invalid(fields.path("volumeMode"), _shown(after.get("volumeMode")), meta.IMMUTABLE)
    yield from _attributes_class(after, before, old.get("status") or {})


def _shown(value: str | None) -> str | None:
    return None if value is None else Named(value)


def _annotation(claim: Object) -> str | None:
    found: str | None = (meta.of(claim).get("annotations") or {}).get(CLASS_ANNOTATION)
    return found


def _moves_to_field(new: Object, old: Object) -> bool:
    """Whether a class that stood in the annotation now stands in its field."""
    before, after = _annotation(old), _annotation(new)
    named = (new.get("spec") or {}).get("storageClassName")
    unnamed = (old.get("spec") or {}).get("storageClassName") is None
    return before is not None and unnamed and named == before and after in (None, before)


def _class_annotation(new: Object, old: Object) -> Iterator[FieldError]:
    before, after = _annotation(old) or "", _annotation(new) or ""
    if before != after and not _moves_to_field(new, old):
        yield fields.invalid(fields.path("metadata", "annotations", CLASS_ANNOTATION), after, meta.IMMUTABLE)


def _changes(new: Object, old: Object) -> Iterator[FieldError]:
    """Of a claim only the size and the attributes class change, once it is bound."""
    before, after = dict(old.get("spec") or {}), dict(new.get("spec") or {})
    if not before.get("volumeName") and after.get("volumeName"):
        before["volumeName"] = after["volumeName"]
    if _moves_to_field(new, old) or (
        before.get("storageClassName") is None and _annotation(old) in (None, after.get("storageClassName"))
    ):
        after["storageClassName"] = None
    if (new.get("status") or {}).get("phase") == "Bound":
        after["volumeAttributesClassName"] = before.get("volumeAttributesClassName")
        after["resources"] = _with_storage_of(after.get("resources"), before.get("resources"))
    if not internals.same("PersistentVolumeClaimSpec", before, after):
        told = internals.difference("PersistentVolumeClaimSpec", before, after)
        text = "spec is immutable after creation except resources.requests and volumeAttributesClassName for bound claims"
        yield fields.forbidden(_AT, f"{text}\n{told}")


def _with_storage_of(after: Json, before: Json) -> Json:
    requests = (after or {}).get("requests")
    if requests is None:
        return after
    storage = ((before or {}).get("requests") or {}).get("storage") or "0"
    return {**after, "requests": {**requests, "storage": storage}}


def _shrinking(new: Object, old: Object) -> Iterator[FieldError]:
    """Less than was asked for is fine, as long as it is more than there is."""
    after, before = _size(new), _size(old)
    capacity = ((old.get("status") or {}).get("capacity") or {}).get("storage") or "0"
    if resources.is_more(before, after) and not resources.is_more(after, capacity):
        yield fields.forbidden(_AT.child("resources", "requests", "storage"), "field can not be less than status.capacity")


def _size(claim: Object) -> str:
    requests = ((claim.get("spec") or {}).get("resources") or {}).get("requests") or {}
    return requests.get("storage") or "0"


def _attributes_class(after: Object, before: Object, status: Object) -> Iterator[FieldError]:
    now, was = after.get("volumeAttributesClassName"), before.get("volumeAttributesClassName")
    if now == was or status.get("currentVolumeAttributesClassName") is None:
        return
    what = "nil" if now is None else "empty string" if not now else ""
    if what:
        text = f"update to {what} is forbidden when status.currentVolumeAttributesClassName is not nil"
        yield fields.forbidden(_AT.child("volumeAttributesClassName"), text)
