"""Protocol Buffers on the wire, as far as etcd needs them: varints and length-delimited fields.

A dozen small messages do not justify a second dependency with generated code. Writing is concatenation, since fields may
come in any order; reading yields numbers and raw values, and whoever knows the message gives them names. Negative
integers are never written here; read ones are folded back from two's complement.
"""

from collections.abc import Iterator

from kadmit.kinds.wireformat import varint

_VARINT, _FIXED64, _BYTES, _FIXED32 = 0, 1, 2, 5
_FIXED_SIZES = {_FIXED64: 8, _FIXED32: 4}
_SIGN = 1 << 63
_RANGE = 1 << 64


class Malformed(ValueError):
    """The bytes are no message."""


def integer(number: int, value: int) -> bytes:
    """A field that holds an integer, a boolean or an enumeration; nothing for its default, as in proto3."""
    return varint(number << 3 | _VARINT) + varint(value) if value else b""


def data(number: int, value: bytes) -> bytes:
    """A field that holds bytes or text; nothing for its default."""
    return message(number, value) if value else b""


def message(number: int, value: bytes) -> bytes:
    """A field that holds a message: an empty one still counts as present."""
    return varint(number << 3 | _BYTES) + varint(len(value)) + value


def fields(buffer: bytes) -> Iterator[tuple[int, int | bytes]]:
    """Each field's number with its integer or its bytes; fixed-size fields are passed over."""
    position, end = 0, len(buffer)
    while position < end:
        tag, position = _read_varint(buffer, position)
        number, wire_type = tag >> 3, tag & 7
        if wire_type == _VARINT:
            value, position = _read_varint(buffer, position)
            yield number, value
        elif wire_type == _BYTES:
            size, position = _read_varint(buffer, position)
            if position + size > end:
                raise Malformed("a field ends after its message")
            yield number, buffer[position : position + size]
            position += size
        else:
            position = _skip_fixed(wire_type, position, end)


def _skip_fixed(wire_type: int, position: int, end: int) -> int:
    if wire_type not in _FIXED_SIZES:
        raise Malformed(f"unknown wire type {wire_type}")
    position += _FIXED_SIZES[wire_type]
    if position > end:
        raise Malformed("a field ends after its message")
    return position


def signed(value: int) -> int:
    return value - _RANGE if value >= _SIGN else value


def _read_varint(buffer: bytes, position: int) -> tuple[int, int]:
    try:
        byte = buffer[position]
        if byte < 0x80:
            return byte, position + 1
        value, shift = byte & 0x7F, 7
        while byte >= 0x80 and shift < 70:
            position += 1
            byte = buffer[position]
            value |= (byte & 0x7F) << shift
            shift += 7
    except IndexError:
        raise Malformed("a number is cut off") from None
    if byte >= 0x80 or value >= _RANGE:
        raise Malformed("a number is longer than 64 bits")
    return value, position + 1
