"""Which cases a selection means."""

import pytest

from kadmit.authoring.suite.selection import BadExpression, expression, within

IDS = [
    "a/kadmit-test.yaml::too many replicas",
    "a/kadmit-test.yaml::levels[high]",
    "b/kadmit-test.yaml::levels[low]",
    "b/x.yaml::Other",
]


@pytest.mark.parametrize(
    ("text", "numbers"),
    [
        ("levels", [1, 2]),
        ("LEVELS", [1, 2]),
        ("levels and not high", [2]),
        ("high or other", [1, 3]),
        ("not (high or other)", [0, 2]),
        ("levels and high or replicas", [0, 1]),
        ("not not levels", [1, 2]),
        ('"too many"', [0]),
        ("'too many replicas' and a/", [0]),
        ("a/kadmit-test.yaml::levels", [1]),
        ("kadmit-test.yaml::levels", [1, 2]),
        ("::levels", [1, 2]),
        ("::levels[low]", [2]),
        ("::level", []),
        ('::"too many replicas"', [0]),
        ("'and'", []),
    ],
)
def test_an_expression_means_cases(text: str, numbers: list[int]) -> None:
    wanted = expression(text)
    assert [i for i, case_id in enumerate(IDS) if wanted(case_id)] == numbers


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("a and", "column 6: expected a word, found the end"),
        ("(a", "column 3: expected a closing bracket, found the end"),
        ("a b", "column 3: expected and, or, or the end, found b"),
        ("a)", "column 2: expected and, or, or the end, found )"),
        ("or a", "column 1: expected a word, found or"),
        ('a "b', "column 3: a quotation mark has no partner"),
        ("(" * 100 + "a" + ")" * 100, "column 51: too many brackets"),
    ],
)
def test_a_bad_expression_says_where(text: str, told: str) -> None:
    with pytest.raises(BadExpression, match=f"^{__import__('re').escape(told)}$"):
        expression(text)


@pytest.mark.parametrize(("path", "numbers"), [(".", [0, 1, 2, 3]), ("a", [0, 1]), ("./b/x.yaml", [3]), ("a/kadmit", [])])
def test_a_path_means_the_cases_of_its_files(path: str, numbers: list[int]) -> None:
    assert [i for i, case_id in enumerate(IDS) if within(path)(case_id)] == numbers
