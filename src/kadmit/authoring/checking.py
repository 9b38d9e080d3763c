"""What the server would have against the registration of policies, bindings, webhook configurations and custom kinds.

Everything is told at once, each problem with its line: errors that validation finds, expressions that do not compile among them;
fields that nobody knows or that are given twice, for kubectl has such objects refused; and warnings of expressions that do not
fit the kinds that their policy is about.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from kadmit import validation
from kadmit.api import registration
from kadmit.api.gojson import marshal
from kadmit.api.meta import GroupVersionKind
from kadmit.authoring import workspace
from kadmit.authoring.manifests import Json, Manifest
from kadmit.kinds import schema
from kadmit.kinds.known import Known
from kadmit.kinds.schema import Schema
from kadmit.kinds.structs import DecodeError
from kadmit.policy import type_checker

ERROR, WARNING = "error", "warning"

_DEFINITION = ("apiextensions.k8s.io", "CustomResourceDefinition")
_REPEATED = re.compile(r"line ([0-9]{1,9}): (.*)", re.DOTALL)
_OF_FIELD = re.compile(r'(?:unknown|duplicate) field "(.*)"\Z', re.DOTALL)


@dataclass(frozen=True, slots=True)
class Problem:
    """One thing that is wrong, and where."""

    manifest: Manifest
    line: int
    message: str
    field: str = ""
    severity: str = ERROR

    def __str__(self) -> str:
        about = f'{self.manifest.kind.kind} "{self.manifest.name}"'
        return f"{self.manifest.file.name}:{self.line}: {self.severity}: {about}: {self.message}"

    def as_json(self) -> dict[str, Any]:
        kind = self.manifest.kind
        made = {"file": self.manifest.file.name, "line": self.line, "severity": self.severity}
        made |= {"apiVersion": str(kind.group_version), "kind": kind.kind, "name": self.manifest.name}
        return made | ({"field": self.field} if self.field else {}) | {"message": self.message}


def is_checked(manifest: Manifest) -> bool:
    """Whether it is of a kind that configures admission or makes kinds."""
    return manifest.kind.group == registration.GROUP or (manifest.kind.group, manifest.kind.kind) == _DEFINITION


def check(manifests: Sequence[Manifest]) -> list[Problem]:
    """All problems, in the order of the files and, for each object, of its lines."""
    schemas = _Schemas(Known(_definitions(manifests)))
    listed = (sorted(_problems(schemas, manifest), key=lambda p: p.line) for manifest in manifests if is_checked(manifest))
    return [problem for problems in listed for problem in problems]


class _Schemas:
    """What type checking asks, answered by all kinds that are known."""

    def __init__(self, known: Known) -> None:
        self.known = known

    def kinds_of(self, group: str, version: str, resource: str) -> Sequence[GroupVersionKind]:
        """NB: to Kubernetes' mapper of resources, no group means any group."""
        named = [r for r in self.known.catalog if (r.version, r.plural) == (version, resource)]
        return [GroupVersionKind(*r.gvk) for r in named if not group or r.group == group]

    def schema_of(self, kind: GroupVersionKind) -> Schema | None:
        custom = self.known.custom.get(kind)
        return custom.schema if custom is not None else schema.for_kind(kind)


def _definitions(manifests: Iterable[Manifest]) -> Iterator[Json]:
    """Custom kinds of the files, those that are sound."""
    known = Known()
    for manifest in manifests:
        kind = manifest.kind
        if (kind.group, kind.kind) != _DEFINITION or known.kind(kind) is None:
            continue
        try:
            made = known.decode(kind, manifest.body).object
        except DecodeError:
            continue
        if not workspace.problems(kind, made):
            yield made


def _problems(schemas: _Schemas, manifest: Manifest) -> Iterator[Problem]:
    yield from (_of_repeated(manifest, text) for text in manifest.repeated)
    kind, known = manifest.kind, schemas.known
    source = workspace.current(manifest.value, kind)
    served = kind._replace(version=str(source.get("apiVersion") or "").rpartition("/")[2])
    if known.kind(served) is None:
        text = f'no matches for kind "{kind.kind}" in version "{kind.group_version}"'
        yield Problem(manifest, manifest.line("apiVersion"), text, "apiVersion")
        return
    try:
        decoded = known.decode(served, marshal(source).encode())
    except DecodeError as e:
        yield Problem(manifest, manifest.line(), str(e))
        return
    yield from (_of_decoding(manifest, text) for text in decoded.problems)
    made = workspace.with_own_defaults({**decoded.object, "apiVersion": source["apiVersion"], "kind": kind.kind}, kind)
    errors = [
        Problem(manifest, manifest.line(e.field, e.detail), str(e), e.field) for e in workspace.problems(manifest.kind, made)
    ]
    yield from errors or _warnings(schemas, manifest, made)


def _of_repeated(manifest: Manifest, text: str) -> Problem:
    found = _REPEATED.fullmatch(text)
    return Problem(manifest, int(found[1]) if found else manifest.line(), found[2] if found else text)


def _of_decoding(manifest: Manifest, text: str) -> Problem:
    found = _OF_FIELD.fullmatch(text)
    field = found[1] if found else ""
    return Problem(manifest, manifest.line(field), text, field)


def _warnings(schemas: _Schemas, manifest: Manifest, made: Json) -> Iterator[Problem]:
    """What is doubtful about an object that the server would accept."""
    if not registration.is_registration(manifest.kind):
        return
    for text in validation.warnings(made):
        yield Problem(manifest, manifest.line("metadata.name"), text, "metadata.name", WARNING)
    if manifest.kind.kind == registration.VALIDATING_POLICY:
        for warned in type_checker.check(made, schemas, forgiving=True):
            text = warned.text.rstrip("\n")
            yield Problem(manifest, manifest.line(warned.field, text), f"{warned.field}: {text}", warned.field, WARNING)
