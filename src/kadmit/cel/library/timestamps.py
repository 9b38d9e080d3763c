"""What a timestamp's clock and calendar show, in UTC or in a zone, and how long a duration is in some unit.

NB: months and days of the month and year count from 0, getDate counts from 1, and Sunday is day 0. A duration gives
its whole length, not a field of a clock.
"""

from collections.abc import Callable

from kadmit.cel import gotime
from kadmit.cel.declarations import Example, Function, Impl, function, member
from kadmit.cel.gotime import SECOND
from kadmit.cel.types import DURATION, INT, STRING, TIMESTAMP
from kadmit.cel.values import CelError, Duration, Timestamp, Value

_MILLISECOND, _MINUTE, _HOUR = SECOND // 1000, 60 * SECOND, 3600 * SECOND
_DAY = 24 * _HOUR
_WEEKDAY_OF_EPOCH = 4  # a Thursday

# A field takes the nanoseconds since 1970 on the local clock.
Field = Callable[[int], int]


def _full_year(local: int) -> int:
    day, years = gotime.calendar_day(local)
    return day.year + years


def _month(local: int) -> int:
    return gotime.calendar_day(local)[0].month - 1


def _day_of_year(local: int) -> int:
    day = gotime.calendar_day(local)[0]
    return day.toordinal() - day.replace(month=1, day=1).toordinal()


def _day_of_month(local: int) -> int:
    return gotime.calendar_day(local)[0].day - 1


def _date(local: int) -> int:
    return gotime.calendar_day(local)[0].day


def _day_of_week(local: int) -> int:
    return (local // _DAY + _WEEKDAY_OF_EPOCH) % 7


def _hours(local: int) -> int:
    return local // _HOUR % 24


def _minutes(local: int) -> int:
    return local // _MINUTE % 60


def _seconds(local: int) -> int:
    return local // SECOND % 60


def _milliseconds(local: int) -> int:
    return local // _MILLISECOND % 1000


def _in_utc(field: Field) -> Impl:
    def shown(moment: Timestamp) -> Value:
        return field(moment.nanos)

    return shown


def _in_zone(field: Field) -> Impl:
    def shown(moment: Timestamp, zone: str) -> Value:
        from kadmit.cel import gozone  # zones are rarely named, and take time to load

        offset = gozone.offset_at(zone, moment.nanos)
        return offset if isinstance(offset, CelError) else field(moment.nanos + offset * SECOND)

    return shown


def _length_in(unit: int) -> Impl:
    """Go divides in floating point, which near a whole number of hours may round up."""

    def length(duration: Duration) -> Value:
        whole, rest = divmod(abs(duration.nanos), unit)
        size = int(float(whole) + float(rest) / float(unit))
        return size if duration.nanos >= 0 else -size

    return length


def _length_in_milliseconds(duration: Duration) -> Value:
    size = abs(duration.nanos) // _MILLISECOND
    return size if duration.nanos >= 0 else -size


_DURATIONS: dict[str, tuple[str, Impl]] = {
    "getHours": ("duration_to_hours", _length_in(_HOUR)),
    "getMinutes": ("duration_to_minutes", _length_in(_MINUTE)),
    "getSeconds": ("duration_to_seconds", _length_in(SECOND)),
    "getMilliseconds": ("duration_to_milliseconds", _length_in_milliseconds),
}


def _accessor(name: str, overload: str, field: Field, doc: str, *examples: Example, zoned: str = "") -> Function:
    overloads = [
        member(overload, TIMESTAMP, (), INT, _in_utc(field)),
        member(zoned or f"{overload}_with_tz", TIMESTAMP, (STRING,), INT, _in_zone(field)),
    ]
    if name in _DURATIONS:
        duration_overload, length = _DURATIONS[name]
        overloads.append(member(duration_overload, DURATION, (), INT, length))
    return function(name, *overloads, doc=doc, examples=examples)


FUNCTIONS: tuple[Function, ...] = (
    _accessor(
        "getFullYear",
        "timestamp_to_year",
        _full_year,
        "The year, in UTC or in a zone.",
        Example("timestamp('2023-07-14T10:30:45.123Z').getFullYear()", 2023),
        Example("timestamp('2023-01-01T05:30:00Z').getFullYear('-08:00')", 2022),
    ),
    _accessor(
        "getMonth",
        "timestamp_to_month",
        _month,
        "The month, from 0 for January.",
        Example("timestamp('2023-07-14T10:30:45.123Z').getMonth()", 6),
        Example("timestamp('2023-01-01T05:30:00Z').getMonth('America/Los_Angeles')", 11),
    ),
    _accessor(
        "getDayOfYear",
        "timestamp_to_day_of_year",
        _day_of_year,
        "The day of the year, from 0.",
        Example("timestamp('2023-01-02T00:00:00Z').getDayOfYear()", 1),
    ),
    _accessor(
        "getDayOfMonth",
        "timestamp_to_day_of_month",
        _day_of_month,
        "The day of the month, from 0.",
        Example("timestamp('2023-07-14T10:30:45.123Z').getDayOfMonth()", 13),
    ),
    _accessor(
        "getDate",
        "timestamp_to_day_of_month_1_based",
        _date,
        "The day of the month, from 1.",
        Example("timestamp('2023-07-14T10:30:45.123Z').getDate()", 14),
    ),
    _accessor(
        "getDayOfWeek",
        "timestamp_to_day_of_week",
        _day_of_week,
        "The day of the week, from 0 for Sunday.",
        Example("timestamp('2023-07-14T10:30:45.123Z').getDayOfWeek()", 5),
    ),
    _accessor(
        "getHours",
        "timestamp_to_hours",
        _hours,
        "The hour of a timestamp, or a duration in hours.",
        Example("timestamp('2023-07-14T10:30:45.123Z').getHours('Asia/Tokyo')", 19),
        Example("duration('3723s').getHours()", 1),
        Example("timestamp('2023-07-14T10:30:45.123Z').getHours('Nowhere')", error="unknown time zone Nowhere"),
    ),
    _accessor(
        "getMinutes",
        "timestamp_to_minutes",
        _minutes,
        "The minute of a timestamp, or a duration in minutes.",
        Example("timestamp('2023-07-14T10:30:45.123Z').getMinutes('+05:45')", 15),
        Example("duration('3723s').getMinutes()", 62),
    ),
    _accessor(
        "getSeconds",
        "timestamp_to_seconds",
        _seconds,
        "The second of a timestamp, or a duration in seconds.",
        Example("timestamp('2023-07-14T10:30:45.123Z').getSeconds()", 45),
        Example("duration('3723.456s').getSeconds()", 3723),
        zoned="timestamp_to_seconds_tz",
    ),
    _accessor(
        "getMilliseconds",
        "timestamp_to_milliseconds",
        _milliseconds,
        "The millisecond of a timestamp's second, or a duration in milliseconds.",
        Example("timestamp('2023-07-14T10:30:45.123Z').getMilliseconds()", 123),
        Example("duration('1.5s').getMilliseconds()", 1500),
    ),
)
