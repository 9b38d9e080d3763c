"""Custom kinds: pruning, defaults and validation, as the recorded server does them."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import orjson
import pytest
import yaml

from kadmit.api import errors, fields
from kadmit.api.fields import FieldError
from kadmit.api.meta import GroupKind
from kadmit.kinds import conformity, crd, listtypes, structural
from kadmit.kinds.crd import CustomKind
from kadmit.kinds.decoding import DecodeError
from kadmit.kinds.schema import Node
from kadmit.patch.shapes import Deduced, Leaf, MapShape, Scalar

CASES = Path(__file__).parents[1] / "conformance" / "cases"

# Schemas, objects and (sometimes) what they replace, drawn at random, with what Kubernetes' own packages made of them.
RECORDED = [json.loads(line) for line in Path(__file__).with_name("custom.jsonl").read_text().splitlines()]


def kind(schema: dict[str, Any], **version: Any) -> CustomKind:
    names = {"plural": "widgets", "kind": "Widget"}
    made = {"name": "v1", "served": True, "schema": {"openAPIV3Schema": schema}, **version}
    return crd.custom_kinds({"spec": {"group": "e.com", "names": names, "versions": [made]}})["v1"]


def texts(found: list[FieldError]) -> list[str]:
    return [str(error) for error in found]


# --- Kubernetes' packages --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("row", RECORDED, ids=lambda row: str(row["number"]))
def test_kubernetes_shapes_and_judges_the_same(row: dict[str, Any]) -> None:
    structure = structural.Structure(row["schema"])
    if "refused" in row:
        with pytest.raises(DecodeError) as caught:
            structure.shape_root(row["given"])
        assert str(caught.value) == row["refused"]
        return
    before = orjson.dumps(row["given"])
    shaped = structure.shape_root(row["given"])
    assert shaped.object == row["object"]
    assert list(shaped.unknown) == row.get("unknown", [])
    assert orjson.dumps(row["given"]) == before
    rules = conformity.Rules(row["schema"])
    found = conformity.validate(rules, shaped.object, row.get("old"))
    # NB: Go goes through properties in random order.
    assert sorted(texts(found)) == sorted(row.get("errors", []))
    check = listtypes.compiled(row["schema"])
    assert sorted(texts(list(check(shaped.object, "")) if check else [])) == sorted(row.get("lists", []))


@pytest.mark.parametrize("row", [row for row in RECORDED if "object" in row], ids=lambda row: str(row["number"]))
def test_the_quick_answer_is_the_exact_one(row: dict[str, Any]) -> None:
    rules = conformity.Rules(row["schema"])
    assert rules.fits(row["object"]) == (not rules.judge(row["object"]).findings)


# --- The recorded server ---------------------------------------------------------------------------------------------


def case(area: str, name: str) -> tuple[CustomKind, Iterator[tuple[dict[str, Any], dict[str, Any]]]]:
    sent = yaml.safe_load((CASES / area / f"{name}.yaml").read_text())
    answered = json.loads((CASES / area / f"{name}.expected.json").read_text())
    (custom,) = crd.custom_kinds(sent["given"][0]).values()
    return custom, zip(sent["steps"], answered["steps"], strict=True)


def warnings_of(answer: dict[str, Any]) -> list[str]:
    return [json.loads(warning.removeprefix("299 - ")) for warning in answer.get("warnings", [])]


def without_metadata(value: dict[str, Any]) -> dict[str, Any]:
    return {key: member for key, member in value.items() if key != "metadata"}


@pytest.mark.parametrize("name", ["cr-defaults", "cr-pruning", "cr-metadata"])
def test_objects_are_pruned_and_defaulted_as_recorded(name: str) -> None:
    custom, steps = case("kinds-defaults", name)
    for step, answer in steps:
        decoded = custom.decode(orjson.dumps(step["create"]))
        assert without_metadata(decoded.object) == without_metadata(answer["body"])
        assert list(decoded.problems) == warnings_of(answer)


def test_objects_that_do_not_fit_are_refused_as_recorded() -> None:
    custom, steps = case("kinds-validation", "cr-schema-errors")
    for step, answer in steps:
        found = custom.validate(custom.decode(orjson.dumps(step["create"])).object)
        if answer["status"] == 201:
            assert found == []
            continue
        refused = errors.invalid(GroupKind(custom.resource.group, "Widget"), "a", found).status
        assert refused.message == answer["body"]["message"]


def test_what_was_wrong_before_may_stay_wrong() -> None:
    custom = kind(
        {"type": "object", "properties": {"spec": {"type": "object", "properties": {"a": {"type": "string", "maxLength": 5}}}}}
    )
    old = {"spec": {"a": "much-too-long", "b": "x"}}
    assert custom.validate({"spec": {"a": "much-too-long", "b": "y"}}, old) == []
    assert texts(custom.validate({"spec": {"a": "also-too-long"}}, old)) == ["spec.a: Too long: may not be more than 5 bytes"]


# --- Rules, one by one -----------------------------------------------------------------------------------------------

UNCHECKED = (
    "some validation rules were not checked because the object was invalid; correct the existing errors to complete validation"
)
SPEC = {"type": "object", "properties": {"spec": {"type": "object", "properties": {"a": {"type": "string"}}}}}


def test_duplicates_and_unknown_fields_are_listed_by_path() -> None:
    body = b'{"metadata":{"name":"x","what":1},"spec":{"a":"1","a":"2","c":1},"d":1}'
    decoded = kind(SPEC).decode(body)
    assert decoded.object == {"metadata": {"name": "x"}, "spec": {"a": "2"}}
    assert decoded.problems == (
        'duplicate field "spec.a"',
        'unknown field "metadata.what"',
        'unknown field "d"',
        'unknown field "spec.c"',
    )


def test_large_whole_numbers_stay_exact_and_larger_ones_become_doubles() -> None:
    custom = kind({"type": "object", "x-kubernetes-preserve-unknown-fields": True})
    made = custom.decode(b'{"a":9223372036854775807,"b":9223372036854775808,"c":9007199254740993}').object
    assert made == {"a": 9223372036854775807, "b": 9223372036854775808.0, "c": 9007199254740993}
    assert isinstance(made["b"], float)


@pytest.mark.parametrize(
    ("body", "message"),
    [
        (
            b'{"metadata":{"labels":{"a":1}}}',
            "json: cannot unmarshal number into Go struct field ObjectMeta.labels of type string",
        ),
        (b"[]", "json: cannot unmarshal array into Go value of type map[string]interface {}"),
        (b"{", "unexpected end of JSON input"),
        (b'{"a":' * 300 + b"1" + b"}" * 300, "exceeded max depth"),
    ],
)
def test_bodies_that_cannot_be_read(body: bytes, message: str) -> None:
    with pytest.raises(DecodeError) as caught:
        kind(SPEC).decode(body)
    assert str(caught.value) == message


def test_rules_run_last_and_only_on_objects_that_they_can_read() -> None:
    custom = kind(SPEC)
    seen: list[Any] = []

    def rules(new: dict[str, Any], old: dict[str, Any] | None) -> list[FieldError]:
        seen.append((new, old))
        return [fields.invalid(fields.path("spec"), "x", "failed rule: no")]

    assert texts(custom.validate({"spec": {"a": "x"}}, rules=rules)) == ['spec: Invalid value: "x": failed rule: no']
    assert seen == [({"spec": {"a": "x"}}, None)]
    assert texts(custom.validate({"spec": {"a": 1}}, rules=rules)) == [
        'spec.a: Invalid value: "integer": spec.a in body must be of type string: "integer"',
        f"<nil>: Invalid value: null: {UNCHECKED}",
    ]
    assert len(seen) == 1


def test_embedded_resources_must_say_what_they_are() -> None:
    pod = {"type": "object", "x-kubernetes-embedded-resource": True, "x-kubernetes-preserve-unknown-fields": True}
    custom = kind({"type": "object", "properties": {"pods": {"type": "array", "items": pod}}})
    assert texts(
        custom.validate({"pods": [{"metadata": {}}, {"apiVersion": "a/b/c", "kind": ""}, {"apiVersion": "v1", "kind": "Pod"}]})
    ) == [
        "pods[0].apiVersion: Required value",
        "pods[0].kind: Required value",
        'pods[1].apiVersion: Invalid value: "a/b/c": unexpected GroupVersion string: a/b/c',
        'pods[1].kind: Invalid value: "": must not be empty',
    ]


def test_lists_that_were_no_sets_before_need_not_become_sets() -> None:
    custom = kind(
        {"type": "object", "properties": {"s": {"type": "array", "x-kubernetes-list-type": "set", "items": {"type": "string"}}}}
    )
    assert texts(custom.validate({"s": ["a", "a"]})) == ['s[1]: Duplicate value: "a"']
    assert custom.validate({"s": ["a", "a", "b"]}, {"s": ["a", "a"]}) == []


def test_the_scale_subresource_wants_a_number_of_replicas() -> None:
    scale = {
        "specReplicasPath": ".spec.replicas",
        "statusReplicasPath": ".status.replicas",
        "labelSelectorPath": ".status.selector",
    }
    custom = kind({"type": "object", "x-kubernetes-preserve-unknown-fields": True}, subresources={"scale": scale})
    assert custom.validate({"spec": {"replicas": 3}}) == []
    assert texts(custom.validate({"spec": {"replicas": "x"}, "status": {"replicas": -1, "selector": 1}})) == [
        ".spec.replicas: Invalid value: 0: .spec.replicas accessor error: x is of the type string, expected int64",
        ".status.replicas: Invalid value: -1: should be a non-negative integer",
        '.status.selector: Invalid value: "": .status.selector accessor error: 1 is of the type int64, expected string',
    ]
    assert texts(custom.validate({"spec": 1, "status": None})) == [
        ".spec.replicas: Invalid value: 0: .spec.replicas accessor error: 1 is of the type int64, expected map[string]interface{}"
    ]


def test_a_status_is_judged_alone() -> None:
    custom = kind(
        {
            "type": "object",
            "required": ["spec"],
            "properties": {"status": {"type": "object", "properties": {"n": {"type": "integer"}}}},
        }
    )
    found = custom.validate_status({"status": {"n": "x"}}, {})
    assert texts(found) == ['status.n: Invalid value: "string": n in body must be of type integer: "string"']


def test_defaults_are_never_shared_between_objects() -> None:
    custom = kind(
        {
            "type": "object",
            "properties": {"spec": {"type": "object", "default": {"list": []}, "x-kubernetes-preserve-unknown-fields": True}},
        }
    )
    one, other = custom.decode(b"{}").object, custom.decode(b"{}").object
    one["spec"]["list"].append(1)
    assert other == {"spec": {"list": []}}


def test_the_published_schema_has_what_every_object_has() -> None:
    custom = kind(SPEC)
    assert list(custom.schema.fields) == ["spec", "apiVersion", "kind", "metadata"]
    assert custom.schema.fields["metadata"].schema.fields["labels"].schema.kind is Node.MAP
    shape = custom.shape
    assert isinstance(shape, MapShape)
    assert shape.fields["spec"] == MapShape({"a": Leaf(Scalar.STRING)})
    assert shape.element is None


def test_embedded_resources_have_it_too() -> None:
    pod = {"type": "object", "x-kubernetes-embedded-resource": True, "x-kubernetes-preserve-unknown-fields": True}
    shape = kind({"type": "object", "properties": {"pod": pod}}).shape
    assert isinstance(shape, MapShape)
    inner = shape.fields["pod"]
    assert isinstance(inner, MapShape)
    assert list(inner.fields) == ["apiVersion", "kind", "metadata"]
    assert inner.element == Deduced()
