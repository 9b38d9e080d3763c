"""What a function answers, and the review that it means."""

import base64
from typing import Any

import orjson
import pytest
from tests.testing.policies import Json

from kadmit.testing import answering
from kadmit.webhook.review import Response

ASKED: Json = {"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "request": {"uid": "u", "object": {"a": 1}}}
OPERATIONS = [{"op": "add", "path": "/b", "value": 2}]
PATCH = {"patchType": "JSONPatch", "patch": base64.b64encode(orjson.dumps(OPERATIONS)).decode()}


async def later(_request: Json) -> str:
    return "too late"


@pytest.mark.parametrize(
    ("answer", "response"),
    [
        (None, {"allowed": True}),
        (True, {"allowed": True}),
        (False, {"allowed": False}),
        ("no", {"allowed": False, "status": {"message": "no", "code": 403}}),
        ([], {"allowed": True}),
        (OPERATIONS, {"allowed": True, **PATCH}),
        ({"warnings": ["w"]}, {"allowed": True, "warnings": ["w"]}),
        ({"allowed": False, "status": {"code": 400}}, {"allowed": False, "status": {"code": 400}}),
        ({"patch": OPERATIONS}, {"allowed": True, **PATCH}),
        (Response(True, OPERATIONS, None, ["w"]), {"allowed": True, **PATCH, "warnings": ["w"]}),
        (Response(True, annotations={"k": "v"}), {"allowed": True, "auditAnnotations": {"k": "v"}}),
        (Response(False, status={"code": 400}), {"allowed": False, "status": {"code": 400}}),
    ],
)
def test_an_answer_means_a_response(answer: Any, response: Json) -> None:
    review = answering.review(lambda _: answer, ASKED)
    assert review == {"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "response": {"uid": "u", **response}}


def test_a_whole_review_is_sent_as_it_is() -> None:
    assert answering.review(lambda _: {"response": {"uid": "another"}}, ASKED) == {"response": {"uid": "another"}}


def test_a_coroutine_is_run_to_its_end() -> None:
    assert answering.review(later, ASKED)["response"]["status"]["message"] == "too late"


def test_a_function_may_change_what_it_is_given() -> None:
    answering.review(lambda request: request["object"].clear(), ASKED)
    assert ASKED["request"]["object"] == {"a": 1}


def test_an_answer_that_means_nothing_is_refused() -> None:
    with pytest.raises(TypeError, match="must answer None, bool, str, list or dict, not int"):
        answering.review(lambda _: 1, ASKED)
