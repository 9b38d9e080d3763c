"""Semantic versions: strict and mended reading, in the words of the library that Kubernetes uses, and their order."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kadmit.cel.library import semver as versions
from kadmit.cel.library.semver import Semver
from kadmit.cel.values import CelError


def read(text: str, *, normalize: bool = False) -> Semver:
    parsed = versions.parse(text, normalize=normalize)
    assert isinstance(parsed, Semver), parsed
    return parsed


@pytest.mark.parametrize(
    ("text", "error"),
    [
        ("", "Version string empty"),
        ("1.2", "No Major.Minor.Patch elements found"),
        ("v1.2.3", 'Invalid character(s) found in major number "v1"'),
        ("1.x.3", 'Invalid character(s) found in minor number "x"'),
        ("1.2.3.4", 'Invalid character(s) found in patch number "3.4"'),
        ("1.2.3 ", 'Invalid character(s) found in patch number "3 "'),
        ("01.2.3", 'Major number must not contain leading zeroes "01"'),
        ("1.02.3", 'Minor number must not contain leading zeroes "02"'),
        ("1.2.03", 'Patch number must not contain leading zeroes "03"'),
        (".2.3", 'strconv.ParseUint: parsing "": invalid syntax'),
        ("1.2.", 'strconv.ParseUint: parsing "": invalid syntax'),
        ("18446744073709551616.0.0", 'strconv.ParseUint: parsing "18446744073709551616": value out of range'),
        ("1.2.3-", "Prerelease is empty"),
        ("1.2.3-a..b", "Prerelease is empty"),
        ("1.2.3-01", 'Numeric PreRelease version must not contain leading zeroes "01"'),
        ("1.2.3-a_b", 'Invalid character(s) found in prerelease "a_b"'),
        ("1.2.3-99999999999999999999", 'strconv.ParseUint: parsing "99999999999999999999": value out of range'),
        ("1.2.3+", "Build meta data is empty"),
        ("1.2.3+é", 'Invalid character(s) found in build meta data "é"'),
        ("1.2.3-é+é", 'Invalid character(s) found in prerelease "é"'),
    ],
)
def test_a_text_that_is_no_version_is_refused(text: str, error: str) -> None:
    assert versions.parse(text) == error
    refused = versions.semver(text)
    assert isinstance(refused, CelError)
    assert refused.message == error
    assert versions.is_semver(text) is False


@pytest.mark.parametrize(
    ("text", "version"),
    [
        ("v1.2.3", "1.2.3"),
        ("1", "1.0.0"),
        ("v1.2", "1.2.0"),
        ("01.02.03", "1.2.3"),
        ("00", "0.0.0"),
        ("1.2.3-alpha", "1.2.3-alpha"),
        ("1.2.003-01a+001", "1.2.3-01a+001"),
        ("1.2.-a", "1.2.0-a"),
    ],
)
def test_mending_drops_v_and_zeros_and_adds_what_is_missing(text: str, version: str) -> None:
    assert str(read(text, normalize=True)) == version


@pytest.mark.parametrize(
    ("text", "error"),
    [
        ("v1-alpha", "short version cannot contain PreRelease/Build meta data"),
        ("1.2+b", "short version cannot contain PreRelease/Build meta data"),
        ("V1.2.3", 'Invalid character(s) found in major number "0V1"'),
        ("é", 'Invalid character(s) found in major number "0é"'),
        ("", 'strconv.ParseUint: parsing "": invalid syntax'),
        ("vv1", 'Invalid character(s) found in major number "0v1"'),
    ],
)
def test_mending_has_its_limits(text: str, error: str) -> None:
    assert versions.parse(text, normalize=True) == error


ORDERED = [
    "0.0.1",
    "0.1.0",
    "1.0.0-0",
    "1.0.0-2",
    "1.0.0-10",
    "1.0.0-alpha",
    "1.0.0-alpha.1",
    "1.0.0-alpha.beta",
    "1.0.0-beta",
    "1.0.0-rc",
    "1.0.0",
    "1.9.0",
    "1.10.0",
    "18446744073709551615.0.0",
]


@pytest.mark.parametrize(("older", "newer"), [(a, b) for i, a in enumerate(ORDERED) for b in ORDERED[i + 1 :]])
def test_versions_are_ordered(older: str, newer: str) -> None:
    a, b = read(older), read(newer)
    assert (versions.compare(a, b), versions.compare(b, a), versions.compare(a, a)) == (-1, 1, 0)
    assert versions.is_less_than(a, b) is True
    assert versions.is_greater_than(a, b) is False
    assert a.equals(b) is False


def test_build_metadata_does_not_count() -> None:
    assert read("1.0.0+a").equals(read("1.0.0+b")) is True
    assert versions.compare(read("1.0.0+a"), read("1.0.0")) == 0
    assert isinstance(read("1.0.0").equals("1.0.0"), CelError)


def test_numbers_beyond_a_signed_one_turn_negative() -> None:
    version = read("9223372036854775808.18446744073709551615.3")
    assert (versions.major(version), versions.minor(version), versions.patch(version)) == (-(2**63), -1, 3)


def test_reading_costs_a_tenth_of_the_length() -> None:
    prices = {f.name: f.cost for f in versions.FUNCTIONS}
    charge = prices["semver"]
    assert charge is not None
    assert charge("string_to_semver", ("1.2.3-alpha.1",), None) == 2


identifiers = st.lists(st.from_regex(r"[0-9A-Za-z-]{1,5}", fullmatch=True), max_size=3).map(".".join)


@given(st.tuples(*[st.integers(0, 2**64 - 1)] * 3), identifiers)
def test_a_version_is_written_as_it_is_read(release: tuple[int, int, int], build: str) -> None:
    text = ".".join(map(str, release)) + (build and "+" + build)
    assert str(read(text)) == text
