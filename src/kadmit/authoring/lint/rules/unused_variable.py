"""KA207: a variable that nothing uses."""

from collections.abc import Iterator

from kadmit.authoring.lint.project import Expression, Policy, Project
from kadmit.authoring.lint.rule import Finding, Rule, Severity, finding
from kadmit.cel import ast

RULE = Rule(
    code="KA207",
    title="variable is never used",
    severity=Severity.INFO,
    explanation="""\
A variable is evaluated when an expression first asks for it. One that no expression asks for, directly or through
other variables, does nothing. Match conditions cannot ask for variables.""",
    fix="remove the variable",
    bad="""\
variables:
- name: names
  expression: object.spec.containers.map(c, c.name)
validations:
- expression: object.spec.containers.size() <= 10
""",
    good="""\
variables:
- name: names
  expression: object.spec.containers.map(c, c.name)
validations:
- expression: variables.names.all(n, n != 'proxy')
""",
)


def find(project: Project) -> Iterator[Finding]:
    for policy in project.policies:
        used = _used(policy)
        for i, raw in enumerate(policy.spec.get("variables") or ()):
            name = raw.get("name") or ""
            if name not in used:
                yield finding(RULE, policy.manifest, f"spec.variables[{i}].name", f"nothing uses the variable '{name}'")


def _used(policy: Policy) -> set[str]:
    asking = [*policy.validations, *policy.messages.values(), *policy.annotations, *policy.mutations]
    used: set[str] = set()
    while asking:
        fresh = _names(asking.pop()) - used
        used |= fresh
        asking += [v for v in policy.declared if v.name in fresh]
    return used


def _names(expression: Expression) -> set[str]:
    """NB: macros are looked at as they were expanded: every part of what was written is in there."""
    found, waiting = set(), [expression.root]
    while waiting:
        node = waiting.pop()
        if isinstance(node, ast.Select) and isinstance(node.operand, ast.Ident) and node.operand.name == "variables":
            found.add(node.field)
        if isinstance(node, ast.Call) and node.function == "_?._":
            operand, field = node.args
            if isinstance(operand, ast.Ident) and operand.name == "variables" and isinstance(field, ast.Literal):
                found.add(str(field.value))
        waiting += ast.children(node)
    return found
