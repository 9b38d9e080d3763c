"""A run for people: suites with their counts, what went wrong in detail, and a last line that says it all."""

from collections.abc import Iterator
from itertools import groupby

from msgspec import Struct

from kadmit.authoring.suite.running import ERROR, FAILED, NOT_RUN, PASSED, SKIPPED, UNABLE, VERDICTS, Result, Run
from kadmit.authoring.visible import visible

BOLD, RED, GREEN, YELLOW, CYAN, PLAIN = "\x1b[1m", "\x1b[31m", "\x1b[32m", "\x1b[33m", "\x1b[36m", "\x1b[0m"
_COLOURS = {PASSED: GREEN, FAILED: RED, ERROR: RED, NOT_RUN: RED, UNABLE: YELLOW, SKIPPED: YELLOW}
_MAX_NOT_RUN = 10  # named one by one; they all have the same reason


class Style(Struct, frozen=True):
    """How much is told, and how."""

    coloured: bool = False
    verbose: bool = False
    timed: bool = False  # whether the last line has the time, which is another each time
    slowest: int = 0

    def paint(self, colour: str, text: str) -> str:
        return f"{colour}{text}{PLAIN}" if self.coloured and text else text


def lines(run: Run, style: Style) -> Iterator[str]:
    yield from _suites(run, style)
    for result in run.having(FAILED, ERROR):
        yield ""
        yield from _told(result, style)
    yield from _others(run, style)
    if style.slowest:
        yield from _slowest(run, style)
    if run.coverage is not None:
        yield from ("", *run.coverage.lines())
    yield ""
    yield _summary(run, style)


def _suites(run: Run, style: Style) -> Iterator[str]:
    for name, group in groupby(run.results, key=lambda r: r.planned.suite.name):
        results = list(group)
        yield f"{name}: {_counted(results, style)}"
        if style.verbose:
            yield from (f"  {style.paint(_COLOURS[r.verdict], r.verdict)} {visible(r.planned.case.name)}" for r in results)


def _counted(results: list[Result], style: Style) -> str:
    counts = {verdict: sum(r.verdict == verdict for r in results) for verdict in VERDICTS}
    return ", ".join(style.paint(_COLOURS[verdict], f"{n} {verdict}") for verdict, n in counts.items() if n)


def _told(result: Result, style: Style) -> Iterator[str]:
    line, column = result.planned.place
    title = visible(f"{result.verdict.upper()} {result.planned.case.name}")
    yield style.paint(RED + BOLD, title) + f" ({result.planned.suite.name}:{line}:{column})"
    if result.judged.detail:
        yield f"  {visible(result.judged.detail)}"
    for fault in result.judged.faults:
        yield visible(f"  {fault.what}: {fault.message}")
        yield from (f"    {_diff_line(visible(text), style)}" for text in fault.diff)
    if result.judged.story:
        yield from ("", *(f"  {text}".rstrip() for text in result.judged.story.splitlines()))


def _diff_line(text: str, style: Style) -> str:
    header = text.startswith(("--- ", "+++ "))
    return style.paint(BOLD if header else {"@": CYAN, "-": RED, "+": GREEN}.get(text[:1], ""), text) if text else text


def _others(run: Run, style: Style) -> Iterator[str]:
    """What was not run, and why: nothing is left out in silence."""
    told = run.having(UNABLE, SKIPPED)
    if told:
        yield ""
    yield from (f"{style.paint(YELLOW, r.verdict)}: {r.id}: {r.judged.detail}" for r in told)
    left = run.having(NOT_RUN)
    if left:
        yield ""
    for result in left[:_MAX_NOT_RUN]:
        yield f"{style.paint(RED, NOT_RUN)}: {result.id}: {result.judged.detail}"
    if len(left) > _MAX_NOT_RUN:
        yield f"{style.paint(RED, NOT_RUN)}: and {len(left) - _MAX_NOT_RUN} more"


def _slowest(run: Run, style: Style) -> Iterator[str]:
    yield ""
    ordered = sorted(run.results, key=lambda r: -r.judged.seconds)[: style.slowest]
    yield from (f"{result.judged.seconds * 1000:9.1f} ms  {result.id}" for result in ordered)


def _summary(run: Run, style: Style) -> str:
    number = len(run.results)
    took = f" in {run.seconds:.2f} s" if style.timed else ""
    written = sum(r.judged.golden is not None and "golden" not in (f.what for f in r.judged.faults) for r in run.results)
    golden = f", {written} golden file{'s' if written != 1 else ''} written" if written else ""
    counted = _counted(list(run.results), style)
    little = "" if run.covers_enough else style.paint(RED, f"; coverage is below {run.coverage_wanted:g}%")
    return f"{number} case{'s' if number != 1 else ''}: {counted}{golden}{took}{little}"
