"""kadmit impact as users call it: on files, and on a cluster that runs."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import CliRunner, Result
from tests.authoring.test_replaying import mutation, policy

from kadmit.cli import main
from kadmit.testing import Server

DENYING = policy('object.data.x != "1"')
CHANGING = mutation('[JSONPatch{op: "add", path: "/metadata/labels", value: {"by": request.userInfo.username}}]')
WIDGETS = """\
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: widgets.example.com}
spec:
  group: example.com
  scope: Namespaced
  names: {plural: widgets, kind: Widget}
  versions:
  - {name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}}
"""
WIDGET = {"apiVersion": "example.com/v1", "kind": "Widget", "metadata": {"name": "w", "namespace": "shop"}, "data": {"x": "1"}}


def configmap(name: str, namespace: str = "shop", **data: str) -> dict[str, object]:
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name, "namespace": namespace}, "data": data}


def run(*arguments: str | Path) -> Result:
    return CliRunner().invoke(main, ["impact", *map(str, arguments)])


@pytest.fixture
def write(tmp_path: Path) -> Callable[..., Path]:
    def write(name: str, *contents: object) -> Path:
        path = tmp_path / name
        path.write_text("\n---\n".join(c if isinstance(c, str) else json.dumps(c, indent=1) for c in contents))
        return path

    return write


def test_each_object_is_sent_as_an_update_of_itself(write: Callable[..., Path]) -> None:
    policies = write("policies.yaml", policy('object.data.x != "1" || oldObject.data.x != "1"'))
    objects = write(
        "objects.yaml", configmap("good", x="0"), configmap("bad", x="1"), {**WIDGET, "apiVersion": "v1", "kind": "Pot"}
    )
    told = run("-f", policies, objects)
    assert told.exit_code == 1
    assert told.output == (
        "2 objects tried: 1 denied, 0 changed, 0 warned of, 0 audited, 1 unaffected; 1 could not be\n"
        "\n"
        "denied by ValidatingAdmissionPolicy p (binding p)\n"
        "  1 configmaps: not this\n"
        "    users: admin 1\n"
        "    namespaces: shop 1\n"
        f"    for example UPDATE shop/bad ({objects}:13)\n"
        "\n"
        "could not be judged\n"
        "  1: Pot in version v1 is not known: give its CustomResourceDefinition with -f\n"
    )


def test_each_object_may_be_sent_as_a_create_by_somebody(write: Callable[..., Path]) -> None:
    policies, objects = write("policies.yaml", CHANGING), write("objects.yaml", configmap("a"))
    both = run("-f", policies, objects, "--operation", "CREATE", "--operation", "UPDATE", "--as", "alice", "-o", "json")
    assert both.exit_code == 0
    told = json.loads(both.output)
    assert (told["objects"], told["replayed"], told["changed"]) == (1, 2, 2)
    assert told["findings"][0]["users"] == {"alice": 2}
    assert run("-f", policies, objects, "--fail-on", "changed").exit_code == 1


def test_params_and_kinds_are_found_among_the_objects(write: Callable[..., Path]) -> None:
    spec, binding = "paramKind: {apiVersion: v1, kind: Secret}", ", paramRef: {name: limits, parameterNotFoundAction: Deny}"
    limits = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "limits", "namespace": "shop"}, "type": "example/1"}
    rules = policy("object.data.x == params.type", spec=spec, binding=binding).replace('apiGroups: [""]', 'apiGroups: ["*"]')
    policies = write("policies.yaml", rules.replace("[configmaps]", '["*"]'))
    told = json.loads(run("-f", policies, write("objects.yaml", WIDGET, limits, WIDGETS), "-o", "json").output)
    assert [f["resource"] for f in told["findings"]].count("widgets.example.com") == 1
    assert told["lost"] == 0


def test_what_the_api_itself_refuses_is_told(write: Callable[..., Path]) -> None:
    policies, objects = write("policies.yaml", DENYING), write("objects.yaml", configmap("a", **{"no key": "1"}))
    told = json.loads(run("-f", policies, objects, "-o", "json", "--operation", "CREATE").output)
    (missed,) = told["notReplayed"]
    assert missed["reason"] == "CREATE is refused by the API itself, without any policy (422 Invalid)"
    assert "data[no key]" in missed["example"]["message"]


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        ([], "give RESOURCES or --kubeconfig"),
        (["objects.yaml"], "give policies with -f"),
        (["-f", "-", "-"], "standard input can be read once: give all but one as files"),
        (["-f", "POLICIES", "nowhere.yaml"], "nowhere.yaml: No such file or directory"),
        (["-f", "POLICIES", "OBJECTS", "--as-group", "x"], "--as-group: needs --as"),
        (["-f", "POLICIES", "--kubeconfig", "nowhere"], "--kubeconfig: cannot read 'nowhere': no such file or directory"),
    ],
)
def test_bad_input_is_told(arguments: list[str], told: str, write: Callable[..., Path]) -> None:
    paths = {"POLICIES": write("policies.yaml", DENYING), "OBJECTS": write("objects.yaml", configmap("a"))}
    found = run(*(paths.get(a, a) for a in arguments))
    assert (found.exit_code, found.output) == (2, f"kadmit impact: {told}\n")


def test_files_without_a_policy_are_no_policies(write: Callable[..., Path]) -> None:
    objects = write("objects.yaml", configmap("a"))
    found = run("-f", objects, objects)
    assert (found.exit_code, found.output) == (2, f"kadmit impact: there is no policy in {objects}\n")


def test_a_policy_that_nothing_binds_is_told_of(write: Callable[..., Path]) -> None:
    unbound = DENYING.split("---")[0]
    found = run("-f", write("policies.yaml", unbound), write("objects.yaml", configmap("a")))
    assert found.exit_code == 0
    assert "it does nothing" in found.stderr


# ---------------------------------------------------------------- a cluster


@pytest.fixture(scope="module")
def server(kadmit_server_factory: Callable[..., Server]) -> Server:
    made = kadmit_server_factory()
    made.load(WIDGETS, WIDGET, configmap("good", x="0"), configmap("bad", x="1"), configmap("bad", "other", x="1"))
    return made


def test_a_cluster_is_listed_and_only_what_policies_are_about(server: Server, write: Callable[..., Path]) -> None:
    told = run("-f", write("policies.yaml", DENYING), "--kubeconfig", server.kubeconfig, "-o", "json")
    assert told.exit_code == 1, told.output
    found = json.loads(told.output)
    by_us = next(f for f in found["findings"] if f["message"] == "not this")
    assert by_us["namespaces"] == {"other": 1, "shop": 1}
    assert {f["resource"] for f in found["findings"]} == {"configmaps"}
    assert found["lost"] == 0


def test_a_cluster_tells_of_its_own_kinds_and_one_namespace_is_enough(server: Server, write: Callable[..., Path]) -> None:
    wide = DENYING.replace('apiGroups: [""]', "apiGroups: [example.com]").replace("[configmaps]", "[widgets]")
    told = run("-f", write("policies.yaml", wide), "--kubeconfig", server.kubeconfig, "-n", "shop", "-o", "json")
    assert [(f["resource"], f["namespaces"]) for f in json.loads(told.output)["findings"]] == [
        ("widgets.example.com", {"shop": 1})
    ]


def test_lists_are_read_page_by_page(server: Server, write: Callable[..., Path], monkeypatch: pytest.MonkeyPatch) -> None:
    from kadmit.cli import impact_cluster

    monkeypatch.setattr(impact_cluster, "PAGE", 1)
    told = run("-f", write("policies.yaml", policy("false")), "--kubeconfig", server.kubeconfig, "-n", "shop", "-o", "json")
    assert json.loads(told.output)["denied"] == 2


def test_what_the_cluster_does_not_show_is_told(server: Server, write: Callable[..., Path], tmp_path: Path) -> None:
    text = server.kubeconfig.read_text()
    user = text.index("client-certificate-data")
    nobody = tmp_path / "nobody.kubeconfig"
    nobody.write_text(text[:user] + "token: none\n" + text[text.index("contexts:") :])
    refused = run("-f", write("policies.yaml", DENYING), "--kubeconfig", nobody)
    assert refused.exit_code == 2
    assert "Unauthorized" in refused.output


def test_a_cluster_that_is_not_trusted_is_not_asked(server: Server, write: Callable[..., Path], tmp_path: Path) -> None:
    import yaml

    config = yaml.safe_load(server.kubeconfig.read_text())
    del config["clusters"][0]["cluster"]["certificate-authority-data"]
    path = tmp_path / "untrusting.kubeconfig"
    path.write_text(yaml.safe_dump(config))
    refused = run("-f", write("policies.yaml", DENYING), "--kubeconfig", path)
    assert refused.exit_code == 2
    assert "certificate verify failed" in refused.output
