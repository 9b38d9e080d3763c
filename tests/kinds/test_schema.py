"""What the packaged schemas say, and that an independent source says the same."""

import json
from collections.abc import Iterator
from importlib import resources
from typing import Any

import pytest

from kadmit.kinds import schema, table
from kadmit.kinds.catalog import Gvk
from kadmit.kinds.schema import Node, Schema

LIST_MARKS = ("x-kubernetes-list-type", "x-kubernetes-list-map-keys", "x-kubernetes-map-type")
PATCH_MARKS = ("x-kubernetes-patch-strategy", "x-kubernetes-patch-merge-key")

# Kinds that no server publishes; they come from tools/go_types.json alone.
UNPUBLISHED = (
    "api.admission.",
    "apimachinery.pkg.apis.meta.v1.GroupVersionKind",
    "apimachinery.pkg.apis.meta.v1.GroupVersionResource",
)


def field_schema(kind: Gvk, *path: str) -> Schema:
    node = schema.for_kind(kind)
    for name in path:
        assert node is not None
        node = node.items if name == "[]" else node.fields[name].schema
    assert node is not None
    return node


@pytest.mark.parametrize(
    ("path", "kind"),
    [
        (("spec",), Node.OBJECT),
        (("metadata", "labels"), Node.MAP),
        (("metadata", "creationTimestamp"), Node.TIME),
        (("metadata", "managedFields", "[]", "fieldsV1"), Node.RAW),
        (("spec", "containers"), Node.ARRAY),
        (("spec", "containers", "[]", "image"), Node.STRING),
        (("spec", "containers", "[]", "livenessProbe", "httpGet", "port"), Node.INT_OR_STRING),
        (("spec", "volumes", "[]", "emptyDir", "sizeLimit"), Node.QUANTITY),
        (("spec", "hostNetwork"), Node.BOOLEAN),
        (("spec", "priority"), Node.INTEGER),
    ],
)
def test_every_place_in_a_pod_has_its_kind_of_node(path: tuple[str, ...], kind: Node) -> None:
    assert field_schema(("", "v1", "Pod"), *path).kind is kind


def test_lists_maps_enums_and_defaults() -> None:
    ports = field_schema(("", "v1", "Pod"), "spec", "containers", "[]", "ports")
    assert (ports.list_type, ports.list_keys) == ("map", ("containerPort", "protocol"))
    assert ports.items is not None
    assert ports.items.fields["protocol"].default == "TCP"
    assert ports.items.fields["containerPort"].required
    assert not ports.items.fields["hostPort"].has_default
    assert field_schema(("", "v1", "Pod"), "spec", "dnsPolicy").enum == [
        "ClusterFirst",
        "ClusterFirstWithHostNet",
        "Default",
        "None",
    ]
    assert field_schema(("", "v1", "Service"), "spec", "selector").map_type == "atomic"
    assert field_schema(("", "v1", "Secret"), "data").additional is not None


def test_a_schema_may_hold_itself() -> None:
    crd = ("apiextensions.k8s.io", "v1", "CustomResourceDefinition")
    props = field_schema(crd, "spec", "versions", "[]", "schema", "openAPIV3Schema")
    assert props.fields["properties"].schema.additional is props


def test_unknown_kinds_have_no_schema() -> None:
    assert schema.for_kind(("", "v1", "Nothing")) is None


def test_a_reference_in_a_custom_schema_that_leads_nowhere_is_harmless() -> None:
    node = schema.custom({"type": "object", "properties": {"a": {"$ref": "#/nowhere"}}})
    assert node.fields["a"].schema.kind is Node.ANY


@pytest.mark.parametrize(
    ("path", "go_type"),
    [
        (("spec", "containers"), "[]v1.Container"),
        (("spec", "restartPolicy"), "v1.RestartPolicy"),
        (("spec", "containers", "[]", "resources", "limits"), "v1.ResourceList"),
        (("metadata", "labels"), "map[string]string"),
        (("metadata", "uid"), "types.UID"),
        (("spec", "priority"), "int32"),
    ],
)
def test_fields_know_what_go_calls_their_type(path: tuple[str, ...], go_type: str) -> None:
    *parents, name = path
    assert field_schema(("", "v1", "Pod"), *parents).fields[name].go_type == go_type


# --- PyPI's kubernetes-validate, made from Kubernetes' OpenAPI by other people --------------------------------------


def other_definitions() -> dict[str, Any]:
    folder = resources.files("kubernetes_validate").joinpath("kubernetes-json-schema", "v1.36.0-local")
    definitions: dict[str, Any] = json.loads(folder.joinpath("_definitions.json").read_text())["$defs"]
    return {name.removeprefix("io.k8s."): definition for name, definition in definitions.items()}


def marks(raw: dict[str, Any], at: str = "") -> Iterator[tuple[str, str, Any]]:
    """Every list type, key and patch mark of a definition, with its place."""
    yield from ((at, mark, raw[mark]) for mark in LIST_MARKS + PATCH_MARKS if mark in raw)
    for name, part in raw.get("properties", {}).items():
        yield from marks(part, f"{at}.{name}")
    for part_name in ("items", "additionalProperties"):
        if isinstance(raw.get(part_name), dict):
            yield from marks(raw[part_name], f"{at}.{part_name}")


def test_kubernetes_validate_agrees_on_list_types_and_keys_for_every_definition() -> None:
    theirs = other_definitions()
    names = [name for name in table.definition_names() if not name.startswith(UNPUBLISHED)]
    different = {
        name: set(map(str, marks(table.definition(name)))) ^ set(map(str, marks(theirs[name])))
        for name in names
        if sorted(map(str, marks(table.definition(name)))) != sorted(map(str, marks(theirs[name])))
    }
    assert different == {}
    assert len(names) == 613
