"""KA106: an operation of a JSON patch that does not exist, or lacks what it needs."""

from collections.abc import Iterator

from kadmit.authoring.lint import pointers
from kadmit.authoring.lint.project import Project
from kadmit.authoring.lint.reading import Patch
from kadmit.authoring.lint.rule import Finding, Rule, Severity
from kadmit.authoring.lint.spelling import suggestion

RULE = Rule(
    code="KA106",
    title="operation of a JSON patch is incomplete or unknown",
    severity=Severity.ERROR,
    explanation="""\
An operation has an `op`, one of add, remove, replace, move, copy and test, and a `path`; add, replace and test have a
`value`, move and copy a `from`. What is left out is an empty text or null: `add` without a value writes null. Nothing
of this is checked when the policy is registered.""",
    fix="give the operation what it needs",
    bad="""\
mutations:
- patchType: JSONPatch
  jsonPatch:
    expression: '[JSONPatch{op: "set", path: "/spec/hostNetwork", value: false}]'
""",
    good="""\
mutations:
- patchType: JSONPatch
  jsonPatch:
    expression: '[JSONPatch{op: "add", path: "/spec/hostNetwork", value: false}]'
""",
)

_NEEDS = {"add": "value", "replace": "value", "test": "value", "move": "from", "copy": "from", "remove": ""}
_MEANT = {"set": "add", "update": "replace", "delete": "remove", "insert": "add", "append": "add", "rename": "move"}


def find(project: Project) -> Iterator[Finding]:
    for policy in project.policies:
        for patch in policy.reading.patches:
            yield from _in_patch(patch)


def _in_patch(patch: Patch) -> Iterator[Finding]:
    op = patch.value("op")
    if op is None:
        yield patch.expression.finding(RULE, patch.node, "the operation has no op", fix=f"write one of {', '.join(_NEEDS)}")
        return
    name = pointers.constant(op, patch.frame)
    if name is not None and name not in _NEEDS:
        fix = f"did you mean '{_MEANT[name.lower()]}'?" if name.lower() in _MEANT else suggestion(name, _NEEDS)
        yield patch.expression.finding(
            RULE, op, f"there is no operation '{name}'", fix=fix or f"write one of {', '.join(_NEEDS)}"
        )
        return
    if patch.value("path") is None:
        yield patch.expression.finding(RULE, patch.node, "the operation has no path", fix='write path: "/…"')
    needed = _NEEDS.get(name or "", "")
    if needed and patch.value(needed) is None:
        yield patch.expression.finding(RULE, patch.node, f"the operation '{name}' has no {needed}", fix=f"write {needed}: …")
