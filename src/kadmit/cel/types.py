"""CEL's types: what the checker reasons with, what `type(x)` gives, what error texts name.

A type is a kind, a run-time name and parameters. Traits are what a kind's values can do at run time; they decide
between the three "no such overload" texts.
"""

import enum
from collections.abc import Iterable


class Kind(enum.Enum):
    DYN = "dyn"
    ANY = "any"
    BOOL = "bool"
    BYTES = "bytes"
    DOUBLE = "double"
    DURATION = "duration"
    ERROR = "error"
    INT = "int"
    LIST = "list"
    MAP = "map"
    NULL = "null"
    OPAQUE = "opaque"
    STRING = "string"
    STRUCT = "struct"
    TIMESTAMP = "timestamp"
    TYPE_PARAM = "type_param"
    TYPE = "type"
    UINT = "uint"

    # NB: identity hash: kinds are looked up in hot dicts, and Enum's own __hash__ hashes the name each time.
    __hash__ = object.__hash__


class Trait(enum.IntFlag):
    NONE = 0
    ADDER = enum.auto()
    COMPARER = enum.auto()
    CONTAINER = enum.auto()
    DIVIDER = enum.auto()
    FIELD_TESTER = enum.auto()
    INDEXER = enum.auto()
    ITERABLE = enum.auto()
    MATCHER = enum.auto()
    MODDER = enum.auto()
    MULTIPLIER = enum.auto()
    NEGATOR = enum.auto()
    RECEIVER = enum.auto()
    SIZER = enum.auto()
    SUBTRACTOR = enum.auto()


_NUMBER = Trait.ADDER | Trait.COMPARER | Trait.DIVIDER | Trait.MULTIPLIER | Trait.SUBTRACTOR
_TRAITS: dict[Kind, Trait] = {
    Kind.ANY: Trait.FIELD_TESTER | Trait.INDEXER,
    Kind.BOOL: Trait.COMPARER | Trait.NEGATOR,
    Kind.BYTES: Trait.ADDER | Trait.COMPARER | Trait.SIZER,
    Kind.DOUBLE: _NUMBER | Trait.NEGATOR,
    Kind.DURATION: Trait.ADDER | Trait.COMPARER | Trait.NEGATOR | Trait.RECEIVER | Trait.SUBTRACTOR,
    Kind.INT: _NUMBER | Trait.MODDER | Trait.NEGATOR,
    Kind.LIST: Trait.ADDER | Trait.CONTAINER | Trait.INDEXER | Trait.ITERABLE | Trait.SIZER,
    Kind.MAP: Trait.CONTAINER | Trait.INDEXER | Trait.ITERABLE | Trait.SIZER,
    Kind.STRING: Trait.ADDER | Trait.COMPARER | Trait.MATCHER | Trait.RECEIVER | Trait.SIZER,
    Kind.STRUCT: Trait.FIELD_TESTER | Trait.INDEXER,
    Kind.TIMESTAMP: Trait.ADDER | Trait.COMPARER | Trait.RECEIVER | Trait.SUBTRACTOR,
    Kind.UINT: _NUMBER | Trait.MODDER,
}

_FORMATTED = {
    Kind.ANY: "any",
    Kind.DURATION: "duration",
    Kind.ERROR: "!error!",
    Kind.NULL: "null",
    Kind.TIMESTAMP: "timestamp",
}


class Type:
    """One type. Compare with `same`, not with ==, where parameters matter; == compares run-time names, as CEL does."""

    __slots__ = ("kind", "name", "nullable", "params", "traits")

    def __init__(
        self, kind: Kind, name: str, params: Iterable["Type"] = (), *, traits: Trait | None = None, nullable: bool = False
    ) -> None:
        self.kind = kind
        self.name = name
        self.nullable = nullable  # google.protobuf.Int64Value and friends: the value or null
        self.params = tuple(params)
        self.traits = _TRAITS.get(kind, Trait.NONE) if traits is None else traits

    def same(self, other: "Type") -> bool:
        """Same kind, name and parameters all the way down."""
        if self is other:
            return True
        return (
            self.kind is other.kind
            and self.name == other.name
            and len(self.params) == len(other.params)
            and all(a.same(b) for a, b in zip(self.params, other.params, strict=True))
        )

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Type) and self.name == other.name

    def __hash__(self) -> int:
        return hash(self.name)

    def __str__(self) -> str:
        """As `must evaluate to …` and `kadmit eval` print it."""
        name = f"<{self.name}>" if self.kind is Kind.TYPE_PARAM else self._declared
        return f"{name}({', '.join(map(str, self.params))})" if self.params else name

    __repr__ = __str__

    def formatted(self) -> str:
        """As the checker's own messages print it: `timestamp`, `null`, `!error!`, bare type parameters."""
        if self.kind in _FORMATTED:
            return _FORMATTED[self.kind]
        return f"{self.name}({', '.join(p.formatted() for p in self.params)})" if self.params else self._declared

    @property
    def _declared(self) -> str:
        return f"wrapper({self.name})" if self.nullable else self.name

    @property
    def is_dyn(self) -> bool:
        return self.kind is Kind.DYN or self.kind is Kind.ANY


ANY = Type(Kind.ANY, "google.protobuf.Any")
BOOL = Type(Kind.BOOL, "bool")
BYTES = Type(Kind.BYTES, "bytes")
DOUBLE = Type(Kind.DOUBLE, "double")
DURATION = Type(Kind.DURATION, "google.protobuf.Duration")
DYN = Type(Kind.DYN, "dyn")
ERROR = Type(Kind.ERROR, "error")
INT = Type(Kind.INT, "int")
NULL = Type(Kind.NULL, "null_type")
STRING = Type(Kind.STRING, "string")
TIMESTAMP = Type(Kind.TIMESTAMP, "google.protobuf.Timestamp")
TYPE = Type(Kind.TYPE, "type")
UINT = Type(Kind.UINT, "uint")


def list_of(element: Type) -> Type:
    return Type(Kind.LIST, "list", (element,))


def map_of(key: Type, value: Type) -> Type:
    return Type(Kind.MAP, "map", (key, value))


def optional_of(value: Type) -> Type:
    return Type(Kind.OPAQUE, "optional_type", (value,))


def nameless(t: Type) -> bool:
    """Whether it is, or has in it, the type of what does not exist: a field that JSONPatch does not have."""
    return not t.name or (bool(t.params) and any(map(nameless, t.params)))


def type_of_type(param: Type) -> Type:
    return Type(Kind.TYPE, "type", (param,))


def opaque(name: str, *params: Type) -> Type:
    """A type whose values only functions can look into, such as kubernetes.Quantity."""
    return Type(Kind.OPAQUE, name, params)


def struct(name: str) -> Type:
    return Type(Kind.STRUCT, name)


def nullable(t: Type) -> Type:
    return Type(t.kind, t.name, t.params, nullable=True)


def param(name: str) -> Type:
    return Type(Kind.TYPE_PARAM, name)


LIST = list_of(DYN)
MAP = map_of(DYN, DYN)
OPTIONAL = opaque("optional_type")  # as a run-time type, which does not tell what it holds
