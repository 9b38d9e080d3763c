"""Selectors in access reviews: a text or a list of requirements, checked and read.

What cannot be read is left out, so that the question is about more: clients may know operators that come later.
"""

from collections.abc import Iterator
from typing import Any, TypeAlias

from msgspec.structs import replace

from kadmit.access import attributes
from kadmit.api import fields
from kadmit.api.fields import FieldError, Path
from kadmit.api.gojson import quoted
from kadmit.cel.library import names
from kadmit.cel.library.authorizer import Attributes
from kadmit.cel.library.selectors import FieldRequirement, LabelRequirement

Json: TypeAlias = dict[str, Any]

_WITH_VALUES, _WITHOUT_VALUES = ("In", "NotIn"), ("Exists", "DoesNotExist")
_LABEL_OPERATORS = {"In": "in", "NotIn": "notin", "Exists": "exists", "DoesNotExist": "!"}
_FIELD_OPERATORS = {"In": "=", "NotIn": "!="}
_WORDS = {"In": "in", "NotIn": "not in"}


# ---------------------------------------------------------------- checking


def problems(asked: Json, at: Path) -> Iterator[FieldError]:
    """Of the fieldSelector and labelSelector in resourceAttributes."""
    for key in ("fieldSelector", "labelSelector"):
        selector = asked.get(key)
        if selector is not None:
            yield from _selector_problems(selector, at.child(key), of_labels=key == "labelSelector")


def _selector_problems(selector: Json, at: Path, *, of_labels: bool) -> Iterator[FieldError]:
    raw, requirements = selector.get("rawSelector"), selector.get("requirements") or []
    if raw and requirements:
        yield fields.invalid(at.child("rawSelector"), raw, "may not specified at the same time as requirements")
    if not raw and not requirements:
        yield fields.required(at.child("requirements"), f"when {at} is specified, requirements or rawSelector is required")
    for i, requirement in enumerate(requirements):
        place = at.child("requirements").index(i)
        yield from (_label_problems if of_labels else _field_problems)(requirement, place)


def _field_problems(requirement: Json, at: Path) -> Iterator[FieldError]:
    if not requirement.get("key"):
        yield fields.required(at.child("key"), "must be specified")
    yield from _value_problems(requirement, at)


def _label_problems(requirement: Json, at: Path) -> Iterator[FieldError]:
    key = requirement.get("key") or ""
    yield from _value_problems(requirement, at)
    yield from (fields.invalid(at.child("key"), key, problem) for problem in names.label_key(key))
    for i, value in enumerate(requirement.get("values") or ()):
        yield from (fields.invalid(at.child("values").index(i), value, problem) for problem in names.label_value(value))


def _value_problems(requirement: Json, at: Path) -> Iterator[FieldError]:
    operator, values = requirement.get("operator"), requirement.get("values")
    if operator in _WITH_VALUES and not values:
        yield fields.required(at.child("values"), "must be specified when `operator` is 'In' or 'NotIn'")
    if operator in _WITHOUT_VALUES and values:
        yield fields.forbidden(at.child("values"), "may not be specified when `operator` is 'Exists' or 'DoesNotExist'")


# ---------------------------------------------------------------- reading


def with_selectors(asked: Attributes, raw: Json) -> Attributes:
    by_field, by_label = raw.get("fieldSelector") or {}, raw.get("labelSelector") or {}
    asked = attributes.with_selectors(asked, by_field.get("rawSelector") or "", by_label.get("rawSelector") or "")
    if by_field.get("requirements"):
        found, wrong = _read(by_field["requirements"], _field_requirement)
        asked = replace(asked, field_selector=tuple(found), field_selector_error=wrong)
    if by_label.get("requirements"):
        found, wrong = _read(by_label["requirements"], _label_requirement)
        asked = replace(asked, label_selector=tuple(found), label_selector_error=wrong)
    return asked


def _read(requirements: list[Json], read: Any) -> tuple[list[Any], str]:
    """Those that can be read, and what is wrong with the others."""
    results = [read(requirement) for requirement in requirements]
    wrong = [result for result in results if isinstance(result, str)]
    return [r for r in results if not isinstance(r, str)], fields.aggregate(wrong) if wrong else ""


def _field_requirement(raw: Json) -> FieldRequirement | str:
    operator, values = raw.get("operator") or "", raw.get("values") or ()
    if len(values) > 1:
        return "fieldSelectors do not yet support multiple values"
    if operator in _WITHOUT_VALUES:
        return f"fieldSelectors do not yet support {operator}"
    if operator not in _FIELD_OPERATORS:
        return f"{quoted(operator)} is not a valid field selector operator"
    if not values:
        return f"fieldSelectors {_WORDS[operator]} must have one value"
    return FieldRequirement(raw.get("key") or "", _FIELD_OPERATORS[operator], values[0])


def _label_requirement(raw: Json) -> LabelRequirement | str:
    operator = raw.get("operator") or ""
    if operator not in _LABEL_OPERATORS:
        return f"{quoted(operator)} is not a valid label selector operator"
    return LabelRequirement(raw.get("key") or "", _LABEL_OPERATORS[operator], tuple(raw.get("values") or ()))
