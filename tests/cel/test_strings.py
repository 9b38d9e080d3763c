"""String functions called directly: results, error texts and costs, each as cel-go and Kubernetes give them."""

import pytest

from kadmit.cel.library import formatting, strings
from kadmit.cel.values import INT_MAX, INT_MIN, CelError, Value

FUNCTIONS = {f.name: f for f in strings.FUNCTIONS}


def call(name: str, *args: Value) -> Value:
    codes = [o.impl for o in FUNCTIONS[name].overloads if len(o.args) == len(args)]
    assert codes[0] is not None
    result = codes[0](*args)
    return result.message if isinstance(result, CelError) else result


@pytest.mark.parametrize(
    ("name", "args", "expected"),
    [
        ("charAt", ("héllo", 1), "é"),
        ("charAt", ("abc", 3), ""),
        ("charAt", ("abc", 4), "index out of range: 4"),
        ("charAt", ("abc", -1), "index out of range: -1"),
        ("indexOf", ("abcabc", "bc"), 1),
        ("indexOf", ("ééa", "a"), 2),
        ("indexOf", ("", ""), 0),
        ("indexOf", ("abc", "abcd"), -1),
        ("indexOf", ("abcabc", "bc", 2), 4),
        ("indexOf", ("abc", "c", 3), -1),
        ("indexOf", ("abc", "a", 100), -1),
        ("indexOf", ("abc", "a", -1), "index out of range: -1"),
        ("indexOf", ("abc", "", 100), 100),  # an empty needle gives the position back unchecked
        ("indexOf", ("abc", "", -5), -5),
        ("lastIndexOf", ("abcabc", "bc"), 4),
        ("lastIndexOf", ("abc", ""), 3),
        ("lastIndexOf", ("", "a"), -1),
        ("lastIndexOf", ("é", "ab"), -1),
        ("lastIndexOf", ("abcabc", "bc", 3), 1),
        ("lastIndexOf", ("abcabc", "bc", 4), 4),
        ("lastIndexOf", ("abc", "a", 3), -1),
        ("lastIndexOf", ("abc", "a", -1), "index out of range: -1"),
        ("lastIndexOf", ("abc", "", -7), -7),
        ("lowerAscii", ("ABCÆÉ",), "abcÆÉ"),
        ("upperAscii", ("abcæé",), "ABCæé"),
        ("upperAscii", ("ıſ",), "ıſ"),
        ("trim", ("\u2003\t\n\v\f\r \x85\xa0a b\u3000\u2028",), "a b"),
        ("trim", ("\x1ca\u200b\ufeff",), "\x1ca\u200b\ufeff"),  # not white space to Unicode
        ("replace", ("aaa", "a", "bb"), "bbbbbb"),
        ("replace", ("ab", "", "-"), "-a-b-"),
        ("replace", ("", "", "x"), "x"),
        ("replace", ("aaa", "a", "b", 0), "aaa"),
        ("replace", ("aaa", "a", "b", 2), "bba"),
        ("replace", ("aaa", "a", "b", -7), "bbb"),
        ("replace", ("ab", "", "-", 2), "-a-b"),
        ("replace", ("aaa", "a", "b", INT_MAX), "bbb"),
        ("split", ("a,b,,c", ","), ["a", "b", "", "c"]),
        ("split", ("", ","), [""]),
        ("split", ("aé", ""), ["a", "é"]),
        ("split", ("", ""), []),
        ("split", ("a,b,c", ",", 0), []),
        ("split", ("a,b,c", ",", 1), ["a,b,c"]),
        ("split", ("a,b,c", ",", 2), ["a", "b,c"]),
        ("split", ("a,b,c", ",", -1), ["a", "b", "c"]),
        ("split", ("a,b", ",", INT_MAX), ["a", "b"]),
        ("split", ("abc", "", 2), ["a", "bc"]),
        ("split", ("abc", "", 9), ["a", "b", "c"]),
        ("split", ("", "", 5), []),
        ("substring", ("héllo", 1), "éllo"),
        ("substring", ("abc", 3), ""),
        ("substring", ("abc", 4), "index out of range: 4"),
        ("substring", ("abc", -1), "index out of range: -1"),
        ("substring", ("abc", 1, 2), "b"),
        ("substring", ("abc", 3, 3), ""),
        ("substring", ("abc", 2, 1), "invalid substring range. start: 2, end: 1"),
        ("substring", ("abc", -1, 1), "index out of range: -1"),
        ("substring", ("abc", 0, 4), "index out of range: 4"),
        ("substring", ("abc", INT_MIN, INT_MAX), f"index out of range: {INT_MIN}"),
        ("join", ([],), ""),
        ("join", (["a", "b"],), "ab"),
        ("join", (["a", "b"], ", "), "a, b"),
        ("join", ([], ","), ""),
        ("join", (["a", 1.5, None],), "join: invalid input: 1.5"),
        ("join", (["a", None], "-"), "join: invalid input: 0"),
        ("join", (["a"] * 20 + [[1]],), "join: invalid input: [1]"),
        ("join", (["a"] * 20 + [1],), "join: invalid input: 1"),
        ("strings.quote", ("",), '""'),
        ("strings.quote", ('\a\b\f\n\r\t\v\\"é\x00',), '"\\a\\b\\f\\n\\r\\t\\v\\\\\\"é\x00"'),
    ],
)
def test_results_and_errors(name: str, args: tuple[Value, ...], expected: Value) -> None:
    assert call(name, *args) == expected


@pytest.mark.parametrize(
    ("name", "args"),
    [
        ("replace", ("a" * 10_000, "", "b" * 10_000)),
        ("replace", ("a" * 10_000, "a", "b" * 10_000, 9_000)),
        ("join", (["a" * 1_000_000] * 100,)),
        ("join", ([""] * 10_000, "a" * 10_000)),
        ("format", ("%s" * 100, ["a" * 1_000_000] * 100)),
    ],
)
def test_what_would_not_fit_into_memory_is_refused(name: str, args: tuple[Value, ...]) -> None:
    assert call(name, *args) == formatting.TOO_LONG.message


def test_a_long_replacement_that_hardly_occurs_is_fine() -> None:
    assert call("replace", "a" * 10_000 + "b", "b", "c" * 10_000) == "a" * 10_000 + "c" * 10_000


@pytest.mark.parametrize(
    ("name", "args", "result", "units"),
    [
        ("lowerAscii", ("",), "", 0),
        ("lowerAscii", ("a" * 10,), "", 1),
        ("trim", ("é" * 11,), "", 2),
        ("upperAscii", ("a" * 70,), "", 7),
        ("substring", (None, 1), CelError(""), 1),
        ("replace", ("a" * 11, "", ""), "", 3),
        ("split", ("a" * 35, ","), [], 7),
        ("join", ([],), "a" * 26, 6),
        ("join", ([],), CelError(""), 1),
        ("indexOf", ("é" * 10, "a"), 0, 2),  # bytes here, and rounded down
        ("lastIndexOf", ("a" * 9, "a"), 0, 0),
    ],
)
def test_costs(name: str, args: tuple[Value, ...], result: Value, units: int) -> None:
    charge = FUNCTIONS[name].cost
    assert charge is not None
    assert charge("", args, result) == units


@pytest.mark.parametrize("name", ["charAt", "strings.quote", "format"])
def test_the_rest_costs_what_its_overload_costs(name: str) -> None:
    assert FUNCTIONS[name].cost is None


@pytest.mark.parametrize("name", ["format", "strings.quote"])
def test_version_2_came_with_1_29(name: str) -> None:
    assert FUNCTIONS[name].at(28) is None
    assert FUNCTIONS[name].at(29) is not None
