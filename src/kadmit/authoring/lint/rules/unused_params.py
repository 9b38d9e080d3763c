"""KA608: a paramKind that no expression reads."""

from collections.abc import Iterator

from kadmit.authoring.lint.project import Project
from kadmit.authoring.lint.rule import Finding, Rule, Severity, finding
from kadmit.authoring.lint.rules.param_ref import reads_params

RULE = Rule(
    code="KA608",
    title="params are never read",
    severity=Severity.INFO,
    explanation="""\
A policy with a paramKind needs params to be bound and found, and is evaluated once for each of them; when no
expression reads `params`, that is for nothing.""",
    fix="remove the paramKind",
    bad="""\
paramKind: {apiVersion: v1, kind: ConfigMap}
validations:
- expression: object.spec.containers.size() <= 10
""",
    good="""\
paramKind: {apiVersion: v1, kind: ConfigMap}
validations:
- expression: object.spec.containers.size() <= int(params.data.most)
""",
)


def find(project: Project) -> Iterator[Finding]:
    for policy in project.policies:
        if policy.param_kind is not None and not reads_params(policy):
            yield finding(RULE, policy.manifest, "spec.paramKind", "no expression of the policy reads params")
