"""The bodies of PATCH requests."""

import pytest

from kadmit.patch import patchbody
from kadmit.patch.errors import PatchError, Reason


@pytest.mark.parametrize(
    ("body", "message"),
    [
        (b"[{", "error decoding patch: unexpected end of JSON input"),
        (b'{"op":"add"}', "error decoding patch: json: cannot unmarshal object into Go value of type []handlers.jsonPatchOp"),
        (b"[1]", "error decoding patch: json: cannot unmarshal number into Go value of type handlers.jsonPatchOp"),
        (
            b'[{"from":{}}]',
            "error decoding patch: json: cannot unmarshal object into Go struct field jsonPatchOp.from of type string",
        ),
    ],
)
def test_json_patch_of_wrong_type_is_refused(body: bytes, message: str) -> None:
    with pytest.raises(PatchError) as caught:
        patchbody.json_patch(body)
    assert (caught.value.message, caught.value.reason) == (message, Reason.UNDECODABLE)


def test_lenient_json_patch_has_the_words_of_the_library() -> None:
    with pytest.raises(PatchError) as caught:
        patchbody.json_patch(b"{}", strict=False)
    assert caught.value.message == "json: cannot unmarshal object into Go value of type jsonpatch.Patch"
    assert patchbody.json_patch(b'[{"foo":1}]', strict=False).complaints == ()


@pytest.mark.parametrize(
    ("body", "complaints"),
    [
        (b'[{"op":"add","path":"/a","value":1}]', ()),
        (b'[ {"op":"add","path":"/a","value":1}, null ]', ()),
        (b'[{"op":"add","foo":1,"OP":2}]', ('json patch unknown field "[0].foo"', 'json patch unknown field "[0].OP"')),
        (
            b'[{"foo":1,"foo":1,"op":"a","op":"b"}]',
            ('json patch unknown field "[0].foo"', 'json patch duplicate field "[0].op"'),
        ),
        (b'[{"value":[{"x":1,"x":2}]}]', ('json patch duplicate field "[0].value[0].x"',)),
    ],
)
def test_json_patch_complains_of_members(body: bytes, complaints: tuple[str, ...]) -> None:
    assert patchbody.json_patch(body).complaints == complaints


def test_complaints_end_at_a_hundred() -> None:
    body = b"[" + b",".join(b'{"x%d":1}' % number for number in range(150)) + b"]"
    assert len(patchbody.json_patch(body).complaints) == 100


@pytest.mark.parametrize(
    ("body", "strict", "message"),
    [
        (b"[1]", True, "error decoding patch: json: cannot unmarshal array into Go value of type map[string]interface {}"),
        (b"{", True, "error decoding patch: unexpected end of JSON input"),
        (b"{", False, "Invalid JSON Patch"),
        (b"5", False, "Invalid JSON Patch"),
        (b"null", True, "Invalid JSON Patch"),
    ],
)
def test_merge_patch_of_wrong_type_is_refused(body: bytes, strict: bool, message: str) -> None:
    with pytest.raises(PatchError) as caught:
        patchbody.merge_patch(body, strict=strict)
    assert caught.value.message == message


def test_merge_patch_complains_of_repeated_fields() -> None:
    body = b'{"a": {"b": 1, "b": 2}, "l": [{"c": 1, "c": 2}], "a": {}}'
    complaints = ('duplicate field "a.b"', 'duplicate field "l[0].c"', 'duplicate field "a"')
    assert patchbody.merge_patch(body).complaints == complaints
    assert patchbody.merge_patch(body, strict=False).complaints == ()


@pytest.mark.parametrize(
    ("body", "message"),
    [
        (b"[]", "json: cannot unmarshal array into Go value of type map[string]interface {}"),
        (b"{", "unexpected end of JSON input"),
    ],
)
def test_strategic_patch_of_wrong_type_is_refused(body: bytes, message: str) -> None:
    with pytest.raises(PatchError) as caught:
        patchbody.strategic_patch(body)
    assert caught.value.message == message


def test_strategic_patch_of_null_changes_nothing() -> None:
    assert patchbody.strategic_patch(b"null").patch == {}
