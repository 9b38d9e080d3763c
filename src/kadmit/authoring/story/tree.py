"""A story laid out as a tree of lines: what a terminal, a page and a plain text show, each in its own dress."""

import itertools
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, NamedTuple

from kadmit.authoring import diff
from kadmit.authoring.explanation import (
    ALLOWED,
    AUDITED,
    CHANGED,
    DENIED,
    FAILED,
    IGNORED,
    NOT_CALLED,
    UNCHANGED,
    WARNED,
    dotted,
)
from kadmit.authoring.story.policies import PUBLISHED
from kadmit.authoring.story.shape import Bound, Called, Entry, Evaluated, Outcome, Run, Stage, Story, value_text
from kadmit.authoring.story.telling import PASSED, REFUSED
from kadmit.authoring.visible import visible
from kadmit.cel.trace import Step
from kadmit.cel.values import CelError, Value

GOOD, BAD, CHANGE, WARN, QUIET, PLAIN, TITLE = "good", "bad", "change", "warn", "quiet", "", "title"
CODE, DIFF = "code", "diff"  # what a block of lines holds

MAX_SHOWN = 100  # characters of a value in a line

_TONES = {ALLOWED: GOOD, PASSED: GOOD, PUBLISHED: GOOD, CHANGED: CHANGE, DENIED: BAD, FAILED: BAD, REFUSED: BAD}
_TONES |= {WARNED: WARN, AUDITED: WARN, IGNORED: WARN, NOT_CALLED: PLAIN, UNCHANGED: PLAIN}
_SIGNS = {GOOD: "✓", BAD: "✗", CHANGE: "~", WARN: "!", QUIET: "·", PLAIN: "·"}
_VERBS = {"add": "+", "remove": "-", "replace": "~"}


class Line(NamedTuple):
    """A line, what it is like, and what belongs under it. `block`: it has many lines, which are code or a diff. `place`: where in
    the files to look.
    """

    text: str
    tone: str = PLAIN
    below: tuple["Line", ...] = ()
    block: str = ""
    sign: str = ""
    place: str = ""


def text(top: Line) -> str:
    """Indented lines without any colour."""
    return "\n".join(_indented(top, 0))


def _indented(line: Line, depth: int) -> Iterator[str]:
    indent = "  " * depth
    at = f"  ({visible(line.place)})" if line.place else ""
    shown = visible(line.text)
    for part in shown.splitlines() if line.block else (shown.replace("\n", f"\n{indent}  "),):
        yield f"{indent}{line.sign + ' ' if line.sign else ''}{part}{at}".rstrip()
    for child in line.below:
        yield from _indented(child, depth + 1)


# ---------------------------------------------------------------- the story


def tree(story: Story, *, whole: bool = False, reviews: bool = False) -> Line:
    """`whole`: with the object as it was admitted; `reviews`: with what webhooks were sent."""
    parts = [*_verdict(story), *(_stage(s, reviews=reviews) for s in story.stages), *_afterwards(story, whole=whole)]
    return Line(_title(story), TITLE, tuple(parts))


def _title(story: Story) -> str:
    told, request = story.admission, story.request
    sub = f"/{request['subresource']}" if "subresource" in request else ""
    where = f" in {told.namespace}" if told.namespace else ""
    who = f" by {request['user'].get('username', '')}" if "user" in request else ""
    said = "admitted" + (", changed" if told.changed else "") if told.allowed else "denied"
    return f"{told.operation} {told.title}{sub}{where}{who}: {said}"


def _verdict(story: Story) -> Iterator[Line]:
    status = story.admission.status
    if status is not None:
        yield Line(f"{status.code} {status.reason}: {status.message}".replace(" :", ":"), BAD, sign=_SIGNS[BAD])


def _stage(stage: Stage, *, reviews: bool) -> Line:
    again = " again" if stage.round else ""
    told = f"{stage.name}{again}"
    if stage.did:
        told += f": {stage.did}"
    elif not stage.entries:
        told += ": none" if not stage.round else ": as before"
    told += f" ({stage.because})" if stage.because else ""
    tone = BAD if stage.did == REFUSED else TITLE if stage.entries else QUIET
    return Line(told, tone, tuple(_entry(e, reviews=reviews) for e in stage.entries))


def _line(did: str, told: str, below: Iterable[Line] = (), place: str = "") -> Line:
    tone = _TONES.get(did, QUIET)
    return Line(told, tone, tuple(below), sign=_SIGNS[tone], place=place)


def _entry(entry: Entry, *, reviews: bool) -> Line:
    owner = f" of {entry.configuration}" if entry.configuration else ""
    fails = f" (failurePolicy {entry.failure_policy})" if entry.did in (FAILED, IGNORED) else ""
    told = f"{entry.name}{owner}: {entry.did}{fails}" + (f": {entry.because}" if entry.because else "")
    below = [Line(f"rule {i}: {why}", QUIET) for i, why in enumerate(entry.details)]
    below += [_evaluated(c) for c in entry.conditions]
    below += [_binding(b) for b in entry.bindings]
    below += _call(entry.call, reviews=reviews) if entry.call is not None else []
    return _line(entry.did, told, below, entry.place)


def _binding(bound: Bound) -> Line:
    actions = f" [{', '.join(bound.actions)}]" if bound.actions else ""
    told = f"binding {bound.name}{actions}: {bound.did}" + (f": {bound.because}" if bound.because else "")
    below = [Line(f"rule {i}: {why}", QUIET) for i, why in enumerate(bound.details)]
    below += [Line(f"hint: {bound.hint}", WARN)] if bound.hint else []
    below += [line for run in bound.runs for line in _run(run)]
    return _line(bound.did, told, below)


def _run(run: Run) -> Iterator[Line]:
    """NB: without params there is one run, and it need not be told apart from others."""
    below = [*map(_evaluated, run.conditions), *map(_outcome, run.outcomes)]
    if run.params is None:
        yield from below
        return
    place = "/".join(run.params[k] for k in ("namespace", "name") if k in run.params)
    yield _line(run.did, f"params {place}: {run.did}" + (f": {run.because}" if run.because else ""), below)


def _outcome(outcome: Outcome) -> Line:
    told = outcome.evaluated
    below = [*_inside(told), *(_change(operation) for operation in outcome.patch)]
    if outcome.message:
        below.append(Line(f"message: {outcome.message}", _TONES.get(outcome.did, PLAIN)))
        below += [_evaluated(outcome.said)] if outcome.said is not None else []
        below += [Line(f"hint: {outcome.hint}", WARN)] if outcome.hint else []
    value = "" if outcome.patch else f": {_value(told)}"
    return _line(outcome.did, f"{_called(told)}{value}: {outcome.did} ({_cost(told)})", below, told.place)


def _evaluated(told: Evaluated) -> Line:
    tone = BAD if told.error else QUIET if told.value is False else PLAIN
    shown = f"{_called(told)}: {_value(told)} ({_cost(told)})"
    return Line(shown, tone, tuple(_inside(told)), sign=_SIGNS[tone], place=told.place)


def _called(told: Evaluated) -> str:
    return f"{told.what} {told.name}" if told.name else f"{told.what} {told.field.partition('[')[2].partition(']')[0]}"


def _cost(told: Evaluated) -> str:
    return f"cost {told.cost}"


def _value(told: Evaluated) -> str:
    return f"error: {told.error}" if told.error else shortened(told.value)


def shortened(value: Value) -> str:
    shown = value_text(value)
    return shown if len(shown) <= MAX_SHOWN else f"{shown[:MAX_SHOWN]}…"


def _inside(told: Evaluated) -> Iterator[Line]:
    yield Line(told.expression.strip(), PLAIN, block=CODE)
    yield from _steps(told.steps)
    yield from (_evaluated(variable) for variable in told.variables)


def _steps(steps: Sequence[Step]) -> Iterator[Line]:
    """Each with those inside of it under it; what is written twice is told once."""
    starts = [i for i, step in enumerate(steps) if step.depth == steps[0].depth]
    lines = (
        _step(steps[start])._replace(below=tuple(_steps(steps[start + 1 : end])))
        for start, end in itertools.pairwise((*starts, len(steps)))
    )
    return iter(dict.fromkeys(lines))


def _step(step: Step) -> Line:
    many = f" (the last of {step.times})" if step.times > 1 else ""
    value = f"error: {step.value.message}" if step.value.__class__ is CelError else shortened(step.value)
    expression = " ".join(step.text.split())
    return Line(f"{expression} → {value}{many}", QUIET)


def _change(operation: Any) -> Line:
    value = f": {shortened(operation['value'])}" if "value" in operation else ""
    return Line(f"{_VERBS[operation['op']]} {dotted(operation['path'])}{value}", CHANGE)


def _call(call: Called, *, reviews: bool) -> Iterator[Line]:
    yield Line(f"{call.target}, timeout {call.timeout} s", QUIET)
    yield from (_change(operation) for operation in call.patch)
    yield from (Line(f"warning: {told}", WARN) for told in call.warnings)
    yield from (Line(f"audit annotation {key}: {value}", PLAIN) for key, value in call.annotations.items())
    if reviews:
        yield Line("review", QUIET, (_json(call.review),))


def _json(value: Any) -> Line:
    import json

    return Line(json.dumps(value, ensure_ascii=False, indent=2), PLAIN, block=CODE)


# ---------------------------------------------------------------- what comes of it


def _afterwards(story: Story, *, whole: bool) -> Iterator[Line]:
    told = story.admission
    yield Line(f"all expressions together cost {story.cost}", QUIET)
    if told.warnings:
        yield _listed("warnings", (Line(w, WARN, sign="!") for w in dict.fromkeys(told.warnings)))
    if told.annotations:
        yield _listed("audit annotations", (Line(f"{k}: {v}") for k, v in told.annotations.items()))
    if story.metrics:
        yield _listed("metrics", (Line(_metric(m)) for m in story.metrics))
    if told.before is not None and told.object is not None and told.changed:
        changes = diff.unified(told.before, told.object, told.title)
        yield _listed("what admission changed", (Line("\n".join(changes), block=DIFF),))
    if whole and told.object is not None:
        from kadmit.presentation import yamltext

        yield _listed("the object as admitted", (Line(yamltext.dump(told.object).decode(), block=CODE),))


def _listed(title: str, below: Iterable[Line]) -> Line:
    return Line(title, TITLE, tuple(below))


def _metric(metric: Any) -> str:
    labels = ",".join(f'{k}="{v}"' for k, v in metric["labels"].items())
    return f"{metric['metric']}{{{labels}}} +{metric['times']}"
