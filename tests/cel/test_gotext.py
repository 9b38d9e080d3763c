"""Go's number and value texts: what reads as a number, and how values are printed."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kadmit.cel import gotext, types
from kadmit.cel.values import INT_MAX, INT_MIN, NONE, UINT_MAX, Duration, Optional, Timestamp, UInt, Value, map_from


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("0", 0),
        ("+7", 7),
        ("-0", 0),
        ("007", 7),
        ("9223372036854775807", INT_MAX),
        ("-9223372036854775808", INT_MIN),
        ("0" * 5000 + "1", 1),
        ("9223372036854775808", None),
        ("1" * 5000, None),
        ("", None),
        ("+", None),
        ("1_000", None),
        ("0x10", None),
        (" 1", None),
        ("1.0", None),
        ("٣", None),
    ],
)
def test_an_int_is_an_optional_sign_and_ascii_digits_within_64_bits(text: str, number: int | None) -> None:
    assert gotext.parse_int(text) == number


@pytest.mark.parametrize(
    ("text", "number"),
    [("18446744073709551615", UINT_MAX), ("0", 0), ("+1", None), ("-1", None), ("18446744073709551616", None), ("", None)],
)
def test_a_uint_has_no_sign(text: str, number: int | None) -> None:
    assert gotext.parse_uint(text) == number


def test_a_parsed_uint_is_told_apart_from_an_int() -> None:
    assert gotext.parse_uint("1").__class__ is UInt


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("1", 1.0),
        ("-.5", -0.5),
        ("5.", 5.0),
        ("1e3", 1000.0),
        ("1E+3", 1000.0),
        ("1_0.5", 10.5),
        ("1e1_0", 1e10),
        ("0x1p-2", 0.25),
        ("0X1.8P1", 3.0),
        ("0x_1p0", 1.0),
        ("0x.8p0", 0.5),
        ("1e-400", 0.0),
        ("inf", math.inf),
        ("-Infinity", -math.inf),
        ("+INF", math.inf),
        ("1e309", None),
        ("0x1p1024", None),
        ("0x1", None),
        ("0xp1", None),
        ("1__0", None),
        ("_1", None),
        ("1_", None),
        ("1_.5", None),
        ("-nan", None),
        ("infin", None),
        (".", None),
        ("", None),
        ("1e", None),
        ("e1", None),
        (" 1", None),
        ("1f", None),
        ("١", None),
    ],
)
def test_a_double_is_a_go_literal_or_an_infinity(text: str, number: float | None) -> None:
    assert gotext.parse_float(text) == number


@pytest.mark.parametrize("text", ["nan", "NaN", "NAN"])
def test_nan_reads_in_any_case_but_unsigned(text: str) -> None:
    number = gotext.parse_float(text)
    assert number is not None
    assert math.isnan(number)


@pytest.mark.parametrize(
    ("text", "truth"), [("1", True), ("t", True), ("True", True), ("F", False), ("0", False), ("tRUE", None), ("yes", None)]
)
def test_bools_have_twelve_spellings(text: str, truth: bool | None) -> None:
    assert gotext.parse_bool(text) is truth


@pytest.mark.parametrize(
    ("number", "text"),
    [
        (0.0, "0"),
        (-0.0, "-0"),
        (1.0, "1"),
        (-1.5, "-1.5"),
        (100000.0, "100000"),
        (123456.7, "123456.7"),
        (1000000.0, "1e+06"),
        (1234567.5, "1.2345675e+06"),
        (0.0001, "0.0001"),
        (0.00001, "1e-05"),
        (1e100, "1e+100"),
        (5e-324, "5e-324"),
        (1.7976931348623157e308, "1.7976931348623157e+308"),
        (math.inf, "+Inf"),
        (-math.inf, "-Inf"),
        (math.nan, "NaN"),
    ],
)
def test_doubles_print_as_go_g(number: float, text: str) -> None:
    assert gotext.format_double(number) == text


@pytest.mark.parametrize(
    ("number", "text"),
    [(1e21, "1" + "0" * 21), (1.5e-7, "0.00000015"), (-12.25, "-12.25"), (0.0, "0"), (math.inf, "+Inf"), (120.0, "120")],
)
def test_fixed_texts_never_have_an_exponent(number: float, text: str) -> None:
    assert gotext.format_fixed(number) == text


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_every_double_reads_back_the_same_from_both_texts(number: float) -> None:
    assert gotext.parse_float(gotext.format_double(number)) == number
    assert gotext.parse_float(gotext.format_fixed(number)) == number


@pytest.mark.parametrize(
    ("text", "quoted"),
    [
        ("", '""'),
        ("plain", '"plain"'),
        ('a"b\\c', r'"a\"b\\c"'),
        ("\a\b\f\n\r\t\v", r'"\a\b\f\n\r\t\v"'),
        ("\x00\x7f", r'"\x00\x7f"'),
        ("é\u00a0\u200b\ufeff", r'"é\u00a0\u200b\ufeff"'),
        ("😀\U000e0001", '"😀\\U000e0001"'),
    ],
)
def test_quote_escapes_what_is_not_printable(text: str, quoted: str) -> None:
    assert gotext.quote(text) == quoted


@pytest.mark.parametrize(
    ("text", "answer"),
    [
        ("-12", -12),
        ("", 'strconv.Atoi: parsing "": invalid syntax'),
        ("a\n", 'strconv.Atoi: parsing "a\\n": invalid syntax'),
        ("9223372036854775808", 'strconv.Atoi: parsing "9223372036854775808": value out of range'),
    ],
)
def test_atoi_explains_itself(text: str, answer: int | str) -> None:
    assert gotext.atoi(text) == answer


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ("a b", "a b"),
        (-1, "-1"),
        (UInt(3), "3"),
        (True, "true"),
        (None, "0"),
        (1.0, "1"),
        (1.5e30, "1.5e+30"),
        (b"ab", "[97 98]"),
        ([1, "c", [UInt(2)]], "[1, c, [2]]"),
        ({"a": 1, "b": {"c": None}}, "{a: 1, b: {c: 0}}"),
        (map_from([(1, 2), (True, "x")]), "{1: 2, true: x}"),
        (Timestamp(1704056400_500_000_000, 10800), "2024-01-01 00:00:00.5 +0300 +0300"),
        (Timestamp(0), "1970-01-01 00:00:00 +0000 UTC"),
        (Duration(5_400_001_000_000), "1h30m0.001s"),
        (Optional([1.0]), "optional([1])"),
        (NONE, "optional.none()"),
        (types.LIST, "list(dyn)"),
        (types.TIMESTAMP, "google.protobuf.Timestamp"),
    ],
)
def test_error_texts_print_values_as_go_v(value: Value, text: str) -> None:
    assert gotext.display(value) == text


def test_a_very_deep_value_prints() -> None:
    deep: list[Value] = []
    for _ in range(3000):
        deep = [deep]
    assert gotext.display(deep) == "[" * 3001 + "]" * 3001


def test_space_around_a_text_is_what_unicode_calls_space() -> None:
    assert gotext.trim_space("\u00a0\u3000 x\t\n\u2028") == "x"
    assert gotext.trim_space("\x1cx\x1f") == "\x1cx\x1f"
