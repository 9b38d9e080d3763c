"""What a schema asks of numbers: range, minimum, maximum, multiples; and the words for what is wrong with them.

Kubernetes compares natively where it can: a whole number with a bound that is itself of the schema's kind is compared, and
shown, as an integer; else both become doubles, and the odd bound is complained of as well, nowhere in particular.
"""

import math
from collections.abc import Iterator, Mapping
from typing import Any, TypeAlias

from kadmit.api import fields
from kadmit.api.fields import FieldError, Path
from kadmit.patch import gotext

Json: TypeAlias = Any

FORMATS = {"integer": ("int32", "int64"), "number": ("float", "double")}

_INT_BOUNDS = {"int32": (-(2**31), 2**31 - 1)}
_INT64 = (-(2**63), 2**63 - 1)
_MAX_SAFE = float(2**53 - 1)
_MAX_FLOAT32 = 3.4028235677973366e38  # larger numbers round to infinity
_ALMOST = 1e-9


class NumberRules:
    __slots__ = ("_bounds", "_format", "_int_range", "_multiple_of", "_types")

    def __init__(self, raw: Mapping[str, Json], types: tuple[str, ...], form: str) -> None:
        self._types = types
        self._format = form
        self._int_range = _INT_BOUNDS.get(form, _INT64)
        self._multiple_of: float | None = raw.get("multipleOf")
        bounds = (_Bound.of(raw, "minimum"), _Bound.of(raw, "maximum"))
        self._bounds = tuple(bound for bound in bounds if bound is not None)

    def findings(self, value: int | float, path: str) -> Iterator[FieldError]:
        if not self._in_range(value):
            yield self._range_finding("Checked", path)
        if self._multiple_of is not None:
            yield from self._multiple_findings(value, path, self._multiple_of)
        for bound in self._bounds:
            yield from self._bound_findings(value, path, bound)

    def _multiple_findings(self, value: int | float, path: str, factor: float) -> Iterator[FieldError]:
        native = self._in_range(factor)
        if not native:
            yield self._range_finding("MultipleOf", path)
        divisor: int | float = int(factor) if native and value.__class__ is int else float(factor)
        if divisor <= 0:
            text = f"factor MultipleOf declared for {path} must be positive: {gotext.value_text(divisor)}"
            yield fields.invalid(located(path), divisor, text)
        elif not _is_multiple(value, divisor):
            number = value if divisor.__class__ is int else float(value)
            yield invalid(path, number, f"should be a multiple of {gotext.value_text(divisor)}")

    def _bound_findings(self, value: int | float, path: str, bound: "_Bound") -> Iterator[FieldError]:
        native = self._in_range(bound.limit)
        if not native:
            yield self._range_finding(f"{bound.name.capitalize()} boundary", path)
        as_whole = native and value.__class__ is int
        limit: int | float = int(bound.limit) if as_whole else float(bound.limit)
        number: int | float = value if as_whole else float(value)
        if not bound.holds(number, limit):
            yield invalid(path, number, f"should be {bound.words} {gotext.value_text(limit)}")

    def _in_range(self, number: int | float) -> bool:
        """Whether a number is one of the schema's own kind, as its text would be read."""
        if self._types == ("integer",):
            low, high = self._int_range
            return float(number).is_integer() and low <= number <= high
        return self._types != ("number",) or self._format != "float" or abs(number) < _MAX_FLOAT32

    def _range_finding(self, what: str, path: str) -> FieldError:
        kind = self._types[0] if len(self._types) == 1 and self._types[0] in FORMATS else ""
        form = f"with format {self._format}" if self._format and kind else "(default format)"
        return unlocated(f"{what} value must be of type {kind} {form} in {path}")


class _Bound:
    """A minimum or maximum."""

    __slots__ = ("exclusive", "limit", "name", "words")

    def __init__(self, name: str, limit: float, *, exclusive: bool) -> None:
        self.name = name
        self.limit = limit
        self.exclusive = exclusive
        comparison = "less than" if name == "maximum" else "greater than"
        self.words = comparison if exclusive else f"{comparison} or equal to"

    @classmethod
    def of(cls, raw: Mapping[str, Json], name: str) -> "_Bound | None":
        limit = raw.get(name)
        return None if limit is None else cls(name, limit, exclusive=bool(raw.get(f"exclusive{name.capitalize()}")))

    def holds(self, number: int | float, limit: int | float) -> bool:
        if number == limit:
            return not self.exclusive
        return number < limit if self.name == "maximum" else number > limit


def is_whole(number: float) -> bool:
    """NB: almost whole is whole."""
    if not abs(number) <= _MAX_SAFE:
        return False
    if number.is_integer():
        return True
    below = math.floor(number)
    return number > 0 and below != 0 and (number - below) / (number + below) < _ALMOST


def _is_multiple(value: int | float, divisor: int | float) -> bool:
    if divisor.__class__ is int and value.__class__ is int:
        return value % divisor == 0
    return is_whole(1 / divisor * value if divisor < 1 else value / divisor)


def located(path: str) -> Path:
    return Path(path.removeprefix("."))


def unlocated(detail: str) -> FieldError:
    return fields.invalid(Path(), "", detail)


def invalid(path: str, value: Json, words: str) -> FieldError:
    return fields.invalid(located(path), value, f"{path} in body {words}")
