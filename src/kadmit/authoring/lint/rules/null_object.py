"""KA203: object is read on DELETE, oldObject on CREATE, or namespaceObject in a match condition, where they are null."""

from collections.abc import Iterator, Sequence

from kadmit.authoring.lint import paths, reading
from kadmit.authoring.lint.project import Project, Role
from kadmit.authoring.lint.reading import Read
from kadmit.authoring.lint.rule import Finding, Rule, Severity

RULE = Rule(
    code="KA203",
    title="object, oldObject or namespaceObject is read where it is null",
    severity=Severity.WARNING,
    explanation="""\
`oldObject` is null when an object is created, `object` when one is deleted, and `namespaceObject` in every match
condition: reading a field of null is an error, and the failure policy decides what becomes of the request. Of objects
it is only told where the rules match such operations. Guards are a comparison with null, one of `request.operation`,
and `.?`; a namespace is matched with a namespaceSelector, or read in a validation or mutation.""",
    fix="ask for request.operation or for null first",
    bad="""\
validations:
- expression: object.spec.containers.size() >= oldObject.spec.containers.size()
""",
    good="""\
validations:
- expression: request.operation == 'CREATE' || object.spec.containers.size() >= oldObject.spec.containers.size()
""",
)

_NO_NAMESPACE = "namespaceObject is null in match conditions, and then the expression fails"
_SELECT = "match namespaces with a namespaceSelector, or by request.namespace"
_NULL_ON = {"oldObject": "CREATE", "object": "DELETE"}


def find(project: Project) -> Iterator[Finding]:
    for policy in project.policies:
        yield from _in_reads(policy.reading.reads, policy.operations)
    for webhook in project.webhooks:
        if webhook.conditions:
            yield from _in_reads(reading.of_webhook(webhook).reads, webhook.operations)


def _in_reads(reads: Sequence[Read], operations: set[str]) -> Iterator[Finding]:
    told: set[object] = set()
    for read in reads:
        root = read.path[0]
        if root == "namespaceObject" and read.expression.role is Role.CONDITION and not paths.is_known((root,), read.known):
            yield read.expression.finding(RULE, read.node(1), _NO_NAMESPACE, fix=_SELECT)
            continue
        operation = _NULL_ON.get(str(root))
        if operation not in operations or root in told or paths.is_known((root,), read.known):
            continue
        told.add(root)
        text = f"{root} is null on {operation}, which the rules match, and then the expression fails"
        fix = f"write request.operation == '{operation}' || …, or {root} == null || …"
        yield read.expression.finding(RULE, read.node(1), text, fix=fix)
