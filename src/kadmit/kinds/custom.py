"""What is wrong with an object of a custom kind: identity, metadata, schema, and the rules of its schema, in this order.

    errors = validate_create(kind, object)
    errors = validate_update(kind, new, old, subresource)

Rules of `x-kubernetes-validations` are not asked where what is wrong already would make them meaningless; the answer says so.
"""

from collections.abc import Iterator, Mapping
from typing import Any, TypeAlias
from weakref import WeakKeyDictionary

from kadmit.api import fields
from kadmit.api.fields import FieldError, Path
from kadmit.kinds import crd, metadata, validations
from kadmit.kinds.crd import CustomKind

Json: TypeAlias = Any
Object: TypeAlias = dict[str, Json]


def validate_create(kind: CustomKind, value: Object) -> list[FieldError]:
    wrong = list(_identity(kind, value))
    if wrong:
        return wrong
    meta = value.get("metadata") or {}
    found = metadata.validate(meta, namespaced=kind.resource.namespaced, name_rule=metadata.dns_subdomain)
    found += kind.validate(value, metadata=_embedded_metadata)
    return found + _rules(kind, found, value, None)


def validate_update(kind: CustomKind, new: Object, old: Object, subresource: str = "") -> list[FieldError]:
    """NB: metadata is looked at twice, as on every update."""
    after, before = new.get("metadata") or {}, old.get("metadata") or {}
    found = metadata.validate_update(after, before, namespaced=kind.resource.namespaced)
    wrong = list(_identity(kind, new))
    if wrong:
        return found + wrong
    own = list(metadata.changes(after, before, metadata.AT))
    if subresource == "status":
        own += kind.validate_status(new, old)
    else:
        own += kind.validate(new, old, metadata=_embedded_metadata)
    return found + own + _rules(kind, own, new, old)


def _identity(kind: CustomKind, value: Mapping[str, Json]) -> Iterator[FieldError]:
    resource = kind.resource
    for member, expected in (("kind", resource.kind), ("apiVersion", resource.api_version)):
        if value.get(member) != expected:
            yield fields.invalid(fields.path(member), value.get(member) or "", f"must be {expected}")


def _embedded_metadata(meta: Object, at: Path) -> list[FieldError]:
    """NB: whether an embedded object lives in a namespace is not known: one that names none is taken not to."""
    return metadata.validate(meta, namespaced=bool(meta.get("namespace")), name_rule=metadata.path_segment, at=at)


_COMPILED: WeakKeyDictionary[CustomKind, validations.Asked | None] = WeakKeyDictionary()


def _rules(kind: CustomKind, found: list[FieldError], new: Object, old: Object | None) -> list[FieldError]:
    if kind not in _COMPILED:
        _COMPILED[kind] = validations.of(kind.raw)
    compiled = _COMPILED[kind]
    if compiled is None:
        return []
    return crd.rule_errors(compiled, found, new, old)
