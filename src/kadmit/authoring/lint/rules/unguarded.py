"""KA202: an optional field that is read without asking whether it is there."""

from collections.abc import Iterator, Sequence

from kadmit.api.meta import GroupVersionKind
from kadmit.authoring.lint import paths, reading
from kadmit.authoring.lint.paths import Path
from kadmit.authoring.lint.presence import ANYTHING
from kadmit.authoring.lint.project import Project
from kadmit.authoring.lint.reading import Read
from kadmit.authoring.lint.rule import Finding, Rule, Severity
from kadmit.authoring.lint.words import kinds_text
from kadmit.cel import ast
from kadmit.cel.ast import Expr
from kadmit.cel.unparser import unparse

RULE = Rule(
    code="KA202",
    title="optional field is read without a guard",
    severity=Severity.WARNING,
    explanation="""\
Reading a field that an object does not have is an error, `no such key`, and the failure policy decides what becomes
of the request. A field may be missing if its schema does not require it, no default fills it in and the kind's
validation does not ask for it; a key of a map may always be. Guards are has(), `in`, `.?` and `[?…]`, in the same
expression, in a match condition, in a variable or in another validation.""",
    fix="ask with has() first, or read it as an optional",
    bad="""\
validations:
- expression: object.metadata.labels.team != ''
""",
    good="""\
validations:
- expression: object.metadata.?labels.?team.orValue('') != ''
""",
)

_NAMESPACE = GroupVersionKind("", "v1", "Namespace")


def find(project: Project) -> Iterator[Finding]:
    for policy in project.policies:
        yield from _in_reads(project, policy.reading.reads, policy.kinds)
    for webhook in project.webhooks:
        if webhook.conditions:
            yield from _in_reads(project, reading.of_webhook(webhook).reads, project.kinds_of(webhook.rules))


def _in_reads(project: Project, reads: Sequence[Read], kinds: Sequence[GroupVersionKind]) -> Iterator[Finding]:
    """Each place once, however often it is read."""
    told: set[Path] = set()
    for read in reads:
        found = _missing(project, read, kinds)
        for path, where in found.items():
            key = tuple(step if isinstance(step, str) else paths.Item(paths.ALL) for step in path)
            if key not in told:
                told.add(key)
                yield _finding(read, path, where)
            break


def _missing(project: Project, read: Read, kinds: Sequence[GroupVersionKind]) -> dict[Path, list[GroupVersionKind]]:
    """The first part of a path that may be missing, and in which kinds."""
    found: dict[Path, list[GroupVersionKind]] = {}
    of_namespace = read.path[0] == "namespaceObject"
    for kind in [_NAMESPACE] if of_namespace else kinds or [ANYTHING]:
        presence = project.presence(kind)
        for length in range(2, len(read.path) + 1):
            part = read.path[:length]
            if presence.may_be_missing(part[1:]) and not paths.is_known(part, read.known):
                found.setdefault(part, []).append(kind)
                break
    return found


def _finding(read: Read, path: Path, kinds: Sequence[GroupVersionKind]) -> Finding:
    name = paths.text(path)
    where = "" if kinds[0] == ANYTHING else f" in {kinds_text(kinds)}"
    text = f"{name} may be missing{where}, and then the expression fails"
    node = read.node(len(path))
    return read.expression.finding(RULE, node, text, fix=_fix(read, node, path[-1]))


def _fix(read: Read, node: Expr, last: paths.Step) -> str:
    operand = node.operand if isinstance(node, ast.Select) else node.args[0] if isinstance(node, ast.Call) else node
    before = unparse(operand, read.expression.checked.tree.macros)
    if isinstance(last, str) and last.isidentifier():
        return f"write has({before}.{last}) && …, or {before}.?{last}.orValue(…)"
    return f"write '{last}' in {before} && …, or {before}[?'{last}'].orValue(…)"
