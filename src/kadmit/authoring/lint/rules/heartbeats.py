"""KA404: something that fails closed and is asked about leases or nodes."""

from collections.abc import Iterator

from kadmit.authoring.lint.lockouts import HEARTBEATS, NODES, stopped, stops_all
from kadmit.authoring.lint.project import Project
from kadmit.authoring.lint.rule import Finding, Rule, Severity, finding
from kadmit.authoring.lint.words import joined

RULE = Rule(
    code="KA404",
    title="fails closed on heartbeats",
    severity=Severity.WARNING,
    explanation="""\
Nodes renew a lease every ten seconds and write their status; controllers hold leases to stay leaders. Whoever fails
closed on these makes nodes NotReady and takes the control plane away within a minute. Policies may match nodes, for
their status is written apart.""",
    fix="leave leases and nodes/status out of the rules, or use failurePolicy: Ignore",
    bad="""\
name: leases.example.com
clientConfig: {url: "https://hooks.example.com/leases"}
rules: [{apiGroups: [coordination.k8s.io], apiVersions: [v1], operations: ["*"], resources: [leases]}]
failurePolicy: Fail
timeoutSeconds: 5
sideEffects: None
admissionReviewVersions: [v1]
""",
    good="""\
name: leases.example.com
clientConfig: {url: "https://hooks.example.com/leases"}
rules: [{apiGroups: [coordination.k8s.io], apiVersions: [v1], operations: ["*"], resources: [leases]}]
failurePolicy: Ignore
timeoutSeconds: 5
sideEffects: None
admissionReviewVersions: [v1]
""",
)


def find(project: Project) -> Iterator[Finding]:
    for policy in project.policies:
        found = stopped(project, policy, HEARTBEATS)
        if found and not stops_all(project, policy):
            text = f"the policy fails closed and is asked about {joined(v.text for v in found)}"
            yield finding(RULE, policy.manifest, "spec.matchConstraints.resourceRules", text)
    for webhook in project.webhooks:
        found = stopped(project, webhook, (NODES, *HEARTBEATS))
        if found and not stops_all(project, webhook):
            text = f'the webhook "{webhook.name}" fails closed and is asked about {joined(v.text for v in found)}'
            yield finding(RULE, webhook.manifest, f"{webhook.field}.rules", text)
