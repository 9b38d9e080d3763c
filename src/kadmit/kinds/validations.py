"""The rules of `x-kubernetes-validations`: compiled with a schema, asked of every object of its kind.

    compiled = of(schema)                  # None, if it has no rules
    errors = compiled(new, old)            # old: None on create

A rule that names `oldSelf` is about a change: it is asked where the old value is known, that is, not inside lists whose items
cannot be told apart. A rule that a value breaks without having changed is not held against it. All rules of an object share one
budget.
"""

import functools
from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, TypeAlias

from msgspec import Struct
from msgspec.structs import replace

from kadmit.api import fields
from kadmit.api.fields import OMITTED, FieldError, Path
from kadmit.api.gojson import quoted
from kadmit.cel import cost, environment, types
from kadmit.cel.environment import Environment
from kadmit.cel.gotext import trim_space
from kadmit.cel.source import CompileError
from kadmit.cel.types import Type
from kadmit.cel.values import NONE, CelError, Optional
from kadmit.kinds import declared, fieldpaths, rulevalues
from kadmit.kinds.declared import Declared
from kadmit.kinds.rulevalues import Convert
from kadmit.patch import equality

if TYPE_CHECKING:
    from kadmit.cel.program import Program

Json: TypeAlias = Any
Schema: TypeAlias = Mapping[str, Json]

BUDGET = 10_000_000
_LONGEST_MESSAGE = 5 * 1024
_NO_MORE = "no further validation rules will be run"
_OUT_OF_BUDGET = f"validation failed due to running out of cost budget, {_NO_MORE}"
_UNKNOWN: Json = object()  # an old value that cannot be told


# ---------------------------------------------------------------- compiled


class Rule(Struct, frozen=True):
    """One rule, compiled; or why it cannot be."""

    raw: Mapping[str, Json]
    program: "Program | None" = None
    problem: str = ""
    message: "Program | None" = None
    message_problem: str = ""
    uses_old: bool = False
    path: str = ""

    @property
    def optional_old(self) -> bool:
        return bool(self.raw.get("optionalOldSelf"))

    @property
    def told(self) -> str:
        """How errors name the rule."""
        return trim_space(str(self.raw.get("message") or self.raw.get("rule") or ""))


def compile_rules(raw: Schema, self_type: Declared) -> list[Rule]:
    """The rules of one place in a schema, those of its parts left out."""
    return [_compiled(rule, raw, self_type) for rule in raw.get("x-kubernetes-validations") or ()]


@functools.cache
def _base() -> Environment:
    return replace(environment.spec(), mixed_literals=False)


def _environment(self_type: Declared, *, optional_old: bool) -> Environment:
    base = _base()
    before = types.optional_of(self_type.type) if optional_old else self_type.type
    typed = base.with_types(base.types.with_fixed(self_type.structs))
    return typed.with_variables({"self": self_type.type, "oldSelf": before})


def _compiled(rule: Mapping[str, Json], raw: Schema, self_type: Declared) -> Rule:
    text = rule.get("rule") or ""
    if not trim_space(text):
        return Rule(rule)
    env = _environment(self_type, optional_old=bool(rule.get("optionalOldSelf")))
    program, problem = _program(env, text, types.BOOL, "cel expression must evaluate to a bool")
    if program is None:
        return Rule(rule, problem=problem)
    path = fieldpaths.normalised(rule.get("fieldPath") or "", raw)
    made = Rule(rule, program, uses_old=_names_old(program), path=path or "")
    return _with_message(made, env)


def _with_message(rule: Rule, env: Environment) -> Rule:
    text = rule.raw.get("messageExpression") or ""
    if not text:
        return rule
    message, problem = _program(env, text, types.STRING, "must evaluate to a string")
    return replace(rule, message=message, message_problem=f"messageExpression {problem}" if problem else "")


def _program(env: Environment, text: str, returns: Type, otherwise: str) -> "tuple[Program | None, str]":
    try:
        program = env.compile(text, limit=cost.PER_CALL_LIMIT)
    except CompileError as error:
        return None, str(error)
    return (program, "") if program.output_type.same(returns) else (None, otherwise)


def _names_old(program: "Program") -> bool:
    return "oldSelf" in program.checked.idents.values()


# ---------------------------------------------------------------- a schema's tree of rules


class Validator:
    """The rules of a place in a schema, and of everything beneath it."""

    __slots__ = ("additional", "convert", "items", "kind", "list_keys", "properties", "rules")

    def __init__(self, raw: Schema, self_type: Declared | None, *, is_object: bool) -> None:
        self.kind: str = raw.get("type") or ""
        self.rules = compile_rules(raw, self_type) if self_type is not None else []
        self.convert: Convert | None = rulevalues.compiled(raw, is_object=is_object) if self.rules else None
        self.list_keys = tuple(raw.get("x-kubernetes-list-map-keys") or ()) if raw.get("x-kubernetes-list-type") == "map" else ()
        element = self_type.element if self_type is not None else None
        self.items = _validator(raw.get("items"), element)
        more = raw.get("additionalProperties")
        self.additional = _validator(more, element) if isinstance(more, Mapping) else None
        self.properties = _property_validators(raw, self_type)

    @property
    def is_empty(self) -> bool:
        return not (self.rules or self.items or self.additional or self.properties)


def _validator(raw: Json, self_type: Declared | None) -> Validator | None:
    if not isinstance(raw, Mapping):
        return None
    made = Validator(raw, self_type, is_object=bool(raw.get("x-kubernetes-embedded-resource")))
    return None if made.is_empty else made


def _property_validators(raw: Schema, self_type: Declared | None) -> dict[str, Validator]:
    made: dict[str, Validator] = {}
    for key, part in (raw.get("properties") or {}).items():
        name = declared.escaped(key)
        if name is None:
            known = declared.declare(part, is_object=bool(part.get("x-kubernetes-embedded-resource")))
        else:
            known = (self_type.fields or {}).get(name) if self_type is not None else None
        found = _validator(part, known) if known is not None else None
        if found is not None:
            made[key] = found
    return made


Asked: TypeAlias = Callable[[Json, Json], list[FieldError]]  # of an object, and of what it was


def of(raw: Schema) -> Asked | None:
    """The rules of a custom kind's schema."""
    made = Validator(raw, declared.declare(raw, is_object=True), is_object=True)
    if made.is_empty:
        return None
    return lambda new, old: list(_Run().findings(made, new, old, Path()))


def of_default(raw: Schema, value: Json, at: Path, *, is_object: bool) -> list[FieldError]:
    """What the rules of a place say of its default: as something that stays, and as something new."""
    made = Validator(raw, declared.declare(raw, is_object=is_object), is_object=is_object)
    if made.is_empty:
        return []
    found = list(_Run().findings(made, value, value, at, ratchets=False))
    return found or list(_Run().findings(made, value, None, at, ratchets=False))


# ---------------------------------------------------------------- asked


class _Run:
    """One object: what is left of its budget."""

    __slots__ = ("budget", "over")

    def __init__(self) -> None:
        self.budget = BUDGET
        self.over = False

    def findings(self, validator: Validator, new: Json, old: Json, at: Path, *, ratchets: bool = True) -> Iterator[FieldError]:
        before = _UNKNOWN if old is None or not ratchets else old
        yield from self._walk(validator, new, old, before, None, at)

    def _walk(
        self, validator: Validator, new: Json, old: Json, before: Json, above: "bool | None", at: Path
    ) -> Iterator[FieldError]:
        """old: what rules may compare with. before: the old value as far as it can be told, above: whether the nearest
        place around it that can be told is unchanged."""
        if new is None:
            return
        if validator.rules:
            yield from self._ask(validator, new, old, before, above, at)
        if self.over:
            return
        unchanged = above if before is _UNKNOWN else None
        if isinstance(new, list) and validator.items is not None:
            yield from self._walk_items(validator, new, old, before, unchanged, at)
        elif isinstance(new, dict):
            yield from self._walk_members(validator, new, old, before, unchanged, at)

    def _walk_items(
        self, validator: Validator, new: list[Json], old: Json, before: Json, above: "bool | None", at: Path
    ) -> Iterator[FieldError]:
        assert validator.items is not None
        same = _unchanged(new, before) if before is not _UNKNOWN else above
        for index, item in enumerate(new):
            was = _old_item(item, old, validator.list_keys)
            known = _old_item(item, before, validator.list_keys) if before is not _UNKNOWN else None
            yield from self._walk(validator.items, item, was, _UNKNOWN if known is None else known, same, at.index(index))
            if self.over:
                return

    def _walk_members(
        self, validator: Validator, new: dict[str, Json], old: Json, before: Json, above: "bool | None", at: Path
    ) -> Iterator[FieldError]:
        same = _unchanged(new, before) if before is not _UNKNOWN else above
        for key, member in new.items():
            part = validator.additional or validator.properties.get(key)
            if part is None:
                continue
            was = old.get(key) if isinstance(old, dict) else None
            known = before.get(key, _UNKNOWN) if isinstance(before, dict) else _UNKNOWN
            place = at.key(key) if validator.additional is not None else at.child(key)
            yield from self._walk(part, member, was, known, same, place)
            if self.over:
                return

    def _ask(
        self, validator: Validator, new: Json, old: Json, before: Json, above: "bool | None", at: Path
    ) -> Iterator[FieldError]:
        if self.budget <= 0:
            self.over = True
            yield fields.invalid(at, validator.kind, _OUT_OF_BUDGET)
            return
        value = validator.convert(new) if validator.convert is not None else new
        was = validator.convert(old) if validator.convert is not None and old is not None else old
        for rule in validator.rules:
            found = self._rule(rule, validator.kind, value, was, new, at)
            if found is None:
                continue
            error, is_failure = found
            if is_failure and not rule.uses_old and not self.over:
                unchanged = _unchanged(new, before) if before is not _UNKNOWN else bool(above)
                if unchanged:
                    continue
            yield error
            if self.over:
                return

    def _rule(self, rule: Rule, kind: str, value: Json, old: Json, shown: Json, at: Path) -> tuple[FieldError, bool] | None:
        """What a rule has against a value, and whether it is that the value breaks it."""
        if rule.problem:
            return fields.invalid(at, kind, f"rule compile error: {rule.problem}"), False
        if rule.program is None or (rule.uses_old and old is None and not rule.optional_old):
            return None
        bindings: dict[str, Json] = {"self": value}
        if rule.optional_old:
            bindings["oldSelf"] = Optional(old) if old is not None else NONE
        elif old is not None:
            bindings["oldSelf"] = old
        result, spent = rule.program.evaluate(bindings)
        if spent > self.budget:
            self.over = True
            return fields.invalid(at, kind, _OUT_OF_BUDGET), False
        self.budget -= spent
        if isinstance(result, CelError):
            return self._failure(result.message, rule, kind, at), False
        if result is True:
            return None
        return self._broken(rule, kind, bindings, shown, at), True

    def _failure(self, message: str, rule: Rule, kind: str, at: Path) -> FieldError:
        if message.startswith("no such overload"):
            text = "call arguments did not match a supported operator, function or macro signature for rule"
            return fields.invalid(at, kind, f"'{message}': {text}: {rule.told}")
        if message.startswith(cost.LIMIT_EXCEEDED):
            self.over = True
            text = f"{_NO_MORE} due to call cost exceeds limit for rule"
            return fields.invalid(at, kind, f"'{message}': {text}: {rule.told}")
        return fields.invalid(at, kind, f"{message} evaluating rule: {rule.told}")

    def _broken(self, rule: Rule, kind: str, bindings: Mapping[str, Json], shown: Json, at: Path) -> FieldError:
        place = at.child(rule.path) if rule.path else at
        detail = ""
        if rule.message is not None:
            detail, problem = self._message(rule.message, str(rule.raw.get("messageExpression")), bindings)
            if problem:
                self.over = True
                return fields.invalid(place, kind, problem)
        if not detail:
            detail = rule.told if rule.raw.get("message") else f"failed rule: {rule.told}"
        value = OMITTED if kind in ("object", "array") else shown
        match rule.raw.get("reason"):
            case "FieldValueForbidden":
                return fields.forbidden(place, detail)
            case "FieldValueRequired":
                return fields.required(place, detail)
            case "FieldValueDuplicate":
                return fields.duplicate(place, value)
        return fields.invalid(place, value, detail)

    def _message(self, program: "Program", text: str, bindings: Mapping[str, Json]) -> tuple[str, str]:
        """The message, empty if it is not fit to be shown; and why nothing more can be asked."""
        result, spent = program.evaluate(bindings)
        if spent > self.budget:
            problem = (
                "messageExpression evaluation failed due to running out of cost budget, no further validation rules will be run"
            )
            return "", problem
        self.budget -= spent
        if isinstance(result, CelError):
            if result.message.startswith(cost.LIMIT_EXCEEDED):
                shown = quoted(text)
                return (
                    "",
                    f"no further validation rules will be run due to call cost exceeds limit for messageExpression: {shown}",
                )
            return "", ""
        found = trim_space(result) if isinstance(result, str) else ""
        fits = len(found.encode("utf-8", "surrogatepass")) <= _LONGEST_MESSAGE and "\n" not in found
        return (found if fits else ""), ""


def _unchanged(new: Json, before: Json) -> bool:
    return equality.same(new, before)


def _old_item(item: Json, old: Json, keys: tuple[str, ...]) -> Json:
    """The item that this one was. Only lists that are maps can tell."""
    if not keys or not isinstance(old, list) or not isinstance(item, dict):
        return None
    wanted = [item.get(key) for key in keys]
    for before in old:
        if isinstance(before, dict) and equality.same([before.get(key) for key in keys], wanted):
            return before
    return None
