"""KA610: an object that is given twice."""

from collections.abc import Iterator

from kadmit.authoring.lint.project import Project
from kadmit.authoring.lint.rule import Finding, Rule, Severity, finding
from kadmit.authoring.manifests import Manifest

RULE = Rule(
    code="KA610",
    title="object is given twice",
    severity=Severity.WARNING,
    explanation="""\
Two objects of one kind and name, in one file or in several: applied one after another, the last one stays, and the
other is lost.""",
    fix="give one of them another name, or remove it",
    bad="""\
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingWebhookConfiguration
metadata: {name: hooks}
webhooks:
- name: a.example.com
  clientConfig: {url: "https://hooks.example.com/a"}
  rules: [{apiGroups: [example.com], apiVersions: [v1], operations: ["*"], resources: [widgets]}]
  timeoutSeconds: 3
  sideEffects: None
  admissionReviewVersions: [v1]
---
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingWebhookConfiguration
metadata: {name: hooks}
webhooks:
- name: b.example.com
  clientConfig: {url: "https://hooks.example.com/b"}
  rules: [{apiGroups: [example.com], apiVersions: [v1], operations: ["*"], resources: [widgets]}]
  timeoutSeconds: 3
  sideEffects: None
  admissionReviewVersions: [v1]
""",
    good="""\
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingWebhookConfiguration
metadata: {name: hooks}
webhooks:
- name: a.example.com
  clientConfig: {url: "https://hooks.example.com/a"}
  rules: [{apiGroups: [example.com], apiVersions: [v1], operations: ["*"], resources: [widgets]}]
  timeoutSeconds: 3
  sideEffects: None
  admissionReviewVersions: [v1]
- name: b.example.com
  clientConfig: {url: "https://hooks.example.com/b"}
  rules: [{apiGroups: [example.com], apiVersions: [v1], operations: ["*"], resources: [widgets]}]
  timeoutSeconds: 3
  sideEffects: None
  admissionReviewVersions: [v1]
""",
)


def find(project: Project) -> Iterator[Finding]:
    first: dict[tuple[str, str], Manifest] = {}
    for manifest in project.registered:
        earlier = first.setdefault((manifest.kind.kind, manifest.name), manifest)
        if earlier is not manifest and manifest.metadata.get("name"):
            text = f'there is a {manifest.kind.kind} "{manifest.name}" already, in {earlier.place("metadata.name")}'
            yield finding(RULE, manifest, "metadata.name", text)
