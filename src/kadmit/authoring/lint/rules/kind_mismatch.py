"""KA201: an expression that does not fit the kinds that the rules match."""

import re
from collections.abc import Iterator

from kadmit.api.meta import GroupVersionKind
from kadmit.authoring.lint import placements
from kadmit.authoring.lint.project import Expression, Policy, Project
from kadmit.authoring.lint.rule import Finding, Rule, Severity, finding
from kadmit.authoring.lint.spelling import suggestion
from kadmit.authoring.lint.words import kinds_text
from kadmit.cel.source import CompileError, Issue, Source
from kadmit.kinds.schema import Node, Schema

RULE = Rule(
    code="KA201",
    title="expression does not fit the kinds that the rules match",
    severity=Severity.WARNING,
    explanation="""\
When a policy is registered, `object`, `oldObject` and `params` may be anything. Here they have the types of the kinds
that the rules name, built in or defined by a CustomResourceDefinition among the files: a field that does not exist,
or a text that is compared with a number, is an error as soon as a request comes. Kubernetes does this for validating
policies, and writes what it finds into their status; it has no such check for mutations. Rules with wildcards for
resources name no kind and are not checked.""",
    fix="write the expression so that it fits the schema of the kind",
    bad="""\
validations:
- expression: object.spec.restartPolicy != 0
""",
    good="""\
validations:
- expression: object.spec.restartPolicy != 'Never'
""",
)

_UNDEFINED = "undefined field '"
_ROOT = re.compile(r"\b([a-zA-Z]{1,40})(?:\.[a-zA-Z0-9_]{1,80}){0,40}$")
_STRUCT = re.compile(r"\b[A-Z][A-Za-z0-9]{0,200}(?:\.[\w@]{1,200}){0,40}")
_MAP = re.compile(r"\bmap\([^()]{0,200}\)")
_OPERANDS = re.compile(r"applied to '\((?P<a>.*), (?P<b>.*)\)'|expected type '(?P<c>.*)' but found '(?P<d>.*)'")


def find(project: Project) -> Iterator[Finding]:
    for policy in project.policies:
        for expression in policy.expressions:
            yield from _in_expression(policy, expression)


def _in_expression(policy: Policy, expression: Expression) -> Iterator[Finding]:
    said: dict[Issue, list[GroupVersionKind]] = {}
    for kind in policy.kinds:
        checked = policy.checked(expression, kind)
        if isinstance(checked, CompileError):
            for issue in filter(_matters, checked.issues):
                said.setdefault(Issue(issue.location, issue.message), []).append(kind)
    for issue, kinds in said.items():
        if len(kinds) == len(policy.kinds) or not placements.tells_kinds_apart(policy, expression):
            yield _finding(policy, expression, issue, kinds)


def _matters(issue: Issue) -> bool:
    """NB: containers and initContainers have types of their own, and still may be added up: when it runs they are just lists."""
    found = _OPERANDS.search(_erased(issue.message))
    if found is None:
        return True
    a, b = (text for text in found.groups() if text is not None)
    return a != b or "object" not in a


def _erased(text: str) -> str:
    """Types without what objects and maps are called."""
    return _MAP.sub("object", _STRUCT.sub("object", text))


def _finding(policy: Policy, expression: Expression, issue: Issue, kinds: list[GroupVersionKind]) -> Finding:
    at = Source(expression.text).offset(issue.location) if issue.location.line > 0 else 0
    is_field = issue.message.startswith(_UNDEFINED)
    root = _ROOT.search(expression.text[:at])
    kind = (policy.param_kind or kinds[0]) if root is not None and root[1] == "params" else kinds[0]
    fix = _suggested(policy, issue.message.removeprefix(_UNDEFINED).rstrip("'"), kind) if is_field else ""
    text = f"does not fit {kinds_text(kinds)}: {issue.message}"
    return finding(RULE, expression.manifest, expression.field, text, offset=expression.lead + at + is_field, fix=fix)


def _suggested(policy: Policy, name: str, kind: GroupVersionKind) -> str:
    """A field of this name that the kind has elsewhere, or one with nearly this name."""
    schema = policy.project.schema_of(kind)
    if schema is None:
        return ""
    elsewhere = [path for path in _paths(schema) if path.rpartition(".")[2] == name]
    if elsewhere:
        root = "params" if kind == policy.param_kind else "object"
        return f"{kind.kind} has it as {root}.{elsewhere[0]}"
    return suggestion(name, {path.rpartition(".")[2] for path in _paths(schema)})


def _paths(schema: Schema, at: str = "", depth: int = 0) -> Iterator[str]:
    """Fields near the top."""
    yield from (f"{at}{name}" for name in schema.fields)
    if depth < 3:
        for name, field in schema.fields.items():
            if field.schema.kind is Node.OBJECT:
                yield from _paths(field.schema, f"{at}{name}.", depth + 1)
