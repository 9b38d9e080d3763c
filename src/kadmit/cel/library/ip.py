"""ip(...): IPv4 and IPv6 addresses, read and written as Go's net/netip does, without zones and IPv4-mapped ones.

An address is a number and its width. Well-formed texts take a short way; every other text is walked through again to
say what is wrong with it.
"""

import re
from collections.abc import Sequence

from kadmit.cel import gotext, types
from kadmit.cel.declarations import Example, Function, function, member, plain
from kadmit.cel.library import traversal
from kadmit.cel.library.lists import size_of
from kadmit.cel.types import Type
from kadmit.cel.values import CelError, Value

SINCE = 30

_OCTET = r"(?:25[0-5]|2[0-4][0-9]|1[0-9][0-9]|[1-9]?[0-9])"
_IPV4 = re.compile(rf"({_OCTET})\.({_OCTET})\.({_OCTET})\.({_OCTET})")
_HEX = re.compile(r"[0-9a-fA-F]*")
_GROUPS = 8
_NO_OVERLOAD = CelError("no such overload")


class IP:
    """An address of 32 or 128 bits."""

    __slots__ = ("number", "width")

    cel_type: Type = types.opaque("net.IP")
    go_name = "cel.IP"
    native_name = "IP"
    go_native = "netip.Addr"

    def __init__(self, number: int, width: int) -> None:
        self.number = number
        self.width = width

    def __str__(self) -> str:
        return _ipv4_text(self.number) if self.width == 32 else _ipv6_text(self.number)

    def __repr__(self) -> str:
        return f"IP({str(self)!r})"

    def equals(self, other: Value) -> Value:
        return self.number == other.number and self.width == other.width if other.__class__ is IP else _NO_OVERLOAD

    def size(self) -> int:
        """In bytes; only prices look at it."""
        return self.width // 8


# ---------------------------------------------------------------- reading


def parse(text: str) -> IP | str:
    """The address, or the text of the error that ip() gives."""
    address, zone, problem = parse_addr(text)
    if address is None:
        return f"IP Address {gotext.quote(text)} parse error during conversion from string: {problem}"
    if zone:
        return f"IP address {gotext.quote(text)} with zone value is not allowed"
    if is_ipv4_mapped(address):
        return f"IPv4-mapped IPv6 address {gotext.quote(text)} is not allowed"
    return address


def is_ipv4_mapped(address: IP) -> bool:
    return address.width == 128 and address.number >> 32 == 0xFFFF


def parse_addr(text: str) -> tuple[IP | None, str, str]:
    """netip.ParseAddr: an address and its zone, or None, "" and the text of the error."""
    octets = _IPV4.fullmatch(text)
    if octets is not None:
        a, b, c, d = octets.groups()
        return IP(int(a) << 24 | int(b) << 16 | int(c) << 8 | int(d), 32), "", ""
    zone = ""
    try:
        mark = next((char for char in text if char in ".:%"), "")
        if mark == ":":
            body, percent, zone = text.partition("%")
            if percent and not zone:
                raise _Malformed("zone must be a non-empty string")
            return IP(_ipv6_number(body), 128), zone, ""
        if mark == ".":
            return IP(_ipv4_number(text), 32), "", ""
        raise _Malformed("missing IPv6 address" if mark else "unable to parse IP")
    except _Malformed as malformed:
        return None, "", f"ParseAddr({gotext.quote(text)}): {malformed}"


class _Malformed(Exception):
    def __init__(self, message: str, at: str = "") -> None:
        super().__init__(f"{message} (at {gotext.quote(at)})" if at else message)


def _ipv4_number(text: str) -> int:
    octets = _IPV4.fullmatch(text)
    if octets is None:
        raise _ipv4_problem(text)
    a, b, c, d = map(int, octets.groups())
    return a << 24 | b << 16 | c << 8 | d


def _ipv4_problem(text: str) -> _Malformed:
    """What is wrong with it, from left to right."""
    field, dots = "", 0
    for i, char in enumerate(text):
        if "0" <= char <= "9":
            if field == "0":
                return _Malformed("IPv4 field has octet with leading zero")
            field += char
            if int(field) > 255:
                return _Malformed("IPv4 field has value >255")
        elif char != ".":
            return _Malformed("unexpected character", text[i:])
        elif i in (0, len(text) - 1) or text[i - 1] == ".":
            return _Malformed("IPv4 field must have at least one digit", text[i:])
        elif dots == 3:
            return _Malformed("IPv4 address too long")
        else:
            field, dots = "", dots + 1
    return _Malformed("IPv4 address too short")


def _ipv6_number(text: str) -> int:
    """The number of a text without zone; raises _Malformed."""
    groups: list[int] = []
    gap = -1  # how many groups stand before the ::
    rest = text
    if rest.startswith("::"):
        gap, rest = 0, rest[2:]
    while rest and len(groups) < _GROUPS:
        digits = _hex_group(rest)
        if rest[len(digits) : len(digits) + 1] == ".":
            groups += _embedded_ipv4(rest, len(groups), has_gap=gap >= 0)
            rest = ""
            break
        groups.append(int(digits, 16))
        rest = rest[len(digits) :]
        if not rest:
            break
        rest = _after_colon(rest)
        if rest[0] == ":":
            if gap >= 0:
                raise _Malformed("multiple :: in address", rest)
            gap, rest = len(groups), rest[1:]
    if rest:
        raise _Malformed("trailing garbage after address", rest)
    return _number_of_groups(groups, gap)


def _hex_group(rest: str) -> str:
    digits = _HEX.match(rest)[0]  # type: ignore[index]  # it always matches
    if len(digits) > 4:
        raise _Malformed("each group must have 4 or less digits", rest)
    if not digits:
        raise _Malformed("each colon-separated field must have at least one digit", rest)
    return digits


def _embedded_ipv4(rest: str, groups: int, *, has_gap: bool) -> tuple[int, int]:
    if not has_gap and groups != _GROUPS - 2:
        raise _Malformed("embedded IPv4 address must replace the final 2 fields of the address", rest)
    if groups > _GROUPS - 2:
        raise _Malformed("too many hex fields to fit an embedded IPv4 at the end of the address", rest)
    number = _ipv4_number(rest)
    return number >> 16, number & 0xFFFF


def _after_colon(rest: str) -> str:
    if rest[0] != ":":
        raise _Malformed("unexpected character, want colon", rest)
    if len(rest) == 1:
        raise _Malformed("colon must be followed by more characters", rest)
    return rest[1:]


def _number_of_groups(groups: list[int], gap: int) -> int:
    missing = _GROUPS - len(groups)
    if missing and gap < 0:
        raise _Malformed("address string too short")
    if not missing and gap >= 0:
        raise _Malformed("the :: must expand to at least one field of zeros")
    number = 0
    for group in groups[:gap] + [0] * missing + groups[gap:] if missing else groups:
        number = number << 16 | group
    return number


# ---------------------------------------------------------------- writing


def _ipv4_text(number: int) -> str:
    return f"{number >> 24}.{number >> 16 & 255}.{number >> 8 & 255}.{number & 255}"


def _ipv6_text(number: int) -> str:
    """Lower case, and :: for the first of the longest runs of two or more zero groups."""
    groups = [f"{number >> shift & 0xFFFF:x}" for shift in range(112, -1, -16)]
    start, length = _longest_zeros(groups)
    if length < 2:
        return ":".join(groups)
    return ":".join(groups[:start]) + "::" + ":".join(groups[start + length :])


def _longest_zeros(groups: list[str]) -> tuple[int, int]:
    best, run = (0, 0), 0
    for i, group in enumerate(groups, 1):
        run = run + 1 if group == "0" else 0
        if run > best[1]:
            best = (i - run, run)
    return best


# ---------------------------------------------------------------- functions


def ip(text: str) -> Value:
    parsed = parse(text)
    return CelError(parsed) if parsed.__class__ is str else parsed


def is_ip(text: str) -> Value:
    return parse(text).__class__ is IP


def is_canonical(text: str) -> Value:
    parsed = parse(text)
    return CelError(parsed) if isinstance(parsed, str) else str(parsed) == text


def family(self: IP) -> Value:
    return 4 if self.width == 32 else 6


def is_unspecified(self: IP) -> Value:
    return self.number == 0


def is_loopback(self: IP) -> Value:
    return self.number >> 24 == 127 if self.width == 32 else self.number == 1


def is_multicast(self: IP) -> bool:
    return self.number >> 28 == 0xE if self.width == 32 else self.number >> 120 == 0xFF


def is_link_local_multicast(self: IP) -> Value:
    return self.number >> 8 == 0xE00000 if self.width == 32 else self.number >> 112 & 0xFF0F == 0xFF02


def is_link_local_unicast(self: IP) -> Value:
    return self.number >> 16 == 0xA9FE if self.width == 32 else self.number >> 118 == 0xFE80 >> 6


def is_global_unicast(self: IP) -> Value:
    """Private addresses count as global here."""
    is_broadcast = self.width == 32 and self.number == 0xFFFFFFFF
    return not (is_unspecified(self) or is_broadcast or is_loopback(self) or is_multicast(self) or is_link_local_unicast(self))


def ip_cost(overload: str, args: Sequence[Value], _result: Value) -> int:
    """Reading a text; taking the address of a CIDR is one step."""
    return 1 if overload == "cidr_ip" else traversal.of_size(size_of(args[0]))


FUNCTIONS: tuple[Function, ...] = (
    function(
        "ip",
        plain("string_to_ip", (types.STRING,), IP.cel_type, ip, since=SINCE),
        cost=ip_cost,
        doc="Reads an IPv4 or IPv6 address; zones and IPv4-mapped IPv6 addresses are refused.",
        examples=(
            Example("ip('2001:DB8::1').family()", 6),
            Example(
                "ip('1.2.3')",
                error='IP Address "1.2.3" parse error during conversion from string: ParseAddr("1.2.3"): IPv4 address too short',
            ),
        ),
    ),
    function(
        "isIP",
        plain("is_ip", (types.STRING,), types.BOOL, is_ip, since=SINCE),
        cost=traversal.reading,
        doc="Whether ip() can read the text.",
        examples=(Example("isIP('::1')", True), Example("isIP('fe80::1%eth0')", False)),
    ),
    function(
        "ip.isCanonical",
        plain("ip_is_canonical", (types.STRING,), types.BOOL, is_canonical, since=SINCE),
        cost=traversal.reading_twice,
        doc="Whether the address is written as string(ip(...)) would write it.",
        examples=(Example("ip.isCanonical('2001:db8::1')", True), Example("ip.isCanonical('2001:DB8::1')", False)),
    ),
    function(
        "family",
        member("ip_family", IP.cel_type, (), types.INT, family, since=SINCE),
        cost=traversal.one_step,
        doc="4 or 6.",
        examples=(Example("ip('127.0.0.1').family()", 4),),
    ),
    function(
        "isUnspecified",
        member("ip_is_unspecified", IP.cel_type, (), types.BOOL, is_unspecified, since=SINCE),
        cost=traversal.one_step,
        doc="Whether the address is 0.0.0.0 or ::.",
        examples=(Example("ip('::').isUnspecified()", True),),
    ),
    function(
        "isLoopback",
        member("ip_is_loopback", IP.cel_type, (), types.BOOL, is_loopback, since=SINCE),
        cost=traversal.one_step,
        doc="Whether the address is in 127.0.0.0/8, or ::1.",
        examples=(Example("ip('127.8.8.8').isLoopback()", True),),
    ),
    function(
        "isLinkLocalMulticast",
        member("ip_is_link_local_multicast", IP.cel_type, (), types.BOOL, is_link_local_multicast, since=SINCE),
        cost=traversal.one_step,
        doc="Whether the address is in 224.0.0.0/24, or an IPv6 multicast address of link-local scope.",
        examples=(Example("ip('ff02::1').isLinkLocalMulticast()", True),),
    ),
    function(
        "isLinkLocalUnicast",
        member("ip_is_link_local_unicast", IP.cel_type, (), types.BOOL, is_link_local_unicast, since=SINCE),
        cost=traversal.one_step,
        doc="Whether the address is in 169.254.0.0/16 or fe80::/10.",
        examples=(Example("ip('169.254.169.254').isLinkLocalUnicast()", True),),
    ),
    function(
        "isGlobalUnicast",
        member("ip_is_global_unicast", IP.cel_type, (), types.BOOL, is_global_unicast, since=SINCE),
        cost=traversal.one_step,
        doc="Whether the address is none of the special ones; private addresses count as global.",
        examples=(Example("ip('10.0.0.1').isGlobalUnicast()", True), Example("ip('255.255.255.255').isGlobalUnicast()", False)),
    ),
    function(
        "string",
        plain("ip_to_string", (IP.cel_type,), types.STRING, str, since=SINCE),
        doc="The canonical text of an address.",
        examples=(Example("string(ip('2001:DB8:0::1'))", "2001:db8::1"),),
    ),
)
