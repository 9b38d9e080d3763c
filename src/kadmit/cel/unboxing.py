"""What becomes of a value whose Go value the engine takes, and makes a CEL value of again.

That happens to an optional where a path starts at it (`x`, `x.field`, `(c ? optional.of(a) : b)`), and to the fields of an Object
that is read. Plain data survives it. An optional gives what it holds, a type its name, an Object a map; what CEL has no value for
(a Quantity, an IP) becomes an error, which stays where the value was until somebody takes it out. A library's class says what
Go has inside of it by `go_native`, or by a method `native`.
"""

from kadmit.cel.types import Type
from kadmit.cel.values import CelError, Duration, MapValue, Optional, Timestamp, UInt, Value

_KEPT = frozenset({type(None), bool, int, UInt, float, str, bytes, list, dict, MapValue, Timestamp, Duration})


def native(value: Value) -> Value:
    """The value, once it has been a Go value; maybe an error."""
    while value.__class__ is Optional:
        value = value.value if value.present else None
    kind = value.__class__
    if kind in _KEPT:
        return value
    if kind is Type:
        return value.name
    if kind is CelError:
        return _unconvertible("*errors.errorString", value.message)
    inside = getattr(value, "go_native", None)
    if inside is not None:
        return _unconvertible(inside, value)
    convert = getattr(value, "native", None)
    return value if convert is None else convert()


def _unconvertible(go_type: str, text: object) -> CelError:
    return CelError(f"unsupported conversion to ref.Val: ({go_type}){text}")
