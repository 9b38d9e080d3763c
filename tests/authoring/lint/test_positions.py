"""Where characters of a text stand in the YAML that it was read from, however YAML has it written."""

import pytest
import yaml

from kadmit.authoring import positions
from kadmit.authoring.positions import Place, Positions

# How the text is written, and where each of its words stands.
TEXTS = [
    ("a: |\n  one\n    two\n  three\n", [(2, 3), (3, 5), (4, 3)]),
    ("a: |2-\n    one\n  two\n", [(2, 5), (3, 3)]),
    ("a: >-\n  one &&\n  two\n\n  three\n", [(2, 3), (2, 7), (3, 3), (5, 3)]),
    ("a: one two\n   three\n", [(1, 4), (1, 8), (2, 4)]),
    ("a: 'it''s one\n  two'\n", [(1, 5), (1, 11), (2, 3)]),
    ('a: "\\u006Fne\\ttwo \\\n   three"\n', [(1, 5), (1, 15), (2, 4)]),
    ("a: &anchor |\n  one\n", [(2, 3)]),
    ("{a: 'one', b: 2}\n", [(1, 6)]),
    ('{\n  "a": "one\\"two\\" three"\n}\n', [(2, 9), (2, 18 + 2)]),
    ("a: 'ö one'\n", [(1, 5), (1, 7)]),
    ("# ü\r\na: |\r\n  one\r\n  two\r\n", [(3, 3), (4, 3)]),
]


@pytest.mark.parametrize(("text", "places"), TEXTS, ids=[text for text, _ in TEXTS])
def test_a_word_is_found_where_it_stands(text: str, places: list[tuple[int, int]]) -> None:
    value = yaml.safe_load(text)["a"]
    found = [Positions(text.encode()).place(0, ["a"], offset) for offset in _words(value)]
    assert found == [Place(*place) for place in places]


def _words(text: str) -> list[int]:
    return [i for i, c in enumerate(text) if not c.isspace() and (i == 0 or text[i - 1].isspace())]


def test_a_field_stands_at_its_key_and_an_item_at_itself() -> None:
    lines = Positions(b"a:\n  b:\n  - x\n  - {c: 1}\n")
    assert lines.place(0, ["a", "b"]) == (2, 3)
    assert lines.place(0, ["a", "b", "1"]) == (4, 5)
    assert lines.place(0, ["a", "b", "1", "c"]) == (4, 6)


def test_what_is_not_there_stands_where_the_nearest_thing_stands() -> None:
    lines = Positions(b"a:\n  b: 1\n")
    assert lines.place(0, ["a", "z"]) == (1, 1)
    assert lines.place(7, ["a"]) == (1, 1)


def test_an_offset_beyond_the_text_is_its_end() -> None:
    assert Positions(b"a: |\n  one\nb: 2\n").place(0, ["a"], 99) == (2, 6)


@pytest.mark.parametrize(
    ("text", "message", "offset"),
    [
        ("a &&\nbc", "ERROR: <input>:2:2: undeclared", 6),
        ("a", "ERROR: <input>:1:1: no", 0),
        ("a", "ERROR: <input>:-1:0: too deep", None),
        ("a", "ERROR: <input>:7:1: elsewhere", None),
        ("a", "must evaluate to bool", None),
    ],
)
def test_a_message_tells_where_in_its_expression_it_is(text: str, message: str, offset: int | None) -> None:
    assert positions.offset_in(text, message) == offset
