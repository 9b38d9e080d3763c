"""Metadata as Kubernetes' own kinds want it: beyond what any object needs, finalizers carry a domain."""

from collections.abc import Iterator, Mapping
from typing import Any, TypeAlias

from kadmit.api import fields
from kadmit.api.fields import FieldError, Path
from kadmit.kinds import labels, metadata
from kadmit.kinds.metadata import AT, NameRule

Json: TypeAlias = Any
Object: TypeAlias = Mapping[str, Json]

STANDARD_FINALIZERS = metadata.STANDARD_FINALIZERS
IMMUTABLE = metadata.IMMUTABLE


def of(value: Object) -> Object:
    return value.get("metadata") or {}


def created(value: Object, name_rule: NameRule = metadata.dns_subdomain, *, namespaced: bool = True) -> Iterator[FieldError]:
    """The metadata of an object by itself."""
    yield from metadata.validate(of(value), namespaced=namespaced, name_rule=name_rule)
    yield from finalizers(of(value))


def updated(new: Object, old: Object) -> Iterator[FieldError]:
    """What a kind of its own has against a change of the metadata."""
    yield from metadata.changes(of(new), of(old), AT)
    yield from finalizers(of(new))


def finalizers(meta: Object) -> Iterator[FieldError]:
    for index, finalizer in enumerate(meta.get("finalizers") or ()):
        yield from standard_finalizer(finalizer, AT.child("finalizers").index(index))


def standard_finalizer(name: str, at: Path) -> Iterator[FieldError]:
    if "/" not in name and name not in STANDARD_FINALIZERS:
        yield fields.invalid(at, name, "name is neither a standard finalizer name nor is it fully qualified")


def template(value: Object | None, at: Path) -> Iterator[FieldError]:
    """Labels and annotations of the pods that a workload makes. NB: the place lacks the word metadata."""
    meta = (value or {}).get("metadata") or {}
    yield from labels.validate_labels(meta.get("labels"), at.child("labels"))
    yield from metadata.validate_annotations(meta.get("annotations"), at.child("annotations"))


def immutable(new: Json, old: Json, at: Path) -> Iterator[FieldError]:
    """NB: an empty list or map is as good as none."""
    if (new or None) != (old or None) and not (new in (None, [], {}) and old in (None, [], {})):
        yield fields.invalid(at, new, IMMUTABLE)
