"""Objects in another version of their kind."""

import json
from pathlib import Path
from typing import Any

import pytest
from tests.conformance import ledger

from kadmit.kinds import conversion, decoding
from kadmit.kinds.conversion import UnknownConversion

Json = Any

# What Kubernetes' own code made of autoscalers and events in their other version; some annotations are damaged.
ROWS = [json.loads(line) for line in Path(__file__).with_name("converted.jsonl").read_text().splitlines()]


@pytest.mark.parametrize("row", ROWS, ids=[f"{index}-{row['to']}" for index, row in enumerate(ROWS)])
def test_objects_are_converted_as_kubernetes_converts_them(row: Json) -> None:
    made = conversion.convert(row["value"], decoding.kind_of(row["converted"]))
    assert ledger.same(row["converted"], made), f"{row['converted']} is not {made}"


def test_an_object_of_the_right_version_is_returned_itself() -> None:
    value = {"apiVersion": "v1", "kind": "ConfigMap"}
    assert conversion.convert(value, ("", "v1", "ConfigMap")) is value


@pytest.mark.parametrize(
    ("of", "kind"), [("example.com/v1", "Widget"), ("admissionregistration.k8s.io/v1beta1", "MutatingAdmissionPolicy")]
)
def test_all_other_kinds_only_change_their_version(of: str, kind: str) -> None:
    group = of.partition("/")[0]
    value = {"apiVersion": of, "kind": kind, "spec": {"a": 1}}
    made = conversion.convert(value, (group, "v2", kind))
    assert made == {"apiVersion": f"{group}/v2", "kind": kind, "spec": {"a": 1}}
    assert made["spec"] is value["spec"]


def test_what_is_another_kind_is_not_converted() -> None:
    with pytest.raises(UnknownConversion) as caught:
        conversion.convert({"apiVersion": "v1", "kind": "Secret"}, ("", "v1", "ConfigMap"))
    assert str(caught.value) == "converting (v1.Secret) to (v1.ConfigMap): unknown conversion"
