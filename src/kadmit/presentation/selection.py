"""Which objects a list or a watch is about: label and field selectors, read from a query and asked of objects."""

from collections.abc import Callable
from typing import Any, TypeAlias

from msgspec import Struct

from kadmit.api import errors
from kadmit.cel import gotext
from kadmit.cel.library import selectors
from kadmit.cel.library.selectors import FieldRequirement, LabelRequirement
from kadmit.matching.selectors import Labels
from kadmit.presentation.fieldselectors import NAME, SelectableFields

Json: TypeAlias = Any


class Selection(Struct, frozen=True):
    """All requirements must hold. `fields_of` tells how fields of the kind are read."""

    labels: tuple[LabelRequirement, ...] = ()
    fields: tuple[FieldRequirement, ...] = ()
    fields_of: SelectableFields | None = None

    @property
    def everything(self) -> bool:
        return not self.labels and not self.fields

    @property
    def exact_name(self) -> str | None:
        """The name that is asked for, if there is only one that can match."""
        return next((r.value for r in self.fields if r.field == NAME and r.operator == "="), None)

    def matches(self, value: Json) -> bool:
        if self.labels:
            labels = (value.get("metadata") or {}).get("labels") or {}
            if not all(_holds(requirement, labels) for requirement in self.labels):
                return False
        return all(self._has(requirement, value) for requirement in self.fields)

    def _has(self, requirement: FieldRequirement, value: Json) -> bool:
        assert self.fields_of is not None
        return (self.fields_of.read(requirement.field, value) == requirement.value) is (requirement.operator == "=")


def parse_labels(text: str) -> tuple[LabelRequirement, ...]:
    """Raises ApiError (400)."""
    found = selectors.parse_labels(text) if text else ()
    if isinstance(found, str):
        raise errors.bad_request(found)
    return found


def parse_fields(text: str) -> tuple[FieldRequirement, ...]:
    """Raises ApiError (400). NB: whether the kind knows the fields is asked later."""
    found = selectors.parse_fields(text) if text else ()
    if isinstance(found, str):
        raise errors.bad_request(found)
    return found


def check_fields(requirements: tuple[FieldRequirement, ...], fields_of: SelectableFields) -> None:
    """Raises ApiError (400) for the first field by which the kind cannot be selected."""
    for requirement in requirements:
        problem = fields_of.problem(requirement.field)
        if problem is not None:
            raise errors.bad_request(problem)


def _holds(requirement: LabelRequirement, labels: Labels) -> bool:
    return _OPERATORS[requirement.operator](labels.get(requirement.key), requirement.values)


_Operator: TypeAlias = Callable[[str | None, tuple[str, ...]], bool]


def _is_one_of(label: str | None, values: tuple[str, ...]) -> bool:
    return label is not None and label in values


def _is_none_of(label: str | None, values: tuple[str, ...]) -> bool:
    return label is None or label not in values


def _is_greater(label: str | None, values: tuple[str, ...]) -> bool:
    number, limit = _integers(label, values)
    return number is not None and limit is not None and number > limit


def _is_less(label: str | None, values: tuple[str, ...]) -> bool:
    number, limit = _integers(label, values)
    return number is not None and limit is not None and number < limit


def _integers(label: str | None, values: tuple[str, ...]) -> tuple[int | None, int | None]:
    return (None if label is None else gotext.parse_int(label)), gotext.parse_int(values[0])


_OPERATORS: dict[str, _Operator] = {
    "=": _is_one_of,
    "==": _is_one_of,
    "in": _is_one_of,
    "!=": _is_none_of,
    "notin": _is_none_of,
    "exists": lambda label, _: label is not None,
    "!": lambda label, _: label is None,
    "gt": _is_greater,
    "lt": _is_less,
}
