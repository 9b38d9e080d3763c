"""The CEL rules of a schema when it is registered: they must be well-formed, compile, and not cost too much."""

import re
from collections.abc import Iterator, Mapping
from typing import Any, TypeAlias

from msgspec import Struct, field

from kadmit.api import fields
from kadmit.api.fields import FieldError, Path
from kadmit.cel.gotext import trim_space
from kadmit.kinds import declared, estimation, fieldpaths, internals, validations
from kadmit.kinds.declared import LARGEST_REQUEST, Declared
from kadmit.kinds.ranges import MOST
from kadmit.kinds.validations import Rule

Json: TypeAlias = Any
Schema: TypeAlias = Mapping[str, Json]

_LIMIT = 10_000_000  # of one rule
_TOTAL_LIMIT = 100_000_000  # of all rules of a schema
_MOST_TOLD = 4
_REASONS = ("FieldValueDuplicate", "FieldValueForbidden", "FieldValueInvalid", "FieldValueRequired")
_LINE_BREAK = re.compile("[\n\r]")
_ADVICE = (
    "try simplifying the rule, or adding maxItems, maxProperties, and maxLength where arrays, maps, and strings are declared"
)


# ---------------------------------------------------------------- costs


class Costs(Struct):
    """What all rules of a schema cost together. limited: whether each alone must keep to a limit, too."""

    limited: bool = True
    total: int = 0
    told: list[tuple[int, Path]] = field(default_factory=list)

    def add(self, cost: int, at: Path, name: str) -> Iterator[FieldError]:
        if self.limited and cost > _LIMIT:
            yield fields.forbidden(at, _over_budget(f"estimated {name} cost", cost, _LIMIT))

    def observe(self, cost: int, at: Path) -> None:
        self.total = min(self.total + cost, MOST)
        if cost >= _TOTAL_LIMIT // 100:
            self.told = sorted([*self.told, (cost, at)], key=lambda one: -one[0])[:_MOST_TOLD]

    def errors(self, at: Path) -> Iterator[FieldError]:
        if self.total > _TOTAL_LIMIT:
            text = "contributed to estimated rule cost total exceeding cost limit for entire OpenAPIv3 schema"
            yield from (fields.forbidden(place, text) for _, place in self.told)
            named = "x-kubernetes-validations estimated rule cost total for entire OpenAPIv3 schema"
            yield fields.forbidden(at, _over_budget(named, self.total, _TOTAL_LIMIT))


def _over_budget(name: str, cost: int, limit: int) -> str:
    factor = cost / limit
    if factor > 100:
        told = "more than 100x"
    else:
        told = f"{factor:.6f}x" if factor < 1.5 else f"{factor:.1f}x"
    return f"{name} exceeds budget by factor of {told} ({_ADVICE})"


class Place(Struct, frozen=True):
    """A place in a schema as its rules see it. count: how often it may be in an object; None: nobody knows."""

    raw: Schema
    costs: Costs
    count: int | None = 1
    type: Declared | None = None
    is_object: bool = False

    @staticmethod
    def root(raw: Schema, costs: Costs) -> "Place":
        return Place(raw, costs, is_object=True)

    def member(self, key: str, part: Schema) -> "Place":
        known = self._known()
        name = declared.escaped(key)
        return self._below(part, (known.fields or {}).get(name) if known is not None and name is not None else None)

    def element(self, part: Schema) -> "Place":
        known = self._known()
        return self._below(part, known.element if known is not None else None)

    def declared(self) -> Declared | None:
        """NB: types are shared with what is around where that has rules, too."""
        return self.type or declared.declare(self.raw, is_object=self.is_object)

    def _known(self) -> Declared | None:
        return self.declared() if self.type is not None or self.raw.get("x-kubernetes-validations") else None

    def _below(self, part: Schema, known: Declared | None) -> "Place":
        each = _most_elements(self.raw)
        count = None if self.count is None or each is None else min(self.count * each, MOST)
        return Place(part, self.costs, count, known, bool(part.get("x-kubernetes-embedded-resource")))

    def cost(self, most: int, known: Declared) -> int:
        count = LARGEST_REQUEST // (known.least + 1) if self.count is None else self.count
        return min(most * count, MOST)


def _most_elements(raw: Schema) -> int | None:
    """How many of its parts a value may have; None, if there is no limit."""
    limit: int | None = 1
    if raw.get("type") == "array":
        limit = raw.get("maxItems")
    elif raw.get("type") == "object" and raw.get("additionalProperties") is not None:
        limit = raw.get("maxProperties")
    return None if limit is None else max(limit, 0)


# ---------------------------------------------------------------- what they say


def fields_of(raw: Schema, at: Path) -> Iterator[FieldError]:
    """What is wrong with rules before they are compiled."""
    for index, rule in enumerate(raw.get("x-kubernetes-validations") or ()):
        place = at.child("x-kubernetes-validations").index(index)
        yield from _texts(rule, place)
        if rule.get("messageExpression") and not trim_space(rule["messageExpression"]):
            yield fields.required(place.child("messageExpression"), "messageExpression must be non-empty if specified")
        if rule.get("reason") is not None and rule["reason"] not in _REASONS:
            yield fields.not_supported(place.child("reason"), rule["reason"], _REASONS)
        yield from _field_path(rule.get("fieldPath") or "", raw, place.child("fieldPath"))


def _texts(rule: Schema, at: Path) -> Iterator[FieldError]:
    text, message = trim_space(rule.get("rule") or ""), rule.get("message") or ""
    if not text:
        yield fields.required(at.child("rule"), "rule is not specified")
    elif message and not trim_space(message):
        yield fields.invalid(at.child("message"), message, "must be non-empty if specified")
    elif _LINE_BREAK.search(trim_space(message)):
        yield fields.invalid(at.child("message"), message, "must not contain line breaks")
    elif _LINE_BREAK.search(text) and not trim_space(message):
        yield fields.required(at.child("message"), "message must be specified if rule contains line breaks")


def _field_path(text: str, raw: Schema, at: Path) -> Iterator[FieldError]:
    if text and not trim_space(text):
        yield fields.invalid(at, text, "must be non-empty if specified")
    if _LINE_BREAK.search(text):
        yield fields.invalid(at, text, "must not contain line breaks")
    if text and fieldpaths.normalised(text, raw) is None:
        yield fields.invalid(at, text, "must be a valid path")


def validate(raw: Schema, at: Path, place: Place, uncorrelated: Path | None) -> Iterator[FieldError]:
    """What is wrong with rules as expressions."""
    known = place.declared()
    listed = at.child("x-kubernetes-validations")
    if known is None:
        text = "failed to construct type information for x-kubernetes-validations rules"
        problem = f"internal error: {text}: unable to convert structural schema to CEL declarations"
        yield fields.internal(listed, problem)
        return
    for index, rule in enumerate(validations.compile_rules(raw, known)):
        yield from _compiled(rule, known, place, listed.index(index), uncorrelated)


def _compiled(rule: Rule, known: Declared, place: Place, at: Path, uncorrelated: Path | None) -> Iterator[FieldError]:
    cost = place.cost(estimation.most(rule.program.checked, known), known) if rule.program is not None else 0
    yield from place.costs.add(cost, at.child("rule"), "rule")
    place.costs.observe(cost, at.child("rule"))
    if rule.problem:
        yield fields.invalid(at.child("rule"), internals.shown("ValidationRule", rule.raw), rule.problem)
    yield from _message(rule, known, place, at.child("messageExpression"))
    if rule.uses_old and uncorrelated is not None:
        text = f"oldSelf cannot be used on the uncorrelatable portion of the schema within {uncorrelated}"
        yield fields.invalid(at.child("rule"), rule.raw.get("rule"), text)
    if not rule.uses_old and rule.raw.get("optionalOldSelf") is not None:
        place_of_old, text = at.child("optionalOldSelf"), "may not be set if oldSelf is not used in rule"
        yield fields.invalid(place_of_old, rule.raw["optionalOldSelf"], text)


def _message(rule: Rule, known: Declared, place: Place, at: Path) -> Iterator[FieldError]:
    """NB: a message is made once, however often its rule is broken."""
    if rule.message_problem:
        yield fields.invalid(at, internals.shown("ValidationRule", rule.raw), rule.message_problem)
    elif rule.message is not None:
        cost = estimation.most(rule.message.checked, known)
        yield from place.costs.add(cost, at, "messageExpression")
        place.costs.observe(cost, at)
