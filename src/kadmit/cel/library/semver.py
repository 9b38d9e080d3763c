"""semver(...): semantic versions, read strictly, or after mending what people leave out (v1.2 for 1.2.0).

Build metadata is read and kept, and does not count in comparisons.
"""

import re

from kadmit.cel import gotext, types
from kadmit.cel.declarations import Example, Function, function, member, plain
from kadmit.cel.library import traversal
from kadmit.cel.types import Type
from kadmit.cel.values import INT_MAX, CelError, Value

SINCE = 33

_VERSION = re.compile(r"(0|[1-9][0-9]{0,17})\.(0|[1-9][0-9]{0,17})\.(0|[1-9][0-9]{0,17})")  # the usual case, read at once
_NUMERIC = re.compile(r"[0-9]*")
_IDENTIFIER = re.compile(r"[0-9A-Za-z-]*")
_NO_OVERLOAD = CelError("no such overload")

# Numbers come before words, numbers by value and words by their letters.
_Identifier = tuple[int, int, str]


class _Malformed(Exception):
    pass


class Semver:
    """Major, minor and patch, the identifiers of a pre-release, and build metadata."""

    __slots__ = ("build", "order", "release")

    cel_type: Type = types.struct("kubernetes.Semver")
    go_name = "cel.Semver"
    native_name = "Semver"
    go_native = "semver.Version"
    go_hashable = False

    def __init__(self, release: tuple[int, int, int], prerelease: tuple[_Identifier, ...] = (), build: str = "") -> None:
        self.release = release
        self.order = (release, not prerelease, prerelease)  # a pre-release comes before its release
        self.build = build

    def __str__(self) -> str:
        prerelease = ".".join(word if rank else str(number) for rank, number, word in self.order[2])
        return ".".join(map(str, self.release)) + (prerelease and "-" + prerelease) + (self.build and "+" + self.build)

    def __repr__(self) -> str:
        return f"Semver({str(self)!r})"

    def equals(self, other: Value) -> Value:
        return self.order == other.order if other.__class__ is Semver else _NO_OVERLOAD


# ---------------------------------------------------------------- reading


def parse(text: str, *, normalize: bool = False) -> Semver | str:
    """The version, or the text of the error."""
    plain_version = _VERSION.fullmatch(text)
    if plain_version is not None:
        major, minor, patch = plain_version.groups()
        return Semver((int(major), int(minor), int(patch)))
    try:
        return _parse(_mended(text) if normalize else text)
    except _Malformed as malformed:
        return str(malformed)


def _parse(text: str) -> Semver:
    if not text:
        raise _Malformed("Version string empty")
    parts = text.split(".", 2)
    if len(parts) != 3:
        raise _Malformed("No Major.Minor.Patch elements found")
    major, minor = _number("major", parts[0]), _number("minor", parts[1])
    rest, plus, build = parts[2].partition("+")
    patch_text, dash, prerelease = rest.partition("-")
    patch = _number("patch", patch_text)
    identifiers = tuple(map(_identifier, prerelease.split("."))) if dash else ()
    if plus:
        _check_build(build)
    return Semver((major, minor, patch), identifiers, build)


def _number(name: str, text: str) -> int:
    if _NUMERIC.fullmatch(text) is None:
        raise _Malformed(f"Invalid character(s) found in {name} number {gotext.quote(text)}")
    if len(text) > 1 and text[0] == "0":
        raise _Malformed(f"{name.capitalize()} number must not contain leading zeroes {gotext.quote(text)}")
    return _uint64(text)


def _uint64(digits: str) -> int:
    number = gotext.parse_uint(digits)
    if number is None:
        reason = "value out of range" if digits else "invalid syntax"
        raise _Malformed(f"strconv.ParseUint: parsing {gotext.quote(digits)}: {reason}")
    return int(number)


def _identifier(text: str) -> _Identifier:
    if not text:
        raise _Malformed("Prerelease is empty")
    if _NUMERIC.fullmatch(text) is not None:
        if len(text) > 1 and text[0] == "0":
            raise _Malformed(f"Numeric PreRelease version must not contain leading zeroes {gotext.quote(text)}")
        return 0, _uint64(text), ""
    if _IDENTIFIER.fullmatch(text) is None:
        raise _Malformed(f"Invalid character(s) found in prerelease {gotext.quote(text)}")
    return 1, 0, text


def _check_build(build: str) -> None:
    for part in build.split("."):
        if not part:
            raise _Malformed("Build meta data is empty")
        if _IDENTIFIER.fullmatch(part) is None:
            raise _Malformed(f"Invalid character(s) found in build meta data {gotext.quote(part)}")


def _mended(text: str) -> str:
    """Without a leading v and leading zeros, and with the numbers that are missing."""
    parts = [_without_zeros(part) for part in text.removeprefix("v").split(".", 2)]
    if len(parts) < 3 and any(char in parts[-1] for char in "+-"):
        raise _Malformed("short version cannot contain PreRelease/Build meta data")
    return ".".join(parts + ["0"] * (3 - len(parts)))


def _without_zeros(part: str) -> str:
    # NB: bytes, not characters: a lone letter of two bytes gets its zero too.
    if len(part.encode("utf-8", "surrogatepass")) < 2:
        return part
    rest = part.lstrip("0")
    return rest if rest[:1] in tuple("123456789") else "0" + rest


# ---------------------------------------------------------------- functions


def semver(text: str, normalize: bool = False) -> Value:
    parsed = parse(text, normalize=normalize)
    return CelError(parsed) if parsed.__class__ is str else parsed


def is_semver(text: str, normalize: bool = False) -> Value:
    return parse(text, normalize=normalize).__class__ is Semver


def _signed(number: int) -> int:
    """Numbers beyond 2^63 turn negative, as they are unsigned only while they are read."""
    return number if number <= INT_MAX else number - 2**64


def major(self: Semver) -> Value:
    return _signed(self.release[0])


def minor(self: Semver) -> Value:
    return _signed(self.release[1])


def patch(self: Semver) -> Value:
    return _signed(self.release[2])


def compare(self: Semver, other: Semver) -> Value:
    return (self.order > other.order) - (self.order < other.order)


def is_greater_than(self: Semver, other: Semver) -> Value:
    return self.order > other.order


def is_less_than(self: Semver, other: Semver) -> Value:
    return self.order < other.order


SEMVER = Semver.cel_type

FUNCTIONS: tuple[Function, ...] = (
    function(
        "semver",
        plain("string_to_semver", (types.STRING,), SEMVER, semver, since=SINCE),
        plain("string_bool_to_semver", (types.STRING, types.BOOL), SEMVER, semver, since=SINCE),
        cost=traversal.reading,
        doc="Reads a semantic version; with true it mends a leading v, leading zeros and missing numbers first.",
        examples=(
            Example("semver('v1.2', true).minor()", 2),
            Example("semver('v1.2.3')", error='Invalid character(s) found in major number "v1"'),
        ),
    ),
    function(
        "isSemver",
        plain("is_semver_string", (types.STRING,), types.BOOL, is_semver, since=SINCE),
        plain("is_semver_string_bool", (types.STRING, types.BOOL), types.BOOL, is_semver, since=SINCE),
        cost=traversal.reading,
        doc="Whether semver() can read the text.",
        examples=(
            Example("isSemver('1.0.0-rc.1')", True),
            Example("isSemver('1.0')", False),
            Example("isSemver('1.0', true)", True),
        ),
    ),
    function(
        "major",
        member("semver_major", SEMVER, (), types.INT, major, since=SINCE),
        cost=traversal.one_step,
        doc="The first number of a version.",
        examples=(Example("semver('1.2.3').major()", 1),),
    ),
    function(
        "minor",
        member("semver_minor", SEMVER, (), types.INT, minor, since=SINCE),
        cost=traversal.one_step,
        doc="The second number of a version.",
        examples=(Example("semver('1.2.3').minor()", 2),),
    ),
    function(
        "patch",
        member("semver_patch", SEMVER, (), types.INT, patch, since=SINCE),
        cost=traversal.one_step,
        doc="The third number of a version.",
        examples=(Example("semver('1.2.3').patch()", 3),),
    ),
    function(
        "isGreaterThan",
        member("semver_is_greater_than", SEMVER, (SEMVER,), types.BOOL, is_greater_than, since=SINCE),
        cost=traversal.one_step,
        doc="Whether the version is newer than the other.",
        examples=(Example("semver('1.10.0').isGreaterThan(semver('1.9.0'))", True),),
    ),
    function(
        "isLessThan",
        member("semver_is_less_than", SEMVER, (SEMVER,), types.BOOL, is_less_than, since=SINCE),
        cost=traversal.one_step,
        doc="Whether the version is older than the other.",
        examples=(Example("semver('1.0.0-alpha').isLessThan(semver('1.0.0'))", True),),
    ),
    function(
        "compareTo",
        member("semver_compare_to", SEMVER, (SEMVER,), types.INT, compare, since=SINCE),
        cost=traversal.one_step,
        doc="-1, 0 or 1 as the version is older than, equal to or newer than the other.",
        examples=(Example("semver('1.0.0+a').compareTo(semver('1.0.0+b'))", 0),),
    ),
)
