"""Time as Go has it under CEL: which texts are durations and timestamps, and how both are written.

A duration is a signed 64-bit number of nanoseconds. A timestamp is a number of nanoseconds since 1970 in UTC, between
the years 1 and 9999, plus the offset that its text keeps. Python's datetime stops at microseconds and inside these
years, while an offset may carry a text into the year 0 or 10000: so dates are counted on plain integers.
"""

import re
from datetime import date

from kadmit.cel.values import INT_MAX, INT_MIN, CelError, Duration, Timestamp, Value

SECOND = 1_000_000_000
MIN_SECONDS = -62_135_596_800  # 0001-01-01T00:00:00Z
MAX_SECONDS = 253_402_300_799  # 9999-12-31T23:59:59Z

TIMESTAMP_OVERFLOW = "timestamp overflow"
DURATION_OVERFLOW = "integer overflow"  # NB: CEL counts a duration as an int, and says so
BAD_DURATION = "type conversion error from 'string' to 'google.protobuf.Duration'"
BAD_TIMESTAMP = "type conversion error from 'string' to 'google.protobuf.Timestamp'"

_UNITS = {
    "ns": 1,
    "us": 1_000,
    "µs": 1_000,  # U+00B5, micro sign
    "μs": 1_000,  # U+03BC, Greek mu
    "ms": 1_000_000,
    "s": SECOND,
    "m": 60 * SECOND,
    "h": 3600 * SECOND,
}
_DURATION_PART = re.compile(r"([0-9]*)(?:\.([0-9]*))?([^.0-9]+)")
_RFC3339 = re.compile(
    r"([0-9]{4})-([0-9]{2})-([0-9]{2})T([0-9]{1,2}):([0-9]{2}):([0-9]{2})(?:[.,]([0-9]+))?(?:Z|([+-])([0-9]{2}):([0-9]{2}))"
)
_EPOCH = date(1970, 1, 1).toordinal()
_LAST_DAY = date.max.toordinal()
_DAY = 86_400
_DAY_NANOS = _DAY * SECOND
_CYCLE_DAYS, _CYCLE_YEARS = 146_097, 400  # the Gregorian calendar repeats
_LIMIT = 1 << 63


# ---- durations -------------------------------------------------------------------------------------------------


def parse_duration(text: str) -> Duration | CelError:
    """time.ParseDuration: `1h30m`, `-1.5s`, `0`; not `1` or `1d`."""
    nanos = _parse_nanos(text)
    return CelError(BAD_DURATION) if nanos is None else Duration(nanos)


def _parse_nanos(text: str) -> int | None:
    negative = text.startswith("-")
    body = text[1:] if text[:1] in ("+", "-") else text
    if body == "0":
        return 0
    total, position = 0, 0
    while position < len(body):
        part = _DURATION_PART.match(body, position)
        nanos = None if part is None else _part_nanos(part[1], part[2], part[3])
        if part is None or nanos is None:
            return None
        total += nanos
        if total > _LIMIT:
            return None
        position = part.end()
    if not body or (total == _LIMIT and not negative):
        return None
    return -total if negative else total


def _part_nanos(whole: str, fraction: str | None, unit_name: str) -> int | None:
    """Nanoseconds of one number with its unit; Go rounds the fraction through a float64."""
    unit = _UNITS.get(unit_name)
    if unit is None or not (whole or fraction) or len(whole.lstrip("0")) > 19:
        return None
    value = int(whole.lstrip("0") or 0)
    if value > _LIMIT // unit:
        return None
    value *= unit
    if fraction:
        value += _fraction_nanos(fraction, unit)
    return value if value <= _LIMIT else None


def _fraction_nanos(digits: str, unit: int) -> int:
    number, scale = 0, 1.0
    for digit in digits:
        # Digits that no longer fit into 63 bits are ignored, but only from the first one that does not fit.
        if number > (_LIMIT - 1) // 10 or (longer := number * 10 + int(digit)) > _LIMIT:
            break
        number, scale = longer, scale * 10
    return int(float(number) * (float(unit) / scale))


def seconds(duration: Duration) -> float:
    """time.Duration.Seconds: whole and fractional seconds, each rounded to a float64."""
    whole, rest = _truncated(duration.nanos, SECOND)
    return float(whole) + float(rest) / 1e9


def format_duration(duration: Duration) -> str:
    """As string(duration) gives it: seconds without an exponent, `5400s`."""
    return _shortest_fixed(seconds(duration)) + "s"


def _shortest_fixed(number: float) -> str:
    text = repr(number)
    # NB: an exponent appears only below 1e-4, where the nine digits of a nanosecond are exact.
    return f"{number:.9f}".rstrip("0") if "e" in text else text.removesuffix(".0")


def display_duration(duration: Duration) -> str:
    """time.Duration.String: `1h30m0.001s`, `15µs`, as error texts print it."""
    nanos = abs(duration.nanos)
    sign = "-" if duration.nanos < 0 else ""
    if nanos == 0:
        return "0s"
    if nanos < SECOND:
        unit, name = (1, "ns") if nanos < 1_000 else (1_000, "µs") if nanos < 1_000_000 else (1_000_000, "ms")
        return f"{sign}{_decimal(nanos, unit)}{name}"
    minutes, rest = divmod(nanos, 60 * SECOND)
    hours, minutes = divmod(minutes, 60)
    text = f"{_decimal(rest, SECOND)}s"
    if hours:
        text = f"{hours}h{minutes}m{text}"
    elif minutes:
        text = f"{minutes}m{text}"
    return sign + text


def _decimal(number: int, unit: int) -> str:
    """number / unit, exactly: the unit is a power of ten."""
    whole, rest = divmod(number, unit)
    if not rest:
        return str(whole)
    return f"{whole}.{str(rest).zfill(len(str(unit)) - 1).rstrip('0')}"


def _truncated(number: int, divisor: int) -> tuple[int, int]:
    """Go's / and %: towards zero."""
    whole, rest = divmod(abs(number), divisor)
    return (whole, rest) if number >= 0 else (-whole, -rest)


# ---- timestamps ------------------------------------------------------------------------------------------------


def parse_timestamp(text: str) -> Timestamp | CelError:
    """time.Parse(RFC3339): also `T1:02:03`, `,5` as a fraction and offsets up to +24:60."""
    found = _RFC3339.fullmatch(text)
    if found is None:
        return CelError(BAD_TIMESTAMP)
    year, month, day, hour, minute, second, fraction, sign, zone_hour, zone_minute = found.groups()
    days = _days_since_epoch(int(year), int(month), int(day))
    if days is None or int(hour) > 23 or int(minute) > 59 or int(second) > 59:
        return CelError(BAD_TIMESTAMP)
    offset = 0
    if sign:
        if int(zone_hour) > 24 or int(zone_minute) > 60:
            return CelError(BAD_TIMESTAMP)
        offset = (int(zone_hour) * 60 + int(zone_minute)) * (-60 if sign == "-" else 60)
    moment = days * _DAY + int(hour) * 3600 + int(minute) * 60 + int(second) - offset
    nanos = int(fraction[:9].ljust(9, "0")) if fraction else 0
    return _checked(moment, nanos, offset)


def _days_since_epoch(year: int, month: int, day: int) -> int | None:
    try:
        if year == 0:  # Python's calendar starts at 1; the year 0 is a leap year like 400
            return date(_CYCLE_YEARS, month, day).toordinal() - _CYCLE_DAYS - _EPOCH
        return date(year, month, day).toordinal() - _EPOCH
    except ValueError:
        return None


def _checked(moment: int, nanos: int, offset: int) -> Timestamp | CelError:
    if not MIN_SECONDS <= moment <= MAX_SECONDS:
        return CelError(TIMESTAMP_OVERFLOW)
    return Timestamp(moment * SECOND + nanos, offset)


def from_unix(number: int) -> Timestamp | CelError:
    """timestamp(int): seconds since 1970."""
    return _checked(number, 0, 0)


def unix(moment: Timestamp) -> int:
    """int(timestamp): whole seconds since 1970, rounded down."""
    return moment.nanos // SECOND


def calendar_day(local: int) -> tuple[date, int]:
    """The date of so many nanoseconds since 1970 on some clock, and what to add to its year (outside Python's years)."""
    days = local // _DAY_NANOS + _EPOCH
    if 0 < days <= _LAST_DAY:
        return date.fromordinal(days), 0
    cycles, rest = divmod(days - 1, _CYCLE_DAYS)
    return date.fromordinal(rest + 1), _CYCLE_YEARS * cycles


def format_timestamp(moment: Timestamp) -> str:
    """RFC3339Nano, as string(timestamp) gives it: `2024-01-01T00:00:00.5+03:00`."""
    return _date_time(moment, "T") + (_offset(moment.offset, ":") if moment.offset else "Z")


def display_timestamp(moment: Timestamp) -> str:
    """time.Time.String: `2024-01-01 00:00:00.5 +0300 +0300`, as error texts print it."""
    zone = _offset(moment.offset, "")
    return f"{_date_time(moment, ' ')} {zone} {zone if moment.offset else 'UTC'}"


def _date_time(moment: Timestamp, between: str) -> str:
    local = moment.nanos + moment.offset * SECOND
    day, years = calendar_day(local)
    clock, nanos = divmod(local, SECOND)
    fraction = f".{nanos:09d}".rstrip("0") if nanos else ""
    text = day.isoformat() if not years else f"{day.year + years:04d}{day.isoformat()[4:]}"
    return f"{text}{between}{clock // 3600 % 24:02d}:{clock // 60 % 60:02d}:{clock % 60:02d}{fraction}"


def _offset(offset: int, between: str) -> str:
    hours, minutes = divmod(abs(offset) // 60, 60)
    return f"{'-' if offset < 0 else '+'}{hours:02d}{between}{minutes:02d}"


# ---- arithmetic ------------------------------------------------------------------------------------------------


def add_durations(left: Duration, right: Duration) -> Duration | CelError:
    return _duration(left.nanos + right.nanos)


def subtract_durations(left: Duration, right: Duration) -> Duration | CelError:
    return _duration(left.nanos - right.nanos)


def negate_duration(duration: Duration) -> Duration | CelError:
    return _duration(-duration.nanos)


def add_to_timestamp(moment: Timestamp, duration: Duration) -> Timestamp | CelError:
    whole, rest = divmod(moment.nanos + duration.nanos, SECOND)
    return _checked(whole, rest, moment.offset)


def subtract_from_timestamp(moment: Timestamp, duration: Duration) -> Timestamp | CelError:
    if duration.nanos == INT_MIN:
        return CelError(DURATION_OVERFLOW)
    return add_to_timestamp(moment, Duration(-duration.nanos))


def between_timestamps(left: Timestamp, right: Timestamp) -> Duration | CelError:
    """left - right. The whole seconds alone must already fit, as CEL multiplies them out first."""
    whole = (left.nanos // SECOND - right.nanos // SECOND) * SECOND
    return _duration(left.nanos - right.nanos) if INT_MIN <= whole <= INT_MAX else CelError(DURATION_OVERFLOW)


def _duration(nanos: int) -> Duration | CelError:
    return Duration(nanos) if INT_MIN <= nanos <= INT_MAX else CelError(DURATION_OVERFLOW)


# ---- literals --------------------------------------------------------------------------------------------------


def duration_literal_issue(value: Value) -> str | None:
    """What the compiler says of duration(LITERAL), if anything."""
    good = value.__class__ is str and parse_duration(value).__class__ is Duration
    return None if good else "invalid duration argument"


def timestamp_literal_issue(value: Value) -> str | None:
    """What the compiler says of timestamp(LITERAL), if anything."""
    if value.__class__ is str:
        result = parse_timestamp(value)
    else:
        result = from_unix(value) if value.__class__ is int else CelError(BAD_TIMESTAMP)
    return None if result.__class__ is Timestamp else "invalid timestamp argument"
