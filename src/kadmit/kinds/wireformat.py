"""Protocol Buffers on the wire: a message is a row of numbered fields, each an integer, a fixed-size number or bytes.

Reading yields numbers and raw values; whoever knows the message gives them names. Bytes stay views of the whole body, so that
messages inside messages are not copied.
"""

import struct
from collections.abc import Iterator
from typing import TypeAlias

Raw: TypeAlias = int | float | memoryview

_VARINT, _FIXED64, _BYTES, _FIXED32 = 0, 1, 2, 5
_FIXED = {_FIXED64: struct.Struct("<d"), _FIXED32: struct.Struct("<f")}
_SIGN = 1 << 63
_RANGE = 1 << 64
_LONGEST = 10  # bytes of a varint


class Malformed(ValueError):
    """The bytes are no message."""


def fields(buffer: memoryview) -> Iterator[tuple[int, Raw]]:
    """Each field's number and value. Raises Malformed."""
    at, end = 0, len(buffer)
    while at < end:
        tag, at = _varint(buffer, at)
        value, at = _value(tag & 7, buffer, at)
        yield tag >> 3, value


def _value(wire_type: int, buffer: memoryview, at: int) -> tuple[Raw, int]:
    if wire_type == _VARINT:
        return _varint(buffer, at)
    if wire_type == _BYTES:
        size, at = _varint(buffer, at)
        return _part(buffer, at, size), at + size
    shape = _FIXED.get(wire_type)
    if shape is None:
        raise Malformed(f"proto: illegal wireType {wire_type}")
    return shape.unpack(_part(buffer, at, shape.size))[0], at + shape.size


def _part(buffer: memoryview, at: int, size: int) -> memoryview:
    if at + size > len(buffer):
        raise Malformed("unexpected EOF")
    return buffer[at : at + size]


def _varint(buffer: memoryview, at: int) -> tuple[int, int]:
    value = 0
    for place in range(_LONGEST):
        if at + place >= len(buffer):
            raise Malformed("unexpected EOF")
        byte = buffer[at + place]
        value |= (byte & 0x7F) << (7 * place)
        if byte < 0x80:
            return value % _RANGE, at + place + 1
    raise Malformed("proto: integer overflow")


def integers(packed: memoryview) -> Iterator[int]:
    """The numbers of a list that is written as one field. Raises Malformed."""
    at = 0
    while at < len(packed):
        value, at = _varint(packed, at)
        yield signed(value)


def signed(value: int) -> int:
    return value - _RANGE if value >= _SIGN else value


# ---------------------------------------------------------------- writing


def message(number: int, value: bytes) -> bytes:
    """A field that holds bytes, text or a message."""
    return varint(number << 3 | _BYTES) + varint(len(value)) + value


def integer(number: int, value: int) -> bytes:
    """A field that holds an integer or a boolean."""
    return varint(number << 3 | _VARINT) + varint(value % _RANGE)


def double(number: int, value: float) -> bytes:
    return varint(number << 3 | _FIXED64) + _FIXED[_FIXED64].pack(value)


def varint(value: int) -> bytes:
    if value < 0x80:
        return value.to_bytes(1, "little")
    made = bytearray()
    while value >= 0x80:
        made.append(value & 0x7F | 0x80)
        value >>= 7
    made.append(value)
    return bytes(made)
