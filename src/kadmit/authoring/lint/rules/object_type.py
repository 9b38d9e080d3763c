"""KA104: an Object type that is named after another place than its own."""

from collections.abc import Iterator

from kadmit.authoring.lint import facts
from kadmit.authoring.lint.project import Expression, Project, Role
from kadmit.authoring.lint.rule import Finding, Rule, Severity
from kadmit.cel import ast, room
from kadmit.cel.ast import Expr

RULE = Rule(
    code="KA104",
    title="Object type does not name the place where it stands",
    severity=Severity.ERROR,
    explanation="""\
The type of a nested object is the path of field names that leads to it: at `spec.template.spec` stands an
`Object.spec.template.spec{…}`. Items of lists have the type of their list. Any name compiles; a wrong one makes the
mutation fail with `unexpected type name` when a request comes.""",
    fix="name the type after its path",
    bad="""\
mutations:
- patchType: ApplyConfiguration
  applyConfiguration:
    expression: 'Object{spec: Object.spec{securityContext: Object.securityContext{runAsNonRoot: true}}}'
""",
    good="""\
mutations:
- patchType: ApplyConfiguration
  applyConfiguration:
    expression: 'Object{spec: Object.spec{securityContext: Object.spec.securityContext{runAsNonRoot: true}}}'
""",
)


def find(project: Project) -> Iterator[Finding]:
    for policy in project.policies:
        for expression in policy.mutations:
            if expression.role is Role.APPLY:
                yield from _in(expression, expression.root, "Object")
        for patch in policy.reading.patches:
            value = patch.value("value")
            written = None if value is None else patch.expression.written(value)
            if isinstance(written, ast.StructExpr):
                yield from _in(patch.expression, written, written.type_name)


def _in(expression: Expression, node: Expr, path: str) -> Iterator[Finding]:
    for struct, wanted in room.for_depth(lambda: list(_misnamed(expression, node, path))):
        message = f"the type of what stands here is {wanted}, not {struct.type_name}"
        yield expression.finding(RULE, struct, message, fix=f"write {wanted}{{…}}")


def _misnamed(expression: Expression, node: Expr, path: str) -> Iterator[tuple[ast.StructExpr, str]]:
    node = expression.written(node)
    match node:
        case ast.StructExpr():
            if node.type_name.removeprefix(".") != path:
                yield node, path
            for part in node.fields:
                yield from _misnamed(expression, part.value, f"{path}.{part.name}")
        case ast.ListExpr():
            for element in node.elements:
                yield from _misnamed(expression, element, path)
        case ast.MapExpr():
            for entry in node.entries:
                yield from _misnamed(expression, entry.value, path)
        case ast.Call(function="_?_:_", args=(_, a, b)) | ast.Call(function="_+_", args=(a, b)):
            yield from _misnamed(expression, a, path)
            yield from _misnamed(expression, b, path)
        case ast.Call(function="of" | "ofNonZeroValue", args=(inner,)):
            yield from _misnamed(expression, inner, path)
        case ast.Call(function="map" | "transformList"):
            loop = facts.loop_of(node)
            if loop is not None:
                yield from _misnamed(expression, loop.body, path)
