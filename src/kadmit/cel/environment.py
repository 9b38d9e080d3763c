"""Which libraries, variables and types an expression may use, by Kubernetes version and by where it stands; compile().

An environment is made once and shared. `compile` does all the work there is to do before a request comes: parse,
check, validate, plan, and generate the fast function. All that this takes, libraries included, is loaded with the first
environment that is asked for: a server that starts without policies needs none of it.
"""

from collections.abc import Mapping, Sequence
from functools import cache
from typing import TYPE_CHECKING, cast

from msgspec import Struct
from msgspec.structs import replace

from kadmit.cel import types
from kadmit.cel.library import authorizer
from kadmit.cel.source import CompileError, Issues
from kadmit.cel.types import DYN, Kind, Type

if TYPE_CHECKING:
    from kadmit.cel.checker import Checked, Declarations
    from kadmit.cel.dialect import Types
    from kadmit.cel.planner import Catalogue
    from kadmit.cel.program import Program

NEWEST = 36
OLDEST = 30


class Environment(Struct, frozen=True):
    """What names mean, and how to compile."""

    minor: int
    declarations: "Declarations"
    catalogue: "Catalogue"
    mixed_literals: bool = False

    def compile(self, text: str, *, returns: Sequence[Type] = (), limit: int | None = None) -> "Program":
        """The program of an expression; raises CompileError. `returns`: the types it may evaluate to."""
        from kadmit.cel import planner, room
        from kadmit.cel.program import Program

        checked = self.check(text)
        if returns and not any(checked.output.same(t) for t in returns):
            raise CompileError(_wrong_return(returns, checked.output))
        if any(map(types.nameless, checked.types.values())):
            raise CompileError("unexpected compilation error: missing type conversion to proto: ")
        try:
            step = room.for_depth(planner.plan, checked, self.catalogue)
        except planner.PlanError as e:
            raise CompileError(f"program instantiation failed: {e}") from None
        return Program(text, checked, step, limit=limit)

    def check(self, text: str) -> "Checked":
        """The checked tree of an expression; raises CompileError."""
        from kadmit.cel import checker, macros, parser, room, validators
        from kadmit.cel.library import optionals

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
        return cast("Types", self.declarations.provider)


def _failure(issues: Issues) -> CompileError:
    return CompileError(f"compilation failed: {issues.render()}", issues.found)


def _wrong_return(returns: Sequence[Type], actual: Type) -> str:
    if len(returns) == 1:
        return f"must evaluate to {returns[0]} but got {actual}"
    return f"must evaluate to one of [{' '.join(map(str, returns))}] but got {actual}"


# ---------------------------------------------------------------- the environments of Kubernetes


@cache
def _base(minor: int, *, mutating: bool) -> Environment:
    from kadmit.cel import dialect

    return Environment(minor, *dialect.at(minor, mutating=mutating))


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
