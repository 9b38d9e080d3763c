"""Numbers: signs, ranges, ports, and those that may be a percentage instead."""

import re
from collections.abc import Iterator
from typing import TypeAlias

from kadmit.api import fields
from kadmit.api.fields import FieldError, Path
from kadmit.kinds.rules import naming

IntOrString: TypeAlias = int | str

NEGATIVE = "must be greater than or equal to 0"
NOT_POSITIVE = "must be greater than zero"
_PERCENT = "[0-9]+%"
_IS_PERCENT = re.compile("([0-9]++)%")
MAX_INT32 = 2**31 - 1


def not_negative(value: int | None, at: Path) -> Iterator[FieldError]:
    if value is not None and value < 0:
        yield fields.invalid(at, value, NEGATIVE)


def positive(value: int | None, at: Path) -> Iterator[FieldError]:
    if value is not None and value <= 0:
        yield fields.invalid(at, value, NOT_POSITIVE)


def between(value: int | None, low: int, high: int, at: Path) -> Iterator[FieldError]:
    if value is not None and not low <= value <= high:
        yield fields.invalid(at, value, f"must be between {low} and {high}, inclusive")


def identity(value: int | None, at: Path) -> Iterator[FieldError]:
    """The number of a user or group."""
    return between(value, 0, MAX_INT32, at)


def port(value: int | None, at: Path) -> Iterator[FieldError]:
    return between(value, 1, 65535, at)


def port_or_name(value: IntOrString, at: Path) -> Iterator[FieldError]:
    if isinstance(value, str):
        return naming.complaints(naming.port(value), value, at)
    return port(value, at)


# ---------------------------------------------------------------- numbers or percentages


def count_or_percent(value: IntOrString | None, at: Path) -> Iterator[FieldError]:
    if isinstance(value, int):
        yield from not_negative(value, at)
    elif value is not None and percent(value) is None:
        text = "a valid percent string must be a numeric string followed by an ending '%'"
        yield fields.invalid(at, value, naming.mismatch(text, _PERCENT, "1%", "93%"))


def at_most_everything(value: IntOrString | None, at: Path) -> Iterator[FieldError]:
    if isinstance(value, str) and (percent(value) or 0) > 100:
        yield fields.invalid(at, value, "must not be greater than 100%")


def percent(value: IntOrString | None) -> int | None:
    match = _IS_PERCENT.fullmatch(value) if isinstance(value, str) else None
    # NB: Go's Atoi stops at the largest 64-bit number.
    return min(int(match[1][:20]), 2**63 - 1) if match else None


def amount(value: IntOrString | None) -> int:
    """The number, of a percentage the number before the sign; 0 for what is neither."""
    if isinstance(value, int):
        return value
    found = percent(value)
    if found is not None:
        return found
    return int(value) if value and re.fullmatch(r"[+-]?[0-9]{1,18}", value) else 0
