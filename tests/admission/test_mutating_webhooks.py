"""What a mutating webhook's patch does to the object, and what counts as a change."""

import base64
import json
from collections.abc import Sequence
from typing import Any

import pytest

from kadmit.admission import chain
from kadmit.admission.answers import Answer
from kadmit.admission.outcome import Record
from kadmit.admission.snapshot import Configuration, build
from kadmit.admission.webhooks import Call
from kadmit.api.errors import ApiError
from kadmit.authoring.cluster import ADMIN, Cluster
from kadmit.matching.attributes import CREATE, UPDATE, Attributes

RULES = [{"operations": ["*"], "apiGroups": ["*"], "apiVersions": ["*"], "resources": ["*"]}]
MANAGED = {"manager": "m", "operation": "Update", "apiVersion": "v1", "time": "2026-01-01T00:00:00Z", "fieldsV1": {}}


def configmap(**data: str) -> dict[str, Any]:
    metadata = {"name": "a", "namespace": "default", "managedFields": [MANAGED]}
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": {"k": "v", **data}}


def pod() -> dict[str, Any]:
    spec = {"containers": [{"name": "c", "image": "i:1"}]}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "a", "namespace": "default"}, "spec": spec}


def patched(new: dict[str, Any], old: dict[str, Any] | None, *patches: Sequence[dict[str, Any]]) -> tuple[Attributes, Record]:
    """A request through as many webhooks as there are patches."""
    hooks = [
        {"name": f"h{i}", "rules": RULES, "admissionReviewVersions": ["v1"], "sideEffects": "None"} for i in range(len(patches))
    ]
    registered = build(Configuration(mutating_webhooks=[{"metadata": {"name": "c"}, "webhooks": hooks}]))
    cluster = Cluster()
    target = cluster.target(new)
    after, before = (None if o is None else cluster.known.normalise(target.kind, o).object for o in (new, old))
    operation = UPDATE if old else CREATE
    asked = Attributes(
        target.kind, target.gvr, operation, name="a", namespace="default", object=after, old_object=before, user=ADMIN
    )

    def answered(calls: Sequence[Call]) -> list[Answer]:
        patch = base64.b64encode(json.dumps(patches[int(calls[0].webhook.name[1:])]).encode()).decode()
        response = {"uid": "u", "allowed": True, "patchType": "JSONPatch", "patch": patch}
        return [Answer("u", {"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "response": response})]

    record = Record()
    return chain.drive(chain.mutate(registered, asked, cluster.state.world(None), record), answered), record


def mutated(record: Record) -> list[bool]:
    prefix = "mutation.webhook.admission.k8s.io/round_0"
    return [json.loads(v)["mutated"] for k, v in sorted(record.annotations.items()) if k.startswith(prefix)]


SAME = [{"op": "add", "path": "/data/k", "value": "v"}]


@pytest.mark.parametrize(
    ("new", "old", "changed"),
    [
        (configmap(), None, True),
        (configmap(), configmap(), False),
        (configmap(more="1"), configmap(), True),
        (configmap(more="2"), configmap(more="1"), True),
        (configmap(), configmap(less="1"), False),
    ],
)
def test_a_first_patch_without_effect_counts_where_the_request_itself_changed_something(
    new: dict[str, Any], old: dict[str, Any] | None, changed: bool
) -> None:
    _, record = patched(new, old, SAME, SAME)
    assert mutated(record) == [changed, False]


def test_taking_away_what_a_default_brings_back_is_a_change() -> None:
    first = [{"op": "add", "path": "/metadata/annotations", "value": {"a": "1"}}]
    unknown = [{"op": "add", "path": "/spec/nope", "value": 1}]
    after, record = patched(pod(), None, first, unknown, [{"op": "remove", "path": "/spec/dnsPolicy"}])
    assert mutated(record) == [True, False, True]
    assert after.object is not None
    assert after.object["spec"]["dnsPolicy"] == "ClusterFirst"


POD = [{"op": "add", "path": "/kind", "value": "Pod"}]
DEPLOYMENT = [{"op": "add", "path": "/apiVersion", "value": "apps/v1"}, {"op": "add", "path": "/kind", "value": "Deployment"}]


@pytest.mark.parametrize(("patch", "kind"), [(POD, "v1.Pod"), (DEPLOYMENT, "v1.Deployment")])
def test_another_kind_is_found_out_when_all_webhooks_were_asked(patch: Sequence[dict[str, Any]], kind: str) -> None:
    text = f"converting ({kind}) to (core.ConfigMap): unknown conversion"
    with pytest.raises(ApiError) as caught:
        patched(configmap(), None, patch, [])
    status = caught.value.status
    assert (status.code, status.reason, status.message, status.details) == (500, "", text, None)
