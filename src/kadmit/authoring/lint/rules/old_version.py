"""KA601: an object of a version that is older than v1."""

from collections.abc import Iterator

from kadmit.api import registration
from kadmit.authoring import registering
from kadmit.authoring.lint.project import Project
from kadmit.authoring.lint.rule import Finding, Rule, Severity, finding

RULE = Rule(
    code="KA601",
    title="version is older than v1",
    severity=Severity.WARNING,
    explanation="""\
Alpha and beta versions are served by some clusters only, and for a time. Kubernetes 1.36 serves v1 of all
registration kinds; of v1beta1 and v1alpha1 it serves only the mutating policy and its binding. Objects of versions
that are not served any more are checked as v1, whose fields are the same.""",
    fix="write apiVersion: admissionregistration.k8s.io/v1",
    bad="""\
apiVersion: admissionregistration.k8s.io/v1beta1
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
""",
)


def find(project: Project) -> Iterator[Finding]:
    for manifest in project.registered:
        kind = manifest.kind
        if kind.version == registration.V1:
            continue
        text = f"{kind.group_version} {kind.kind} is older than v1"
        if registering.is_retired(kind):
            text = f"Kubernetes 1.36 does not serve {kind.group_version} {kind.kind}"
        yield finding(RULE, manifest, "apiVersion", text)
