"""Label selectors of API objects (matchLabels, matchExpressions), compiled once and asked often."""

from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

from msgspec import Struct

Labels: TypeAlias = Mapping[str, str]
_Requirement: TypeAlias = Callable[[Labels], bool]


class SelectorError(ValueError):
    """A selector that registration should have refused."""


class Selector(Struct, frozen=True):
    """All requirements must hold; without any it selects everything. `nothing`: it selects nothing.

    `texts` says each requirement in words, after the key that it is about.
    """

    requirements: tuple[_Requirement, ...] = ()
    nothing: bool = False
    texts: tuple[tuple[str, str], ...] = ()

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
    labels = sorted((raw.get("matchLabels") or {}).items())
    expressions = raw.get("matchExpressions") or ()
    requirements = [*(_equals(k, v) for k, v in labels), *(_expression(e) for e in expressions)]
    texts = [*((k, f"{k}={v}") for k, v in labels), *(_in_words(e) for e in expressions)]
    return Selector(tuple(requirements), texts=tuple(texts)) if requirements else EVERYTHING


def _equals(key: str, value: str) -> _Requirement:
    return lambda labels: labels.get(key) == value


def _in_words(raw: Mapping[str, Any]) -> tuple[str, str]:
    """Of a requirement, the key and a text as kubectl would have it."""
    key, values = str(raw.get("key", "")), ",".join(map(str, raw.get("values") or ()))
    forms = {"In": f"{key} in ({values})", "NotIn": f"{key} notin ({values})", "Exists": key, "DoesNotExist": f"!{key}"}
    return key, forms.get(str(raw.get("operator")), key)


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
