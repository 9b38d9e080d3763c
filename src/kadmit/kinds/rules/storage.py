"""StorageClasses: who makes volumes of the class, by which parameters, and where."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, TypeAlias

from kadmit.api import fields
from kadmit.api.fields import FieldError, Path
from kadmit.kinds.metadata import dns_subdomain
from kadmit.kinds.rules import enums, meta, naming
from kadmit.kinds.rules.meta import Object

Json: TypeAlias = Any


def create_class(value: Object) -> Iterator[FieldError]:
    yield from meta.created(value, dns_subdomain, namespaced=False)
    yield from provisioner(value.get("provisioner") or "", fields.path("provisioner"))
    yield from parameters(value.get("parameters") or {}, fields.path("parameters"))
    policy = value.get("reclaimPolicy")
    yield from enums.one_of(policy or None, ("Delete", "Retain"), fields.path("reclaimPolicy"))
    mode, place = value.get("volumeBindingMode"), fields.path("volumeBindingMode")
    if mode is None:
        yield fields.required(place)
    yield from enums.one_of(mode, ("Immediate", "WaitForFirstConsumer"), place)
    yield from _topologies(value.get("allowedTopologies") or (), fields.path("allowedTopologies"))


def provisioner(name: str, at: Path) -> Iterator[FieldError]:
    if not name:
        yield fields.required(at)
    else:
        yield from naming.qualified(name.lower(), at)


def _topologies(terms: Sequence[Mapping[str, Json]], at: Path) -> Iterator[FieldError]:
    seen: list[dict[str, set[str]]] = []
    for index, term in enumerate(terms):
        place = at.index(index).child("matchLabelExpressions")
        needs: dict[str, set[str]] = {}
        for number, need in enumerate(term.get("matchLabelExpressions") or ()):
            key, values = need.get("key") or "", need.get("values") or []
            yield from _topology(key, values, place.index(number))
            if key in needs:
                yield fields.duplicate(place.index(number).child("key"), key)
            needs[key] = set(values)
        yield from (fields.duplicate(place, "") for other in seen if other == needs)
        seen.append(needs)


def _topology(key: str, values: list[str], at: Path) -> Iterator[FieldError]:
    if not values:
        yield fields.required(at.child("values"))
    for index, one in enumerate(values):
        if one in values[:index]:
            yield fields.duplicate(at.child("values").index(index), one)
    yield from naming.qualified(key, at.child("key"))


def parameters(values: Mapping[str, str], at: Path) -> Iterator[FieldError]:
    if len(values) > 512:
        yield fields.too_long(at, 512)
        return
    if "" in values:
        yield fields.invalid(at, "", "field can not be empty.")
    if sum(naming.size(key) + naming.size(value) for key, value in values.items()) > 256 * 1024:
        yield fields.too_long(at, 256 * 1024)


def update_class(new: Object, old: Object) -> Iterator[FieldError]:
    yield from create_class(new)
    yield from meta.updated(new, old)
    for member in ("parameters", "provisioner", "reclaimPolicy", "volumeBindingMode"):
        yield from meta.immutable(new.get(member), old.get(member), fields.path(member))
