"""Requests of a log before new policies: what they would come to, and what is remembered from one to the next."""

import json
from collections.abc import Iterator
from typing import Any, TypeAlias

import pytest
from tests.authoring.test_replaying_log import OBJECT, STORED, event

from kadmit.authoring import manifests
from kadmit.authoring.manifests import File
from kadmit.authoring.replaying import findings as finding
from kadmit.authoring.replaying import log
from kadmit.authoring.replaying import replay as replaying
from kadmit.authoring.replaying.replay import Replay

Json: TypeAlias = dict[str, Any]

RULES = '{apiGroups: [""], apiVersions: [v1], operations: [CREATE, UPDATE, DELETE], resources: [configmaps]}'


def policy(expression: str, *, actions: str = "Deny", spec: str = "", binding: str = "", name: str = "p") -> str:
    return f"""
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicy
metadata: {{name: {name}}}
spec:
  {spec}
  matchConstraints: {{resourceRules: [{RULES}]}}
  validations: [{{expression: '{expression}', message: not this}}]
---
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicyBinding
metadata: {{name: {name}}}
spec: {{policyName: {name}, validationActions: [{actions}] {binding}}}
"""


def mutation(expression: str, *, fail: str = "Fail") -> str:
    return f"""
apiVersion: admissionregistration.k8s.io/v1
kind: MutatingAdmissionPolicy
metadata: {{name: m}}
spec:
  failurePolicy: {fail}
  reinvocationPolicy: Never
  matchConstraints: {{resourceRules: [{RULES.replace(", DELETE", "")}]}}
  mutations: [{{patchType: JSONPatch, jsonPatch: {{expression: '{expression}'}}}}]
---
apiVersion: admissionregistration.k8s.io/v1
kind: MutatingAdmissionPolicyBinding
metadata: {{name: m}}
spec: {{policyName: m}}
"""


def replay(policies: str, *events: Json, **options: Any) -> Replay:
    made = Replay(manifests.read(File("policies.yaml", policies.encode())), **options)
    for each in events:
        for line in log.read(json.dumps(each).encode()):
            made.take(line)
    return made


def counts(made: Replay) -> Json:
    told = made.findings.as_json()
    return {k: v for k, v in told.items() if isinstance(v, int) and v}


def with_data(value: Json, **data: str) -> Json:
    return {**value, "data": data}


DELETED = event("delete", requestObject=None, responseObject={"kind": "Status", "status": "Success"})


@pytest.mark.parametrize(
    ("policies", "events", "expected"),
    [
        (policy("object.data.x != \"1\""), [event()], {"replayed": 1, "denied": 1}),
        (policy("object.data.x != \"1\"", actions="Warn"), [event()], {"replayed": 1, "warned": 1}),
        (policy("object.data.x != \"1\"", actions="Audit"), [event()], {"replayed": 1, "audited": 1}),
        (policy("object.data.x == \"1\""), [event()], {"replayed": 1, "unaffected": 1}),
        (policy("object.data.x != \"1\""), [event("patch")], {"replayed": 1, "denied": 1}),
        (policy("oldObject.data.x != \"1\""), [event(), DELETED], {"replayed": 2, "denied": 2}),
        (policy("object.data.z == \"1\"", spec="failurePolicy: Ignore"), [event()], {"replayed": 1, "ignored": 1}),
        (mutation('[JSONPatch{op: "add", path: "/data/y", value: "2"}]'), [event()], {"replayed": 1, "changed": 1}),
        (mutation('[JSONPatch{op: "remove", path: "/data/z"}]'), [event()], {"replayed": 1, "denied": 1}),
        (mutation('[JSONPatch{op: "remove", path: "/data/z"}]', fail="Ignore"), [event()], {"replayed": 1, "ignored": 1}),
    ],
)  # fmt: skip
def test_what_a_request_comes_to(policies: str, events: list[Json], expected: Json) -> None:
    assert counts(replay(policies, *events)) == expected


def test_a_mutation_that_makes_nonsense_is_what_denies() -> None:
    made = replay(mutation('[JSONPatch{op: "add", path: "/data/no key", value: "2"}]'), event())
    (finding,) = [f for f in made.findings.as_json()["findings"] if f["effect"] == "denied"]
    assert finding["policy"] == "m"
    assert finding["message"].startswith('what it makes is refused: ConfigMap "a" is invalid: data[no key]: Invalid value')


def test_what_the_api_itself_refuses_is_no_finding() -> None:
    wrong = {**OBJECT, "data": {"no key": "1"}}
    made = replay(policy("true"), event(requestObject=wrong, responseObject=None, level="Request"))
    assert counts(made) == {"lost": 1}
    (missed,) = made.findings.as_json()["notReplayed"]
    assert missed["reason"] == "refused by the API itself, without any policy (422 Invalid)"


# ---------------------------------------------------------------- what is remembered


CHANGED_X = policy("oldObject == null || object == null || object.data.x == oldObject.data.x")


def test_an_update_is_held_against_what_the_log_showed_before() -> None:
    changed = event("update", requestObject=with_data(OBJECT, x="2"), responseObject=with_data(STORED, x="2"))
    assert counts(replay(CHANGED_X, event(), changed)) == {"replayed": 2, "denied": 1, "unaffected": 1}
    # The first change counts, as it did then, whatever the policy says.
    assert counts(replay(CHANGED_X, event(), changed, changed)) == {"replayed": 3, "denied": 1, "unaffected": 2}


def test_an_update_of_what_was_never_shown_changes_nothing_and_says_so() -> None:
    made = replay(CHANGED_X, event("update", requestObject=with_data(OBJECT, x="2"), level="Request", responseObject=None))
    assert counts(made) == {"replayed": 1, "unaffected": 1}
    assert made.findings.as_json()["assumed"] == [{"assumption": replaying.UNKNOWN_OLD, "count": 1}]


def test_files_show_objects_too() -> None:
    there = f"{CHANGED_X}\n---\n{json.dumps(OBJECT)}"
    changed = event("update", requestObject=with_data(OBJECT, x="2"))
    assert counts(replay(there, changed)) == {"replayed": 1, "denied": 1}


def test_a_deletion_of_what_was_never_shown_is_lost() -> None:
    made = replay(policy("true"), DELETED)
    assert counts(made) == {"lost": 1}
    assert "DELETE of an object that the log has not shown before" in made.findings.missed


def test_a_deletion_is_replayed_by_its_answer() -> None:
    deleted = event("delete", requestObject=None)
    assert counts(replay(policy('oldObject.data.x != "1"'), deleted)) == {"replayed": 1, "denied": 1}


def test_an_object_that_is_made_again_is_new() -> None:
    assert counts(replay(policy("oldObject == null"), event(), event())) == {"replayed": 2, "unaffected": 2}


def test_only_so_many_objects_are_remembered() -> None:
    def numbered(number: int, verb: str) -> Json:
        reference = {"resource": "configmaps", "namespace": "shop", "name": f"a{number}", "apiVersion": "v1"}
        metadata = {"name": f"a{number}", "namespace": "shop"}
        return event(
            verb, objectRef=reference, requestObject={**OBJECT, "metadata": metadata}, responseObject=None, level="Request"
        )

    events = [*(numbered(n, "create") for n in range(5)), *(numbered(n, "update") for n in range(5))]
    assert replay(CHANGED_X, *events, kept=100).findings.assumed == {}
    assert replay(CHANGED_X, *events, kept=2).findings.assumed[replaying.UNKNOWN_OLD] == 5


def test_a_dry_run_leaves_nothing() -> None:
    first = event(requestURI="/api/v1/namespaces/shop/configmaps?dryRun=All")
    made = replay(policy("true"), first, event("update", responseObject=None, level="Request"))
    assert made.findings.assumed == {replaying.UNKNOWN_OLD: 1}


def test_params_and_namespaces_of_the_log_count() -> None:
    spec = "paramKind: {apiVersion: v1, kind: ConfigMap}"
    binding = ", paramRef: {name: limits, namespace: rules, parameterNotFoundAction: Allow}"
    policies = policy(
        'object == null || object.metadata.name == "limits" || object.data.x == params.data.x', spec=spec, binding=binding
    )
    params = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "limits", "namespace": "rules"}, "data": {"x": "9"}}
    reference = {"resource": "configmaps", "namespace": "rules", "name": "limits", "apiVersion": "v1"}
    shown = event(objectRef=reference, requestObject=params, responseObject=params)
    assert counts(replay(policies, event())) == {"replayed": 1, "unaffected": 1}
    assert counts(replay(policies, shown, event())) == {"replayed": 2, "denied": 1, "unaffected": 1}


def test_a_kind_is_known_from_the_log_or_named_as_unknown() -> None:
    schema = {"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": True}}
    version = {"name": "v1", "served": True, "storage": True, "schema": schema}
    names = {"plural": "widgets", "singular": "widget", "kind": "Widget", "listKind": "WidgetList"}
    spec = {"group": "example.com", "scope": "Namespaced", "names": names, "versions": [version]}
    definition = {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": "widgets.example.com"},
        "spec": spec,
    }
    crd = event(
        objectRef={"resource": "customresourcedefinitions", "apiGroup": "apiextensions.k8s.io", "apiVersion": "v1", "name": "x"},
        requestObject=definition,
        responseObject=None,
        level="Request",
    )
    crd["objectRef"]["name"] = "widgets.example.com"
    widget = {
        "apiVersion": "example.com/v1",
        "kind": "Widget",
        "metadata": {"name": "w", "namespace": "shop"},
        "data": {"x": "1"},
    }
    reference = {"resource": "widgets", "apiGroup": "example.com", "apiVersion": "v1", "namespace": "shop", "name": "w"}
    made = event(objectRef=reference, requestObject=widget, responseObject=None, level="Request")
    policies = policy("false").replace('apiGroups: [""]', 'apiGroups: ["*"]').replace("[configmaps]", '["*"]')
    assert counts(replay(policies, made)) == {"lost": 1}
    assert counts(replay(policies, crd, made)) == {"replayed": 2, "denied": 2}


def test_what_configures_admission_is_not_obeyed_and_not_judged() -> None:
    registered = next(iter(manifests.read(File("p", policy("false").encode())))).value
    reference = {"resource": "validatingadmissionpolicies", "apiGroup": "admissionregistration.k8s.io", "apiVersion": "v1"}
    made = replay(policy("true", name="q"), event(objectRef=reference, requestObject=registered), event())
    assert counts(made) == {"replayed": 1, "unaffected": 1, "lost": 1}


def test_a_status_is_a_request_of_its_own() -> None:
    pod = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "p", "namespace": "shop"},
        "spec": {"containers": [{"name": "c", "image": "i"}]},
    }
    reference = {"resource": "pods", "subresource": "status", "namespace": "shop", "name": "p", "apiVersion": "v1"}
    sent = {**pod, "status": {"phase": "Failed"}}
    told = event("update", objectRef=reference, requestObject=sent, responseObject=sent)
    policies = policy('object.status.phase != "Failed"').replace("[configmaps]", "[pods/status]")
    assert counts(replay(policies, told)) == {"replayed": 1, "denied": 1}


# ---------------------------------------------------------------- how much is kept


def test_messages_without_number_are_counted_together(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(finding, "MAX_GROUPS", 2)
    monkeypatch.setattr(finding, "MAX_NAMES", 1)
    policies = policy("false").replace("message: not this", "messageExpression: string(object.data.x)")
    events = [event(requestObject=with_data(OBJECT, x=str(n)), user={"username": f"user-{n}"}) for n in range(4)]
    told = replay(policies, *events).findings.as_json()["findings"]
    assert [(f["message"], f["count"], f["users"]) for f in told] == [
        ("(others)", 2, {"user-2": 1, "(others)": 1}),
        ("0", 1, {"user-0": 1}),
        ("1", 1, {"user-1": 1}),
    ]


def test_a_finding_has_counts_and_so_many_examples() -> None:
    made = replay(policy("false"), event(), event("patch"), event("update"), examples=2)
    (finding,) = made.findings.as_json()["findings"]
    assert (finding["count"], finding["users"], finding["namespaces"]) == (3, {"alice": 3}, {"shop": 3})
    first = {"operation": "CREATE", "namespace": "shop", "name": "a", "user": "alice"}
    assert finding["examples"][0] == {**first, "at": "2026-01-01T00:00:00.000000Z", "auditID": "id-1"}
    assert len(finding["examples"]) == 2


# ---------------------------------------------------------------- hostile logs


JUNK: list[Any] = [None, 0, True, "x" * 300, [1], {"a": 1}, {"metadata": []}]
POD = {
    "apiVersion": "v1",
    "kind": "Pod",
    "metadata": {"name": "p", "namespace": "shop", "labels": {"a": "b"}},
    "spec": {"containers": [{"name": "c", "image": "i"}]},
}
PODS = {"resource": "pods", "namespace": "shop", "name": "p", "apiVersion": "v1"}


def paths(value: Any, at: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    inside = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, inner in inside:
        yield (*at, key)
        yield from paths(inner, (*at, key))


def replaced(value: Any, path: tuple[Any, ...], junk: Any) -> Any:
    if not path:
        return junk
    changed = dict(value) if isinstance(value, dict) else list(value)
    changed[path[0]] = replaced(value[path[0]], path[1:], junk)
    return changed


@pytest.mark.parametrize("verb", ["create", "update", "patch", "delete"])
@pytest.mark.parametrize("subresource", ["", "status"])
def test_no_event_can_stop_a_replay(verb: str, subresource: str) -> None:
    told = event(verb, objectRef={**PODS, "subresource": subresource}, requestObject=POD, responseObject=POD)
    policies = policy('object == null || object.metadata.name != "q"').replace("[configmaps]", "[pods, pods/status]")
    events = [replaced(told, path, junk) for path in paths(told) for junk in JUNK]
    findings = replay(policies, *events).findings
    missed = sum(m.count for m in findings.missed.values())
    assert findings.replayed + missed == len(events)
