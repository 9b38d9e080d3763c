"""The string formats that schemas of custom resources may ask for, as Kubernetes checks them.

A format that is not here is no check at all. Dashes in a format's name do not count.
"""

import ipaddress
import re
from collections.abc import Callable
from functools import cache

from kadmit.cel import gotime, re2
from kadmit.cel.library import url
from kadmit.cel.values import CelError, Duration
from kadmit.kinds import times

_HEX = "[0-9a-fA-F]"
_LETTERS_OF_HOSTS = r"a-zA-Z0-9\p{S}\p{L}"
_HOSTNAME = (
    rf"^([{_LETTERS_OF_HOSTS}]((-?[{_LETTERS_OF_HOSTS}]{{0,62}})?)"
    rf"|([{_LETTERS_OF_HOSTS}](([{_LETTERS_OF_HOSTS}-]{{0,61}}[{_LETTERS_OF_HOSTS}])?)(\.)){{1,}}([a-zA-Z\p{{L}}]){{2,63}})$"
)
_SHORT_NAME = r"[a-z0-9](?:[-a-z0-9]*[a-z0-9])?"
_COLOUR_PART = r"\s*(?:0|[1-9][0-9]?|1[0-9][0-9]?|2[0-4][0-9]|25[0-5])\s*"
_CARDS = (
    r"4[0-9]{12}(?:[0-9]{3})?|5[1-5][0-9]{14}|6(?:011|5[0-9][0-9])[0-9]{12}|3[47][0-9]{13}"
    r"|3(?:0[0-5]|[68][0-9])[0-9]{11}|(?:2131|1800|35[0-9]{3})[0-9]{11}"
)
# RFC 5322 as Go reads it. NB: possessive, so that a text is read once.
_ATOM = r"[a-zA-Z0-9!#$%&'*+\-/=?^_`{|}~\x80-\U0010ffff]++"
_QUOTED = r'"(?:[^"\\\x00-\x08\x0a-\x1f\x7f]|\\[^\x00-\x08\x0a-\x1f\x7f])*+"'
_ADDRESS = rf"(?:{_ATOM}(?:\.{_ATOM})*+|{_QUOTED})@[ \t]*+(?:{_ATOM}(?:\.{_ATOM})*+|\[([^\[\]\\]*+)\])"
_NAME = rf"(?:(?:[.]|{_ATOM}|{_QUOTED})[ \t]*+)*+"
_COMMENT = r"(?:\((?:[^()\\]|\\.)*+\)[ \t]*+)*+"
_EMAIL = rf"[ \t]*+(?:{_ADDRESS}|{_NAME}<[ \t]*+{_ADDRESS}[ \t]*+>)[ \t]*+{_COMMENT}\Z"
_TIME_OF_DAY = r"([0-9]{2}):([0-9]{2}):([0-9]{2})(?:[^\n][0-9]+)?(?:z|[+-][0-9]{2}:[0-9]{2})\Z"
# NB: starts only where a number starts, and never gives back: a long text is read once.
_NUMBER_WITH_UNIT = r"(?<![0-9])([0-9]++)[\t\n\f\r ]*+([A-Za-zµ]+)"
_UNITS = frozenset({"ns", "us", "µs", "ms", "s", "m", "h", "hr", "d", "w", "wk"})
_UNIT_BEGINNINGS = ("nano", "micro", "milli", "sec", "min", "hour", "day", "week")
_MAC = (
    rf"(?:{_HEX}{{2}}(?P<sign>[:-]){_HEX}{{2}}(?:(?P=sign){_HEX}{{2}}){{4}}(?:(?:(?P=sign){_HEX}{{2}}){{2}})?(?:(?:(?P=sign){_HEX}{{2}}){{12}})?"
    rf"|{_HEX}{{4}}\.{_HEX}{{4}}\.{_HEX}{{4}}(?:\.{_HEX}{{4}})?(?:(?:\.{_HEX}{{4}}){{6}})?)"
)


def is_valid(name: str, text: str) -> bool:
    """Whether the text has the format; `name` as normalised() gives it."""
    return _FORMATS[name](text)


def normalised(name: str) -> str | None:
    """The name under which a format is known here; None if it is not known, and so not checked."""
    plain = name.replace("-", "")
    return plain if plain in _FORMATS else None


# NB: most servers never meet most formats, so a pattern is compiled when it is first asked for.
_compiled = cache(re.compile)


def _matching(pattern: str) -> Callable[[str], bool]:
    whole = rf"(?:{pattern})\Z"
    return lambda text: _compiled(whole).match(text) is not None


def _is_hostname(text: str) -> bool:
    pattern = re2.compile_pattern(_HOSTNAME)
    assert not isinstance(pattern, CelError)
    raw = text.encode("utf-8", "replace")
    return len(raw) <= 255 and all(len(part) <= 63 for part in raw.split(b".")) and pattern.search(text)


def _is_email(text: str) -> bool:
    """An address, with or without a name before it."""
    match = _compiled(_EMAIL).match(text)
    return match is not None and all(host is None or _is_ipv6(host) or _is_strict_ipv4(host) for host in match.groups())


def _is_ipv4(text: str) -> bool:
    return "." in text and (_is_ipv6(text) or _is_sloppy_ipv4(text))


def _is_sloppy_ipv4(text: str) -> bool:
    """Four numbers, leading zeros and all."""
    parts = text.split(".")
    return len(parts) == 4 and all(
        part.isascii() and part.isdigit() and int(part[-6:]) <= 255 and len(part) < 1000 for part in parts
    )


def _is_strict_ipv4(text: str) -> bool:
    return _is_sloppy_ipv4(text) and not any(part.startswith("0") and part != "0" for part in text.split("."))


def _is_ipv6(text: str) -> bool:
    try:
        ipaddress.IPv6Address(text)
    except ValueError:
        return False
    return "%" not in text


def _is_cidr(text: str) -> bool:
    address, slash, bits = text.partition("/")
    width = 32 if _is_sloppy_ipv4(address) else 128 if _is_ipv6(address) else 0
    return bool(slash and width and bits.isascii() and bits.isdigit() and len(bits) < 4 and int(bits) <= width)


def _is_isbn10(text: str) -> bool:
    digits = re.sub(r"[\s-]+", "", text)
    if not re.match(r"(?:[0-9]{9}X|[0-9]{10})\Z", digits):
        return False
    return sum((index + 1) * (10 if digit == "X" else int(digit)) for index, digit in enumerate(digits)) % 11 == 0


def _is_isbn13(text: str) -> bool:
    digits = re.sub(r"[\s-]+", "", text)
    if not re.match(r"[0-9]{13}\Z", digits):
        return False
    return sum((3 if index % 2 else 1) * int(digit) for index, digit in enumerate(digits)) % 10 == 0


def _is_credit_card(text: str) -> bool:
    digits = re.sub(r"[^0-9]+", "", text)
    if not re.match(rf"(?:{_CARDS})\Z", digits):
        return False
    doubled = (int(digit) * (1 + index % 2) for index, digit in enumerate(reversed(digits)))
    return sum(number - 9 if number > 9 else number for number in doubled) % 10 == 0


def _is_date(text: str) -> bool:
    if len(text) != len("2006-01-02"):
        return False
    try:
        times.canonical(f"{text}T00:00:00Z")
    except times.TimeError:
        return False
    return True


def _is_date_time(text: str) -> bool:
    day, *rest = text.lower().split("t")
    time = _compiled(_TIME_OF_DAY).match(rest[0]) if rest else None
    return time is not None and _is_date(day) and time[1] <= "23" and time[2] <= "59" and time[3] <= "59"


def _is_duration(text: str) -> bool:
    """Go's durations, and also numbers with a word, such as `3 days`. NB: what stands around them does not matter."""
    if isinstance(gotime.parse_duration(text), Duration):
        return True
    found = _compiled(_NUMBER_WITH_UNIT).findall(text)
    fits = all(len(number) < 19 or int(number[:20]) < 2**63 for number, _ in found)
    return fits and any(unit.lower() in _UNITS or unit.lower().startswith(_UNIT_BEGINNINGS) for _, unit in found)


def _is_name(longest: int, pattern: str) -> Callable[[str], bool]:
    matches = _matching(pattern)
    return lambda text: len(text) <= longest and matches(text)


def _uuid(version: str = f"{_HEX}{{4}}", variant: str = f"{_HEX}{{4}}") -> Callable[[str], bool]:
    return _matching(f"{_HEX}{{8}}-?{_HEX}{{4}}-?{version}-?{variant}-?{_HEX}{{12}}")


_FORMATS: dict[str, Callable[[str], bool]] = {
    "bsonobjectid": _matching(f"{_HEX}{{24}}"),
    "uri": lambda text: url.problem(text) is None,
    "email": _is_email,
    "hostname": _is_hostname,
    "ipv4": _is_ipv4,
    "ipv6": lambda text: ":" in text and _is_ipv6(text),
    "cidr": _is_cidr,
    "mac": _matching(_MAC),
    "uuid": _uuid(),
    "uuid3": _uuid(f"3{_HEX}{{3}}"),
    "uuid4": _uuid(f"4{_HEX}{{3}}", f"[89abAB]{_HEX}{{3}}"),
    "uuid5": _uuid(f"5{_HEX}{{3}}", f"[89abAB]{_HEX}{{3}}"),
    "isbn": lambda text: _is_isbn10(text) or _is_isbn13(text),
    "isbn10": _is_isbn10,
    "isbn13": _is_isbn13,
    "creditcard": _is_credit_card,
    "ssn": lambda text: re.match(r"[0-9]{3}[- ]?[0-9]{2}[- ]?[0-9]{4}\Z", text) is not None and len(text) == 11,
    "hexcolor": _matching(rf"#?(?:{_HEX}{{3}}|{_HEX}{{6}})"),
    "rgbcolor": _matching(rf"rgb\({_COLOUR_PART},{_COLOUR_PART},{_COLOUR_PART}\)"),
    "byte": _matching(r"(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=|[A-Za-z0-9+/]{4})"),
    "password": lambda text: True,
    "date": _is_date,
    "duration": _is_duration,
    "datetime": _is_date_time,
    "k8sshortname": _is_name(63, _SHORT_NAME),
    "k8slongname": _is_name(253, rf"{_SHORT_NAME}(?:\.{_SHORT_NAME})*"),
}
NAMES = frozenset(_FORMATS)
