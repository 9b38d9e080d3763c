"""Object metadata of any kind."""

from typing import Any

import pytest

from kadmit.kinds import metadata

NAMESPACED = {"name": "a", "namespace": "default"}


def problems(meta: dict[str, Any], **options: Any) -> list[str]:
    return [str(error) for error in metadata.validate(meta, **{"namespaced": True, **options})]


NAMES = [
    (metadata.path_segment, ".", ["may not be '.'"]),
    (metadata.path_segment, "a/b%", ["may not contain '/'", "may not contain '%'"]),
    (metadata.path_segment, "Any Name", []),
    (metadata.dns_label, "a.b", ["must not contain dots"]),
    (metadata.dns_subdomain, "a.b", []),
    (metadata.dns1035_label, "a1", []),
]


@pytest.mark.parametrize(("rule", "name", "expected"), NAMES)
def test_kinds_differ_in_their_names(rule: metadata.NameRule, name: str, expected: list[str]) -> None:
    assert rule(name, False) == expected


@pytest.mark.parametrize("rule", [metadata.dns_label, metadata.dns_subdomain, metadata.dns1035_label])
def test_a_start_of_a_name_may_end_in_a_dash(rule: metadata.NameRule) -> None:
    assert rule("web-", True) == []
    assert rule("web-", False) != []


def test_dots_may_start_a_name_but_not_be_it() -> None:
    assert metadata.path_segment("..", True) == []


NAMESPACES = [
    ({"name": "a"}, True, ["metadata.namespace: Required value"]),
    ({"name": "a"}, False, []),
    (NAMESPACED, False, ["metadata.namespace: Forbidden: not allowed on this type"]),
    ({**NAMESPACED, "namespace": "a.b"}, True, ['metadata.namespace: Invalid value: "a.b": must not contain dots']),
]


@pytest.mark.parametrize(("meta", "namespaced", "expected"), NAMESPACES)
def test_a_namespace_stands_where_it_belongs(meta: dict[str, Any], namespaced: bool, expected: list[str]) -> None:
    assert problems(meta, namespaced=namespaced) == expected


def test_annotations_are_weighed_in_bytes() -> None:
    limit = metadata.ANNOTATIONS_LIMIT
    too_long = "metadata.annotations: Too long: may not be more than 262144 bytes"
    assert problems({**NAMESPACED, "annotations": {"aa": "é" * (limit // 2 - 1)}}) == []
    assert problems({**NAMESPACED, "annotations": {"aaa": "é" * (limit // 2 - 1)}}) == [too_long]


MANAGED = [
    ({"operation": "Nope"}, ['operation: Invalid value: "Nope": must be `Apply` or `Update`']),
    ({"operation": "Apply", "fieldsType": "V2"}, ['fieldsType: Invalid value: "V2": must be `FieldsV1`']),
    ({"operation": "Apply", "manager": "m" * 129}, ["manager: Too long: may not be more than 128 bytes"]),
    ({"operation": "Apply", "manager": "é\x07"}, ['manager: Invalid value: "é\\a": invalid character U+0007 (at position 2)']),
    ({"operation": "Apply", "subresource": "s" * 257}, ["subresource: Too long: may not be more than 256 bytes"]),
    ({"operation": "Update", "manager": "a b", "fieldsType": "FieldsV1"}, []),
]


@pytest.mark.parametrize(("entry", "expected"), MANAGED)
def test_managed_fields_name_who_and_how(entry: dict[str, Any], expected: list[str]) -> None:
    assert problems({**NAMESPACED, "managedFields": [entry]}) == [f"metadata.managedFields[0].{text}" for text in expected]


# ---------------------------------------------------------------- updates

OLD = {**NAMESPACED, "resourceVersion": "1", "uid": "u", "generation": 2, "creationTimestamp": "2020-01-01T00:00:00Z"}
UPDATES: list[tuple[dict[str, Any], list[str]]] = [
    ({}, []),
    ({"resourceVersion": ""}, ['resourceVersion: Invalid value: "": must be specified for an update']),
    ({"generation": 1}, ["generation: Invalid value: 1: must not be decremented"]),
    ({"name": "b"}, ['name: Invalid value: "b": field is immutable']),
    ({"namespace": "other"}, ['namespace: Invalid value: "other": field is immutable']),
    ({"uid": "<"}, ['uid: Invalid value: "\\u003c": field is immutable']),
    ({"deletionGracePeriodSeconds": 0}, ["deletionGracePeriodSeconds: Invalid value: 0: field is immutable"]),
]


@pytest.mark.parametrize(("change", "expected"), UPDATES)
def test_an_update_leaves_some_fields_alone(change: dict[str, Any], expected: list[str]) -> None:
    found = metadata.validate_update({**OLD, **change}, OLD, namespaced=True)
    assert [str(error) for error in found] == [f"metadata.{text}" for text in expected]


def test_a_fault_is_found_once_by_itself_and_once_as_a_change() -> None:
    found = metadata.validate_update({**OLD, "labels": {"a b": ""}}, OLD, namespaced=True)
    assert [error.field for error in found] == ["metadata.labels", "metadata.labels"]


def test_what_is_being_deleted_gets_no_new_finalizers() -> None:
    old = {**OLD, "deletionTimestamp": "2021-01-01T00:00:00Z", "finalizers": ["x/a"]}
    found = metadata.validate_update({**old, "finalizers": ["x/c", "x/a", "x/b"]}, old, namespaced=True)
    (text,) = [error.detail for error in found]
    assert text.startswith("no new finalizers can be added if the object is being deleted, ")
    assert text.endswith('found new finalizers []string{"x/b", "x/c"}')


def test_what_only_the_server_writes_is_quietly_kept() -> None:
    sent = {**NAMESPACED, "generation": 9, "creationTimestamp": "2001-01-01T00:00:00Z"}
    assert metadata.kept_on_update(sent, OLD, namespaced=True) == {key: OLD[key] for key in OLD if key != "resourceVersion"}


def test_another_uid_is_not_replaced_but_refused() -> None:
    assert metadata.kept_on_update({"uid": "other"}, OLD, namespaced=True)["uid"] == "other"


def test_a_new_object_brings_nothing_that_the_server_writes() -> None:
    sent = {**OLD, "deletionTimestamp": "2001-01-01T00:00:00Z", "selfLink": "/x", "labels": {"a": "b"}}
    kept = {"name": "a", "resourceVersion": "1", "generation": 2, "labels": {"a": "b"}}
    assert metadata.cleared_on_create(sent, namespaced=False) == kept
    assert metadata.cleared_on_create(sent, namespaced=True) == {**kept, "namespace": "default"}
