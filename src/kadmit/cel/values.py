"""Run-time values: what CEL has and Python lacks, and the few questions every part asks of a value.

| CEL | Python |
|---|---|
| null, bool, int, double, string, bytes | None, bool, int, float, str, bytes |
| uint | UInt (an int, told apart by its class) |
| list | list, never changed once made |
| map | dict where all keys are strings (JSON objects as they are), else MapValue |
| timestamp, duration, optional, type | Timestamp, Duration, Optional, types.Type |
| Object{…}, JSONPatch{…} | ObjectValue, JSONPatchValue (library.mutation) |
| opaque types (Quantity, IP, …) | a class of its library with a `cel_type` |
| error | CelError: a value, not an exception, because && and || look at it and may drop it |

NB: bool is an int and UInt is an int in Python: always ask `v.__class__ is int`, never isinstance(v, int).
"""

from collections.abc import Iterator
from typing import Any, Protocol, TypeAlias

from kadmit.cel import types
from kadmit.cel.types import Type

INT_MIN, INT_MAX = -(2**63), 2**63 - 1
UINT_MAX = 2**64 - 1

# Any CEL value. Python cannot say more: a CEL value is dynamic by nature, and the evaluators look at its class.
Value: TypeAlias = Any


class UInt(int):
    """An unsigned 64-bit number."""

    __slots__ = ()

    def __repr__(self) -> str:
        return f"{int(self)}u"


class Strings(list[str]):
    """A list that a function of Go made of its own strings: like any other within CEL, but of another Go type outside.

    NB: it says that it is a list, so that only who asks for its type() can tell.
    """

    __slots__ = ()
    __class__ = list  # type: ignore[assignment]


class CelError:
    """A run-time error as a value. `message` is the text users see."""

    __slots__ = ("message",)

    def __init__(self, message: str) -> None:
        self.message = message

    def __repr__(self) -> str:
        return f"CelError({self.message!r})"


class Panic(Exception):
    """Kubernetes' engine breaks here: whatever stands around, the evaluation ends with `internal error: ` and this text."""


class Duration:
    """A span of time in nanoseconds (a signed 64-bit number)."""

    __slots__ = ("nanos",)

    def __init__(self, nanos: int) -> None:
        self.nanos = nanos

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Duration) and self.nanos == other.nanos

    def __hash__(self) -> int:
        return hash(("duration", self.nanos))

    def __repr__(self) -> str:
        return f"Duration({self.nanos})"


class Timestamp:
    """A moment: nanoseconds since 1970 in UTC, and the offset (in seconds) that its text is written with."""

    __slots__ = ("nanos", "offset")

    def __init__(self, nanos: int, offset: int = 0) -> None:
        self.nanos = nanos
        self.offset = offset

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Timestamp) and self.nanos == other.nanos

    def __hash__(self) -> int:
        return hash(("timestamp", self.nanos))

    def __repr__(self) -> str:
        return f"Timestamp({self.nanos}, {self.offset})"


class Optional:
    """optional.of(value), or optional.none() which is the one instance NONE."""

    __slots__ = ("present", "value")

    def __init__(self, value: Value, *, present: bool = True) -> None:
        self.value = value
        self.present = present

    def __repr__(self) -> str:
        return f"optional.of({self.value!r})" if self.present else "optional.none()"


NONE = Optional(None, present=False)


class MapValue:
    """A map with keys that are not all strings. Keys of different types are different keys (1, 1u, 1.0, true)."""

    __slots__ = ("entries",)

    def __init__(self, entries: dict[object, tuple[Value, Value]]) -> None:
        self.entries = entries  # key_of(key) -> (key, value)

    def __iter__(self) -> Iterator[Value]:
        return (key for key, _ in self.entries.values())

    def __len__(self) -> int:
        return len(self.entries)

    def __repr__(self) -> str:
        return f"MapValue({dict(self.entries.values())!r})"


def key_of(key: Value) -> object:
    """A hashable stand-in that keeps Python from merging 1, True, 1.0 and UInt(1); a list or map is only itself."""
    kind = key.__class__
    if kind is str:
        return key
    return (kind, id(key)) if kind.__hash__ is None or kind is MapValue else (kind, key)


# NB: a Go map cannot have every value as a key; a library's class that it refuses says so by `go_hashable = False`.
def unhashable(value: Value) -> bool:
    """Whether Kubernetes' engine breaks on this value as the key of a map or the member of a set."""
    return value.__class__ is bytes or not getattr(value, "go_hashable", True)


def map_from(pairs: list[tuple[Value, Value]]) -> Value:
    """The map of these pairs, last one wins: a dict if every key is a string."""
    if all(k.__class__ is str for k, _ in pairs):
        return dict(pairs)
    return MapValue({key_of(k): (k, v) for k, v in pairs})


class Opaque(Protocol):
    """A library's own value. The seam that lets a library bring a type without the engine knowing it."""

    cel_type: Type

    def equals(self, other: Value) -> Value:
        """CEL's ==: a bool or a CelError."""


_TYPE_OF: dict[type, Type] = {
    type(None): types.NULL,
    bool: types.BOOL,
    int: types.INT,
    UInt: types.UINT,
    float: types.DOUBLE,
    str: types.STRING,
    bytes: types.BYTES,
    list: types.LIST,
    dict: types.MAP,
    MapValue: types.MAP,
    Timestamp: types.TIMESTAMP,
    Duration: types.DURATION,
    Optional: types.OPTIONAL,
    Type: types.TYPE,
    CelError: types.ERROR,
}

_GO_NAMES: dict[type, str] = {
    type(None): "types.Null",
    bool: "types.Bool",
    int: "types.Int",
    UInt: "types.Uint",
    float: "types.Double",
    str: "types.String",
    bytes: "types.Bytes",
    Timestamp: "types.Timestamp",
    Duration: "types.Duration",
    Optional: "*types.Optional",
    Type: "*types.Type",
}


def type_of(value: Value) -> Type:
    """The run-time type; lists and maps are list(dyn) and map(dyn, dyn)."""
    found = _TYPE_OF.get(value.__class__)
    if found is not None:
        return found
    cel_type: Type = value.cel_type
    return cel_type


def go_name(value: Value) -> str:
    """The name under which Kubernetes' texts print a value's implementation (`got 'types.Null'`)."""
    name = _GO_NAMES.get(value.__class__)
    return name if name is not None else str(getattr(value, "go_name", type_of(value).name))
