"""The mutating half of the chain, driven without webhooks."""

import gc
from typing import Any

import pytest

from kadmit.admission import chain
from kadmit.admission.outcome import Record
from kadmit.admission.snapshot import Configuration, Snapshot, build
from kadmit.api.errors import ApiError
from kadmit.api.meta import GroupVersionKind
from kadmit.authoring.cluster import ADMIN, Cluster, nobody_answers
from kadmit.cel.composition import Variables
from kadmit.cel.library.authorizer import Attributes as Asked
from kadmit.cel.library.authorizer import Decision
from kadmit.matching.attributes import CREATE, Attributes

POD = {
    "apiVersion": "v1",
    "kind": "Pod",
    "metadata": {"name": "web", "namespace": "default", "labels": {"app": "web"}},
    "spec": {"containers": [{"name": "web", "image": "web:1"}]},
}
RULES = [{"operations": ["CREATE"], "apiGroups": [""], "apiVersions": ["v1"], "resources": ["pods"]}]


def cluster() -> Cluster:
    made = Cluster()
    made.put({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "default", "labels": {"tier": "front"}}})
    return made


def request(given: Cluster, namespace: str = "default") -> Attributes:
    target = given.target(POD)
    body = given.known.normalise(GroupVersionKind("", "v1", "Pod"), POD).object
    return Attributes(target.kind, target.gvr, CREATE, name="web", namespace=namespace, object=body, user=ADMIN)


def snapshot(**spec: Any) -> Snapshot:
    policy = {"failurePolicy": "Fail", "matchConstraints": {"resourceRules": RULES}, **spec}
    return build(
        Configuration(
            mutating_policies=[{"metadata": {"name": "p"}, "spec": policy}],
            mutating_bindings=[{"metadata": {"name": "b"}, "spec": {"policyName": "p"}}],
        )
    )


def labelling(value: str) -> dict[str, Any]:
    expression = f"Object{{metadata: Object.metadata{{labels: {{'added': {value}}}}}}}"
    return {"patchType": "ApplyConfiguration", "applyConfiguration": {"expression": expression}}


def admit(given: Cluster, registered: Snapshot, asked: Attributes) -> Any:
    world = given.state.world(given.authorizer)
    return chain.drive(chain.mutate(registered, asked, world, Record()), nobody_answers).object


def test_a_mutation_shares_what_it_does_not_change_and_changes_no_input() -> None:
    given = cluster()
    asked = request(given)
    after = admit(given, snapshot(mutations=[labelling("'yes'")]), asked)
    assert after["metadata"]["labels"] == {"app": "web", "added": "yes"}
    assert asked.object is not None
    assert asked.object["metadata"]["labels"] == {"app": "web"}
    assert after["spec"] is asked.object["spec"]


def test_both_rounds_see_the_namespace() -> None:
    given = cluster()
    value = "namespaceObject.metadata.labels.tier + object.metadata.?labels.added.orValue('')"
    registered = snapshot(mutations=[labelling(value)], reinvocationPolicy="IfNeeded")
    assert admit(given, registered, request(given))["metadata"]["labels"]["added"] == "frontfront"


def test_a_policy_in_a_namespace_that_is_not_there_is_refused() -> None:
    given = cluster()
    with pytest.raises(ApiError, match='namespaces "nowhere" not found'):
        admit(given, snapshot(mutations=[labelling("'yes'")]), request(given, "nowhere"))


class OnlyCreates:
    def check(self, attributes: Asked) -> Decision:
        return Decision(attributes.verb == "create")


@pytest.mark.parametrize(("verb", "labelled"), [("create", True), ("delete", False)])
def test_a_condition_may_ask_the_authorizer(verb: str, labelled: bool) -> None:
    given = cluster()
    given.authorizer = OnlyCreates()
    condition = {"name": "c", "expression": f"authorizer.requestResource.check('{verb}').allowed()"}
    after = admit(given, snapshot(mutations=[labelling("'yes'")], matchConditions=[condition]), request(given))
    assert ("added" in after["metadata"]["labels"]) is labelled


def test_a_mutation_may_ask_the_authorizer() -> None:
    given = cluster()
    given.authorizer = OnlyCreates()
    asking = labelling("string(authorizer.requestResource.check('create').allowed())")
    assert admit(given, snapshot(mutations=[asking]), request(given))["metadata"]["labels"]["added"] == "true"


def test_a_mutation_leaves_no_variables_to_the_garbage_collector() -> None:
    given = cluster()
    registered, asked = (
        snapshot(variables=[{"name": "v", "expression": "'yes'"}], mutations=[labelling("variables.v")]),
        request(given),
    )
    gc.collect()
    gc.disable()
    try:
        before = _living_variables()  # that other tests have kept
        assert admit(given, registered, asked)["metadata"]["labels"]["added"] == "yes"
        assert _living_variables() == before
    finally:
        gc.enable()


def _living_variables() -> int:
    return sum(type(found) is Variables for found in gc.get_objects())


@pytest.mark.parametrize(
    "mutation",
    [
        {"patchType": "JSONPatch", "jsonPatch": {"expression": "[JSONPatch{op: 'add', path: '/spec', value: variables.v60}]"}},
        {"patchType": "ApplyConfiguration", "applyConfiguration": {"expression": "Object{spec: variables.v60}"}},
    ],
    ids=["JSONPatch", "ApplyConfiguration"],
)
def test_a_patch_that_is_small_only_in_memory_is_refused(mutation: dict[str, Any]) -> None:
    doubling = [{"name": f"v{i + 1}", "expression": f"[variables.v{i}, variables.v{i}]"} for i in range(60)]
    variables = [{"name": "v0", "expression": "[1]"}, *doubling]
    given = cluster()
    with pytest.raises(ApiError, match="more than 10000000 steps of work"):
        admit(given, snapshot(mutations=[mutation], variables=variables), request(given))
