"""Times in objects: read as Go reads RFC 3339, written in UTC, and Go's own words when a text is no time.

`Time` keeps whole seconds, `MicroTime` exactly six digits of a second. The year 1 at midnight is Go's zero time: it is
written as null, and so it counts as nothing.
"""

import functools
from datetime import datetime, timedelta

from msgspec import Struct

_ZERO = datetime(1, 1, 1)  # noqa: DTZ001 - all arithmetic here is in UTC, without a zone
_DIGITS = frozenset("0123456789")
_USUAL_LENGTH = 40


class TimeError(ValueError):
    """Not a time; the message is Go's."""


class Layout(Struct, frozen=True):
    """How a time is written: Go's layout text, and how many digits of a second it asks for."""

    text: str
    digits: int = 0


SECONDS = Layout("2006-01-02T15:04:05Z07:00")
MICROSECONDS = Layout("2006-01-02T15:04:05.000000Z07:00", digits=6)


def canonical(text: str, layout: Layout = SECONDS) -> str | None:
    """The text that Kubernetes writes for this one; None for the zero time. Raises TimeError."""
    # NB: a fraction may be as long as a body; only texts of usual length are remembered.
    return _remembered(text, layout) if len(text) <= _USUAL_LENGTH else _canonical(text, layout)


@functools.lru_cache(maxsize=4096)
def _remembered(text: str, layout: Layout) -> str | None:
    return _canonical(text, layout)


def _canonical(text: str, layout: Layout) -> str | None:
    moment, micros = _Reader(text, layout).read()
    if moment == _ZERO and not micros:
        return None
    written = f"{moment.year:04d}-{moment.month:02d}-{moment.day:02d}T{moment.hour:02d}:{moment.minute:02d}:{moment.second:02d}"
    return f"{written}.{micros // 1000:06d}Z" if layout.digits else f"{written}Z"


class _Reader:
    """Reads one text from left to right, as far as it fits the layout."""

    def __init__(self, text: str, layout: Layout) -> None:
        self._text = text
        self._rest = text
        self._layout = layout

    def read(self) -> tuple[datetime, int]:
        """The moment in UTC, and its nanoseconds."""
        year = self._year()
        self._literal("-")
        month = self._number("01", fixed=True)
        self._within(1 <= month <= 12, "month")
        self._literal("-")
        day = self._number("02", fixed=True)
        self._literal("T")
        hour = self._number("15", fixed=False)
        self._within(hour < 24, "hour")
        self._literal(":")
        minute = self._number("04", fixed=True)
        self._within(minute < 60, "minute")
        self._literal(":")
        second = self._number("05", fixed=True)
        self._within(second < 60, "second")
        nanos = self._fraction()
        offset = self._offset()
        if self._rest:
            raise self._error(f": extra text: {_quote(self._rest)}")
        if not 1 <= day <= _days_in(year, month):
            raise self._error(": day out of range")
        return self._moment(datetime(max(year, 1), month, day, hour, minute, second), offset), nanos  # noqa: DTZ001

    def _moment(self, local: datetime, offset: int) -> datetime:
        try:
            return local - timedelta(minutes=offset)
        except OverflowError:
            return _ZERO if local.year == 1 else datetime(9999, 12, 31, 23, 59, 59)  # noqa: DTZ001

    def _year(self) -> int:
        year = self._rest[:4]
        if len(year) < 4 or not _DIGITS.issuperset(year):
            raise self._unlike("2006", self._rest)
        self._rest = self._rest[4:]
        return int(year)

    def _literal(self, mark: str) -> None:
        if not self._rest.startswith(mark):
            raise self._unlike(mark, self._rest)
        self._rest = self._rest[1:]

    def _number(self, like: str, *, fixed: bool) -> int:
        """Two digits; hours may have one."""
        rest = self._rest
        wide = len(rest) > 1 and rest[0] in _DIGITS and rest[1] in _DIGITS
        if not wide and (fixed or not rest or rest[0] not in _DIGITS):
            raise self._unlike(like, rest)
        width = 2 if wide else 1
        self._rest = rest[width:]
        return int(rest[:width])

    def _fraction(self) -> int:
        rest = self._rest
        if self._layout.digits:
            width = 1 + self._layout.digits
            if len(rest) < width or rest[0] not in ".," or not _DIGITS.issuperset(rest[1:width]):
                raise self._unlike("." + "0" * self._layout.digits, rest)
        elif len(rest) > 1 and rest[0] in ".," and rest[1] in _DIGITS:
            width = 1 + next((i for i, char in enumerate(rest[1:]) if char not in _DIGITS), len(rest) - 1)
        else:
            return 0
        self._rest = rest[width:]
        return int(rest[1:width][:9].ljust(9, "0"))

    def _offset(self) -> int:
        """Minutes east of UTC."""
        rest = self._rest
        if rest.startswith("Z"):
            self._rest = rest[1:]
            return 0
        hours, minutes = rest[1:3], rest[4:6]
        if len(rest) < 6 or rest[3] != ":" or rest[0] not in "+-" or not _DIGITS.issuperset(hours + minutes):
            raise self._unlike("Z07:00", rest)
        self._within(int(hours) <= 24, "time zone offset hour")
        self._within(int(minutes) <= 60, "time zone offset minute")
        self._rest = rest[6:]
        return (int(hours) * 60 + int(minutes)) * (-1 if rest[0] == "-" else 1)

    def _within(self, holds: bool, what: str) -> None:
        if not holds:
            raise self._error(f": {what} out of range")

    def _unlike(self, like: str, rest: str) -> TimeError:
        return self._error(f" as {_quote(self._layout.text)}: cannot parse {_quote(rest)} as {_quote(like)}")

    def _error(self, message: str) -> TimeError:
        return TimeError(f"parsing time {_quote(self._text)}{message}")


def _days_in(year: int, month: int) -> int:
    if month == 2:
        return 29 if year % 4 == 0 and (year % 100 != 0 or year % 400 == 0) else 28
    return 30 if month in (4, 6, 9, 11) else 31


def _quote(text: str) -> str:
    """Go's package time quotes bytes outside ASCII one by one."""
    quoted = "".join(
        f"\\{char}" if char in '"\\' else char if " " <= char <= "~" or char == "\x7f" else _bytes(char) for char in text
    )
    return f'"{quoted}"'


def _bytes(char: str) -> str:
    return "".join(f"\\x{byte:02x}" for byte in char.encode("utf-8", "replace"))
