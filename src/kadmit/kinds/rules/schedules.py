"""When a CronJob runs: five fields or a word, and a time zone."""

import re
from collections.abc import Mapping
from typing import NamedTuple

from kadmit.cel import gotext, gotime, gozone
from kadmit.cel.values import CelError

_MONTHS = {
    name: number
    for number, name in enumerate(["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"], 1)
}
_DAYS = {name: number for number, name in enumerate(["sun", "mon", "tue", "wed", "thu", "fri", "sat"])}
_WORDS = ("@yearly", "@annually", "@monthly", "@weekly", "@daily", "@midnight", "@hourly")
_SPAN = re.compile(r"([0-9.]++)([^0-9.]*+)")
_UNITS = ("ns", "us", "µs", "μs", "ms", "s", "m", "h")
_ZONE_PART = re.compile(r"[A-Za-z.\-_0-9+]{1,14}")


class _Bounds(NamedTuple):
    low: int
    high: int
    names: Mapping[str, int] = {}


_FIELDS = (_Bounds(0, 59), _Bounds(0, 23), _Bounds(1, 31), _Bounds(1, 12, _MONTHS), _Bounds(0, 6, _DAYS))


class _Wrong(Exception):
    """The text of what is wrong with a schedule."""


def problem(schedule: str) -> str:
    """What is wrong with a schedule; nothing, if it is fine."""
    try:
        _check(schedule)
    except _Wrong as wrong:
        return str(wrong)
    return ""


def _check(schedule: str) -> None:
    if schedule.startswith(("TZ=", "CRON_TZ=")):
        schedule = _without_zone(schedule)
    if schedule.startswith("@"):
        _check_word(schedule)
        return
    parts = schedule.split()
    if len(parts) != len(_FIELDS):
        raise _Wrong(f"expected exactly {len(_FIELDS)} fields, found {len(parts)}: [{' '.join(parts)}]")
    for part, bounds in zip(parts, _FIELDS, strict=True):
        for expression in filter(None, part.split(",")):
            _check_range(expression, bounds)


def _without_zone(schedule: str) -> str:
    head, space, rest = schedule.partition(" ")
    if not space:
        # NB: Kubernetes' parser breaks here, and the text is what is left of it.
        raise _Wrong(f"invalid schedule format: runtime error: slice bounds out of range [:{-1}]")
    zone = head.partition("=")[2]
    if not is_zone(zone):
        raise _Wrong(f"provided bad location {zone}: unknown time zone {zone}")
    return rest.strip()


def _check_word(word: str) -> None:
    if word in _WORDS:
        return
    if not word.startswith("@every "):
        raise _Wrong(f"unrecognized descriptor: {word}")
    span = word.removeprefix("@every ")
    if isinstance(gotime.parse_duration(span), CelError):
        raise _Wrong(f"failed to parse duration {word}: {_duration_problem(span)}")


def _duration_problem(text: str) -> str:
    shown = gotext.quote(text)
    for number, unit in _SPAN.findall(text.lstrip("+-")):
        if not unit:
            return f"time: missing unit in duration {shown}"
        if number not in ("", ".") and unit not in _UNITS:
            return f"time: unknown unit {gotext.quote(unit)} in duration {shown}"
    return f"time: invalid duration {shown}"


def _check_range(expression: str, bounds: _Bounds) -> None:
    span, *steps = expression.split("/")
    low, *highs = span.split("-")
    start, end = bounds.low, bounds.high
    if low not in ("*", "?"):
        start = end = _number(low, bounds)
        if len(highs) > 1:
            raise _Wrong(f"too many hyphens: {expression}")
        if highs:
            end = _number(highs[0], bounds)
    if len(steps) > 1:
        raise _Wrong(f"too many slashes: {expression}")
    step = _whole(steps[0]) if steps else 1
    if steps and not highs:
        end = bounds.high
    _check_order(start, end, step, bounds, expression)


def _check_order(start: int, end: int, step: int, bounds: _Bounds, expression: str) -> None:
    if start < bounds.low:
        raise _Wrong(f"beginning of range ({start}) below minimum ({bounds.low}): {expression}")
    if end > bounds.high:
        raise _Wrong(f"end of range ({end}) above maximum ({bounds.high}): {expression}")
    if start > end:
        raise _Wrong(f"beginning of range ({start}) beyond end of range ({end}): {expression}")
    if step == 0:
        raise _Wrong(f"step of range should be a positive number: {expression}")


def _number(text: str, bounds: _Bounds) -> int:
    named = bounds.names.get(text.lower())
    return _whole(text) if named is None else named


def _whole(text: str) -> int:
    found = gotext.atoi(text)
    if isinstance(found, str):
        raise _Wrong(f"failed to parse int from {text}: {found}")
    if found < 0:
        raise _Wrong(f"negative number ({found}) not allowed: {text}")
    return found


def is_zone(name: str) -> bool:
    return not isinstance(gozone.offset_at(name, 0), CelError)


def zone_problem(name: str) -> str:
    """What is wrong with the name of a time zone."""
    if not name:
        return "timeZone must be nil or non-empty string"
    for part in name.split("/"):
        if part in (".", "..") or part.startswith("-") or _ZONE_PART.fullmatch(part) is None:
            return f"unknown time zone {name}"
    if name.lower() == "local":
        return "timeZone must be an explicit time zone as defined in https://www.iana.org/time-zones"
    return "" if is_zone(name) else f"unknown time zone {name}"
