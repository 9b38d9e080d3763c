"""IPAddresses and ServiceCIDRs: which addresses Services may have, and who has them."""

from collections.abc import Iterator, Mapping
from typing import Any, TypeAlias

from kadmit.api import fields
from kadmit.api.fields import FieldError, Path
from kadmit.kinds import internals
from kadmit.kinds.metadata import dns_subdomain
from kadmit.kinds.rules import addresses, meta, naming
from kadmit.kinds.rules.meta import Object

Json: TypeAlias = Any
Part: TypeAlias = Mapping[str, Json]

_PARENT, _BLOCKS = fields.path("spec", "parentRef"), fields.path("spec", "cidrs")
_FAMILIES = "may specify no more than one IP for each IP family, i.e 192.168.0.0/24 and 2001:db8::/64"


def _is_address(name: str, _: bool) -> list[str]:
    """NB: the name is the address itself, in its only form."""
    return addresses.canonical_problems(name)


def create_address(value: Object) -> Iterator[FieldError]:
    yield from meta.created(value, _is_address, namespaced=False)
    parent = (value.get("spec") or {}).get("parentRef")
    if parent is None:
        yield fields.required(_PARENT)
        return
    if parent.get("group"):
        yield from naming.subdomain(parent["group"], _PARENT.child("group"))
    for member in ("resource", "name"):
        text, at = parent.get(member) or "", _PARENT.child(member)
        yield from naming.path_segment(text, at) if text else (fields.required(at),)
    if parent.get("namespace"):
        yield from naming.path_segment(parent["namespace"], _PARENT.child("namespace"))


def update_address(new: Object, old: Object) -> Iterator[FieldError]:
    yield from create_address(new)
    yield from meta.updated(new, old)
    now, was = ((one.get("spec") or {}).get("parentRef") for one in (new, old))
    if not internals.same("ParentReference", was, now):
        yield fields.invalid(_PARENT, internals.shown("ParentReference", now), meta.IMMUTABLE)


def create_blocks(value: Object) -> Iterator[FieldError]:
    yield from meta.created(value, dns_subdomain, namespaced=False)
    yield from _blocks(value.get("spec") or {})


def _blocks(spec: Part) -> Iterator[FieldError]:
    blocks = spec.get("cidrs") or []
    if not blocks:
        yield fields.required(_BLOCKS, "at least one CIDR required")
    elif len(blocks) > 2:
        yield fields.invalid(_BLOCKS, internals.shown("ServiceCIDRSpec", spec), "may only hold up to 2 values")
    else:
        for index, block in enumerate(blocks):
            yield from addresses.canonical_block(block, _BLOCKS.index(index))
        widths = [found.width for found in map(addresses.parse_block, blocks) if found is not None]
        if len(widths) == 2 and widths[0] == widths[1]:
            yield fields.invalid(_BLOCKS, blocks, _FAMILIES)


def update_blocks(new: Object, old: Object) -> Iterator[FieldError]:
    """A second family may be added later; nothing else changes."""
    yield from meta.updated(new, old)
    now, was = ((one.get("spec") or {}).get("cidrs") or [] for one in (new, old))
    if len(now) == len(was):
        yield from _kept(now, was, _BLOCKS)
    elif (len(was), len(now)) == (1, 2):
        yield from _kept(now[:1], was, _BLOCKS)
        yield from _blocks(new.get("spec") or {})
    else:
        yield fields.invalid(_BLOCKS, now or None, meta.IMMUTABLE)


def _kept(now: list[str], was: list[str], at: Path) -> Iterator[FieldError]:
    for index, (block, before) in enumerate(zip(now, was, strict=True)):
        if block != before:
            yield fields.invalid(at.index(index), block, meta.IMMUTABLE)


def blocks_status(new: Object, old: Object) -> Iterator[FieldError]:
    return meta.updated(new, old)
