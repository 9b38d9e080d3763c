"""How to reach a cluster, and as whom."""

from pathlib import Path

import pytest

from kadmit.api.config import ConfigError
from kadmit.webhook import kubeconfig

TEXT = """
apiVersion: v1
kind: Config
current-context: one
contexts:
- {name: one, context: {cluster: c, user: u, namespace: shop}}
- {name: two, context: {cluster: d, user: v}}
- {name: three, context: {cluster: missing}}
- {name: four, context: {cluster: c, user: helper}}
clusters:
- {name: c, cluster: {server: 'https://c:6443/', certificate-authority-data: UEVN, tls-server-name: k8s}}
- {name: d, cluster: {server: 'https://d', certificate-authority: ca.crt, insecure-skip-tls-verify: true}}
users:
- {name: u, user: {token: secret}}
- {name: v, user: {tokenFile: token}}
- {name: helper, user: {exec: {command: x}}}
"""


def test_the_current_context_counts() -> None:
    found = kubeconfig.read(TEXT, "/etc")
    assert (found.server, found.authority, found.server_name, found.namespace) == ("https://c:6443", b"PEM", "k8s", "shop")
    assert (found.user.token, found.insecure) == ("secret", False)


def test_another_context_can_be_named_and_paths_are_beside_the_file() -> None:
    found = kubeconfig.read(TEXT, "/etc", "two")
    assert (found.authority_file, found.user.token_file, found.insecure) == ("/etc/ca.crt", "/etc/token", True)
    assert found.namespace == "default"


@pytest.mark.parametrize(
    ("text", "context", "told"),
    [
        (TEXT, "three", "has no cluster 'missing'"),
        (TEXT, "five", "has no context 'five'"),
        (TEXT, "four", "user 'helper': exec credential plugins are not supported"),
        ("{apiVersion: v1, kind: Config}", "", "has no current-context"),
        ("", "", "is empty"),
        (
            "{kind: Config, current-context: a, contexts: [{name: a, context: {cluster: c}}], clusters: 5}",
            "",
            "has no cluster 'c'",
        ),
        (TEXT.replace("'https://c:6443/'", "c"), "", "cluster 'c': server: must be a URL"),
        (TEXT.replace("UEVN", "'!'"), "", "certificate-authority-data: illegal base64 data"),
    ],
)
def test_what_is_wrong_is_told(text: str, context: str, told: str) -> None:
    with pytest.raises(ConfigError) as caught:
        kubeconfig.read(text, "/etc", context)
    assert str(caught.value) == told


def test_a_pod_knows_its_cluster(tmp_path: Path) -> None:
    (tmp_path / "namespace").write_text("kadmit-system\n")
    found = kubeconfig.in_cluster({"KUBERNETES_SERVICE_HOST": "fd00::1", "KUBERNETES_SERVICE_PORT": "443"}, tmp_path)
    assert found is not None
    assert (found.server, found.namespace) == ("https://[fd00::1]:443", "kadmit-system")
    assert (found.user.token_file, found.authority_file) == (str(tmp_path / "token"), str(tmp_path / "ca.crt"))
    assert kubeconfig.in_cluster({}, tmp_path) is None
