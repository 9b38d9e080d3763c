"""From a suite to results: which cases are to be run, what came of each, and what that makes together.

A plan is made before anything runs, and every case in it ends up in the results: what was selected and not run is told as such,
and counts as an error.
"""

from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any

from msgspec import Struct

from kadmit.api import yaml
from kadmit.authoring.manifests import Json
from kadmit.authoring.suite.expectation import difference
from kadmit.authoring.suite.model import OURS, Case, Golden, Suite
from kadmit.authoring.suite.outcome import Fault
from kadmit.authoring.suite.world import World
from kadmit.authoring.workspace import Unusable

if TYPE_CHECKING:
    from kadmit.authoring.coverage.coverage import Coverage, Report

PASSED, FAILED, ERROR, NOT_RUN = "passed", "failed", "error", "not run"
UNABLE, SKIPPED = "not expressible", "skipped"
VERDICTS = (PASSED, FAILED, ERROR, NOT_RUN, UNABLE, SKIPPED)


# ---------------------------------------------------------------- plan


class Planned(Struct, frozen=True):
    """A case that is to be run."""

    suite: Suite
    case: Case

    @property
    def id(self) -> str:
        return f"{self.suite.name}::{self.case.name}"

    @property
    def place(self) -> tuple[int, int]:
        """Line and column of the case in its file."""
        return self.suite.file.positions.place(self.suite.document, self.case.path)


def plan(suites: Iterable[Suite], wanted: Callable[[str], bool] = lambda _: True) -> list[Planned]:
    """All cases that are wanted, by their ids, in the order of the files."""
    return [planned for suite in suites for case in suite.cases if wanted((planned := Planned(suite, case)).id)]


# ---------------------------------------------------------------- results


class Judged(Struct, frozen=True):
    """What came of a case. Plain data: it goes from one process to another.

    `golden` is what the case's golden file should hold, where it holds something else.
    """

    verdict: str
    faults: tuple[Fault, ...] = ()
    detail: str = ""  # why it is an error, not run, not expressible or skipped
    story: str = ""
    golden: str | None = None
    seconds: float = 0.0


class Result(Struct, frozen=True):
    """A case and what came of it."""

    planned: Planned
    judged: Judged

    @property
    def id(self) -> str:
        return self.planned.id

    @property
    def verdict(self) -> str:
        return self.judged.verdict

    @property
    def messages(self) -> list[str]:
        """Why it did not pass, a line each."""
        faults = [f"{fault.what}: {fault.message}" for fault in self.judged.faults]
        return faults or ([self.judged.detail] if self.judged.detail else [])

    def as_json(self) -> Json:
        line, column = self.planned.place
        judged, suite = self.judged, self.planned.suite
        made: dict[str, Any] = {"id": self.id, "suite": suite.name, "case": self.planned.case.name, "tool": suite.tool}
        made |= {"file": suite.file.name, "line": line, "column": column}
        made |= {"verdict": judged.verdict, "seconds": round(judged.seconds, 6)}
        if judged.detail:
            made["detail"] = judged.detail
        if judged.story:
            made["story"] = judged.story
        if judged.golden is not None and self.planned.case.golden is not None:
            made["golden"] = self.planned.case.golden.path
        return made | {"faults": [fault.as_json() for fault in judged.faults]}


class Run(Struct, frozen=True):
    """All results of a plan, in its order."""

    results: tuple[Result, ...]
    seconds: float = 0.0
    coverage: "Report | None" = None
    coverage_wanted: float = 0.0  # percent
    unable_is_fine: bool = False

    def count(self, verdict: str) -> int:
        return sum(result.verdict == verdict for result in self.results)

    def having(self, *verdicts: str) -> list[Result]:
        return [result for result in self.results if result.verdict in verdicts]

    def is_bad(self, result: Result) -> bool:
        """Whether a result keeps the run from being good."""
        return result.verdict in (FAILED, ERROR, NOT_RUN) or (result.verdict == UNABLE and not self.unable_is_fine)

    @property
    def bad(self) -> list[Result]:
        return [result for result in self.results if self.is_bad(result)]

    @property
    def covers_enough(self) -> bool:
        return self.coverage is None or self.coverage.percent >= self.coverage_wanted

    @property
    def good(self) -> bool:
        return not self.bad and self.covers_enough

    def as_json(self) -> Json:
        counts = {verdict: self.count(verdict) for verdict in VERDICTS}
        made: Json = {"schemaVersion": 1, "good": self.good, "seconds": round(self.seconds, 6), "counts": counts}
        if self.coverage is not None:
            made["coverage"] = self.coverage.as_json()
        return made | {"results": [result.as_json() for result in self.results]}


def finished(planned: Sequence[Planned], judged: Sequence[Judged | None], why: str) -> tuple[Result, ...]:
    """Results of all that was planned; for what was not run, `why` is told."""
    missing = Judged(NOT_RUN, detail=why)
    return tuple(Result(p, j or missing) for p, j in zip(planned, judged, strict=True))


def coverage(planned: Iterable[Planned]) -> "Coverage":
    """Who watches a run: over everything that its suites register, each object once."""
    from kadmit.authoring.coverage.coverage import Coverage

    manifests = {id(m): m for p in planned for m in (*p.suite.fixtures, *p.case.fixtures)}
    return Coverage(list(manifests.values()))


# ---------------------------------------------------------------- judging


class Wish(Struct, frozen=True):
    """What a run is to give besides verdicts."""

    stories: bool = False
    update: bool = False


class Judge:
    """Runs cases. A world is made for each suite when its first case comes, and kept."""

    def __init__(self, wish: Wish, clock: Callable[[], float], coverage: "Coverage | None" = None) -> None:
        """`coverage`: who is to watch all requests, if anybody."""
        self._wish = wish
        self._clock = clock
        self._coverage = coverage
        self._worlds: dict[int, tuple[Suite, World | str]] = {}

    def judge(self, planned: Planned) -> Judged:
        case = planned.case
        if case.unable or case.skipped:
            return Judged(UNABLE if case.unable else SKIPPED, detail=case.unable or case.skipped)
        world = self._world(planned.suite)
        wrong = ERROR if planned.suite.tool == OURS else UNABLE
        if isinstance(world, str):
            return Judged(wrong, detail=world)
        begun = self._clock()
        try:
            verdict, faults, golden = self._tried(world, planned)
            story = self._story(world, planned) if faults and self._wish.stories else ""
        except Unusable as e:
            return Judged(wrong, detail=str(e), seconds=self._clock() - begun)
        except Exception as e:  # a mistake of ours must not keep the other cases from running
            import traceback

            told = f"internal error: {type(e).__name__}: {e}"
            return Judged(ERROR, detail=told, story=traceback.format_exc(), seconds=self._clock() - begun)
        return Judged(verdict, tuple(faults), story=story, golden=golden, seconds=self._clock() - begun)

    def forget(self, suites: Iterable[Suite]) -> None:
        """Make the worlds of these anew."""
        for suite in suites:
            self._worlds.pop(id(suite), None)

    def _world(self, suite: Suite) -> World | str:
        """The world of a suite, or why there cannot be one."""
        known = self._worlds.get(id(suite))
        if known is None:
            known = self._worlds[id(suite)] = suite, _made(suite)
        return known[1]

    def _tried(self, world: World, planned: Planned) -> tuple[str, list[Fault], str | None]:
        case, expected = planned.case, planned.case.expected
        followed = expected.follows or self._coverage is not None
        with world.tried(case, _scripts(planned), compared=expected.compares, followed=followed) as outcome:
            faults = expected.faults(outcome)
            unfit = outcome.unfit() if faults else ""
            if unfit:
                raise Unusable(f"no policy is ever asked about this object, the server itself refuses it: {unfit}")
            told = outcome.told() if case.golden is not None else {}
            if self._coverage is not None:
                self._coverage.observe(outcome.admission.record)
        golden = None
        if case.golden is not None:
            of_golden, golden = against_golden(case.golden, told, update=self._wish.update)
            faults += of_golden
        return (FAILED if faults else PASSED), faults, golden

    def _story(self, world: World, planned: Planned) -> str:
        """The request once more, with everything that can be told about it."""
        from kadmit.authoring.story import story

        with world.tried(planned.case, _scripts(planned), compared=True, followed=True) as outcome:
            around = (*planned.suite.fixtures, *planned.case.fixtures)
            return story.text(outcome.admission, around)


def _made(suite: Suite) -> World | str:
    try:
        return World(suite.fixtures)
    except Unusable as e:
        return str(e)


def _scripts(planned: Planned) -> dict[str, Any]:
    return {**planned.suite.scripts, **planned.case.scripts}


def against_golden(golden: Golden, told: Json, *, update: bool) -> tuple[list[Fault], str | None]:
    """What is not as the golden file says, and what the file should hold if it does not."""
    from kadmit.presentation import yamltext

    text = yamltext.dump(told).decode()
    if golden.text is None:
        return ([] if update else [Fault("golden", f"there is no {golden.path}: write it with --update")]), text
    try:
        held = yaml.load(golden.text).value
    except yaml.YamlError as e:
        return ([] if update else [Fault("golden", f"{golden.path}: {e}")]), text
    if held == told:
        return [], None
    if update:
        return [], text
    diff = difference(held if isinstance(held, dict) else {}, told, golden.path, "found")
    return [Fault("golden", f"is not what {golden.path} holds", diff)], text
