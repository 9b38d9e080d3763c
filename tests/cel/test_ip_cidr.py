"""Addresses and ranges: what Go's net/netip accepts, how it words refusals, and what Kubernetes asks of them."""

import ipaddress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kadmit.cel.library import cidr as cidrs
from kadmit.cel.library import ip as ips
from kadmit.cel.library.cidr import CIDR
from kadmit.cel.library.ip import IP
from kadmit.cel.values import CelError, Value

TWICE = "network address parse error during conversion from string: network address parse error during conversion from string: "


def read(text: str) -> IP:
    parsed = ips.parse(text)
    assert isinstance(parsed, IP), parsed
    return parsed


def ranged(text: str) -> CIDR:
    parsed = cidrs.parse(text)
    assert isinstance(parsed, CIDR), parsed
    return parsed


def message(value: Value) -> str:
    assert isinstance(value, CelError)
    return value.message


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("", "unable to parse IP"),
        ("bogus", "unable to parse IP"),
        ("%eth0", "missing IPv6 address"),
        ("1.2.3", "IPv4 address too short"),
        ("1.2.3.4.5", "IPv4 address too long"),
        ("1.2.3.256", "IPv4 field has value >255"),
        ("01.2.3.4", "IPv4 field has octet with leading zero"),
        ("1..2.3", 'IPv4 field must have at least one digit (at ".2.3")'),
        (".1.2.3", 'IPv4 field must have at least one digit (at ".1.2.3")'),
        ("1.2.3.", 'IPv4 field must have at least one digit (at ".")'),
        ("1.2.3.4/8", 'unexpected character (at "/8")'),
        ("1.2.3.é", 'unexpected character (at "é")'),
        ("::g", 'each colon-separated field must have at least one digit (at "g")'),
        (":", 'each colon-separated field must have at least one digit (at ":")'),
        ("1:2", "address string too short"),
        ("12345::", 'each group must have 4 or less digits (at "12345::")'),
        ("1::2::3", 'multiple :: in address (at ":3")'),
        ("1:2:3:4:5:6:7:8:9", 'trailing garbage after address (at "9")'),
        ("1:2:3:4:5:6:7:8::", "the :: must expand to at least one field of zeros"),
        ("1:2:3:4::5:6:7:8", "the :: must expand to at least one field of zeros"),
        ("1:", 'colon must be followed by more characters (at ":")'),
        ("1:2x", 'unexpected character, want colon (at "x")'),
        ("::1%", "zone must be a non-empty string"),
        ("1:2.3.4.5", 'embedded IPv4 address must replace the final 2 fields of the address (at "2.3.4.5")'),
        ("::1:2:3:4:5:6:7:1.2.3.4", 'too many hex fields to fit an embedded IPv4 at the end of the address (at "1.2.3.4")'),
        ("::1.2.3", "IPv4 address too short"),
    ],
)
def test_a_malformed_address_is_refused_in_gos_words(text: str, problem: str) -> None:
    quoted = f'"{text}"'
    assert (
        message(ips.ip(text)) == f"IP Address {quoted} parse error during conversion from string: ParseAddr({quoted}): {problem}"
    )
    assert ips.is_ip(text) is False


def test_zones_and_mapped_addresses_are_refused_by_kubernetes() -> None:
    assert message(ips.ip("fe80::1%eth0")) == 'IP address "fe80::1%eth0" with zone value is not allowed'
    assert message(ips.ip("::ffff:1.2.3.4")) == 'IPv4-mapped IPv6 address "::ffff:1.2.3.4" is not allowed'
    assert message(ips.is_canonical("::FFFF:102:304")) == 'IPv4-mapped IPv6 address "::FFFF:102:304" is not allowed'


@pytest.mark.parametrize(
    ("text", "canonical"),
    [
        ("192.168.0.1", "192.168.0.1"),
        ("2001:DB8::1", "2001:db8::1"),
        ("::0001", "::1"),
        ("::", "::"),
        ("1::", "1::"),
        ("1:0:0:2:0:0:0:3", "1:0:0:2::3"),
        ("1:0:0:2:3:0:0:4", "1::2:3:0:0:4"),
        ("1:0:2:3:4:5:6:7", "1:0:2:3:4:5:6:7"),
        ("::1.2.3.4", "::102:304"),
    ],
)
def test_an_address_is_written_in_canonical_form(text: str, canonical: str) -> None:
    assert str(read(text)) == canonical
    assert ips.is_canonical(text) is (text == canonical)


KINDS = ("isUnspecified", "isLoopback", "isLinkLocalMulticast", "isLinkLocalUnicast", "isGlobalUnicast")


@pytest.mark.parametrize(
    ("text", "family", "kinds"),
    [
        ("0.0.0.0", 4, {"isUnspecified"}),
        ("::", 6, {"isUnspecified"}),
        ("127.8.8.8", 4, {"isLoopback"}),
        ("::1", 6, {"isLoopback"}),
        ("224.0.0.9", 4, {"isLinkLocalMulticast"}),
        ("224.0.1.1", 4, set()),
        ("ff32::1", 6, {"isLinkLocalMulticast"}),
        ("ff01::1", 6, set()),
        ("169.254.1.1", 4, {"isLinkLocalUnicast"}),
        ("febf::1", 6, {"isLinkLocalUnicast"}),
        ("fec0::1", 6, {"isGlobalUnicast"}),
        ("10.0.0.1", 4, {"isGlobalUnicast"}),
        ("255.255.255.255", 4, set()),
        ("ffff::", 6, set()),
        ("8.8.8.8", 4, {"isGlobalUnicast"}),
    ],
)
def test_addresses_have_kinds(text: str, family: int, kinds: set[str]) -> None:
    asked = {o.id: o.impl for f in ips.FUNCTIONS if f.name in KINDS for o in f.overloads}
    answers = {f.name for f in ips.FUNCTIONS if f.name in KINDS for o in f.overloads if (asked[o.id] or repr)(read(text)) is True}
    assert answers == kinds
    assert ips.family(read(text)) == family


def test_equal_addresses_are_of_one_family() -> None:
    assert read("::1").equals(read("0:0:0:0:0:0:0:1")) is True
    assert read("0.0.0.1").equals(read("::1")) is False
    assert message(read("::1").equals("::1")) == "no such overload"


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("10.0.0.0", "no '/'"),
        ("", "no '/'"),
        ("10.0.0.0/33", "prefix length out of range"),
        ("::1/129", "prefix length out of range"),
        ("10.0.0.0/9223372036854775807", "prefix length out of range"),
        ("10.0.0.0/9223372036854775808", 'bad bits after slash: "9223372036854775808"'),
        ("10.0.0.0/-1", 'bad bits after slash: "-1"'),
        ("10.0.0.0/+1", 'bad bits after slash: "+1"'),
        ("10.0.0.0/08", 'bad bits after slash: "08"'),
        ("10.0.0.0/", 'bad bits after slash: ""'),
        ("10.0.0.0/x", 'bad bits after slash: "x"'),
        ("fe80::1%a/64", "IPv6 zones cannot be present in a prefix"),
        ("010.0.0.0/8", 'ParseAddr("010.0.0.0"): IPv4 field has octet with leading zero'),
        ("1/2/3", 'ParseAddr("1/2"): unable to parse IP'),
    ],
)
def test_a_malformed_range_is_refused_in_gos_words_and_a_doubled_preface(text: str, problem: str) -> None:
    assert message(cidrs.cidr(text)) == f'{TWICE}netip.ParsePrefix("{text}"): {problem}'
    assert cidrs.is_cidr(text) is False


def test_a_mapped_range_is_refused_with_a_single_preface() -> None:
    expected = (
        'network address parse error during conversion from string: IPv4-mapped IPv6 address "::ffff:1.2.3.4/120" is not allowed'
    )
    assert message(cidrs.cidr("::ffff:1.2.3.4/120")) == expected


def test_a_range_keeps_its_host_bits_until_masked() -> None:
    network = ranged("192.168.1.5/16")
    assert str(network) == "192.168.1.5/16"
    assert str(cidrs.masked(network)) == "192.168.0.0/16"
    assert str(cidrs.address_of(network)) == "192.168.1.5"
    assert cidrs.prefix_length(network) == 16
    assert network.equals(ranged("192.168.0.0/16")) is False
    assert cidrs.masked(network).equals(ranged("192.168.0.0/16")) is True
    assert message(network.equals(read("192.168.1.5"))) == "no such overload"


@pytest.mark.parametrize(
    ("network", "address", "inside"),
    [
        ("192.168.0.0/24", "192.168.0.7", True),
        ("192.168.0.9/24", "192.168.0.1", True),
        ("192.168.0.0/24", "192.168.1.7", False),
        ("0.0.0.0/0", "8.8.8.8", True),
        ("0.0.0.0/0", "::1", False),
        ("::/0", "8.8.8.8", False),
        ("fe80::/10", "febf::1", True),
        ("1.2.3.4/32", "1.2.3.5", False),
    ],
)
def test_containing_an_address(network: str, address: str, inside: bool) -> None:
    assert cidrs.contains_ip_text(ranged(network), address) is inside
    assert cidrs.contains_ip(ranged(network), read(address)) is inside


@pytest.mark.parametrize(
    ("network", "other", "inside"),
    [
        ("10.0.0.0/8", "10.1.0.0/16", True),
        ("10.0.0.0/8", "10.0.0.0/8", True),
        ("10.1.0.0/16", "10.0.0.0/8", False),
        ("10.0.0.0/8", "11.0.0.0/16", False),
        ("10.0.0.0/8", "::/0", False),
        ("0.0.0.0/0", "::/1", False),
    ],
)
def test_containing_a_range(network: str, other: str, inside: bool) -> None:
    assert cidrs.contains_cidr_text(ranged(network), other) is inside
    assert cidrs.contains_cidr(ranged(network), ranged(other)) is inside


def test_a_malformed_argument_is_named_for_ranges_and_not_for_addresses() -> None:
    network = ranged("10.0.0.0/8")
    assert message(cidrs.contains_ip_text(network, "bogus")) == "no such overload"
    assert message(cidrs.contains_cidr_text(network, "bogus")) == f"{TWICE}netip.ParsePrefix(\"bogus\"): no '/'"


@pytest.mark.parametrize(
    ("name", "overload", "args", "expected"),
    [
        ("ip", "string_to_ip", ("2001:db8::1",), 2),
        ("ip", "cidr_ip", (ranged("10.0.0.0/8"),), 1),
        ("isIP", "is_ip", ("1.2.3.4",), 1),
        ("ip.isCanonical", "ip_is_canonical", ("1.2.3.4",), 2),
        ("family", "ip_family", (read("::1"),), 1),
        ("cidr", "string_to_cidr", ("2001:db8::/32",), 2),
        ("containsIP", "cidr_contains_ip_string", (ranged("10.0.0.0/8"), "10.255.255.255"), 3),
        ("containsIP", "cidr_contains_ip_ip", (ranged("10.0.0.0/8"), read("::1")), 1),
        ("containsIP", "", (ranged("::1/128"), "10.255.255.255"), 4),
        ("containsIP", "cidr_contains_ip_ip", (ranged("0.0.0.0/0"), read("::1")), 0),
        ("containsCIDR", "cidr_contains_cidr_string", (ranged("10.0.0.0/8"), "10.0.0.0/16"), 5),
        ("containsCIDR", "cidr_contains_cidr", (ranged("::1/128"), ranged("::1/128")), 7),
        ("masked", "cidr_masked", (ranged("10.0.0.0/8"),), 1),
    ],
)
def test_prices_go_by_the_bytes_of_the_network(name: str, overload: str, args: tuple[Value, ...], expected: int) -> None:
    prices = [f.cost for f in (*ips.FUNCTIONS, *cidrs.FUNCTIONS) if f.name == name]
    assert {charge(overload, args, None) for charge in prices if charge is not None} == {expected}


@given(st.integers(0, 2**32 - 1), st.integers(0, 2**128 - 1))
def test_any_address_is_read_back_from_its_text(v4: int, v6: int) -> None:
    assert read(str(IP(v4, 32))).number == v4
    assert str(IP(v4, 32)) == str(ipaddress.IPv4Address(v4))
    if v6 >> 32 != 0xFFFF:
        assert read(str(IP(v6, 128))).number == v6
        assert read(ipaddress.IPv6Address(v6).exploded).number == v6


@given(st.text("0123456789abcdefABCDEF:.%/g é", max_size=40))
def test_any_text_gives_an_address_or_an_error(text: str) -> None:
    assert ips.parse(text).__class__ in (IP, str)
    assert cidrs.parse(text).__class__ in (CIDR, str)
