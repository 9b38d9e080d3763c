"""Comments that silence findings: `# kadmit: ignore KA203`, with as many codes as are wanted and a reason behind them.

A comment counts for its own line, and for the next line that is no comment. On or above the line of a field it counts for the
whole field, an expression of many lines among them; on or above `metadata:` for the whole object. Inside of an expression it is
written `// kadmit: ignore KA203`. A comment that silences nothing is told, lest it stays for ever.
"""

import re
from collections.abc import Iterable, Sequence

from msgspec import Struct, field

from kadmit.authoring.lint.rule import Finding, Rule, Severity, finding
from kadmit.authoring.manifests import File, Manifest
from kadmit.authoring.positions import Place

IDLE = Rule(
    code="KA008",
    title="comment silences nothing",
    severity=Severity.INFO,
    explanation="""\
A comment `kadmit: ignore` with a code that does not exist, or that nothing on its line gives. What it once silenced
is gone, or stands elsewhere.""",
    fix="remove the comment, or move it to the line of the finding",
    bad="""\
validations:
# kadmit: ignore KA205
- expression: object.spec.containers.size() <= 10
""",
    good="""\
validations:
# kadmit: ignore KA205 switched off until Monday
- expression: object.spec.containers.size() <= 10 || true
""",
)

_COMMENT = re.compile(r"(?:#|//)\s*kadmit:\s*ignore\s+(KA[0-9]{3}(?:\s*,?\s*KA[0-9]{3})*)")
_CODE = re.compile(r"KA[0-9]{3}")
_ONLY_COMMENT = re.compile(r"\s*(?:#|//)")
_MARK = b"kadmit:"


class Comment(Struct):
    """One comment. `target`: the line that it is about, counted from 1."""

    place: Place
    target: int
    codes: tuple[str, ...]
    used: set[str] = field(default_factory=set)


def comments(file: File) -> list[Comment]:
    """All such comments of a file."""
    if _MARK not in file.data:
        return []
    lines = file.positions.lines
    found = []
    for number, line in enumerate(lines, 1):
        match = _COMMENT.search(line)
        if match is not None:
            alone = _ONLY_COMMENT.match(line) is not None
            target = _next_line(lines, number) if alone else number
            found.append(Comment(Place(number, match.start() + 1), target, tuple(_CODE.findall(match[1]))))
    return found


def _next_line(lines: Sequence[str], number: int) -> int:
    """The first line after this one that is more than a comment."""
    for later in range(number, len(lines)):
        if _ONLY_COMMENT.match(lines[later]) is None:
            return later + 1
    return number


class Silence:
    """The comments of all files, and which of them were needed."""

    def __init__(self, manifests: Iterable[Manifest]) -> None:
        self._comments: dict[int, list[Comment]] = {}
        self._first: dict[int, Manifest] = {}
        for manifest in manifests:
            key = id(manifest.file)
            if key not in self._comments:
                self._comments[key] = comments(manifest.file)
                self._first[key] = manifest

    def covers(self, found: Finding) -> bool:
        """Whether a comment silences it; each that does has been of use."""
        listed = self._comments.get(id(found.manifest.file))
        if not listed:
            return False
        wanted = _lines(found)
        silenced = False
        for comment in listed:
            if found.code in comment.codes and comment.target in wanted:
                comment.used.add(found.code)
                silenced = True
        return silenced

    def idle(self) -> list[Finding]:
        """Comments that were of no use."""
        return [
            finding(IDLE, self._first[key], "", f"nothing here gives {code}", place=comment.place)
            for key, listed in self._comments.items()
            for comment in listed
            for code in comment.codes
            if code not in comment.used
        ]


def _lines(found: Finding) -> set[int]:
    """The lines whose comments count: of the place itself, of the field's key, of the object's metadata."""
    positions, manifest = found.manifest.file.positions, found.manifest
    whole = {positions.place(manifest.document, [*manifest.within, "metadata"]).line}
    field_line = {positions.place(manifest.document, found.path).line} if found.field else set()
    return {found.place.line} | field_line | whole
