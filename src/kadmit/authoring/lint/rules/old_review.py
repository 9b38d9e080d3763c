"""KA602: a webhook that does not speak v1 of the AdmissionReview."""

from collections.abc import Iterator

from kadmit.authoring.lint.project import Project
from kadmit.authoring.lint.rule import Finding, Rule, Severity, finding

RULE = Rule(
    code="KA602",
    title="webhook speaks only an old AdmissionReview",
    severity=Severity.WARNING,
    explanation="""\
A webhook is sent the first version of its admissionReviewVersions that the server knows. v1beta1 is deprecated: its
answers are checked less, and one that is given in v1 all the same fails.""",
    fix="let the webhook answer v1, and write admissionReviewVersions: [v1]",
    bad="""\
name: labels.example.com
clientConfig: {url: "https://hooks.example.com/labels"}
rules: [{apiGroups: [""], apiVersions: [v1], operations: [CREATE], resources: [configmaps]}]
timeoutSeconds: 3
sideEffects: None
admissionReviewVersions: [v1beta1]
""",
    good="""\
name: labels.example.com
clientConfig: {url: "https://hooks.example.com/labels"}
rules: [{apiGroups: [""], apiVersions: [v1], operations: [CREATE], resources: [configmaps]}]
timeoutSeconds: 3
sideEffects: None
admissionReviewVersions: [v1, v1beta1]
""",
)


def find(project: Project) -> Iterator[Finding]:
    for webhook in project.webhooks:
        versions = webhook.made.get("admissionReviewVersions") or ()
        if "v1" not in versions:
            text = f'the webhook "{webhook.name}" is sent reviews of {", ".join(versions)}, not v1'
            yield finding(RULE, webhook.manifest, f"{webhook.field}.admissionReviewVersions", text)
