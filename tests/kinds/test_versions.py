"""Custom kinds of several versions: kept in one of them, read through the schemas of both."""

from typing import Any

import pytest

from kadmit.api.errors import ApiError
from kadmit.api.meta import GroupVersionKind
from kadmit.kinds import structural
from kadmit.kinds.known import Known
from kadmit.patch import values

V1, V2 = (GroupVersionKind("example.com", version, "Gear") for version in ("v1", "v2"))


def version(name: str, *, storage: bool, **properties: Any) -> dict[str, Any]:
    spec = {"type": "object", "properties": {"a": {"type": "string"}, **properties}}
    schema = {"openAPIV3Schema": {"type": "object", "properties": {"spec": spec}}}
    return {"name": name, "served": True, "storage": storage, "schema": schema}


KNOWN = Known(
    [
        {
            "metadata": {"name": "gears.example.com"},
            "spec": {
                "group": "example.com",
                "scope": "Namespaced",
                "names": {"plural": "gears", "kind": "Gear"},
                "versions": [
                    version("v1", storage=True, b={"type": "string", "default": "bb"}, many={"type": "array"}),
                    version("v2", storage=False, c={"type": "string", "default": "cc"}),
                ],
            },
        }
    ]
)


def gear(kind: GroupVersionKind, **spec: Any) -> dict[str, Any]:
    return {"apiVersion": str(kind.group_version), "kind": "Gear", "metadata": {"name": "g"}, "spec": spec}


def test_an_object_is_kept_in_one_version_with_its_fields_and_defaults() -> None:
    assert KNOWN.kept(V2, gear(V2, a="x", c="cc")) == gear(V1, a="x", b="bb")


def test_an_object_of_the_version_that_is_kept_stays_as_it_is() -> None:
    given = gear(V1, a="x")
    assert KNOWN.kept(V1, given) is given


def test_an_object_is_read_without_what_the_other_version_does_not_know_and_without_its_defaults() -> None:
    assert KNOWN.read(gear(V1, a="x", b="bb"), V2) == gear(V2, a="x")


def test_an_object_that_is_only_converted_keeps_everything() -> None:
    assert KNOWN.convert(gear(V1, a="x", b="bb"), V2) == gear(V2, a="x", b="bb")


def test_a_mutated_object_loses_what_no_schema_knows_when_it_is_stored_and_not_before() -> None:
    mutated = gear(V1, a="x", b="y", nope=1, many=values.NIL)
    assert KNOWN.finished(V1, mutated) is mutated
    assert KNOWN.stored(V1, mutated) == gear(V1, a="x", b="y")


def test_a_number_that_json_does_not_have_is_found_out_when_an_object_is_stored() -> None:
    with pytest.raises(ApiError, match="json: unsupported value: NaN"):
        KNOWN.stored(V1, gear(V1, a=float("nan")))


@pytest.mark.parametrize(
    ("metadata", "read"),
    [
        ({"name": "a", "labels": {"a": "b"}}, None),
        ({"name": "a", "labels": {"a": 1}, "nope": 1}, {"name": "a", "nope": 1}),
        ({"name": "a", "creationTimestamp": "x", "finalizers": "y"}, {"name": "a"}),
        ({"name": "a", "annotations": {"a": None}}, {"name": "a", "annotations": {"a": ""}}),
        (1, None),
    ],
)
def test_malformed_metadata_is_not_there(metadata: Any, read: Any) -> None:
    made = structural.with_readable_metadata({"metadata": metadata})["metadata"]
    assert made == (metadata if read is None else read)
