"""What operators do to values: checked arithmetic, equality, ordering, membership, indexing.

Every function takes values (never errors) and gives a value or a CelError. NB: Python would merge True, 1 and 1.0,
let numbers grow without end and slice strings by negative indexes; nothing here may.
"""

import math
from collections.abc import Callable

from kadmit.cel import gotext, gotime, work
from kadmit.cel.types import Type
from kadmit.cel.values import (
    INT_MAX,
    INT_MIN,
    UINT_MAX,
    CelError,
    Duration,
    MapValue,
    Optional,
    Timestamp,
    UInt,
    Value,
    key_of,
    type_of,
)

NO_OVERLOAD = CelError("no such overload")
INT_OVERFLOW = CelError("integer overflow")
UINT_OVERFLOW = CelError("unsigned integer overflow")
NAN_ORDER = CelError("NaN values cannot be ordered")

MAX_LIST = 1_000_000  # as many elements as any loop over them could afford
LIST_TOO_LONG = CelError(f"list of more than {MAX_LIST} elements")

_YEAR_ONE = -62135596800 * 1_000_000_000  # 0001-01-01T00:00:00Z, Go's zero time


# ---------------------------------------------------------------- equality


def equal(a: Value, b: Value) -> Value:
    """CEL's ==: numbers by value across their types, everything else only within its type."""
    kind = a.__class__
    if kind is str:
        if len(a) > work.SHORT:
            work.spend(len(a) >> 6)  # NB: comparing texts is much faster than making them
        return b.__class__ is str and a == b
    if a is None or b is None:
        return a is b
    if kind is int or kind is float or kind is UInt:
        return _equal_numbers(a, b)
    if kind is list:
        return _equal_lists(a, b)
    if kind is dict or kind is MapValue:
        return _equal_maps(a, b)
    if kind is Optional:
        return _equal_optionals(a, b)
    if kind is Type:
        return b.__class__ is Type and a.name == b.name
    if kind in _PLAIN:
        return b.__class__ is kind and a == b
    # NB: an error may lie in an optional or an Object (`unboxing`); it is equal to nothing, and says so.
    if kind is CelError:
        return a
    return b if b.__class__ is CelError else a.equals(b)


_PLAIN = frozenset({bool, bytes, Timestamp, Duration})


def _equal_numbers(a: Value, b: Value) -> bool:
    kind = b.__class__
    if kind is not int and kind is not float and kind is not UInt:
        return False
    if a.__class__ is not float and kind is not float:
        return int(a) == int(b)
    if a != a or b != b:
        return False
    return compare_numbers(a, b) == 0


def _equal_lists(a: list[Value], b: Value) -> Value:
    if b.__class__ is not list or len(a) != len(b):
        return False
    work.spend_visit(len(a))
    # NB: an element comparison that fails (an error) does not make lists unequal.
    return all(equal(x, y) is not False for x, y in zip(a, b, strict=True))


def _equal_maps(a: Value, b: Value) -> Value:
    if (b.__class__ is not dict and b.__class__ is not MapValue) or len(a) != len(b):
        return False
    work.spend_visit(len(a))
    for key, value in items(a):
        other = find(b, key)
        if other is MISSING or equal(value, other) is False:
            return False
    return True


def _equal_optionals(a: Optional, b: Value) -> Value:
    if b.__class__ is not Optional:
        return False
    if not a.present or not b.present:
        return a.present == b.present
    return equal(a.value, b.value)


# ---------------------------------------------------------------- ordering


def compare_numbers(a: Value, b: Value) -> int:
    """-1, 0 or 1 for two numbers, neither NaN. Against a double, an integer is first rounded to a double."""
    if a.__class__ is float:
        if b.__class__ is not float:
            return _compare_double(a, b)
    elif b.__class__ is float:
        return -_compare_double(b, a)
    return int(a > b) - int(a < b)


def _compare_double(d: float, n: int) -> int:
    low, high = (0, float(UINT_MAX)) if n.__class__ is UInt else (float(INT_MIN), float(INT_MAX))
    if d < low:
        return -1
    if d > high:
        return 1
    other = float(n)
    return (d > other) - (d < other)


def compare(a: Value, b: Value) -> Value:
    """-1, 0 or 1, or the error of values that have no order."""
    kind = a.__class__
    if kind is int or kind is UInt or kind is float:
        return _compare_checked(a, b)
    if kind is not b.__class__:
        return NO_OVERLOAD
    if kind is str:
        # NB: Go compares UTF-8 bytes; Python's code point order is the same, except for lone surrogates, which cannot occur.
        return (a > b) - (a < b)
    if kind is bool or kind is bytes:
        return (a > b) - (a < b)
    if kind is Timestamp or kind is Duration:
        return (a.nanos > b.nanos) - (a.nanos < b.nanos)
    return NO_OVERLOAD


def _compare_checked(a: Value, b: Value) -> Value:
    kind = b.__class__
    if a.__class__ is float and a != a:
        return NAN_ORDER
    if kind is not int and kind is not UInt and kind is not float:
        return NO_OVERLOAD
    if kind is float and b != b:
        return NAN_ORDER
    return compare_numbers(a, b)


def less(a: Value, b: Value) -> Value:
    order = compare(a, b)
    return order if order.__class__ is CelError else order < 0


def less_equal(a: Value, b: Value) -> Value:
    order = compare(a, b)
    return order if order.__class__ is CelError else order <= 0


def greater(a: Value, b: Value) -> Value:
    order = compare(a, b)
    return order if order.__class__ is CelError else order > 0


def greater_equal(a: Value, b: Value) -> Value:
    order = compare(a, b)
    return order if order.__class__ is CelError else order >= 0


# ---------------------------------------------------------------- arithmetic


def _int(n: int) -> Value:
    return n if INT_MIN <= n <= INT_MAX else INT_OVERFLOW


def _uint(n: int) -> Value:
    return UInt(n) if 0 <= n <= UINT_MAX else UINT_OVERFLOW


def add(a: Value, b: Value) -> Value:
    kind = a.__class__
    if kind is Duration:
        return _add_to_duration(a, b)
    if kind is Timestamp:
        return gotime.add_to_timestamp(a, b) if b.__class__ is Duration else NO_OVERLOAD
    if kind is not b.__class__:
        return NO_OVERLOAD
    if kind is int:
        return _int(a + b)
    if kind is UInt:
        return _uint(int(a) + int(b))
    if kind is list:
        # NB: lists are joined by copying, and + costs 1 whatever their length: doubling must end somewhere.
        length = len(a) + len(b)
        if length > MAX_LIST:
            return LIST_TOO_LONG
        work.spend(length >> 1)
        return a + b
    if kind is str or kind is bytes:
        work.spend_text(len(a) + len(b))
        return a + b
    if kind is float:
        return a + b
    return NO_OVERLOAD


def _add_to_duration(a: Duration, b: Value) -> Value:
    if b.__class__ is Duration:
        return gotime.add_durations(a, b)
    if b.__class__ is Timestamp:
        return gotime.add_to_timestamp(b, a)
    return NO_OVERLOAD


def subtract(a: Value, b: Value) -> Value:
    kind = a.__class__
    if kind is Timestamp and b.__class__ is Duration:
        return gotime.subtract_from_timestamp(a, b)
    if kind is not b.__class__:
        return NO_OVERLOAD
    if kind is int:
        return _int(a - b)
    if kind is UInt:
        return _uint(int(a) - int(b))
    if kind is float:
        return a - b
    if kind is Duration:
        return gotime.subtract_durations(a, b)
    return gotime.between_timestamps(a, b) if kind is Timestamp else NO_OVERLOAD


def multiply(a: Value, b: Value) -> Value:
    kind = a.__class__
    if kind is not b.__class__:
        return NO_OVERLOAD
    if kind is int:
        return _int(a * b)
    if kind is UInt:
        return _uint(int(a) * int(b))
    return a * b if kind is float else NO_OVERLOAD


def divide(a: Value, b: Value) -> Value:
    kind = a.__class__
    if kind is not b.__class__:
        return NO_OVERLOAD
    if kind is float:
        return divide_doubles(a, b)
    if kind is not int and kind is not UInt:
        return NO_OVERLOAD
    if b == 0:
        return CelError("division by zero")
    quotient = abs(int(a)) // abs(int(b))
    if kind is UInt:
        return UInt(quotient)
    return _int(quotient if (a < 0) == (b < 0) else -quotient)


def divide_doubles(a: float, b: float) -> float:
    """IEEE division: by zero it gives an infinity or NaN, where Python would raise."""
    if b != 0:
        return a / b
    if a == 0 or a != a:
        return math.nan
    return math.copysign(math.inf, a) * math.copysign(1, b)


def modulo(a: Value, b: Value) -> Value:
    kind = a.__class__
    if kind is not b.__class__ or (kind is not int and kind is not UInt):
        return NO_OVERLOAD
    if b == 0:
        return CelError("modulus by zero")
    if kind is UInt:
        return UInt(int(a) % int(b))
    if a == INT_MIN and b == -1:
        return INT_OVERFLOW
    remainder = abs(a) % abs(b)
    return -remainder if a < 0 else remainder


def negate(a: Value) -> Value:
    kind = a.__class__
    if kind is int:
        return _int(-a)
    if kind is float:
        return -a
    if kind is Duration:
        return gotime.negate_duration(a)
    return NO_OVERLOAD


# ---------------------------------------------------------------- collections


class _Missing:
    __slots__ = ()


MISSING = _Missing()


def items(value: Value) -> list[tuple[Value, Value]]:
    """The entries of a map, either form."""
    return list(value.items()) if value.__class__ is dict else list(value.entries.values())


def find(mapping: Value, key: Value) -> Value:
    """A map's value at a key, or MISSING. A number finds an equal key of another number type."""
    if mapping.__class__ is dict:
        return mapping.get(key, MISSING) if key.__class__ is str else MISSING
    entries = mapping.entries
    found = entries.get(key_of(key))
    if found is None:
        found = _find_number(entries, key)
    return MISSING if found is None else found[1]


def _find_number(entries: dict[object, tuple[Value, Value]], key: Value) -> tuple[Value, Value] | None:
    kind = key.__class__
    if kind is float:
        whole, natural = double_to_int(key), double_to_uint(key)
        found = None if whole is None else entries.get((int, whole))
        return found if found is not None or natural is None else entries.get((UInt, natural))
    if kind is int:
        return entries.get((UInt, key)) if key >= 0 else None
    if kind is UInt:
        return entries.get((int, int(key))) if key <= INT_MAX else None
    return None


def double_to_int(d: float) -> int | None:
    """The int that a double is, if it is one. NB: the smallest int does not count."""
    return int(d) if float(INT_MIN) < d < float(INT_MAX) and d == int(d) else None


def double_to_uint(d: float) -> UInt | None:
    return UInt(int(d)) if 0 <= d < float(UINT_MAX) and d == int(d) else None


def list_index(index: Value) -> "int | CelError":
    """The position that a value names in a list: an int, or a number that is one."""
    kind = index.__class__
    if kind is int:
        return int(index)
    if kind is UInt and index <= INT_MAX:
        return int(index)
    whole = double_to_int(index) if kind is float else None
    if whole is not None:
        return whole
    if kind is UInt or kind is float:
        return CelError(f"unsupported index value {gotext.display(index)} in list")
    return CelError(f"unsupported index type '{type_of(index)}' in list")


def contains(element: Value, container: Value) -> Value:
    """The `in` operator."""
    kind = container.__class__
    if kind is list:
        if element.__class__ is str:
            work.spend(len(container) >> 3)
            return element in container  # NB: no other value equals a string in Python either
        work.spend(len(container))
        return any(equal(element, other) is True for other in container)
    if kind is dict or kind is MapValue:
        return find(container, element) is not MISSING
    finder = getattr(container, "find_key", None)
    if finder is not None:
        return finder(element) is not MISSING
    return NO_OVERLOAD


def size(value: Value) -> int:
    """How many parts a sized value has; 1 for everything else, as the cost model wants it."""
    kind = value.__class__
    if kind in _SIZED:
        return len(value)
    if kind is Optional:
        return size(value.value) if value.present else 1
    sizer: Callable[[], int] | None = getattr(value, "size", None)
    return sizer() if sizer is not None else 1


_SIZED = frozenset({str, bytes, list, dict, MapValue})


def is_zero(value: Value) -> bool:
    """Whether optional.ofNonZeroValue would drop it."""
    kind = value.__class__
    if value is None:
        return True
    if kind in _SIZED:
        return len(value) == 0
    if kind in (bool, int, UInt, float):
        return not value
    if kind is Duration:
        return bool(value.nanos == 0)
    if kind is Timestamp:
        return bool(value.nanos == _YEAR_ONE)
    zero: Callable[[], bool] | None = getattr(value, "is_zero", None)
    return zero() if zero is not None else False
