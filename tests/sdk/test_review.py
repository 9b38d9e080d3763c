"""AdmissionReview: what is read, what is refused, and what is written."""

import base64
from contextlib import suppress
from typing import Any

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.sdk.serving import review

from kadmit.webhook.review import BadReview, Response, denied, read, write

V1 = b'{"apiVersion":"admission.k8s.io/v1","kind":'
UNKNOWN = "body is no AdmissionReview of admission.k8s.io/v1 or admission.k8s.io/v1beta1: "
BAD = {
    "nothing": (b"", "body is empty"),
    "no JSON": (b"{", "body is not JSON: unexpected end of data: line 1 column 2 (char 1)"),
    "a list": (b"[]", "body is no AdmissionReview: it is a list"),
    "a text": (b'"x"', "body is no AdmissionReview: it is a text"),
    "null": (b"null", "body is no AdmissionReview: it is null"),
    "another version": (review("v2"), UNKNOWN + 'apiVersion "admission.k8s.io/v2", kind "AdmissionReview"'),
    "no version": (b"{}", UNKNOWN + "apiVersion null, kind null"),
    "another kind": (
        b'{"apiVersion":"admission.k8s.io/v1","kind":"Pod"}',
        UNKNOWN + 'apiVersion "admission.k8s.io/v1", kind "Pod"',
    ),
    "no request": (V1 + b'"AdmissionReview"}', "request: missing"),
    "a request that is none": (
        b'{"apiVersion":"admission.k8s.io/v1","kind":"AdmissionReview","request":1}',
        "request: must be an object",
    ),
    "no uid": (review(uid=""), "request.uid: must be a text that is not empty"),
    "nesting without end": (b"[" * 100_000, "body is not JSON: depth limit exceeded: line 1 column 1026 (char 1025)"),
}


@pytest.mark.parametrize(("body", "text"), BAD.values(), ids=BAD)
def test_a_body_that_asks_nothing_is_told_why(body: bytes, text: str) -> None:
    with pytest.raises(BadReview) as caught:
        read(body)
    assert str(caught.value) == text


_json = st.recursive(
    st.none() | st.booleans() | st.integers(-9, 9) | st.text(st.characters(exclude_categories=["Cs"])),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(["uid", "a"]), inner, max_size=3),
    max_leaves=8,
)


@given(
    st.binary(max_size=40)
    | st.fixed_dictionaries(
        {},
        optional={
            "apiVersion": _json | st.just("admission.k8s.io/v1"),
            "kind": _json | st.just("AdmissionReview"),
            "request": _json,
        },
    ).map(orjson.dumps)
)
def test_whatever_comes_is_read_or_refused(body: bytes) -> None:
    with suppress(BadReview):
        assert read(body).uid


def test_what_is_too_deep_to_be_shown_is_refused_all_the_same() -> None:
    with pytest.raises(BadReview, match="apiVersion a list, kind null"):
        read(b'{"apiVersion":' + b"[" * 300 + b"]" * 300 + b"}")


def written(response: Response, version: str = "v1") -> Any:
    return orjson.loads(write(read(review(version)), response))


@pytest.mark.parametrize("version", ["v1", "v1beta1"])
def test_an_answer_has_the_version_and_uid_of_its_question(version: str) -> None:
    assert written(Response(allowed=True), version) == {
        "apiVersion": f"admission.k8s.io/{version}",
        "kind": "AdmissionReview",
        "response": {"uid": "u-1", "allowed": True},
    }


def test_a_patch_comes_with_its_type() -> None:
    patch = [{"op": "add", "path": "/x", "value": 1}]
    response = written(Response(allowed=True, patch=patch))["response"]
    assert (orjson.loads(base64.b64decode(response["patch"])), response["patchType"]) == (patch, "JSONPatch")


def test_all_else_that_an_answer_may_hold() -> None:
    response = written(Response(allowed=True, warnings=["careful"], annotations={"key": "value"}))["response"]
    assert (response["warnings"], response["auditAnnotations"]) == (["careful"], {"key": "value"})


@pytest.mark.parametrize(
    ("code", "reason", "expected"),
    [(403, "", "Forbidden"), (422, "", "Invalid"), (429, "", "TooManyRequests"), (418, "", None), (403, "Because", "Because")],
)
def test_a_refusal_has_the_reason_that_goes_with_its_code(code: int, reason: str, expected: str | None) -> None:
    status = written(denied("no", code, reason))["response"]["status"]
    assert (status["code"], status["message"], status.get("reason")) == (code, "no", expected)
