"""string.format: each verb with each type, its en-US quirks, and what is refused at run time and at compile time."""

import math

import pytest

from kadmit.cel import ast, types
from kadmit.cel.library import formatting
from kadmit.cel.types import Type
from kadmit.cel.values import INT_MIN, NONE, UINT_MAX, CelError, Duration, Timestamp, UInt, Value, map_from

MOMENT = Timestamp(1704056400_500_000_000, 10800)
HOUR = Duration(3600_000_000_000)
STRING_FAULT = (
    "error during formatting: string clause can only be used on strings, bools, bytes, ints, doubles, maps, lists, types, "
    "durations, and timestamps, was given "
)
BAD_PRECISION = "could not parse formatting clause: error while parsing precision: "


def formatted(text: str, *args: Value) -> Value:
    result = formatting.format_text(text, list(args))
    return result.message if isinstance(result, CelError) else result


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ("text", "text"),
        (-1, "-1"),
        (UInt(UINT_MAX), "18446744073709551615"),
        (1.5, "1.5"),
        (1e21, "1e+21"),
        (math.inf, "+Inf"),
        (True, "true"),
        (None, "null"),
        (b"by", "by"),
        (MOMENT, "2024-01-01T00:00:00.5+03:00"),
        (HOUR, "3600s"),
        (types.LIST, "list"),
        (types.TIMESTAMP, "google.protobuf.Timestamp"),
        ([], "[]"),
        ({}, "{}"),
        (["a\n", b"b", 1, UInt(2), 0.1, None, False], r'["a\n", b"b", 1, 2, 0.100000, null, false]'),
        ([math.inf, -math.inf, math.nan], '["+Inf", "-Inf", "NaN"]'),
        ([MOMENT, HOUR, types.INT], '[timestamp("2024-01-01T00:00:00.5+03:00"), duration("3600s"), int]'),
        ({"b": [1], "a": {"c": "d"}}, '{"a":{"c":"d"}, "b":[1]}'),
        (map_from([(2, "x"), (10, "y"), (True, 1.5)]), '{10:"y", 2:"x", true:1.500000}'),
        (map_from([(1.5, "x")]), "error during formatting: no formatting function for map key of type double"),
        (NONE, STRING_FAULT + "optional_type"),
        ([NONE], "error during formatting: no formatting function for optional_type"),
        (
            b"\xff",
            'error during formatting: could not convert argument "invalid UTF-8 in bytes, cannot convert to string" to string',
        ),
    ],
)
def test_s_takes_every_ordinary_value(value: Value, text: str) -> None:
    assert formatted("%s", value) == text


@pytest.mark.parametrize(
    ("verb", "value", "text"),
    [
        ("%d", INT_MIN, "-9223372036854775808"),
        ("%d", UInt(3), "3"),
        ("%d", 1.5, "error during formatting: decimal clause can only be used on integers, was given double"),
        ("%d", True, "error during formatting: decimal clause can only be used on integers, was given bool"),
        ("%b", -5, "-101"),
        ("%b", UInt(4), "100"),
        ("%b", True, "1"),
        ("%b", False, "0"),
        ("%b", "x", "error during formatting: only integers and bools can be formatted as binary, was given string"),
        ("%x", -255, "-ff"),
        ("%X", UInt(255), "FF"),
        ("%x", "hé", "68c3a9"),
        ("%X", b"\x00\xff", "00FF"),
        (
            "%x",
            1.5,
            "error during formatting: only integers, byte buffers, and strings can be formatted as hex, was given double",
        ),
        ("%o", -8, "-10"),
        ("%o", "x", "error during formatting: octal clause can only be used on integers, was given string"),
    ],
)
def test_whole_numbers_have_four_bases(verb: str, value: Value, text: str) -> None:
    assert formatted(verb, value) == text


@pytest.mark.parametrize(
    ("verb", "value", "text"),
    [
        ("%f", 1234567.891, "1,234,567.891000"),
        ("%f", -1234.5, "-1,234.500000"),
        ("%f", -0.0, "0.000000"),
        ("%.2f", -0.001, "-0.00"),
        ("%.2f", 0.125, "0.12"),
        ("%.2f", 2.675, "2.67"),
        ("%.0f", 2.5, "2"),
        ("%.0f", 1.5, "2"),
        ("%.2f", 999.999, "1,000.00"),
        ("%f", 1e21, "1,000,000,000,000,000,000,000.000000"),
        ("%.20f", 0.1, "0.10000000000000000555"),
        ("%.256f", 1.5, "1.5"),  # the least number of digits is kept in 8 bits,
        ("%.40000f", 0.1, "0.1" + "0" * 63),  # the largest in 16 bits with a sign,
        ("%.10000010f", 0.1, "%!(NOVERB)"),  # and a larger one is not read at all
        ("%f", math.inf, "∞"),
        ("%f", "-Infinity", "-∞"),
        ("%f", "NaN", "NaN"),
        ("%f", "nan", "error during formatting: fixed-point clause can only be used on doubles, was given string"),
        ("%f", 1, "error during formatting: fixed-point clause can only be used on doubles, was given int"),
        ("%e", 0.0, "0.000000×10⁰⁰"),
        ("%e", -0.0, "0.000000×10⁰⁰"),
        ("%e", 123456.789, "1.234568×10⁰⁵"),
        ("%e", -0.000123456789, "-1.234568×10⁻⁰⁴"),
        ("%e", 1e-300, "1.000000×10⁻³⁰⁰"),
        ("%.2e", 1234.5678, "1.234568×10⁰³"),  # a precision is ignored,
        ("%.20e", 1234.5678, "       1.234568×10⁰³"),  # but is a width
        ("%e", "NaN", "   NaN"),
        ("%e", math.inf, "     ∞"),
        ("%.99999999e", 1.5, "%!(NOVERB)"),
        ("%e", 1, "error during formatting: scientific clause can only be used on doubles, was given int"),
    ],
)
def test_doubles_are_written_as_in_the_united_states(verb: str, value: Value, text: str) -> None:
    assert formatted(verb, value) == text


@pytest.mark.parametrize(
    ("text", "args", "expected"),
    [
        ("", (), ""),
        ("100%%", (), "100%"),
        ("%%%s%%", ("a",), "%a%"),
        ("%s %d", ("a", 1), "a 1"),
        ("é%sé", ("ü",), "éüé"),
        ("%s", (1, 2), "1"),  # too many are fine at run time
        ("%s %s", ("a",), "index 1 out of range"),
        ("%", (), "index 0 out of range"),
        ("%", (1,), "unexpected end of string"),
        ("%d %z", ("a", 1), "error during formatting: decimal clause can only be used on integers, was given string"),
        ("%z", (1,), 'could not parse formatting clause: unrecognized formatting clause "z"'),
        ("%é", (1,), 'could not parse formatting clause: unrecognized formatting clause "Ã"'),
        ("%5d", (1,), 'could not parse formatting clause: unrecognized formatting clause "5"'),
        (
            "%.5",
            (1.0,),
            f"{BAD_PRECISION}could not find end of precision specifier",
        ),
        (
            "%.f",
            (1.0,),
            f'{BAD_PRECISION}error while converting precision to integer: strconv.Atoi: parsing "": invalid syntax',
        ),
    ],
)
def test_faults_are_found_from_left_to_right(text: str, args: tuple[Value, ...], expected: str) -> None:
    assert formatted(text, *args) == expected


def test_a_very_deep_value_is_formatted() -> None:
    deep: list[Value] = []
    for _ in range(3000):
        deep = [deep]
    assert formatted("%s", deep) == "[" * 3001 + "]" * 3001


CALL_ID = 1


def check(text: object, *elements: ast.Expr, known: dict[int, Type]) -> tuple[int, str] | None:
    call = ast.Call(CALL_ID, "format", ast.Literal(2, text), (ast.ListExpr(3, elements),))
    return formatting.check_call(call, known)


ARGUMENT = ast.Ident(10, "x")
OTHER = ast.Ident(11, "y")


@pytest.mark.parametrize(
    ("text", "argument", "issue"),
    [
        ("%s", types.STRING, None),
        ("%s", types.DYN, None),
        ("%s", types.MAP, None),
        ("%s", types.NULL, None),
        ("%s", types.OPTIONAL, (10, STRING_FAULT + "optional_type")),
        ("%s", types.opaque("kubernetes.Quantity"), (10, STRING_FAULT + "kubernetes.Quantity")),
        ("%d", types.UINT, None),
        ("%d", types.DOUBLE, (10, "error during formatting: decimal clause can only be used on integers, was given double")),
        ("%f", types.STRING, None),
        ("%f", types.INT, (10, "error during formatting: fixed-point clause can only be used on doubles, was given int")),
        ("%.2e", types.DOUBLE, None),
        ("%b", types.BOOL, None),
        ("%X", types.BYTES, None),
        ("%o", types.BOOL, (10, "error during formatting: octal clause can only be used on integers, was given bool")),
        ("%%", types.INT, (CALL_ID, "too many arguments supplied to string.format (expected 0, got 1)")),
        ("%s%s", types.INT, (CALL_ID, "index 1 out of range")),
        ("%s%", types.INT, (CALL_ID, "unexpected end of string")),
        ("%z", types.INT, (CALL_ID, 'could not parse formatting clause: unrecognized formatting clause "z"')),
    ],
)
def test_the_compiler_checks_a_literal_format(text: str, argument: Type, issue: tuple[int, str] | None) -> None:
    assert check(text, ARGUMENT, known={10: argument}) == issue


def test_the_compiler_says_that_a_format_ends_too_early_before_it_counts_arguments() -> None:
    assert check("%", known={}) == (CALL_ID, "unexpected end of string")


def test_the_compiler_looks_into_literal_lists_and_maps() -> None:
    pair = ast.MapExpr(20, (ast.MapEntry(21, ARGUMENT, OTHER),))
    nested = ast.ListExpr(22, (ARGUMENT, pair))
    known = {10: types.STRING, 11: types.OPTIONAL, 20: types.MAP, 22: types.LIST}
    assert check("%s", nested, known=known) == (11, STRING_FAULT + "optional_type")
    assert check("%s", nested, known={**known, 11: types.INT}) is None


@pytest.mark.parametrize("text", [b"%d", 1])
def test_the_compiler_leaves_other_calls_alone(text: object) -> None:
    assert check(text, ARGUMENT, known={10: types.STRING}) is None
    dynamic = ast.Call(CALL_ID, "format", ast.Literal(2, "%d"), (ARGUMENT,))
    assert formatting.check_call(dynamic, {10: types.LIST}) is None
