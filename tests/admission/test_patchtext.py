"""A webhook's patch in the audit log: its own text, with members sorted and space gone."""

import pytest

from kadmit.admission.patchtext import patch_text


@pytest.mark.parametrize(
    ("patch", "text"),
    [
        ("[]", "[]"),
        ("[ ]", "[]"),
        ("[null, {}]", "[null,{}]"),
        ('[ {"path": "/a",\n "op": "remove"} ]', '[{"op":"remove","path":"/a"}]'),
        ('[{"value": {"z": 1.50, "a": [ 1e3 , null ]}, "op": "add"}]', '[{"op":"add","value":{"z":1.50,"a":[1e3,null]}}]'),
        ('[{"op": "a", "op": "b"}]', '[{"op":"b"}]'),
        (r'[{"v": "<\u00e9 , }\" ]&>"}]', r'[{"v":"\u003c\u00e9 , }\" ]\u0026\u003e"}]'),
        (r'[{"<": "é", "\u0041": 1}]', r'[{"\u003c":"é","A":1}]'),
    ],
)
def test_values_stay_as_they_were_written(patch: str, text: str) -> None:
    assert patch_text(patch.encode()) == text


def test_deep_nesting_needs_no_stack() -> None:
    deep = "[" * 5000 + "]" * 5000
    assert patch_text(f'[{{"value": {deep}}}]'.encode()) == f'[{{"value":{deep}}}]'
