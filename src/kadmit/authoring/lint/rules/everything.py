"""KA401: something that fails closed and is asked about everything."""

from collections.abc import Iterator

from kadmit.authoring.lint.lockouts import stops_all
from kadmit.authoring.lint.project import Project
from kadmit.authoring.lint.rule import Finding, Rule, Severity, finding

RULE = Rule(
    code="KA401",
    title="fails closed on everything",
    severity=Severity.WARNING,
    explanation="""\
A webhook that matches all resources of all groups with failurePolicy Fail stops the whole cluster when it cannot be
reached: pods, leases and nodes cannot be written, and nothing can start to repair it. A policy of that kind does the
same as soon as its expression fails on any kind of object.""",
    fix="name the resources that are meant, exempt kube-system and kube-node-lease by namespaceSelector, or fail with Ignore",
    bad="""\
name: everything.example.com
clientConfig: {url: "https://hooks.example.com/check"}
rules: [{apiGroups: ["*"], apiVersions: ["*"], operations: ["*"], resources: ["*"]}]
failurePolicy: Fail
timeoutSeconds: 5
sideEffects: None
admissionReviewVersions: [v1]
""",
    good="""\
name: everything.example.com
clientConfig: {url: "https://hooks.example.com/check"}
rules: [{apiGroups: ["*"], apiVersions: ["*"], operations: ["*"], resources: ["*"], scope: Namespaced}]
namespaceSelector: {matchLabels: {checked: "yes"}}
failurePolicy: Fail
timeoutSeconds: 5
sideEffects: None
admissionReviewVersions: [v1]
""",
)


def find(project: Project) -> Iterator[Finding]:
    for policy in project.policies:
        if stops_all(project, policy):
            text = "the policy matches every resource and fails closed: an expression that fails on one of them locks the cluster"
            yield finding(RULE, policy.manifest, "spec.matchConstraints.resourceRules", text)
    for webhook in project.webhooks:
        if stops_all(project, webhook):
            text = f'the webhook "{webhook.name}" matches every resource and fails closed: without it the cluster is locked'
            yield finding(RULE, webhook.manifest, f"{webhook.field}.rules", text)
