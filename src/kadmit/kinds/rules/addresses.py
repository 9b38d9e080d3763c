"""IP addresses and blocks of them in fields that once took more forms than they do today.

Leading zeroes and IPv4 addresses in IPv6 form are still understood, and refused; what stood in an object before passes again.
"""

import re
from collections.abc import Collection, Iterator
from typing import NamedTuple

from kadmit.api import fields
from kadmit.api.fields import FieldError, Path
from kadmit.api.gojson import quoted
from kadmit.cel.library import ip as ips

_BYTE = r"(?=[0-9])0*+([0-9]{0,3})"
_BYTES = re.compile(r"\.".join([_BYTE] * 4))
_TAIL = re.compile(r"(.*:)([0-9.]++)", re.DOTALL)
_BITS = re.compile(_BYTE)


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
    return head + ".".join(str(int(part or 0)) for part in match.groups()) if match else text


def parse_block(text: str) -> Block | None:
    address, slash, rest = text.partition("/")
    bits = _BITS.fullmatch(rest)
    found = _parse(_without_zeroes(address)) if slash and bits else None
    if found is None or bits is None or int(bits[1] or 0) > found.width:
        return None
    return _block(found, int(bits[1] or 0))


def _block(address: ips.IP, bits: int) -> Block:
    rest = address.width - bits
    return Block(address.number >> rest << rest, address.width, bits)


def is_ipv6(text: str) -> bool:
    found = parse(text)
    return found is not None and found.width == 128


def address(value: str, at: Path, kept: Collection[str] = ()) -> Iterator[FieldError]:
    if value in kept:
        return
    strict = _parse(value)
    if parse(value) is None:
        yield fields.invalid(at, value, "must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)")
    elif strict is None:
        yield fields.invalid(at, value, "must not have leading 0s")
    elif ips.is_ipv4_mapped(strict):
        yield fields.invalid(at, value, "must not be an IPv4-mapped IPv6 address")


def block(value: str, at: Path, kept: Collection[str] = ()) -> Iterator[FieldError]:
    if value in kept:
        return
    start, _, bits = value.partition("/")
    found, strict = parse_block(value), _parse(start)
    if found is None:
        yield fields.invalid(at, value, "must be a valid CIDR value, (e.g. 10.9.8.0/24 or 2001:db8::/64)")
    elif strict is None or bits != str(found.bits):
        yield fields.invalid(at, value, "must not have leading 0s in IP or prefix length")
    elif ips.is_ipv4_mapped(strict):
        yield fields.invalid(at, value, "must not have an IPv4-mapped IPv6 address")
    elif strict.number != found.number:
        yield fields.invalid(at, value, "must not have bits set beyond the prefix length")


def canonical(value: str, at: Path) -> Iterator[FieldError]:
    """An address of a field that takes the one form only in which it is written."""
    return (fields.invalid(at, value, problem) for problem in canonical_problems(value))


def canonical_problems(value: str) -> list[str]:
    found = [error.detail for error in address(value, fields.path(""))]
    form = "" if found else str(parse(value))
    return found if found or form == value else [f"must be in canonical form ({quoted(form)})"]


def canonical_block(value: str, at: Path) -> Iterator[FieldError]:
    found = list(block(value, at))
    parsed = parse_block(value)
    if not found and parsed is not None:
        form = f"{ips.IP(parsed.number, parsed.width)}/{parsed.bits}"
        if form != value:
            found.append(fields.invalid(at, value, f"must be in canonical form ({quoted(form)})"))
    yield from found


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


# ---------------------------------------------------------------- forms that are taken, and should not be used


def warnings(value: str, at: Path) -> Iterator[str]:
    """What is odd about the form of an address."""
    found, strict = parse(value), _parse(value)
    if found is None:
        return
    if strict is None or ips.is_ipv4_mapped(strict):
        yield f"{at}: non-standard IP address {quoted(value)} is invalid: use {quoted(str(found))}"
    elif strict.width == 128 and str(strict) != value:
        yield f"{at}: IPv6 address {quoted(value)} should be in RFC 5952 canonical format ({quoted(str(strict))})"


def block_warnings(value: str, at: Path) -> Iterator[str]:
    """What is odd about the form of a block of addresses."""
    address, _, bits = value.partition("/")
    found, block = _parse(_without_zeroes(address)), parse_block(value)
    if found is None or block is None:
        return
    strict = _parse(address)
    start = f"{ips.IP(block.number, block.width)}/{block.bits}"
    is_ambiguous = found.number != block.number
    if is_ambiguous:
        one = f"{found}/{found.width}"
        yield f"{at}: CIDR value {quoted(value)} is ambiguous in this context (should be {quoted(start)} or {quoted(one)}?)"
    if strict is None or ips.is_ipv4_mapped(strict) or bits != str(block.bits):
        yield f"{at}: non-standard CIDR value {quoted(value)} is invalid: use {quoted(start)}"
    elif not is_ambiguous and strict.width == 128 and start != value:
        yield f"{at}: IPv6 CIDR value {quoted(value)} should be in RFC 5952 canonical format ({quoted(start)})"
