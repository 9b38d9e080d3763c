"""OpenAPI documents, compared with what kube-apiserver v1.36.4 published (without descriptions, without protobuf)."""

import functools
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.presentation import recorded

from kadmit.kinds import catalog
from kadmit.presentation.openapi import OpenApi

PUBLISHED: dict[str, Any] = json.loads((Path(__file__).parent / "openapi.json").read_text())
PRESENT = {
    "spec": {
        "group": "presentation.example.com",
        "scope": "Namespaced",
        "names": {"plural": "presents", "kind": "Present"},
        "versions": [
            {
                "name": "v1",
                "served": True,
                "selectableFields": [{"jsonPath": ".spec.color"}],
                "subresources": {"status": {}, "scale": {}},
                "schema": {
                    "openAPIV3Schema": {
                        "type": "object",
                        "description": "A present.",
                        "properties": {
                            "spec": {
                                "type": "object",
                                "required": ["size"],
                                "properties": {
                                    "color": {"type": "string"},
                                    "replicas": {"type": "integer"},
                                    "size": {"type": "integer", "minimum": 1, "default": 3},
                                    "any": {"x-kubernetes-preserve-unknown-fields": True, "type": "object"},
                                    "ios": {"x-kubernetes-int-or-string": True},
                                    "false": {"type": "string", "nullable": True},
                                    "l": {
                                        "type": "array",
                                        "x-kubernetes-list-type": "map",
                                        "x-kubernetes-list-map-keys": ["name"],
                                        "items": {
                                            "type": "object",
                                            "required": ["name"],
                                            "properties": {"name": {"type": "string"}},
                                        },
                                    },
                                    "mode": {"type": "string", "enum": ["A", "B"]},
                                    "emb": {
                                        "type": "object",
                                        "x-kubernetes-embedded-resource": True,
                                        "x-kubernetes-preserve-unknown-fields": True,
                                    },
                                    "dict": {"type": "object", "additionalProperties": {"type": "string"}},
                                    "v": {
                                        "type": "integer",
                                        "x-kubernetes-validations": [{"rule": "self > 0", "message": "pos"}],
                                    },
                                    "al": {"allOf": [{"minimum": 3}], "type": "integer"},
                                },
                            },
                            "status": {"type": "object", "properties": {"replicas": {"type": "integer"}}},
                        },
                    }
                },
            }
        ],
    }
}


@functools.cache
def published() -> OpenApi:
    return OpenApi(catalog.builtin().with_crds([PRESENT]), [PRESENT])


@functools.cache
def document(path: str) -> Any:
    found = published().document(path)
    assert found is not None
    return json.loads(found.body)


@functools.cache
def swagger() -> Any:
    return json.loads(published().swagger().body)


def plain(value: Any) -> Any:
    """Without the descriptions; a field may be called so, too."""
    if isinstance(value, dict):
        return {key: plain(part) for key, part in value.items() if key != "description" or not isinstance(part, str)}
    return [plain(part) for part in value] if isinstance(value, list) else value


def test_paths_of_a_version_are_those_of_kubernetes() -> None:
    assert plain(document("apis/policy/v1")["paths"]) == PUBLISHED["policy"]


def test_paths_of_what_is_connected_to_are_those_of_kubernetes() -> None:
    paths = {path: found for path, found in document("api/v1")["paths"].items() if path.startswith("/api/v1/nodes")}
    assert plain(paths) == PUBLISHED["nodes"]


def test_paths_of_a_custom_kind_are_those_of_kubernetes() -> None:
    assert plain(document("apis/presentation.example.com/v1")["paths"]) == PUBLISHED["customPaths"]


@pytest.mark.parametrize("name", PUBLISHED["schemas"])
def test_schemas_are_those_of_kubernetes(name: str) -> None:
    assert plain(document("api/v1")["components"]["schemas"][name]) == PUBLISHED["schemas"][name]


def test_the_schema_of_a_custom_kind_is_that_of_kubernetes() -> None:
    made = document("apis/presentation.example.com/v1")["components"]["schemas"]["com.example.presentation.v1.Present"]
    assert made == PUBLISHED["custom"]


def test_the_recorded_answers() -> None:
    case = "kinds-discovery/openapi"
    definitions = recorded.given(case)
    api = OpenApi(catalog.builtin().with_crds(definitions), definitions)
    for step, expected in recorded.steps(case):
        path = step["send"]["path"]
        if path == "/openapi/v3":
            found = recorded.picked(api.index(), step["pick"])
            url, _, digest = found["serverRelativeURL"].partition("?hash=")
            assert expected["body"]["serverRelativeURL"] == f"{url}?hash=<hash>"
            assert digest
        elif path == "/openapi/v2":
            assert json.loads(api.swagger().body)["swagger"] == expected["body"]
        else:
            made = api.document(path.removeprefix("/openapi/v3/"))
            assert (made is None) is (expected["status"] == 404)
            if made is not None:
                assert recorded.picked(json.loads(made.body), step["pick"]) == expected["body"]


def references(value: Any) -> Iterator[str]:
    if isinstance(value, dict):
        if isinstance(value.get("$ref"), str):
            yield value["$ref"]
        for part in value.values():
            yield from references(part)
    elif isinstance(value, list):
        for part in value:
            yield from references(part)


@pytest.mark.parametrize("path", published().index()["paths"])
def test_every_document_holds_what_it_refers_to(path: str) -> None:
    made = document(path)
    known = {f"#/components/schemas/{name}" for name in made["components"]["schemas"]}
    assert set(references(made)) <= known
    ids = [one["operationId"] for found in made["paths"].values() for one in found.values() if isinstance(one, dict)]
    assert len(ids) == len(set(ids))


def test_version_2_holds_what_it_refers_to() -> None:
    assert set(references(swagger())) <= {f"#/definitions/{name}" for name in swagger()["definitions"]}


def test_version_2_knows_no_defaults_and_no_unions() -> None:
    definitions = swagger()["definitions"]
    assert definitions["io.k8s.apimachinery.pkg.util.intstr.IntOrString"] == {"type": "string", "format": "int-or-string"}
    port = definitions["io.k8s.api.core.v1.ContainerPort"]["properties"]["protocol"]
    assert port == {"type": "string", "enum": ["SCTP", "TCP", "UDP"]}
    spec = definitions["com.example.presentation.v1.Present"]["properties"]["spec"]["properties"]
    assert spec["any"] == {"x-kubernetes-preserve-unknown-fields": True}
    assert spec["ios"] == {"x-kubernetes-int-or-string": True}


@pytest.mark.parametrize("path", ["apis/apps/v1", "apis/presentation.example.com/v1"])
def test_kubectl_sees_that_patches_can_be_tried_and_checked(path: str) -> None:
    for found in document(path)["paths"].values():
        if "patch" in found:
            names = {one["name"] for one in (*found["patch"]["parameters"], *found.get("parameters", ()))}
            assert {"dryRun", "fieldValidation", "fieldManager"} <= names


def test_the_hash_tells_whether_a_document_changed() -> None:
    before = published()
    changed = json.loads(json.dumps(PRESENT))
    changed["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["description"] = "Another present."
    after = OpenApi(catalog.builtin().with_crds([changed]), [changed])
    assert before.hash("apis/apps/v1") == after.hash("apis/apps/v1")
    assert before.hash("apis/presentation.example.com/v1") != after.hash("apis/presentation.example.com/v1")
    made = after.document("apis/apps/v1")
    assert made is not None
    assert made.etag == f'"{after.hash("apis/apps/v1")}"'
    assert after.hash("apis/nosuch/v1") is None
