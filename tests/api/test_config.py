"""Admission configuration and kubeconfig: what they mean, and what is said of those that mean nothing."""

import pytest

from kadmit.api import config
from kadmit.api.config import ConfigError, Impersonation, Kubeconfig, Plugin, User

ADMISSION = "apiVersion: apiserver.config.k8s.io/v1\nkind: AdmissionConfiguration\n"
WEBHOOK = "apiVersion: apiserver.config.k8s.io/v1\nkind: WebhookAdmissionConfiguration\n"


def test_a_plugin_is_configured_in_place_or_by_a_file() -> None:
    read = config.admission_configuration(
        ADMISSION + "plugins:\n- {name: A, path: a.conf}\n- {name: B, configuration: {kind: X}}\n- {name: A, path: later}\n"
    )
    assert read.plugin("A") == Plugin("A", path="a.conf")
    assert read.plugin("B") == Plugin("B", configuration={"kind": "X"})
    assert read.plugin("C") is None


@pytest.mark.parametrize("version", ["apiserver.config.k8s.io/v1", "apiserver.k8s.io/v1alpha1"])
def test_both_groups_of_admission_configuration_are_read(version: str) -> None:
    assert config.admission_configuration(f"apiVersion: {version}\nkind: AdmissionConfiguration").plugins == ()


def test_a_webhook_configuration_names_a_kubeconfig() -> None:
    assert config.webhook_admission(WEBHOOK + "kubeConfigFile: /etc/k") == "/etc/k"
    assert config.webhook_admission(WEBHOOK) == ""


@pytest.mark.parametrize(
    ("text", "error"),
    [
        ("plugins: []", """Object 'Kind' is missing in '{"plugins":[]}'"""),
        ("kind: AdmissionConfiguration", """Object 'apiVersion' is missing in '{"kind":"AdmissionConfiguration"}'"""),
        ("kind: Pod\napiVersion: v1", 'no kind "Pod" is registered for version "v1"'),
        (ADMISSION + "plugin: []", 'strict decoding error: unknown field "plugin"'),
        (ADMISSION + "plugins: [{nam: x}]", 'strict decoding error: unknown field "plugins[0].nam"'),
        (ADMISSION + "plugins: [{name: 3}]", "json: cannot unmarshal number into Go struct field AdmissionPluginConfiguration.plugins.name of type string"),  # noqa: E501
        (ADMISSION + "plugins: {}", "json: cannot unmarshal object into Go struct field AdmissionConfiguration.plugins of type []v1.AdmissionPluginConfiguration"),  # noqa: E501
        ("[]", "json: cannot unmarshal array into Go value of type map[string]interface {}"),
        ("{", "yaml: line 1: did not find expected node content"),
    ],
)  # fmt: skip
def test_an_admission_configuration_that_cannot_be_used(text: str, error: str) -> None:
    with pytest.raises(ConfigError) as raised:
        config.admission_configuration(text)
    assert str(raised.value) == error


def test_the_kubeconfig_of_a_webhook_configuration_is_named_by_its_whole_path() -> None:
    with pytest.raises(ConfigError) as raised:
        config.webhook_admission(WEBHOOK + "kubeConfigFile: k")
    assert str(raised.value) == 'kubeConfigFile: Invalid value: "k": must be an absolute file path'


# Kubeconfig

USERS = """
users:
- {name: token, user: {token: t, username: u, password: p, as: bot, as-uid: r7, as-groups: [a, b], as-user-extra: {why: [x, z]}}}
- {name: files, user: {tokenFile: token, client-certificate: sub/c.crt, client-key: /abs/c.key, unknown: field}}
- {name: data, user: {client-certificate-data: QUJD, client-key-data: REVG}}
- {name: provider, user: {auth-provider: {name: gcp}}}
- {name: plugin, user: {exec: {command: x}}}
- {name: nobody}
contexts: [{name: here, context: {user: data}}]
current-context: here
"""


def test_users_of_a_kubeconfig() -> None:
    read = config.kubeconfig(USERS, "/etc/kadmit")
    assert read.users["token"] == User(
        token="t", username="u", password="p", impersonation=Impersonation("bot", "r7", ("a", "b"), (("why", ("x", "z")),))
    )
    assert read.users["files"] == User(
        token_file="/etc/kadmit/token", certificate_file="/etc/kadmit/sub/c.crt", key_file="/abs/c.key"
    )
    assert read.users["data"] == User(certificate_data=b"ABC", key_data=b"DEF")
    assert read.users["provider"].unsupported == "auth provider not supported"
    assert read.users["plugin"].unsupported != ""
    assert read.users["nobody"] == User()
    assert read.current == "data"


def test_an_empty_kubeconfig_has_no_users() -> None:
    assert config.kubeconfig("", "/") == Kubeconfig()


def test_secrets_do_not_show() -> None:
    shown = repr(User(token="s3cret", password="s3cret", certificate_data=b"s3cret", key_data=b"s3cret"))
    assert "s3cret" not in shown


@pytest.mark.parametrize(
    ("text", "error"),
    [
        ("users: x", "json: cannot unmarshal string into Go struct field Config.users of type []v1.NamedAuthInfo"),
        ("users: [{name: a, user: {token: 3}}]", "json: cannot unmarshal number into Go struct field AuthInfo.users.user.token of type string"),  # noqa: E501
        ("users: [{name: a, user: {client-key-data: '@'}}]", "illegal base64 data"),
        ("kind: Foo", 'no kind "Foo" is registered for version "v1"'),
        ("apiVersion: v2", 'no kind "Config" is registered for version "v2"'),
        ("users: [{name: a, user: {token: s3cret}}, {name: a}]", 'error converting *[]NamedAuthInfo into *map[string]*api.AuthInfo: duplicate name "a" in list'),  # noqa: E501
    ],
)  # fmt: skip
def test_a_kubeconfig_that_cannot_be_used(text: str, error: str) -> None:
    with pytest.raises(ConfigError) as raised:
        config.kubeconfig(text, "/")
    assert str(raised.value) == error


@pytest.mark.parametrize(
    ("target", "names", "chosen"),
    [
        ("a.b.svc:443", ["a.b.svc:443", "*.b.svc:443", "*"], "a.b.svc:443"),
        ("a.b.svc:443", ["*.svc:443", "*.b.svc:443", "a.b.svc"], "*.b.svc:443"),
        ("a.b.svc:443", ["*.svc:443", "a.b.svc"], "*.svc:443"),
        ("a.b.svc:443", ["a.b.svc", "*.b.svc"], "a.b.svc"),
        ("a.b.svc:443", ["*.b.svc", "*.svc"], "*.b.svc"),
        ("a.b.svc:443", ["*.svc", "*"], "*.svc"),
        ("a.b.svc:8443", ["a.b.svc", "*.b.svc", "*.svc", "*"], "*"),
        ("a.b.svc:8443", ["a.b.svc", "current"], "current"),
        ("127.0.0.1:9", ["*.0.0.1:9", "*.0.1:9", "127.0.0.1"], "*.0.0.1:9"),
        ("host:443", ["host"], "host"),
        ("host:9", ["host"], None),
    ],
)
def test_who_to_be_for_whom(target: str, names: list[str], chosen: str | None) -> None:
    users = {name: User(token=name) for name in names}
    found = Kubeconfig(users, "current").user_for(target)
    assert (found and found.token) == chosen
