"""A test suite as data: what is there, what is asked, what is expected. Read from a file by `suite_reading`, run by `running`.

Nothing here has been run, and nothing here reads a file: a suite is a value, so that plans, runs and reports can be, too.
"""

from collections.abc import Mapping, Sequence
from typing import Any, Protocol, TypeAlias

from msgspec import Struct, field

from kadmit.authoring import visible
from kadmit.authoring.manifests import File, Json, Manifest
from kadmit.authoring.suite.outcome import Fault, Outcome

OURS = "kadmit"
ALLOW, DENY, FAIL, TIMEOUT, RESPONSE = "allow", "deny", "fail", "timeout", "response"


class Reply(Struct, frozen=True):
    """One answer of a scripted webhook."""

    does: str = ALLOW
    message: str = ""  # of a denial, or why the call failed
    code: int = 0
    reason: str = ""
    patch: Sequence[Any] = ()
    warnings: tuple[str, ...] = ()
    annotations: Mapping[str, str] = field(default_factory=dict)
    response: Json | None = None  # the whole response, as it stands


Scripts: TypeAlias = Mapping[str, tuple[Reply, ...]]  # by webhook name; the last reply answers all further calls


class Ask(Struct, frozen=True):
    """One request. Without an operation it is an UPDATE where there is an old object, else a CREATE."""

    object: Manifest | None = None
    old: Manifest | None = None
    operation: str = ""
    subresource: str = ""
    options: Json = field(default_factory=dict)  # of a CONNECT
    namespace: str = ""  # of objects that name none
    user: str = ""
    groups: tuple[str, ...] = ()
    uid: str = ""
    extra: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    dry_run: bool = False
    field_validation: str = "Strict"  # as kubectl asks
    policies_only: bool = False  # the kind's own rules are not asked: other tools know none


class Expectation(Protocol):
    """What a case holds against what came of its request. Suites of other tools have expectations of their own."""

    @property
    def compares(self) -> bool:
        """Whether it must know the object as it would be without admission."""

    @property
    def follows(self) -> bool:
        """Whether it must know what each policy did."""

    def faults(self, outcome: Outcome) -> list[Fault]:
        """What is not as expected."""


class Golden(Struct, frozen=True):
    """A file that holds the whole outcome. `text` is what it holds now, None if it is not there."""

    path: str
    text: str | None = None


class Case(Struct, frozen=True):
    """One request and what is expected of it. `path` leads to it in its file.

    `unable` says why the case cannot be run here at all, `skipped` why its author does not want it to be.
    """

    name: str
    ask: Ask
    expected: Expectation
    path: tuple[str, ...] = ()
    fixtures: tuple[Manifest, ...] = ()
    scripts: Scripts = field(default_factory=dict)
    golden: Golden | None = None
    unable: str = ""
    skipped: str = ""


class Suite(Struct, frozen=True):
    """A file of cases, and what is there for all of them. `depends` names every file and glob that it was made from."""

    file: File
    cases: tuple[Case, ...]
    fixtures: tuple[Manifest, ...] = ()
    scripts: Scripts = field(default_factory=dict)
    depends: tuple[str, ...] = ()
    document: int = 0
    tool: str = OURS

    @property
    def name(self) -> str:
        return self.file.name


class Problem(Struct, frozen=True):
    """Something in a suite that cannot be meant, and where it stands."""

    file: str
    line: int
    column: int
    message: str
    hint: str = ""

    def __str__(self) -> str:
        """One line, whatever it quotes."""
        told = f"{self.file}:{self.line}:{self.column}: {self.message}" + (f" ({self.hint})" if self.hint else "")
        return visible.line(told)


class BadSuite(ValueError):
    """A suite that cannot be run, with everything that is wrong with it, and the files whose change may set it right."""

    def __init__(self, problems: Sequence[Problem], depends: Sequence[str] = ()) -> None:
        super().__init__("\n".join(map(str, problems)))
        self.problems = tuple(problems)
        self.depends = tuple(depends)
