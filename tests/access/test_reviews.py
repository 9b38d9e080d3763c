"""Questions asked as objects."""

from typing import Any

import pytest
from tests.access import recording

from kadmit.access import bootstrap, reviews
from kadmit.access.identity import Identities
from kadmit.access.rbac import Rbac
from kadmit.access.reviews import Reviewer
from kadmit.cel.library.authorizer import User

RECORDED = Rbac.build(bootstrap.objects(), aggregates=False)
IDENTITIES = Identities({"alice-token": User("alice", "alice-uid", ("developers",))}, anonymous=False)
USERS = {"admin": recording.ADMIN, "alice": recording.ALICE}


def _as_received(row: dict[str, Any]) -> dict[str, Any]:
    """A server puts the namespace of the path into the object, and takes a wrong one out."""
    review: dict[str, Any] = {"metadata": {}, **row["review"]}
    metadata = {k: v for k, v in review["metadata"].items() if k != "namespace"}
    if "/namespaces/" in row["path"]:
        metadata["namespace"] = row["path"].split("/namespaces/")[1].split("/")[0]
    return {**review, "metadata": metadata}


def _sorted_rules(answer: dict[str, Any]) -> dict[str, Any]:
    """NB: Kubernetes gives rules in the order of a map."""
    status = answer.get("status")
    if isinstance(status, dict):
        for key in ("resourceRules", "nonResourceRules"):
            if key in status:
                status = {**status, key: sorted(status[key], key=str)}
    return {**answer, "status": status}


@pytest.mark.parametrize("row", recording.rows("reviews"), ids=lambda row: str(row["review"]["kind"]))
def test_a_recorded_review_gets_the_recorded_answer(row: dict[str, Any]) -> None:
    review, kind = _as_received(row), row["review"]["kind"]
    refusal = reviews.refusal(kind, review)
    if refusal is not None:
        assert refusal.status.as_json() == row["answer"]
        return
    assert row["code"] == 201
    found = reviews.answer(kind, review, Reviewer(USERS[row["user"]], RECORDED, IDENTITIES))
    assert _sorted_rules(found) == _sorted_rules(row["answer"])


def test_metadata_must_be_empty_but_for_what_a_server_writes() -> None:
    spec: dict[str, Any] = {"resourceAttributes": {}}
    assert reviews.refusal("SelfSubjectAccessReview", {"metadata": {"managedFields": [{}]}, "spec": spec}) is None
    found = reviews.refusal("SelfSubjectAccessReview", {"metadata": {"labels": {"a": "b"}, "name": "x"}, "spec": spec})
    expected = '.authorization.k8s.io "" is invalid: metadata: Invalid value: {"name":"x","labels":{"a":"b"}}: must be empty'
    assert str(found) == expected


def test_a_local_review_may_say_its_namespace() -> None:
    spec = {"user": "x", "resourceAttributes": {"namespace": "n"}}
    assert reviews.refusal("LocalSubjectAccessReview", {"metadata": {"namespace": "n"}, "spec": spec}) is None
    found = reviews.refusal("LocalSubjectAccessReview", {"metadata": {"namespace": "n", "name": "q"}, "spec": spec})
    assert str(found).endswith('metadata: Invalid value: {"name":"q","namespace":"n"}: must be empty except for namespace')


def test_a_token_that_is_none_is_anonymous_where_that_is_allowed() -> None:
    review = {"kind": "TokenReview", "spec": {"token": " "}}
    open_to_all = Reviewer(recording.ADMIN, RECORDED, Identities(anonymous=True))
    status = reviews.answer("TokenReview", review, open_to_all)["status"]
    assert status["user"] == {"username": "system:anonymous", "groups": ["system:unauthenticated"]}


def test_missing_roles_are_told_to_who_asks_for_all_rules() -> None:
    role_ref = {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "none"}
    subjects = [{"kind": "User", "apiGroup": "rbac.authorization.k8s.io", "name": "alice"}]
    rbac = RECORDED.put({"kind": "ClusterRoleBinding", "metadata": {"name": "b"}, "roleRef": role_ref, "subjects": subjects})
    review = {"kind": "SelfSubjectRulesReview", "spec": {"namespace": "n"}}
    status = reviews.answer("SelfSubjectRulesReview", review, Reviewer(recording.ALICE, rbac, IDENTITIES))["status"]
    assert status["evaluationError"] == 'clusterrole.rbac.authorization.k8s.io "none" not found'
    assert status["incomplete"] is False
