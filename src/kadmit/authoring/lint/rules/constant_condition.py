"""KA206: a match condition that says the same of every request."""

from collections.abc import Iterator

from kadmit.authoring.lint.constants import always
from kadmit.authoring.lint.project import Expression, Project
from kadmit.authoring.lint.rule import Finding, Rule, Severity

RULE = Rule(
    code="KA206",
    title="match condition is constant",
    severity=Severity.WARNING,
    explanation="""\
A match condition that is always true has no effect; one that is always false switches the policy or webhook off.""",
    fix="remove the condition, or write the one that was meant",
    bad="""\
matchConditions:
- name: not-a-node
  expression: "'system:nodes' != 'request.userInfo.groups'"
validations:
- expression: object.spec.containers.size() <= 10
""",
    good="""\
matchConditions:
- name: not-a-node
  expression: "!('system:nodes' in request.userInfo.groups)"
validations:
- expression: object.spec.containers.size() <= 10
""",
)


def find(project: Project) -> Iterator[Finding]:
    for policy in project.policies:
        for expression in policy.conditions:
            yield from _in(expression, "policy")
    for webhook in project.webhooks:
        for expression in webhook.conditions:
            yield from _in(expression, "webhook")


def _in(expression: Expression, what: str) -> Iterator[Finding]:
    value = always(expression)
    if value is True:
        yield expression.finding(RULE, None, f"the condition '{expression.name}' is always true: it has no effect")
    elif value is False:
        yield expression.finding(RULE, None, f"the condition '{expression.name}' is always false: the {what} never applies")
