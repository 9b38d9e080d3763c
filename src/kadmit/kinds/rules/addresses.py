"""IP addresses and blocks of them, as fields take them that are older than today's strictness.

Leading zeroes and IPv4 addresses in IPv6 form pass; what stood in an object before passes again.
"""

import re
from collections.abc import Collection, Iterator
from typing import NamedTuple

from kadmit.api import fields
from kadmit.api.fields import FieldError, Path
from kadmit.cel.library import ip as ips

_BYTES = re.compile(r"0*+([0-9]{1,3})\.0*+([0-9]{1,3})\.0*+([0-9]{1,3})\.0*+([0-9]{1,3})")
_TAIL = re.compile(r"(.*:)([0-9.]++)", re.DOTALL)
_BITS = re.compile("0*+([0-9]{1,3})")


class Block(NamedTuple):
    """A block of addresses, all bits of its number beyond the prefix cleared."""

    number: int
    width: int
    bits: int

    def holds(self, other: "Block") -> bool:
        """Whether the other is a true part of it."""
        if self.width != other.width or self.bits >= other.bits:
            return False
        return other.number >> (self.width - self.bits) == self.number >> (self.width - self.bits)


def parse(text: str) -> ips.IP | None:
    """The address, IPv4 in IPv6 form as IPv4."""
    found = _parse(_without_zeroes(text))
    if found is not None and ips.is_ipv4_mapped(found):
        return ips.IP(found.number & 0xFFFFFFFF, 32)
    return found


def _parse(text: str) -> ips.IP | None:
    if "%" in text:
        return None
    found, _, _ = ips.parse_addr(text)
    return found


def _without_zeroes(text: str) -> str:
    """Leading zeroes of a dotted address are dropped: they never mean octal here."""
    head, tail = "", text
    if ":" in text and (split := _TAIL.fullmatch(text)):
        head, tail = split.groups()
    match = _BYTES.fullmatch(tail)
    return head + ".".join(str(int(part)) for part in match.groups()) if match else text


def parse_block(text: str) -> Block | None:
    address, slash, rest = text.partition("/")
    bits = _BITS.fullmatch(rest)
    found = _parse(_without_zeroes(address)) if slash and bits else None
    if found is None or bits is None or int(bits[1]) > found.width:
        return None
    return _block(found, int(bits[1]))


def _block(address: ips.IP, bits: int) -> Block:
    rest = address.width - bits
    return Block(address.number >> rest << rest, address.width, bits)


def is_ipv6(text: str) -> bool:
    found = parse(text)
    return found is not None and found.width == 128


def address(value: str, at: Path, kept: Collection[str] = ()) -> Iterator[FieldError]:
    if value not in kept and parse(value) is None:
        yield fields.invalid(at, value, "must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)")


def block(value: str, at: Path, kept: Collection[str] = ()) -> Iterator[FieldError]:
    if value not in kept and parse_block(value) is None:
        yield fields.invalid(at, value, "must be a valid CIDR value, (e.g. 10.9.8.0/24 or 2001:db8::/64)")


def endpoint(value: str, at: Path) -> Iterator[FieldError]:
    """An address that others are to be sent to."""
    found = parse(value)
    if found is None:
        yield fields.invalid(at, value, "must be a valid IP address")
        return
    if ips.is_unspecified(found):
        yield fields.invalid(at, value, f"may not be unspecified ({value})")
    if ips.is_loopback(found):
        yield fields.invalid(at, value, "may not be in the loopback range (127.0.0.0/8, ::1/128)")
    if ips.is_link_local_unicast(found):
        yield fields.invalid(at, value, "may not be in the link-local range (169.254.0.0/16, fe80::/10)")
    if ips.is_link_local_multicast(found):
        yield fields.invalid(at, value, "may not be in the link-local multicast range (224.0.0.0/24, ff02::/10)")
