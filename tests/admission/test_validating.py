"""The validating half of the chain: webhooks that are called at once are heard as their answers arrive."""

from collections.abc import Sequence
from typing import Any

import pytest
from msgspec.structs import replace

from kadmit.admission import chain, validating
from kadmit.admission.answers import Answer
from kadmit.admission.outcome import Record
from kadmit.admission.snapshot import Configuration, build
from kadmit.admission.webhooks import Call
from kadmit.api.errors import ApiError
from kadmit.api.meta import GroupVersionKind
from kadmit.authoring.cluster import ADMIN, Cluster
from kadmit.matching.attributes import CREATE, Attributes

RULES = [{"operations": ["CREATE"], "apiGroups": [""], "apiVersions": ["v1"], "resources": ["configmaps"]}]
MAP = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "m", "namespace": "default"}}


def answer(message: str = "", *, warning: str = "", arrival: int = 0) -> Answer:
    response: dict[str, Any] = {"uid": "u", "allowed": not message, "warnings": [warning] if warning else []}
    if message:
        response["status"] = {"message": message}
    review = {"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "response": response}
    return Answer(uid="u", review=review, arrival=arrival)


def validate(*answers: Answer) -> Record:
    hooks = [
        {"name": f"{i}.example.com", "rules": RULES, "admissionReviewVersions": ["v1"], "sideEffects": "None", "clientConfig": {}}
        for i in range(len(answers))
    ]
    given = Cluster()
    given.put({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "default"}})
    snapshot = build(Configuration(validating_webhooks=[{"metadata": {"name": "c"}, "webhooks": hooks}]))
    target = given.target(MAP)
    kind = GroupVersionKind("", "v1", "ConfigMap")
    asked = Attributes(kind, target.gvr, CREATE, name="m", namespace="default", object=MAP, user=ADMIN)
    record = Record()

    def ask(calls: Sequence[Call]) -> Sequence[Answer]:
        return answers[: len(calls)]

    chain.drive(chain.validate(snapshot, asked, given.state.world(given.authorizer), record), ask)
    return record


def test_the_refusal_that_came_first_is_told() -> None:
    with pytest.raises(ApiError, match=r'"1.example.com" denied the request: fast'):
        validate(answer("slow", arrival=1), answer("fast"))


def test_a_refusal_is_told_before_a_failure_that_came_later() -> None:
    failed = Answer(failure="failed to call webhook: late", arrival=1)
    with pytest.raises(ApiError, match="denied the request: fast"):
        validate(failed, answer("fast"))
    with pytest.raises(ApiError, match="late"):
        validate(replace(failed, arrival=0), answer("fast", arrival=1))


def test_warnings_stand_as_they_arrived_and_else_in_the_order_of_the_calls() -> None:
    late, early = answer(warning="late", arrival=2), answer(warning="early", arrival=1)
    assert validate(late, early).warnings == ["early", "late"]
    assert validate(answer(warning="a"), answer(warning="b")).warnings == ["a", "b"]


@pytest.mark.parametrize(
    ("value", "end"),
    [("x" * 10_241, "x"), ("x" * 10_238 + "\u20ac", "xx\ufffd\ufffd"), ("x" * 10_237 + "\u20ac", "x\u20ac"), ("short", "short")],
)
def test_a_long_annotation_is_cut_by_bytes_and_each_byte_of_half_a_character_shows(value: str, end: str) -> None:
    cut = validating.cut(value)
    assert cut.endswith(end)
    assert len(cut) <= 10_240
