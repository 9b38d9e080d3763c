"""Values in Go's syntax, as refusals of apply configurations quote them."""

from typing import Any

import pytest

from kadmit.cel import quantities
from kadmit.cel.values import Duration, Timestamp, UInt
from kadmit.policy import gosyntax

NEW_YEAR = 1577836800 * 10**9


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (None, "0"),
        (UInt(10), "0xa"),
        (b"ab", "[]uint8{0x61, 0x62}"),
        (b"", "[]uint8{}"),
        (Duration(1500), "1500"),
        (Timestamp(NEW_YEAR + 5), "time.Date(2020, time.January, 1, 0, 0, 0, 5, time.UTC)"),
        (Timestamp(NEW_YEAR, 7200), 'time.Date(2020, time.January, 1, 2, 0, 0, 0, time.Location(""))'),
        (["u", 1, True, 1.5, None], '[]ref.Val{"u", 1, true, 1.5, 0}'),
        ({"b": 1, "a": "x"}, 'map[ref.Val]ref.Val{"a":"x", "b":1}'),
    ],
)
def test_a_value_is_written_as_the_go_type_that_it_becomes(value: Any, text: str) -> None:
    assert gosyntax.native(value) == text


@pytest.mark.parametrize(
    ("member", "text"),
    [
        (UInt(2), "0x2"),
        (b"a", "types.Bytes{0x61}"),
        (Duration(3), "types.Duration{Duration:3}"),
        (Timestamp(NEW_YEAR), "time.Date(2020, time.January, 1, 0, 0, 0, 0, time.UTC)"),
    ],
)
def test_a_member_is_written_as_the_cel_type_that_it_is(member: Any, text: str) -> None:
    assert gosyntax.native([member]) == f"[]ref.Val{{{text}}}"


def test_what_is_behind_a_pointer_is_an_address() -> None:
    assert gosyntax.native([[1]]).endswith("(0xc000000000)}")
    assert gosyntax.native_name(quantities.of_int(1)).endswith("Quantity")
