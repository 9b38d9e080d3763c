"""Protocol Buffers and etcd's messages: known bytes, round trips, and that no bytes do harm."""

from collections.abc import Callable
from contextlib import suppress

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from kadmit.store import etcd_messages as messages
from kadmit.store import protobuf
from kadmit.store.etcd_messages import Change, KeyValue
from kadmit.store.protobuf import Malformed, data, integer, message


@pytest.mark.parametrize(
    ("made", "wire"),
    [
        (integer(1, 150), "089601"),
        (integer(1, 0), ""),
        (integer(16, 1), "800101"),
        (integer(2, (1 << 63) - 1), "10ffffffffffffffff7f"),
        (data(2, b"testing"), "120774657374696e67"),
        (data(2, b""), ""),
        (message(3, integer(1, 150)), "1a03089601"),
        (message(3, b""), "1a00"),
    ],
)
def test_a_field_is_written_as_the_specification_shows(made: bytes, wire: str) -> None:
    assert made.hex() == wire


@given(st.lists(st.tuples(st.integers(1, 500), st.one_of(st.integers(1, (1 << 64) - 1), st.binary(min_size=1)))))
def test_what_is_written_is_read(fields: list[tuple[int, int | bytes]]) -> None:
    wire = b"".join(integer(n, v) if isinstance(v, int) else data(n, v) for n, v in fields)
    assert list(protobuf.fields(wire)) == fields


def test_fields_of_fixed_size_are_passed_over() -> None:
    assert list(protobuf.fields(b"\x09" + b"x" * 8 + b"\x15" + b"y" * 4 + integer(1, 5))) == [(1, 5)]


@pytest.mark.parametrize("wire", ["08", "0880", "08" + "ff" * 11, "0a05aa", "0900", "0b", "08ffffffffffffffffff7f"])
def test_what_is_no_message_is_refused(wire: str) -> None:
    with pytest.raises(Malformed):
        list(protobuf.fields(bytes.fromhex(wire)))


def test_negative_numbers_are_read() -> None:
    assert protobuf.signed((1 << 64) - 1) == -1


@pytest.mark.parametrize("read", [messages.ranged, messages.transacted, messages.watched])
@given(wire=st.binary(max_size=60))
@example(wire=integer(1, 5))
@example(wire=message(11, b""))
@example(wire=message(2, message(2, b"x")))
def test_any_bytes_are_read_or_refused(read: Callable[[bytes], object], wire: bytes) -> None:
    with suppress(Malformed):
        read(wire)


def test_a_watch_answer_is_read_whole() -> None:
    pair = data(1, b"/k") + integer(2, 5) + integer(3, 7) + integer(4, 2) + data(5, b"v")
    wire = message(1, integer(1, 1 << 63) + integer(3, 9)) + message(11, integer(1, 1) + message(2, pair) + message(3, pair))
    answer = messages.watched(wire)
    found = KeyValue(b"/k", b"v", created=5, revision=7)
    assert (answer.revision, answer.changes) == (9, (Change(found, found, deleted=True),))
