"""What is wrong or doubtful about policies, bindings and webhook configurations: all of it at once, each with its place.

First what the server would have against registering them; then, for what is sound, the rules of `lint`. Comments silence
findings, and what is asked for may be narrowed down to some rules. The moment at which certificates must be valid comes from
outside.
"""

from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime

from msgspec import Struct

from kadmit.api import registration
from kadmit.authoring import registering
from kadmit.authoring.lint import catalogue
from kadmit.authoring.lint.project import Project
from kadmit.authoring.lint.rule import Finding, Rule, Severity
from kadmit.authoring.lint.rules import registered
from kadmit.authoring.lint.silencing import Silence
from kadmit.authoring.manifests import Json, Manifest
from kadmit.kinds.known import Known


class UnknownCode(ValueError):
    """A code that no rule has."""


class Selection(Struct, frozen=True):
    """Which rules count: those whose codes begin with one of `select` (none: all), without those of `ignore`."""

    select: tuple[str, ...] = ()
    ignore: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        for code in (*self.select, *self.ignore):
            if not catalogue.matching(code):
                raise UnknownCode(f"there is no rule {code}")

    def has(self, rule: Rule) -> bool:
        selected = not self.select or any(rule.code.startswith(code.upper()) for code in self.select)
        return selected and not any(rule.code.startswith(code.upper()) for code in self.ignore)


class Checked(Struct, frozen=True):
    """What was found, in the order of files and places; how much was looked at, and how much was silenced."""

    findings: Sequence[Finding]
    objects: int
    others: int
    silenced: int

    def worst(self, least: Severity) -> bool:
        """Whether something is at least so severe."""
        return any(found.severity.rank >= least.rank for found in self.findings)


def is_checked(manifest: Manifest) -> bool:
    """Whether it is of a kind that configures admission or makes kinds."""
    return manifest.kind.group == registration.GROUP or _is_definition(manifest)


def _is_definition(manifest: Manifest) -> bool:
    return (manifest.kind.group, manifest.kind.kind) == registering.DEFINITION


def check(manifests: Sequence[Manifest], *, now: datetime, selection: Selection | None = None) -> Checked:
    """All findings about the objects of files."""
    selection = selection or Selection()
    project = project_of(manifests, now)
    silence = Silence(manifests)
    found = [*project.early, *(f for module in _asked(selection) for f in module.find(project))]
    loud = [f for f in found if not silence.covers(f)]
    silenced = len(found) - len(loud)
    if not selection.select and not selection.ignore:
        loud += silence.idle()
    told = _ordered((f for f in loud if selection.has(f.rule)), manifests)
    count = sum(map(is_checked, manifests))
    return Checked(told, count, len(manifests) - count, silenced)


def _asked(selection: Selection) -> Iterator[catalogue.Module]:
    return (module for module in catalogue.MODULES if selection.has(module.RULE))


def _ordered(findings: Iterable[Finding], manifests: Iterable[Manifest]) -> list[Finding]:
    """By file, as they were given, then by place."""
    files = {id(file): i for i, file in enumerate(dict.fromkeys(m.file for m in manifests))}
    return sorted(findings, key=lambda f: (files[id(f.manifest.file)], *f.place, f.code, f.message))


def project_of(manifests: Sequence[Manifest], now: datetime) -> Project:
    """The sound objects of the files, and what registration has to say."""
    plain = Known()
    definitions: list[Json] = []
    early: list[Finding] = []
    for manifest in manifests:
        if _is_definition(manifest):
            made, found = registered.register(manifest, plain)
            early += found
            definitions += [] if made is None else [made]
    project = Project(Known(definitions) if definitions else plain, manifests, now, early=early)
    for manifest in manifests:
        if manifest.kind.group == registration.GROUP:
            made, found = registered.register(manifest, project.known)
            project.early += found
            if made is not None:
                project.add(manifest, made)
    return project
