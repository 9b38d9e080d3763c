"""Policies of our own definitions, for clusters whose API has none: the same kinds, obeyed the same way."""

import subprocess
import sys
from pathlib import Path

import yaml
from tests.webhook.clusters import Served, config_map
from tests.webhook.processes import Webhook
from tests.webhook.reviewing import Json, label, mutating, validating

from kadmit.api.meta import GroupVersionKind
from kadmit.kinds import rules
from kadmit.webhook.definitions import definitions

PLURALS = [
    "mutatingadmissionpolicies",
    "mutatingadmissionpolicybindings",
    "validatingadmissionpolicies",
    "validatingadmissionpolicybindings",
]


def test_definitions_are_valid() -> None:
    kind = GroupVersionKind("apiextensions.k8s.io", "v1", "CustomResourceDefinition")
    for definition in definitions():
        assert rules.validate_create(kind, {**definition, "status": {"storedVersions": ["v1"]}}) == []
    assert [definition["spec"]["names"]["plural"] for definition in definitions()] == PLURALS


def install(*options: str) -> str:
    command = [sys.executable, "-m", "kadmit", "webhook", "install", *options]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


def test_definitions_can_be_printed() -> None:
    assert list(yaml.safe_load_all(install("--print"))) == definitions()


def test_policies_of_our_own_definitions_are_obeyed(cluster: Served) -> None:
    cluster.namespace()
    text = install(f"--kubeconfig={cluster.kubeconfig}")
    assert text.splitlines() == [
        f"customresourcedefinition.apiextensions.k8s.io/{p}.policies.kadmit.dev applied" for p in PLURALS
    ]
    with Webhook(cluster.kubeconfig, "--policies=custom") as webhook:
        cluster.register(*_ours(mutating("p", label("mutated"))))
        cluster.register(*_ours(validating("q", {"expression": "object.metadata.name != 'b'", "message": "no b"})))
        cluster.register(*_ours(validating("broken", {"expression": "object.("})))
        cluster.until_registered()
        cluster.until_registered(half="validating")
        _, made = cluster.send("POST", "/api/v1/namespaces/default/configmaps", config_map("a"))
        assert made["metadata"]["labels"] == {"mutated": "yes"}
        status, refused = cluster.send("POST", "/api/v1/namespaces/default/configmaps", config_map("b"))
        assert (status, refused["message"].endswith("denied request: no b")) == (422, True), refused
        cluster.until(
            lambda: "ValidatingAdmissionPolicy 'broken' is not obeyed" in webhook.complaints, lambda: webhook.complaints
        )


def _ours(objects: list[Json]) -> list[Json]:
    return [{**each, "apiVersion": "policies.kadmit.dev/v1"} for each in objects]


def test_a_cluster_that_cannot_be_reached_is_told(tmp_path: Path) -> None:
    path = tmp_path / "config"
    path.write_text(
        "{apiVersion: v1, kind: Config, current-context: c, contexts: [{name: c, context: {cluster: c}}],"
        " clusters: [{name: c, cluster: {server: 'http://127.0.0.1:1'}}]}"
    )
    command = [sys.executable, "-m", "kadmit", "webhook", "install", f"--kubeconfig={path}"]
    ended = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (ended.returncode, ended.stderr.startswith("kadmit webhook install: Cannot connect to host")) == (1, True), ended
