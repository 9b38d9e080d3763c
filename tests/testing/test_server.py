"""kadmit_server: a process that answers like the cluster in memory, over HTTPS, with everything that clients need."""

import json
import ssl
import subprocess
import sys
import urllib.request
from collections.abc import Callable

import pytest
from tests.testing.policies import LIMITING, configmap

from kadmit.testing import Serve, Server, assert_admitted, assert_denied
from kadmit.testing.server import CannotStart

DEFINITION = """\
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: widgets.example.com}
spec:
  group: example.com
  scope: Namespaced
  names: {plural: widgets, kind: Widget}
  versions:
  - name: v1
    served: true
    storage: true
    schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}
"""
WIDGET = {"apiVersion": "example.com/v1", "kind": "Widget", "metadata": {"name": "w", "namespace": "shop"}, "size": 1}


@pytest.fixture(scope="module")
def server(kadmit_server_factory: Callable[..., Server]) -> Server:
    return kadmit_server_factory()


def test_every_verb_is_answered_with_the_object(server: Server) -> None:
    one = configmap("verbs", x="1")
    assert_admitted(server.create(one), object=one)
    assert_admitted(server.apply(configmap("verbs", y="2")), object={"data": {"x": "1", "y": "2"}})
    assert_admitted(server.patch(one, {"data": {"x": None}}), object={"data": {"x": None, "y": "2"}})
    assert_admitted(server.patch(one, [{"op": "add", "path": "/data/z", "value": "3"}]), object={"data": {"z": "3"}})
    assert_admitted(server.update(one, dry_run=True), object={"data": {"x": "1", "z": None}})
    stored = server.get(one)
    assert stored is not None
    assert stored["data"] == {"y": "2", "z": "3"}
    assert_admitted(server.delete(one))
    assert server.get(one) is None


def test_a_refusal_has_the_servers_words_and_the_log(server: Server) -> None:
    refused = server.create({**configmap("unknown"), "kind": "ConfigMap", "metadata": {"name": "Not a name"}})
    assert (refused.code, refused.reason) == (422, "Invalid")
    assert refused.story.startswith("POST /api/v1/namespaces/default/configmaps?fieldManager=kadmit: 422\n")
    assert "kadmit serve:" in refused.story


def test_what_is_loaded_is_there_with_its_kinds_and_namespaces(server: Server) -> None:
    server.load(WIDGET, DEFINITION)
    assert_admitted(server.patch(WIDGET, {"size": 2}), object={"size": 2})


def test_a_kind_that_nobody_serves_is_named(server: Server) -> None:
    with pytest.raises(LookupError, match=r'no matches for kind "Gadget" in version "example.com/v1"'):
        server.create({**WIDGET, "kind": "Gadget"})


def test_policies_and_webhooks_are_obeyed_for_users_alike(server: Server, kadmit_webhook: Serve) -> None:
    server.load(LIMITING)
    try:
        assert_denied(server.create(configmap("a", x="1", y="2", z="3")), message="two entries are enough", code=422)
    finally:
        for document in LIMITING.split("---\n"):
            server.delete(document)
    rules = [{"apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": ["configmaps"]}]
    hook = kadmit_webhook(lambda _: {"warnings": ['mind the "gap"']}, server, rules=rules)
    made = server.as_user("alice", ["system:masters"]).create(configmap("by-alice"))
    assert_admitted(made, warnings=['mind the "gap"'])
    assert hook.requests[0]["userInfo"]["username"] == "alice"


def test_clients_get_a_url_an_authority_a_token_and_a_kubeconfig(server: Server) -> None:
    context = ssl.create_default_context(cafile=str(server.ca))
    request = urllib.request.Request(f"{server.url}/version", headers={"Authorization": f"Bearer {server.token}"})
    with urllib.request.urlopen(request, context=context, timeout=10) as answer:
        assert json.load(answer)["major"] == "1"
    assert server.url in server.kubeconfig.read_text()


def test_kubectl_talks_to_it(server: Server) -> None:
    server.kubectl("create", "configmap", "by-kubectl")
    assert json.loads(server.kubectl("get", "configmap", "by-kubectl", "-o", "json"))["metadata"]["name"] == "by-kubectl"
    with pytest.raises(AssertionError, match=r'kubectl get configmap nowhere: exit code 1\n.*configmaps "nowhere" not found'):
        server.kubectl("get", "configmap", "nowhere")
    assert server.kubectl("get", "configmap", "nowhere", check=False) == ""


def test_a_server_ends_when_it_is_told_to(kadmit_server_factory: Callable[..., Server]) -> None:
    with kadmit_server_factory() as server:
        assert server.running
    assert not server.running
    server.stop()


def test_a_server_that_cannot_start_says_why(tmp_path_factory: pytest.TempPathFactory) -> None:
    with pytest.raises(CannotStart, match="did not start: exit code 2\nerror: unknown flag: --no-such-flag"):
        Server(tmp_path_factory.mktemp("server"), ["--no-such-flag"])


def test_a_server_ends_with_the_process_that_started_it(tmp_path_factory: pytest.TempPathFactory) -> None:
    folder = tmp_path_factory.mktemp("server")
    script = (
        "import pathlib, sys\nfrom kadmit.testing import Server\n"
        f"server = Server(pathlib.Path({str(folder)!r}))\nprint(server._process._popen.pid)\n"
    )
    run = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=60, check=True)
    stat = subprocess.run(["ps", "-p", run.stdout.strip()], capture_output=True, text=True, check=False)
    assert stat.returncode == 1, stat.stdout
