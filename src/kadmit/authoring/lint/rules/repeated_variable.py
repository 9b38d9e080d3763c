"""KA208: a variable that is declared twice."""

from collections.abc import Iterator

from kadmit.authoring.lint.project import Project
from kadmit.authoring.lint.rule import Finding, Rule, Severity, finding

RULE = Rule(
    code="KA208",
    title="variable is declared twice",
    severity=Severity.WARNING,
    explanation="""\
The server accepts two variables of one name. The last one is evaluated, also for expressions that stand before it.""",
    fix="give one of them another name",
    bad="""\
variables:
- {name: limit, expression: '5'}
- {name: limit, expression: '10'}
validations:
- expression: object.spec.containers.size() <= variables.limit
""",
    good="""\
variables:
- {name: limit, expression: '10'}
validations:
- expression: object.spec.containers.size() <= variables.limit
""",
)


def find(project: Project) -> Iterator[Finding]:
    for policy in project.policies:
        seen: dict[str, int] = {}
        for i, raw in enumerate(policy.spec.get("variables") or ()):
            name = raw.get("name") or ""
            if name in seen:
                first = policy.manifest.line(f"spec.variables[{seen[name]}].name")
                text = f"the variable '{name}' is declared in line {first} already; this one counts everywhere"
                yield finding(RULE, policy.manifest, f"spec.variables[{i}].name", text)
            seen.setdefault(name, i)
