"""JSON Patch as Kubernetes applies it."""

import copy

import jsonpatch as reference
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.patch import documents

from kadmit.patch import jsonpatch
from kadmit.patch.equality import same
from kadmit.patch.errors import PatchError, Reason

DOCUMENT: dict[str, object] = {"a": {"b": 1, "n": None}, "l": [1, 2, 3], "s": "text", "e": {}, "o": []}


def apply(operations: object, document: object = DOCUMENT, **options: bool) -> object:
    assert isinstance(operations, list)
    assert isinstance(document, dict)
    return jsonpatch.decode(operations, **options).apply(document)


def failure(operations: object, document: object = DOCUMENT, **options: bool) -> PatchError:
    with pytest.raises(PatchError) as caught:
        apply(operations, document, **options)
    return caught.value


RESULTS: list[tuple[str, dict[str, object], object, object]] = [
    ("add sets a key", {"op": "add", "path": "/k", "value": 1}, {}, {"k": 1}),
    ("add replaces a key", {"op": "add", "path": "/k", "value": 1}, {"k": 0}, {"k": 1}),
    ("add inserts", {"op": "add", "path": "/l/1", "value": 9}, {"l": [1, 2]}, {"l": [1, 9, 2]}),
    ("add at the length appends", {"op": "add", "path": "/l/2", "value": 9}, {"l": [1, 2]}, {"l": [1, 2, 9]}),
    ("add at - appends", {"op": "add", "path": "/l/-", "value": 9}, {"l": [1, 2]}, {"l": [1, 2, 9]}),
    ("add at -1 appends", {"op": "add", "path": "/l/-1", "value": 9}, {"l": [1, 2]}, {"l": [1, 2, 9]}),
    ("add at the lowest index prepends", {"op": "add", "path": "/l/-3", "value": 9}, {"l": [1, 2]}, {"l": [9, 1, 2]}),
    ("add without a value writes null", {"op": "add", "path": "/k"}, {}, {"k": None}),
    ("add ignores what stands before the slash", {"op": "add", "path": "data/k", "value": 1}, {}, {"k": 1}),
    ("the empty key is a key", {"op": "add", "path": "/", "value": 1}, {}, {"": 1}),
    ("escapes are read once", {"op": "add", "path": "/~01~1", "value": 1}, {}, {"~1/": 1}),
    ("remove takes a key", {"op": "remove", "path": "/k"}, {"k": 1}, {}),
    ("remove takes an item from the end", {"op": "remove", "path": "/l/-1"}, {"l": [1, 2]}, {"l": [1]}),
    ("an index may have zeros", {"op": "remove", "path": "/l/01"}, {"l": [1, 2]}, {"l": [1]}),
    ("an index may have a sign", {"op": "remove", "path": "/l/+1"}, {"l": [1, 2]}, {"l": [1]}),
    ("replace adds a missing key", {"op": "replace", "path": "/k", "value": 1}, {}, {"k": 1}),
    ("replace sets an item", {"op": "replace", "path": "/l/-2", "value": 9}, {"l": [1, 2]}, {"l": [9, 2]}),
    ("replace knows the document", {"op": "replace", "path": "", "value": {"k": 1}}, {"l": []}, {"k": 1}),
    ("move renames", {"op": "move", "from": "/a", "path": "/b"}, {"a": 1}, {"b": 1}),
    ("move reorders", {"op": "move", "from": "/l/0", "path": "/l/2"}, {"l": [1, 2, 3]}, {"l": [2, 3, 1]}),
    ("copy of a missing key writes null", {"op": "copy", "from": "/a", "path": "/b"}, {}, {"b": None}),
    ("copy into itself makes no circle", {"op": "copy", "from": "/a", "path": "/a/b"}, {"a": {}}, {"a": {"b": {}}}),
    ("test passes", {"op": "test", "path": "/a", "value": {"b": [1]}}, {"a": {"b": [1]}}, {"a": {"b": [1]}}),
    ("test of a missing key equals null", {"op": "test", "path": "/a", "value": None}, {}, {}),
    ("test of null without a value passes", {"op": "test", "path": "/a"}, {"a": None}, {"a": None}),
    ("test knows the document", {"op": "test", "path": "", "value": {"a": 1}}, {"a": 1}, {"a": 1}),
]


@pytest.mark.parametrize(("operation", "document", "expected"), [case[1:] for case in RESULTS], ids=[case[0] for case in RESULTS])
def test_operation_gives_the_result(operation: object, document: object, expected: object) -> None:
    assert same(apply([operation], document), expected)


FAILURES: list[tuple[dict[str, object], str]] = [
    ({"op": "add", "path": ""}, 'add operation does not apply: doc is missing path: "": missing value'),
    ({"op": "add"}, "add operation failed to decode path: missing value"),
    ({"op": "add", "path": 1}, "add operation failed to decode path: missing value"),
    ({"op": "add", "path": "/no/x"}, 'add operation does not apply: doc is missing path: "/no/x": missing value'),
    ({"op": "add", "path": "/s/x"}, 'add operation does not apply: doc is missing path: "/s/x": missing value'),
    ({"op": "add", "path": "/a/n/x"}, 'add operation does not apply: doc is missing path: "/a/n/x": missing value'),
    ({"op": "add", "path": "/l/7/x"}, 'add operation does not apply: doc is missing path: "/l/7/x": missing value'),
    ({"op": "add", "path": "/l/4"}, "error in add for path: '/l/4': Unable to access invalid index: 4: invalid index referenced"),
    (
        {"op": "add", "path": "/l/-5"},
        "error in add for path: '/l/-5': Unable to access invalid index: -5: invalid index referenced",
    ),
    (
        {"op": "add", "path": "/l/x"},
        "error in add for path: '/l/x': value was not a proper array index: 'x': strconv.Atoi: parsing \"x\": invalid syntax",
    ),
    (
        {"op": "add", "path": "/l/99999999999999999999"},
        (
            "error in add for path: '/l/99999999999999999999': value was not a proper array index: '99999999999999999999': "
            'strconv.Atoi: parsing "99999999999999999999": value out of range'
        ),
    ),
    ({"op": "remove"}, "remove operation failed to decode path: missing value"),
    ({"op": "remove", "path": "/no/x"}, 'remove operation does not apply: doc is missing path: "/no/x": missing value'),
    ({"op": "remove", "path": "/a/x"}, "error in remove for path: '/a/x': Unable to remove nonexistent key: x: missing value"),
    ({"op": "remove", "path": "/l/-"}, "error in remove for path: '/l/-': strconv.Atoi: parsing \"-\": invalid syntax"),
    (
        {"op": "remove", "path": "/l/3"},
        "error in remove for path: '/l/3': Unable to access invalid index: 3: invalid index referenced",
    ),
    ({"op": "replace"}, "replace operation failed to decode path: operation missing path field: missing value"),
    (
        {"op": "replace", "path": True},
        "replace operation failed to decode path: json: cannot unmarshal bool into Go value of type string",
    ),
    ({"op": "replace", "path": "", "value": "text"}, "replace operation value must be object or array: %!w(<nil>)"),
    ({"op": "replace", "path": ""}, "replace operation value must be object or array: %!w(<nil>)"),
    ({"op": "replace", "path": "/no/x"}, "replace operation does not apply: doc is missing path: /no/x: missing value"),
    ({"op": "replace", "path": "/l/3"}, "replace operation does not apply: doc is missing key: /l/3: missing value"),
    ({"op": "replace", "path": "/l/-"}, "replace operation does not apply: doc is missing key: /l/-: missing value"),
    ({"op": "move", "path": "/x"}, "move operation failed to decode from: operation, missing from field: missing value"),
    ({"op": "move", "from": "/a"}, "move operation failed to decode path: operation missing path field: missing value"),
    (
        {"op": "move", "from": "/no/x", "path": "/y"},
        "move operation does not apply: doc is missing from path: /no/x: missing value",
    ),
    (
        {"op": "move", "from": "/a/x~1y", "path": "/y"},
        "error in move for path: 'x/y': Unable to remove nonexistent key: x/y: missing value",
    ),
    (
        {"op": "move", "from": "/a", "path": "/a/b"},
        "move operation does not apply: doc is missing destination path: /a/b: missing value",
    ),
    (
        {"op": "move", "from": "/a", "path": "/l/9"},
        "error in move for path: '/l/9': Unable to access invalid index: 9: invalid index referenced",
    ),
    ({"op": "copy", "path": "/x"}, "copy operation failed to decode from: operation, missing from field: missing value"),
    ({"op": "copy", "from": "/a"}, "copy operation failed to decode path: missing value"),
    ({"op": "copy", "from": "", "path": "/x"}, "copy operation does not apply: doc is missing from path: : missing value"),
    (
        {"op": "copy", "from": "/l/x", "path": "/x"},
        "error in copy for from: '/l/x': strconv.Atoi: parsing \"x\": invalid syntax",
    ),
    (
        {"op": "copy", "from": "/a", "path": "/no/x"},
        "copy operation does not apply: doc is missing destination path: /no/x: missing value",
    ),
    (
        {"op": "copy", "from": "/a", "path": "/l/9"},
        "error while adding value during copy: Unable to access invalid index: 9: invalid index referenced",
    ),
    ({"op": "test"}, "test operation failed to decode path: operation missing path field: missing value"),
    ({"op": "test", "path": "/no/x"}, "test operation does not apply: is missing path: /no/x: missing value"),
    (
        {"op": "test", "path": "/l/3"},
        "error in test for path: '/l/3': Unable to access invalid index: 3: invalid index referenced",
    ),
    ({"op": "upsert", "path": "/a"}, "Unexpected kind: upsert"),
    ({"op": "", "path": "/a"}, "Unexpected kind: "),
    ({"path": "/a"}, "Unexpected kind: unknown"),
    ({"op": 5, "path": "/a"}, "Unexpected kind: unknown"),
]


@pytest.mark.parametrize(("operation", "message"), FAILURES)
def test_operation_that_does_not_apply_says_why(operation: object, message: str) -> None:
    error = failure([operation])
    assert (error.message, error.reason, error.operation) == (message, Reason.INAPPLICABLE, 0)


@pytest.mark.parametrize(
    ("path", "value"),
    [
        ("/a/b", 2),
        ("/a/b", 1.0),
        ("/a/b", True),
        ("/a/b", None),
        ("/no", "x"),
        ("/l", [1, 2]),
        ("/e", []),
        ("/e", None),
        ("", {}),
    ],
)
def test_failed_test_is_told_apart(path: str, value: object) -> None:
    error = failure([{"op": "test", "path": "/s", "value": "text"}, {"op": "test", "path": path, "value": value}])
    assert (error.message, error.test_failed, error.operation) == (f"testing value {path} failed: test failed", True, 1)


def test_tested_value_may_not_be_left_out() -> None:
    assert failure([{"op": "test", "path": "/s"}]).test_failed


@pytest.mark.parametrize(("path", "passes"), [("/no", False), ("/a/n", False), ("/s", False), ("/e", True), ("/o", True)])
def test_null_of_a_policy_equals_only_what_is_empty(path: str, passes: bool) -> None:
    operations = [{"op": "test", "path": path, "value": None}]
    if passes:
        assert apply(operations, null_is_text=True) is DOCUMENT
    else:
        assert failure(operations, null_is_text=True).test_failed


def test_null_of_a_policy_may_take_the_place_of_the_document_and_nothing_is_found_in_it() -> None:
    nothing = {"op": "replace", "path": "", "value": None}
    assert apply([nothing], null_is_text=True) is None
    assert "doc is missing path" in failure([nothing, {"op": "add", "path": "/a", "value": 1}], null_is_text=True).message
    assert failure([nothing]).message == "replace operation value must be object or array: %!w(<nil>)"


UNDECODABLE = [
    (b"hello", "invalid character 'h' looking for beginning of value"),
    (b"[{", "unexpected end of JSON input"),
    (b"", "unexpected end of JSON input"),
    (b'{"op": "add"}', "json: cannot unmarshal object into Go value of type jsonpatch.Patch"),
    (b'"add"', "json: cannot unmarshal string into Go value of type jsonpatch.Patch"),
    (b"[1]", "json: cannot unmarshal number into Go value of type jsonpatch.Operation"),
    (b"[[]]", "json: cannot unmarshal array into Go value of type jsonpatch.Operation"),
    (b'[{"value": ' + b"[" * 300 + b"]" * 300 + b"}]", "exceeded max depth"),
    (b"[" * 2000 + b"]" * 2000, "exceeded max depth"),
]


@pytest.mark.parametrize(("text", "message"), UNDECODABLE, ids=range(len(UNDECODABLE)))
def test_text_that_is_no_patch_says_why(text: bytes, message: str) -> None:
    with pytest.raises(PatchError) as caught:
        jsonpatch.decode(text)
    assert (caught.value.message, caught.value.reason) == (message, Reason.UNDECODABLE)


@pytest.mark.parametrize("text", [b"null", b"[]"])
def test_empty_patch_changes_nothing(text: bytes) -> None:
    assert jsonpatch.decode(text).apply(DOCUMENT) is DOCUMENT


def test_absent_operation_is_an_unknown_one() -> None:
    assert failure([None]).message == "Unexpected kind: unknown"


def test_request_may_have_ten_thousand_operations() -> None:
    operation = {"op": "test", "path": "/s", "value": "text"}
    assert jsonpatch.decode([operation] * 10_000).apply(DOCUMENT, limits=jsonpatch.PATCH_REQUEST) is DOCUMENT
    too_many = jsonpatch.decode([operation] * 10_001)
    assert too_many.apply(DOCUMENT) is DOCUMENT
    with pytest.raises(PatchError) as caught:
        too_many.apply(DOCUMENT, limits=jsonpatch.PATCH_REQUEST)
    assert caught.value.message == "The allowed maximum operations in a JSON patch is 10000, got 10001"
    assert caught.value.reason is Reason.TOO_LARGE


def test_copies_may_not_add_up_to_much() -> None:
    double = {"op": "copy", "from": "/k", "path": "/k/-"}
    with pytest.raises(PatchError) as caught:
        jsonpatch.decode([double] * 40).apply({"k": ["x" * 1000]})
    assert caught.value.message == (
        "Unable to complete the copy, the accumulated size increase of copy is 4115463, exceeding the limit 3145728"
    )
    assert caught.value.operation == 11


def test_copied_size_counts_the_escapes_of_go() -> None:
    patch = jsonpatch.decode([{"op": "copy", "from": "/k", "path": "/l"}])
    assert patch.apply({"k": "<\u2028>"}, limits=jsonpatch.Limits(copied_bytes=20)) == {"k": "<\u2028>", "l": "<\u2028>"}
    with pytest.raises(PatchError, match="copy is 20, exceeding the limit 19"):
        patch.apply({"k": "<\u2028>"}, limits=jsonpatch.Limits(copied_bytes=19))


def test_untouched_parts_are_shared() -> None:
    shared: list[object] = [{}, []]
    patched = apply([{"op": "add", "path": "/a/b/y", "value": 2}], {"a": {"b": {"x": 1}, "c": shared[0]}, "d": shared[1]})
    assert patched == {"a": {"b": {"x": 1, "y": 2}, "c": {}}, "d": []}
    assert documents.at(patched, "/a/c") is shared[0]
    assert documents.at(patched, "/d") is shared[1]


def test_copied_value_and_its_source_part_ways() -> None:
    operations = [
        {"op": "add", "path": "/a/x", "value": 1},
        {"op": "copy", "from": "/a", "path": "/b"},
        {"op": "add", "path": "/b/y", "value": 2},
        {"op": "add", "path": "/a/z", "value": 3},
    ]
    assert apply(operations, {"a": {}}) == {"a": {"x": 1, "z": 3}, "b": {"x": 1, "y": 2}}


@given(documents.OBJECTS, st.data())
def test_fitting_patch_gives_what_another_library_gives(document: dict[str, object], data: st.DataObject) -> None:
    current: object = document
    operations: list[dict[str, object]] = []
    for _ in range(data.draw(st.integers(0, 5))):
        operations.append(data.draw(documents.fitting_operation(current)))
        current = reference.JsonPatch(operations[-1:]).apply(current)
    kept = copy.deepcopy((document, operations))
    assert same(apply(operations, document), current)
    assert same([document, operations], list(kept))


@given(
    documents.OBJECTS,
    st.lists(
        st.fixed_dictionaries(
            {
                "op": st.sampled_from(["add", "remove", "replace", "move", "copy", "test"]),
                "path": st.sampled_from(["", "x", "/a", "/a/b", "/a/0", "/b/-", "/c/-1", "/a~1b/a", "//"]),
                "from": st.sampled_from(["", "/a", "/b/0", "/c/a"]),
                "value": documents.VALUES,
            }
        ),
        max_size=5,
    ),
)
def test_any_patch_leaves_its_input_alone(document: dict[str, object], operations: list[object]) -> None:
    kept = copy.deepcopy([document, operations])
    patch = jsonpatch.decode(operations)
    outcomes = []
    for _ in range(2):
        try:
            outcomes.append(patch.apply(document))
        except PatchError as error:
            outcomes.append([error.message])
    assert same(outcomes[0], outcomes[1])
    assert same([document, operations], kept)
