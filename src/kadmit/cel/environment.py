"""Which libraries, variables and types an expression may use, by Kubernetes version and by where it stands; compile().

An environment is made once and shared. `compile` does all the work there is to do before a request comes: parse,
check, validate, plan, and generate the fast function.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache

from kadmit.cel import checker, macros, parser, planner, room, types, validators
from kadmit.cel.checker import Checked, Declarations
from kadmit.cel.declarations import Function
from kadmit.cel.library import (
    authorizer,
    cidr,
    comprehensions,
    ip,
    jsonpatch,
    lists,
    messages,
    named_formats,
    optionals,
    quantity,
    regex,
    semver,
    sets,
    standard,
    strings,
    timestamps,
    url,
)
from kadmit.cel.library.mutation import MutationTypes
from kadmit.cel.planner import Catalogue, PlanError
from kadmit.cel.program import Program
from kadmit.cel.request_types import REQUEST_TYPES, FixedTypes
from kadmit.cel.source import CompileError, Issues
from kadmit.cel.types import DYN, Kind, Type
from kadmit.cel.values import CelError, Value

NEWEST = 36
OLDEST = 30

# In Kubernetes' loading order: where two libraries share a name, overloads are tried in this order.
LIBRARIES: tuple[tuple[Function, ...], ...] = (
    standard.FUNCTIONS,
    timestamps.FUNCTIONS,
    url.FUNCTIONS,
    regex.FUNCTIONS,
    lists.FUNCTIONS,
    authorizer.FUNCTIONS,
    optionals.FUNCTIONS,
    quantity.FUNCTIONS,
    strings.FUNCTIONS,
    sets.FUNCTIONS,
    ip.FUNCTIONS,
    cidr.FUNCTIONS,
    named_formats.FUNCTIONS,
    comprehensions.FUNCTIONS,
    semver.FUNCTIONS,
)


@dataclass(frozen=True, slots=True)
class Environment:
    """What names mean, and how to compile."""

    minor: int
    declarations: Declarations
    catalogue: Catalogue
    mixed_literals: bool = False

    def compile(self, text: str, *, returns: Sequence[Type] = (), limit: int | None = None) -> Program:
        """The program of an expression; raises CompileError. `returns`: the types it may evaluate to."""
        checked = self.check(text)
        if returns and not any(checked.output.same(t) for t in returns):
            raise CompileError(_wrong_return(returns, checked.output))
        try:
            step = room.for_depth(planner.plan, checked, self.catalogue)
        except PlanError as e:
            raise CompileError(f"program instantiation failed: {e}") from None
        return Program(text, checked, step, limit=limit)

    def check(self, text: str) -> Checked:
        """The checked tree of an expression; raises CompileError."""
        tree, issues = parser.parse(text, macros=macros.available(self.minor), optional_syntax=self.minor >= optionals.SINCE)
        if tree is None:
            raise _failure(issues)
        checked = room.for_depth(checker.check, tree, self.declarations, issues)
        if not issues and not self.mixed_literals:
            validators.validate(checked, issues)
        if issues:
            raise _failure(issues)
        return checked

    def with_variables(self, variables: Mapping[str, Type]) -> "Environment":
        """This environment with more variables."""
        declared = replace(self.declarations, variables={**self.declarations.variables, **variables})
        return replace(self, declarations=declared)

    def with_types(self, provider: "Types") -> "Environment":
        declared = replace(self.declarations, provider=provider)
        return replace(self, declarations=declared, catalogue=replace(self.catalogue, structs=provider))

    @property
    def types(self) -> "Types":
        provider = self.declarations.provider
        assert isinstance(provider, Types)
        return provider


def _failure(issues: Issues) -> CompileError:
    return CompileError(f"compilation failed: {issues.render()}", issues.found)


def _wrong_return(returns: Sequence[Type], actual: Type) -> str:
    if len(returns) == 1:
        return f"must evaluate to {returns[0]} but got {actual}"
    return f"must evaluate to one of [{' '.join(map(str, returns))}] but got {actual}"


class Types:
    """Several type providers as one: the first that knows a name answers."""

    __slots__ = ("fixed", "mutation")

    def __init__(self, fixed: FixedTypes, mutation_types: MutationTypes | None = None) -> None:
        self.fixed = fixed
        self.mutation = mutation_types

    def struct(self, name: str) -> Type | None:
        found = self.mutation.struct(name) if self.mutation is not None else None
        return found or self.fixed.struct(name) or messages.type_named(name)

    def field(self, struct_name: str, field_name: str) -> Type | None:
        if self.mutation is not None and self.mutation.struct(struct_name) is not None:
            return self.mutation.field(struct_name, field_name)
        return self.fixed.field(struct_name, field_name) or messages.field(struct_name, field_name)

    def maker(self, name: str) -> Callable[[dict[str, Value]], Value] | None:
        made = self.mutation.maker(name) if self.mutation is not None else None
        if made is None and self.fixed.struct(name) is not None:
            return lambda _: CelError(f"unknown type '{name}'")
        return made or messages.maker(name)

    def reader(self, name: str, field: str) -> Callable[[Value], Value] | None:
        return self.mutation.reader(name, field) if self.mutation is not None else None

    def with_fixed(self, extra: Mapping[str, Mapping[str, Type]]) -> "Types":
        return Types(self.fixed.with_structs(extra), self.mutation)


# ---------------------------------------------------------------- the environments of Kubernetes


def functions_at(minor: int, libraries: Sequence[Sequence[Function]] = LIBRARIES) -> dict[str, Function]:
    """All functions of a Kubernetes version, overloads of one name joined."""
    joined: dict[str, Function] = {}
    for library in libraries:
        for declared in library:
            present = declared.at(minor)
            if present is not None:
                joined[present.name] = joined[present.name].joined(present) if present.name in joined else present
    return joined


def _type_names(minor: int) -> dict[str, Type]:
    """Types that an expression may name as a value. Of Kubernetes' own types only these two can be named."""
    known = [*standard.TYPES]
    known += [types.OPTIONAL] if minor >= optionals.SINCE else []
    known += [ip.IP.cel_type, cidr.CIDR.cel_type] if minor >= ip.SINCE else []
    return {t.name: t for t in known}


@cache
def _base(minor: int, *, mutating: bool) -> Environment:
    libraries = (*LIBRARIES, jsonpatch.FUNCTIONS) if mutating else LIBRARIES
    functions = functions_at(minor, libraries)
    names = _type_names(minor)
    provider = Types(REQUEST_TYPES, MutationTypes() if mutating else None)
    variables = {name: types.type_of_type(t) for name, t in names.items()}
    return Environment(minor, Declarations(variables, functions, provider), Catalogue(functions, names, provider))


@cache
def admission(minor: int = NEWEST, *, mutating: bool = False, params: bool = True, authorizer_: bool = True) -> Environment:
    """The environment of an admission expression, without `variables`."""
    variables: dict[str, Type] = {
        "object": DYN,
        "oldObject": DYN,
        "namespaceObject": types.struct("kubernetes.Namespace"),
        "request": types.struct("kubernetes.AdmissionRequest"),
    }
    if params:
        variables["params"] = DYN
    if authorizer_:
        variables["authorizer"] = authorizer.AuthorizerValue.cel_type
        variables["authorizer.requestResource"] = authorizer.ResourceCheck.cel_type
    return _base(minor, mutating=mutating).with_variables(variables)


def mutation(minor: int = NEWEST) -> Environment:
    """Where a mutation's expression stands: everything there is, and `variables` without any in it yet."""
    return with_policy_variables(admission(minor, mutating=True), {})


VARIABLES_TYPE = "kubernetes.variables"


def with_policy_variables(env: Environment, known: Mapping[str, Type]) -> Environment:
    """The environment with a policy's variables of these types (as `variable_type` has them)."""
    extended = env.with_types(env.types.with_fixed({VARIABLES_TYPE: known}))
    return extended.with_variables({"variables": types.struct(VARIABLES_TYPE)})


def variable_type(t: Type) -> Type:
    """What other expressions may know of a variable's type: scalars, lists and maps; everything else is dyn."""
    if t.kind is Kind.LIST or t.kind is Kind.MAP:
        return Type(t.kind, t.name, (variable_type(p) for p in t.params))
    return DYN if t.kind in (Kind.OPAQUE, Kind.STRUCT, Kind.TYPE, Kind.ERROR, Kind.TYPE_PARAM) else t


@cache
def spec(minor: int = NEWEST) -> Environment:
    """CEL without Kubernetes' restrictions: literals may mix types. For cel-spec's own tests."""
    return replace(_base(minor, mutating=False), mixed_literals=True)
