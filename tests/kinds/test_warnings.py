"""Objects that the server takes, and what it says about them: a table of both, recorded."""

import json
from pathlib import Path
from typing import Any

import pytest
from tests.kinds.registry import Registry

from kadmit.api.meta import GroupVersionKind, parse_api_version
from kadmit.kinds.rules import warnings

ROWS = [json.loads(line) for line in (Path(__file__).parent / "warned.jsonl").read_text().splitlines()]
SERVICE = GroupVersionKind("", "v1", "Service")


def _id(row: dict[str, Any]) -> str:
    return f"{row['create']['kind']}-{len(row['warnings'])}"


@pytest.mark.parametrize("row", ROWS, ids=_id)
def test_new_objects_are_warned_of_in_the_words_of_the_server(row: dict[str, Any]) -> None:
    stored = Registry().create(row["create"])
    kind = GroupVersionKind(*parse_api_version(row["create"]["apiVersion"]), row["create"]["kind"])
    assert warnings.of(kind, stored) == row["warnings"]


def test_what_is_written_of_a_part_is_not_warned_of() -> None:
    service = {"spec": {"type": "ClusterIP", "externalName": "x"}}
    assert warnings.of(SERVICE, service, service) == ['spec.externalName is ignored when spec.type is not "ExternalName"']
    assert warnings.of(SERVICE, service, service, "status") == []


def test_formats_that_were_there_before_are_not_told_again() -> None:
    def definition(*formats: str) -> dict[str, Any]:
        properties = {f"p{number}": {"type": "string", "format": name} for number, name in enumerate(formats)}
        return {"spec": {"versions": [{"schema": {"openAPIV3Schema": {"type": "object", "properties": properties}}}]}}

    kind = GroupVersionKind("apiextensions.k8s.io", "v1", "CustomResourceDefinition")
    assert warnings.of(kind, definition("zip", "zap", "date"), definition("zip")) == ['unrecognized format "zap"']
