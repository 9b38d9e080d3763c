"""Base64 as Go's standard encoding reads it."""

import base64

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kadmit.kinds import base64text


@given(st.binary(max_size=64))
def test_what_was_encoded_stays_as_it_is(data: bytes) -> None:
    text = base64.b64encode(data).decode()
    assert base64text.canonical(text) == text
    assert base64text.is_canonical(text)


@pytest.mark.parametrize(("text", "expected"), [("YW\nJj", "YWJj"), ("YR==", "YQ=="), ("YQ=\r\n=", "YQ==")])
def test_odd_spellings_are_put_right(text: str, expected: str) -> None:
    assert not base64text.is_canonical(text)
    assert base64text.canonical(text) == expected


@pytest.mark.parametrize(
    ("text", "position"),
    [
        ("not base64!", 3),
        ("YQ", 0),
        ("YWJjYQ", 4),
        ("?", 0),
        ("YQ=", 3),
        ("YQ=x", 2),
        ("====", 0),
        ("YWJj=", 4),
        ("YQ==YQ==", 4),
        ("é", 0),
    ],
)
def test_a_fault_is_told_with_gos_position(text: str, position: int) -> None:
    assert not base64text.is_canonical(text)
    with pytest.raises(base64text.Base64Error, match=f"^illegal base64 data at input byte {position}$"):
        base64text.canonical(text)
