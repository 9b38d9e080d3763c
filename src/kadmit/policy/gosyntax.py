"""CEL values in Go's own syntax, as `%#v` prints them: refusals of apply configurations quote what fits no schema in it.

A value is printed as the Go type that it becomes outside of CEL, but a member of a list or map as the CEL type that it still is.
NB: Go prints what is behind a pointer as an address, which is another one each time.
"""

from kadmit.cel import gotext, gotime, operators
from kadmit.cel.values import Duration, MapValue, Timestamp, UInt, Value, go_name

_MONTHS = (
    "January", "February", "March", "April", "May", "June",
    "July", "August", "September", "October", "November", "December",
)  # fmt: skip


def native(value: Value) -> str:
    """A value outside of CEL."""
    match value:
        case bytes():
            return _octets("[]uint8", value)
        case Duration():
            return str(value.nanos)
        case list():
            return "[]ref.Val{" + ", ".join(map(_member, value)) + "}"
        case dict() | MapValue():
            return "map[ref.Val]ref.Val{" + ", ".join(f"{_member(k)}:{_member(v)}" for k, v in _in_order(value)) + "}"
    return _scalar(value) or _other(value)


def native_name(value: Value) -> str:
    """The Go type of a value of a library."""
    return str(getattr(value, "native_name", go_name(value)))


def pointer(name: str) -> str:
    return f"({name})(0xc000000000)"


def _member(value: Value) -> str:
    """A value inside a list or map that an expression made."""
    match value:
        case bytes():
            return _octets("types.Bytes", value)
        case Duration():
            return f"types.Duration{{Duration:{value.nanos}}}"
        case list() | dict() | MapValue():
            return pointer(go_name(value))
    return _scalar(value) or _other(value)


def _scalar(value: Value) -> str:
    match value:
        case None:
            return "0"  # the number of protobuf's only null value
        case bool():
            return "true" if value else "false"
        case UInt():
            return f"{int(value):#x}"
        case int() | float():
            return gotext.display(value)
        case str():
            return gotext.quote(value)
        case Timestamp():
            return _date(value)
    return ""


def _other(value: Value) -> str:
    name = native_name(value)
    return pointer(name) if name.startswith("*") else str(value)


def _in_order(value: Value) -> list[tuple[Value, Value]]:
    return sorted(operators.items(value), key=lambda entry: (str(entry[0].__class__), entry[0]))


def _octets(name: str, value: bytes) -> str:
    return f"{name}{{{', '.join(f'{octet:#x}' for octet in value)}}}"


def _date(moment: Timestamp) -> str:
    local = moment.nanos + moment.offset * gotime.SECOND
    day, years = gotime.calendar_day(local)
    clock, nanos = divmod(local, gotime.SECOND)
    date = f"{day.year + years}, time.{_MONTHS[day.month - 1]}, {day.day}"
    zone = 'time.Location("")' if moment.offset else "time.UTC"
    return f"time.Date({date}, {clock // 3600 % 24}, {clock // 60 % 60}, {clock % 60}, {nanos}, {zone})"
