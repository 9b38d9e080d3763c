"""KA101: an apply configuration that sets an atomic list or map."""

from collections.abc import Iterator

from kadmit.authoring.lint import placements, proposals
from kadmit.authoring.lint.placements import Placed
from kadmit.authoring.lint.project import Policy, Project, Role
from kadmit.authoring.lint.rule import Finding, Rule, Severity
from kadmit.kinds.schema import Node

RULE = Rule(
    code="KA101",
    title="apply configuration sets an atomic list or map",
    severity=Severity.ERROR,
    explanation="""\
An apply configuration is merged into the object. Lists without keys, and maps and objects that are declared atomic,
cannot be merged: they would be replaced as a whole, and so the server refuses the mutation with `may not mutate
atomic arrays, maps or structs`. That happens when a request comes, not when the policy is registered. Atomic are,
among others, `args` and `command` of containers, `imagePullSecrets`, `tolerations`, `ownerReferences`,
`resources.claims` and label selectors.""",
    fix="set it with a JSONPatch, which may replace whole lists and maps",
    bad="""\
mutations:
- patchType: ApplyConfiguration
  applyConfiguration:
    expression: >-
      Object{spec: Object.spec{containers: object.spec.containers.map(c,
        Object.spec.containers{name: c.name, args: ["--verbose"]})}}
""",
    good="""\
mutations:
- patchType: JSONPatch
  jsonPatch:
    expression: >-
      object.spec.containers.transformList(i, c,
        JSONPatch{op: "add", path: "/spec/containers/" + string(i) + "/args", value: ["--verbose"]})
""",
)

_WORDS = {Node.ARRAY: "list", Node.MAP: "map", Node.OBJECT: "object"}


def find(project: Project) -> Iterator[Finding]:
    for policy in project.policies:
        seen: set[tuple[str, int]] = set()
        for placed in _atomics(policy):
            key = (placed.expression.field, placed.anchor.id)
            if key not in seen:
                seen.add(key)
                yield _finding(policy, placed)


def _atomics(policy: Policy) -> Iterator[Placed]:
    """The outermost atomic values."""
    for expression in policy.mutations:
        if expression.role is Role.APPLY:
            for kind in policy.kinds:
                for placed in placements.of_object(policy, expression, kind):
                    if placed.is_atomic and not placed.free and not any(p.is_atomic for p in placed.around if p.path):
                        yield placed


def _finding(policy: Policy, placed: Placed) -> Finding:
    word = _WORDS.get(placed.schema.kind, "value") if placed.schema is not None else "value"
    what = f"{placed.text} of {placed.kind.kind} is an atomic {word}"
    message = f"{what}, which an apply configuration may not set: the server refuses the mutation when a request comes"
    instead = proposals.instead_of(policy, placed)
    fix = f"set it with patchType: JSONPatch and this expression:\n{instead}" if instead else ""
    return placed.expression.finding(RULE, placed.anchor, message, fix=fix)
