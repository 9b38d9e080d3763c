"""Credentials for webhooks: what becomes of a user, and of its files while a server runs."""

from pathlib import Path

import pytest

from kadmit.api.config import ConfigError, Impersonation, Kubeconfig, User
from kadmit.server import credentials
from kadmit.server.credentials import MUTATING, TOKEN_PERIOD, VALIDATING, CredentialError, Credentials, Identity


class Clock:
    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


def _headers(user: User) -> list[tuple[str, str]]:
    return list(Credentials(Kubeconfig({"*": user})).identity("host:443").headers)


@pytest.mark.parametrize(
    ("user", "headers"),
    [
        (User(), []),
        (User(token="t"), [("Authorization", "Bearer t")]),
        (User(username="hooker", password="s3cret: word"), [("Authorization", "Basic aG9va2VyOnMzY3JldDogd29yZA==")]),
        (
            User(impersonation=Impersonation("robot", "r7", ("a", "b"), (("Example.com/why%", ("x", "y")),))),
            [
                ("Impersonate-User", "robot"),
                ("Impersonate-Uid", "r7"),
                ("Impersonate-Group", "a"),
                ("Impersonate-Group", "b"),
                ("Impersonate-Extra-Example.com%2Fwhy%25", "x"),
                ("Impersonate-Extra-Example.com%2Fwhy%25", "y"),
            ],
        ),
    ],
)
def test_headers_of_a_user(user: User, headers: list[tuple[str, str]]) -> None:
    assert _headers(user) == headers


@pytest.mark.parametrize(
    ("user", "reason"),
    [
        (User(token="t", username="u"), "username/password or bearer token may be set, but not both"),
        (User(token="t", password="p"), "username/password or bearer token may be set, but not both"),
        (User(token_file="/nosuch/token"), "open /nosuch/token: no such file or directory"),
        (User(certificate_file="/nosuch/crt"), "open /nosuch/crt: no such file or directory"),
        (User(unsupported="auth provider not supported"), "auth provider not supported"),
    ],
)
def test_a_user_that_cannot_be_used(user: User, reason: str) -> None:
    with pytest.raises(CredentialError) as raised:
        _headers(user)
    assert str(raised.value) == reason


def test_nobody_is_anonymous() -> None:
    assert Credentials().identity("host:443") == Identity()


def test_secrets_do_not_show() -> None:
    identity = Credentials(Kubeconfig({"*": User(token="s3cret")})).identity("host:443")
    assert "s3cret" not in repr(identity)


def test_a_token_file_is_read_again_after_a_while(tmp_path: Path) -> None:
    path, clock = tmp_path / "token", Clock()
    known = Credentials(Kubeconfig({"*": User(token_file=str(path))}), clock=clock)

    def sent() -> str:
        return dict(known.identity("host:443").headers)["Authorization"]

    path.write_text("one\n")
    assert sent() == "Bearer one"
    path.write_text("two\n")
    assert sent() == "Bearer one"
    clock.now += TOKEN_PERIOD
    assert sent() == "Bearer two"
    path.unlink()
    clock.now += TOKEN_PERIOD
    assert sent() == "Bearer two"


def test_an_empty_token_file_is_an_error_unless_there_is_a_token_beside_it(tmp_path: Path) -> None:
    path = tmp_path / "token"
    path.write_text(" \n")
    with pytest.raises(CredentialError, match=f'^read empty token from file "{path}"$'):
        _headers(User(token_file=str(path)))
    assert _headers(User(token="beside", token_file=str(path))) == [("Authorization", "Bearer beside")]


# Files


def _admission(folder: Path, plugins: str) -> Path:
    path = folder / "admission.conf"
    path.write_text(f"apiVersion: apiserver.config.k8s.io/v1\nkind: AdmissionConfiguration\nplugins:\n{plugins}")
    return path


def _webhook(kubeconfig: Path) -> str:
    return f"{{apiVersion: apiserver.config.k8s.io/v1, kind: WebhookAdmissionConfiguration, kubeConfigFile: {kubeconfig}}}"


def test_each_plugin_has_its_own_users(tmp_path: Path) -> None:
    (tmp_path / "m.kubeconfig").write_text("users: [{name: '*', user: {tokenFile: m.token}}]")
    (tmp_path / "m.token").write_text("m")
    (tmp_path / "v.kubeconfig").write_text("users: [{name: '*', user: {token: v}}]")
    (tmp_path / "v.conf").write_text(_webhook(tmp_path / "v.kubeconfig"))
    mutating = f"- {{name: MutatingAdmissionWebhook, configuration: {_webhook(tmp_path / 'm.kubeconfig')}}}\n"
    loaded = credentials.load(_admission(tmp_path, mutating + "- {name: ValidatingAdmissionWebhook, path: v.conf}\n"))
    assert loaded[MUTATING].identity("host:443").headers == (("Authorization", "Bearer m"),)
    assert loaded[VALIDATING].identity("host:443").headers == (("Authorization", "Bearer v"),)


def test_a_plugin_without_configuration_is_anonymous(tmp_path: Path) -> None:
    loaded = credentials.load(_admission(tmp_path, "- {name: MutatingAdmissionWebhook}\n"))
    assert loaded[MUTATING].identity("host:443") == loaded[VALIDATING].identity("host:443") == Identity()
    assert credentials.load(None)[MUTATING].identity("host:443") == Identity()


def test_files_that_are_not_there(tmp_path: Path) -> None:
    missing = tmp_path / "nosuch"
    with pytest.raises(ConfigError) as raised:
        credentials.load(missing)
    reason = f"open {missing}: no such file or directory"
    assert str(raised.value) == f'unable to read admission control configuration from "{missing}" [{reason}]'
    with pytest.raises(ConfigError, match=r"^open .*/nosuch: no such file or directory$"):
        credentials.load(_admission(tmp_path, "- {name: MutatingAdmissionWebhook, path: nosuch}\n"))


def test_an_error_in_a_kubeconfig_names_its_file(tmp_path: Path) -> None:
    path = tmp_path / "kubeconfig"
    path.write_text("kind: Foo")
    plugin = f"- {{name: MutatingAdmissionWebhook, configuration: {_webhook(path)}}}\n"
    with pytest.raises(ConfigError) as raised:
        credentials.load(_admission(tmp_path, plugin))
    assert str(raised.value) == f'error loading config file "{path}": no kind "Foo" is registered for version "v1"'
