"""Which type fits where: assignability with type variables, after cel-go's rules.

A `Substitution` says what each type variable stands for so far. It is never changed half way: a question that
answers yes gives the new substitution, one that answers no gives None.
"""

from collections.abc import Iterable, Sequence

from kadmit.cel import types
from kadmit.cel.types import Kind, Type

_NULLABLE = frozenset({Kind.OPAQUE, Kind.STRUCT, Kind.ANY, Kind.DURATION, Kind.TIMESTAMP})
_COMPOSITE = frozenset({Kind.OPAQUE, Kind.LIST, Kind.MAP})
_NAMED = frozenset(
    {
        Kind.BOOL,
        Kind.BYTES,
        Kind.DOUBLE,
        Kind.INT,
        Kind.STRING,
        Kind.UINT,
        Kind.ANY,
        Kind.DURATION,
        Kind.TIMESTAMP,
        Kind.STRUCT,
    }
)

Substitution = dict[str, Type]  # name of a type variable -> what it stands for


def _wild(t: Type) -> bool:
    return t.kind is Kind.DYN or t.kind is Kind.ANY or t.kind is Kind.ERROR


def assign(known: Substitution, target: Type, value: Type) -> Substitution | None:
    """The substitution under which the two types agree, or None."""
    return assign_all(known, (target,), (value,))


def assign_all(known: Substitution, targets: Sequence[Type], values: Sequence[Type]) -> Substitution | None:
    if len(targets) != len(values):
        return None
    trial = dict(known)
    return trial if all(_agree(trial, t, v) for t, v in zip(targets, values, strict=True)) else None


def _agree(known: Substitution, a: Type, b: Type) -> bool:
    if b.kind is Kind.TYPE_PARAM:
        fits, bound = _bind(known, a, b)
        if fits or bound:
            return fits
    if a.kind is Kind.TYPE_PARAM:
        return _bind(known, b, a)[0]
    if _wild(a) or _wild(b):
        return True
    if a.kind is Kind.NULL:
        return b.kind in _NULLABLE or b.kind is Kind.NULL or b.nullable
    if b.kind is Kind.NULL:
        return a.kind in _NULLABLE or a.nullable
    if a.kind in _NAMED:
        return a.kind is b.kind and a.name == b.name
    if a.kind is Kind.TYPE:
        return b.kind is Kind.TYPE
    if a.kind in _COMPOSITE:
        return (
            a.kind is b.kind
            and a.name == b.name
            and len(a.params) == len(b.params)
            and all(_agree(known, x, y) for x, y in zip(a.params, b.params, strict=True))
        )
    return False


def _bind(known: Substitution, t: Type, variable: Type) -> tuple[bool, bool]:
    """Let a variable stand for a type. Gives (it can, it was bound before)."""
    if t.same(variable):
        return True, True
    current = known.get(variable.name)
    if current is not None:
        if t.same(current):
            return True, True
        if not _agree(known, t, current):
            return False, True
        general = more_general(t, current)
        if not _occurs(known, variable, general):
            known[variable.name] = general
        return True, True
    if _occurs(known, variable, t):
        return False, False
    known[variable.name] = t
    return True, False


def _occurs(known: Substitution, variable: Type, within: Type) -> bool:
    """Whether a variable would stand for something that holds it."""
    if variable.same(within):
        return True
    if within.kind is Kind.TYPE_PARAM:
        found = known.get(within.name)
        return found is not None and _occurs(known, variable, found)
    return any(_occurs(known, variable, p) for p in within.params)


def more_general(a: Type, b: Type) -> Type:
    return a if _less_specific_or_equal(a, b) else b


def _less_specific_or_equal(a: Type, b: Type) -> bool:
    if a.is_dyn or a.kind is Kind.TYPE_PARAM:
        return True
    if b.is_dyn or b.kind is Kind.TYPE_PARAM or a.kind is not b.kind:
        return False
    if a.kind is Kind.TYPE:
        return True
    if a.kind in _COMPOSITE:
        return (
            a.name == b.name
            and len(a.params) == len(b.params)
            and all(_less_specific_or_equal(x, y) for x, y in zip(a.params, b.params, strict=True))
        )
    return a.same(b)


def resolve(known: Substitution, t: Type, *, free_as_dyn: bool = False) -> Type:
    """A type with its variables replaced; variables that stand for nothing yet stay, or become dyn."""
    if t.kind is Kind.TYPE_PARAM:
        found = known.get(t.name)
        if found is not None:
            return resolve(known, found, free_as_dyn=free_as_dyn)
        return types.DYN if free_as_dyn else t
    if not t.params:
        return t
    return Type(t.kind, t.name, (resolve(known, p, free_as_dyn=free_as_dyn) for p in t.params), traits=t.traits)


def variables_in(all_types: Iterable[Type]) -> dict[str, None]:
    """Names of the type parameters that a signature mentions, in order."""
    names: dict[str, None] = {}
    for t in all_types:
        if t.kind is Kind.TYPE_PARAM:
            names[t.name] = None
        names |= variables_in(t.params)
    return names
