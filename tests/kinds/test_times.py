"""Times as Go reads and Kubernetes writes them."""

import pytest

from kadmit.kinds import times

AS_SECONDS = 'as "2006-01-02T15:04:05Z07:00"'


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("2024-01-02T03:04:05Z", "2024-01-02T03:04:05Z"),
        ("2024-01-02T03:04:05.999Z", "2024-01-02T03:04:05Z"),
        ("2024-01-02T03:04:05,25Z", "2024-01-02T03:04:05Z"),
        ("2024-01-02T3:04:05Z", "2024-01-02T03:04:05Z"),
        ("2024-01-01T01:00:00+02:00", "2023-12-31T23:00:00Z"),
        ("2023-12-31T23:59:59-05:30", "2024-01-01T05:29:59Z"),
        ("2024-02-29T00:00:00Z", "2024-02-29T00:00:00Z"),
        ("0001-01-01T00:00:00Z", None),
    ],
)
def test_times_are_written_in_utc_to_the_second(text: str, expected: str | None) -> None:
    assert times.canonical(text) == expected


def test_micro_times_keep_six_digits() -> None:
    assert times.canonical("2024-01-02T03:04:05.123456+01:00", times.MICROSECONDS) == "2024-01-02T02:04:05.123456Z"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("yesterday", f'parsing time "yesterday" {AS_SECONDS}: cannot parse "yesterday" as "2006"'),
        ("", f'parsing time "" {AS_SECONDS}: cannot parse "" as "2006"'),
        ("2024-01-02", f'parsing time "2024-01-02" {AS_SECONDS}: cannot parse "" as "T"'),
        ("2024-1-02T00:00:00Z", f'parsing time "2024-1-02T00:00:00Z" {AS_SECONDS}: cannot parse "1-02T00:00:00Z" as "01"'),
        ("2024-13-01T00:00:00Z", 'parsing time "2024-13-01T00:00:00Z": month out of range'),
        ("2023-02-29T00:00:00Z", 'parsing time "2023-02-29T00:00:00Z": day out of range'),
        ("2024-01-02T24:00:00Z", 'parsing time "2024-01-02T24:00:00Z": hour out of range'),
        ("2024-01-02T03:04:60Z", 'parsing time "2024-01-02T03:04:60Z": second out of range'),
        ("2024-01-02T03:04:05Zx", 'parsing time "2024-01-02T03:04:05Zx": extra text: "x"'),
        ("2024-01-02T03:04:05z", f'parsing time "2024-01-02T03:04:05z" {AS_SECONDS}: cannot parse "z" as "Z07:00"'),
        ("é", f'parsing time "\\xc3\\xa9" {AS_SECONDS}: cannot parse "\\xc3\\xa9" as "2006"'),
        ('"', f'parsing time "\\"" {AS_SECONDS}: cannot parse "\\"" as "2006"'),
    ],
)
def test_a_text_that_is_no_time_gets_gos_words(text: str, message: str) -> None:
    with pytest.raises(times.TimeError) as caught:
        times.canonical(text)
    assert str(caught.value) == message


def test_micro_times_want_exactly_six_digits() -> None:
    with pytest.raises(times.TimeError, match=r'cannot parse "Z" as "\.000000"'):
        times.canonical("2024-01-02T03:04:05Z", times.MICROSECONDS)
    with pytest.raises(times.TimeError, match='cannot parse "7Z" as "Z07:00"'):
        times.canonical("2024-01-02T03:04:05.1234567Z", times.MICROSECONDS)
