"""cidr(...): address ranges such as 10.0.0.0/8, read and written as Go's net/netip does. Host bits may be set."""

import re
from collections.abc import Sequence

from kadmit.cel import gotext, types
from kadmit.cel.declarations import Example, Function, function, member, plain
from kadmit.cel.library import traversal
from kadmit.cel.library.ip import IP, ip_cost, is_ipv4_mapped, parse_addr
from kadmit.cel.library.ip import parse as parse_ip
from kadmit.cel.library.lists import size_of
from kadmit.cel.types import Type
from kadmit.cel.values import CelError, Value

SINCE = 30

_BITS = re.compile(r"[0-9]|[1-9][0-9]{1,17}")
_NO_OVERLOAD = CelError("no such overload")


class CIDR:
    """An address and how many of its leading bits are the network."""

    __slots__ = ("address", "bits")

    cel_type: Type = types.opaque("net.CIDR")
    go_name = "cel.CIDR"
    native_name = "CIDR"
    go_native = "netip.Prefix"

    def __init__(self, address: IP, bits: int) -> None:
        self.address = address
        self.bits = bits

    def __str__(self) -> str:
        return f"{self.address}/{self.bits}"

    def __repr__(self) -> str:
        return f"CIDR({str(self)!r})"

    def equals(self, other: Value) -> Value:
        if other.__class__ is not CIDR:
            return _NO_OVERLOAD
        return self.bits == other.bits and self.address.equals(other.address)

    def size(self) -> int:
        """The network part in bytes; only prices look at it."""
        return (self.bits + 7) // 8


def parse(text: str) -> CIDR | str:
    """The range, or the text of the error that cidr() wraps."""
    prefix, slash, bits = text.rpartition("/")
    if not slash:
        return _problem(text, "no '/'")
    address, zone, problem = parse_addr(prefix)
    if address is None:
        return _problem(text, problem)
    if zone:
        return _problem(text, "IPv6 zones cannot be present in a prefix")
    if _BITS.fullmatch(bits) is None:
        return _problem(text, _bad_bits(bits))
    if int(bits) > address.width:
        return _problem(text, "prefix length out of range")
    if is_ipv4_mapped(address):
        return f"IPv4-mapped IPv6 address {gotext.quote(text)} is not allowed"
    return CIDR(address, int(bits))


def _bad_bits(bits: str) -> str:
    is_number = gotext.parse_int(bits) is not None and bits[0] in "123456789"
    return "prefix length out of range" if is_number else f"bad bits after slash: {gotext.quote(bits)}"


def _problem(text: str, message: str) -> str:
    return f"network address parse error during conversion from string: netip.ParsePrefix({gotext.quote(text)}): {message}"


def cidr(text: str) -> Value:
    parsed = parse(text)
    if isinstance(parsed, str):
        return CelError(f"network address parse error during conversion from string: {parsed}")
    return parsed


def is_cidr(text: str) -> Value:
    return parse(text).__class__ is CIDR


def contains_ip(self: CIDR, address: IP) -> Value:
    network = self.address
    return network.width == address.width and (network.number ^ address.number) >> (network.width - self.bits) == 0


def contains_ip_text(self: CIDR, text: str) -> Value:
    # NB: a text that is no address is reported as a wrong argument, without saying what is wrong with it.
    address = parse_ip(text)
    return _NO_OVERLOAD if isinstance(address, str) else contains_ip(self, address)


def contains_cidr(self: CIDR, other: CIDR) -> Value:
    return self.bits <= other.bits and contains_ip(self, other.address)


def contains_cidr_text(self: CIDR, text: str) -> Value:
    other = cidr(text)
    return other if other.__class__ is CelError else contains_cidr(self, other)


def address_of(self: CIDR) -> Value:
    return self.address


def masked(self: CIDR) -> Value:
    host = self.address.width - self.bits
    return CIDR(IP(self.address.number >> host << host, self.address.width), self.bits)


def prefix_length(self: CIDR) -> Value:
    return self.bits


def contains_ip_cost(overload: str, args: Sequence[Value], _result: Value) -> int:
    """Both network parts are compared; a text is read first."""
    parsing = size_of(args[1]) if overload == "cidr_contains_ip_string" else 0
    return traversal.of_size(2 * size_of(args[0])) + traversal.of_size(parsing)


def contains_cidr_cost(overload: str, args: Sequence[Value], _result: Value) -> int:
    """As for an address, and the range is masked first and the lengths are compared."""
    parsing = size_of(args[1]) if overload == "cidr_contains_cidr_string" else 0
    size = size_of(args[0])
    return traversal.of_size(2 * size) + traversal.of_size(size) + 1 + traversal.of_size(parsing)


FUNCTIONS: tuple[Function, ...] = (
    function(
        "cidr",
        plain("string_to_cidr", (types.STRING,), CIDR.cel_type, cidr, since=SINCE),
        cost=traversal.reading,
        doc="Reads a range of addresses.",
        examples=(
            Example("cidr('192.168.0.0/24').prefixLength()", 24),
            Example(
                "cidr('10.0.0.0')",
                error="network address parse error during conversion from string: network address parse error during "
                "conversion from string: netip.ParsePrefix(\"10.0.0.0\"): no '/'",
            ),
        ),
    ),
    function(
        "isCIDR",
        plain("is_cidr", (types.STRING,), types.BOOL, is_cidr, since=SINCE),
        cost=traversal.reading,
        doc="Whether cidr() can read the text.",
        examples=(Example("isCIDR('10.0.0.1/8')", True), Example("isCIDR('10.0.0.0/33')", False)),
    ),
    function(
        "containsIP",
        member("cidr_contains_ip_string", CIDR.cel_type, (types.STRING,), types.BOOL, contains_ip_text, since=SINCE),
        member("cidr_contains_ip_ip", CIDR.cel_type, (IP.cel_type,), types.BOOL, contains_ip, since=SINCE),
        cost=contains_ip_cost,
        doc="Whether the address, given as such or as text, is in the range.",
        examples=(Example("cidr('192.168.0.0/24').containsIP('192.168.0.7')", True),),
    ),
    function(
        "containsCIDR",
        member("cidr_contains_cidr_string", CIDR.cel_type, (types.STRING,), types.BOOL, contains_cidr_text, since=SINCE),
        member("cidr_contains_cidr", CIDR.cel_type, (CIDR.cel_type,), types.BOOL, contains_cidr, since=SINCE),
        cost=contains_cidr_cost,
        doc="Whether the other range, given as such or as text, lies wholly in this one.",
        examples=(Example("cidr('10.0.0.0/8').containsCIDR(cidr('10.1.0.0/16'))", True),),
    ),
    function(
        "ip",
        member("cidr_ip", CIDR.cel_type, (), IP.cel_type, address_of, since=SINCE),
        cost=ip_cost,
        doc="The address of a range as written, host bits and all.",
        examples=(Example("string(cidr('192.168.1.5/16').ip())", "192.168.1.5"),),
    ),
    function(
        "masked",
        member("cidr_masked", CIDR.cel_type, (), CIDR.cel_type, masked, since=SINCE),
        cost=traversal.one_step,
        doc="The range with its host bits cleared.",
        examples=(Example("string(cidr('192.168.1.5/16').masked())", "192.168.0.0/16"),),
    ),
    function(
        "prefixLength",
        member("cidr_prefix_length", CIDR.cel_type, (), types.INT, prefix_length, since=SINCE),
        cost=traversal.one_step,
        doc="How many bits the network part has.",
        examples=(Example("cidr('::1/128').prefixLength()", 128),),
    ),
    function(
        "string",
        plain("cidr_to_string", (CIDR.cel_type,), types.STRING, str, since=SINCE),
        doc="The text of a range, its address in canonical form.",
        examples=(Example("string(cidr('2001:DB8::/32'))", "2001:db8::/32"),),
    ),
)
