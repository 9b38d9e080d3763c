"""Values in a query, as kube-apiserver reads them."""

import pytest

from kadmit.api.errors import ApiError
from kadmit.presentation import queries


@pytest.mark.parametrize("text", ["1", "true", "TRUE", "x", "", "yes"])
def test_whatever_is_not_false_is_true(text: str) -> None:
    assert queries.flag({"force": [text]}, "force") is True


@pytest.mark.parametrize("text", ["0", "false", "False", "FALSE"])
def test_zero_and_false_are_false(text: str) -> None:
    assert queries.flag({"force": [text]}, "force") is False


def test_what_is_not_there_is_neither() -> None:
    assert queries.flag({}, "force") is None
    assert queries.integer({}, "limit") is None
    assert queries.text({}, "continue") == ""


def test_of_a_repeated_value_the_first_counts() -> None:
    assert queries.integer({"limit": ["1", "2"]}, "limit") == 1


@pytest.mark.parametrize(
    ("given", "why"), [("x", "invalid syntax"), ("", "invalid syntax"), ("99999999999999999999", "value out of range")]
)
def test_a_number_that_is_none_is_refused_in_the_words_of_go(given: str, why: str) -> None:
    with pytest.raises(ApiError) as refused:
        queries.integer({"limit": [given]}, "limit")
    assert refused.value.status.code == 400
    assert refused.value.status.message == f'strconv.ParseInt: parsing "{given}": {why}'
