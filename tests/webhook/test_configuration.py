"""The configurations that policies become: rules that are their union, and everything else mapped one to one."""

import itertools
from collections.abc import Iterable

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.webhook.reviewing import CONFIG_MAPS, Json, label, mutating, validating, view

from kadmit.api.meta import GroupVersionKind
from kadmit.matching.rules import Rule
from kadmit.validation import validate_create
from kadmit.webhook.configuration import Target, Wishes, as_json, configurations, path_of, union
from kadmit.webhook.view import View

SERVICE = Wishes(Target(namespace="kadmit-system", service="kadmit-webhook", authority=b"PEM"), excluded=("kadmit-system",))


def made(seen: View, wishes: Wishes = SERVICE) -> tuple[Json, Json]:
    return configurations(seen.published, wishes)


def test_a_policy_becomes_an_entry() -> None:
    mutating_one, validating_one = made(view(mutating("p", label("a"))))
    assert validating_one["webhooks"] == []
    assert mutating_one["metadata"]["name"] == "00-kadmit"
    assert mutating_one["webhooks"] == [
        {
            "name": "never-fail.mutate.policies.kadmit.dev",
            "admissionReviewVersions": ["v1", "v1beta1"],
            "clientConfig": {
                "service": {"namespace": "kadmit-system", "name": "kadmit-webhook", "path": "/mutate/fail/never", "port": 443},
                "caBundle": "UEVN",
            },
            "rules": [
                {
                    "operations": ["CREATE", "UPDATE"],
                    "apiGroups": [""],
                    "apiVersions": ["v1"],
                    "resources": ["configmaps"],
                    "scope": "*",
                }
            ],
            "failurePolicy": "Fail",
            "matchPolicy": "Equivalent",
            "namespaceSelector": {
                "matchExpressions": [{"key": "kubernetes.io/metadata.name", "operator": "NotIn", "values": ["kadmit-system"]}]
            },
            "objectSelector": {},
            "sideEffects": "None",
            "timeoutSeconds": 10,
            "reinvocationPolicy": "Never",
        }
    ]


def test_failure_and_reinvocation_policies_make_entries_of_their_own() -> None:
    seen = view(
        mutating("a", label("a"), failurePolicy="Ignore"),
        mutating("b", label("b"), reinvocationPolicy="IfNeeded"),
        validating("c", {"expression": "true"}, failurePolicy="Ignore"),
    )
    found = [
        (hook["name"].split(".")[0], hook["failurePolicy"], hook.get("reinvocationPolicy"))
        for each in made(seen)
        for hook in each["webhooks"]
    ]
    assert found == [
        ("never-ignore", "Ignore", "Never"),
        ("ifneeded-fail", "Fail", "IfNeeded"),
        ("ignore", "Ignore", None),
    ]


def test_exact_policies_alone_make_an_exact_entry() -> None:
    exact = {"resourceRules": [CONFIG_MAPS], "matchPolicy": "Exact"}
    seen = view(mutating("p", label("a"), matchConstraints=exact))
    assert made(seen)[0]["webhooks"][0]["matchPolicy"] == "Exact"
    seen = view(mutating("p", label("a"), matchConstraints=exact), mutating("q", label("b")))
    assert made(seen)[0]["webhooks"][0]["matchPolicy"] == "Equivalent"


def test_a_policy_for_everything_leaves_out_what_asks_who_may() -> None:
    rule = {"apiGroups": ["*"], "apiVersions": ["*"], "operations": ["*"], "resources": ["*/*"]}
    entry = made(view(mutating("p", label("a"), rules=[rule])))[0]["webhooks"][0]
    exempt = '["authentication.k8s.io", "authorization.k8s.io", "policies.kadmit.dev"]'
    assert entry["matchConditions"] == [{"name": "not-exempt", "expression": f"!(request.resource.group in {exempt})"}]


def test_an_unbound_policy_is_not_asked_for() -> None:
    assert [each["webhooks"] for each in made(view(mutating("p", label("a"))[0]))] == [[], []]


def test_outside_of_a_cluster_it_is_reached_by_a_url() -> None:
    wishes = Wishes(Target(url="https://192.0.2.7:9443/"), timeout=3)
    entry = made(view(validating("p", {"expression": "true"})), wishes)[1]["webhooks"][0]
    assert entry["clientConfig"] == {"url": "https://192.0.2.7:9443/validate/fail"}
    assert (entry["timeoutSeconds"], entry["namespaceSelector"]) == (3, {})


def test_a_bundle_of_cert_manager_is_left_to_it() -> None:
    wishes = Wishes(Target(namespace="n", service="s"), certificate="n/c")
    found = made(view(mutating("p", label("a"))), wishes)[0]
    assert found["metadata"]["annotations"] == {"cert-manager.io/inject-ca-from": "n/c"}
    assert "caBundle" not in found["webhooks"][0]["clientConfig"]


def test_configurations_are_valid() -> None:
    rule = {"apiGroups": ["*"], "apiVersions": ["*"], "operations": ["*"], "resources": ["*", "pods/*", "*/scale"]}
    seen = view(mutating("p", label("a"), rules=[rule, CONFIG_MAPS]), validating("q", {"expression": "true"}))
    for each in made(seen):
        kind = GroupVersionKind("admissionregistration.k8s.io", "v1", each["kind"])
        assert validate_create(kind, each) == []
        assert path_of(each).endswith("webhookconfigurations/00-kadmit")


# ---------------------------------------------------------------- the union


def rule(operations: str, groups: str, versions: str, resources: str, scope: str = "*") -> Rule:
    split = [r.partition("/") for r in resources.split()]
    core = frozenset("" if g == "core" else g for g in groups.split())
    return Rule(frozenset(operations.split()), core, frozenset(versions.split()), frozenset((r, s) for r, _, s in split), scope)


@pytest.mark.parametrize(
    ("given_rules", "few"),
    [
        ([("CREATE", "core", "v1", "pods"), ("CREATE", "core", "v1", "services")], [("CREATE", "core", "v1", "pods services")]),
        ([("CREATE", "core", "v1", "pods"), ("UPDATE", "core", "v1", "pods")], [("CREATE UPDATE", "core", "v1", "pods")]),
        ([("*", "core", "v1", "pods"), ("UPDATE", "core", "v1", "pods")], [("*", "core", "v1", "pods")]),
        ([("CREATE", "*", "*", "*/*"), ("CREATE", "apps", "v1", "deployments/scale")], [("CREATE", "*", "*", "*/*")]),
        ([("CREATE", "core", "v1", "pods/*"), ("CREATE", "core", "v1", "pods/exec pods")], [("CREATE", "core", "v1", "pods/*")]),
        ([("CREATE", "core", "v1", "*"), ("CREATE", "core", "v1", "pods/exec")], [("CREATE", "core", "v1", "* pods/exec")]),
        (
            [("CREATE", "core", "v1", "pods", "Namespaced"), ("CREATE", "core", "v1", "pods", "*")],
            [("CREATE", "core", "v1", "pods", "*")],
        ),
        (
            [("CREATE", "core", "v1", "pods"), ("UPDATE", "apps", "v1", "deployments")],
            [("CREATE", "core", "v1", "pods"), ("UPDATE", "apps", "v1", "deployments")],
        ),
        (
            [(o, g, "v1", "things") for o in ("CREATE", "UPDATE") for g in ("a", "b")],
            [("CREATE UPDATE", "a b", "v1", "things")],
        ),
    ],
)
def test_rules_are_joined(given_rules: list[tuple[str, ...]], few: list[tuple[str, ...]]) -> None:
    expected = sorted((as_json(rule(*each)) for each in few), key=str)
    assert sorted((as_json(each) for each in union(rule(*g) for g in given_rules)), key=str) == expected


_WORDS = {
    "operations": ["CREATE", "UPDATE", "*"],
    "groups": ["", "apps", "*"],
    "versions": ["v1", "v2", "*"],
    "resources": ["pods", "pods/exec", "pods/*", "*", "*/exec", "*/*", "services"],
}


def _some(words: list[str]) -> st.SearchStrategy[frozenset[str]]:
    return st.frozensets(st.sampled_from(words), min_size=1, max_size=2)


def _split(resources: Iterable[str]) -> frozenset[tuple[str, str]]:
    return frozenset((r, s) for r, _, s in (each.partition("/") for each in resources))


_RULES = st.builds(
    Rule,
    _some(_WORDS["operations"]),
    _some(_WORDS["groups"]),
    _some(_WORDS["versions"]),
    _some(_WORDS["resources"]).map(_split),
    st.sampled_from(["*", "Namespaced", "Cluster"]),
)
_REQUESTS = list(
    itertools.product(
        ["CREATE", "DELETE"], ["", "apps", "other"], ["v1", "v2", "v3"], ["pods", "nodes"], ["", "exec", "log"],
        ["Namespaced", "Cluster"],
    )
)  # fmt: skip


def _matches(one: Rule, operation: str, group: str, version: str, resource: str, subresource: str, scope: str) -> bool:
    in_version = version in one.versions or "*" in one.versions
    return one.could_match(group, resource, subresource, operation) and in_version and one.scope in ("*", scope)


@given(st.lists(_RULES, min_size=1, max_size=6))
def test_the_union_matches_exactly_what_its_rules_match(rules: list[Rule]) -> None:
    few = union(rules)
    assert len(few) <= len(rules)
    for asked in _REQUESTS:
        assert any(_matches(r, *asked) for r in few) == any(_matches(r, *asked) for r in rules)
