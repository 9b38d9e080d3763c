"""KA205: a validation that says the same of every request."""

from collections.abc import Iterator

from kadmit.authoring.lint.constants import always
from kadmit.authoring.lint.project import Project
from kadmit.authoring.lint.rule import Finding, Rule, Severity
from kadmit.cel import ast

RULE = Rule(
    code="KA205",
    title="validation is constant",
    severity=Severity.WARNING,
    explanation="""\
A validation that is always true checks nothing. One that is always false denies every request that the policy
matches; written as plain `false` that is taken to be meant, for example to forbid `pods/exec` altogether.""",
    fix="remove the validation, or write the condition that was meant",
    bad="""\
validations:
- expression: object.spec.containers.size() > 0 || true
""",
    good="""\
validations:
- expression: object.spec.containers.size() <= 10
""",
)


def find(project: Project) -> Iterator[Finding]:
    for policy in project.policies:
        for expression in policy.validations:
            value = always(expression, policy)
            plain = isinstance(expression.root, ast.Literal) and value is False
            if value is not None and not plain:
                yield expression.finding(RULE, None, f"the validation is always {str(value).lower()}")
