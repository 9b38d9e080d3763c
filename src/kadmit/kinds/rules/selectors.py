"""Label selectors of workloads: they must be sound, select something, and select the workload's own pods."""

from collections.abc import Mapping
from typing import Any, TypeAlias

from kadmit.cel.library import names

Json: TypeAlias = Any
Labels: TypeAlias = Mapping[str, str]

MISMATCH = "`selector` does not match template `labels`"
_WITH_VALUES, _OPERATORS = ("In", "NotIn"), ("In", "NotIn", "Exists", "DoesNotExist")


def is_empty(selector: Mapping[str, Json]) -> bool:
    return not selector.get("matchLabels") and not selector.get("matchExpressions")


def is_sound(selector: Mapping[str, Json] | None) -> bool:
    """Whether it can be evaluated: bad keys and values are reasons why not, too."""
    if selector is None:
        return True
    pairs = (selector.get("matchLabels") or {}).items()
    if any(names.label_key(key) or names.label_value(value) for key, value in pairs):
        return False
    return all(_is_sound(one) for one in selector.get("matchExpressions") or ())


def _is_sound(requirement: Mapping[str, Json]) -> bool:
    operator, values = requirement.get("operator"), requirement.get("values") or ()
    if operator not in _OPERATORS or bool(values) != (operator in _WITH_VALUES):
        return False
    return not names.label_key(requirement.get("key") or "") and not any(names.label_value(value) for value in values)


def matches(selector: Mapping[str, Json] | None, labels: Labels | None) -> bool:
    """NB: no selector selects nothing, an empty one everything."""
    if selector is None:
        return False
    held = labels or {}
    if any(held.get(key) != value for key, value in (selector.get("matchLabels") or {}).items()):
        return False
    return all(_holds(one, held) for one in selector.get("matchExpressions") or ())


def _holds(requirement: Mapping[str, Json], labels: Labels) -> bool:
    key, values = requirement.get("key") or "", requirement.get("values") or ()
    match requirement.get("operator"):
        case "In":
            return key in labels and labels[key] in values
        case "NotIn":
            return key not in labels or labels[key] not in values
        case "Exists":
            return key in labels
    return key not in labels
