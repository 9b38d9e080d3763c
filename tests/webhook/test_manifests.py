"""The printed manifests: a server takes them, their rights are enough and no more, and their Pods are restricted."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any, TypeAlias

import pytest
import yaml
from tests.clients.kubectl import Kubectl
from tests.webhook.clusters import Served, config_map
from tests.webhook.processes import NAMESPACE, Webhook, kubeconfig
from tests.webhook.reviewing import binding, label_of, mutating

from kadmit.webhook import manifests
from kadmit.webhook.manifests import Wanted

Json: TypeAlias = dict[str, Any]

EVERY_KIND = [
    "Namespace", "ServiceAccount", "ClusterRole", "ClusterRoleBinding", "ClusterRole", "ClusterRoleBinding", "Role",
    "RoleBinding", "Service", "PodDisruptionBudget", "Deployment", "MutatingWebhookConfiguration",
    "ValidatingWebhookConfiguration",
]  # fmt: skip


def printed(*options: str) -> str:
    command = [sys.executable, "-m", "kadmit", "webhook", "manifests", *options]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


def of_kind(made: list[Json], kind: str) -> list[Json]:
    return [each for each in made if each["kind"] == kind]


def deployment(**wanted: Any) -> Json:
    (found,) = of_kind(manifests.manifests(Wanted(**wanted)), "Deployment")
    return found


def container(**wanted: Any) -> Json:
    (found,) = deployment(**wanted)["spec"]["template"]["spec"]["containers"]
    return dict(found)


@pytest.fixture
def kubectl(cluster: Served, tmp_path: Path) -> Kubectl:
    home = tmp_path / "home"
    home.mkdir()
    return Kubectl(cluster.kubeconfig, home, NAMESPACE)


def test_everything_is_printed_in_order() -> None:
    assert [each["kind"] for each in yaml.safe_load_all(printed())] == EVERY_KIND
    assert [each["kind"] for each in json.loads(printed("-o", "json"))["items"]] == EVERY_KIND


def test_a_server_takes_them(cluster: Served, kubectl: Kubectl, tmp_path: Path) -> None:
    """NB: in a dry run a namespace is not there for what is in it, so it comes first, as it does for kubectl's users."""
    cluster.namespace()
    path = tmp_path / "manifests.yaml"
    path.write_text(printed("--params", "configmaps", "--definitions"))
    ended = kubectl.ended("apply", "--dry-run=server", "-f", str(path))
    assert ended.code == 0, ended
    lines = ended.out.splitlines()
    assert len(lines) == len(EVERY_KIND) + 1 + 4
    assert all(line.endswith("(server dry run)") for line in lines)


def test_a_kustomize_base_is_the_same(kubectl: Kubectl, tmp_path: Path) -> None:
    base = tmp_path / "base"
    assert printed("--kustomize", str(base)) == f"kubectl apply -k {base}\n"
    built = list(yaml.safe_load_all(kubectl("kustomize", str(base))))
    direct = list(yaml.safe_load_all(printed()))
    assert sorted(built, key=str) == sorted(direct, key=str)


# ---------------------------------------------------------------- pod security


@pytest.mark.parametrize("cert_manager", [False, True])
def test_pods_pass_the_restricted_level(cert_manager: bool) -> None:
    """Every control of https://kubernetes.io/docs/concepts/security/pod-security-standards, baseline and restricted."""
    pod = deployment(cert_manager=cert_manager)["spec"]["template"]["spec"]
    inside = pod["containers"][0]
    security = inside["securityContext"]
    for forbidden in ("hostNetwork", "hostPID", "hostIPC", "initContainers", "ephemeralContainers", "hostUsers"):
        assert forbidden not in pod
    assert {next(k for k in volume if k != "name") for volume in pod.get("volumes", ())} <= {"secret"}
    assert [port for port in inside["ports"] if "hostPort" in port] == []
    for forbidden in ("procMount", "seLinuxOptions", "windowsOptions", "appArmorProfile"):
        assert forbidden not in security
        assert forbidden not in pod["securityContext"]
    assert "sysctls" not in pod["securityContext"]
    assert security["privileged"] is False
    assert security["allowPrivilegeEscalation"] is False
    assert security["capabilities"] == {"drop": ["ALL"]}
    assert security["runAsNonRoot"] is pod["securityContext"]["runAsNonRoot"] is True
    assert pod["securityContext"]["runAsUser"] > 0
    assert pod["securityContext"]["seccompProfile"] == {"type": "RuntimeDefault"}
    assert security["readOnlyRootFilesystem"] is True


def test_the_namespace_enforces_it() -> None:
    (namespace,) = of_kind(manifests.manifests(Wanted()), "Namespace")
    assert namespace["metadata"]["labels"]["pod-security.kubernetes.io/enforce"] == "restricted"


# ---------------------------------------------------------------- availability


def test_one_replica_may_be_away() -> None:
    spec = deployment(replicas=3)["spec"]
    (budget,) = of_kind(manifests.manifests(Wanted()), "PodDisruptionBudget")
    pod = spec["template"]["spec"]
    assert (spec["replicas"], spec["strategy"]["rollingUpdate"]["maxUnavailable"]) == (3, 0)
    assert budget["spec"] == {"maxUnavailable": 1, "selector": spec["selector"]}
    assert spec["selector"]["matchLabels"].items() <= spec["template"]["metadata"]["labels"].items()
    assert pod["affinity"]["podAntiAffinity"]
    assert pod["topologySpreadConstraints"][0]["topologyKey"] == "topology.kubernetes.io/zone"


def test_probes_ask_what_is_served() -> None:
    found = container()
    for probe, path in (("startupProbe", "/readyz"), ("readinessProbe", "/readyz"), ("livenessProbe", "/healthz")):
        assert found[probe]["httpGet"] == {"path": path, "port": "https", "scheme": "HTTPS"}
    assert found["resources"]["requests"].keys() == {"cpu", "memory"}


def test_cert_manager_makes_certificates_when_it_is_to() -> None:
    made = manifests.manifests(Wanted(cert_manager=True, namespace="n", name="w"))
    (certificate,) = of_kind(made, "Certificate")
    assert certificate["spec"]["dnsNames"] == ["w.n.svc", "w.n.svc.cluster.local"]
    for kind in ("MutatingWebhookConfiguration", "ValidatingWebhookConfiguration"):
        assert of_kind(made, kind)[0]["metadata"]["annotations"] == {"cert-manager.io/inject-ca-from": "n/w"}
    mounted = container(cert_manager=True, namespace="n", name="w")
    assert mounted["volumeMounts"] == [{"name": "tls", "mountPath": "/tls", "readOnly": True}]
    assert {"--tls-cert-file=/tls/tls.crt", "--tls-private-key-file=/tls/tls.key", "--inject-ca-from=n/w"} <= set(mounted["args"])
    (role,) = of_kind(made, "Role")
    assert [rule["resources"] for rule in role["rules"]] == [["leases"], ["leases"]]


# ---------------------------------------------------------------- rights


def test_no_right_is_wider_than_it_must_be() -> None:
    roles = [each for each in manifests.manifests(Wanted()) if each["kind"] in ("ClusterRole", "Role")]
    rules = [rule for role in roles for rule in role["rules"]]
    assert not [rule for rule in rules if "*" in [*rule["verbs"], *rule["resources"], *rule["apiGroups"]]]
    unnamed = [rule for rule in rules if "resourceNames" not in rule]
    assert {verb for rule in unnamed for verb in rule["verbs"]} <= {"get", "list", "watch", "create"}


def test_its_rights_are_enough(cluster: Served, kubectl: Kubectl, tmp_path: Path) -> None:
    """The webhook runs as its ServiceAccount, with the arguments of its Deployment."""
    path = tmp_path / "manifests.yaml"
    path.write_text(printed("--params", "configmaps"))
    kubectl("apply", "-f", str(path))
    policy, _ = mutating("p", label_of("color", "params.data.color"), paramKind={"apiVersion": "v1", "kind": "ConfigMap"})
    bound = binding("p", paramRef={"name": "colors", "namespace": "default", "parameterNotFoundAction": "Deny"})
    cluster.create("/api/v1/namespaces/default/configmaps", {**config_map("colors"), "data": {"color": "blue"}})
    cluster.register(policy, bound)
    arguments = [given for given in container()["args"] if given.startswith(("--service", "--secret", "--lease", "--drain"))]
    with Webhook(kubeconfig(tmp_path, cluster.url, "webhook-token"), *arguments) as webhook:
        cluster.until_registered()
        status, made = cluster.send("POST", "/api/v1/namespaces/default/configmaps", config_map("a"))
        assert (status, made["metadata"].get("labels")) == (201, {"color": "blue"}), made
        _, own = cluster.send("POST", f"/api/v1/namespaces/{NAMESPACE}/configmaps", config_map("a", NAMESPACE))
        assert "labels" not in own["metadata"]  # its own namespace is nobody's business
        assert "cannot" not in webhook.complaints


def test_params_that_it_may_not_see_keep_no_other_policy_waiting(cluster: Served, kubectl: Kubectl, tmp_path: Path) -> None:
    path = tmp_path / "manifests.yaml"
    path.write_text(printed())
    kubectl("apply", "-f", str(path))
    secrets = {"apiVersion": "v1", "kind": "Secret"}
    policy, _ = mutating("a", label_of("color", "params.data.color"), paramKind=secrets)
    reference = {"name": "colors", "namespace": "default", "parameterNotFoundAction": "Allow"}
    cluster.register(policy, binding("a", paramRef=reference), *mutating("b", label_of("color", "'red'")))
    with Webhook(kubeconfig(tmp_path, cluster.url, "webhook-token")) as webhook:
        cluster.until_registered()
        made = cluster.create("/api/v1/namespaces/default/configmaps", config_map("a"))
        assert made["metadata"]["labels"] == {"color": "red"}
        assert "cannot follow /api/v1/secrets" in webhook.complaints
