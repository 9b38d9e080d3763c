"""Objects that clients send as protobuf, read into the JSON that they would have sent instead.

Go's typed clients (kubectl create, controllers) prefer protobuf for built-in kinds. The body is an envelope that names the kind,
around a message whose fields have numbers only; the packaged table knows the numbers, and the schema of the kind knows the types.
Everything after this is the same for both.

NB: clients write empty strings, zeros and empty messages of fields that are not pointers. Decoding drops these as in JSON.
"""

import base64
import functools
import importlib.resources
import zlib
from collections.abc import Callable, Mapping
from datetime import UTC, datetime, timedelta
from typing import Any, TypeAlias

import orjson

from kadmit.kinds import schema, wireformat
from kadmit.kinds.schema import Node, Schema
from kadmit.kinds.wireformat import Malformed, Raw

Json: TypeAlias = Any
Numbers: TypeAlias = dict[int, "str | Numbers"]

PREFIX = b"k8s\x00"
MAX_DEPTH = 100
_FILE = "protobuf-1.36.bin"
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_LARGEST_SECOND = 253402300799  # the last one of the year 9999
_DEFINITIONS = "apiextensions-apiserver.pkg.apis.apiextensions."


class Unreadable(ValueError):
    """No object can be read from a body. `kind` (apiVersion and kind) is known if the envelope was good."""

    def __init__(self, text: str, kind: tuple[str, str] | None = None) -> None:
        super().__init__(text)
        self.kind = kind


def read(body: bytes) -> dict[str, Json]:
    """The object in an envelope. Raises Unreadable."""
    version, kind, raw = _envelope(body)
    group, _, short = version.rpartition("/")
    of = schema.for_kind((group, short, kind)) or schema.for_kind(("", "v1", kind))
    if of is None:
        return {"apiVersion": version, "kind": kind}  # whoever reads on knows what to say of such a kind
    try:
        value = _message(of, raw, 0)
    except (Malformed, UnicodeDecodeError) as e:
        raise Unreadable(str(e), (version, kind)) from None
    return {**value, "apiVersion": version, "kind": kind}


def _envelope(body: bytes) -> tuple[str, str, memoryview]:
    if not body.startswith(PREFIX):
        expected = " ".join(map(str, PREFIX))
        raise Unreadable(f"provided data does not appear to be a protobuf message, expected prefix [{expected}]")
    if len(body) == len(PREFIX):
        raise Unreadable("empty body")
    try:
        held = dict(wireformat.fields(memoryview(body)[len(PREFIX) :]))
        names = {number: _text(value) for number, value in wireformat.fields(_bytes(held.get(1, _EMPTY)))}
        return names.get(1, ""), names.get(2, ""), _bytes(held.get(2, _EMPTY))
    except (Malformed, UnicodeDecodeError) as e:
        raise Unreadable(str(e)) from None


# ---------------------------------------------------------------- numbers


@functools.cache
def _lines() -> dict[str, str]:
    data = importlib.resources.files("kadmit.kinds").joinpath("data", _FILE).read_bytes()
    return dict(line.split(" ", 1) for line in zlib.decompress(data).decode().split("\n"))


@functools.cache
def _numbers(name: str) -> Numbers:
    """What the numbers of a message mean. Numbers inside a number: a message that is not one in JSON."""
    made: Numbers = {}
    for row in _lines().get(name, "").split():
        field, _, path = row.partition("=")
        *outer, last = map(int, path.split("."))
        at = made
        for number in outer:
            inner = at.setdefault(number, {})
            assert isinstance(inner, dict)
            at = inner
        at[last] = field
    return made


def fields(name: str) -> list[str]:
    """The fields of a message in the order of their numbers."""
    return _in_order(_numbers(name))


def _in_order(numbers: Numbers) -> list[str]:
    found: list[str] = []
    for number in sorted(numbers):
        named = numbers[number]
        found += [named] if isinstance(named, str) else _in_order(named)
    return found


# ---------------------------------------------------------------- messages

_EMPTY = memoryview(b"")


def _message(of: Schema, raw: memoryview, depth: int) -> dict[str, Json]:
    made: dict[str, Json] = {}
    _fill(made, of, _numbers(of.name), raw, depth)
    return made


def _fill(made: dict[str, Json], of: Schema, numbers: Numbers, raw: memoryview, depth: int) -> None:
    if depth > MAX_DEPTH:
        raise Malformed("the object is nested too deeply")
    for number, value in wireformat.fields(raw):
        meant = numbers.get(number)
        if isinstance(meant, dict):
            _fill(made, of, meant, _bytes(value), depth + 1)
        elif meant is not None:
            _put(made, meant, of.fields[meant].schema, value, depth)


def _put(made: dict[str, Json], name: str, of: Schema, value: Raw, depth: int) -> None:
    """One field. A list or a map comes one entry at a time."""
    if of.kind is Node.ARRAY and of.items is not None:
        items = made.setdefault(name, [])
        if of.items.kind is Node.INTEGER and isinstance(value, memoryview):
            items.extend(wireformat.integers(value))
        else:
            items.append(_value(of.items, value, depth + 1))
    elif of.kind is Node.MAP and of.additional is not None:
        entry = dict(wireformat.fields(_bytes(value)))
        key = _text(entry.get(1, _EMPTY))
        made.setdefault(name, {})[key] = _value(of.additional, entry.get(2, _EMPTY), depth + 1)
    else:
        made[name] = _value(of, value, depth + 1)


def _value(of: Schema, value: Raw, depth: int) -> Json:
    own = _OWN.get(of.name.removeprefix(_DEFINITIONS).partition(".")[2]) if of.name.startswith(_DEFINITIONS) else None
    if own is not None:
        return own(of, _parts(value), depth)
    if of.kind is Node.ARRAY and of.items is not None:
        # A list inside a list or a map is a message with nothing but that list.
        return [_value(of.items, item, depth + 1) for number, item in wireformat.fields(_bytes(value)) if number == 1]
    if of.kind is Node.OBJECT:
        return _message(of, _bytes(value), depth)
    return _SCALARS[of.kind](value)


def _parts(value: Raw) -> list[tuple[int, Raw]]:
    return list(wireformat.fields(_bytes(value)))


# ---------------------------------------------------------------- single values


def _bytes(value: Raw) -> memoryview:
    if not isinstance(value, memoryview):
        raise Malformed("proto: wrong wireType")
    return value


def _text(value: Raw) -> str:
    return str(_bytes(value), "utf-8")


def _integer(value: Raw) -> int:
    """NB: the entry of a map leaves out a zero."""
    if isinstance(value, memoryview) and not value:
        return 0
    if not isinstance(value, int):
        raise Malformed("proto: wrong wireType")
    return wireformat.signed(value)


def _number(value: Raw) -> float:
    return float(value) if not isinstance(value, memoryview) else 0.0


def _int_or_string(value: Raw) -> int | str:
    held = dict(_parts(value))
    if _integer(held.get(1, 0)) == 1:
        return _text(held.get(3, _EMPTY))
    return _integer(held.get(2, 0))


def _quantity(value: Raw) -> str:
    return _text(dict(_parts(value)).get(1, _EMPTY)) or "0"


def _moment(value: Raw) -> tuple[datetime, int] | None:
    """An empty message is the zero time, which JSON writes as null."""
    held = dict(_parts(value))
    if not held:
        return None
    seconds = _integer(held.get(1, 0))
    if abs(seconds) > _LARGEST_SECOND:
        return None
    try:
        return _EPOCH + timedelta(seconds=seconds), _integer(held.get(2, 0))
    except OverflowError:
        return None


def _time(value: Raw) -> str | None:
    found = _moment(value)
    return None if found is None else found[0].strftime("%Y-%m-%dT%H:%M:%SZ")


def _micro_time(value: Raw) -> str | None:
    found = _moment(value)
    return None if found is None else f"{found[0]:%Y-%m-%dT%H:%M:%S}.{found[1] // 1000 % 1_000_000:06}Z"


def _raw(value: Raw) -> Json:
    """JSON inside a message, as text."""
    held = bytes(_bytes(dict(_parts(value)).get(1, _EMPTY)))
    try:
        return orjson.loads(held) if held else None
    except orjson.JSONDecodeError as e:
        raise Malformed(str(e)) from None


_SCALARS: Mapping[Node, Callable[[Raw], Json]] = {
    Node.STRING: _text,
    Node.BYTES: lambda value: base64.b64encode(_bytes(value)).decode(),
    Node.INTEGER: _integer,
    Node.NUMBER: _number,
    Node.BOOLEAN: lambda value: bool(_integer(value)),
    Node.INT_OR_STRING: _int_or_string,
    Node.QUANTITY: _quantity,
    Node.TIME: _time,
    Node.MICRO_TIME: _micro_time,
    Node.RAW: _raw,
    Node.ANY: _raw,
    Node.MAP: _raw,
}


# ---------------------------------------------------------------- what JSON schemas hold


def _schema_inside(of: Schema, value: Raw, depth: int) -> Json:
    package = of.name.rpartition(".")[0]
    return _message(schema.definition(f"{package}.JSONSchemaProps"), _bytes(value), depth + 1)


def _schema_or_schemas(of: Schema, parts: list[tuple[int, Raw]], depth: int) -> Json:
    one = [_schema_inside(of, value, depth) for number, value in parts if number == 1]
    return one[-1] if one else [_schema_inside(of, value, depth) for number, value in parts if number == 2]


def _schema_or_bool(of: Schema, parts: list[tuple[int, Raw]], depth: int) -> Json:
    held = dict(parts)
    return _schema_inside(of, held[2], depth) if 2 in held else bool(_integer(held.get(1, 0)))


def _schema_or_names(of: Schema, parts: list[tuple[int, Raw]], depth: int) -> Json:
    one = [_schema_inside(of, value, depth) for number, value in parts if number == 1]
    return one[-1] if one else [_text(value) for number, value in parts if number == 2]


_OWN: Mapping[str, Callable[[Schema, list[tuple[int, Raw]], int], Json]] = {
    "JSONSchemaPropsOrArray": _schema_or_schemas,
    "JSONSchemaPropsOrBool": _schema_or_bool,
    "JSONSchemaPropsOrStringArray": _schema_or_names,
}
