"""KA108: a JSON patch that adds something under a parent that may be missing."""

from collections.abc import Iterator

from kadmit.authoring.lint import paths
from kadmit.authoring.lint.parents import Target, targets
from kadmit.authoring.lint.pointers import escaped
from kadmit.authoring.lint.project import Policy, Project
from kadmit.authoring.lint.rule import Finding, Rule, Severity
from kadmit.authoring.lint.words import kinds_text
from kadmit.cel import gotext
from kadmit.kinds.schema import Node

RULE = Rule(
    code="KA108",
    title="JSON patch adds under a parent that may be missing",
    severity=Severity.WARNING,
    explanation="""\
JSON Patch makes no parents: adding `/metadata/labels/team` to an object without labels fails with `doc is missing
path`. Whether the parent is always there follows from the kind's schema, its defaults and its validation. An
operation before it that adds the parent, or a condition that asks for it with has(), makes it safe.""",
    fix="add the parent first where it is missing, or use an apply configuration",
    bad="""\
mutations:
- patchType: JSONPatch
  jsonPatch:
    expression: '[JSONPatch{op: "add", path: "/metadata/labels/team", value: "none"}]'
""",
    good="""\
mutations:
- patchType: JSONPatch
  jsonPatch:
    expression: >-
      (has(object.metadata.labels) ? [] : [JSONPatch{op: "add", path: "/metadata/labels", value: {}}]) +
      [JSONPatch{op: "add", path: "/metadata/labels/team", value: "none"}]
""",
)


def find(project: Project) -> Iterator[Finding]:
    for policy in project.policies:
        for target in targets(policy):
            if target.op not in ("remove", "test"):
                yield from _in_target(policy, target)


def _in_target(policy: Policy, target: Target) -> Iterator[Finding]:
    parent = target.missing_parent
    if parent is None:
        return
    kinds = kinds_text(target.kinds)
    name = paths.text(parent)
    message = f"{name} may be missing in {kinds}, and then this operation fails: JSON Patch makes no parents"
    yield target.patch.expression.finding(RULE, target.node, message, fix=_fix(policy, target))


def _fix(policy: Policy, target: Target) -> str:
    parent = target.missing_parent
    if parent is None or any(isinstance(step, paths.Item) for step in parent):
        return f"add it first, where it is missing: ask for it with has({paths.text(parent or ())})"
    pointer = gotext.quote("".join(f"/{escaped(str(step))}" for step in parent[1:]))
    schema = policy.project.presence(target.kinds[0]).schema_at(parent[1:])
    empty = "[]" if schema is not None and schema.kind is Node.ARRAY else "{}"
    guard = f'(has({paths.text(parent)}) ? [] : [JSONPatch{{op: "add", path: {pointer}, value: {empty}}}])'
    return f"put this before it:\n{guard} +"
