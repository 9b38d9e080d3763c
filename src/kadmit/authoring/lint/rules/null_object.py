"""KA203: object is read on DELETE, or oldObject on CREATE, where they are null."""

from collections.abc import Iterator, Sequence

from kadmit.authoring.lint import paths, reading
from kadmit.authoring.lint.project import Project
from kadmit.authoring.lint.reading import Read
from kadmit.authoring.lint.rule import Finding, Rule, Severity

RULE = Rule(
    code="KA203",
    title="object or oldObject is read where it is null",
    severity=Severity.WARNING,
    explanation="""\
`oldObject` is null when an object is created, `object` when one is deleted: reading a field of null is an error, and
the failure policy decides what becomes of the request. It is only told where the rules match such operations. Guards
are a comparison with null, one of `request.operation`, and `.?`.""",
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
        operation = _NULL_ON.get(str(root))
        if operation not in operations or root in told or paths.is_known((root,), read.known):
            continue
        told.add(root)
        text = f"{root} is null on {operation}, which the rules match, and then the expression fails"
        fix = f"write request.operation == '{operation}' || …, or {root} == null || …"
        yield read.expression.finding(RULE, read.node(1), text, fix=fix)
