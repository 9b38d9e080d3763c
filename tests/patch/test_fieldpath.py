"""Paths, sets of paths, and FieldsV1."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.patch.pods import json_values

from kadmit.patch import fieldsv1
from kadmit.patch.fieldpath import (
    ANY,
    EMPTY,
    Element,
    Index,
    Key,
    Path,
    Set,
    Value,
    element_text,
    excluding,
    including,
    path_text,
    set_of,
)


def paths(*texts: str) -> Set:
    """Sets by dotted names."""
    return set_of(*(text.split(".") for text in texts))


TEXTS: list[tuple[Path, str]] = [
    (("spec", "replicas"), ".spec.replicas"),
    (("spec", Key([("name", "app")]), "image"), '.spec[name="app"].image'),
    ((Key([("protocol", "TCP"), ("containerPort", 80)]),), '[containerPort=80,protocol="TCP"]'),
    ((Key([("port", 8000000.0)]),), "[port=8e+06]"),
    ((Value("example.com/a"),), '[="example.com/a"]'),
    ((Value(True), Value(None), Value(1.5)), "[=true][=null][=1.5]"),
    ((Value('a"\n\x01é'),), '[="a\\"\\n\\x01é"]'),
    (("list", Index(3)), ".list[3]"),
]


@pytest.mark.parametrize(("path", "text"), TEXTS, ids=[text for _, text in TEXTS])
def test_a_path_is_printed_as_conflicts_print_it(path: Path, text: str) -> None:
    assert path_text(path) == text


def test_elements_are_equal_as_json_is() -> None:
    assert Value(1) == Value(1.0)
    assert Value(1) != Value(True)
    assert Key([("a", 0)]) != Key([("a", False)])
    assert Key([("a", 1), ("b", 2)]) == Key([("b", 2), ("a", 1)])
    assert Value("a") != Key([("a", "a")])


def test_paths_come_in_order_with_the_shorter_ones_of_a_level_first() -> None:
    owned = set_of(
        ("b", "x"), ("b",), ("a",), (Index(0),), (Value("v"),), (Key([("k", 2)]),), (Key([("k", "1")]),), ("a", "y", "z")
    )
    assert [path_text(path) for path in owned] == [".a", ".b", "[k=2]", '[k="1"]', '[="v"]', "[0]", ".a.y.z", ".b.x"]


ALGEBRA = [
    # left, right, union, intersection, difference, recursive difference
    ("a b", "b c", "a b c", "b", "a", "a"),
    ("a.b", "a", "a a.b", "", "a.b", ""),
    ("a", "a.b", "a a.b", "", "a", "a"),
    ("a a.b a.c", "a.b", "a a.b a.c", "a.b", "a a.c", "a a.c"),
    ("a.b.c a.d", "a.b", "a.b a.b.c a.d", "", "a.b.c a.d", "a.d"),
    ("", "a", "a", "", "", ""),
]


@pytest.mark.parametrize(("left", "right", "union", "both", "difference", "recursive"), ALGEBRA)
def test_sets_add_up(left: str, right: str, union: str, both: str, difference: str, recursive: str) -> None:
    one, other = paths(*left.split()), paths(*right.split())
    assert one | other == paths(*union.split())
    assert one & other == paths(*both.split())
    assert one - other == paths(*difference.split())
    assert one.without(other) == paths(*recursive.split())


def test_leaves_are_paths_that_no_other_continues() -> None:
    assert paths("a", "a.b", "c").leaves() == paths("a.b", "c")


def test_filters_keep_what_an_endpoint_may_own() -> None:
    owned = set_of(("spec", "x"), ("status",), ("status", "phase"), ("spec", Key([("name", "a")]), "resources", "limits"))
    assert excluding(("status",))(owned) == set_of(("spec", "x"), ("spec", Key([("name", "a")]), "resources", "limits"))
    assert including(("spec", ANY, "resources"))(owned) == set_of(
        ("spec", "x"), ("spec", Key([("name", "a")]), "resources", "limits")
    )
    assert including(("status",))(owned) == set_of(("status",), ("status", "phase"))


WRITTEN: list[tuple[Set, object]] = [
    (EMPTY, {}),
    (paths("spec.replicas"), {"f:spec": {"f:replicas": {}}}),
    (paths("spec", "spec.a"), {"f:spec": {".": {}, "f:a": {}}}),
    (
        set_of((Key([("b", 1.0), ("a", "x<&>")]),), (Value(True),), (Value(1234567.0),), (Index(2),)),
        {'k:{"a":"x\\u003c\\u0026\\u003e","b":1}': {}, "v:1234567": {}, "v:true": {}, "i:2": {}},
    ),
]


@pytest.mark.parametrize(("owned", "fields"), WRITTEN)
def test_fields_v1_is_written_in_order_and_read_back(owned: Set, fields: dict[str, object]) -> None:
    assert json.dumps(fieldsv1.encode(owned)) == json.dumps(fields)
    assert fieldsv1.decode(fields) == owned


READ: list[tuple[object, Set]] = [
    ({"f:a": {".": {}}}, paths("a")),
    ({"f:a": None}, paths("a")),
    (None, EMPTY),
    ({"f:a": {"z:future": {}}}, paths("a")),
    ({"f:a": {"z:future": {}, "f:b": {}}}, paths("a.b")),
    ({".": {}}, EMPTY),
    ({"i:+3": {}}, set_of((Index(3),))),
]


@pytest.mark.parametrize(("fields", "owned"), READ)
def test_fields_v1_is_read_leniently(fields: object, owned: Set) -> None:
    assert fieldsv1.decode(fields) == owned


def nested(levels: int) -> object:
    fields: object = {}
    for _ in range(levels):
        fields = {"f:a": fields}
    return fields


@pytest.mark.parametrize(
    ("fields", "reason"),
    [
        ({"": {}}, "key must be 2 characters long:"),
        ({"spec": {}}, "missing colon: spec"),
        ({"i:x": {}}, 'strconv.Atoi: parsing "x": invalid syntax'),
        ({"v:{": {}}, "parsing key as path element"),
        ({"k:[1]": {}}, "parsing key as path element"),
        ({"f:a": 1}, "expect { or n, but found 1"),
        (nested(100_000), "fieldsV1 is nested too deeply"),
    ],
    ids=["empty", "no colon", "position", "value", "key", "not a map", "too deep"],
)
def test_fields_v1_that_cannot_be_read_is_an_error(fields: object, reason: str) -> None:
    with pytest.raises(fieldsv1.FieldsError) as refusal:
        fieldsv1.decode(fields)
    assert reason in str(refusal.value)


def elements() -> st.SearchStrategy[Element]:
    names = st.sampled_from(["a", "b", "spec", "x<y", "é\u2028"])
    keys = st.dictionaries(names, json_values(), min_size=1, max_size=2).map(lambda fields: Key(fields.items()))
    return st.one_of(names, keys, json_values().map(Value), st.integers(0, 9).map(Index))


def sets() -> st.SearchStrategy[Set]:
    return st.lists(st.lists(elements(), min_size=1, max_size=4), max_size=8).map(lambda found: set_of(*found))


@given(sets())
def test_any_set_survives_being_written_and_read(owned: Set) -> None:
    assert fieldsv1.decode(json.loads(json.dumps(fieldsv1.encode(owned)))) == owned


@given(sets(), sets())
def test_set_algebra_holds_for_any_sets(left: Set, right: Set) -> None:
    one, other = set(left), set(right)
    assert set(left | right) == one | other
    assert set(left & right) == one & other
    assert set(left - right) == one - other
    assert set(left.without(right)) == {path for path in one if not any(path[: end + 1] in other for end in range(len(path)))}
    assert len(left) == len(one)
    assert all(path in left for path in one)


@given(st.lists(elements(), min_size=1, max_size=4))
def test_the_text_of_a_path_is_that_of_its_elements(path: list[Element]) -> None:
    assert path_text(path) == "".join(map(element_text, path))
