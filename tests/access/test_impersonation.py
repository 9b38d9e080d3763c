"""Requests made as somebody else."""

from typing import Any

import pytest
from tests.access import recording

from kadmit.access import attributes, bootstrap, impersonation
from kadmit.access.impersonation import Impersonated
from kadmit.access.rbac import Rbac
from kadmit.api.errors import ApiError
from kadmit.cel.library.authorizer import Attributes, User
from kadmit.matching.attributes import user_info

RECORDED = recording.cluster("impersonation")
REVIEW = attributes.request_info("POST", "/apis/authentication.k8s.io/v1/selfsubjectreviews")


def test_a_recorded_conversation_goes_the_recorded_way() -> None:
    """One test, because a denial tells of the mode that worked before."""
    last = impersonation.LEGACY
    for row in recording.rows("impersonation"):
        found = _impersonated([(name, value) for name, value in row["headers"]], last)
        if isinstance(found, Impersonated):
            last = found.mode or last
        assert _answer(found) == row["expected"], row["headers"]


def _impersonated(headers: list[tuple[str, str]], last: str) -> Impersonated | ApiError:
    try:
        wanted = impersonation.wanted_user(headers)
    except ApiError as bad_request:
        return bad_request
    if wanted is None:
        return Impersonated(recording.BOB, "")
    return impersonation.impersonate(RECORDED, attributes.attributes_of(REVIEW, recording.BOB), wanted, last_mode=last)


def _answer(found: Impersonated | ApiError) -> dict[str, Any]:
    if isinstance(found, ApiError):
        return found.status.as_json()
    asked = attributes.attributes_of(REVIEW, found.user)
    return user_info(found.user) if RECORDED.check(asked).is_allowed else attributes.forbidden(asked).status.as_json()


# ---------------------------------------------------------------- headers


def test_names_of_headers_are_read_in_any_case_and_keys_are_unescaped() -> None:
    headers = [
        ("IMPERSONATE-USER", "a"),
        ("impersonate-group", "g"),
        ("Impersonate-Group", "h"),
        ("Impersonate-Extra-X%2FY", "1"),
    ]
    headers += [("impersonate-extra-x%2fy", "2"), ("Impersonate-Extra-Bad%zz", "3"), ("Other", "x")]
    assert impersonation.wanted_user(headers) == User("a", "", ("g", "h"), {"bad%zz": ("3",), "x/y": ("1", "2")})


def test_without_such_headers_nobody_is_impersonated() -> None:
    assert impersonation.wanted_user([("Authorization", "Bearer x")]) is None


# ---------------------------------------------------------------- own nodes

ROBOT = User("system:serviceaccount:n:robot", extra={"authentication.kubernetes.io/node-name": ("n1",)})
NODE = User("system:node:n1")


def _rbac(*rules: dict[str, Any]) -> Rbac:
    role = {"kind": "ClusterRole", "metadata": {"name": "r"}, "rules": list(rules)}
    subject = {"kind": "ServiceAccount", "namespace": "n", "name": "robot"}
    binding = {"kind": "ClusterRoleBinding", "metadata": {"name": "b"}, "subjects": [subject]}
    binding["roleRef"] = {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "r"}
    return bootstrap.rbac().put(role).put(binding)


PODS = Attributes(ROBOT, "list", resource_request=True, version="v1", resource="pods")
ON_PODS = {"apiGroups": [""], "resources": ["pods"], "verbs": ["impersonate-on:associated-node:list"]}
AS_NODE = {"apiGroups": ["authentication.k8s.io"], "resources": ["nodes"], "verbs": ["impersonate:associated-node"]}


def test_a_service_account_may_be_the_node_that_it_runs_on() -> None:
    found = impersonation.impersonate(_rbac(ON_PODS, AS_NODE), PODS, NODE)
    user = User("system:node:n1", groups=("system:nodes", "system:authenticated"))
    assert found == Impersonated(user, "associated-node", "impersonate:associated-node")


@pytest.mark.parametrize(
    ("wanted", "text"),
    [
        (User("system:node:n2"), "impersonate-on:arbitrary-node:list"),
        (User("system:node:n1", groups=("g",)), "cannot impersonate resource"),
    ],
)
def test_but_no_other_and_with_nothing_added(wanted: User, text: str) -> None:
    found = impersonation.impersonate(_rbac(ON_PODS, AS_NODE), PODS, wanted)
    assert isinstance(found, ApiError)
    assert text in str(found)


def test_the_right_to_be_ones_node_is_one_for_all_nodes() -> None:
    found = impersonation.impersonate(_rbac(ON_PODS, {**AS_NODE, "resourceNames": ["n1"]}), PODS, NODE)
    assert isinstance(found, ApiError)
    expected = (
        'nodes.authentication.k8s.io "*" is forbidden: User "system:serviceaccount:n:robot" cannot impersonate:associated-node '
    )
    assert str(found) == expected + 'resource "nodes" in API group "authentication.k8s.io" at the cluster scope'
