"""KA403: a webhook that fails closed and is asked about pods of kube-system."""

from collections.abc import Iterator

from kadmit.authoring.lint.lockouts import SYSTEM, SYSTEM_PODS, stops_all, webhook_stops
from kadmit.authoring.lint.project import Project
from kadmit.authoring.lint.rule import Finding, Rule, Severity, finding

RULE = Rule(
    code="KA403",
    title="webhook can keep pods of kube-system from starting",
    severity=Severity.WARNING,
    explanation="""\
DNS, network plugins and proxies are pods of kube-system. A webhook with failurePolicy Fail that is asked about them,
and cannot be reached without them, keeps a cluster from starting.""",
    fix="exempt kube-system with a namespaceSelector on kubernetes.io/metadata.name, or use failurePolicy: Ignore",
    bad="""\
name: pods.example.com
clientConfig: {url: "https://hooks.example.com/pods"}
rules: [{apiGroups: [""], apiVersions: [v1], operations: [CREATE], resources: [pods]}]
failurePolicy: Fail
timeoutSeconds: 5
sideEffects: None
admissionReviewVersions: [v1]
""",
    good="""\
name: pods.example.com
clientConfig: {url: "https://hooks.example.com/pods"}
rules: [{apiGroups: [""], apiVersions: [v1], operations: [CREATE], resources: [pods]}]
namespaceSelector:
  matchExpressions: [{key: kubernetes.io/metadata.name, operator: NotIn, values: [kube-system]}]
failurePolicy: Fail
timeoutSeconds: 5
sideEffects: None
admissionReviewVersions: [v1]
""",
)


def find(project: Project) -> Iterator[Finding]:
    for webhook in project.webhooks:
        if webhook_stops(project, webhook, SYSTEM_PODS) and not stops_all(project, webhook):
            text = f'the webhook "{webhook.name}" fails closed and is asked about pods of {SYSTEM}'
            selector = f"[{{key: kubernetes.io/metadata.name, operator: NotIn, values: [{SYSTEM}]}}]"
            fix = f"exempt it: namespaceSelector: {{matchExpressions: {selector}}}"
            yield finding(RULE, webhook.manifest, f"{webhook.field}.rules", text, fix=fix)
