"""kadmit test: suites of requests and what is expected of them, run on clusters made of files."""

import sys
import time
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import NoReturn

import click
from msgspec import Struct
from msgspec.structs import replace

from kadmit.authoring import reports
from kadmit.authoring.manifests import Unreadable
from kadmit.authoring.reports import text
from kadmit.authoring.suite import running, selection
from kadmit.authoring.suite.model import BadSuite, Problem, Suite
from kadmit.authoring.suite.running import Judged, Planned, Run, Wish
from kadmit.cli import streams
from kadmit.cli.suites import files, memory, workers
from kadmit.cli.suites.files import Disk

BAD, BAD_INPUT = 1, 2


class Settings(Struct, frozen=True):
    """Everything that was asked for on the command line."""

    paths: Sequence[str]
    expression: str
    first_only: bool
    last_failed: bool
    jobs: str
    verbose: bool
    output: str
    reports: Sequence[tuple[str, str]]
    coverage: bool
    coverage_wanted: float
    update: bool
    slowest: int
    coloured: bool
    unable_is_fine: bool

    @property
    def wish(self) -> Wish:
        return Wish(stories=self.verbose, update=self.update)

    @property
    def style(self) -> text.Style:
        return text.Style(self.coloured, self.verbose, sys.stdout.isatty() or self.slowest > 0, self.slowest)


class BadInput(Exception):
    """Nothing can be run; the message says why."""


@click.command("test", context_settings={"help_option_names": ["-h", "--help"]})
@click.argument("paths", nargs=-1, metavar="[PATHS]...")
@click.option(
    "-k", "expression", metavar="EXPRESSION", default="", help="Only cases whose id this means: words, and, or, not, ()."
)
@click.option("-x", "--exitfirst", "first_only", is_flag=True, help="Stop at the first case that does not pass.")
@click.option("--last-failed", is_flag=True, help="Only cases that did not pass last time; all if there are none.")
@click.option("-j", "--jobs", metavar="N", default="auto", show_default=True, help="How many processes; auto: one for few cases.")
@click.option("-v", "--verbose", is_flag=True, help="Every case, and the story of each request that did not go as expected.")
@click.option(
    "-o",
    "--output",
    type=click.Choice(["text", *reports.FORMATS]),
    default="text",
    show_default=True,
    help="What is printed.",
)
@click.option("--report", "wanted", metavar="FORMAT=FILE", multiple=True, help="Write a report into a file, too; repeatable.")
@click.option("--coverage", is_flag=True, help="Tell which expressions and branches of policies were never decisive.")
@click.option("--coverage-min", type=float, metavar="PERCENT", help="Fail if less than this is covered; implies --coverage.")
@click.option("--update", is_flag=True, help="Write golden files as the outcomes are now.")
@click.option("--watch", is_flag=True, help="Stay, and run again what a changed file touches, until interrupted.")
@click.option("--durations", "slowest", type=click.IntRange(min=0), metavar="N", default=0, help="The N slowest cases.")
@click.option("--list", "only_list", is_flag=True, help="Print the ids of the cases, and run nothing.")
@click.option("--allow-not-expressible", is_flag=True, help="Cases of other tools that cannot be expressed do not fail the run.")
@click.option(
    "--color",
    type=click.Choice(["auto", "always", "never"]),
    default="auto",
    show_default=True,
    help="Colours; auto: on a terminal.",
)
def command(
    paths: Sequence[str],
    *,
    expression: str,
    first_only: bool,
    last_failed: bool,
    jobs: str,
    verbose: bool,
    output: str,
    wanted: Sequence[str],
    coverage: bool,
    coverage_min: float | None,
    update: bool,
    watch: bool,
    slowest: int,
    only_list: bool,
    allow_not_expressible: bool,
    color: str,
) -> None:
    """Run suites of requests and hold the outcomes against what is expected.

    PATHS are files, or folders that are searched to their depths for kadmit-test.yaml and *.kadmit-test.yaml, for Kyverno's
    kyverno-test.yaml and for Gatekeeper's Suites; without any, the folder that you are in. PATH::CASE is one case.

    \b
      kadmit test
      kadmit test policies/ -k "replicas and not update"
      kadmit test policies/kadmit-test.yaml::"too many replicas" -v
      kadmit test --report junit=junit.xml --coverage-min 90

    Exit code: 0 all as expected, 1 something is not, 2 bad input or nothing to run.
    """
    try:
        settings = Settings(
            paths or (".",),
            expression,
            first_only,
            last_failed,
            _jobs(jobs),
            verbose,
            output,
            _reports(wanted),
            coverage or coverage_min is not None,
            _percent(coverage_min),
            update,
            slowest,
            streams.is_coloured(color),
            allow_not_expressible,
        )
        if watch and only_list:
            raise BadInput("--watch: runs cases, and --list runs none")
        if watch:
            from kadmit.cli.suites import watch as watching

            _by_words(settings)  # it is told once, not with every change
            watching.watch(settings)
            return
        planned = select(settings, load(settings))
    except (BadInput, Unreadable) as e:
        _bad_input(str(e))
    except BadSuite as e:
        click.echo(str(e), err=True)
        sys.exit(BAD_INPUT)
    if only_list:
        click.echo("".join(f"{p.id}\n" for p in planned), nl=False)
        return
    done = run(settings, planned)
    show(settings, done)
    sys.exit(0 if done.good else BAD)


def _bad_input(message: str) -> NoReturn:
    click.echo(f"kadmit test: {message}", err=True)
    sys.exit(BAD_INPUT)


def _jobs(jobs: str) -> str:
    if jobs != "auto" and not (jobs.isdecimal() and int(jobs) > 0):
        raise BadInput(f'-j: must be a number or auto, is "{jobs}"')
    return jobs


def _percent(wanted: float | None) -> float:
    """NB: nan is a number to whoever reads one, and less than nothing."""
    if wanted is not None and not 0 <= wanted <= 100:
        raise BadInput(f"--coverage-min: must be 0 to 100, is {wanted:g}")
    return wanted or 0.0


def _reports(wanted: Iterable[str]) -> list[tuple[str, str]]:
    made = []
    for each in wanted:
        form, _, path = each.partition("=")
        if form not in ("text", *reports.FORMATS) or not path:
            raise BadInput(f'--report: must be FORMAT=FILE with one of text, {", ".join(reports.FORMATS)}, is "{each}"')
        made.append((form, path))
    return made


# ---------------------------------------------------------------- suites and cases


def paths_of(settings: Settings) -> list[str]:
    """Files of suites. Raises BadInput and Unreadable."""
    found = files.suites(path.partition("::")[0] for path in settings.paths)
    if not found:
        raise BadInput(f"there are no suites in {', '.join(settings.paths)}: they are named kadmit-test.yaml")
    return found


def load(settings: Settings) -> list[Suite]:
    """All suites, or all that is wrong with them. Raises BadSuite, BadInput and Unreadable."""
    disk = Disk()
    found: list[Suite] = []
    problems: list[Problem] = []
    for path in paths_of(settings):
        try:
            found += files.suite(path, disk)
        except BadSuite as e:
            problems += e.problems
    if problems:
        raise BadSuite(problems)
    return found


def select(settings: Settings, suites: Sequence[Suite]) -> list[Planned]:
    """The cases that are meant. Raises BadInput if there are none."""
    all_ids = [planned.id for planned in running.plan(suites)]
    filters = [_by_words(settings), _by_path(settings)]
    if settings.last_failed:
        before = memory.failed()
        if set(before) & set(all_ids):
            filters.append(selection.among(before))
        else:
            click.echo("kadmit test: none of these failed last time: all are run", err=True)
    planned = running.plan(suites, lambda case_id: all(wanted(case_id) for wanted in filters))
    if not planned:
        raise BadInput(f"none of {len(all_ids)} cases is selected" if all_ids else "there are no cases")
    return planned


def _by_words(settings: Settings) -> Callable[[str], bool]:
    """Raises BadInput."""
    try:
        return selection.expression(settings.expression) if settings.expression.strip() else lambda _: True
    except selection.BadExpression as e:
        raise BadInput(f"-k: {e}") from None


def _by_path(settings: Settings) -> Callable[[str], bool]:
    """NB: a file that is named once with a case and once without is meant as a whole."""
    named = [path.partition("::") for path in settings.paths]
    whole = [selection.within(path) for path, mark, _ in named if not mark]
    cases = [f"{selection.plain(path)}::{name}" for path, mark, name in named if mark]
    if not cases:
        return lambda _: True
    return lambda case_id: any(w(case_id) for w in whole) or any(selection.is_meant(c, case_id) for c in cases)


# ---------------------------------------------------------------- running


def run(settings: Settings, planned: Sequence[Planned]) -> Run:
    """Everything that is planned, with golden files written and failures remembered."""
    begun = time.perf_counter()
    coverage = running.coverage(planned) if settings.coverage else None
    judged: list[Judged | None] = [None] * len(planned)
    why = "the process that was to run it ended"
    with _Progress(settings, len(planned)) as advance:

        def told(i: int, result: Judged) -> bool:
            nonlocal why
            judged[i] = result
            advance(result)
            if settings.first_only and result.verdict in (running.FAILED, running.ERROR):
                why = "stopped at the first case that did not pass (-x)"
                return False
            return True

        jobs = workers.processes(settings.jobs, 1 if settings.first_only and settings.jobs == "auto" else len(planned))
        try:
            workers.run(planned, settings.wish, coverage, told, jobs=jobs)
        except KeyboardInterrupt:
            why = "interrupted"
    if settings.update:
        judged = [_with_golden(one, result) for one, result in zip(planned, judged, strict=True)]
    done = Run(
        running.finished(planned, judged, why),
        time.perf_counter() - begun,
        coverage.report() if coverage is not None else None,
        settings.coverage_wanted,
        settings.unable_is_fine,
    )
    memory.remember([r.id for r in done.having(running.FAILED, running.ERROR)], _tried(done))
    return done


def _tried(done: Run) -> list[str]:
    return [r.id for r in done.results if r.verdict != running.NOT_RUN]


class _Progress:
    """A bar on the terminal while cases run; nothing anywhere else."""

    def __init__(self, settings: Settings, number: int) -> None:
        self._number = number
        self._done = 0
        self._bad = 0
        self._shown = 0.0
        self._on = settings.output == "text" and sys.stderr.isatty()

    def __enter__(self) -> Callable[[Judged], None]:
        return self._advance

    def __exit__(self, *_: object) -> None:
        if self._on:
            click.echo("\r\x1b[K", err=True, nl=False)

    def _advance(self, result: Judged) -> None:
        self._done += 1
        self._bad += result.verdict in (running.FAILED, running.ERROR)
        now = time.perf_counter()
        if self._on and now - self._shown > 0.05:
            self._shown = now
            filled = 30 * self._done // self._number
            bad = f", {self._bad} not as expected" if self._bad else ""
            click.echo(f"\r[{'#' * filled}{' ' * (30 - filled)}] {self._done}/{self._number}{bad}\x1b[K", err=True, nl=False)


def _with_golden(planned: Planned, judged: Judged | None) -> Judged | None:
    """The result, with its golden file written; an error if that cannot be done."""
    golden = planned.case.golden
    if judged is None or golden is None or judged.golden is None:
        return judged
    try:
        Path(golden.path).parent.mkdir(parents=True, exist_ok=True)
        Path(golden.path).write_text(judged.golden, encoding="utf-8")
    except OSError as e:
        return replace(judged, verdict=running.ERROR, detail=f"golden: {golden.path}: {e.strerror}", golden=None)
    return judged


# ---------------------------------------------------------------- showing


def show(settings: Settings, done: Run) -> None:
    """What is printed, and reports in files."""
    if settings.output == "text":
        click.echo("\n".join(text.lines(done, settings.style)), color=settings.coloured)
    else:
        click.echo(reports.write(settings.output, done), nl=False)
    for form, path in settings.reports:
        plain = "".join(f"{line}\n" for line in text.lines(done, text.Style(verbose=settings.verbose)))
        try:
            Path(path).write_text(plain if form == "text" else reports.write(form, done), encoding="utf-8")
        except OSError as e:
            _bad_input(f"{path}: {e.strerror}")
