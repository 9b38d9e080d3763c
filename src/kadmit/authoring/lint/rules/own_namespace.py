"""KA402: a webhook that fails closed and is asked about its own server."""

from collections.abc import Iterator

from kadmit.authoring.lint.lockouts import stopped, stops_all, workloads
from kadmit.authoring.lint.project import Project, Webhook
from kadmit.authoring.lint.rule import Finding, Rule, Severity, finding
from kadmit.authoring.lint.words import joined

RULE = Rule(
    code="KA402",
    title="webhook stands in the way of its own server",
    severity=Severity.WARNING,
    explanation="""\
A webhook with failurePolicy Fail that is asked about pods or workloads of the namespace in which its own Service runs
cannot come back once it is down: its new pods would need its own consent.""",
    fix="exempt the namespace with a namespaceSelector on kubernetes.io/metadata.name",
    bad="""\
name: images.example.com
clientConfig: {service: {name: images, namespace: image-policy}}
rules: [{apiGroups: [apps], apiVersions: [v1], operations: [CREATE, UPDATE], resources: [deployments]}]
failurePolicy: Fail
timeoutSeconds: 5
sideEffects: None
admissionReviewVersions: [v1]
""",
    good="""\
name: images.example.com
clientConfig: {service: {name: images, namespace: image-policy}}
rules: [{apiGroups: [apps], apiVersions: [v1], operations: [CREATE, UPDATE], resources: [deployments]}]
namespaceSelector:
  matchExpressions: [{key: kubernetes.io/metadata.name, operator: NotIn, values: [image-policy]}]
failurePolicy: Fail
timeoutSeconds: 5
sideEffects: None
admissionReviewVersions: [v1]
""",
)


def find(project: Project) -> Iterator[Finding]:
    for webhook in project.webhooks:
        namespace = _own_namespace(webhook)
        if not namespace or stops_all(project, webhook):
            continue
        found = stopped(project, webhook, list(workloads(namespace)))
        if found:
            what = joined(vital.text for vital in found)
            text = f'the webhook "{webhook.name}" runs in the namespace {namespace} and is asked about {what} there'
            selector = f"[{{key: kubernetes.io/metadata.name, operator: NotIn, values: [{namespace}]}}]"
            fix = f"exempt it: namespaceSelector: {{matchExpressions: {selector}}}"
            yield finding(RULE, webhook.manifest, f"{webhook.field}.rules", f"{text}: once down, it cannot come back", fix=fix)


def _own_namespace(webhook: Webhook) -> str:
    service = (webhook.made.get("clientConfig") or {}).get("service") or {}
    return str(service.get("namespace") or "")
