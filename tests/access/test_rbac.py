"""What roles and bindings allow, and the reasons given."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.access import recording

from kadmit.access import bootstrap, reviews
from kadmit.access.rbac import Rbac
from kadmit.cel.library.authorizer import Attributes, Decision, User

RBAC = "rbac.authorization.k8s.io"
RECORDED = recording.cluster("access")


@pytest.mark.parametrize("row", recording.rows("access"), ids=str)
def test_a_recorded_question_gets_the_recorded_answer(row: dict[str, Any]) -> None:
    asked = reviews.attributes_of("SubjectAccessReview", row["spec"], User())
    found = RECORDED.check(asked)
    assert (found.is_allowed, found.reason) == (row["status"]["allowed"], row["status"].get("reason", ""))


# ---------------------------------------------------------------- building blocks


def role(name: str, *rules: dict[str, Any], namespace: str = "", **more: Any) -> dict[str, Any]:
    metadata = {"name": name, "namespace": namespace} if namespace else {"name": name}
    metadata |= more.pop("metadata", {})
    return {"kind": "Role" if namespace else "ClusterRole", "metadata": metadata, "rules": list(rules), **more}


def binding(name: str, to: str, *subjects: dict[str, Any], kind: str = "ClusterRole", namespace: str = "") -> dict[str, Any]:
    metadata = {"name": name, "namespace": namespace} if namespace else {"name": name}
    made = {"kind": "RoleBinding" if namespace else "ClusterRoleBinding", "metadata": metadata, "subjects": list(subjects)}
    return made | {"roleRef": {"apiGroup": RBAC, "kind": kind, "name": to}}


def rule(verbs: str, groups: str, resources: str, *names: str) -> dict[str, Any]:
    made = {"verbs": verbs.split(","), "apiGroups": groups.split(","), "resources": resources.split(",")}
    return {**made, "resourceNames": list(names)} if names else made


def user(name: str) -> dict[str, Any]:
    return {"kind": "User", "apiGroup": RBAC, "name": name}


def ask(rbac: Rbac, verb: str, resource: str, *, who: User = recording.ALICE, group: str = "", namespace: str = "") -> Decision:
    plain, _, subresource = resource.partition("/")
    return rbac.check(
        Attributes(who, verb, resource_request=True, group=group, resource=plain, subresource=subresource, namespace=namespace)
    )


# ---------------------------------------------------------------- subjects


def test_members_of_system_masters_may_do_anything_and_no_reason_is_given() -> None:
    found = ask(Rbac.build([]), "delete", "nodes", who=recording.ADMIN)
    assert found.is_allowed
    assert found.reason == ""


def test_a_service_account_without_a_namespace_is_one_of_the_bindings_own() -> None:
    subject = {"kind": "ServiceAccount", "name": "robot"}
    rbac = Rbac.build([role("r", rule("get", "", "pods"), namespace="n"), binding("b", "r", subject, kind="Role", namespace="n")])
    found = ask(rbac, "get", "pods", who=User("system:serviceaccount:n:robot"), namespace="n")
    assert found.reason == 'RBAC: allowed by RoleBinding "b/n" of Role "r" to ServiceAccount "robot/n"'
    assert not ask(rbac, "get", "pods", who=User("system:serviceaccount:m:robot"), namespace="n").is_allowed


def test_a_service_account_without_a_namespace_in_a_cluster_wide_binding_is_nobody() -> None:
    rbac = Rbac.build([role("r", rule("*", "*", "*")), binding("b", "r", {"kind": "ServiceAccount", "name": "robot"})])
    assert not ask(rbac, "get", "pods", who=User("system:serviceaccount::robot")).is_allowed


def test_the_reason_names_the_first_subject_that_is_about_the_user() -> None:
    group = {"kind": "Group", "apiGroup": RBAC, "name": "developers"}
    rbac = Rbac.build([role("r", rule("get", "", "pods")), binding("b", "r", user("bob"), group, user("alice"))])
    assert ask(rbac, "get", "pods").reason == 'RBAC: allowed by ClusterRoleBinding "b" of ClusterRole "r" to Group "developers"'


# ---------------------------------------------------------------- rules


@pytest.mark.parametrize(
    ("held", "asked", "allowed"),
    [
        ("pods", "pods", True),
        ("pods", "pods/log", False),
        ("pods/log", "pods/log", True),
        ("pods/log", "pods", False),
        ("*", "pods/log", True),
        ("*/scale", "deployments/scale", True),
        ("*/scale", "scale", False),
        ("pods/*", "pods/log", False),  # only a subresource of that name
        ("pods/*", "pods/*", True),
        ("pods", "*", False),
    ],
)
def test_resources_and_subresources(held: str, asked: str, allowed: bool) -> None:
    rbac = Rbac.build([role("r", rule("get", "", held)), binding("b", "r", user("alice"))])
    assert ask(rbac, "get", asked).is_allowed is allowed


@pytest.mark.parametrize(
    ("held", "path", "allowed"),
    [
        ("/logs/*", "/logs/a/b", True),
        ("/logs/*", "/logs", False),
        ("/logs*", "/logsx", True),
        ("*", "/anything", True),
        ("/metrics", "/metrics", True),
        ("/metrics", "/metrics/x", False),
        ("/a*b", "/axb", False),
    ],
)
def test_paths(held: str, path: str, allowed: bool) -> None:
    rules = [{"verbs": ["get"], "nonResourceURLs": [held]}]
    rbac = Rbac.build([role("r", *rules), binding("b", "r", user("alice"))])
    assert rbac.check(Attributes(recording.ALICE, "get", path=path)).is_allowed is allowed
    assert not rbac.check(Attributes(recording.ALICE, "post", path=path)).is_allowed


def test_missing_roles_are_named_once_each_where_nothing_allows() -> None:
    missing = [binding(f"b{i}", "none", user("alice")) for i in range(2)]
    rbac = Rbac.build([*missing, binding("c", "gone", user("alice"), kind="Role", namespace="n")])
    expected = 'RBAC: [clusterrole.rbac.authorization.k8s.io "none" not found, role.rbac.authorization.k8s.io "gone" not found]'
    assert ask(rbac, "get", "pods", namespace="n").reason == expected


# ---------------------------------------------------------------- aggregation


def test_view_edit_and_admin_gather_their_rules() -> None:
    rbac = bootstrap.rbac().put(binding("b", "admin", user("alice"), namespace="n"))
    assert ask(rbac, "get", "pods", namespace="n").is_allowed, "from view, through edit"
    assert ask(rbac, "create", "pods", namespace="n").is_allowed, "from edit"
    assert ask(rbac, "create", "roles", group=RBAC, namespace="n").is_allowed, "its own"
    assert not ask(rbac, "get", "pods").is_allowed


def test_a_new_role_with_the_label_counts_at_once() -> None:
    rbac = bootstrap.rbac().put(binding("b", "view", user("alice")))
    labelled = {"labels": {"rbac.authorization.k8s.io/aggregate-to-view": "true"}}
    assert not ask(rbac, "get", "widgets", group="x.io").is_allowed
    grown = rbac.put(role("widgets", rule("get", "x.io", "widgets"), metadata=labelled))
    assert ask(grown, "get", "widgets", group="x.io").is_allowed
    assert not ask(grown.remove("ClusterRole", "", "widgets"), "get", "widgets", group="x.io").is_allowed


def test_rules_of_its_own_do_not_count_in_an_aggregated_role() -> None:
    chosen: dict[str, Any] = {"aggregationRule": {"clusterRoleSelectors": [{"matchLabels": {"a": "b"}}]}}
    objects = [role("r", rule("get", "", "pods"), **chosen), binding("b", "r", user("alice"))]
    assert not ask(Rbac.build(objects), "get", "pods").is_allowed
    assert ask(Rbac.build(objects, aggregates=False), "get", "pods").is_allowed


def test_roles_that_gather_each_other_end() -> None:
    def circular(name: str) -> dict[str, Any]:
        chosen: dict[str, Any] = {"aggregationRule": {"clusterRoleSelectors": [{"matchLabels": {"all": "yes"}}]}}
        return role(name, metadata={"labels": {"all": "yes"}}, **chosen)

    objects = [circular("a"), circular("b"), role("c", rule("get", "", "pods"), metadata={"labels": {"all": "yes"}})]
    rbac = Rbac.build(objects)
    assert rbac.resolved["a"].rules == rbac.resolved["b"].rules == rbac.resolved["c"].rules


# ---------------------------------------------------------------- changes

NAMES = st.sampled_from(["a", "b"])
OBJECTS = st.one_of(
    st.builds(lambda n, r: role(n, rule("get", "", r)), NAMES, st.sampled_from(["pods", "secrets"])),
    st.builds(lambda n, r: role(n, rule("list", "", r), namespace="n"), NAMES, st.sampled_from(["pods", "secrets"])),
    st.builds(lambda n, to, u: binding(n, to, user(u)), NAMES, NAMES, st.sampled_from(["alice", "bob"])),
    st.builds(
        lambda n, to, k: binding(n, to, user("alice"), kind=k, namespace="n"),
        NAMES,
        NAMES,
        st.sampled_from(["Role", "ClusterRole"]),
    ),
)


@given(st.lists(OBJECTS, max_size=8), st.lists(st.integers(0, 7), max_size=4))
def test_changing_one_object_at_a_time_comes_to_the_same_as_building_anew(objects: list[dict[str, Any]], gone: list[int]) -> None:
    changed = Rbac.build([])
    held: dict[tuple[str, str, str], dict[str, Any]] = {}
    for made in objects:
        changed = changed.put(made)
        held[made["kind"], made["metadata"].get("namespace", ""), made["metadata"]["name"]] = made
    for key in [key for i, key in enumerate(list(held)) if i in gone]:
        changed = changed.remove(*key)
        del held[key]
    assert changed == Rbac.build(held.values())


def test_other_kinds_and_malformed_objects_are_left_out() -> None:
    odd: list[dict[str, Any]] = [{"kind": "Pod"}, {"kind": "Role"}, {"kind": "RoleBinding", "subjects": [1], "roleRef": None}, {}]
    odd += [
        {"kind": "ClusterRole", "metadata": {"name": "x"}, "rules": [None, {"verbs": "get"}]},
        {"kind": "ClusterRole", "metadata": 3},
    ]
    rbac = Rbac.build(odd)
    assert not ask(rbac, "get", "pods").is_allowed


def test_many_subjects_and_rules_are_no_burden() -> None:
    many = [user(f"u{i}") for i in range(20_000)]
    rules = [rule("get", "", f"r{i}") for i in range(20_000)]
    rbac = Rbac.build([role("r", *rules), binding("b", "r", *many)])
    assert ask(rbac, "get", "r19999", who=User("u19999")).is_allowed
