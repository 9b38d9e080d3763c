"""The story of a request: who was asked, what they said, and why the others were not."""

from collections.abc import Iterator, Sequence
from typing import Any

import pytest
import yaml

from kadmit.admission.answers import Answer
from kadmit.admission.webhooks import Call
from kadmit.authoring import manifests
from kadmit.authoring.admission import Admission
from kadmit.authoring.admitting import Admitting, Asked
from kadmit.authoring.cluster import Ask, allowing
from kadmit.authoring.manifests import File, Manifest
from kadmit.authoring.story import story
from kadmit.authoring.story.shape import Entry, Run, Story
from kadmit.cel.library.authorizer import User

RULES = {"resourceRules": [{"apiGroups": [""], "apiVersions": ["v1"], "operations": ["*"], "resources": ["configmaps"]}]}
LABEL = '[JSONPatch{op: "add", path: "/metadata/labels", value: {"team": "a"}}]'
CONFIG_MAP = {
    "apiVersion": "v1",
    "kind": "ConfigMap",
    "metadata": {"name": "settings", "namespace": "prod"},
    "data": {"level": "low"},
}
PROD = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "prod", "labels": {"env": "prod"}}}

Json = dict[str, Any]


def registered(kind: str, name: str, **more: Any) -> Json:
    return {"apiVersion": "admissionregistration.k8s.io/v1", "kind": kind, "metadata": {"name": name}, **more}


def mutating(name: str, *expressions: str, binding: Json | None = None, **spec: Any) -> list[Json]:
    mutations = [{"patchType": "JSONPatch", "jsonPatch": {"expression": e}} for e in expressions]
    made = {"matchConstraints": RULES, "reinvocationPolicy": "Never", "mutations": mutations, **spec}
    bound = {"policyName": name, **(binding or {})}
    return [
        registered("MutatingAdmissionPolicy", name, spec=made),
        registered("MutatingAdmissionPolicyBinding", f"{name}-binding", spec=bound),
    ]


def validating(
    name: str, *validations: Json, actions: Sequence[str] = ("Deny",), binding: Json | None = None, **spec: Any
) -> list[Json]:
    bound = {"policyName": name, "validationActions": list(actions), **(binding or {})}
    return [
        registered("ValidatingAdmissionPolicy", name, spec={"matchConstraints": RULES, "validations": list(validations), **spec}),
        registered("ValidatingAdmissionPolicyBinding", f"{name}-binding", spec=bound),
    ]


def webhook(kind: str, name: str, **more: Any) -> Json:
    hook: Json = {"name": f"{name}.example.com", "clientConfig": {"url": f"https://{name}.example/hook"}, "sideEffects": "None"}
    hook |= {"admissionReviewVersions": ["v1"], "rules": RULES["resourceRules"]}
    return registered(f"{kind}WebhookConfiguration", name, webhooks=[{**hook, **more}])


def read(objects: Sequence[Json], name: str = "policies.yaml") -> list[Manifest]:
    return manifests.read(File(name, yaml.safe_dump_all(objects, sort_keys=False).encode()))


def admit(
    policies: Sequence[Json], *requests: Json, ask: Ask = allowing, old: Sequence[Json] = (), **asked: Any
) -> list[Admission]:
    admitting = Admitting(read(policies), read(old), asked=Asked(**asked), ask=ask)
    return admitting.admit_all(read(requests or (CONFIG_MAP,), "resources.yaml"))


def tell(policies: Sequence[Json], *requests: Json, **asked: Any) -> Story:
    admission = admit(policies, *requests, **asked)[-1]
    return story.tell(admission, read(policies))


def entries(told: Story) -> Iterator[tuple[str, Entry]]:
    for stage in told.stages:
        yield from ((f"{stage.name} {stage.round}", entry) for entry in stage.entries)


def did(told: Story) -> list[tuple[str, str, str, str]]:
    return [(stage, entry.name, entry.did, entry.because) for stage, entry in entries(told)]


def only(told: Story) -> Entry:
    ((_, entry),) = entries(told)
    return entry


def run(told: Story) -> Run:
    return only(told).bindings[0].runs[0]


# ---------------------------------------------------------------- who was asked


def test_every_policy_and_webhook_has_its_place_in_order() -> None:
    policies = [
        *validating("b", {"expression": "true"}),
        *mutating("a", LABEL),
        webhook("Mutating", "c"),
        webhook("Validating", "d"),
        registered(
            "ValidatingAdmissionPolicy", "unbound", spec={"matchConstraints": RULES, "validations": [{"expression": "true"}]}
        ),
    ]
    assert did(tell(policies)) == [
        ("mutating policies 0", "a", "changed", ""),
        ("mutating webhooks 0", "c.example.com", "not called", "taken to allow the request"),
        ("mutating policies 1", "a", "not run again", "reinvocationPolicy is Never"),
        ("mutating webhooks 1", "c.example.com", "not run again", "reinvocationPolicy is Never"),
        ("validating policies 0", "b", "allowed", ""),
        ("validating policies 0", "unbound", "skipped", "no binding names it"),
        ("validating webhooks 0", "d.example.com", "not called", "taken to allow the request"),
    ]


@pytest.mark.parametrize(
    ("policies", "told"),
    [
        (
            validating(
                "p", {"expression": "true"}, matchConstraints={**RULES, "namespaceSelector": {"matchLabels": {"env": "dev"}}}
            ),
            'matchConstraints.namespaceSelector: namespace "prod" has env=prod (wanted env=dev)',
        ),
        (
            validating(
                "p",
                {"expression": "true"},
                matchConstraints={"resourceRules": [{**RULES["resourceRules"][0], "operations": ["DELETE"]}]},
            ),
            "matchConstraints.resourceRules[0]: operations [DELETE] lack CREATE",
        ),
        (
            validating("p", {"expression": "true"}, matchConditions=[{"name": "never", "expression": "1 > 2"}]),
            'match condition "never" is false',
        ),
        (
            validating("p", {"expression": "true"}, binding={"matchResources": {"objectSelector": {"matchLabels": {"a": "b"}}}}),
            "matchResources.objectSelector: the object has no label a (wanted a=b)",
        ),
        (
            validating(
                "p",
                {"expression": "true"},
                paramKind={"apiVersion": "v1", "kind": "ConfigMap"},
                binding={"paramRef": {"name": "nothing", "parameterNotFoundAction": "Allow"}},
            ),
            "paramRef: there are no such params, and parameterNotFoundAction is Allow",
        ),
        (
            [webhook("Validating", "p", objectSelector={"matchLabels": {"a": "b"}})],
            "objectSelector: the object has no label a (wanted a=b)",
        ),
        (
            [webhook("Validating", "p", matchConditions=[{"name": "never", "expression": "1 > 2"}])],
            'match condition "never" is false',
        ),
    ],
)
def test_who_is_not_asked_is_told_with_the_clause(policies: list[Json], told: str) -> None:
    entry = only(tell([PROD, *policies]))
    assert (entry.did, entry.because) == ("skipped", told)


def test_kinds_that_are_exempt_are_told_so() -> None:
    told = tell(validating("p", {"expression": "false"}), *validating("q", {"expression": "true"}))
    assert [(s.name, s.did) for s in told.stages] == [
        ("mutating policies", "exempt"),
        ("mutating webhooks", "exempt"),
        ("the kind's own rules", "passed"),
        ("validating policies", "exempt"),
        ("validating webhooks", "exempt"),
    ]


def test_what_a_refused_request_did_not_come_to_is_told() -> None:
    told = tell([*mutating("a", '[JSONPatch{op: "remove", path: "/nothing"}]'), *validating("b", {"expression": "true"})])
    assert [(s.name, s.did) for s in told.stages] == [
        ("mutating policies", ""),
        ("mutating webhooks", "not reached"),
        ("the kind's own rules", "not reached"),
        ("validating policies", "not reached"),
        ("validating webhooks", "not reached"),
    ]
    assert (only(told).did, only(told).failure_policy) == ("failed", "Fail")


def test_an_object_that_its_kind_does_not_allow_was_refused_there() -> None:
    told = tell([], {**CONFIG_MAP, "data": {"a/b": "c"}})
    assert [(s.name, s.did) for s in told.stages if s.did] == [
        ("the kind's own rules", "refused"),
        ("validating policies", "not reached"),
        ("validating webhooks", "not reached"),
    ]


# ---------------------------------------------------------------- expressions


def test_an_expression_comes_with_its_value_its_cost_and_the_values_inside_of_it() -> None:
    told = run(tell(validating("p", {"expression": "object.data.level == 'low' && size(object.data) < 1", "message": "no"})))
    (outcome,) = told.outcomes
    assert (outcome.did, outcome.message, outcome.evaluated.value) == ("denied", "no", False)
    assert [(s.text, s.value) for s in outcome.evaluated.steps] == [
        ('object.data.level == "low"', True),
        ("object.data.level", "low"),
        ("size(object.data) < 1", False),
        ("size(object.data)", 1),
        ("object.data", {"level": "low"}),
    ]
    assert outcome.evaluated.cost == 8


def test_an_expression_is_found_in_its_file() -> None:
    (outcome,) = run(tell(validating("p", {"expression": "false"}))).outcomes
    assert outcome.evaluated.place == "policies.yaml:17:18"


def test_variables_stand_under_what_asked_for_them_first() -> None:
    variables = [{"name": "a", "expression": "object.data.level"}, {"name": "b", "expression": "variables.a + '!'"}]
    validations = [{"expression": "variables.b == 'low!'"}, {"expression": "variables.a == 'low'"}]
    first, second = run(tell(validating("p", *validations, variables=variables))).outcomes
    assert [(v.name, v.value) for v in first.evaluated.variables] == [("a", "low"), ("b", "low!")]
    assert second.evaluated.variables == ()


def test_a_failed_expression_has_its_error() -> None:
    (outcome,) = run(tell(validating("p", {"expression": "object.data.x == ''"}, failurePolicy="Ignore"))).outcomes
    assert (outcome.did, outcome.evaluated.error) == ("ignored", "no such key: x")


def test_a_message_expression_is_told_with_the_validation() -> None:
    (outcome,) = run(tell(validating("p", {"expression": "false", "messageExpression": "'not ' + object.data.level"}))).outcomes
    assert outcome.said is not None
    assert (outcome.message, outcome.said.value) == ("not low", "not low")


def test_an_audit_annotation_is_published_or_not() -> None:
    annotations = [{"key": "a", "valueExpression": "'x'"}, {"key": "b", "valueExpression": "null"}]
    told = run(tell(validating("p", {"expression": "true"}, auditAnnotations=annotations)))
    assert [(o.evaluated.name, o.did) for o in told.outcomes if o.evaluated.name] == [("a", "published"), ("b", "unchanged")]


def test_the_authorizer_says_what_it_said_when_the_request_was_made() -> None:
    """The request itself makes alice an editor."""
    check = {"expression": "!authorizer.group('').resource('pods').namespace('prod').check('create').allowed()"}
    rules = {"resourceRules": [{"apiGroups": ["*"], "apiVersions": ["*"], "operations": ["*"], "resources": ["rolebindings"]}]}
    role_ref = {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "edit"}
    subject = {"apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": "alice"}
    binding: Json = {
        "apiVersion": "rbac.authorization.k8s.io/v1",
        "kind": "RoleBinding",
        "metadata": {"name": "r", "namespace": "prod"},
    }
    binding |= {"roleRef": role_ref, "subjects": [subject]}
    (outcome,) = run(tell(validating("p", check, matchConstraints=rules), binding, user=User("alice"))).outcomes
    assert (outcome.did, outcome.evaluated.value) == ("allowed", True)


def test_params_are_told_by_name_and_each_has_its_run() -> None:
    params = [{**CONFIG_MAP, "metadata": {"name": name, "namespace": "prod", "labels": {"p": "x"}}} for name in ("one", "two")]
    ref = {"paramRef": {"selector": {"matchLabels": {"p": "x"}}, "parameterNotFoundAction": "Deny"}}
    kind = {"apiVersion": "v1", "kind": "ConfigMap"}
    validation = {"expression": "params.metadata.name == 'one'"}
    (bound,) = only(tell([*params, *validating("p", validation, paramKind=kind, binding=ref)])).bindings
    assert [(r.params and r.params["name"], r.did) for r in bound.runs] == [("one", "allowed"), ("two", "denied")]


# ---------------------------------------------------------------- changes


def test_a_mutation_comes_with_what_it_changed() -> None:
    told = tell(mutating("p", LABEL, LABEL))
    first, second = only_run(told, "mutating policies").outcomes
    assert (first.did, first.patch) == ("changed", [{"op": "add", "path": "/metadata/labels", "value": {"team": "a"}}])
    assert (second.did, second.patch) == ("unchanged", [])


def only_run(told: Story, stage: str) -> Run:
    return next(s for s in told.stages if s.name == stage).entries[0].bindings[0].runs[0]


def test_an_error_that_nothing_forgives_is_told_with_its_mutation() -> None:
    broken = '[JSONPatch{op: "add", path: "/data", value: 1}]'
    (outcome,) = run(tell(mutating("p", broken, failurePolicy="Ignore"))).outcomes
    assert outcome.did == "failed"
    assert outcome.message.startswith("Internal error occurred: json: cannot unmarshal number")


ATOMIC = 'Object{spec: Object.spec{initContainers: [Object.spec.initContainers{name: "a", image: "b", args: ["c"]}]}}'
PODS = {"resourceRules": [{"apiGroups": [""], "apiVersions": ["v1"], "operations": ["*"], "resources": ["pods"]}]}
POD = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "web"}, "spec": {"containers": [{"name": "a", "image": "b"}]}}


@pytest.mark.parametrize(
    ("policies", "request_", "told"),
    [
        (
            mutating(
                "p",
                matchConstraints=PODS,
                mutations=[{"patchType": "ApplyConfiguration", "applyConfiguration": {"expression": ATOMIC}}],
            ),
            POD,
            ".spec.initContainers[0].args is atomic: ",
        ),
        (
            mutating("p", '[JSONPatch{op: "add", path: "/metadata/labels/a", value: "b"}]'),
            CONFIG_MAP,
            "there is no /metadata/labels: ",
        ),
        (validating("p", {"expression": "object.data.x == ''"}), CONFIG_MAP, "x is absent here: "),
        (validating("p", {"expression": "[object][1] == null"}), CONFIG_MAP, "the list has no element 1: "),
    ],
)
def test_errors_that_people_meet_often_come_with_a_hint(policies: list[Json], request_: Json, told: str) -> None:
    (outcome,) = run(tell(policies, request_)).outcomes
    assert outcome.hint.startswith(told)


def test_missing_params_come_with_a_hint() -> None:
    kind, ref = {"apiVersion": "v1", "kind": "ConfigMap"}, {"paramRef": {"name": "nothing", "parameterNotFoundAction": "Deny"}}
    (bound,) = only(tell(validating("p", {"expression": "true"}, paramKind=kind, binding=ref))).bindings
    assert (bound.did, bound.because[:30]) == ("failed", "failed to configure binding: n")
    assert bound.hint.startswith("the binding's paramRef names an object that is not there")


def test_a_second_round_says_why_there_is_one_and_who_runs_again() -> None:
    counting = '[JSONPatch{op: "add", path: "/data/n", value: string(size(object.data))}]'
    told = tell([*mutating("a", counting, reinvocationPolicy="IfNeeded"), *mutating("b", LABEL)])
    again = next(s for s in told.stages if s.round)
    assert again.because == "the first round changed the object: policy a, policy b"
    assert [(e.name, e.did) for e in again.entries] == [("a", "changed"), ("b", "not run again")]


def test_a_delete_has_no_object_to_mutate() -> None:
    told = tell(mutating("p", LABEL), operation="DELETE")
    assert (run(told).did, run(told).because) == ("unchanged", "there is no object to mutate")


# ---------------------------------------------------------------- webhooks


def answering(**response: Any) -> Ask:
    def ask(calls: Sequence[Call]) -> Sequence[Answer]:
        review = {"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "response": {"uid": "", **response}}
        return [Answer(review=review) for _ in calls]

    return ask


def test_a_webhook_that_denies_is_told_with_its_message_and_its_review() -> None:
    entry = only(
        tell([webhook("Validating", "w")], ask=answering(allowed=False, status={"message": "not today"}, warnings=["hm"]))
    )
    assert (entry.did, entry.because) == ("denied", 'admission webhook "w.example.com" denied the request: not today')
    assert entry.call is not None
    assert (entry.call.target, entry.call.allowed, entry.call.warnings) == ("https://w.example/hook", False, ("hm",))
    assert entry.call.review["request"]["object"]["data"] == {"level": "low"}


@pytest.mark.parametrize(("policy", "what"), [("Fail", "failed"), ("Ignore", "ignored")])
def test_a_webhook_that_does_not_answer_meets_its_failure_policy(policy: str, what: str) -> None:
    entry = only(
        tell([webhook("Validating", "w", failurePolicy=policy)], ask=lambda calls: [Answer(failure="no answer") for _ in calls])
    )
    assert (entry.did, entry.failure_policy, entry.because) == (what, policy, "no answer")


def test_a_webhook_that_comes_after_a_denial_was_not_reached() -> None:
    hooks = [webhook("Mutating", "a"), webhook("Mutating", "b")]
    told = tell(hooks, ask=answering(allowed=False))
    assert [(e.name, e.did) for _, e in entries(told)] == [("a.example.com", "denied"), ("b.example.com", "not reached")]


def test_reviews_stand_in_the_json_only_when_asked() -> None:
    told = tell([webhook("Validating", "w")])
    (hook,) = told.as_json(reviews=True)["stages"][-1]["entries"]
    assert hook["call"]["review"]["request"]["operation"] == "CREATE"
    assert "review" not in told.as_json()["stages"][-1]["entries"][0]["call"]


# ---------------------------------------------------------------- parts of objects


def test_an_update_of_a_part_is_told_as_one() -> None:
    told = tell([], POD, old=[POD], subresource="status")
    assert (told.request["operation"], told.request["subresource"]) == ("UPDATE", "status")


# ---------------------------------------------------------------- what takes long


def test_once_the_budget_is_spent_nothing_more_is_evaluated() -> None:
    check = "authorizer.path('/a').check('get').allowed()"  # 350,000 of 10,000,000
    told = run(tell(validating("p", *[{"expression": f"{check} && {check} && {i} >= 0"} for i in range(16)])))
    assert told.because.startswith("validation failed due to running out of cost budget")
    assert told.outcomes[0].evaluated.value is True
    assert told.outcomes[-1].evaluated.error == "not evaluated: the cost budget was spent before"


def test_what_takes_very_many_steps_is_told_without_them() -> None:
    heavy = "[1,2,3,4,5,6,7,8,9,10]"
    loops = f"{heavy}.all(a, {heavy}.all(b, {heavy}.all(c, {heavy}.all(d, a + b + c + d > 0))))"
    (outcome,) = run(tell(validating("p", {"expression": loops}))).outcomes
    assert (outcome.did, outcome.evaluated.value, outcome.evaluated.steps) == ("allowed", True, ())


# ---------------------------------------------------------------- sums


def test_metrics_that_would_move_are_counted() -> None:
    told = tell(mutating("p", LABEL, LABEL))
    labels = {"error_type": "no_error", "policy": "p", "policy_binding": "p-binding"}
    assert told.metrics == ({"metric": "apiserver_mutating_admission_policy_check_total", "labels": labels, "times": 2},)


def test_a_long_value_is_cut_in_json() -> None:
    long = {**CONFIG_MAP, "data": {"level": "x" * 10_000}}
    (outcome,) = run(tell(validating("p", {"expression": "object.data.level == ''"}), long)).outcomes
    (step,) = outcome.as_json()["steps"]
    assert (step["cut"], len(step["value"])) == (True, 4096)


def test_a_request_without_events_still_has_a_story() -> None:
    (admission,) = admit([], CONFIG_MAP)
    admission.record.events = None
    assert story.text(admission).startswith("CREATE configmap/settings in prod: admitted")
