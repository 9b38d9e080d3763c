"""JSON Merge Patch as Kubernetes applies it."""

import copy

import pytest
from hypothesis import given
from tests.patch import documents

from kadmit.patch import mergepatch
from kadmit.patch.equality import same
from kadmit.patch.errors import PatchError

CASES: list[tuple[str, object, object, object]] = [
    ("sets a key", {"a": 1}, {"b": 2}, {"a": 1, "b": 2}),
    ("null removes a key", {"a": 1, "b": 2}, {"a": None}, {"b": 2}),
    ("null for a missing key is nothing", {"a": 1}, {"b": None}, {"a": 1}),
    ("maps merge", {"a": {"b": 1, "c": 2}}, {"a": {"b": None, "d": 3}}, {"a": {"c": 2, "d": 3}}),
    ("lists are replaced", {"a": [1, 2]}, {"a": [3]}, {"a": [3]}),
    ("a map replaces a scalar, without its nulls", {"a": 1}, {"a": {"b": None, "c": 2}}, {"a": {"c": 2}}),
    ("a new map has no nulls", {}, {"a": {"b": {"c": None}}}, {"a": {"b": {}}}),
    ("a null in the document is like a missing key", {"a": None}, {"a": {"b": None}}, {"a": {}}),
    ("objects in a new list lose nulls, the list does not", {}, {"a": [None, {"b": None}]}, {"a": [None, {}]}),
    ("objects in a list that replaces a list lose nulls", {"a": [1]}, {"a": [{"b": None}]}, {"a": [{}]}),
    ("a list that replaces a map is taken as it is", {"a": {}}, {"a": [{"b": None}]}, {"a": [{"b": None}]}),
    ("a patch replaces what is no map", [1], {"a": None, "b": 1}, {"b": 1}),
    ("a list replaces the document", {"a": 1}, [None, {"b": None}], [None, {}]),
]


@pytest.mark.parametrize(("document", "patch", "expected"), [case[1:] for case in CASES], ids=[case[0] for case in CASES])
def test_patch_gives_the_result(document: object, patch: object, expected: object) -> None:
    assert same(mergepatch.apply(document, patch), expected)


@pytest.mark.parametrize(
    ("document", "patch", "message"),
    [({}, 1, "Invalid JSON Patch"), ({}, None, "Invalid JSON Patch"), (None, {}, "Invalid JSON Document")],
)
def test_what_cannot_merge_says_why(document: object, patch: object, message: str) -> None:
    with pytest.raises(PatchError) as caught:
        mergepatch.apply(document, patch)
    assert caught.value.message == message


def test_deep_patches_are_refused() -> None:
    deep: object = 1
    for _ in range(900):
        deep = {"a": deep}
    with pytest.raises(PatchError, match="exceeded max depth"):
        mergepatch.apply({}, deep)


def test_untouched_parts_are_shared_and_no_change_is_the_same_object() -> None:
    document = {"a": {"b": 1}, "c": {"d": 2}}
    patched = mergepatch.apply(document, {"a": {"b": 2}})
    assert isinstance(patched, dict)
    assert patched["c"] is document["c"]
    assert mergepatch.apply(document, {"x": None, "c": {"d": 2}}) is document


def rfc_7386(target: object, patch: object) -> object:
    """The pseudo-code of the RFC."""
    if not isinstance(patch, dict):
        return patch
    result = dict(target) if isinstance(target, dict) else {}
    for key, value in patch.items():
        if value is None:
            result.pop(key, None)
        else:
            result[key] = rfc_7386(result.get(key), value)
    return result


@given(documents.OBJECTS, documents.MERGE_PATCHES.filter(lambda patch: isinstance(patch, dict)))
def test_maps_merge_as_the_rfc_says_and_input_stays(document: dict[str, object], patch: object) -> None:
    kept = copy.deepcopy([document, patch])
    assert same(mergepatch.apply(document, patch), rfc_7386(document, patch))
    assert same([document, patch], kept)
