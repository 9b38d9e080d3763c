"""The variables of a request: made once, bound often."""

from typing import Any

import pytest

from kadmit.api.meta import GroupVersionKind, GroupVersionResource
from kadmit.cel.library.authorizer import Attributes as Asked
from kadmit.cel.library.authorizer import Decision, User
from kadmit.matching.attributes import Attributes
from kadmit.policy import compiler
from kadmit.policy.bindings import RequestVariables, variables

V1 = GroupVersionResource("apps", "v1", "deployments"), GroupVersionKind("apps", "v1", "Deployment")
BETA = GroupVersionResource("apps", "v1beta1", "deployments"), GroupVersionKind("apps", "v1beta1", "Deployment")
REQUEST = Attributes(V1[1], V1[0], "CREATE", name="web", namespace="default", object={"n": 1}, user=User("alice"))


class Nobody:
    def check(self, attributes: Asked) -> Decision:
        raise AssertionError(attributes)


def plain(bound: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in bound.items() if not name.startswith("authorizer")}


@pytest.mark.parametrize(("resource", "kind"), [V1, BETA])
def test_binding_again_gives_what_a_single_evaluation_gets(resource: GroupVersionResource, kind: GroupVersionKind) -> None:
    many = RequestVariables(REQUEST, None)
    for number in (1, 2):
        now = REQUEST.with_object({"n": number})
        assert many.bind(now, resource, kind) == variables(now, resource, kind)


def test_a_request_is_told_from_what_it_is_taken_as() -> None:
    request = variables(REQUEST, *BETA)["request"]
    assert (request["kind"]["version"], request["requestKind"]["version"]) == ("v1beta1", "v1")
    assert (request["resource"]["version"], request["requestResource"]["version"]) == ("v1beta1", "v1")


def test_an_evaluation_cannot_change_the_next_ones_variables() -> None:
    many = RequestVariables(REQUEST, None)
    many.bind(REQUEST, *V1, params={"p": 1}).clear()
    assert many.bind(REQUEST, *V1)["params"] is None
    assert many.bind(REQUEST, *V1)["request"]["name"] == "web"


def test_the_authorizer_is_there_for_those_who_ask() -> None:
    many = RequestVariables(REQUEST, Nobody())
    asking, other = many.bind(REQUEST, *V1), many.bind(REQUEST, *V1, authorizer=False)
    assert {"authorizer", "authorizer.requestResource"} <= asking.keys()
    assert other == plain(asking)
    assert plain(many.bind(REQUEST, *V1)) == other


@pytest.mark.parametrize(
    ("place", "asks"),
    [
        ({}, False),
        ({"matchConditions": [{"name": "c", "expression": "authorizer.path('/x').check('get').allowed()"}]}, True),
        ({"variables": [{"name": "v", "expression": "authorizer.requestResource.check('get').allowed()"}]}, True),
    ],
)
def test_a_policy_asks_the_authorizer_if_any_expression_does(place: dict[str, Any], asks: bool) -> None:
    policy = compiler.compile_mutating({"metadata": {"name": "p"}, "spec": place})
    assert policy.asks_authorizer is asks
