"""KA107: an item of a keyed list without its key."""

from collections.abc import Iterator

from kadmit.authoring.lint import placements
from kadmit.authoring.lint.placements import Placed
from kadmit.authoring.lint.project import Policy, Project, Role
from kadmit.authoring.lint.rule import Finding, Rule, Severity
from kadmit.authoring.lint.words import joined
from kadmit.cel import ast
from kadmit.patch.shapes import ListShape
from kadmit.patch.typed import resolved

RULE = Rule(
    code="KA107",
    title="item of an apply configuration's list lacks its key",
    severity=Severity.ERROR,
    explanation="""\
Items of lists such as `containers`, `env` or `volumeMounts` are merged by key: an item without it does not change the
item that was meant. In built-in kinds it becomes a new item with an empty key, in custom kinds the mutation fails.""",
    fix="give the item its key",
    bad="""\
mutations:
- patchType: ApplyConfiguration
  applyConfiguration:
    expression: 'Object{spec: Object.spec{containers: [Object.spec.containers{imagePullPolicy: "Always"}]}}'
""",
    good="""\
mutations:
- patchType: ApplyConfiguration
  applyConfiguration:
    expression: >-
      Object{spec: Object.spec{containers: object.spec.containers.map(c,
        Object.spec.containers{name: c.name, imagePullPolicy: "Always"})}}
""",
)


def find(project: Project) -> Iterator[Finding]:
    for policy in project.policies:
        seen: set[tuple[str, int]] = set()
        for placed, missing in _unkeyed(policy):
            key = (placed.expression.field, placed.anchor.id)
            if key not in seen:
                seen.add(key)
                holder = placed.path[:-1]
                text = f"items of {'.'.join(holder).replace('.*', '[*]')} are merged by {joined(missing)}, and this one has none"
                fix = f"write {', '.join(f'{name}: …' for name in missing)} into it"
                yield placed.expression.finding(RULE, placed.anchor, text, fix=fix)


def _unkeyed(policy: Policy) -> Iterator[tuple[Placed, list[str]]]:
    for expression in policy.mutations:
        if expression.role is not Role.APPLY:
            continue
        for kind in policy.kinds:
            for placed in placements.of_object(policy, expression, kind):
                missing = _missing(placed)
                if missing:
                    yield placed, missing


def _missing(placed: Placed) -> list[str]:
    if not placed.path or placed.path[-1] != "*" or not isinstance(placed.node, ast.StructExpr | ast.MapExpr):
        return []
    holder = placed.around[-1]
    shape = None if holder.shape is None else resolved(holder.shape)
    if not isinstance(shape, ListShape):
        return []
    given = _names(placed.node)
    # NB: a name defaults to "", which is no key that anybody wants.
    return [key for key in shape.keys if key not in given and shape.defaults.get(key) in (None, "")]


def _names(node: ast.StructExpr | ast.MapExpr) -> set[object]:
    if isinstance(node, ast.StructExpr):
        return {f.name for f in node.fields}
    return {entry.key.value for entry in node.entries if isinstance(entry.key, ast.Literal)}
