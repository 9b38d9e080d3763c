"""Label selectors of API objects (matchLabels, matchExpressions), compiled once and asked often."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

Labels: TypeAlias = Mapping[str, str]
_Requirement: TypeAlias = Callable[[Labels], bool]


class SelectorError(ValueError):
    """A selector that registration should have refused."""


@dataclass(frozen=True, slots=True)
class Selector:
    """All requirements must hold; without any it selects everything. `nothing`: it selects nothing."""

    requirements: tuple[_Requirement, ...] = ()
    nothing: bool = False

    @property
    def empty(self) -> bool:
        return not self.requirements and not self.nothing

    def matches(self, labels: Labels) -> bool:
        return not self.nothing and all(holds(labels) for holds in self.requirements)


EVERYTHING = Selector()
NOTHING = Selector(nothing=True)


def compile_selector(raw: Mapping[str, Any] | None) -> Selector:
    """A LabelSelector: absent selects nothing, empty selects everything."""
    if raw is None:
        return NOTHING
    requirements = [_equals(k, v) for k, v in sorted((raw.get("matchLabels") or {}).items())]
    requirements += [_expression(e) for e in raw.get("matchExpressions") or ()]
    return Selector(tuple(requirements)) if requirements else EVERYTHING


def _equals(key: str, value: str) -> _Requirement:
    return lambda labels: labels.get(key) == value


def _expression(raw: Mapping[str, Any]) -> _Requirement:
    key, operator = raw.get("key", ""), raw.get("operator", "")
    values = frozenset(raw.get("values") or ())
    match operator:
        case "In":
            return lambda labels: key in labels and labels[key] in values
        case "NotIn":
            return lambda labels: key not in labels or labels[key] not in values
        case "Exists":
            return lambda labels: key in labels
        case "DoesNotExist":
            return lambda labels: key not in labels
    raise SelectorError(f'"{operator}" is not a valid label selector operator')
