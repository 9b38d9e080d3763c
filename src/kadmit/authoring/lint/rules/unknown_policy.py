"""KA603: a binding whose policy is not there."""

from collections.abc import Iterator

from kadmit.authoring.lint.project import Project
from kadmit.authoring.lint.rule import Finding, Rule, Severity, finding
from kadmit.authoring.lint.spelling import suggestion

RULE = Rule(
    code="KA603",
    title="binding names a policy that is not among the files",
    severity=Severity.WARNING,
    explanation="""\
A binding to a policy that does not exist is accepted and does nothing. A mutating binding needs a
MutatingAdmissionPolicy, a validating one a ValidatingAdmissionPolicy. Where the policy is kept elsewhere, give its
file, too.""",
    fix="write the name of the policy, or give its file, too",
    bad="""\
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
        if project.policy_of(binding) is None and not _is_unsound(project, binding.policy_name):
            kind = binding.manifest.kind.kind.removesuffix("Binding")
            fix = _other_kind(project, binding.policy_name, mutating=binding.mutating)
            fix = fix or suggestion(binding.policy_name, (p.name for p in project.policies if p.mutating == binding.mutating))
            text = f'there is no {kind} "{binding.policy_name}" among the files'
            yield finding(RULE, binding.manifest, "spec.policyName", text, fix=fix)


def _is_unsound(project: Project, name: str) -> bool:
    """Whether there is a policy of that name that the server would not take: that is told already."""
    return any(early.manifest.name == name and early.manifest.kind.kind.endswith("Policy") for early in project.early)


def _other_kind(project: Project, name: str, *, mutating: bool) -> str:
    if any(p.name == name and p.mutating != mutating for p in project.policies):
        return f"the policy of this name is {'validating' if mutating else 'mutating'}: bind it with a binding of its own kind"
    return ""
