"""Durations and timestamps: which texts they have, their arithmetic, and what accessors show in which zone."""

import datetime as dt
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kadmit.cel import gotime, gozone
from kadmit.cel.library import timestamps
from kadmit.cel.values import INT_MAX, INT_MIN, CelError, Duration, Timestamp, Value

SECOND = 1_000_000_000
FUNCTIONS = {f.name: f for f in timestamps.FUNCTIONS}


def shown(value: Value) -> object:
    return value.message if isinstance(value, CelError) else value


def moment(text: str) -> Timestamp:
    parsed = gotime.parse_timestamp(text)
    assert isinstance(parsed, Timestamp), text
    return parsed


def field(name: str, receiver: Value, *args: Value) -> object:
    """The accessor of the overload that takes these arguments."""
    type_name = "google.protobuf.Duration" if isinstance(receiver, Duration) else "google.protobuf.Timestamp"
    codes = [o.impl for o in FUNCTIONS[name].overloads if o.args[0].name == type_name and len(o.args) == 1 + len(args)]
    assert codes[0] is not None
    return shown(codes[0](receiver, *args))


@pytest.mark.parametrize(
    ("text", "nanos"),
    [
        ("0", 0),
        ("-0", 0),
        ("+5s", 5 * SECOND),
        ("1h30m", 5400 * SECOND),
        ("1.5h", 5400 * SECOND),
        (".5s", SECOND // 2),
        ("5.s", 5 * SECOND),
        ("1us1µs1μs", 3000),
        ("1m1h", 3660 * SECOND),
        ("-1.5ms", -1_500_000),
        ("0.3333333333333333333h", 1_200_000_000_000),
        ("1.9999999999ns", 1),
        ("9223372036854775807ns", INT_MAX),
        ("-9223372036854775808ns", INT_MIN),
        ("00000000000000000000001s", SECOND),
    ],
)
def test_durations_are_numbers_with_units(text: str, nanos: int) -> None:
    assert gotime.parse_duration(text) == Duration(nanos)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "+",
        "1",
        "1d",
        "s",
        ".s",
        "-.s",
        "1h 1m",
        " 1s",
        "1s ",
        "1e3s",
        "1..5s",
        "9223372036854775808ns",
        "2562048h",
        "1S",
        "٣s",
    ],
)
def test_other_texts_are_no_durations(text: str) -> None:
    assert shown(gotime.parse_duration(text)) == "type conversion error from 'string' to 'google.protobuf.Duration'"


@pytest.mark.parametrize(
    ("nanos", "text", "display"),
    [
        (0, "0s", "0s"),
        (1, "0.000000001s", "1ns"),
        (15_000, "0.000015s", "15µs"),
        (1_500, "0.0000015s", "1.5µs"),
        (-1_500_000, "-0.0015s", "-1.5ms"),
        (5400 * SECOND, "5400s", "1h30m0s"),
        (61 * SECOND, "61s", "1m1s"),
        (3600 * SECOND + 1, "3600.000000001s", "1h0m0.000000001s"),
        (INT_MAX, "9223372036.854776s", "2562047h47m16.854775807s"),
        (INT_MIN, "-9223372036.854776s", "-2562047h47m16.854775808s"),
    ],
)
def test_durations_print_in_seconds_and_in_error_texts_as_go_does(nanos: int, text: str, display: str) -> None:
    assert gotime.format_duration(Duration(nanos)) == text
    assert gotime.display_duration(Duration(nanos)) == display


@given(st.integers(INT_MIN, INT_MAX))
def test_a_duration_reads_back_from_its_go_text(nanos: int) -> None:
    assert gotime.parse_duration(gotime.display_duration(Duration(nanos))) == Duration(nanos)


@pytest.mark.parametrize(
    ("text", "again"),
    [
        ("2024-01-01T00:00:00Z", None),
        ("2024-02-29T23:59:59.999999999Z", None),
        ("2024-01-01T00:00:00.5+03:00", None),
        ("2024-01-01T00:00:00-08:30", None),
        ("2024-01-01T00:00:00+00:00", "2024-01-01T00:00:00Z"),
        ("2024-01-01T00:00:00.500Z", "2024-01-01T00:00:00.5Z"),
        ("2024-01-01T00:00:00,25Z", "2024-01-01T00:00:00.25Z"),
        ("2024-01-01T1:02:03Z", "2024-01-01T01:02:03Z"),
        ("2024-01-01T00:00:00.1234567899Z", "2024-01-01T00:00:00.123456789Z"),
        ("2024-01-01T00:00:00+24:60", "2024-01-01T00:00:00+25:00"),
        ("0000-12-31T22:00:00-03:00", None),
        ("0001-01-01T00:00:00Z", None),
        ("9999-12-31T23:59:59.999999999Z", None),
    ],
)
def test_timestamps_keep_their_offset_in_text(text: str, again: str | None) -> None:
    assert gotime.format_timestamp(moment(text)) == (again or text)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "2024-01-01",
        "2024-01-01 00:00:00Z",
        "2024-01-01t00:00:00Z",
        "2024-01-01T00:00:00",
        "2024-01-01T00:00:00z",
        "2024-01-01T00:00Z",
        "2024-1-1T00:00:00Z",
        "2023-02-29T00:00:00Z",
        "2024-13-01T00:00:00Z",
        "2024-01-01T24:00:00Z",
        "2024-01-01T00:60:00Z",
        "2024-01-01T00:00:60Z",
        "2024-01-01T00:00:00.Z",
        "2024-01-01T00:00:00+0300",
        "2024-01-01T00:00:00+25:00",
        "2024-01-01T00:00:00+00:61",
        "10000-01-01T00:00:00Z",
        "2024-01-01T00:00:00Z\n",
    ],
)
def test_other_texts_are_no_timestamps(text: str) -> None:
    assert shown(gotime.parse_timestamp(text)) == "type conversion error from 'string' to 'google.protobuf.Timestamp'"


@pytest.mark.parametrize(
    "text", ["0000-12-31T23:59:59Z", "0001-01-01T02:00:00+03:00", "9999-12-31T23:59:59-00:01", "0000-02-29T00:00:00Z"]
)
def test_timestamps_outside_the_years_1_to_9999_overflow(text: str) -> None:
    assert shown(gotime.parse_timestamp(text)) == "timestamp overflow"


@given(st.datetimes(timezones=st.just(dt.UTC)))
def test_the_calendar_agrees_with_pythons(when: dt.datetime) -> None:
    since = when - dt.datetime(1970, 1, 1, tzinfo=dt.UTC)
    ours = Timestamp((since.days * 86_400 + since.seconds) * SECOND + since.microseconds * 1000)
    fields = [field(name, ours) for name in ("getFullYear", "getMonth", "getDate", "getDayOfWeek", "getDayOfYear")]
    assert fields == [when.year, when.month - 1, when.day, when.isoweekday() % 7, when.timetuple().tm_yday - 1]
    assert [field(name, ours) for name in ("getHours", "getMinutes", "getSeconds")] == [when.hour, when.minute, when.second]
    assert gotime.parse_timestamp(gotime.format_timestamp(ours)) == ours


def test_a_text_may_leave_the_years_that_the_moment_stays_in() -> None:
    late = gotime.add_to_timestamp(moment("9999-12-31T23:30:00+03:00"), Duration(2 * 3600 * SECOND))
    assert isinstance(late, Timestamp)
    assert gotime.format_timestamp(late) == "10000-01-01T01:30:00+03:00"


@pytest.mark.parametrize(
    ("operation", "left", "right", "expected"),
    [
        (gotime.add_durations, Duration(1), Duration(2), Duration(3)),
        (gotime.add_durations, Duration(INT_MAX), Duration(1), "integer overflow"),
        (gotime.subtract_durations, Duration(INT_MIN), Duration(1), "integer overflow"),
        (gotime.add_to_timestamp, Timestamp(5), Duration(-6), Timestamp(-1)),
        (gotime.add_to_timestamp, Timestamp(gotime.MAX_SECONDS * SECOND), Duration(SECOND), "timestamp overflow"),
        (gotime.subtract_from_timestamp, Timestamp(gotime.MIN_SECONDS * SECOND), Duration(1), "timestamp overflow"),
        (gotime.subtract_from_timestamp, Timestamp(0), Duration(INT_MIN), "integer overflow"),
        (gotime.between_timestamps, Timestamp(5), Timestamp(7), Duration(-2)),
        (gotime.between_timestamps, Timestamp(INT_MAX), Timestamp(-1), "integer overflow"),
        (gotime.between_timestamps, Timestamp(INT_MIN), Timestamp(0), "integer overflow"),  # the whole seconds do not fit
    ],
)
def test_arithmetic_is_checked(operation: Callable[..., Value], left: Value, right: Value, expected: object) -> None:
    assert shown(operation(left, right)) == expected


def test_the_smallest_duration_cannot_be_negated() -> None:
    assert shown(gotime.negate_duration(Duration(INT_MIN))) == "integer overflow"


WHEN = "2023-07-14T22:30:45.123Z"


@pytest.mark.parametrize(
    ("name", "args", "expected"),
    [
        ("getFullYear", (), 2023),
        ("getMonth", (), 6),
        ("getDayOfMonth", (), 13),
        ("getDate", (), 14),
        ("getDayOfWeek", (), 5),
        ("getDayOfYear", (), 194),
        ("getHours", (), 22),
        ("getMinutes", (), 30),
        ("getSeconds", (), 45),
        ("getMilliseconds", (), 123),
        ("getDate", ("Asia/Tokyo",), 15),
        ("getHours", ("America/New_York",), 18),
        ("getHours", ("",), 22),
        ("getHours", ("Local",), 22),
        ("getMinutes", ("+05:45",), 15),
        ("getMinutes", ("-0:45",), 45),
        ("getHours", ("1:30",), 0),
        ("getFullYear", ("+99999:00",), 2034),
        ("getHours", ("america/new_york",), "unknown time zone america/new_york"),
        ("getHours", ("America",), "unknown time zone America"),
        ("getHours", ("../UTC",), "time: invalid location name"),
        ("getHours", ("/etc/passwd",), "time: invalid location name"),
        ("getHours", ("x:1",), 'strconv.Atoi: parsing "x": invalid syntax'),
        ("getHours", ("1:",), 'strconv.Atoi: parsing "": invalid syntax'),
        ("getHours", ("1:2:3",), 'strconv.Atoi: parsing "2:3": invalid syntax'),
        ("getHours", ("9223372036854775808:0",), 'strconv.Atoi: parsing "9223372036854775808": value out of range'),
    ],
)
def test_accessors_show_a_field_of_the_clock_in_utc_or_in_a_zone(name: str, args: tuple[str, ...], expected: object) -> None:
    assert field(name, moment(WHEN), *args) == expected


def test_accessors_without_a_zone_use_utc_whatever_the_offset_in_the_text() -> None:
    assert field("getHours", moment("2024-01-01T00:00:00+03:00")) == 21


@pytest.mark.parametrize(
    ("text", "hour"),
    [
        ("2024-03-10T06:59:59Z", 1),
        ("2024-03-10T07:00:00Z", 3),
        ("2300-07-01T00:00:00Z", 20),  # past every transition in the table: the rule goes on
        ("1600-01-01T00:00:00Z", 19),  # before the first: local mean time, five hours and four minutes behind
    ],
)
def test_zones_follow_their_rules_at_all_times(text: str, hour: int) -> None:
    assert field("getHours", moment(text), "America/New_York") == hour


def test_fixed_offsets_wrap_around_as_64_bit_numbers_do() -> None:
    assert gozone.offset_at("9223372036854775807:0", 0) == -3600


@pytest.mark.parametrize("text", ["0001-01-01T00:00:00Z", "9999-12-31T23:59:59Z"])
@pytest.mark.parametrize("zone", ["Pacific/Kiritimati", "Pacific/Pago_Pago"])
def test_the_ends_of_time_have_zones_too(text: str, zone: str) -> None:
    assert field("getFullYear", moment(text), zone) in (0, 1, 9999, 10000)


@pytest.mark.parametrize(
    ("name", "nanos", "expected"),
    [
        ("getHours", 3723 * SECOND, 1),
        ("getMinutes", 3723 * SECOND, 62),
        ("getSeconds", -3723_456_000_000, -3723),
        ("getMilliseconds", -1_999_999, -1),
        ("getHours", 2562047 * 3600 * SECOND - 1, 2562047),  # rounded up on its way through a double
        ("getHours", INT_MIN, -2562047),
    ],
)
def test_a_duration_gives_its_whole_length_in_a_unit(name: str, nanos: int, expected: int) -> None:
    assert field(name, Duration(nanos)) == expected


@pytest.mark.parametrize(
    ("check", "value", "issue"),
    [
        (gotime.duration_literal_issue, "1h", None),
        (gotime.duration_literal_issue, "1d", "invalid duration argument"),
        (gotime.duration_literal_issue, 1, "invalid duration argument"),
        (gotime.timestamp_literal_issue, "2024-01-01T00:00:00Z", None),
        (gotime.timestamp_literal_issue, "2024-01-01", "invalid timestamp argument"),
        (gotime.timestamp_literal_issue, 0, None),
        (gotime.timestamp_literal_issue, 2**60, "invalid timestamp argument"),
    ],
)
def test_the_compiler_refuses_bad_literals(check: Callable[[Value], str | None], value: Value, issue: str | None) -> None:
    assert check(value) == issue
