"""KA605: a policy that takes params, and a binding that gives none."""

from collections.abc import Iterator

from kadmit.authoring.lint.project import Expression, Policy, Project
from kadmit.authoring.lint.rule import Finding, Rule, Severity, finding
from kadmit.cel import ast

RULE = Rule(
    code="KA605",
    title="binding gives no params to a policy that reads them",
    severity=Severity.WARNING,
    explanation="""\
Without a paramRef, `params` is null: a policy with a paramKind that reads it fails on every request, unless it asks
for null first.""",
    fix="add a paramRef to the binding",
    bad="""\
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicy
metadata: {name: few-containers}
spec:
  paramKind: {apiVersion: v1, kind: ConfigMap}
  matchConstraints:
    resourceRules: [{apiGroups: [""], apiVersions: [v1], operations: [CREATE], resources: [pods]}]
  validations:
  - expression: object.spec.containers.size() <= int(params.data.most)
---
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicyBinding
metadata: {name: everywhere}
spec: {policyName: few-containers, validationActions: [Deny]}
""",
    good="""\
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicy
metadata: {name: few-containers}
spec:
  paramKind: {apiVersion: v1, kind: ConfigMap}
  matchConstraints:
    resourceRules: [{apiGroups: [""], apiVersions: [v1], operations: [CREATE], resources: [pods]}]
  validations:
  - expression: object.spec.containers.size() <= int(params.data.most)
---
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicyBinding
metadata: {name: everywhere}
spec:
  policyName: few-containers
  validationActions: [Deny]
  paramRef: {name: limits, namespace: policies, parameterNotFoundAction: Deny}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: limits, namespace: policies}
data: {most: "10"}
""",
)


def find(project: Project) -> Iterator[Finding]:
    for binding in project.bindings:
        policy = project.policy_of(binding)
        if policy is None or policy.param_kind is None or binding.spec.get("paramRef") is not None:
            continue
        if reads_params(policy) and not _asks_for_null(policy):
            text = f'the policy "{policy.name}" reads params, and the binding has no paramRef: params is null'
            yield finding(RULE, binding.manifest, "spec.policyName", text)


def reads_params(policy: Policy) -> bool:
    return any(_names_params(expression) for expression in policy.expressions)


def _names_params(expression: Expression) -> bool:
    waiting = [expression.root]
    while waiting:
        node = waiting.pop()
        if isinstance(node, ast.Ident) and node.name == "params":
            return True
        waiting += ast.children(node)
    return False


def _asks_for_null(policy: Policy) -> bool:
    """Whether params are compared with null, or read as optionals."""
    return any("params == null" in e.text or "params != null" in e.text or "params.?" in e.text for e in policy.expressions)
