"""Go's words for text that is not JSON, and for plain values."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.patch import documents

from kadmit.patch import gojson, goscanner, gotext
from kadmit.patch.errors import PatchError

FAULTS = [
    ("", "unexpected end of JSON input"),
    ("[1", "unexpected end of JSON input"),
    ('"abc', "unexpected end of JSON input"),
    ('{"a":1,', "unexpected end of JSON input"),
    ("tru", "invalid character ' ' in literal true (expecting 'e')"),
    ("not", "invalid character 'o' in literal null (expecting 'u')"),
    ("{} trailing", "invalid character 't' after top-level value"),
    ("01", "invalid character '1' after top-level value"),
    ("[1 2]", "invalid character '2' after array element"),
    ('{"a" 1}', "invalid character '1' after object key"),
    ('{"a":1 "b"}', "invalid character '\"' after object key:value pair"),
    ("{'a':1}", r"invalid character '\'' looking for beginning of object key string"),
    ("[,]", "invalid character ',' looking for beginning of value"),
    ("é", "invalid character 'Ã' looking for beginning of value"),
    ('"\t"', r"invalid character '\t' in string literal"),
    ('"\x01"', r"invalid character '\x01' in string literal"),
    (r'"\x"', "invalid character 'x' in string escape code"),
    (r'"\u12x4"', r"invalid character 'x' in \u hexadecimal character escape"),
    ("-x", "invalid character 'x' in numeric literal"),
    ("1.x", "invalid character 'x' after decimal point in numeric literal"),
    ("1e", "invalid character ' ' in exponent of numeric literal"),
    ("[" * 10_001, "invalid character '[' exceeded max depth"),
]


@pytest.mark.parametrize(("text", "message"), FAULTS, ids=range(len(FAULTS)))
def test_text_that_is_not_json_says_where(text: str, message: str) -> None:
    with pytest.raises(PatchError) as caught:
        gojson.loads(text.encode())
    assert caught.value.message == message


@given(documents.VALUES, st.sampled_from([None, 2]))
def test_json_has_no_fault(value: object, indent: int | None) -> None:
    assert goscanner.fault(json.dumps(value, indent=indent).encode()) is None


@given(documents.OBJECTS, st.data())
def test_cut_off_json_has_a_fault(value: object, data: st.DataObject) -> None:
    text = json.dumps(value).encode()
    assert goscanner.fault(text[: data.draw(st.integers(0, len(text) - 1))]) is not None


@pytest.mark.parametrize(
    ("text", "value"),
    [
        (b'"\\ud800x"', "\ufffdx"),
        (b'"\xff"', "\ufffd"),
        (b'["\\ud83d\\ude00", "\\ud800", 123456789012345678901]', ["😀", "\ufffd", 123456789012345678901.0]),
    ],
)
def test_text_that_go_repairs_is_repaired(text: bytes, value: object) -> None:
    assert gojson.loads(text) == value


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ({"b": [1, "a", None], "a": {}}, "map[a:map[] b:[1 a <nil>]]"),
        (True, "true"),
        (1.0, "1"),
        (0.0, "0"),
        (0.1, "0.1"),
        (-2.5, "-2.5"),
        (123456.5, "123456.5"),
        (1234567.5, "1.2345675e+06"),
        (1e21, "1e+21"),
        (0.0001, "0.0001"),
        (1.25e-7, "1.25e-07"),
    ],
)
def test_values_print_as_go_prints_them(value: object, text: str) -> None:
    assert gotext.value_text(value) == text


@pytest.mark.parametrize(
    ("text", "quoted"), [("a b", '"a b"'), ('a"\\', '"a\\"\\\\"'), ("\n\x00\x7f", '"\\n\\x00\\x7f"'), ("é\u2028", '"é\\u2028"')]
)
def test_text_is_quoted_as_go_quotes_it(text: str, quoted: str) -> None:
    assert gotext.quote(text) == quoted
