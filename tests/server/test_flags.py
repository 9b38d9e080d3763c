"""The flags of `kadmit serve`: what is read, what is refused and in which words."""

import re
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from kadmit import service
from kadmit.cli import main
from kadmit.server import flags
from kadmit.server.flags import FLAGS, Flags, FlagsError, parse
from kadmit.server.flagvalues import ServiceRouting
from kadmit.server.foreignflags import REFUSED, WITHOUT_EFFECT
from kadmit.server.startup import StartupError

OF_KUBE_APISERVER = (Path(__file__).parent / "kube-apiserver-flags.txt").read_text().split()
DOCUMENTATION = Path(__file__).parent.parent.parent / "docs" / "serve.md"


def _parsed(*arguments: str) -> Flags:
    """`--name=value`, as on the command line."""
    given: dict[str, tuple[str, ...]] = {}
    for argument in arguments:
        name, _, value = argument.removeprefix("--").partition("=")
        given[name] = (*given.get(name, ()), value)
    return parse(given)


def _errors(*arguments: str) -> tuple[str, ...]:
    with pytest.raises(FlagsError) as refused:
        _parsed(*arguments)
    return refused.value.errors


# ---------------------------------------------------------------- values

READ: list[tuple[tuple[str, ...], str, Any]] = [
    ((), "secure_port", 6443),
    (("--secure-port=0",), "secure_port", 0),
    (("--secure-port=1", "--secure-port=2"), "secure_port", 2),
    (("--bind-address=0.0.0.0",), "bind_address", "0.0.0.0"),
    (("--bind-address=::1",), "bind_address", "::1"),
    (("--request-timeout=1m30s",), "request_timeout", 90.0),
    (("--request-timeout=500ms",), "request_timeout", 0.5),
    (("--anonymous-auth=false",), "anonymous_auth", False),
    (("--anonymous-auth=T",), "anonymous_auth", True),
    (("--authorization-mode=AlwaysAllow",), "authorization_mode", ("AlwaysAllow",)),
    (("--authorization-mode=Node,RBAC",), "authorization_mode", ("Node", "RBAC")),
    (("--authorization-mode=RBAC", "--authorization-mode=AlwaysAllow"), "authorization_mode", ("RBAC", "AlwaysAllow")),
    (("--token-auth-file=/a/tokens.csv",), "token_auth_file", Path("/a/tokens.csv")),
    (("--token-auth-file=",), "token_auth_file", None),
    (("--data-dir=/d",), "certificates", Path("/d/pki")),
    (("--data-dir=/d", "--cert-dir=/c"), "certificates", Path("/c")),
    (("--data-dir=/d",), "kubeconfig", Path("/d/admin.kubeconfig")),
    (("--kubeconfig-out=/k",), "kubeconfig", Path("/k")),
    ((), "storage", "sqlite"),
    (("--storage=memory",), "storage", "memory"),
    (("--etcd-servers=http://127.0.0.1:2379",), "storage", "etcd"),
    (("--etcd-servers=https://a:1,https://b:2",), "etcd_servers", ("https://a:1", "https://b:2")),
    (("--feature-gates=MutatingAdmissionPolicy=true,kube:AllBeta=false",), "feature_gates",
     {"MutatingAdmissionPolicy": True, "AllBeta": False}),
    (("--runtime-config=a/v1=true", "--runtime-config=api/beta=false"), "runtime_config", "a/v1=true,api/beta=false"),
    (("--service-cluster-ip-range=10.0.0.5/16,fd00::/108",), "service_cluster_ip_range", "10.0.0.0/16,fd00::/108"),
    (("--service-resolver=endpoints",), "service_resolver", ServiceRouting("endpoints")),
    (("--enable-aggregator-routing=true",), "service_resolver", ServiceRouting("endpoints")),
    (("--service-resolver=none,default/hook=127.0.0.1:8443", "--service-resolver=a/b:443=[::1]:1"), "service_resolver",
     ServiceRouting("none", {"default/hook": ("127.0.0.1", 8443), "a/b:443": ("::1", 1)})),
    (("--disable-admission-plugins=MutatingAdmissionWebhook,ServiceAccount",), "admission_plugins",
     frozenset(("NamespaceLifecycle", "MutatingAdmissionPolicy", "ValidatingAdmissionPolicy", "ValidatingAdmissionWebhook"))),
    (("--audit-log-maxsize=100",), "audit_log_maxsize", 100),
    (("--v=4",), "v", 4),
]  # fmt: skip


@pytest.mark.parametrize(("arguments", "field", "value"), READ, ids=[" ".join(row[0]) or row[1] for row in READ])
def test_flags_are_read(arguments: tuple[str, ...], field: str, value: Any) -> None:
    assert getattr(_parsed(*arguments), field) == value


def test_the_recorded_servers_flags_are_read() -> None:
    read = _parsed(
        "--token-auth-file=tokens.csv", "--authorization-mode=RBAC", "--anonymous-auth=false",
        "--audit-policy-file=audit-policy.yaml", "--audit-log-path=audit.log", "--audit-log-mode=blocking",
        "--runtime-config=admissionregistration.k8s.io/v1beta1=true,admissionregistration.k8s.io/v1alpha1=true",
        "--feature-gates=MutatingAdmissionPolicy=true", "--service-cluster-ip-range=10.0.0.0/24",
        "--disable-admission-plugins=ServiceAccount,TaintNodesByCondition,PodSecurity,Priority,DefaultTolerationSeconds,"
        "DefaultStorageClass,RuntimeClass,LimitRanger,ResourceQuota,DefaultIngressClass,PodTopologyLabels,"
        "StorageObjectInUseProtection,PersistentVolumeClaimResize",
    )  # fmt: skip
    assert read.warnings == ()


# ---------------------------------------------------------------- errors

BAD_VALUES: list[tuple[str, str, str]] = [
    ("secure-port", "x", "must be a whole number"),
    ("secure-port", "65536", "must be from 0 to 65535"),
    ("bind-address", "localhost", "must be an IP address"),
    ("anonymous-auth", "maybe", "must be true or false"),
    ("request-timeout", "10", "must be a duration such as 30s or 1m30s"),
    ("request-timeout", "-1s", "can not be negative value"),
    ("audit-log-maxage", "-1", "can't be a negative number"),
    ("audit-log-mode", "fast", "must be one of batch, blocking, blocking-strict"),
    ("storage", "mysql", "must be one of sqlite, memory, etcd"),
    ("workers", "0", "must be from 1 to 256"),
    ("data-dir", "", "must not be empty"),
    ("etcd-servers", "localhost:2379", "'localhost:2379' is not a URL such as https://127.0.0.1:2379"),
    ("feature-gates", "A", "missing bool value for A"),
    ("feature-gates", "A=x", "invalid value of A=x, must be true or false"),
    ("service-cluster-ip-range", "10.0.0.0", "'10.0.0.0' is not a network such as 10.0.0.0/24"),
    ("service-cluster-ip-range", "10.0.0.0/24,10.1.0.0/24", "two networks must be of different families"),
    ("service-resolver", "a/b=c", "'c' is not of the form host:port"),
    (
        "service-resolver",
        "magic",
        "'magic' is neither cluster-ip, endpoints nor none, nor of the form namespace/name=host:port",
    ),
]


@pytest.mark.parametrize(("name", "value", "reason"), BAD_VALUES)
def test_a_bad_value_is_told_with_its_flag(name: str, value: str, reason: str) -> None:
    assert _errors(f"--{name}={value}") == (f'invalid argument "{value}" for "--{name}" flag: {reason}',)


REFUSALS: list[tuple[tuple[str, ...], str]] = [
    (("--authorization-mode=Magic",), 'authorization-mode "Magic" is not a valid mode'),
    (("--authorization-mode=Webhook",), 'authorization-mode "Webhook" is not supported; use RBAC or AlwaysAllow'),
    (("--authorization-mode=RBAC,RBAC",), 'authorization-mode ["RBAC" "RBAC"] has mode specified more than once'),
    (("--authorization-mode=",), "at least one authorization-mode must be passed"),
    (("--enable-admission-plugins=Magic",), 'enable-admission-plugins plugin "Magic" is unknown'),
    (("--enable-admission-plugins=PodSecurity", "--disable-admission-plugins=PodSecurity"),
     '["PodSecurity"] in enable-admission-plugins and disable-admission-plugins overlapped'),
    (("--tls-cert-file=a",), "--tls-cert-file and --tls-private-key-file must be given together"),
    (("--etcd-keyfile=a",), "--etcd-certfile and --etcd-keyfile must be given together"),
    (("--storage=etcd",), "--storage=etcd needs --etcd-servers"),
    (("--storage=sqlite", "--etcd-servers=http://a:1"), "--etcd-servers and --storage=sqlite exclude each other"),
    (("--storage=memory", "--workers=2"), "--workers: with --storage=memory there can be one only"),
    (("--colour=red",), "unknown flag: --colour"),
    (("--encryption-provider-config=a",),
     "--encryption-provider-config is not supported: the store is not encrypted; encrypt the disk"),
]  # fmt: skip


@pytest.mark.parametrize(("arguments", "error"), REFUSALS, ids=[" ".join(row[0]) for row in REFUSALS])
def test_flags_that_cannot_be_used_are_refused(arguments: tuple[str, ...], error: str) -> None:
    assert _errors(*arguments) == (error,)


def test_all_errors_are_told_at_once() -> None:
    assert _errors("--secure-port=x", "--colour=red", "--workers=y") == (
        "unknown flag: --colour",
        'invalid argument "x" for "--secure-port" flag: must be a whole number',
        'invalid argument "y" for "--workers" flag: must be a whole number',
    )


WARNINGS: list[tuple[tuple[str, ...], tuple[str, ...]]] = [
    (("--event-ttl=1h",), ("--event-ttl has no effect: events stay until they are deleted",)),
    (("--authorization-mode=Node,RBAC",), ("--authorization-mode: Node has no effect: there are no nodes here",)),
    (("--enable-admission-plugins=NodeRestriction",), ("--enable-admission-plugins: NodeRestriction has no effect here",)),
    (("--feature-gates=APIServerIdentity=false",), ("--feature-gates: APIServerIdentity has no effect here",)),
    (("--audit-log-path=-",), ("--audit-log-path has no effect without --audit-policy-file",)),
    (("--audit-policy-file=a",), ("--audit-policy-file has no effect without --audit-log-path",)),
    (("--authorization-mode=AlwaysAllow",), ()),
    (("--authorization-mode=AlwaysAllow", "--anonymous-auth=true"),
     ("--anonymous-auth is off: it is not allowed with --authorization-mode=AlwaysAllow",)),
]  # fmt: skip


@pytest.mark.parametrize(("arguments", "warnings"), WARNINGS, ids=[" ".join(row[0]) for row in WARNINGS])
def test_what_has_no_effect_is_told(arguments: tuple[str, ...], warnings: tuple[str, ...]) -> None:
    assert _parsed(*arguments).warnings == warnings


def test_nobody_is_anonymous_where_everybody_may_do_everything() -> None:
    assert not _parsed("--authorization-mode=AlwaysAllow", "--anonymous-auth=true").anonymous_auth


@pytest.mark.parametrize("name", OF_KUBE_APISERVER)
def test_every_flag_of_kube_apiserver_is_known(name: str) -> None:
    assert (name in FLAGS) + (name in WITHOUT_EFFECT) + (name in REFUSED) == 1


def test_no_other_flag_is_called_foreign() -> None:
    assert {*WITHOUT_EFFECT, *REFUSED} <= set(OF_KUBE_APISERVER)


# ---------------------------------------------------------------- the file


def _config(folder: Path, text: str) -> str:
    path = folder / "kadmit.yaml"
    path.write_text(text)
    return f"--config={path}"


CONFIGURED: list[tuple[str, str, Any]] = [
    ("secure-port: 7443\n", "secure_port", 7443),
    ("anonymous-auth: no\n", "anonymous_auth", False),
    ("authorization-mode: [RBAC, Node]\n", "authorization_mode", ("RBAC", "Node")),
    ("authorization-mode: RBAC,Node\n", "authorization_mode", ("RBAC", "Node")),
    ("feature-gates: {MutatingAdmissionPolicy: true}\n", "feature_gates", {"MutatingAdmissionPolicy": True}),
    ("runtime-config: {api/beta: true}\n", "runtime_config", "api/beta=true"),
    ("secure-port: null\n", "secure_port", 6443),
    ("", "secure_port", 6443),
]


@pytest.mark.parametrize(("text", "field", "value"), CONFIGURED)
def test_the_file_has_the_same_names(tmp_path: Path, text: str, field: str, value: Any) -> None:
    assert getattr(_parsed(_config(tmp_path, text)), field) == value


def test_the_command_line_goes_before_the_file(tmp_path: Path) -> None:
    config = _config(tmp_path, "secure-port: 7443\nworkers: 3\n")
    read = _parsed(config, "--secure-port=8443")
    assert (read.secure_port, read.workers) == (8443, 3)


BROKEN: list[tuple[str, str]] = [
    ("secure_port: 1\n", "unknown flag: --secure_port"),
    ("secure-port: [\n", r"--config: '.*kadmit.yaml' is not YAML: yaml: line 1: did not find expected node content"),
    ("- a\n", r"--config: '.*kadmit.yaml' must hold flags by name"),
    (
        "secure-port: {a: {b: c}}\n",
        "--config: the value of 'secure-port' must be a text, a number, true or false, or a list or map",
    ),
    ("secure-port: 1.5\n", "--config: the value of 'secure-port' must be a text, a number"),
    ("config: other.yaml\n", "--config: a file cannot name another"),
    ("v: 1\nv: 2\n", r"--config: '.*kadmit.yaml' line 2: key \"v\" already set in map"),
    ("secure-port: x\n", 'invalid argument "x" for "--secure-port" flag: must be a whole number'),
]


@pytest.mark.parametrize(("text", "error"), BROKEN)
def test_a_broken_file_is_told(tmp_path: Path, text: str, error: str) -> None:
    assert re.match(error, _errors(_config(tmp_path, text))[0])


def test_a_missing_file_is_told() -> None:
    assert _errors("--config=/no/such/file") == ("--config: cannot read '/no/such/file': no such file or directory",)


# ---------------------------------------------------------------- the command


@pytest.fixture
def served(monkeypatch: pytest.MonkeyPatch) -> list[Flags]:
    """The flags that the command would serve with."""
    found: list[Flags] = []
    monkeypatch.setattr(service, "serve", found.append, raising=False)
    return found


def _kadmit(*arguments: str) -> Result:
    return CliRunner().invoke(main, ["serve", *arguments])


@pytest.mark.parametrize(
    "arguments",
    [
        ("--secure-port=0", "--anonymous-auth=false", "--profiling", "--event-ttl", "1h", "-v", "4"),
        ("--secure-port", "0", "--anonymous-auth=false", "--v=4", "--event-ttl=1h"),
        ("--secure_port=0", "--anonymous_auth=false", "--v=4", "--event_ttl=1h"),
    ],
)
def test_the_command_takes_flags_in_every_usual_form(served: list[Flags], arguments: tuple[str, ...]) -> None:
    result = _kadmit(*arguments)
    assert result.exit_code == 0, result.output
    assert [(f.secure_port, f.anonymous_auth, f.v) for f in served] == [(0, False, 4)]
    assert "warning: --event-ttl has no effect: events stay until they are deleted\n" in result.stderr


def test_a_boolean_flag_alone_is_true(served: list[Flags], tmp_path: Path) -> None:
    _kadmit(_config(tmp_path, "anonymous-auth: false\n"), "--anonymous-auth", "--secure-port=0")
    assert [f.anonymous_auth for f in served] == [True]


def test_bad_flags_end_the_command_with_2(served: list[Flags]) -> None:
    result = _kadmit("--secure-port=x", "--workers=y")
    assert (result.exit_code, served) == (2, [])
    assert result.stderr == (
        'error: invalid argument "x" for "--secure-port" flag: must be a whole number\n'
        'error: invalid argument "y" for "--workers" flag: must be a whole number\n'
    )


def test_an_unknown_flag_ends_the_command_with_2(served: list[Flags]) -> None:
    result = _kadmit("--colour=red")
    assert (result.exit_code, result.stderr, served) == (2, "error: unknown flag: --colour\n", [])


def test_a_server_that_cannot_start_ends_the_command_with_1(monkeypatch: pytest.MonkeyPatch) -> None:
    def _serve(_: Flags) -> None:
        raise StartupError("cannot listen on 127.0.0.1:6443: address already in use")

    monkeypatch.setattr(service, "serve", _serve, raising=False)
    result = _kadmit()
    assert (result.exit_code, result.stderr) == (1, "error: cannot listen on 127.0.0.1:6443: address already in use\n")


def test_help_shows_our_flags_and_no_others() -> None:
    shown = set(re.findall(r"^  (?:-v, )?--([a-z0-9-]+)", _kadmit("--help").output, re.MULTILINE))
    assert shown == set(FLAGS)


# ---------------------------------------------------------------- documentation


def test_every_flag_stands_in_the_documentation() -> None:
    rows = dict(re.findall(r"^\| `--([a-z0-9-]+)` \| .* \| (.*) \|$", DOCUMENTATION.read_text(), re.MULTILINE))
    assert rows == {name: flag.help for name, flag in flags.FLAGS.items()}


def test_every_flag_without_effect_stands_in_the_documentation() -> None:
    text = DOCUMENTATION.read_text()
    ours, _, rest = text.partition("## Flags without effect")
    without, _, refused = rest.partition("## Flags that are refused")
    assert ours
    assert set(re.findall(r"`--([a-z0-9-]+)`", without)) == set(WITHOUT_EFFECT)
    assert set(re.findall(r"^\| `--([a-z0-9-]+)`", refused, re.MULTILINE)) == set(REFUSED)
