"""Kubernetes' dialect of CEL: its libraries, which of their functions and types a version knows, and what fields a type has."""

from collections.abc import Callable, Mapping, Sequence

from kadmit.cel import types
from kadmit.cel.checker import Declarations
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
from kadmit.cel.planner import Catalogue
from kadmit.cel.request_types import REQUEST_TYPES, FixedTypes
from kadmit.cel.types import Type
from kadmit.cel.values import CelError, Value

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


def at(minor: int, *, mutating: bool) -> tuple[Declarations, Catalogue]:
    """What names mean to the checker, and to the planner."""
    libraries = (*LIBRARIES, jsonpatch.FUNCTIONS) if mutating else LIBRARIES
    functions = functions_at(minor, libraries)
    names = _type_names(minor)
    provider = Types(REQUEST_TYPES, MutationTypes() if mutating else None)
    variables = {name: types.type_of_type(t) for name, t in names.items()}
    return Declarations(variables, functions, provider), Catalogue(functions, names, provider)


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

    def reader(self, name: str, field: str) -> Callable[..., Value] | None:
        return self.mutation.reader(name, field) if self.mutation is not None else None

    def with_fixed(self, extra: Mapping[str, Mapping[str, Type]]) -> "Types":
        return Types(self.fixed.with_structs(extra), self.mutation)
