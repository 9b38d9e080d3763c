"""Values as the CEL rules of a schema see them: times, durations and bytes for texts of these formats, doubles for numbers.

A conversion is compiled from a schema once. Most schemas need none: their objects are CEL values as they are.
"""

import base64
import binascii
import re
from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

from kadmit.cel import gotime
from kadmit.cel.values import CelError, Duration, Value
from kadmit.kinds import declared

Json: TypeAlias = Any
Convert: TypeAlias = Callable[[Json], Value]

_DATE = re.compile(r"\d{4}-\d\d-\d\d", re.ASCII)
_SPAN = re.compile(r"([0-9]*+(?:\.[0-9]*+)?) ?([a-zµ]++)", re.ASCII | re.IGNORECASE)
_HOUR = 3600 * 10**9
_UNITS = {
    "ns": 1,
    "us": 10**3,
    "µs": 10**3,
    "ms": 10**6,
    "s": 10**9,
    "m": 60 * 10**9,
    "h": _HOUR,
    "d": 24 * _HOUR,
    "w": 168 * _HOUR,
}


def compiled(raw: Mapping[str, Json], *, is_object: bool = False) -> Convert | None:
    """How to make CEL values of what this schema describes; None, if there is nothing to do."""
    if raw.get("x-kubernetes-int-or-string"):
        return None
    if is_object:
        raw = declared.with_identity(raw)
    match raw.get("type"):
        case "array":
            return _items(raw.get("items"))
        case "object":
            return _members(raw)
        case "string":
            return _FORMATS.get(raw.get("format") or "")
        case "number":
            return _number
    return None


def _part(raw: Json) -> Convert | None:
    if not isinstance(raw, Mapping):
        return None
    return compiled(raw, is_object=bool(raw.get("x-kubernetes-embedded-resource")))


def _items(raw: Json) -> Convert | None:
    convert = _part(raw)
    if convert is None:
        return None
    return lambda value: [None if item is None else convert(item) for item in value] if isinstance(value, list) else value


def _members(raw: Mapping[str, Json]) -> Convert | None:
    more = _part(raw.get("additionalProperties"))
    if more is not None:
        return lambda value: {key: None if member is None else more(member) for key, member in value.items()}
    parts = {key: _part(part) for key, part in (raw.get("properties") or {}).items()}
    names = {key: declared.escaped(key) or key for key in parts}
    if not any(parts.values()) and all(key == name for key, name in names.items()):
        return None

    def convert(value: Json) -> Value:
        made: dict[str, Value] = {}
        for key, member in value.items():
            part = parts.get(key)
            made[names.get(key, key)] = member if part is None or member is None else part(member)
        return made

    return lambda value: convert(value) if isinstance(value, dict) else value


def _number(value: Json) -> Value:
    return float(value) if value.__class__ is int else value


def _bytes(value: Json) -> Value:
    try:
        return base64.b64decode(value, validate=True)
    except (binascii.Error, ValueError):
        return CelError(f"Invalid byte formatted string {value}: illegal base64 data")


def _date(value: Json) -> Value:
    found = gotime.parse_timestamp(f"{value}T00:00:00Z") if _DATE.fullmatch(value) else CelError("")
    return CelError(f"Invalid date formatted string {value}") if isinstance(found, CelError) else found


def _date_time(value: Json) -> Value:
    found = gotime.parse_timestamp(value.replace(" ", "T", 1))
    return CelError(f"Invalid date-time formatted string {value}") if isinstance(found, CelError) else found


def _duration(value: Json) -> Value:
    """NB: more is a duration here than in CEL itself: days and weeks, and a space before the unit."""
    found = gotime.parse_duration(value)
    if not isinstance(found, CelError):
        return found
    spans = _SPAN.findall(value)
    if spans and all(number.strip(".") and unit.lower() in _UNITS for number, unit in spans):
        return Duration(sum(int(float(number) * _UNITS[unit.lower()]) for number, unit in spans))
    return CelError(f"Invalid duration {value}: unable to parse {value} as duration")


_FORMATS: Mapping[str, Convert] = {"byte": _bytes, "date": _date, "date-time": _date_time, "duration": _duration}
