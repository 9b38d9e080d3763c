"""How a Job's status may change: counters grow, what has ended stays so, and times fit the conditions.

Most rules are asked only when something changed that they are about, so that statuses of long ago pass.
"""

from collections.abc import Iterator, Mapping
from typing import Any, TypeAlias

from kadmit.api import fields
from kadmit.api.fields import OMITTED, ErrorType, FieldError
from kadmit.api.gojson import Named
from kadmit.kinds.rules import indexes, meta, numbers
from kadmit.kinds.rules.meta import Object

Json: TypeAlias = Any
Part: TypeAlias = Mapping[str, Json]

_AT = fields.path("status")
_CONDITIONS = _AT.child("conditions")


class _Status:
    """A status with the questions that rules ask of it."""

    def __init__(self, job: Object) -> None:
        self.part: Part = job.get("status") or {}
        given = self.part.get("conditions") or ()
        self.true = {one.get("type") for one in given if one.get("status") == "True"}
        self.false = {one.get("type") for one in given if one.get("status") == "False"}

    @property
    def is_finished(self) -> bool:
        return bool(self.true & {"Complete", "Failed"})

    def number(self, member: str) -> int:
        return self.part.get(member) or 0


def update(new: Object, old: Object) -> Iterator[FieldError]:
    yield from meta.updated(new, old)
    now, was, spec = _Status(new), _Status(old), new.get("spec") or {}
    for member in ("active", "succeeded", "failed", "ready", "terminating"):
        yield from numbers.not_negative(now.part.get(member), _AT.child(member))
    yield from _uncounted(now.part.get("uncountedTerminatedPods") or {})
    yield from _ended(now, was)
    yield from _times(now, was)
    yield from _conditions_of_end(now, was)
    yield from _finished(now, was, spec)
    yield from _indexes(now, was, spec)
    yield from _pods(now, was)
    yield from _criteria(now, spec)
    yield from _kept(now, was, spec)


def _refused(text: str) -> FieldError:
    return FieldError(ErrorType.INVALID, str(_CONDITIONS), OMITTED, text)


def _has_changed(now: _Status, was: _Status, *names: str) -> bool:
    """Whether one of these conditions began or ceased to hold, or a member of the status is another."""
    for name in names:
        if name == "finished":
            if now.is_finished != was.is_finished:
                return True
        elif name[0].isupper():
            if (name in now.true) != (name in was.true):
                return True
        elif (now.part.get(name) or None) != (was.part.get(name) or None):
            return True
    return False


def _uncounted(pods: Part) -> Iterator[FieldError]:
    seen: set[str] = set()
    for member in ("succeeded", "failed"):
        for index, uid in enumerate(pods.get(member) or ()):
            at = _AT.child("uncountedTerminatedPods", member).index(index)
            if not uid:
                yield fields.invalid(at, Named(uid), "must not be empty")
            elif uid in seen:
                yield fields.duplicate(at, Named(uid))
            seen.add(uid)


def _ended(now: _Status, was: _Status) -> Iterator[FieldError]:
    for other, said in (("Failed", "Failed=true"), ("FailureTarget", "FailureTarget=true")):
        if {"Complete", other} <= now.true and _has_changed(now, was, "Complete", other):
            yield _refused(f"cannot set Complete=True and {said} conditions")


def _times(now: _Status, was: _Status) -> Iterator[FieldError]:
    started, completed, at = now.part.get("startTime"), now.part.get("completionTime"), _AT.child("completionTime")
    if _has_changed(now, was, "Complete", "completionTime"):
        if completed is not None and "Complete" not in now.true:
            yield fields.invalid(at, completed, "cannot set completionTime when there is no Complete=True condition")
        if completed is None and "Complete" in now.true:
            yield fields.required(at, "completionTime is required for Complete jobs")
    if started and completed and completed < started and _has_changed(now, was, "startTime", "completionTime"):
        yield fields.invalid(at, completed, "must be equal to or after `startTime`")


def _conditions_of_end(now: _Status, was: _Status) -> Iterator[FieldError]:
    if "Failed" in now.true and "FailureTarget" not in now.true and _has_changed(now, was, "Failed", "failedIndexes"):
        yield _refused("cannot set Failed=True condition without the FailureTarget=true condition")
    met = "SuccessCriteriaMet"
    if "Complete" in now.true and met not in now.true and _has_changed(now, was, "Complete", met):
        yield _refused("cannot set Complete=True condition without the SuccessCriteriaMet=true condition")


def _finished(now: _Status, was: _Status, spec: Part) -> Iterator[FieldError]:
    if not now.is_finished:
        return
    if now.number("active") > 0 and _has_changed(now, was, "finished", "active"):
        yield fields.invalid(_AT.child("active"), now.number("active"), "active>0 is invalid for finished job")
    never_ran = spec.get("suspend") is True and spec.get("completions") == 0
    if not now.part.get("startTime") and _has_changed(now, was, "finished", "startTime") and not never_ran:
        yield fields.required(_AT.child("startTime"), "startTime is required for finished job")
    pods = now.part.get("uncountedTerminatedPods") or {}
    if (pods.get("succeeded") or pods.get("failed")) and _has_changed(now, was, "finished", "uncountedTerminatedPods"):
        shown = {"Succeeded": pods.get("succeeded"), "Failed": pods.get("failed")}
        yield fields.invalid(_AT.child("uncountedTerminatedPods"), shown, "must be empty for finished job")


def _indexes(now: _Status, was: _Status, spec: Part) -> Iterator[FieldError]:
    completions, completed, failed = (
        spec.get("completions"),
        now.part.get("completedIndexes") or "",
        now.part.get("failedIndexes"),
    )
    changed, more = _has_changed(now, was, "completedIndexes"), _has_changed(now, was, "failedIndexes")
    per_index, at, place = spec.get("backoffLimitPerIndex"), _AT.child("completedIndexes"), _AT.child("failedIndexes")
    if changed and completions is not None and completed:
        yield from _parsed(completed, completions, "completedIndexes")
    if more and completions is not None and per_index is not None and failed is not None:
        yield from _parsed(failed, completions, "failedIndexes")
    if changed and completed and spec.get("completionMode") != "Indexed":
        yield fields.invalid(at, completed, "cannot set non-empty completedIndexes when non-indexed completion mode")
    if more and per_index is None and failed is not None:
        yield fields.invalid(place, failed, "cannot set non-null failedIndexes when backoffLimitPerIndex is null")


def _parsed(text: str, completions: int, member: str) -> Iterator[FieldError]:
    _, problem = indexes.counted(text, completions)
    if problem:
        yield fields.invalid(_AT.child(member), text, f"error parsing {member}: {problem}")


def _pods(now: _Status, was: _Status) -> Iterator[FieldError]:
    if now.number("terminating") > 0 and now.is_finished and _has_changed(now, was, "finished", "terminating"):
        yield fields.invalid(_AT.child("terminating"), now.number("terminating"), "terminating>0 is invalid for finished job")
    ready = now.part.get("ready")
    if ready is not None and ready > now.number("active") and _has_changed(now, was, "ready", "active"):
        yield fields.invalid(_AT.child("ready"), ready, "cannot set more ready pods than active")


def _criteria(now: _Status, spec: Part) -> Iterator[FieldError]:
    met = "SuccessCriteriaMet" in now.true
    if met and "Failed" in now.true:
        yield _refused("cannot set SuccessCriteriaMet=True and Failed=true conditions")
    if met and "FailureTarget" in now.true:
        yield _refused("cannot set SuccessCriteriaMet=True and FailureTarget=true conditions")
    if spec.get("successPolicy") is not None and not met and "Complete" in now.true:
        yield _refused("cannot set Complete=True for Job with SuccessPolicy unless SuccessCriteriaMet=True")


def _kept(now: _Status, was: _Status, spec: Part) -> Iterator[FieldError]:
    for name in ("Failed", "Complete", "FailureTarget"):
        if name in was.true and name not in now.true:
            yield _refused(f"cannot disable the terminal {name}=True condition")
    is_elastic = spec.get("completionMode") == "Indexed" and spec.get("completions") == spec.get("parallelism")
    for member in ("failed",) if is_elastic else ("failed", "succeeded"):
        if now.number(member) < was.number(member):
            yield fields.invalid(_AT.child(member), now.number(member), f"cannot decrease the {member} counter")
    ended, before = now.part.get("completionTime"), was.part.get("completionTime")
    if ended is not None and before is not None and ended != before:
        yield fields.invalid(_AT.child("completionTime"), ended, meta.IMMUTABLE)
    started, since = now.part.get("startTime"), was.part.get("startTime")
    is_resuming = "Suspended" in was.true and "Suspended" in now.false
    if since is not None and started != since and not is_resuming and not spec.get("suspend"):
        yield fields.invalid(_AT.child("startTime"), started, "field is immutable for unsuspended job once set")
    met = "SuccessCriteriaMet"
    if met in was.true and met not in now.true:
        yield _refused("cannot disable the SuccessCriteriaMet=True condition")
    if "Complete" in was.true and met not in was.true and met in now.true:
        yield _refused("cannot set SuccessCriteriaMet=True for Job already has Complete=true conditions")
