"""One record per function: what it is called, what it takes and gives, its code, its cost, since when, and examples.

A library is a tuple of `Function`. Two libraries may declare the same name (`indexOf` of lists and of strings); the
environment joins their overloads in loading order. Examples are documentation and tests at once.

How a call finds its code, and which error text it gives otherwise:
* the function has an `impl` of its own (operators, `size`, …): it is called, provided that the first argument has
  `trait`; without the trait the text is `no such overload: NAME`. The code itself answers with the bare
  `no such overload` for what it cannot do.
* else the first overload whose argument types fit the values is called; none gives `no such overload: NAME(types)`.
"""

from collections.abc import Callable, Sequence
from typing import TypeAlias

from msgspec import Struct
from msgspec.structs import replace

from kadmit.cel.types import Trait, Type
from kadmit.cel.values import Value

# Takes values, never errors (where `strict`); gives a value or a CelError; raises nothing.
Impl: TypeAlias = Callable[..., Value]
# (overload id or "" if several fit, arguments, result) -> cost, or None to leave it to the default.
Cost: TypeAlias = Callable[[str, Sequence[Value], Value], "int | None"]

ALWAYS = 23  # CEL arrived in Kubernetes 1.23; "since 23" means that every version has it
FOREVER = 10_000


class Example(Struct, frozen=True):
    """An expression and the JSON form of its value (as `kadmit eval -o json` prints it), or its error text."""

    expr: str
    value: object = None
    error: str | None = None


class Overload(Struct, frozen=True):
    """One signature. A member's receiver is its first argument."""

    id: str
    args: tuple[Type, ...]
    result: Type
    impl: Impl | None = None
    member: bool = False
    since: int = ALWAYS  # minor version of Kubernetes from which a new policy may use it
    until: int = FOREVER  # minor version in which it is gone again
    strict: bool = True  # False: the code is called with error arguments too
    eager: bool = True  # False: arguments after one that fails are not evaluated (it shows in the cost)


class Function(Struct, frozen=True):
    """All overloads of one name, with what they share."""

    name: str
    overloads: tuple[Overload, ...]
    impl: Impl | None = None
    trait: Trait = Trait.NONE
    cost: Cost | None = None
    doc: str = ""
    examples: tuple[Example, ...] = ()

    def joined(self, other: "Function") -> "Function":
        """This function with another library's overloads after its own; a repeated id keeps the newer code."""
        newer = {o.id: o for o in other.overloads}
        kept = tuple(newer.pop(o.id, o) for o in self.overloads)
        return replace(
            self,
            overloads=kept + tuple(newer.values()),
            impl=other.impl or self.impl,
            trait=other.trait or self.trait,
            cost=other.cost or self.cost,
            doc="\n".join(filter(None, (self.doc, other.doc))),
            examples=self.examples + other.examples,
        )

    def at(self, minor: int) -> "Function | None":
        """What of it exists in Kubernetes 1.`minor`."""
        present = tuple(o for o in self.overloads if o.since <= minor < o.until)
        return replace(self, overloads=present) if present else None


def function(name: str, *overloads: Overload, **shared: object) -> Function:
    """Function(name, overloads, …), reading as a sentence in libraries."""
    return Function(name, overloads, **shared)  # type: ignore[arg-type]  # the dataclass names and types them


def member(
    overload_id: str, receiver: Type, args: Sequence[Type], result: Type, impl: Impl | None = None, **options: int
) -> Overload:
    """An overload called as receiver.name(args)."""
    return Overload(overload_id, (receiver, *args), result, impl, member=True, **options)  # type: ignore[arg-type]


def plain(overload_id: str, args: Sequence[Type], result: Type, impl: Impl | None = None, **options: int) -> Overload:
    """An overload called as name(args)."""
    return Overload(overload_id, tuple(args), result, impl, **options)  # type: ignore[arg-type]
