"""Rules: what each wildcard is good for."""

import pytest

from kadmit.api.meta import GroupVersionKind, GroupVersionResource
from kadmit.matching.attributes import Attributes
from kadmit.matching.rules import compile_rule

PODS = GroupVersionResource("", "v1", "pods")
POD = GroupVersionKind("", "v1", "Pod")


def request(subresource: str = "", namespace: str = "default") -> Attributes:
    return Attributes(POD, PODS, "CREATE", name="web", namespace=namespace, subresource=subresource)


@pytest.mark.parametrize(
    ("resource", "subresource", "matches"),
    [
        ("pods", "", True),
        ("pods", "status", False),
        ("pods/status", "status", True),
        ("pods/status", "", False),
        ("pods/*", "status", True),
        ("pods/*", "", True),
        ("*", "", True),
        ("*", "status", False),
        ("*/status", "status", True),
        ("*/status", "scale", False),
        ("*/*", "", True),
        ("*/*", "status", True),
        ("services", "", False),
        ("services/*", "status", False),
    ],
)
def test_resources_and_subresources_match_by_name_or_star(resource: str, subresource: str, matches: bool) -> None:
    rule = compile_rule({"operations": ["*"], "apiGroups": ["*"], "apiVersions": ["*"], "resources": [resource]})
    assert rule.matches(request(subresource), PODS) is matches


@pytest.mark.parametrize(
    ("scope", "namespace", "matches"),
    [
        ("*", "default", True),
        ("*", "", True),
        ("Namespaced", "default", True),
        ("Namespaced", "", False),
        ("Cluster", "default", False),
        ("Cluster", "", True),
    ],
)
def test_a_scope_is_about_having_a_namespace(scope: str, namespace: str, matches: bool) -> None:
    raw = {"operations": ["CREATE"], "apiGroups": [""], "apiVersions": ["v1"], "resources": ["pods"], "scope": scope}
    assert compile_rule(raw).matches(request(namespace=namespace), PODS) is matches


@pytest.mark.parametrize("part", ["operations", "apiGroups", "apiVersions", "resources"])
def test_every_part_of_a_rule_must_match(part: str) -> None:
    raw = {"operations": ["CREATE"], "apiGroups": [""], "apiVersions": ["v1"], "resources": ["pods"]}
    assert compile_rule(raw).matches(request(), PODS)
    assert not compile_rule({**raw, part: ["other"]}).matches(request(), PODS)
