"""Quantities: what can be read, what comes out as text and number, and which of them Kubernetes takes for integers."""

from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kadmit.cel import quantities
from kadmit.cel.library import quantity as library
from kadmit.cel.quantities import BAD_FORMAT, BAD_NUMBER, BAD_SUFFIX, Quantity, Sum
from kadmit.cel.values import INT_MAX, INT_MIN, CelError, Value

FUNCTIONS = {f.name: f for f in library.FUNCTIONS}
SUFFIXES = ("", "n", "u", "m", "k", "M", "G", "T", "P", "E", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei", "e3", "E-2")


def read(text: str) -> Quantity:
    parsed = quantities.parse(text)
    assert isinstance(parsed, Quantity), parsed
    return parsed


def total(a: str, b: str) -> Quantity:
    found = quantities.add(read(a), read(b))
    assert found is not None
    return found


def difference(a: str, b: str) -> Quantity:
    found = quantities.subtract(read(a), read(b))
    assert found is not None
    return found


@pytest.mark.parametrize(
    ("text", "error"),
    [
        ("", BAD_FORMAT),
        (" 1", BAD_FORMAT),
        ("1 Gi", BAD_FORMAT),
        ("abc", BAD_FORMAT),
        ("1.2.3", BAD_FORMAT),
        ("1g", BAD_FORMAT),
        ("٣", BAD_FORMAT),
        ("1K", BAD_SUFFIX),
        ("1ki", BAD_SUFFIX),
        ("1e", BAD_SUFFIX),
        ("1e+", BAD_SUFFIX),
        ("1k3", BAD_SUFFIX),
        ("+-5", BAD_SUFFIX),
        ("1e9223372036854775808", BAD_SUFFIX),
        ("e-20", BAD_NUMBER),
        ("-.e-20", BAD_NUMBER),
    ],
)
def test_a_text_that_is_no_quantity_is_refused_with_kubernetes_words(text: str, error: str) -> None:
    assert quantities.parse(text) == error


@pytest.mark.parametrize(
    ("text", "canonical"),
    [
        ("0", "0"),
        ("-0", "0"),
        ("Mi", "0"),
        (".", "0"),
        ("-", "0"),
        ("1.", "1."),  # kept as written, as are the next five: Kubernetes takes them for canonical
        ("+1", "+1"),
        ("00100", "00100"),
        ("1.500", "1.500"),
        ("1E3", "1E3"),
        ("1030Mi", "1030Mi"),
        ("1.0", "1"),
        ("1.000", "1"),
        ("0.5", "500m"),
        ("1000m", "1"),
        ("1500", "1500"),
        ("1000", "1k"),
        ("1.5k", "1500"),
        ("100000", "100k"),
        ("1024Ki", "1Mi"),
        ("1000Ki", "1000Ki"),
        ("512Ki", "512Ki"),
        ("1.5Gi", "1536Mi"),
        ("0.5Ki", "512"),
        ("0.1Ki", "102400m"),
        ("0.0001Ki", "102400u"),
        ("12e3", "12e3"),
        ("1200e1", "12e3"),
        ("1e-3", "1e-3"),
        ("0.1n", "1n"),
        ("-0.1n", "-1n"),
        ("1.0000000001", "1000000001n"),
        ("9999999999999999999Ei", "9223372036854775807"),
        ("-9999999999999999999Ei", "-9223372036854775807"),
        ("1000E", "1"),  # there is no letter for it
        ("1e21", "1e21"),
        ("1e2147483647", "10e2147483646"),
        (" 1Gi\n", "1Gi"),
    ],
)
def test_the_canonical_text_is_the_one_that_kubernetes_writes(text: str, canonical: str) -> None:
    assert quantities.canonical(text) == canonical


def test_a_text_that_is_no_quantity_has_no_canonical_text() -> None:
    assert quantities.canonical("1K") is None


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("1", 1),
        ("-1", -1),
        ("1k", 1000),
        ("1Ki", 1024),
        ("1Ti", 2**40),
        ("1.5k", 1500),
        ("1E+2", 100),
        ("9E", 9 * 10**18),
        ("10E", None),
        ("999999999999999999", 10**18 - 1),
        ("1000000000000000000", None),  # 19 digits
        ("1e18", 10**18),
        ("1e19", None),
        ("0e2147483647", 0),
        ("1000m", None),
        ("1.0", None),
        ("0.5Gi", None),
        ("1023Ti", None),
        ("1Pi", None),
    ],
)
def test_only_whole_numbers_written_without_fractions_are_integers(text: str, number: int | None) -> None:
    assert read(text).as_int() == number


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("100m", 0.1),
        ("1n", 1e-9),
        ("1.5Gi", 1610612736.0),
        ("1000000000000000000", 1.0000000000000001e18),
        ("9999999999999999999999G", 1.0000000000000001e31),
        ("1e400", float("inf")),
        ("-1e400", float("-inf")),
    ],
)
def test_the_approximate_number_is_off_as_in_kubernetes(text: str, number: float) -> None:
    assert read(text).as_float() == number


def test_zero_times_infinity_is_not_a_number() -> None:
    assert read("0e400").as_float() != read("0e400").as_float()


@pytest.mark.parametrize(
    ("a", "b", "text"),
    [
        ("1", "2", "3"),
        ("1Gi", "1Mi", "1025Mi"),
        ("100m", "900m", "1"),
        ("0", "1Gi", "1Gi"),  # zero takes the other's form
        ("1Gi", "0.5", "1073741824500m"),
        ("9223372036854775807", "1", "9223372036854775808"),
        ("1e3", "1Ki", "2024"),
        ("1Ki", "1000E", "976562500000000001Ki"),
    ],
)
def test_sums_are_exact_and_keep_the_form_of_the_first(a: str, b: str, text: str) -> None:
    assert total(a, b).text() == text


@pytest.mark.parametrize(
    ("a", "b", "text"),
    [("1", "3", "-2"), ("1Gi", "512Mi", "512Mi"), ("0", "1Ki", "-1Ki"), ("1Pi", "1Pi", "0"), ("1", "0.1Ki", "-101400m")],
)
def test_differences_are_exact(a: str, b: str, text: str) -> None:
    assert difference(a, b).text() == text


def test_the_lowest_number_is_its_own_negative() -> None:
    lowest = quantities.subtract(quantities.of_int(-1), quantities.of_int(INT_MAX))
    assert lowest is not None
    assert lowest.as_int() == INT_MIN
    wrong, right = library.sub(quantities.of_int(5), lowest), library.sub(quantities.of_int(-1), lowest)
    assert wrong.as_int() == INT_MIN + 5
    assert right.text() == "9223372036854775807"


@pytest.mark.parametrize(
    ("a", "b", "order"),
    [
        ("1", "1000m", 0),
        ("1Gi", "1G", 1),
        ("1Pi", "1024Ti", 0),
        ("1", "1.0000000001", -1),
        ("-1", "-1500m", 1),
        ("1e2147483647", "1Ei", 1),
        ("-1e2147483647", "-1n", -1),
    ],
)
def test_comparing_looks_at_the_number_only(a: str, b: str, order: int) -> None:
    assert quantities.compare(read(a), read(b)) == order
    assert quantities.compare(read(b), read(a)) == -order
    assert read(a).equals(read(b)) is (order == 0)


@pytest.mark.parametrize(
    ("text", "exponent", "rounded"),
    [
        ("1.0001", -3, "1001m"),
        ("-1.0001", -3, "-1001m"),
        ("5n", 0, "1"),
        ("1Gi", -3, "1Gi"),
        ("0.1Ki", 0, "103"),
        ("1.500", -3, "1.500"),
    ],
)
def test_rounding_goes_away_from_zero(text: str, exponent: int, rounded: str) -> None:
    assert read(text).rounded_up(exponent).text() == rounded


def test_a_sum_on_the_right_of_an_equation_fails_as_in_kubernetes() -> None:
    two = total("1", "1")
    assert two.__class__ is Sum
    assert two.equals(read("2")) is True
    answer = read("2").equals(two)
    assert isinstance(answer, CelError)
    assert answer.message == "no such overload"


def test_other_values_cannot_be_compared_with_a_quantity() -> None:
    assert isinstance(read("1").equals(1), CelError)


def test_arithmetic_leaves_its_parts_as_they_were() -> None:
    large, small = read("9223372036854775807"), read("5")
    library.add(large, small)
    quantities.compare(small, large)
    assert large.text() == "9223372036854775807"
    assert small.as_int() == 5


def call(name: str, *args: Value) -> Value:
    overload = next(o for o in FUNCTIONS[name].overloads if len(o.args) == len(args))
    assert overload.impl is not None
    return overload.impl(*args)


def test_functions_give_errors_as_values() -> None:
    assert call("quantity", "1K").message == BAD_SUFFIX
    assert call("isQuantity", "1K") is False
    assert call("isQuantity", "1k") is True
    assert call("asInteger", read("1Pi")).message == "cannot convert value to integer"
    assert call("isInteger", read("1Ti")) is True


def test_a_sum_of_absurd_length_is_refused() -> None:
    assert call("add", read("1e2000000000"), read("1")).message == "quantity has too many digits"
    assert call("sub", read("1"), read("1e2000000000")).message == "quantity has too many digits"


def test_long_texts_are_read_in_time() -> None:
    digits = "9" * 200_000
    assert read(digits).text() == digits
    assert read("0." + digits).text() == "1"


def test_reading_costs_a_tenth_of_the_length_and_the_rest_one() -> None:
    def cost(name: str, *args: Value) -> int | None:
        charge = FUNCTIONS[name].cost
        assert charge is not None
        return charge("", args, None)

    assert [cost("quantity", "1" * n) for n in (0, 1, 10, 11)] == [0, 1, 1, 2]
    assert cost("isQuantity", 1) == 1  # nothing to measure
    assert cost("add", read("1"), read("2")) == 1


number = st.builds(
    lambda sign, whole, fraction, suffix: f"{sign}{whole}{'.' + fraction if fraction else ''}{suffix}",
    st.sampled_from(("", "-", "+")),
    st.text("0123456789", min_size=1, max_size=25),
    st.text("0123456789", max_size=12),
    st.sampled_from(SUFFIXES),
)


@given(number)
def test_a_canonical_text_reads_as_the_same_number_and_stays_as_it_is(text: str) -> None:
    quantity = read(text)
    if abs(quantity.decimal()) >= Decimal(10) ** 21:
        return  # beyond exa the decimal form loses its letter
    again = read(quantity.text())
    assert quantities.compare(again, quantity) == 0
    assert again.text() == quantity.text()


@given(number, number)
def test_what_is_added_can_be_taken_away_again(a: str, b: str) -> None:
    back = quantities.subtract(total(a, b), read(b))
    assert back is not None
    assert quantities.compare(back, read(a)) == 0


@given(number, number)
def test_comparing_agrees_with_the_sign_of_the_difference(a: str, b: str) -> None:
    assert quantities.compare(read(a), read(b)) == difference(a, b).sign()
