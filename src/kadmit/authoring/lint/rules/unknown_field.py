"""KA102: a mutation writes a field that the kind does not have."""

from collections.abc import Iterator

from kadmit.authoring.lint import placements
from kadmit.authoring.lint.placements import Placed
from kadmit.authoring.lint.project import Policy, Project
from kadmit.authoring.lint.rule import Finding, Rule, Severity
from kadmit.authoring.lint.spelling import suggestion
from kadmit.authoring.lint.words import kinds_text

RULE = Rule(
    code="KA102",
    title="mutation writes a field that does not exist",
    severity=Severity.ERROR,
    explanation="""\
`Object{…}` takes any field name when it is compiled; only when a request comes is it held against the kind's schema.
An unknown field makes an apply configuration fail with `field not declared in schema`, and the result of a JSON patch
undecodable, which is an error even under `failurePolicy: Ignore`.""",
    fix="write the name of a field that the kind has; `kubectl explain` lists them",
    bad="""\
mutations:
- patchType: ApplyConfiguration
  applyConfiguration:
    expression: 'Object{spec: Object.spec{hostnetwork: false}}'
""",
    good="""\
mutations:
- patchType: ApplyConfiguration
  applyConfiguration:
    expression: 'Object{spec: Object.spec{hostNetwork: false}}'
""",
)


def find(project: Project) -> Iterator[Finding]:
    for policy in project.policies:
        yield from _in_policy(policy)


def _in_policy(policy: Policy) -> Iterator[Finding]:
    unknown: dict[tuple[str, int], list[Placed]] = {}
    fitting: set[tuple[str, int]] = set()
    for placed in placements.all_of(policy):
        key = (placed.expression.field, placed.anchor.id)
        if placed.schema is None:
            unknown.setdefault(key, []).append(placed)
        else:
            fitting.add(key)
    for key, found in unknown.items():
        if key in fitting and placements.tells_kinds_apart(policy, found[0].expression):
            continue
        yield _finding(found)


def _finding(found: list[Placed]) -> Finding:
    first = found[0]
    name, parent = first.path[-1], first.around[-1].text
    where = f"{parent} of {kinds_text(p.kind for p in found)}" if parent else kinds_text(p.kind for p in found)
    return first.expression.finding(
        RULE, first.anchor, f"there is no field '{name}' in {where}", fix=suggestion(name, first.siblings)
    )
