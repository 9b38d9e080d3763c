"""Patterns: what Go accepts, its error texts, and that RE2 finds what Go finds."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kadmit.cel import re2
from kadmit.cel.library import regex
from kadmit.cel.values import CelError, Value

FUNCTIONS = {f.name: f for f in regex.FUNCTIONS}


def pattern(source: str) -> re2.Pattern:
    compiled = re2.compile_pattern(source)
    assert isinstance(compiled, re2.Pattern), compiled
    return compiled


def problem(source: str) -> str:
    compiled = re2.compile_pattern(source)
    assert isinstance(compiled, CelError), source
    return compiled.message


REFUSED = [
    ("[", "missing closing ]: `[`"),
    ("a[b-", "missing closing ]: `[b-`"),
    ("[]", "missing closing ]: `[]`"),
    ("[^]", "missing closing ]: `[^]`"),
    ("(", "missing closing ): `(`"),
    ("a(b|c", "missing closing ): `a(b|c`"),
    ("a)b", "unexpected ): `a)b`"),
    ("*", "missing argument to repetition operator: `*`"),
    ("a|*?", "missing argument to repetition operator: `*?`"),
    ("(?i)+", "missing argument to repetition operator: `+`"),
    ("{2}", "missing argument to repetition operator: `{2}`"),
    ("a**", "invalid nested repetition operator: `**`"),
    ("a*?+b", "invalid nested repetition operator: `*?+`"),
    ("a{2}{3}", "invalid nested repetition operator: `{2}{3}`"),
    ("a{1001}", "invalid repeat count: `{1001}`"),
    ("a{3,2}", "invalid repeat count: `{3,2}`"),
    ("a{99999999999}", "invalid repeat count: `{99999999999}`"),
    ("(a{10}){101}", "invalid repeat count: `{101}`"),
    ("((a{10}){10}){11}?", "invalid repeat count: `{11}?`"),
    ("[z-a]", "invalid character class range: `z-a`"),
    ("[[:foo:]]", "invalid character class range: `[:foo:]`"),
    (r"\pX", r"invalid character class range: `\pX`"),
    (r"\p", r"invalid character class range: `\p`"),
    (r"\p{Greek", r"invalid character class range: `\p{Greek`"),
    (r"[\p{Old_Italic}]", r"invalid character class range: `\p{Old_Italic}`"),
    (r"\C", r"invalid escape sequence: `\C`"),
    (r"\Z", r"invalid escape sequence: `\Z`"),
    (r"\8", r"invalid escape sequence: `\8`"),
    (r"\1", r"invalid escape sequence: `\1`"),
    (r"[\b]", r"invalid escape sequence: `\b`"),
    (r"[a-\d]", r"invalid escape sequence: `\d`"),
    (r"\é", r"invalid escape sequence: `\é`"),
    (r"\x4g5", r"invalid escape sequence: `\x4g`"),
    (r"\x{110000}", r"invalid escape sequence: `\x{110000`"),
    (r"\x{}", r"invalid escape sequence: `\x{}`"),
    ("a\\", "trailing backslash at end of expression: ``"),
    ("[\\", "trailing backslash at end of expression: ``"),
    ("(?=a)", "invalid or unsupported Perl syntax: `(?=`"),
    ("(?P=n)", "invalid or unsupported Perl syntax: `(?P`"),
    ("(?i", "invalid or unsupported Perl syntax: `(?i`"),
    ("(?-)a", "invalid or unsupported Perl syntax: `(?-)`"),
    ("(?i-s-m)", "invalid or unsupported Perl syntax: `(?i-s-`"),
    ("(?P<n-1>a)", "invalid named capture: `(?P<n-1>`"),
    ("(?<>a)", "invalid named capture: `(?<>`"),
    ("(?<n", "invalid named capture: `(?<n`"),
]


@pytest.mark.parametrize(("source", "reason"), REFUSED)
def test_what_go_refuses_is_refused_in_its_words(source: str, reason: str) -> None:
    assert problem(source) == f"error parsing regexp: {reason}"


def test_nesting_has_a_limit() -> None:
    assert pattern("(" * 999 + "a" + ")" * 999).search("a")
    assert problem("(" * 1000 + "a" + ")" * 1000).startswith("error parsing regexp: expression nests too deeply: `((((")


def test_groups_that_do_not_capture_do_not_count_as_nesting() -> None:
    assert pattern("(?:" * 5000 + "a" + ")" * 5000).search("a")


def test_size_has_a_limit() -> None:
    assert problem("(?:" + "ab*" * 1200 + "){1000}").startswith("error parsing regexp: expression too large: `(?:ab*")


FOUND = [
    ("", "ab", ["", "", ""]),
    ("b*", "abb b", ["", "bb", "b"]),
    ("[0-9]*", "1 a", ["1", "", ""]),
    ("é*", "aéé", ["", "éé"]),
    ("", "日本", ["", "", ""]),
    ("a|b", "xaby", ["a", "b"]),
    ("a{,2}", "a{,2}", ["a{,2}"]),
    ("a{01}", "a{01}", ["a{01}"]),
    ("x{", "x{", ["x{"]),
    (r"\Qa.b\E+", "a.bb axb", ["a.bb"]),
    (r"a\Q\E*", "aaa", ["aaa"]),
    ("a(?i)*", "aaA", ["aa", ""]),
    ("(?i)straSSe", "STRAßE strasse", ["strasse"]),
    ("(?i)k", "kK\u212a", ["k", "K", "\u212a"]),
    ("(?s).", "\n", ["\n"]),
    (".", "\n", []),
    ("(?m)^a$", "a\nb\na", ["a", "a"]),
    ("a$", "a\n", []),
    ("(?U)a+", "aaa", ["a", "a", "a"]),
    ("(?P<n>a)(?<n>b)", "ab", ["ab"]),
    (r"\bé", "é é", []),
    (r"[\d-x]", "5-x", ["5", "-", "x"]),
    ("[]a]", "]a", ["]", "a"]),
    ("[^]a]", "]ab", ["b"]),
    (r"\101\x42\x{43}", "ABC", ["ABC"]),
    ("[[:^alpha:]]", "a1", ["1"]),
    (r"\p{lu}\p{ lowercase letter }", "aBc", ["Bc"]),
    (r"\p{^Greek}", "αa", ["a"]),
    (r"\P{^Greek}", "αa", ["α"]),
    (r"\p{Assigned}", "a\u0378", ["a"]),
    (r"\p{Cn}", "a\u0378", ["\u0378"]),
    (r"[\p{Cn}b]", "ab\u0378", ["b", "\u0378"]),
    (r"[\P{LC}b]", "aB1b", ["1", "b"]),
    (r"\P{LC}", "aB1", ["1"]),
    (r"\p{C}", "a\u0378\x00", ["\u0378", "\x00"]),
    (r"[\P{ASCII}]", "aé", ["é"]),
    ("(|a)+", "aa", ["", "", ""]),
]


@pytest.mark.parametrize(("source", "text", "matches"), FOUND)
def test_matches_are_those_that_go_finds(source: str, text: str, matches: list[str]) -> None:
    compiled = pattern(source)
    assert compiled.find_all(text) == matches
    assert compiled.search(text) is bool(matches)
    assert compiled.find(text) == (matches[0] if matches else "")


@pytest.mark.parametrize(
    ("limit", "matches"), [(-1, ["a", "b", "c"]), (0, []), (1, ["a"]), (2, ["a", "b"]), (9, ["a", "b", "c"])]
)
def test_find_all_stops_at_its_limit(limit: int, matches: list[str]) -> None:
    assert pattern("[a-c]").find_all("abc", limit) == matches


@given(st.text(max_size=12))
def test_any_text_quoted_finds_itself(text: str) -> None:
    quoted = "".join(rf"\x{{{ord(c):x}}}" for c in text)
    assert pattern(quoted).find_all(f"<{text}>", 1) == [text]


@given(st.text(alphabet=r"ab*+?{}()[]|\^$.-,1iP<>:pLdQEx", max_size=14))
def test_no_pattern_raises(source: str) -> None:
    compiled = re2.compile_pattern(source)
    if isinstance(compiled, re2.Pattern):
        assert compiled.find_all("aab a1") == compiled.find_all("aab a1")
    else:
        assert compiled.message.startswith("error parsing regexp: ")


def test_a_hostile_pattern_is_matched_in_linear_time() -> None:
    assert not pattern("(a*)*(a*)*(a|aa)+$").search("a" * 5000 + "b")


def call(name: str, *args: Value) -> Value:
    codes = [o.impl for o in FUNCTIONS[name].overloads if len(o.args) == len(args)]
    assert codes[0] is not None
    result = codes[0](*args)
    return result.message if isinstance(result, CelError) else result


@pytest.mark.parametrize(
    ("name", "args", "expected"),
    [
        ("find", ("abc 123", "[0-9]+"), "123"),
        ("find", ("abc", "[0-9]+"), ""),
        ("find", ("abc", "["), "Illegal regex: error parsing regexp: missing closing ]: `[`"),
        ("findAll", ("1 a 2", "[0-9]"), ["1", "2"]),
        ("findAll", ("1 a 2", "[0-9]", 1), ["1"]),
        ("findAll", ("a", "("), "Illegal regex: error parsing regexp: missing closing ): `(`"),
    ],
)
def test_find_and_find_all(name: str, args: tuple[Value, ...], expected: Value) -> None:
    assert call(name, *args) == expected


@pytest.mark.parametrize(
    ("text", "source", "units"),
    [("", "", 0), ("", "a", 1), ("x" * 9, "abcd", 1), ("é" * 10, "abcde", 4), ("x" * 100, "a" * 8, 22)],
)
def test_cost_grows_with_text_and_pattern(text: str, source: str, units: int) -> None:
    charge = FUNCTIONS["find"].cost
    assert charge is not None
    assert charge("string_find_string", (text, source), "") == units


@pytest.mark.parametrize(("value", "issue"), [("a+", None), ("[", "invalid matches argument"), (1, "invalid matches argument")])
def test_the_compiler_refuses_bad_literals(value: object, issue: str | None) -> None:
    assert re2.pattern_literal_issue(value) == issue
