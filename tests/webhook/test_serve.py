"""The command itself: files that change, options that do not fit, and how it ends."""

import subprocess
import sys
import urllib.request
from pathlib import Path
from typing import Any

import orjson
import pytest
from tests.webhook.clusters import Served
from tests.webhook.processes import NAMESPACE, Process, free_port, kubeconfig
from tests.webhook.reviewing import config_map, label, mutating, request


def ended(*arguments: str) -> tuple[int, str]:
    command = [sys.executable, "-m", "kadmit", "webhook", *arguments]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, env={"PATH": "", "HOME": "/nowhere"})
    return done.returncode, done.stderr


def written(path: Path, *objects: Any) -> Path:
    path.write_bytes(b"\n---\n".join(orjson.dumps(each) for each in objects))
    return path


def answered(webhook: Process) -> Any:
    body = {"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "request": request(config_map())}
    with urllib.request.urlopen(f"{webhook.url}/mutate", orjson.dumps(body), timeout=30) as answer:
        return orjson.loads(answer.read())["response"]


def test_files_are_read_again_when_they_change(cluster: Served, tmp_path: Path) -> None:
    path = written(tmp_path / "policy.json", *mutating("p", label("one")))
    with Process(["webhook", f"-f{path}", "--plain-http", "--bind-address=127.0.0.1", "--port=0"]) as webhook:
        before = answered(webhook)["patch"]
        path.write_text("apiVersion: v1\nkind: [")
        cluster.until(lambda: "files changed but cannot be used" in webhook.complaints, lambda: webhook.complaints)
        assert answered(webhook)["patch"] == before
        written(path, *mutating("p", label("two")))
        cluster.until(lambda: answered(webhook)["patch"] != before)
        assert webhook.end() == 0


def test_policies_of_files_see_the_namespaces_of_a_cluster(cluster: Served, tmp_path: Path) -> None:
    cluster.namespace()
    policy = mutating("p", label("one"), matchConstraints={
        "resourceRules": [{"apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": ["configmaps"]}],
        "namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": "default"}},
    })  # fmt: skip
    path = written(tmp_path / "policy.json", *policy)
    port = free_port()
    options = [f"--kubeconfig={kubeconfig(tmp_path, cluster.url, 'admin-token')}", f"--namespace={NAMESPACE}"]
    url = f"--url=https://127.0.0.1:{port}"
    with Process(["webhook", f"-f{path}", "--bind-address=127.0.0.1", f"--port={port}", *options, url]):
        cluster.until_registered()
        made = cluster.create("/api/v1/namespaces/default/configmaps", {"metadata": {"name": "a"}})
        other = cluster.create("/api/v1/namespaces/kube-public/configmaps", {"metadata": {"name": "a"}})
    assert made["metadata"]["labels"] == {"one": "yes"}
    assert "labels" not in other["metadata"]


@pytest.mark.parametrize(
    ("arguments", "code", "told"),
    [
        ((), 2, "there is no cluster to follow: give --kubeconfig, or -f with files of policies"),
        (("--kubeconfig=/no/such",), 2, "--kubeconfig: cannot read '/no/such': no such file or directory"),
        (("-f", "/no/such", "--plain-http", "--port=0"), 2, "/no/such: No such file or directory"),
        (("-f", "/dev/null", "--tls-cert-file=a"), 2, "give --tls-cert-file and --tls-private-key-file together"),
        (("-f", "/dev/null", "--ca-file=/no/such"), 2, "--ca-file: cannot read '/no/such': no such file or directory"),
        (
            ("-f", "/dev/null", "--port=0"),
            1,
            "give --tls-cert-file and --tls-private-key-file, or --plain-http, or a cluster to keep a Secret in",
        ),
        (("-f", "/dev/null", "--bind-address=192.0.2.7", "--plain-http"), 1, "cannot listen on 192.0.2.7:9443"),
        (
            ("-f", "/dev/null", "--port=0", "--tls-cert-file=/no", "--tls-private-key-file=/no"),
            1,
            "--tls-cert-file, --tls-private-key-file: [Errno 2] No such file or directory: '/no'",
        ),
    ],
)
def test_what_cannot_start_says_why(arguments: tuple[str, ...], code: int, told: str) -> None:
    found = ended(*arguments)
    assert (found[0], found[1].startswith(f"kadmit webhook: {told}")) == (code, True), found


def test_a_policy_that_cannot_be_used_is_told_with_its_place(tmp_path: Path) -> None:
    path = tmp_path / "policy.yaml"
    path.write_text(
        "apiVersion: admissionregistration.k8s.io/v1\nkind: MutatingAdmissionPolicy\nmetadata: {name: p}\n"
        "spec:\n  failurePolicy: Perhaps\n  reinvocationPolicy: Never\n"
    )
    code, told = ended(f"-f{path}", "--plain-http", "--port=0")
    assert code == 2
    assert told.startswith(f"kadmit webhook: {path}:")
    assert 'MutatingAdmissionPolicy.admissionregistration.k8s.io "p" is invalid' in told


@pytest.mark.parametrize("command", ["serve", "install", "manifests", "run"])
def test_every_command_has_help_with_examples_and_exit_codes(command: str) -> None:
    done = subprocess.run([sys.executable, "-m", "kadmit", "webhook", command, "--help"], capture_output=True, text=True)
    assert done.returncode == 0
    assert f"kadmit webhook {command}" in done.stdout
    assert "Exit code" in done.stdout
