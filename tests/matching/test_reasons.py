"""Reasons agree with matching, and name the clause and what is wrong with it."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kadmit.api.meta import GroupVersionKind, GroupVersionResource
from kadmit.matching import reasons
from kadmit.matching.attributes import CONNECT, CREATE, DELETE, UPDATE, Attributes, Json
from kadmit.matching.criteria import compile_policy_criteria, compile_webhook_criteria
from kadmit.matching.reasons import Surroundings

DEPLOYMENTS = GroupVersionResource("apps", "v1", "deployments")
OLD_DEPLOYMENTS = GroupVersionResource("extensions", "v1beta1", "deployments")
PODS, NAMESPACES = GroupVersionResource("", "v1", "pods"), GroupVersionResource("", "v1", "namespaces")
KINDS = {
    DEPLOYMENTS: GroupVersionKind("apps", "v1", "Deployment"),
    OLD_DEPLOYMENTS: GroupVersionKind("extensions", "v1beta1", "Deployment"),
    PODS: GroupVersionKind("", "v1", "Pod"),
    NAMESPACES: GroupVersionKind("", "v1", "Namespace"),
}
SAME: dict[GroupVersionResource, tuple[tuple[GroupVersionResource, GroupVersionKind], ...]]
SAME = {resource: ((resource, kind),) for resource, kind in KINDS.items()}
SAME[DEPLOYMENTS] = SAME[OLD_DEPLOYMENTS] = tuple((r, KINDS[r]) for r in (DEPLOYMENTS, OLD_DEPLOYMENTS))

# ---------------------------------------------------------------- the same answers as matching

_labels = st.dictionaries(st.sampled_from("ab"), st.sampled_from("xy"), max_size=2)
_objects = st.none() | st.builds(lambda labels: {"metadata": {"labels": labels} if labels else {}}, _labels)


def _some(*items: str) -> st.SearchStrategy[list[str]]:
    return st.lists(st.sampled_from(items), min_size=1, max_size=2)


_rules = st.fixed_dictionaries(
    {
        "operations": _some(CREATE, UPDATE, DELETE, "*"),
        "apiGroups": _some("", "apps", "extensions", "*"),
        "apiVersions": _some("v1", "v1beta1", "*"),
        "resources": _some("pods", "deployments", "namespaces", "pods/status", "*", "*/*", "pods/*", "*/status"),
    },
    optional={"scope": st.sampled_from(["*", "Cluster", "Namespaced"]), "resourceNames": _some("one", "two")},
)
_expressions = st.fixed_dictionaries(
    {
        "key": st.sampled_from("ab"),
        "operator": st.sampled_from(["In", "NotIn", "Exists", "DoesNotExist"]),
        "values": _some("x", "y"),
    }
)
_selectors = st.fixed_dictionaries({}, optional={"matchLabels": _labels, "matchExpressions": st.lists(_expressions, max_size=2)})
_criteria = st.fixed_dictionaries(
    {},
    optional={
        "resourceRules": st.lists(_rules, max_size=3),
        "rules": st.lists(_rules, max_size=3),
        "excludeResourceRules": st.lists(_rules, max_size=2),
        "namespaceSelector": _selectors,
        "objectSelector": _selectors,
        "matchPolicy": st.sampled_from(["Exact", "Equivalent"]),
    },
)
_requests = st.builds(
    lambda resource, operation, name, namespace, sub, new, old: Attributes(
        KINDS[resource], resource, operation, name, namespace, sub, new, old
    ),
    st.sampled_from(list(KINDS)),
    st.sampled_from([CREATE, UPDATE, DELETE, CONNECT]),
    st.sampled_from(["", "one", "three"]),
    st.sampled_from(["", "somewhere"]),
    st.sampled_from(["", "status"]),
    _objects,
    _objects,
)


@given(_criteria, _requests, _objects, st.booleans())
def test_there_is_a_reason_if_and_only_if_the_request_does_not_match(
    raw: Json, request: Attributes, namespace: Json | None, webhook: bool
) -> None:
    criteria = compile_webhook_criteria(raw) if webhook else compile_policy_criteria(raw)
    around = Surroundings(SAME[request.resource], namespace)
    assert (reasons.reason(criteria, request, around) is None) == (criteria.match(request, around, around) is not None)


# ---------------------------------------------------------------- texts

POD = Attributes(KINDS[PODS], PODS, CREATE, "web", "prod", object={"metadata": {"labels": {"team": "a"}}})
RULE = {"operations": [CREATE], "apiGroups": [""], "apiVersions": ["v1"], "resources": ["pods"]}
AROUND = Surroundings(SAME[PODS], {"metadata": {"labels": {"env": "dev"}}})


def rules(**changes: Any) -> Json:
    return {"resourceRules": [{**RULE, **changes}]}


@pytest.mark.parametrize(
    ("raw", "told"),
    [
        (rules(operations=[UPDATE, DELETE]), "resourceRules[0]: operations [DELETE, UPDATE] lack CREATE"),
        (rules(apiGroups=["apps"]), 'resourceRules[0]: apiGroups [apps] lack ""'),
        (rules(apiVersions=["v2"]), "resourceRules[0]: apiVersions [v2] lack v1"),
        (rules(resources=["pods/exec", "services"]), "resourceRules[0]: resources [pods/exec, services] lack pods"),
        (rules(scope="Cluster"), "resourceRules[0]: scope is Cluster"),
        (rules(resourceNames=["db"]), 'resourceRules[0]: resourceNames [db] lack "web"'),
        (
            rules(operations=[DELETE], resources=["services"]),
            "resourceRules[0]: operations [DELETE] lack CREATE, resources [services] lack pods",
        ),
        ({"resourceRules": [RULE], "excludeResourceRules": [RULE]}, 'excludeResourceRules[0]: it is about CREATE pods "web"'),
        (
            {"namespaceSelector": {"matchExpressions": [{"key": "env", "operator": "In", "values": ["prod", "test"]}]}},
            'namespaceSelector: namespace "prod" has env=dev (wanted env in (prod,test))',
        ),
        (
            {"namespaceSelector": {"matchLabels": {"tier": "1"}}},
            'namespaceSelector: namespace "prod" has no label tier (wanted tier=1)',
        ),
        (
            {"objectSelector": {"matchExpressions": [{"key": "team", "operator": "DoesNotExist"}]}},
            "objectSelector: the object has team=a (wanted !team)",
        ),
        (
            {"objectSelector": {"matchLabels": {"team": "b"}, "matchExpressions": [{"key": "app", "operator": "Exists"}]}},
            "objectSelector: the object has team=a (wanted team=b) and no label app (wanted app)",
        ),
    ],
)
def test_a_reason_names_the_clause_and_what_is_wrong(raw: Json, told: str) -> None:
    assert str(reasons.reason(compile_policy_criteria(raw), POD, AROUND)) == told


def test_of_several_rules_each_has_its_own_why() -> None:
    raw = {"resourceRules": [{**RULE, "operations": [DELETE]}, {**RULE, "resources": ["services"]}]}
    found = reasons.reason(compile_policy_criteria(raw), POD, AROUND)
    assert found is not None
    assert str(found) == 'resourceRules: none of 2 rules is about CREATE pods "web"'
    assert found.details == ("operations [DELETE] lack CREATE", "resources [services] lack pods")


def test_a_rule_is_compared_with_the_equivalent_that_comes_nearest() -> None:
    raw = {
        "resourceRules": [{**RULE, "operations": [UPDATE], "apiGroups": ["extensions"], "apiVersions": ["*"], "resources": ["*"]}]
    }
    request = Attributes(KINDS[DEPLOYMENTS], DEPLOYMENTS, CREATE, "web", "prod")
    found = reasons.reason(compile_policy_criteria(raw), request, Surroundings(SAME[DEPLOYMENTS]))
    assert str(found) == "resourceRules[0]: operations [UPDATE] lack CREATE (taken as deployments of extensions/v1beta1)"


def test_the_rules_of_a_webhook_have_their_own_name() -> None:
    assert str(reasons.reason(compile_webhook_criteria({}), POD, AROUND)) == "rules: there are no rules"


def test_every_clause_is_looked_at_by_itself() -> None:
    raw = {"objectSelector": {"matchLabels": {"team": "b"}}, "resourceRules": [{**RULE, "operations": [DELETE]}, RULE]}
    examined = reasons.examine(compile_policy_criteria(raw), POD, AROUND)
    assert (examined.namespace, examined.object, examined.rules, examined.against) == (True, False, True, 1)
    assert examined.matched == (1,)
