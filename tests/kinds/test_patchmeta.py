"""Patch metadata of built-in kinds, and that strategic merge can use it."""

from kadmit.kinds import patchmeta
from kadmit.patch import strategic


def test_lists_merge_by_their_keys() -> None:
    meta = patchmeta.for_kind(("", "v1", "Pod"))
    assert meta is not None
    original: dict[str, object] = {
        "spec": {"containers": [{"name": "a", "image": "x"}, {"name": "b"}], "tolerations": [{"key": "t"}]}
    }
    patch: dict[str, object] = {"spec": {"containers": [{"name": "a", "args": ["1"]}], "tolerations": [{"key": "u"}]}}
    assert strategic.apply(original, patch, meta) == {
        "spec": {"containers": [{"name": "a", "image": "x", "args": ["1"]}, {"name": "b"}], "tolerations": [{"key": "u"}]}
    }


def test_fields_are_named_as_go_names_them() -> None:
    meta = patchmeta.for_kind(("", "v1", "Pod"))
    assert meta is not None
    spec = meta.fields["spec"].meta
    assert (meta.name, spec.kind, spec.name) == ("Pod", "struct", "PodSpec")
    assert spec.fields["volumes"].strategies == ("merge", "retainKeys")
    assert spec.fields["volumes"].merge_key == "name"
    assert spec.fields["nodeSelector"].meta.kind == "map"
    assert spec.fields["priority"].meta.kind == "int32"
    assert "nothing" not in spec.fields


def test_a_schema_that_holds_itself_can_be_patched() -> None:
    meta = patchmeta.for_kind(("apiextensions.k8s.io", "v1", "CustomResourceDefinition"))
    assert meta is not None
    props = meta.fields["spec"].meta.fields["versions"].meta.element
    assert props is not None
    schema = props.fields["schema"].meta.fields["openAPIV3Schema"].meta
    assert schema.fields["not"].meta is schema


def test_unknown_kinds_have_none() -> None:
    assert patchmeta.for_kind(("example.com", "v1", "Widget")) is None
