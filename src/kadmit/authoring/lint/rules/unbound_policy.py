"""KA604: a policy that no binding puts to use."""

from collections.abc import Iterator

from kadmit.authoring.lint.project import Project
from kadmit.authoring.lint.rule import Finding, Rule, Severity, finding

RULE = Rule(
    code="KA604",
    title="policy has no binding among the files",
    severity=Severity.INFO,
    explanation="""\
A policy does nothing until a binding puts it to use.""",
    fix="add a binding of the policy, or give its file, too",
    bad="""\
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicy
metadata: {name: few-containers}
spec:
  matchConstraints:
    resourceRules: [{apiGroups: [""], apiVersions: [v1], operations: [CREATE], resources: [pods]}]
  validations:
  - expression: object.spec.containers.size() <= 10
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
    unsound = {early.manifest.kind.kind for early in project.early}
    for policy in project.policies:
        kind = f"{policy.manifest.kind.kind}Binding"
        if not project.bindings_of(policy) and kind not in unsound:
            yield finding(RULE, policy.manifest, "metadata.name", f'no binding among the files puts "{policy.name}" to use')
