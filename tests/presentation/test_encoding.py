"""Bytes as Go writes them; the YAML is what kube-apiserver v1.36.4 wrote for the same values."""

import pytest

from kadmit.api import yaml
from kadmit.presentation import encoding, yamltext
from kadmit.presentation.media import JSON, YAML, Representation


def test_json_is_compact_pretty_or_yaml() -> None:
    value = {"b": [], "a": {"c": 1}}
    assert encoding.encode(value, Representation(JSON)) == b'{"b":[],"a":{"c":1}}\n'
    assert encoding.encode(value, Representation(JSON, pretty=True)) == b'{\n  "b": [],\n  "a": {\n    "c": 1\n  }\n}'
    assert encoding.encode(value, Representation(YAML)) == b"a:\n  c: 1\nb: []\n"


def test_json_escapes_what_a_browser_could_misread() -> None:
    assert encoding.json("<a & b>\u2028") == b'"\\u003ca \\u0026 b\\u003e\\u2028"'


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (1.0, b"1"),
        (-0.0, b"-0"),
        (0.5, b"0.5"),
        (1e18, b"1000000000000000000"),
        (1.2345678901234568e20, b"123456789012345680000"),
        (1e21, b"1e+21"),
        (-2.5e300, b"-2.5e+300"),
        (0.000001, b"0.000001"),
        (1e-7, b"1e-7"),
        (1.5e-10, b"1.5e-10"),
        (3, b"3"),
        ("1e5 <", b'"1e5 \\u003c"'),
    ],
)
def test_doubles_of_custom_objects_are_written_as_go_writes_them(value: object, text: bytes) -> None:
    assert encoding.encode({"a": [value]}, Representation(JSON), go_floats=True) == b'{"a":[' + text + b"]}\n"
    pretty = encoding.encode({"a": value}, Representation(JSON, pretty=True), go_floats=True)
    assert pretty == b'{\n  "a": ' + text + b"\n}"


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ("yes", '"yes"'),
        ("0755", '"0755"'),
        ("1_000", '"1_000"'),
        ("12:30", '"12:30"'),
        ("2024-01-01", '"2024-01-01"'),
        ("2024-01-01T00:00:00Z", '"2024-01-01T00:00:00Z"'),
        ("1e3", '"1e3"'),
        ("1e400", "1e400"),
        ("0.1_0", '"0.1_0"'),
        ("0b12", "0b12"),
        ("1:60", "1:60"),
        ("~", '"~"'),
        ("", '""'),
        ("<<", "<<"),
        ("- a", "'- a'"),
        ("a: b", "'a: b'"),
        ("it's", "it's"),
        ("'q'", "'''q'''"),
        ("tab\there", '"tab\\there"'),
        ("trail ", "'trail '"),
        ("a\nb", "|-\n  a\n  b"),
        ("a\nb\n", "|\n  a\n  b"),
        ("a\n\n", "|+\n  a\n"),
        ("x\r\ny", '"x\\r\\ny"'),
        ("日本", "日本"),
        ("😀", '"\\U0001F600"'),
        (1.5, "1.5"),
        (3, "3"),
        (True, "true"),
        (None, "null"),
        ({}, "{}"),
        ([], "[]"),
        ("word " * 20 + "end", "word " * 15 + "word\n  word word word word end"),
    ],
)
def test_yaml_is_written_as_kubernetes_writes_it(value: object, text: str) -> None:
    assert yamltext.dump({"k": value}).decode() == f"k: {text}\n"
    assert yaml.load(yamltext.dump({"k": value})).value == {"k": value}


def test_keys_are_sorted_with_numbers_by_value_and_letters_last() -> None:
    keys = ["-y", "_x", "1", "01", "2", "10", "A", "Z", "a", "a.b", "a1", "a2", "a02", "a10", "b", "k8s.io", "x-y", "x.y", "x_y"]
    written = yamltext.dump(dict.fromkeys(reversed(keys), "v")).decode()
    assert [line.partition(":")[0].strip('"') for line in written.splitlines()] == keys


def test_deep_nesting_does_not_exhaust_us() -> None:
    value: object = "x"
    for _ in range(3_000):
        value = [value]
    assert yamltext.dump(value).count(b"- ") == 3_000


def test_a_text_that_ends_with_dots_is_kept() -> None:
    assert yamltext.dump({"k": "wait..."}) == b"k: wait...\n"
