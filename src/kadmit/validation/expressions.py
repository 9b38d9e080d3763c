"""CEL expressions in the objects that users register: each must compile where it stands.

What users may write lags one version behind what the server understands, so that an older server can still read it; what is
stored already may use all of it. Hence an update is asked which expressions were there before, each in its role.
"""

import enum
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from msgspec import Struct, field

from kadmit.api import fields
from kadmit.api.fields import FieldError, Path
from kadmit.cel import environment, gotext, types
from kadmit.cel.environment import NEWEST, OLDEST, VARIABLES_TYPE, Environment
from kadmit.cel.source import CompileError
from kadmit.cel.types import BOOL, DYN, Type
from kadmit.kinds import labels

MATCH_CONDITIONS_LIMIT = 64

_IDENTIFIER = re.compile(r"[_a-zA-Z][_a-zA-Z0-9]*")
_RESERVED = re.compile(
    "true|false|null|in|as|break|const|continue|else|for|function|if|import|let|loop|package|namespace|return|var|void|while"
)

trimmed = gotext.trim_space


class Role(enum.Enum):
    """What an expression is for."""

    MATCH = enum.auto()
    VALIDATION = enum.auto()
    MESSAGE = enum.auto()
    AUDIT = enum.auto()
    MUTATION = enum.auto()


class Versions(Struct, frozen=True):
    """Which Kubernetes version an expression is compiled for, by whether it was there before."""

    minor: int = NEWEST
    stored: frozenset[tuple[Role, str]] = frozenset()

    def of(self, role: Role, text: str) -> int:
        return self.minor if (role, text) in self.stored else max(self.minor - 1, OLDEST)


def problems(env: Environment, text: str, returns: Sequence[Type], at: Path, *, shown: str | None = None) -> list[FieldError]:
    """What is wrong with an expression; `shown` is how the error quotes it."""
    try:
        env.compile(text, returns=returns)
    except CompileError as e:
        return [compile_error(e, text if shown is None else shown, at)]
    return []


def compile_error(error: CompileError, shown: str, at: Path) -> FieldError:
    text = str(error)
    return fields.internal(at, text) if text.startswith("program instantiation failed: ") else fields.invalid(at, shown, text)


# ---------------------------------------------------------------- match conditions


def validate_match_conditions(
    raw: Sequence[Mapping[str, Any]], at: Path, versions: Versions, *, params: bool
) -> list[FieldError]:
    """Conditions of policies and webhooks; `params`: whether they may speak of params."""
    found = [fields.too_many(at, len(raw), MATCH_CONDITIONS_LIMIT)] if len(raw) > MATCH_CONDITIONS_LIMIT else []
    seen: set[str] = set()
    for i, condition in enumerate(raw):
        found += _match_condition(condition, at.index(i), versions, params=params)
        name = condition.get("name") or ""
        if name and name in seen:
            found.append(fields.duplicate(at.index(i).child("name"), name))
        seen.add(name)
    return found


def _match_condition(raw: Mapping[str, Any], at: Path, versions: Versions, *, params: bool) -> Iterator[FieldError]:
    expression, name = trimmed(raw.get("expression") or ""), raw.get("name") or ""
    if expression:
        env = environment.admission(versions.of(Role.MATCH, expression), params=params)
        yield from problems(env, expression, (BOOL,), at.child("expression"))
    else:
        yield fields.required(at.child("expression"))
    if name:
        yield from labels.validate_key(name, at.child("name"))
    else:
        yield fields.required(at.child("name"))


def match_conditions_of(raw: Mapping[str, Any]) -> Iterator[tuple[Role, str]]:
    return ((Role.MATCH, condition.get("expression") or "") for condition in raw.get("matchConditions") or ())


# ---------------------------------------------------------------- variables


class Scope(Struct):
    """Where a policy's expressions stand: which variables there are. It grows as variables are declared, in their order.

    NB: all environments share one table of variables. A copy for each expression would make large policies slow.
    """

    params: bool
    versions: Versions
    composed: bool = True  # whether there is `variables` at all
    _declared: dict[str, Type] = field(default_factory=dict)
    _made: dict[tuple[int, bool, bool], Environment] = field(default_factory=dict)

    def env(self, role: Role, text: str, *, mutating: bool = False, authorizer: bool = True) -> Environment:
        """The environment for an expression that is there as `text`."""
        key = (self.versions.of(role, text), mutating, authorizer)
        if key not in self._made:
            env = environment.admission(key[0], mutating=mutating, params=self.params, authorizer_=authorizer)
            self._made[key] = _with_variables(env, self._declared) if self.composed else env
        return self._made[key]

    def declare(self, raw: Mapping[str, Any], at: Path) -> list[FieldError]:
        """A variable; it is there for those after it even if it has faults."""
        name, expression = raw.get("name") or "", raw.get("expression") or ""
        found = list(_variable_name(name, at.child("name")))
        if not trimmed(expression):
            return [*found, fields.required(at.child("expression"), "expression is not specified")]
        # NB: whether a variable is old is looked up among the validations.
        env = self.env(Role.VALIDATION, expression)
        try:
            self._declared[name] = _as_variable(env, env.compile(expression).output_type)
        except CompileError as e:
            self._declared[name] = DYN
            found.append(compile_error(e, expression, at.child("expression")))
        return found


def _with_variables(env: Environment, declared: Mapping[str, Type]) -> Environment:
    """The environment with whatever is declared by the time it compiles."""
    provider = env.types.with_fixed({VARIABLES_TYPE: declared})
    return env.with_types(provider).with_variables({"variables": types.struct(VARIABLES_TYPE)})


def _as_variable(env: Environment, output: Type) -> Type:
    """What other expressions may know of a variable's type."""
    return environment.variable_type(output)


def _variable_name(name: str, at: Path) -> Iterator[FieldError]:
    if not trimmed(name):
        yield fields.required(at, "name is not specified")
    elif _IDENTIFIER.fullmatch(name) is None or _RESERVED.fullmatch(name) is not None:
        yield fields.invalid(at, name, "must be a valid CEL identifier")
