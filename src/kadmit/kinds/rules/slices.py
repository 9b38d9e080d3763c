"""EndpointSlices: addresses of one type, the ports they share, and hints about who should use them."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, TypeAlias

from kadmit.api import fields
from kadmit.api.fields import FieldError, Path
from kadmit.cel.library import names
from kadmit.kinds import labels
from kadmit.kinds.rules import addresses, enums, meta, naming
from kadmit.kinds.rules.meta import Object
from kadmit.patch import equality

Json: TypeAlias = Any
Part: TypeAlias = Mapping[str, Json]

ADDRESS_TYPES = ("FQDN", "IPv4", "IPv6")
_PROTOCOLS = ("SCTP", "TCP", "UDP")
_MAX_PORTS, _MAX_ENDPOINTS, _MAX_ADDRESSES, _MAX_TOPOLOGY, _MAX_HINTS = 20_000, 1000, 100, 16, 8


def create(value: Object) -> Iterator[FieldError]:
    yield from _but_endpoints(value)
    yield from _endpoints(value)


def update(new: Object, old: Object) -> Iterator[FieldError]:
    """NB: endpoints that stand there already are let through, whatever is wrong with them."""
    yield from _but_endpoints(new)
    if not equality.same(new.get("endpoints") or None, old.get("endpoints") or None):
        yield from _endpoints(new)
    yield from meta.immutable(new.get("addressType"), old.get("addressType"), fields.path("addressType"))


def _but_endpoints(value: Object) -> Iterator[FieldError]:
    yield from meta.created(value)
    yield from enums.required_one_of(value.get("addressType"), ADDRESS_TYPES, fields.path("addressType"))
    yield from _ports(value.get("ports") or [], fields.path("ports"))


def _ports(ports: Sequence[Part], at: Path) -> Iterator[FieldError]:
    if len(ports) > _MAX_PORTS:
        yield fields.too_many(at, len(ports), _MAX_PORTS)
        return
    taken: set[str] = set()
    for index, port in enumerate(ports):
        name, place = port.get("name") or "", at.index(index)
        if name:
            yield from naming.label(name, place.child("name"))
        if name in taken:
            yield fields.duplicate(place.child("name"), name)
        taken.add(name)
        yield from enums.one_of(port.get("protocol"), _PROTOCOLS, place.child("protocol"))
        if port.get("appProtocol") is not None:
            yield from naming.qualified(port["appProtocol"], place.child("appProtocol"))


def _endpoints(value: Object) -> Iterator[FieldError]:
    endpoints, at = value.get("endpoints") or [], fields.path("endpoints")
    if len(endpoints) > _MAX_ENDPOINTS:
        yield fields.too_many(at, len(endpoints), _MAX_ENDPOINTS)
        return
    for index, endpoint in enumerate(endpoints):
        yield from _endpoint(endpoint, value.get("addressType") or "", at.index(index))


def _endpoint(endpoint: Part, kind: str, at: Path) -> Iterator[FieldError]:
    given = endpoint.get("addresses") or []
    if not given:
        yield fields.required(at.child("addresses"), "must contain at least 1 address")
    elif len(given) > _MAX_ADDRESSES:
        yield fields.too_many(at.child("addresses"), len(given), _MAX_ADDRESSES)
    for index, address in enumerate(given):
        yield from _address(address, kind, at.child("addresses"), index)
    if endpoint.get("nodeName") is not None:
        yield from naming.subdomain(endpoint["nodeName"], at.child("nodeName"))
    topology = endpoint.get("deprecatedTopology") or {}
    if len(topology) > _MAX_TOPOLOGY:
        yield fields.too_many(at.child("deprecatedTopology"), len(topology), _MAX_TOPOLOGY)
    yield from labels.validate_labels(topology, at.child("deprecatedTopology"))
    if endpoint.get("hostname") is not None:
        yield from naming.label(endpoint["hostname"], at.child("hostname"))
    yield from _hints(endpoint.get("hints") or {}, at.child("hints"))


def _address(text: str, kind: str, at: Path, index: int) -> Iterator[FieldError]:
    """NB: an address of the other family is blamed on the whole list."""
    place = at.index(index)
    if kind == "FQDN":
        yield from _domain(text, place)
    if kind not in ("IPv4", "IPv6"):
        return
    found = list(addresses.address(text, place) if kind == "IPv4" else addresses.canonical(text, place))
    if found:
        yield from found
        return
    if addresses.is_ipv6(text) != (kind == "IPv6"):
        yield fields.invalid(at, text, f"must be an {kind} address")
    yield from addresses.endpoint(text, place)


def _domain(text: str, at: Path) -> Iterator[FieldError]:
    """NB: the dot at its end is not shown."""
    name = text.removesuffix(".")
    if not text:
        yield fields.required(at)
        return
    found = names.dns1123_subdomain(name)
    if found:
        yield fields.invalid(at, name, ",".join(found))
    elif "." not in name:
        yield fields.invalid(at, name, "should be a domain with at least two segments separated by dots")
    else:
        long = next((label for label in name.split(".") if names.dns1123_label(label)), None)
        if long is not None:
            yield fields.invalid(at, long, ",".join(names.dns1123_label(long)))


def _hints(hints: Part, at: Path) -> Iterator[FieldError]:
    for member, problems in (("forZones", names.label_value), ("forNodes", names.dns1123_subdomain)):
        listed, taken = hints.get(member) or [], set[str]()
        if len(listed) > _MAX_HINTS:
            yield fields.too_many(at.child(member), len(listed), _MAX_HINTS)
            return
        for index, one in enumerate(listed):
            name, place = one.get("name") or "", at.child(member).index(index).child("name")
            if name in taken:
                yield fields.duplicate(place, name)
            taken.add(name)
            yield from naming.complaints(problems(name), name, place)
