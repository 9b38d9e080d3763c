"""KA105: the path of a JSON patch leads nowhere."""

from collections.abc import Iterator

from kadmit.api.meta import GroupVersionKind
from kadmit.authoring.lint import placements, pointers
from kadmit.authoring.lint.pointers import Pointer, Wrong
from kadmit.authoring.lint.project import Policy, Project
from kadmit.authoring.lint.reading import Patch
from kadmit.authoring.lint.rule import Finding, Rule, Severity
from kadmit.authoring.lint.spelling import suggestion
from kadmit.authoring.lint.words import kinds_text
from kadmit.cel import gotext

RULE = Rule(
    code="KA105",
    title="path of a JSON patch leads nowhere",
    severity=Severity.ERROR,
    explanation="""\
A path begins with a slash and names fields, keys of maps and numbers of list items; `-` is the place behind the last
item, for `add` only. Slashes and tildes in keys must be escaped. A path that the kind does not have makes the
mutation fail, or its result undecodable, when a request comes. Paths are followed as far as they are constant.""",
    fix="write a path that the kind has",
    bad="""\
mutations:
- patchType: JSONPatch
  jsonPatch:
    expression: '[JSONPatch{op: "replace", path: "/spec/template/spec/priorityClassName", value: "low"}]'
""",
    good="""\
mutations:
- patchType: JSONPatch
  jsonPatch:
    expression: '[JSONPatch{op: "replace", path: "/spec/priorityClassName", value: "low"}]'
""",
)


def find(project: Project) -> Iterator[Finding]:
    for policy in project.policies:
        for patch in policy.reading.patches:
            for name in ("path", "from"):
                yield from _in_patch(policy, patch, name)


def _in_patch(policy: Policy, patch: Patch, name: str) -> Iterator[Finding]:
    node = patch.value(name)
    if node is None:
        return
    text = pointers.constant(node, patch.frame)
    if text is not None and not text.startswith("/"):
        said = (
            f'the {name} "{text}" does not begin with a slash'
            if text
            else f"the {name} is empty: it must not be the whole object"
        )
        yield patch.expression.finding(RULE, node, said, fix=f'write "/{text}"' if text else "")
        return
    pointer = pointers.of(node, patch.frame)
    if pointer is None:
        return
    found = _wrong(policy, patch, pointer, name)
    if not found or (len(found) < len(policy.kinds) and placements.tells_kinds_apart(policy, patch.expression)):
        return
    first = next(iter(found.values()))
    message = f"the {name} {pointer.text} leads nowhere in {kinds_text(found)}: {first.reason}"
    yield patch.expression.finding(RULE, node, message, fix=_fix(pointer, first))


def _wrong(policy: Policy, patch: Patch, pointer: Pointer, name: str) -> dict[GroupVersionKind, Wrong]:
    op = patch.value("op")
    does = (pointers.constant(op, patch.frame) or "") if op is not None and name == "path" else ""
    found = {}
    for kind in policy.kinds:
        schema = policy.project.schema_of(kind)
        problem = pointers.wrong(pointer, schema, does) if schema is not None else None
        if problem is not None:
            found[kind] = problem
    return found


def _fix(pointer: Pointer, wrong: Wrong) -> str:
    if wrong.unescaped:
        before = "/".join(pointer.parts[: len(pointer.parts) - wrong.unescaped.count("/") - 1])
        call = f"jsonpatch.escapeKey({gotext.quote(wrong.unescaped)})"
        return f'escape the key: "/{before}/" + {call}, or "/{before}/{pointers.escaped(wrong.unescaped)}"'
    return suggestion(pointer.parts[wrong.position], wrong.choices)
