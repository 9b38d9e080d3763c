"""Tests of strings that are written in another way than the document's are."""

import pytest

from kadmit.patch import jsonpatch
from kadmit.patch.errors import PatchError

DOCUMENT: dict[str, object] = {"data": {"html": "a<b", "accent": "é", "path": "a/b", "lines": "a\nb", "list": ["<"]}}


@pytest.mark.parametrize(
    "patch",
    [
        '[{"op":"test","path":"/data/html","value":"a\\u003cb"}]',
        '[{"op":"test","path":"/data/accent","value":"é"}]',
        '[{"op":"test","path":"/data/path","value":"a/b"}]',
        '[{"op":"test","path":"/data/lines","value":"a\\nb"}]',
        '[{"op":"test","path":"/data/list","value":["\\u003c"]}]',
        '[{"op":"add","path":"/data/x","value":"<"},{"op":"test","path":"/data/x","value":"<"}]',
    ],
)
def test_what_is_written_alike_is_the_same(patch: str) -> None:
    assert jsonpatch.decode(patch.encode()).apply(DOCUMENT)


@pytest.mark.parametrize(
    "patch",
    [
        '[{"op":"test","path":"/data/html","value":"a<b"}]',
        '[{"op":"test","path":"/data/accent","value":"\\u00e9"}]',
        '[{"op":"test","path":"/data/path","value":"a\\/b"}]',
        '[{"op":"test","path":"/data/lines","value":"a\\u000ab"}]',
        '[{"op":"test","path":"/data/list","value":["<"]}]',
    ],
)
def test_the_same_string_written_otherwise_is_not_the_same(patch: str) -> None:
    with pytest.raises(PatchError, match="test failed"):
        jsonpatch.decode(patch.encode()).apply(DOCUMENT)
