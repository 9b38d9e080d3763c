"""Labels and label selectors: what Kubernetes has against them.

Go walks maps in random order; here keys are taken in theirs, so that the same object always gets the same answer.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from kadmit.api import fields
from kadmit.api.fields import FieldError, Path
from kadmit.api.gojson import Named
from kadmit.cel.library import names
from kadmit.kinds import soundnames

_WITH_VALUES, _WITHOUT_VALUES = ("In", "NotIn"), ("Exists", "DoesNotExist")


def validate_key(key: str, at: Path) -> list[FieldError]:
    """A label's key, and everything else that is a name with an optional prefix."""
    return [fields.invalid(at, key, problem) for problem in names.label_key(key)]


def validate_value(value: str, at: Path) -> list[FieldError]:
    return [fields.invalid(at, value, problem) for problem in names.label_value(value)]


def validate_labels(labels: Mapping[str, str] | None, at: Path) -> list[FieldError]:
    if not labels or soundnames.are_labels(labels):
        return []
    return [error for key, value in sorted(labels.items()) for error in (*validate_key(key, at), *validate_value(value, at))]


def validate_selector(selector: Mapping[str, Any] | None, at: Path, *, any_value: bool = False) -> list[FieldError]:
    """A LabelSelector; `any_value`: bad values in matchExpressions are let through."""
    if selector is None:
        return []
    found = validate_labels(selector.get("matchLabels"), at.child("matchLabels"))
    for i, requirement in enumerate(selector.get("matchExpressions") or ()):
        found += _requirement(requirement, at.child("matchExpressions").index(i), any_value=any_value)
    return found


def _requirement(raw: Mapping[str, Any], at: Path, *, any_value: bool) -> Iterator[FieldError]:
    values: Sequence[str] = raw.get("values") or ()
    yield from _operator(raw.get("operator") or "", values, at)
    yield from validate_key(raw.get("key") or "", at.child("key"))
    if not any_value:
        for i, value in enumerate(values):
            yield from validate_value(value, at.child("values").index(i))


def _operator(operator: str, values: Sequence[str], at: Path) -> Iterator[FieldError]:
    if operator in _WITH_VALUES:
        if not values:
            yield fields.required(at.child("values"), "must be specified when `operator` is 'In' or 'NotIn'")
    elif operator in _WITHOUT_VALUES:
        if values:
            yield fields.forbidden(at.child("values"), "may not be specified when `operator` is 'Exists' or 'DoesNotExist'")
    else:
        yield fields.invalid(at.child("operator"), Named(operator), "not a valid selector operator")
