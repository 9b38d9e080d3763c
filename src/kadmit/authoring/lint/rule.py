"""Rules and findings: what can be wrong, and where it is.

A rule is a record that documentation, `--explain` and reports read; its examples are tests. A finding belongs to a field of an
object in a file and, where the field is an expression, to a place inside of it. Places are worked out when they are asked for.
"""

import enum

from msgspec import Struct

from kadmit.authoring import positions
from kadmit.authoring.manifests import Manifest
from kadmit.authoring.positions import Place


class Severity(enum.Enum):
    """error: it will be refused or fail. warning: it may fail, or does not do what it seems to. info: worth knowing."""

    ERROR = "error"
    WARNING = "warning"
    INFO = "info"

    @property
    def rank(self) -> int:
        return (Severity.INFO, Severity.WARNING, Severity.ERROR).index(self)


class Rule(Struct, frozen=True, kw_only=True):
    """One thing that can be wrong. `bad` and `good` are YAML: whole objects, or a part of a policy or webhook."""

    code: str
    title: str
    severity: Severity
    explanation: str
    fix: str
    bad: str
    good: str


class Finding(Struct, frozen=True):
    """One thing that is wrong. `offset`: the character of the field's text at which it is."""

    rule: Rule
    manifest: Manifest
    field: str
    message: str
    offset: int | None = None
    fix: str = ""
    severity: Severity = Severity.ERROR
    known_place: Place | None = None

    @property
    def code(self) -> str:
        return self.rule.code

    @property
    def path(self) -> list[str]:
        return [*self.manifest.within, *positions.parts(self.field)]

    @property
    def place(self) -> Place:
        if self.known_place is not None:
            return self.known_place
        return self.manifest.file.positions.place(self.manifest.document, self.path, self.offset)


def finding(
    rule: Rule,
    manifest: Manifest,
    field: str,
    message: str,
    *,
    offset: int | None = None,
    fix: str = "",
    severity: Severity | None = None,
    place: Place | None = None,
) -> Finding:
    """A finding of a rule, with the rule's own severity and fix where no others are given."""
    return Finding(rule, manifest, field, message, offset, fix or rule.fix, severity or rule.severity, place)
