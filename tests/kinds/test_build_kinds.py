"""The tool that makes the table of kinds, on a server of one kind."""

import json
import subprocess
import sys
import zlib
from pathlib import Path
from typing import Any

SPEC = "#/components/schemas/com.example.v1.Spec"
TOOL = Path(__file__).parents[2] / "tools" / "build_kinds.py"

DOCUMENT = {
    "openapi": "3.0.0",
    "components": {
        "schemas": {
            "com.example.v1.Widget": {
                "type": "object",
                "description": "left out",
                "required": ["size"],
                "properties": {
                    "spec": {
                        "allOf": [{"$ref": SPEC}],
                        "default": {},
                        "description": "left out",
                    },
                    "other": {"$ref": SPEC},
                    "size": {"type": "integer", "format": "int32"},
                    "tags": {"type": "array", "items": {"type": "string"}, "x-kubernetes-list-type": "set"},
                },
                "x-kubernetes-group-version-kind": [{"group": "example.com", "version": "v1", "kind": "Widget"}],
            },
            "com.example.v1.Spec": {"type": "object", "additionalProperties": {"type": "string"}},
        }
    },
}
DISCOVERY = {
    "apis": {
        "items": [
            {
                "metadata": {"name": "example.com"},
                "versions": [
                    {
                        "version": "v1",
                        "resources": [
                            {
                                "resource": "widgets",
                                "responseKind": {"group": "", "version": "", "kind": "Widget"},
                                "scope": "Namespaced",
                                "singularResource": "widget",
                                "verbs": ["get"],
                                "subresources": [
                                    {
                                        "subresource": "scale",
                                        "responseKind": {"group": "autoscaling", "version": "v1", "kind": "Scale"},
                                        "verbs": ["get"],
                                    }
                                ],
                            }
                        ],
                    }
                ],
            }
        ]
    }
}


def test_the_table_holds_resources_and_schemas_by_line(tmp_path: Path) -> None:
    openapi, discovery, out = tmp_path / "openapi", tmp_path / "discovery.json", tmp_path / "table.bin"
    openapi.mkdir()
    (openapi / "example.json").write_text(json.dumps(DOCUMENT))
    discovery.write_text(json.dumps(DISCOVERY))
    command = [sys.executable, str(TOOL), "--openapi", str(openapi), "--discovery", str(discovery), "--out", str(out)]
    subprocess.run(command, check=True, capture_output=True)
    head, *lines = zlib.decompress(out.read_bytes()).decode().split("\n")
    assert json.loads(head) == {
        "resources": [
            {
                "g": "example.com",
                "v": "v1",
                "k": "Widget",
                "p": "widgets",
                "s": "widget",
                "ns": True,
                "verbs": ["get"],
                "sub": [["scale", "autoscaling", "v1", "Scale", ["get"]]],
            }
        ],
        "kinds": {"example.com/v1/Widget": "com.example.v1.Widget"},
    }
    schemas: dict[str, Any] = {name: json.loads(text) for name, _, text in (line.partition(" ") for line in lines)}
    assert schemas["com.example.v1.Spec"] == {"type": "object", "additionalProperties": {"type": "string"}}
    properties = schemas["com.example.v1.Widget"]["properties"]
    assert properties["spec"] == {"default": {}, "$ref": "com.example.v1.Spec", "x-go": "w"}
    assert properties["other"] == {"$ref": "com.example.v1.Spec", "x-go": "p"}
    assert properties["size"] == {"type": "integer", "format": "int32", "x-go": "w"}
    assert properties["tags"] == {"type": "array", "x-kubernetes-list-type": "set", "items": {"type": "string"}}
