"""KA103: a mutation writes a value of the wrong type."""

from collections.abc import Iterator

from kadmit.authoring.lint import placements
from kadmit.authoring.lint.placements import Placed
from kadmit.authoring.lint.project import Policy, Project, Role
from kadmit.authoring.lint.rule import Finding, Rule, Severity
from kadmit.cel import ast
from kadmit.cel.types import Kind, Type
from kadmit.kinds.schema import Node, Schema

RULE = Rule(
    code="KA103",
    title="mutation writes a value of the wrong type",
    severity=Severity.ERROR,
    explanation="""\
The values of `Object{…}` and of JSON patches have no types until a request comes. Then a text where a number belongs,
a list where a map belongs, or a value outside of an enum makes the mutation fail. Values are followed through lists,
maps, branches and loops, and fields of `object` have the types of the kinds that the rules match.""",
    fix="write a value of the field's type",
    bad="""\
mutations:
- patchType: ApplyConfiguration
  applyConfiguration:
    expression: 'Object{spec: Object.spec{terminationGracePeriodSeconds: "60"}}'
""",
    good="""\
mutations:
- patchType: ApplyConfiguration
  applyConfiguration:
    expression: 'Object{spec: Object.spec{terminationGracePeriodSeconds: 60}}'
""",
)

_TEXT, _NUMBER, _BOOL, _LIST, _MAP, _NULL = "text", "number", "true or false", "list", "map", "null"
_WANTED = {
    Node.STRING: (_TEXT,),
    Node.BYTES: (_TEXT,),
    Node.TIME: (_TEXT,),
    Node.MICRO_TIME: (_TEXT,),
    Node.INTEGER: (_NUMBER,),
    Node.NUMBER: (_NUMBER,),
    Node.BOOLEAN: (_BOOL,),
    Node.INT_OR_STRING: (_NUMBER, _TEXT),
    Node.QUANTITY: (_TEXT, _NUMBER),
    Node.ARRAY: (_LIST,),
    Node.OBJECT: (_MAP,),
    Node.MAP: (_MAP,),
    Node.RAW: (_MAP,),
}
_GIVEN = {
    Kind.STRING: _TEXT,
    Kind.INT: _NUMBER,
    Kind.UINT: _NUMBER,
    Kind.DOUBLE: _NUMBER,
    Kind.BOOL: _BOOL,
    Kind.LIST: _LIST,
    Kind.MAP: _MAP,
    Kind.STRUCT: _MAP,
    Kind.NULL: _NULL,
}
_RANGES = {"int32": (-(2**31), 2**31 - 1)}


def find(project: Project) -> Iterator[Finding]:
    for policy in project.policies:
        yield from _in_policy(policy)


def _in_policy(policy: Policy) -> Iterator[Finding]:
    seen: set[tuple[str, int]] = set()
    for placed in placements.all_of(policy):
        key = (placed.expression.field, placed.anchor.id)
        told = _problem(placed)
        if told and key not in seen and not any(_problem(p) for p in placed.around if p.path):
            seen.add(key)
            text = f"{placed.text} of {placed.kind.kind} {told}"
            yield placed.expression.finding(RULE, placed.anchor, text)


def _problem(placed: Placed) -> str:
    schema = placed.schema
    if schema is None:
        return ""
    wrong = _mismatch(schema, placed.type, may_be_null=placed.expression.role is Role.PATCH)
    if wrong:
        return wrong
    return _bad_literal(schema, placed.node.value) if isinstance(placed.node, ast.Literal) else ""


def _mismatch(schema: Schema, given: Type, *, may_be_null: bool) -> str:
    wanted, found = _WANTED.get(schema.kind), _GIVEN.get(given.kind)
    if wanted is None or found is None or found in wanted or (found == _NULL and may_be_null):
        return ""
    return f"must be {' or '.join(map(_with_article, wanted))}, and the value is {_with_article(found)}"


def _with_article(word: str) -> str:
    return word if word in (_NULL, _BOOL) else f"a {word}"


def _bad_literal(schema: Schema, value: object) -> str:
    if schema.enum and value not in schema.enum:
        return f"must be one of {', '.join(map(str, schema.enum))}, and the value is {value}"
    low, high = _RANGES.get(schema.format, (None, None))
    if low is not None and high is not None and isinstance(value, int) and not low <= value <= high:
        return f"is an {schema.format}, and {value} does not fit into it"
    return ""
