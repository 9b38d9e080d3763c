"""KA109: a JSON patch that takes away or moves what may be missing."""

from collections.abc import Iterator

from kadmit.authoring.lint import paths
from kadmit.authoring.lint.parents import Target, targets
from kadmit.authoring.lint.project import Project
from kadmit.authoring.lint.rule import Finding, Rule, Severity
from kadmit.authoring.lint.words import kinds_text

RULE = Rule(
    code="KA109",
    title="JSON patch removes or moves what may be missing",
    severity=Severity.WARNING,
    explanation="""\
`remove` and `move` fail when there is nothing at their path. With reinvocationPolicy IfNeeded a policy runs twice,
and its second `remove` meets an object from which the first has taken it away already.""",
    fix="ask for it with has() first",
    bad="""\
mutations:
- patchType: JSONPatch
  jsonPatch:
    expression: '[JSONPatch{op: "remove", path: "/spec/nodeSelector"}]'
""",
    good="""\
mutations:
- patchType: JSONPatch
  jsonPatch:
    expression: 'has(object.spec.nodeSelector) ? [JSONPatch{op: "remove", path: "/spec/nodeSelector"}] : []'
""",
)


def find(project: Project) -> Iterator[Finding]:
    for policy in project.policies:
        for target in targets(policy):
            if target.missing is not None and (target.op == "remove" or (target.op == "move" and target.is_source)):
                yield _finding(target)


def _finding(target: Target) -> Finding:
    missing = target.missing or ()
    name = paths.text(missing)
    message = f"{name} may be missing in {kinds_text(target.kinds)}, and then this operation fails"
    fix = f"make it conditional: {_asked(missing, name)} ? […] : []"
    return target.patch.expression.finding(RULE, target.node, message, fix=fix)


def _asked(missing: paths.Path, name: str) -> str:
    """A condition that the path is there. has() cannot name every key."""
    if not name.endswith('"]'):
        return f"has({name})"
    holder = paths.text(missing[:-1])
    return f'has({holder}) && "{missing[-1]}" in {holder}'
