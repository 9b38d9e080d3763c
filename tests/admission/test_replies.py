"""HTTP replies of webhooks: what can be read, and what is said of the rest."""

import json
from typing import Any

import pytest

from kadmit.admission import replies, webhooks
from kadmit.admission.answers import Answer
from kadmit.admission.webhooks import Call

JSON = "application/json"
SCHEME = 'in scheme "k8s.io/apiserver/pkg/util/webhook/client.go:71"'
NOT_V1 = "to (v1.AdmissionReview): unknown conversion"
FAILED = "failed to call webhook: "
UNKNOWN_ERROR = 'an error on the server ("unknown") has prevented the request from succeeding'


def read(body: Any, *, status: int = 200, content_type: str = JSON, version: str = "v1") -> Answer:
    raw = {"metadata": {"name": "c"}, "webhooks": [{"name": "h.example.com", "admissionReviewVersions": [version]}]}
    (webhook,) = webhooks.compile_configuration(raw)
    text = body if isinstance(body, str) else json.dumps(body)
    call = Call(webhook, version, {}, mutating=True)
    return replies.read(call, "u", status=status, content_type=content_type, body=text.encode())


def named(api_version: str, kind: str) -> dict[str, Any]:
    return {"apiVersion": api_version, "kind": kind, "response": {"uid": "u", "allowed": True}}


def test_a_review_may_leave_out_its_kind_and_is_then_told_to_have_none() -> None:
    assert read({"response": {"uid": "u"}}).review == {
        "apiVersion": "",
        "kind": "",
        "response": {"uid": "u", "allowed": False},
    }


@pytest.mark.parametrize(
    ("api_version", "kind", "reason"),
    [
        ("admission.k8s.io/v1beta1", "AdmissionReview", f"converting (v1beta1.AdmissionReview) {NOT_V1}"),
        ("v1", "Status", f"converting (v1.Status) {NOT_V1}"),
        ("example.com/v7", "Status", f"converting (v1.Status) {NOT_V1}"),
        ("admission.k8s.io/v1beta1", "ListOptions", f"converting (v1.ListOptions) {NOT_V1}"),
        ("admission.k8s.io/v1", "WatchEvent", f"converting (v1.WatchEvent) {NOT_V1}"),
        ("v1", "DeleteOptions", f'no kind "DeleteOptions" is registered for version "v1" {SCHEME}'),
        ("v1", "AdmissionReview", f'no kind "AdmissionReview" is registered for version "v1" {SCHEME}'),
        (
            "admission.k8s.io/__internal",
            "AdmissionReview",
            f'no kind "AdmissionReview" is registered for the internal version of group "admission.k8s.io" {SCHEME}',
        ),
        ("a/b/c", "AdmissionReview", "unexpected GroupVersion string: a/b/c"),
    ],
)
def test_an_answer_of_another_kind(api_version: str, kind: str, reason: str) -> None:
    assert read(named(api_version, kind)).failure == FAILED + reason


def test_a_wrong_field_is_told_of_before_a_wrong_version() -> None:
    wrong = {**named("admission.k8s.io/v1", "AdmissionReview"), "response": {"allowed": "yes"}}
    reason = "json: cannot unmarshal string into Go struct field AdmissionResponse.response.allowed of type bool"
    assert read(wrong, version="v1beta1").failure == FAILED + reason


def test_an_object_that_comes_twice_is_put_together() -> None:
    answer = read('{"response": {"uid": "u", "allowed": true}, "response": {"allowed": false}}')
    assert answer.review is not None
    assert answer.review["response"] == {"uid": "u", "allowed": False}


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        ("{", "couldn't get version/kind; json parse error: unexpected end of JSON input"),
        ('{"a":' * 10_001, "couldn't get version/kind; json parse error: invalid character '{' exceeded max depth"),
        ("a: b: c", "yaml: mapping values are not allowed in this context"),
        ("[1, 2", "yaml: line 1: did not find expected ',' or ']'"),
        ("k8s\x00", "empty body"),
    ],
)
def test_what_is_no_object_at_all(body: str, reason: str) -> None:
    assert read(body).failure == FAILED + reason


STATUS = {"apiVersion": "v1", "kind": "Status", "status": "Failure"}


@pytest.mark.parametrize(
    ("body", "reason", "code"),
    [
        ({**STATUS, "message": "no", "code": 418}, "no", 418),
        ({**STATUS, "message": "no"}, "no", 0),
        (STATUS, "", 0),
        ({"kind": "Status", "status": "Failure", "message": "old"}, "old", 0),
        ("kind: Status\nstatus: Failure\nmessage: yaml", "yaml", 0),
        ({**STATUS, "status": "Success"}, UNKNOWN_ERROR, 500),
        ({**STATUS, "code": "x"}, UNKNOWN_ERROR, 500),
        ({"oops": True}, UNKNOWN_ERROR, 500),
    ],
)
def test_a_status_with_an_error_counts_as_it_is(body: Any, reason: str, code: int) -> None:
    answer = read(body, status=500)
    assert (answer.failure, answer.code) == (FAILED + reason, code)


@pytest.mark.parametrize(
    ("status", "text", "content_type", "reason"),
    [
        (403, " own words\n", "text/plain", "own words"),
        (415, "own words", "text/plain", "own words"),
        (406, "own words", "", "own words"),
        (406, "", "text/plain", "the server was unable to respond with a content type that the client supports"),
        (403, "", "text/plain", ""),
        (403, "{}", JSON, "unknown"),
        (500, "x", "TEXT/plain", 'an error on the server ("x") has prevented the request from succeeding'),
        (500, "", "text/plain", 'an error on the server ("") has prevented the request from succeeding'),
        (300, "x", "text/plain", "the server responded with the status code 300 but did not return more information"),
        (500, "x", "bogus type", "Internal error occurred: mime: expected slash after first token"),
    ],
)
def test_the_words_of_an_error(status: int, text: str, content_type: str, reason: str) -> None:
    assert read(text, status=status, content_type=content_type).failure == FAILED + reason
