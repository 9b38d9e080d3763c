"""KA606: a binding that gives params to a policy that takes none."""

from collections.abc import Iterator

from kadmit.authoring.lint.project import Project
from kadmit.authoring.lint.rule import Finding, Rule, Severity, finding

RULE = Rule(
    code="KA606",
    title="binding gives params to a policy without paramKind",
    severity=Severity.WARNING,
    explanation="""\
Without a paramKind the paramRef of a binding is not used, and expressions of the policy cannot name `params` at all.""",
    fix="add a paramKind to the policy, or remove the paramRef",
    bad="""\
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicy
metadata: {name: few-containers}
spec:
  matchConstraints:
    resourceRules: [{apiGroups: [""], apiVersions: [v1], operations: [CREATE], resources: [pods]}]
  validations:
  - expression: object.spec.containers.size() <= 10
---
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicyBinding
metadata: {name: everywhere}
spec:
  policyName: few-containers
  validationActions: [Deny]
  paramRef: {name: limits, namespace: policies, parameterNotFoundAction: Deny}
""",
    good="""\
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicy
metadata: {name: few-containers}
spec:
  matchConstraints:
    resourceRules: [{apiGroups: [""], apiVersions: [v1], operations: [CREATE], resources: [pods]}]
  validations:
  - expression: object.spec.containers.size() <= 10
---
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicyBinding
metadata: {name: everywhere}
spec: {policyName: few-containers, validationActions: [Deny]}
""",
)


def find(project: Project) -> Iterator[Finding]:
    for binding in project.bindings:
        policy = project.policy_of(binding)
        if policy is not None and policy.param_kind is None and binding.spec.get("paramRef") is not None:
            text = f'the policy "{policy.name}" has no paramKind: the paramRef is not used'
            yield finding(RULE, binding.manifest, "spec.paramRef", text)
