"""format.*: which texts have a form, and what is said of those that do not."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kadmit.cel.library import named_formats as formats
from kadmit.cel.library import names
from kadmit.cel.library.named_formats import FORMATS, NamedFormat
from kadmit.cel.values import NONE, CelError, Optional, Value

QUALIFIED = (
    "must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character "
    "(e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')"
)
LABEL, SUBDOMAIN, VALUE = [names.NOT_A_LABEL], [names.NOT_A_SUBDOMAIN], [names.NOT_A_VALUE]


@pytest.mark.parametrize(
    ("name", "text", "problems"),
    [
        ("dns1123Label", "my-label", []),
        ("dns1123Label", "0", []),
        ("dns1123Label", "", LABEL),
        ("dns1123Label", "-a", LABEL),
        ("dns1123Label", "a-", LABEL),
        ("dns1123Label", "a\n", LABEL),
        ("dns1123Label", "a.b", ["must not contain dots"]),
        ("dns1123Label", "a" * 63, []),
        ("dns1123Label", "a" * 64, ["must be no more than 63 characters"]),
        ("dns1123Label", "é" * 32, ["must be no more than 63 characters", *LABEL]),
        ("dns1123Subdomain", "a.b-c.d", []),
        ("dns1123Subdomain", "a..b", SUBDOMAIN),
        ("dns1123Subdomain", "a.-b", SUBDOMAIN),
        ("dns1123Subdomain", "a" * 254, ["must be no more than 253 characters"]),
        ("dns1035Label", "abc-1", []),
        ("dns1035Label", "1abc", [names.NOT_DNS1035]),
        ("dns1035Label", "a.b", [names.NOT_DNS1035]),
        ("dns1123LabelPrefix", "abc-", []),
        ("dns1123LabelPrefix", "-", LABEL),
        ("dns1123LabelPrefix", "a_-", []),  # the byte before the dash goes too
        ("dns1123LabelPrefix", "é-", LABEL),
        ("dns1123SubdomainPrefix", "abc.-", []),
        ("dns1035LabelPrefix", "1-", []),
        ("labelValue", "", []),
        ("labelValue", "a_b.C-1", []),
        ("labelValue", "-a", VALUE),
        ("labelValue", "a" * 64, ["must be no more than 63 bytes"]),
        ("qualifiedName", "name", []),
        ("qualifiedName", "example.com/Name_1", []),
        ("qualifiedName", "/x", ["prefix part must be non-empty"]),
        ("qualifiedName", "Ex.com/x", [f"prefix part {names.NOT_A_SUBDOMAIN}"]),
        ("qualifiedName", "a" * 254 + "/x", ["prefix part must be no more than 253 bytes"]),
        ("qualifiedName", "", ["name part must be non-empty", f"name part {QUALIFIED}"]),
        ("qualifiedName", "a" * 64, ["name part must be no more than 63 bytes"]),
        (
            "qualifiedName",
            "a/b/c",
            [f"a valid label key {QUALIFIED} with an optional DNS subdomain prefix and '/' (e.g. 'example.com/MyName')"],
        ),
        ("uri", "/path", []),
        ("uri", "nope", ['parse "nope": invalid URI for request']),
        ("uuid", "123e4567-E89B-12d3-a456-426614174000", []),
        ("uuid", "123e4567e89b12d3a456426614174000", []),
        ("uuid", "123e4567-e89b-12d3-a456-42661417400", ["does not match the UUID format"]),
        ("byte", "aGVsbG8=", []),
        ("byte", "YWJj", []),
        ("byte", "", ["invalid base64"]),
        ("byte", "aGVsbG8", ["invalid base64"]),
        ("byte", "a-b_", ["invalid base64"]),
        ("date", "2024-02-29", []),
        ("date", "0000-02-29", []),
        ("date", "1900-02-29", ["invalid date"]),
        ("date", "2023-02-29", ["invalid date"]),
        ("date", "2024-13-01", ["invalid date"]),
        ("date", "2024-04-00", ["invalid date"]),
        ("date", "2024-1-1", ["invalid date"]),
        ("datetime", "2024-01-01T00:00:00Z", []),
        ("datetime", "2024-01-01t23:59:59.123+99:99", []),
        ("datetime", "2024-01-01T00:00:00x5z", []),  # any character is taken for the point
        ("datetime", "2024-01-01T00:00:00ZTtail", []),
        ("datetime", "2024-01-01T24:00:00Z", ["invalid datetime"]),
        ("datetime", "2024-01-01T23:59:60Z", ["invalid datetime"]),
        ("datetime", "2024-01-01T00:00:00", ["invalid datetime"]),
        ("datetime", "2023-02-29T00:00:00Z", ["invalid datetime"]),
        ("datetime", "2024-01-01 00:00:00Z", ["invalid datetime"]),
    ],
)
def test_a_format_lists_what_is_wrong(name: str, text: str, problems: list[str]) -> None:
    answer = formats.validate(FORMATS[name], text)
    assert (answer.value if answer.present else []) == problems
    assert answer is NONE or problems


def test_formats_are_known_by_name() -> None:
    found = formats.named("dns1123Label")
    assert isinstance(found, Optional)
    assert found.value is FORMATS["dns1123Label"]
    assert formats.named("DNS1123Label") is NONE


def test_every_format_has_a_function_that_gives_it() -> None:
    constants = {f.name: f.overloads[0] for f in formats.FUNCTIONS if not f.overloads[0].args}
    assert set(constants) == {f"format.{name}" for name in FORMATS}
    for name, overload in constants.items():
        assert overload.id == name
        assert overload.impl is not None
        assert overload.impl() is FORMATS[name.removeprefix("format.")]


def test_formats_are_equal_by_name() -> None:
    assert FORMATS["uri"].equals(FORMATS["uri"]) is True
    assert FORMATS["uri"].equals(FORMATS["uuid"]) is False
    assert isinstance(FORMATS["uri"].equals("URI"), CelError)


@pytest.mark.parametrize(
    ("form", "text", "cost"),
    [
        (FORMATS["dns1123Label"], "", 8),
        (FORMATS["dns1123Label"], "123456789", 8),
        (FORMATS["dns1123Label"], "1234567890", 16),
        (FORMATS["uri"], "/", 276),
        (FORMATS["byte"], "", 21),
        (FORMATS["uuid"], "", 18),
        (FORMATS["date"], "", 18),
        (1, "", None),
    ],
)
def test_validating_costs_as_a_pattern_would(form: NamedFormat | int, text: str, cost: int | None) -> None:
    price: Value = formats.validate_cost("format-validate", (form, text), None)
    assert price == cost


@given(st.sampled_from(sorted(FORMATS)), st.text(max_size=30))
def test_any_text_is_answered(name: str, text: str) -> None:
    answer = formats.validate(FORMATS[name], text)
    assert answer is NONE or all(isinstance(problem, str) for problem in answer.value)
