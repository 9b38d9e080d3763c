"""KA001 to KA007: what the server itself says when an object is registered."""

import re
from collections.abc import Iterator
from typing import NamedTuple

from kadmit import validation
from kadmit.api import registration
from kadmit.api.fields import FieldError
from kadmit.api.gojson import marshal
from kadmit.authoring import positions, registering
from kadmit.authoring.lint.rule import Finding, Rule, Severity, finding
from kadmit.authoring.manifests import Json, Manifest
from kadmit.authoring.positions import Place
from kadmit.kinds.known import Known
from kadmit.kinds.structs import DecodeError
from kadmit.validation.expressions import trimmed

_POLICY = """\
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicy
metadata: {name: few-containers}
spec:
  matchConstraints:
    resourceRules: [{apiGroups: [""], apiVersions: [v1], operations: [CREATE], resources: [pods]}]
  validations:
  - expression: object.spec.containers.size() <= 10
"""

INVALID = Rule(
    code="KA001",
    title="the server refuses the object",
    severity=Severity.ERROR,
    explanation="""\
API validation, with the server's own words. Policies, bindings, webhook configurations and CustomResourceDefinitions
are validated as Kubernetes 1.36 does.""",
    fix="write a value that the server accepts",
    bad=_POLICY.replace("[CREATE]", "[CREAT]"),
    good=_POLICY,
)
UNCOMPILED = Rule(
    code="KA002",
    title="an expression does not compile",
    severity=Severity.ERROR,
    explanation="""\
The compiler's own words, with the place of the error. What is new in a version of Kubernetes may be used one version
later, so that an older server can read it after a downgrade.""",
    fix="write an expression that compiles, of the type that is asked for",
    bad=_POLICY.replace("object.spec", "objct.spec"),
    good=_POLICY,
)
UNKNOWN = Rule(
    code="KA003",
    title="a field is unknown",
    severity=Severity.ERROR,
    explanation="""\
kubectl has objects with unknown fields refused; other clients have them dropped without a word.""",
    fix="remove the field, or write its name as the API has it",
    bad=_POLICY.replace("  validations:\n  - expression", "  validations:\n  - mesage: too many containers\n    expression"),
    good=_POLICY.replace("  validations:\n  - expression", "  validations:\n  - message: too many containers\n    expression"),
)
REPEATED = Rule(
    code="KA004",
    title="a field is given twice",
    severity=Severity.ERROR,
    explanation="""\
kubectl has objects with repeated fields refused; for other clients the last one counts.""",
    fix="remove one of them",
    bad=_POLICY + "  validations:\n  - expression: object.spec.containers.size() >= 1\n",
    good=_POLICY + "  - expression: object.spec.containers.size() >= 1\n",
)
NO_KIND = Rule(
    code="KA005",
    title="the kind does not exist in this version",
    severity=Severity.ERROR,
    explanation="""\
No such kind of admissionregistration.k8s.io, or not in this version.""",
    fix="write apiVersion: admissionregistration.k8s.io/v1, and the kind as the API has it",
    bad=_POLICY.replace("kind: Validating", "kind: Validation"),
    good=_POLICY,
)
UNDECODABLE = Rule(
    code="KA006",
    title="the object cannot be decoded",
    severity=Severity.ERROR,
    explanation="""\
A field has a value of another type than the API has, such as a text where a list belongs. Nothing else of the object
is checked then.""",
    fix="write a value of the type that the API has",
    bad=_POLICY.replace("[CREATE]", "CREATE"),
    good=_POLICY,
)
RESERVED = Rule(
    code="KA007",
    title="the name is reserved",
    severity=Severity.WARNING,
    explanation="""\
Names that end in `.static.k8s.io` belong to configuration that an API server reads from its own files.""",
    fix="choose another name",
    bad=_POLICY.replace("few-containers", "few-containers.static.k8s.io"),
    good=_POLICY,
)

RULES = (INVALID, UNCOMPILED, UNKNOWN, REPEATED, NO_KIND, UNDECODABLE, RESERVED)

_REPEATED_KEY = re.compile(r"line ([0-9]{1,9}): (.*)", re.DOTALL)
_OF_FIELD = re.compile(r'(?:unknown|duplicate) field "(.*)"\Z', re.DOTALL)
_COMPILING = re.compile(r"compilation failed: |must evaluate to |program instantiation failed: ")
_TRIMMED = re.compile(r"atchConditions\[|applyConfiguration\.|jsonPatch\.|auditAnnotations\[")


class Registered(NamedTuple):
    """An object as the server would hold it, or None if it would not; and what there is to say."""

    made: Json | None
    findings: list[Finding]


def register(manifest: Manifest, known: Known) -> Registered:
    """One object of a kind that configures admission or makes kinds."""
    early = [_repeated(manifest, text) for text in manifest.repeated]
    kind = manifest.kind
    source = registering.current(manifest.value, kind)
    served = kind._replace(version=str(source.get("apiVersion") or "").rpartition("/")[2])
    if known.kind(served) is None:
        text = f'no matches for kind "{kind.kind}" in version "{kind.group_version}"'
        return Registered(None, [*early, finding(NO_KIND, manifest, "apiVersion", text)])
    try:
        decoded = known.decode(served, marshal(source).encode())
    except DecodeError as e:
        return Registered(None, [*early, finding(UNDECODABLE, manifest, "", str(e))])
    early += [_undeclared(manifest, text) for text in decoded.problems]
    whole = {**decoded.object, "apiVersion": source["apiVersion"], "kind": kind.kind}
    made = registering.with_own_defaults(whole, kind)
    errors = [_invalid(manifest, error) for error in registering.problems(kind, made)]
    warned = [] if errors else list(_warned(manifest, made))
    return Registered(None if errors else made, [*early, *errors, *warned])


def _repeated(manifest: Manifest, text: str) -> Finding:
    found = _REPEATED_KEY.fullmatch(text)
    if found is None:
        return finding(REPEATED, manifest, "", text)
    return finding(REPEATED, manifest, "", found[2], place=Place(int(found[1]), 1))


def _undeclared(manifest: Manifest, text: str) -> Finding:
    found = _OF_FIELD.fullmatch(text)
    rule = REPEATED if text.startswith("duplicate") else UNKNOWN
    return finding(rule, manifest, found[1] if found else "", text)


def _invalid(manifest: Manifest, error: FieldError) -> Finding:
    if not _COMPILING.match(error.detail):
        return finding(INVALID, manifest, error.field, str(error))
    text = _text_at(manifest, error.field)
    compiled = trimmed(text) if _TRIMMED.search(error.field) else text
    offset = positions.offset_in(compiled, error.detail)
    at = 0 if offset is None else offset
    return finding(UNCOMPILED, manifest, error.field, str(error), offset=text.find(compiled) + at)


def _text_at(manifest: Manifest, field: str) -> str:
    value: object = manifest.value
    for part in positions.parts(field):
        if isinstance(value, dict):
            value = value.get(part)
        elif isinstance(value, list) and part.isdecimal() and int(part) < len(value):
            value = value[int(part)]
    return value if isinstance(value, str) else ""


def _warned(manifest: Manifest, made: Json) -> Iterator[Finding]:
    if registration.is_registration(manifest.kind):
        yield from (finding(RESERVED, manifest, "metadata.name", text) for text in validation.warnings(made))
