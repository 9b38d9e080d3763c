"""The roles that are there from the start."""

from collections import Counter

from kadmit.access import bootstrap


def test_all_that_kube_apiserver_makes_is_there() -> None:
    made = Counter(o["kind"] for o in bootstrap.objects())
    assert made == {"ClusterRole": 69, "ClusterRoleBinding": 50, "Role": 7, "RoleBinding": 7}


def test_every_object_says_where_it_comes_from() -> None:
    for made in bootstrap.objects():
        assert made["metadata"]["labels"]["kubernetes.io/bootstrapping"] == "rbac-defaults"
        assert made["metadata"]["annotations"] == {"rbac.authorization.kubernetes.io/autoupdate": "true"}


def test_a_role_in_full() -> None:
    found = next(o for o in bootstrap.objects() if o["metadata"]["name"] == "cluster-admin" and o["kind"] == "ClusterRole")
    assert found["rules"] == [
        {"verbs": ["*"], "apiGroups": ["*"], "resources": ["*"]},
        {"verbs": ["*"], "nonResourceURLs": ["*"]},
    ]


def test_every_binding_refers_to_a_role_that_is_there() -> None:
    rbac = bootstrap.rbac()
    for namespace, scope in rbac.scopes.items():
        for binding in scope.bindings.values():
            assert not isinstance(rbac.rules_of(binding.role, namespace), Exception), binding.text


def test_an_aggregated_role_has_no_rules_of_its_own_and_gathers_some() -> None:
    view = next(o for o in bootstrap.objects() if o["metadata"]["name"] == "view")
    assert view["rules"] is None
    assert [len(bootstrap.rbac().resolved[name].rules) for name in ("view", "edit", "admin")] == [12, 27, 29]
