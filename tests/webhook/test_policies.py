"""A review through the engine and back: attributes, patches, refusals, words."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.webhook.reviewing import (
    MUTATE,
    VALIDATE,
    config_map,
    json_patch,
    judged,
    label,
    label_of,
    mutating,
    request,
    validating,
    view,
)

from kadmit.admission import chain
from kadmit.admission.outcome import Record
from kadmit.patch import jsonpatch
from kadmit.webhook.policies import Share, annotation_name, attributes_of, entries, shares
from kadmit.webhook.questions import Nowhere
from kadmit.webhook.review import BadReview
from kadmit.webhook.surroundings import Surroundings


def test_a_mutation_is_answered_as_the_patch_that_makes_it() -> None:
    answer = judged(view(mutating("p", label("mutated"))), request(config_map()))
    assert answer.allowed
    assert answer.patch == [{"op": "add", "path": "/metadata/labels", "value": {"mutated": "yes"}}]


def test_a_mutation_that_changes_nothing_is_no_patch() -> None:
    labelled = config_map(metadata={"name": "a", "namespace": "shop", "labels": {"mutated": "yes"}})
    answer = judged(view(mutating("p", label("mutated"))), request(labelled))
    assert (answer.allowed, answer.patch, answer.status) == (True, [], None)


def test_what_is_not_matched_is_allowed() -> None:
    assert judged(view(mutating("p", label("mutated"))), request(None, "DELETE")).patch == []


def test_only_what_changed_is_in_the_patch() -> None:
    large = config_map(data={f"key-{n}": "x" * 50 for n in range(200)})
    policy = mutating("p", json_patch('[JSONPatch{op: "replace", path: "/data/key-7", value: "y"}]'))
    assert judged(view(policy), request(large)).patch == [{"op": "replace", "path": "/data/key-7", "value": "y"}]


_TEXT = st.text("abc", min_size=1, max_size=3)
_DATA = st.dictionaries(_TEXT, _TEXT, max_size=4)
_MUTATIONS = st.lists(
    st.one_of(
        st.builds(label, _TEXT, _TEXT),
        st.builds(lambda k, v: json_patch(f'[JSONPatch{{op: "add", path: "/data/{k}", value: "{v}"}}]'), _TEXT, _TEXT),
        st.builds(lambda k: json_patch(f'has(object.data.{k}) ? [JSONPatch{{op: "remove", path: "/data/{k}"}}] : []'), _TEXT),
    ),
    min_size=1,
    max_size=4,
)


@given(data=_DATA, mutations=_MUTATIONS)
def test_applying_the_patch_gives_what_the_engine_makes(data: dict[str, str], mutations: list[Any]) -> None:
    seen = view(mutating("p", *mutations))
    asked = request(config_map(data=data | {"k": "v"}))
    world = Surroundings(seen.world, Nowhere())
    made = chain.drive(chain.mutate(seen.published[MUTATE], attributes_of(asked), world, Record()), lambda _: ()).object
    patch = list(judged(seen, asked).patch)
    assert jsonpatch.decode(patch).apply(asked["object"]) == made
    assert (patch == []) == (made == asked["object"])


def test_a_refusal_has_the_text_the_code_and_the_reason_of_the_policy() -> None:
    policy = validating("p", {"expression": "has(object.data)", "message": "data is missing", "reason": "Forbidden"})
    answer = judged(view(policy), request(config_map()), VALIDATE)
    text = "ValidatingAdmissionPolicy 'p' with binding 'p' denied request: data is missing"
    assert not answer.allowed
    assert answer.status is not None
    assert (answer.status["code"], answer.status["reason"]) == (403, "Forbidden")
    assert answer.status["message"] == f'configmaps "a" is forbidden: {text}'
    assert answer.status["details"] == {"name": "a", "kind": "configmaps", "causes": [{"message": text}]}


def test_warnings_and_audit_annotations_go_with_the_answer() -> None:
    policy = validating(
        "p",
        {"expression": "false", "message": "mind"},
        actions=["Warn", "Audit"],
        auditAnnotations=[{"key": "who", "valueExpression": "request.userInfo.username"}],
    )
    answer = judged(view(policy), request(config_map()), VALIDATE)
    assert answer.allowed
    assert answer.warnings == ["Validation failed for ValidatingAdmissionPolicy 'p' with binding 'p': mind"]
    assert answer.annotations["p.who"] == "alice"
    assert "validation.policy.admission.k8s.io.validation_failure" in answer.annotations


@pytest.mark.parametrize(("failure_policy", "allowed"), [("Fail", False), ("Ignore", True)])
def test_an_expression_that_fails_meets_the_failure_policy(failure_policy: str, *, allowed: bool) -> None:
    policy = mutating("p", label_of("x", "object.data.missing"), failurePolicy=failure_policy)
    assert judged(view(policy), request(config_map())).allowed is allowed


def test_a_namespace_can_be_looked_at() -> None:
    namespace = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "shop", "labels": {"team": "blue"}}}
    policy = mutating("p", label_of("team", "namespaceObject.metadata.labels.team"))
    answer = judged(view(policy, namespace), request(config_map()))
    assert answer.patch == [{"op": "add", "path": "/metadata/labels", "value": {"team": "blue"}}]


def test_a_custom_object_in_another_version_comes_back_in_the_version_that_was_sent() -> None:
    version = {"served": True, "schema": {"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": True}}}
    definition = {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": "widgets.example.com", "generation": 2},
        "spec": {
            "group": "example.com",
            "scope": "Namespaced",
            "names": {"plural": "widgets", "kind": "Widget"},
            "versions": [{"name": "v1", "storage": True, **version}, {"name": "v2", "storage": False, **version}],
        },
    }
    rule = {"apiGroups": ["example.com"], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": ["widgets"]}
    seen = view(definition, mutating("p", label("mutated"), rules=[rule]))
    sent = {"apiVersion": "example.com/v1", "kind": "Widget", "metadata": {"name": "a", "namespace": "shop"}, "spec": {"a": 1}}
    asked = request(
        sent,
        kind={"group": "example.com", "version": "v1", "kind": "Widget"},
        resource={"group": "example.com", "version": "v1", "resource": "widgets"},
        requestKind={"group": "example.com", "version": "v2", "kind": "Widget"},
        requestResource={"group": "example.com", "version": "v2", "resource": "widgets"},
    )
    assert judged(seen, asked).patch == [{"op": "add", "path": "/metadata/labels", "value": {"mutated": "yes"}}]


# ---------------------------------------------------------------- shares


def test_each_policy_is_in_one_entry() -> None:
    seen = view(
        mutating("a", label("a")),
        mutating("b", label("b"), failurePolicy="Ignore"),
        mutating("c", label("c"), reinvocationPolicy="IfNeeded"),
        mutating("d", label("d"), reinvocationPolicy="IfNeeded", failurePolicy="Ignore"),
        validating("e", {"expression": "true"}),
        validating("f", {"expression": "true"}, failurePolicy="Ignore"),
    )
    found = {
        share.path: [p.policy.name for p in (*s.mutating_policies, *s.validating_policies)] for share, s in seen.published.items()
    }
    assert found == {
        "/mutate": ["a", "b", "c", "d"],
        "/validate": ["e", "f"],
        "/mutate/fail/never": ["a"],
        "/mutate/ignore/never": ["b"],
        "/mutate/fail/ifneeded": ["c"],
        "/mutate/ignore/ifneeded": ["d"],
        "/validate/fail": ["e"],
        "/validate/ignore": ["f"],
    }


def test_every_entry_has_a_path_of_its_own() -> None:
    assert len({share.path for share in shares()}) == len(list(shares())) == len(list(entries())) + 2


def test_a_share_of_one_half_has_nothing_of_the_other() -> None:
    seen = view(mutating("a", label("a")), validating("e", {"expression": "false"}))
    assert judged(seen, request(config_map()), Share(mutating=True, fail=True, reinvoke=False)).patch
    assert not judged(seen, request(config_map()), Share(mutating=False, fail=True)).allowed


# ---------------------------------------------------------------- what callers send


@pytest.mark.parametrize(
    ("broken", "told"),
    [
        ({"operation": "READ"}, "request.operation: must be one of CREATE, UPDATE, DELETE, CONNECT"),
        ({"operation": 7}, "request.operation: must be a text"),
        ({"kind": "ConfigMap"}, "request.kind: must be an object"),
        ({"kind": {"group": "", "version": 1, "kind": "ConfigMap"}}, "request.kind.version: must be a text"),
        ({"object": []}, "request.object: must be an object"),
        ({"userInfo": {"groups": "people"}}, "request.userInfo.groups: must be a list of texts"),
        ({"userInfo": {"extra": {"a": [1]}}}, "request.userInfo.extra[a]: must be a list of texts"),
        ({"userInfo": {"extra": []}}, ""),
        ({"userInfo": {"extra": [1]}}, "request.userInfo.extra: must be an object"),
    ],
)
def test_a_review_that_is_none_is_told_so(broken: dict[str, Any], told: str) -> None:
    asked = request(config_map()) | broken
    if not told:
        assert attributes_of(asked).user.extra == {}
        return
    with pytest.raises(BadReview) as caught:
        attributes_of(asked)
    assert str(caught.value) == told


def test_policies_are_matched_by_what_the_user_asked_for() -> None:
    core = {"group": "", "version": "v1", "resource": "events"}
    new = {"group": "events.k8s.io", "version": "v1", "resource": "events"}
    asked = request(None, "DELETE", resource=core, requestResource=new, subResource="status", dryRun=True)
    found = attributes_of(asked)
    assert (found.resource.group, found.subresource, found.dry_run, found.user.name) == ("events.k8s.io", "status", True, "alice")


def test_annotation_names_fit_behind_a_webhooks_name() -> None:
    assert annotation_name("policy/key") == "policy.key"
    long = annotation_name("p" * 200 + "/key")
    assert len(long) == 63
    assert long.endswith("p.key")
    assert long != annotation_name("q" + "p" * 199 + "/key")
