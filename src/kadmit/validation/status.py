"""The status of a ValidatingAdmissionPolicy, which only /status can change: type checking and conditions."""

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from kadmit.api import fields
from kadmit.api.fields import FieldError, Path
from kadmit.api.gojson import Named
from kadmit.kinds import labels
from kadmit.validation import jsonpath
from kadmit.validation.expressions import trimmed

CONDITION_STATUSES = ("False", "True", "Unknown")
REASON_LIMIT, MESSAGE_LIMIT = 1024, 32 * 1024  # bytes

_REASON = re.compile(r"(?=[A-Za-z])[A-Za-z0-9_,:]++(?<=[A-Za-z0-9_])")
_NOT_A_REASON = (
    "a condition reason must start with alphabetic character, optionally followed by a string of alphanumeric characters or "
    "'_,:', and must end with an alphanumeric character or '_' (e.g. 'my_name',  or 'MY_NAME',  or 'MyName',  or "
    "'ReasonA,ReasonB',  or 'ReasonA:ReasonB', regex used for validation is '[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?')"
)


def validate(obj: Mapping[str, Any]) -> list[FieldError]:
    status, at = obj.get("status") or {}, fields.path("status")
    warnings = (status.get("typeChecking") or {}).get("expressionWarnings") or ()
    return [
        *_warnings(warnings, at.child("typeChecking", "expressionWarnings")),
        *validate_conditions(status.get("conditions") or (), at.child("conditions")),
    ]


def _warnings(raw: Sequence[Mapping[str, Any]], at: Path) -> Iterator[FieldError]:
    for i, warning in enumerate(raw):
        if not warning.get("warning"):
            yield fields.required(at.index(i).child("warning"))
        yield from _field_ref(trimmed(warning.get("fieldRef") or ""), at.index(i).child("fieldRef"))


def _field_ref(text: str, at: Path) -> list[FieldError]:
    if not text:
        return [fields.required(at)]
    wrong = jsonpath.problem(text)
    return [] if wrong is None else [fields.invalid(at, text, f"invalid JSONPath: {wrong}")]


# ---------------------------------------------------------------- conditions


def validate_conditions(raw: Sequence[Mapping[str, Any]], at: Path) -> list[FieldError]:
    """metav1.Conditions: one of each type."""
    found: list[FieldError] = []
    seen: set[str] = set()
    for i, condition in enumerate(raw):
        kind = condition.get("type") or ""
        if kind in seen:
            found.append(fields.duplicate(at.index(i).child("type"), kind))
        seen.add(kind)
        found += _condition(condition, at.index(i))
    return found


def _condition(raw: Mapping[str, Any], at: Path) -> Iterator[FieldError]:
    status, generation = raw.get("status") or "", raw.get("observedGeneration") or 0
    yield from labels.validate_key(raw.get("type") or "", at.child("type"))
    if status not in CONDITION_STATUSES:
        yield fields.not_supported(at.child("status"), Named(status), CONDITION_STATUSES)
    if generation < 0:
        yield fields.invalid(at.child("observedGeneration"), generation, "must be greater than or equal to zero")
    if not raw.get("lastTransitionTime"):
        yield fields.required(at.child("lastTransitionTime"))
    yield from _reason(raw.get("reason") or "", at.child("reason"))
    if _size(raw.get("message") or "") > MESSAGE_LIMIT:
        yield fields.too_long(at.child("message"), MESSAGE_LIMIT)


def _reason(reason: str, at: Path) -> Iterator[FieldError]:
    if not reason:
        yield fields.required(at)
        return
    if _REASON.fullmatch(reason) is None:
        yield fields.invalid(at, reason, _NOT_A_REASON)
    if _size(reason) > REASON_LIMIT:
        yield fields.too_long(at, REASON_LIMIT)


def _size(text: str) -> int:
    return len(text.encode("utf-8", "surrogatepass"))
