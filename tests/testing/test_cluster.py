"""kadmit_cluster: objects are loaded, requests go through admission, and results tell what came of it."""

from pathlib import Path

import pytest
from tests.testing.policies import EDITOR, EDITORS_ONLY, LABELLING, LIMITING, configmap

from kadmit.authoring.manifests import Unreadable
from kadmit.authoring.workspace import Unusable
from kadmit.testing import Cluster, Denied, NoVerdict, assert_admitted, assert_denied, assert_patched, assert_unchanged

LOOKED_AT = configmap("a", x="1")


def hooks(**fields: object) -> dict[str, object]:
    webhook = {
        "name": "hook.example.com",
        "clientConfig": {"url": "https://hook.example.com/"},
        "rules": [{"apiGroups": ["*"], "apiVersions": ["*"], "operations": ["*"], "resources": ["*/*"]}],
        "sideEffects": "None",
        "admissionReviewVersions": ["v1"],
        **fields,
    }
    return {
        "apiVersion": "admissionregistration.k8s.io/v1",
        "kind": "ValidatingWebhookConfiguration",
        "metadata": {"name": "hooks"},
        "webhooks": [webhook],
    }


def test_every_verb_is_answered_with_the_object(kadmit_cluster: Cluster) -> None:
    cluster = kadmit_cluster
    assert_admitted(cluster.create(LOOKED_AT), object={"data": {"x": "1"}})
    assert_admitted(cluster.apply(configmap("a", y="2")), object={"data": {"x": "1", "y": "2"}})
    assert_admitted(cluster.patch(LOOKED_AT, {"data": {"x": None}}), object={"data": {"x": None, "y": "2"}})
    assert_admitted(cluster.patch(LOOKED_AT, [{"op": "add", "path": "/data/z", "value": "3"}]), object={"data": {"z": "3"}})
    assert cluster.update(LOOKED_AT).object == {**LOOKED_AT, "metadata": {"name": "a", "namespace": "default"}}
    assert_admitted(cluster.delete(LOOKED_AT))
    assert cluster.get(LOOKED_AT) is None


def test_an_apply_that_makes_an_object_is_a_create(kadmit_cluster: Cluster) -> None:
    assert [kadmit_cluster.apply(LOOKED_AT).operation for _ in range(2)] == ["CREATE", "UPDATE"]


def test_a_strategic_patch_merges_lists_by_key(kadmit_cluster: Cluster) -> None:
    containers = [{"name": "main", "image": "a:1"}]
    pod = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p"}, "spec": {"containers": containers}}
    kadmit_cluster.create(pod)
    patched = kadmit_cluster.patch(pod, {"spec": {"containers": [{"name": "main", "image": "a:2"}]}}, type="strategic")
    assert_admitted(patched, object={"spec": {"containers": [{"name": "main", "image": "a:2"}]}})


def test_a_type_of_patch_that_nobody_knows_is_refused(kadmit_cluster: Cluster) -> None:
    with pytest.raises(ValueError, match=r"type of patch 'clever': must be one of json, merge, strategic, apply"):
        kadmit_cluster.patch(LOOKED_AT, {}, type="clever")


def test_a_dry_run_leaves_nothing_behind(kadmit_cluster: Cluster) -> None:
    assert_admitted(kadmit_cluster.create(LOOKED_AT, dry_run=True), object=LOOKED_AT)
    assert kadmit_cluster.get(LOOKED_AT) is None


def test_a_subresource_is_written_by_its_name(kadmit_cluster: Cluster) -> None:
    pod = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p"}, "spec": {"containers": [{"name": "c", "image": "i"}]}}
    kadmit_cluster.create(pod)
    kadmit_cluster.raising.update({**pod, "status": {"phase": "Running"}}, subresource="status")
    found = kadmit_cluster.get(pod)
    assert found is not None
    assert found["status"]["phase"] == "Running"


def test_a_loaded_policy_counts_for_the_next_request(kadmit_cluster: Cluster) -> None:
    assert_unchanged(kadmit_cluster.create(configmap("before")))
    kadmit_cluster.load(LABELLING)
    assert_patched(kadmit_cluster.create(LOOKED_AT), object={"metadata": {"labels": {"by": "admin"}}})
    kadmit_cluster.unload(LABELLING)
    assert_unchanged(kadmit_cluster.create(configmap("after")))


def test_a_user_asks_for_one_request_or_for_all(kadmit_cluster: Cluster) -> None:
    kadmit_cluster.load(LABELLING)
    once = kadmit_cluster.create(configmap("a"), user="alice", groups=["developers"])
    always = kadmit_cluster.as_user("bob").create(configmap("b"))
    assert_admitted(once, object={"metadata": {"labels": {"by": "alice"}}})
    assert_admitted(always, object={"metadata": {"labels": {"by": "bob"}}})


def test_a_user_has_the_groups_that_the_server_gives(kadmit_cluster: Cluster) -> None:
    kadmit_cluster.load(hooks()).script("hook.example.com", lambda _: True)
    kadmit_cluster.create(LOOKED_AT, user="alice", groups=["developers"])
    kadmit_cluster.as_user("system:serviceaccount:default:builder").delete(LOOKED_AT)
    assert [review["request"]["userInfo"]["groups"] for review in kadmit_cluster.reviews] == [
        ["developers", "system:authenticated"],
        ["system:serviceaccounts", "system:serviceaccounts:default", "system:authenticated"],
    ]


def test_groups_without_a_user_are_nobodys(kadmit_cluster: Cluster) -> None:
    with pytest.raises(ValueError, match="groups need a user"):
        kadmit_cluster.create(LOOKED_AT, groups=["developers"])


def test_a_refusal_has_the_servers_words_and_annotations(kadmit_cluster: Cluster) -> None:
    refused = kadmit_cluster.load(LIMITING).create(configmap("a", x="1", y="2", z="3"))
    text = (
        "configmaps \"a\" is forbidden: ValidatingAdmissionPolicy 'limiting' with binding 'limiting' "
        "denied request: two entries are enough"
    )
    assert (refused.allowed, refused.code, refused.reason, refused.message) == (False, 422, "Invalid", text)
    assert refused.annotations["limiting/operation"] == "CREATE"
    assert "ValidatingAdmissionPolicy" in refused.story
    assert repr(refused) == f"<CREATE configmap/a in default: denied (422 Invalid): {text}>"


def test_a_story_says_what_the_user_could_do_then(kadmit_cluster: Cluster) -> None:
    refused = kadmit_cluster.load(EDITORS_ONLY).create(LOOKED_AT, user="alice")
    kadmit_cluster.load(EDITOR)
    assert "validation 0: false: denied" in refused.story
    assert "is_allowed=True" not in refused.story
    assert_admitted(kadmit_cluster.create(LOOKED_AT, user="alice"))


def test_raising_takes_no_refusal(kadmit_cluster: Cluster) -> None:
    with pytest.raises(Denied, match="two entries are enough") as caught:
        kadmit_cluster.load(LIMITING).raising.create(configmap("a", x="1", y="2", z="3"))
    assert caught.value.result.code == 422


def test_objects_come_as_dicts_yaml_files_and_folders(kadmit_cluster: Cluster, tmp_path: Path) -> None:
    (tmp_path / "one.yaml").write_text(LABELLING)
    (tmp_path / "two.yml").write_text(LIMITING)
    (tmp_path / "notes.txt").write_text("not: an object")
    kadmit_cluster.load(tmp_path, [configmap("b")], {"apiVersion": "v1", "kind": "List", "items": [configmap("c")]})
    assert_patched(kadmit_cluster.create("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n"))
    assert all(kadmit_cluster.get(configmap(name)) for name in "abc")


def test_a_relative_path_is_looked_for_beside_the_test_and_in_the_project(kadmit_cluster: Cluster) -> None:
    kadmit_cluster.load("examples/replica-limit.yaml")
    assert_denied(kadmit_cluster.create("examples/deployment.yaml"), message="at most 3 replicas are allowed here")
    with pytest.raises(Unreadable, match=r"nowhere.yaml: no such file or folder in .*tests/testing or "):
        kadmit_cluster.load("nowhere.yaml")


@pytest.mark.parametrize(
    ("wrong", "told"),
    [
        ({"apiVersion": "v1", "kind": "Thing", "metadata": {"name": "a"}}, 'no matches for kind "Thing" in version "v1"'),
        (LABELLING.replace("Object{", "Objekt{"), r"YAML:12:26: .*undeclared reference to 'Objekt'"),
    ],
)
def test_what_cannot_be_there_is_told_with_its_place(kadmit_cluster: Cluster, wrong: object, told: str) -> None:
    with pytest.raises(Unusable, match=told):
        kadmit_cluster.load(wrong)  # type: ignore[arg-type]


def test_a_request_has_one_object(kadmit_cluster: Cluster) -> None:
    with pytest.raises(Unreadable, match="a request has one object, not 2"):
        kadmit_cluster.create(LABELLING)


# ---------------------------------------------------------------- scripted webhooks


def test_a_webhook_that_nobody_scripted_allows(kadmit_cluster: Cluster) -> None:
    assert_admitted(kadmit_cluster.load(hooks()).create(LOOKED_AT))


def test_a_scripted_webhook_answers_and_its_reviews_are_kept(kadmit_cluster: Cluster) -> None:
    kadmit_cluster.load(hooks()).script("hook.example.com", lambda request: f"not {request['name']}")
    refused = kadmit_cluster.create(LOOKED_AT)
    assert_denied(refused, message='admission webhook "hook.example.com" denied the request: not a', code=403)
    assert [review["request"]["operation"] for review in kadmit_cluster.reviews] == ["CREATE"]


def test_what_a_scripted_webhook_raises_reaches_the_test(kadmit_cluster: Cluster) -> None:
    kadmit_cluster.load(hooks()).script("hook.example.com", lambda request: request["no such field"])
    with pytest.raises(KeyError):
        kadmit_cluster.create(LOOKED_AT)


def broken(_request: object) -> None:
    raise NoVerdict("out of order", 503)


def test_without_a_verdict_the_failure_policy_decides(kadmit_cluster: Cluster) -> None:
    kadmit_cluster.load(hooks()).script("hook.example.com", broken)
    told = (
        'failed calling webhook "hook.example.com": failed to call webhook: the server is currently unable to handle the request'
    )
    assert_denied(kadmit_cluster.create(LOOKED_AT), message=told, code=500)
    assert_admitted(kadmit_cluster.load(hooks(failurePolicy="Ignore")).create(LOOKED_AT))
