"""Bindings: what a Pod gets from one, and when it is too late or too early for it."""

from typing import Any

import pytest

from kadmit.api.errors import ApiError
from kadmit.resources import assigning

NOW = "2026-01-01T00:00:00Z"


def pod(**spec: Any) -> dict[str, Any]:
    return {"metadata": {"name": "p", "namespace": "n", "uid": "u", "labels": {"a": "1", "b": "1"}}, "spec": spec}


def binding(node: str = "node", **metadata: Any) -> dict[str, Any]:
    return {"metadata": {"name": "p", **metadata}, "target": {"name": node}}


def test_labels_and_annotations_of_a_binding_go_to_the_pod() -> None:
    made = assigning.bound(pod(), binding(labels={"b": "2"}, annotations={"c": "3"}), NOW)
    assert made["spec"]["nodeName"] == "node"
    assert made["metadata"]["labels"] == {"a": "1", "b": "2"}
    assert made["metadata"]["annotations"] == {"c": "3"}
    assert made["status"]["conditions"][0]["type"] == "PodScheduled"


@pytest.mark.parametrize(
    ("given", "told"),
    [
        (pod(nodeName="x"), 'pod p is already assigned to node "x"'),
        (pod(schedulingGates=[{"name": "g"}]), "pod p has non-empty .spec.schedulingGates"),
        ({**pod(), "metadata": {"name": "p", "deletionTimestamp": NOW}}, "pod p is being deleted, cannot be assigned to a host"),
    ],
)
def test_a_pod_that_cannot_have_a_node_now_is_a_conflict(given: dict[str, Any], told: str) -> None:
    with pytest.raises(ApiError, match="pods/binding") as refused:
        assigning.bound(given, binding(), NOW)
    assert refused.value.status.code == 409
    assert str(refused.value).endswith(told)


def test_a_binding_may_say_which_very_pod_it_means() -> None:
    assigning.bound(pod(), binding(uid="u"), NOW)
    with pytest.raises(ApiError, match="Precondition failed: UID in precondition: other, UID in object meta: u"):
        assigning.bound(pod(), binding(uid="other"), NOW)


@pytest.mark.parametrize(
    ("target", "told"),
    [
        ({}, "target.name: Required value"),
        ({"kind": "Pod", "name": "x"}, 'target.kind: Unsupported value: "Pod": supported values: "Node", "<empty>"'),
    ],
)
def test_what_is_wrong_with_a_target_is_told_without_a_reason(target: dict[str, str], told: str) -> None:
    with pytest.raises(ApiError) as refused:
        assigning.validate({"target": target})
    assert (refused.value.status.code, refused.value.status.reason, str(refused.value)) == (500, "", told)
