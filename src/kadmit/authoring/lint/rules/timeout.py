"""KA501: a webhook without a timeout of its own."""

from collections.abc import Iterator

from kadmit.authoring.lint.project import Project
from kadmit.authoring.lint.rule import Finding, Rule, Severity, finding

RULE = Rule(
    code="KA501",
    title="webhook has no timeoutSeconds",
    severity=Severity.WARNING,
    explanation="""\
Without timeoutSeconds a webhook has ten seconds. Mutating webhooks are called one after another, and the client's own
request has its deadline, too: three that hang are enough to make it fail, whatever their failure policies are.""",
    fix="set timeoutSeconds, to 5 or less",
    bad="""\
name: labels.example.com
clientConfig: {url: "https://hooks.example.com/labels"}
rules: [{apiGroups: [""], apiVersions: [v1], operations: [CREATE], resources: [configmaps]}]
sideEffects: None
admissionReviewVersions: [v1]
""",
    good="""\
name: labels.example.com
clientConfig: {url: "https://hooks.example.com/labels"}
rules: [{apiGroups: [""], apiVersions: [v1], operations: [CREATE], resources: [configmaps]}]
timeoutSeconds: 3
sideEffects: None
admissionReviewVersions: [v1]
""",
)


def find(project: Project) -> Iterator[Finding]:
    for webhook in project.webhooks:
        if webhook.given.get("timeoutSeconds") is None:
            text = f'the webhook "{webhook.name}" has no timeoutSeconds: a call may take ten seconds'
            yield finding(RULE, webhook.manifest, f"{webhook.field}.name", text)
