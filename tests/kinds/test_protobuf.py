"""Bodies in protobuf become the JSON that says the same."""

from typing import Any

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kadmit.api.meta import GroupVersionKind
from kadmit.kinds import protobuf
from kadmit.kinds.known import Known
from kadmit.kinds.protobuf import Unreadable
from kadmit.kinds.wireformat import double, integer, message

# What kubectl sends for `create namespace two`.
NAMESPACE = bytes.fromhex(
    "6b3873000a0f0a02763112094e616d657370616365121b0a130a0374776f12001a0022002a0032003800420012001a020a001a002200"
)


def envelope(version: str, kind: str, *fields: bytes) -> bytes:
    named = message(1, version.encode()) + message(2, kind.encode())
    return protobuf.PREFIX + message(1, named) + message(2, b"".join(fields))


def text(number: int, value: str) -> bytes:
    return message(number, value.encode())


def entry(number: int, key: str, value: bytes) -> bytes:
    """One entry of a map."""
    return message(number, text(1, key) + message(2, value))


BUDGET = ("policy/v1", "PodDisruptionBudget")
LEASE = ("coordination.k8s.io/v1", "Lease")
REVIEW = ("authorization.k8s.io/v1", "SubjectAccessReview")
DELETE = ("v1", "DeleteOptions")
HOST_PATH = text(1, "v") + message(2, message(1, text(1, "/")))


def test_what_kubectl_sends_is_the_object_that_a_person_would_write() -> None:
    read = protobuf.read(NAMESPACE)
    assert (read["apiVersion"], read["kind"], read["metadata"]["name"]) == ("v1", "Namespace", "two")
    kind, body = GroupVersionKind("", "v1", "Namespace"), b'{"metadata":{"name":"two","creationTimestamp":null}}'
    sent = Known().decode(kind, orjson.dumps(read))
    assert sent.object["metadata"] == Known().decode(kind, body).object["metadata"]


@pytest.mark.parametrize(
    ("kind", "field", "found"),
    [
        (("v1", "ConfigMap"), entry(2, "a", b"1") + entry(2, "b", b"2"), {"data": {"a": "1", "b": "2"}}),
        (("v1", "ConfigMap"), entry(3, "a", b"\x00\xff"), {"binaryData": {"a": "AP8="}}),
        (("v1", "ConfigMap"), integer(4, 1), {"immutable": True}),
        (("v1", "ConfigMap"), text(99, "of a later version"), {}),
        (("apps/v1", "Deployment"), message(2, integer(1, 3)), {"spec": {"replicas": 3}}),
        (("apps/v1", "Deployment"), message(2, integer(1, -1)), {"spec": {"replicas": -1}}),
        (("v1", "ResourceQuota"), message(2, entry(1, "cpu", text(1, "5m"))), {"spec": {"hard": {"cpu": "5m"}}}),
        (("v1", "Pod"), message(2, message(1, HOST_PATH)), {"spec": {"volumes": [{"name": "v", "hostPath": {"path": "/"}}]}}),
        (("v1", "Pod"), message(1, message(8, integer(1, 86400))), {"metadata": {"creationTimestamp": "1970-01-02T00:00:00Z"}}),
        (BUDGET, message(2, message(1, integer(1, 1) + text(3, "5%"))), {"spec": {"minAvailable": "5%"}}),
        (BUDGET, message(2, message(1, integer(2, 7))), {"spec": {"minAvailable": 7}}),
        (LEASE, message(2, message(4, integer(1, 1) + integer(2, 2000))), {"spec": {"renewTime": "1970-01-01T00:00:01.000002Z"}}),
        (REVIEW, message(2, entry(5, "a", text(1, "x") + text(1, "y"))), {"spec": {"extra": {"a": ["x", "y"]}}}),
        (DELETE, integer(1, 0) + message(2, text(1, "u")), {"gracePeriodSeconds": 0, "preconditions": {"uid": "u"}}),
    ],
)
def test_fields_of_every_kind_of_value(kind: tuple[str, str], field: bytes, found: dict[str, Any]) -> None:
    assert protobuf.read(envelope(*kind, field)) == {"apiVersion": kind[0], "kind": kind[1], **found}


@pytest.mark.parametrize(
    ("field", "found"),
    [
        (double(9, 1.5), {"maximum": 1.5}),
        (message(8, text(1, '{"a":1}')), {"default": {"a": 1}}),
        (message(24, message(1, text(5, "string"))), {"items": {"type": "string"}}),
        (message(24, message(2, text(5, "string")) * 2), {"items": [{"type": "string"}, {"type": "string"}]}),
        (message(30, integer(1, 1)), {"additionalProperties": True}),
        (message(30, integer(1, 1) + message(2, text(5, "string"))), {"additionalProperties": {"type": "string"}}),
        (entry(32, "a", text(2, "b")), {"dependencies": {"a": ["b"]}}),
        (integer(38, 1), {"x-kubernetes-preserve-unknown-fields": True}),
        (text(3, "#/x"), {"$ref": "#/x"}),
    ],
)
def test_schemas_of_custom_kinds(field: bytes, found: dict[str, Any]) -> None:
    version = text(1, "v1") + message(4, message(1, field))
    read = protobuf.read(envelope("apiextensions.k8s.io/v1", "CustomResourceDefinition", message(2, message(7, version))))
    assert read["spec"]["versions"][0]["schema"] == {"openAPIV3Schema": found}


def test_a_kind_that_nobody_knows_is_still_named() -> None:
    assert protobuf.read(envelope("a.b/v1", "C", text(1, "x"))) == {"apiVersion": "a.b/v1", "kind": "C"}


@pytest.mark.parametrize(
    ("body", "text"),
    [
        (b"{}", "provided data does not appear to be a protobuf message, expected prefix [107 56 115 0]"),
        (b"k8s\x00", "empty body"),
        (NAMESPACE[:30], "unexpected EOF"),
        (b"k8s\x00\x0f", "proto: illegal wireType 7"),
        (envelope("v1", "ConfigMap", b"\x80" * 12), "proto: integer overflow"),
        (envelope("v1", "ConfigMap", integer(2, 1)), "proto: wrong wireType"),
    ],
)
def test_a_body_that_is_no_message_is_refused(body: bytes, text: str) -> None:
    with pytest.raises(Unreadable) as refused:
        protobuf.read(body)
    assert str(refused.value) == text


def test_a_body_that_is_nested_without_end_is_refused() -> None:
    schema = b""
    for _ in range(5000):
        schema = message(28, schema)
    version = message(2, message(7, message(4, message(1, schema))))
    with pytest.raises(Unreadable, match="nested too deeply"):
        protobuf.read(envelope("apiextensions.k8s.io/v1", "CustomResourceDefinition", version))


@given(st.integers(0, len(NAMESPACE)), st.binary(max_size=20))
def test_any_bytes_are_read_or_refused(cut: int, more: bytes) -> None:
    try:
        read = protobuf.read(protobuf.PREFIX + NAMESPACE[4:cut] + more)
    except Unreadable:
        return
    assert set(read) >= {"apiVersion", "kind"}
