"""What the server would have against the registration of policies, bindings, webhook configurations and custom kinds.

Everything is told at once, each problem with its line: errors that validation finds, expressions that do not compile among them;
fields that nobody knows or that are given twice, for kubectl has such objects refused.
"""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from kadmit import validation
from kadmit.api import registration
from kadmit.api.gojson import marshal
from kadmit.authoring import workspace
from kadmit.authoring.manifests import Json, Manifest
from kadmit.kinds.known import Known
from kadmit.kinds.structs import DecodeError

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


def check(manifests: Iterable[Manifest]) -> list[Problem]:
    """All problems, in the order of the files and, for each object, of its lines."""
    known = Known()
    listed = (sorted(_problems(known, manifest), key=lambda p: p.line) for manifest in manifests if is_checked(manifest))
    return [problem for problems in listed for problem in problems]


def _problems(known: Known, manifest: Manifest) -> Iterator[Problem]:
    yield from (_of_repeated(manifest, text) for text in manifest.repeated)
    kind = manifest.kind
    source = workspace.current(manifest.value, kind)
    served = kind._replace(version=str(source["apiVersion"]).rpartition("/")[2]) if "apiVersion" in source else kind
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
    yield from _of_validation(manifest, {**decoded.object, "apiVersion": source["apiVersion"], "kind": kind.kind})


def _of_repeated(manifest: Manifest, text: str) -> Problem:
    found = _REPEATED.fullmatch(text)
    return Problem(manifest, int(found[1]) if found else manifest.line(), found[2] if found else text)


def _of_decoding(manifest: Manifest, text: str) -> Problem:
    found = _OF_FIELD.fullmatch(text)
    field = found[1] if found else ""
    return Problem(manifest, manifest.line(field), text, field)


def _of_validation(manifest: Manifest, made: Json) -> Iterator[Problem]:
    for error in workspace.problems(manifest.kind, made):
        yield Problem(manifest, manifest.line(error.field, error.detail), str(error), error.field)
    if registration.is_registration(manifest.kind):
        for text in validation.warnings(made):
            yield Problem(manifest, manifest.line("metadata.name"), text, "metadata.name", WARNING)
