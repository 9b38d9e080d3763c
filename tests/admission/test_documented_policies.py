"""The kinds of policies that Kubernetes' own documentation shows, registered and met by requests in a cluster in memory.

Where its pages and a real server disagree, the server's recorded answer counts: the page's sidecar with `args` is refused.
"""

import json
from typing import Any

import pytest

from kadmit.admission.outcome import Record
from kadmit.api import yaml
from kadmit.api.errors import ApiError
from kadmit.authoring.cluster import Cluster, Request
from kadmit.matching.attributes import Json


class Registered:
    """A cluster with these objects in it, each of them made by a request."""

    def __init__(self, *texts: str) -> None:
        self.cluster = Cluster()
        self.cluster.authorizer = None
        for name, labels in (("default", {}), ("test", {"environment": "test"}), ("prod", {"environment": "prod"})):
            metadata = {"name": name, "labels": {"kubernetes.io/metadata.name": name, **labels}}
            self.cluster.put({"apiVersion": "v1", "kind": "Namespace", "metadata": metadata})
        for text in texts:
            for document in yaml.load_all(text):
                self.create(document.value)

    def create(self, value: Json) -> tuple[Json, Record]:
        """The admitted object and what was recorded. Raises ApiError."""
        request = Request()
        target = self.cluster.target(value)
        answered = self.cluster.create(target, json.dumps(value).encode(), request)
        return answered.object, request.record

    def refused(self, value: Json) -> dict[str, Any]:
        with pytest.raises(ApiError) as raised:
            self.create(value)
        return raised.value.status.as_json()


def pod(*init_containers: str) -> Json:
    inits = {"initContainers": [{"name": n, "image": "init:1"} for n in init_containers]} if init_containers else {}
    containers = [{"name": "app", "image": "app:1"}]
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "web"}, "spec": {**inits, "containers": containers}}


def deployment(replicas: int, namespace: str = "default") -> Json:
    template = {"metadata": {"labels": {"app": "web"}}, "spec": {"containers": [{"name": "app", "image": "app:1"}]}}
    spec = {"replicas": replicas, "selector": {"matchLabels": {"app": "web"}}, "template": template}
    return {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "web", "namespace": namespace}, "spec": spec}


# ---------------------------------------------------------------- MutatingAdmissionPolicy: a sidecar

SIDECAR = """
apiVersion: admissionregistration.k8s.io/v1
kind: MutatingAdmissionPolicy
metadata: {{name: sidecar-policy.example.com}}
spec:
  matchConstraints:
    resourceRules: [{{apiGroups: [""], apiVersions: [v1], operations: [CREATE], resources: [pods]}}]
  matchConditions:
  - name: no-sidecar-yet
    expression: "{condition}"
  failurePolicy: Fail
  reinvocationPolicy: IfNeeded
  mutations:
  - {mutation}
---
apiVersion: admissionregistration.k8s.io/v1
kind: MutatingAdmissionPolicyBinding
metadata: {{name: sidecar-binding.example.com}}
spec: {{policyName: sidecar-policy.example.com}}
"""
# As the page has it: it takes for granted that there are init containers.
BLUNT = "!object.spec.initContainers.exists(c, c.name == 'mesh-proxy')"
CAREFUL = "!object.spec.?initContainers.orValue([]).exists(c, c.name == 'mesh-proxy')"

_APPLIED = """{{patchType: ApplyConfiguration, applyConfiguration: {{expression: 'Object{{spec: Object.spec{{initContainers:
    [Object.spec.initContainers{{name: "mesh-proxy", image: "mesh:1", {args}restartPolicy: "Always"}}]}}}}'}}}}"""
APPLIED = _APPLIED.format(args="")
APPLIED_WITH_ARGS = _APPLIED.format(args='args: ["proxy", "sidecar"], ')
PATCHED = """{patchType: JSONPatch, jsonPatch: {expression: '[JSONPatch{op: "add", path: "/spec/initContainers/-",
    value: Object.spec.initContainers{name: "mesh-proxy", image: "mesh:1", restartPolicy: "Always"}}]'}}"""


def sidecar(mutation: str, condition: str = BLUNT) -> Registered:
    return Registered(SIDECAR.format(condition=condition, mutation=mutation))


def init_containers(made: Json) -> list[str]:
    return [container["name"] for container in made["spec"].get("initContainers", ())]


@pytest.mark.parametrize("mutation", [APPLIED, PATCHED], ids=["apply configuration", "JSON patch"])
def test_the_sidecar_joins_the_init_containers(mutation: str) -> None:
    made, _ = sidecar(mutation).create(pod("migrate"))
    assert set(init_containers(made)) == {"mesh-proxy", "migrate"}
    added = next(c for c in made["spec"]["initContainers"] if c["name"] == "mesh-proxy")
    assert (added["image"], added["restartPolicy"]) == ("mesh:1", "Always")
    assert added["terminationMessagePath"] == "/dev/termination-log"  # what a policy adds gets its defaults


def test_a_json_patch_appends_where_it_says() -> None:
    made, _ = sidecar(PATCHED).create(pod("migrate"))
    assert init_containers(made) == ["migrate", "mesh-proxy"]


@pytest.mark.parametrize("mutation", [APPLIED, PATCHED], ids=["apply configuration", "JSON patch"])
def test_a_pod_that_has_the_sidecar_is_left_alone(mutation: str) -> None:
    made, _ = sidecar(mutation).create(pod("mesh-proxy"))
    assert init_containers(made) == ["mesh-proxy"]
    assert made["spec"]["initContainers"][0]["image"] == "init:1"


def test_reinvocation_does_not_add_a_second_sidecar() -> None:
    made, _ = sidecar(APPLIED, CAREFUL).create(pod())
    assert init_containers(made) == ["mesh-proxy"]


def test_the_documented_condition_fails_on_a_pod_without_init_containers() -> None:
    status = sidecar(APPLIED).refused(pod())
    assert status["code"] == 403
    assert "resulted in error: no such key: initContainers" in status["message"]


def test_the_documented_patch_needs_a_list_to_append_to() -> None:
    status = sidecar(PATCHED, CAREFUL).refused(pod())
    assert status["code"] == 403
    assert status["message"].startswith(
        "policy 'sidecar-policy.example.com' with binding 'sidecar-binding.example.com' denied request"
    )


def test_the_documented_sidecar_with_args_is_refused_because_args_is_atomic() -> None:
    told = (
        "policy 'sidecar-policy.example.com' with binding 'sidecar-binding.example.com' denied request: error applying patch: "
        "invalid ApplyConfiguration: may not mutate atomic arrays, maps or structs: .spec.initContainers[0].args"
    )
    assert sidecar(APPLIED_WITH_ARGS).refused(pod("migrate")) == {
        "kind": "Status",
        "apiVersion": "v1",
        "metadata": {},
        "status": "Failure",
        "message": told,
        "reason": "Invalid",
        "details": {"name": "web", "kind": "pods", "causes": [{"message": told}]},
        "code": 403,
    }


# ---------------------------------------------------------------- ValidatingAdmissionPolicy: a limit of replicas

POLICY = """
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicy
metadata: {{name: policy.example.com}}
spec:
  failurePolicy: Fail
  {param_kind}
  matchConstraints:
    resourceRules: [{{apiGroups: [apps], apiVersions: [v1], operations: [CREATE, UPDATE], resources: [deployments]}}]
  {rest}
"""


def policy(rest: str, param_kind: str = "") -> str:
    return POLICY.format(rest=rest, param_kind=param_kind)


def binding(name: str, rest: str = "", actions: str = "[Deny]") -> str:
    return f"""
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicyBinding
metadata: {{name: {name}}}
spec:
  policyName: policy.example.com
  validationActions: {actions}
  {rest}
"""


AT_MOST_FIVE = policy("validations: [{expression: object.spec.replicas <= 5}]")
ONLY_IN_TEST = "matchResources: {namespaceSelector: {matchLabels: {environment: test}}}"


def test_a_limit_holds_where_its_binding_says() -> None:
    cluster = Registered(AT_MOST_FIVE, binding("in-test", ONLY_IN_TEST))
    status = cluster.refused(deployment(6, "test"))
    through = "ValidatingAdmissionPolicy 'policy.example.com' with binding 'in-test'"
    denied = f"{through} denied request: failed expression: object.spec.replicas <= 5"
    assert status["message"] == f'deployments.apps "web" is forbidden: {denied}'
    assert (status["code"], status["reason"]) == (422, "Invalid")
    assert cluster.create(deployment(5, "test"))
    assert cluster.create(deployment(6, "prod"))


def test_a_policy_without_a_binding_does_nothing() -> None:
    assert Registered(AT_MOST_FIVE).create(deployment(6, "test"))


def test_warnings_and_audits_let_the_request_pass() -> None:
    cluster = Registered(AT_MOST_FIVE, binding("watch", actions="[Warn, Audit]"))
    _, record = cluster.create(deployment(6))
    told = "failed expression: object.spec.replicas <= 5"
    assert record.warnings == [
        f"Validation failed for ValidatingAdmissionPolicy 'policy.example.com' with binding 'watch': {told}"
    ]
    assert json.loads(record.annotations["validation.policy.admission.k8s.io/validation_failure"]) == [
        {
            "message": told,
            "policy": "policy.example.com",
            "binding": "watch",
            "expressionIndex": 0,
            "validationActions": ["Warn", "Audit"],
        }
    ]


def test_deny_and_warn_together_are_refused_on_registration() -> None:
    with pytest.raises(ApiError, match="must not contain both Deny and Warn"):
        Registered(AT_MOST_FIVE, binding("both", actions="[Deny, Warn]"))


# ---------------------------------------------------------------- params of a kind of one's own

REPLICA_LIMIT = """
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: replicalimits.rules.example.com}
spec:
  group: rules.example.com
  names: {kind: ReplicaLimit, plural: replicalimits, singular: replicalimit, listKind: ReplicaLimitList}
  scope: Namespaced
  versions:
  - name: v1
    served: true
    storage: true
    schema: {openAPIV3Schema: {type: object, properties: {maxReplicas: {type: integer}}}}
"""
LIMITS = """
apiVersion: rules.example.com/v1
kind: ReplicaLimit
metadata: {name: for-test, namespace: default}
maxReplicas: 3
---
apiVersion: rules.example.com/v1
kind: ReplicaLimit
metadata: {name: for-others, namespace: default}
maxReplicas: 100
"""
LIMITED = policy(
    """validations:
  - expression: object.spec.replicas <= params.maxReplicas
    messageExpression: "'object.spec.replicas must be no greater than ' + string(params.maxReplicas)"
    reason: Invalid""",
    "paramKind: {apiVersion: rules.example.com/v1, kind: ReplicaLimit}",
)


def limit(name: str, rest: str, missing: str = "Deny") -> str:
    return binding(name, f"paramRef: {{name: {name}, namespace: default, parameterNotFoundAction: {missing}}}\n  {rest}")


IN_TEST = limit("for-test", ONLY_IN_TEST)
NOT_IN_TEST = "matchResources: {namespaceSelector: {matchExpressions: [{key: environment, operator: NotIn, values: [test]}]}}"
ELSEWHERE = limit("for-others", NOT_IN_TEST)


@pytest.mark.parametrize(("namespace", "most"), [("test", 3), ("prod", 100), ("default", 100)])
def test_each_environment_has_the_limit_that_its_binding_refers_to(namespace: str, most: int) -> None:
    cluster = Registered(REPLICA_LIMIT, LIMITS, LIMITED, IN_TEST, ELSEWHERE)
    status = cluster.refused(deployment(most + 1, namespace))
    assert status["message"].endswith(f"denied request: object.spec.replicas must be no greater than {most}")
    assert cluster.create(deployment(most, namespace))


def test_missing_params_deny_or_allow_as_the_binding_says() -> None:
    status = Registered(REPLICA_LIMIT, LIMITED, IN_TEST).refused(deployment(1, "test"))
    assert (
        "failed to configure binding: no params found for policy binding with `Deny` parameterNotFoundAction" in status["message"]
    )
    allowing = Registered(REPLICA_LIMIT, LIMITED, limit("for-test", ONLY_IN_TEST, "Allow"))
    assert allowing.create(deployment(1000, "test"))


def test_a_param_kind_that_nobody_defined_denies() -> None:
    status = Registered(LIMITED, IN_TEST).refused(deployment(1, "test"))
    assert "failed to configure policy: failed to find resource referenced by paramKind" in status["message"]


# ---------------------------------------------------------------- messages, annotations, variables, conditions

HIGH = "'Deployment spec.replicas set to ' + string(object.spec.replicas)"


def test_an_audit_annotation_is_published_under_the_name_of_the_policy() -> None:
    annotating = policy(
        f"""validations: [{{expression: object.spec.replicas > 50, messageExpression: "{HIGH}"}}]
  auditAnnotations: [{{key: high-replica-count, valueExpression: "{HIGH}"}}]"""
    )
    _, record = Registered(annotating, binding("b", actions="[Warn]")).create(deployment(128))
    assert record.annotations == {"policy.example.com/high-replica-count": "Deployment spec.replicas set to 128"}
    assert record.warnings == []


def test_a_message_expression_that_fails_gives_way_to_the_message() -> None:
    rest = "validations: [{expression: 'false', messageExpression: string(object.spec.nothing), message: sorry}]"
    status = Registered(policy(rest), binding("b")).refused(deployment(1))
    assert status["message"].endswith("denied request: sorry")


def test_a_match_condition_that_is_false_skips_the_policy() -> None:
    """The documentation's example: requests of nodes, leases and the like go by."""
    rest = """matchConditions:
  - {name: exclude-admins, expression: "!('system:masters' in request.userInfo.groups)"}
  validations: [{expression: 'false'}]"""
    assert Registered(policy(rest), binding("b")).create(deployment(1))


def test_variables_build_on_each_other_and_know_the_namespace() -> None:
    rest = """variables:
  - {name: labels, expression: namespaceObject.metadata.labels}
  - {name: environment, expression: "'environment' in variables.labels ? variables.labels['environment'] : 'prod'"}
  - {name: exempt, expression: "variables.environment == 'test'"}
  validations:
  - expression: variables.exempt || object.spec.replicas >= 2
    messageExpression: "'too few replicas in ' + variables.environment"
    """
    cluster = Registered(policy(rest), binding("b"))
    assert cluster.create(deployment(1, "test"))
    assert cluster.refused(deployment(1, "default"))["message"].endswith("denied request: too few replicas in prod")


@pytest.mark.parametrize(("failure_policy", "admitted"), [("Fail", False), ("Ignore", True)])
def test_an_expression_that_fails_meets_the_failure_policy(failure_policy: str, admitted: bool) -> None:
    rest = "validations: [{expression: object.spec.nothing > 1}]"
    cluster = Registered(policy(rest).replace("failurePolicy: Fail", f"failurePolicy: {failure_policy}"), binding("b"))
    if admitted:
        assert cluster.create(deployment(1))
    else:
        assert "resulted in error: no such key: nothing" in cluster.refused(deployment(1))["message"]
