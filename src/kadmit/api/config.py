"""Configuration files that name credentials for webhooks: AdmissionConfiguration, WebhookAdmissionConfiguration and kubeconfig.

Only the meaning of their text; whoever reads the files gives the text and, for paths in them, the folder. AdmissionConfiguration
is read strictly, as Kubernetes does; a kubeconfig may hold fields that nobody knows. What is secret stays out of every repr.
"""

from base64 import b64decode
from binascii import Error as Base64Error
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from itertools import chain
from pathlib import PurePath
from typing import Any, TypeAlias

from kadmit.api import fields, gojson, yaml

Json: TypeAlias = Any

GROUP = "apiserver.config.k8s.io/v1"
_ADMISSION_VERSIONS = (GROUP, "apiserver.k8s.io/v1alpha1")
_GO_NAMES = {bool: "bool", int: "number", float: "number", str: "string", list: "array", dict: "object"}


class ConfigError(ValueError):
    """A file that cannot be used."""


@dataclass(frozen=True, slots=True)
class Plugin:
    """What an admission plugin is configured with: an object in place, or the path of a file."""

    name: str
    path: str = ""
    configuration: Mapping[str, Json] | None = None


@dataclass(frozen=True, slots=True)
class AdmissionConfiguration:
    plugins: tuple[Plugin, ...] = ()

    def plugin(self, name: str) -> Plugin | None:
        """The first entry of that name."""
        return next((p for p in self.plugins if p.name == name), None)


@dataclass(frozen=True, slots=True)
class Impersonation:
    """Whom the webhook should take the caller for."""

    user: str
    uid: str = ""
    groups: tuple[str, ...] = ()
    extra: tuple[tuple[str, tuple[str, ...]], ...] = ()


@dataclass(frozen=True, slots=True)
class User:
    """Credentials of a kubeconfig. Paths are resolved already."""

    token: str = field(default="", repr=False)
    token_file: str = ""
    username: str = ""
    password: str = field(default="", repr=False)
    certificate_file: str = ""
    certificate_data: bytes = field(default=b"", repr=False)
    key_file: str = ""
    key_data: bytes = field(default=b"", repr=False)
    impersonation: Impersonation | None = None
    unsupported: str = ""  # why these credentials cannot be used


@dataclass(frozen=True, slots=True)
class Kubeconfig:
    """Users by the name of whom they are for, and the user of the current context."""

    users: Mapping[str, User] = field(default_factory=dict)
    current: str = ""

    def user_for(self, target: str) -> User | None:
        """Who to be for a host:port: the closest name first, then `*`, then the current context; None is anonymous."""
        names = chain(_closest(target), _without_default_port(target), ("*", self.current))
        return next((self.users[n] for n in names if n in self.users), None)


def _closest(target: str) -> Iterable[str]:
    """The target itself, then with ever more of its first labels replaced by a star."""
    labels = target.split(".")
    return (target, *("*." + ".".join(labels[i:]) for i in range(1, len(labels))))


def _without_default_port(target: str) -> Iterable[str]:
    host, _, port = target.rpartition(":")
    return _closest(host.removeprefix("[").removesuffix("]")) if port == "443" else ()


# ------------------------------------------------------------ admission configuration


def admission_configuration(text: bytes | str) -> AdmissionConfiguration:
    """The file of --admission-control-config-file. Raises ConfigError."""
    raw = _document(text)
    _expect(raw, "AdmissionConfiguration", _ADMISSION_VERSIONS)
    _known(raw, ("apiVersion", "kind", "plugins"))
    entries = _listed(raw.get("plugins"), "AdmissionConfiguration.plugins", "[]v1.AdmissionPluginConfiguration")
    return AdmissionConfiguration(tuple(_plugin(e, i) for i, e in enumerate(entries)))


def _plugin(value: Json, index: int) -> Plugin:
    at = "AdmissionPluginConfiguration.plugins"
    raw = _mapping(value, at, "v1.AdmissionPluginConfiguration")
    _known(raw, ("name", "path", "configuration"), f"plugins[{index}].")
    inline = raw.get("configuration")
    if inline is not None:
        inline = _mapping(inline, f"{at}.configuration", "runtime.Unknown")
    return Plugin(_string(raw.get("name"), f"{at}.name"), _string(raw.get("path"), f"{at}.path"), inline)


def webhook_admission(value: bytes | str | Mapping[str, Json]) -> str:
    """The kubeConfigFile of a WebhookAdmissionConfiguration, empty where it names none. Raises ConfigError."""
    raw = value if isinstance(value, Mapping) else _document(value)
    _expect(raw, "WebhookAdmissionConfiguration", (GROUP,))
    _known(raw, ("apiVersion", "kind", "kubeConfigFile"))
    path = _string(raw.get("kubeConfigFile"), "WebhookAdmission.kubeConfigFile")
    if path and not path.startswith("/"):
        raise ConfigError(str(fields.invalid(fields.path("kubeConfigFile"), path, "must be an absolute file path")))
    return path


def _expect(raw: Mapping[str, Json], kind: str, versions: Iterable[str]) -> None:
    named, version = raw.get("kind") or "", raw.get("apiVersion") or ""
    if not named or not version:
        missing = "apiVersion" if named else "Kind"
        raise ConfigError(f"Object '{missing}' is missing in '{gojson.marshal(dict(raw))}'")
    if named != kind or version not in versions:
        raise ConfigError(f"no kind {gojson.display(named)} is registered for version {gojson.display(version)}")


def _known(raw: Mapping[str, Json], names: Iterable[str], at: str = "") -> None:
    unknown = [f'unknown field "{at}{name}"' for name in raw if name not in names]
    if unknown:
        raise ConfigError("strict decoding error: " + ", ".join(unknown))


# ------------------------------------------------------------ kubeconfig


def kubeconfig(text: bytes | str, folder: str) -> Kubeconfig:
    """A kubeconfig, relative paths in it taken from `folder`. Raises ConfigError."""
    raw = _document(text)
    _expect({"kind": "Config", "apiVersion": "v1", **{k: v for k, v in raw.items() if v}}, "Config", ("v1",))
    users = _named(raw.get("users"), "users", "v1.NamedAuthInfo", "api.AuthInfo")
    contexts = _named(raw.get("contexts"), "contexts", "v1.NamedContext", "api.Context")
    context = _mapping(contexts.get(_string(raw.get("current-context"), "Config.current-context"), {}).get("context"), "", "")
    return Kubeconfig(
        {name: _user(_mapping(u.get("user"), "NamedAuthInfo.users.user", "v1.AuthInfo"), folder) for name, u in users.items()},
        _string(context.get("user"), "Context.contexts.context.user"),
    )


def _named(value: Json, at: str, item: str, made: str) -> dict[str, Mapping[str, Json]]:
    found: dict[str, Mapping[str, Json]] = {}
    bare = item.removeprefix("v1.")
    for entry in _listed(value, f"Config.{at}", f"[]{item}"):
        raw = _mapping(entry, f"Config.{at}", item)
        name = _string(raw.get("name"), f"{bare}.{at}.name")
        if name in found:
            # NB: Kubernetes goes on to print the whole list, secrets and all.
            raise ConfigError(f'error converting *[]{bare} into *map[string]*{made}: duplicate name "{name}" in list')
        found[name] = raw
    return found


def _user(raw: Mapping[str, Json], folder: str) -> User:
    def text(name: str) -> str:
        return _string(raw.get(name), f"AuthInfo.users.user.{name}")

    def file(name: str) -> str:
        path = text(name)
        return str(PurePath(folder, path)) if path else ""

    return User(
        token=text("token"),
        token_file=file("tokenFile"),
        username=text("username"),
        password=text("password"),
        certificate_file=file("client-certificate"),
        certificate_data=_bytes(text("client-certificate-data")),
        key_file=file("client-key"),
        key_data=_bytes(text("client-key-data")),
        impersonation=_impersonation(raw) if text("as") else None,
        unsupported=_unsupported(raw),
    )


def _impersonation(raw: Mapping[str, Json]) -> Impersonation:
    at = "AuthInfo.users.user"
    extra = _mapping(raw.get("as-user-extra"), f"{at}.as-user-extra", "map[string][]string")
    return Impersonation(
        user=_string(raw["as"], f"{at}.as"),
        uid=_string(raw.get("as-uid"), f"{at}.as-uid"),
        groups=_strings(raw.get("as-groups"), f"{at}.as-groups"),
        extra=tuple((k, _strings(v, f"{at}.as-user-extra")) for k, v in extra.items()),
    )


def _unsupported(raw: Mapping[str, Json]) -> str:
    if raw.get("auth-provider") is not None:
        return "auth provider not supported"
    return "exec credential plugins are not supported" if raw.get("exec") is not None else ""


# ------------------------------------------------------------ values


def _document(text: bytes | str) -> Mapping[str, Json]:
    try:
        document = yaml.load(text)
    except yaml.YamlError as e:
        raise ConfigError(str(e)) from None
    return _mapping(document.value, "", "map[string]interface {}")


def _mapping(value: Json, at: str, go_type: str) -> Mapping[str, Json]:
    if value is None:
        return {}
    if not isinstance(value, dict):
        raise _mismatch(value, at, go_type)
    return value


def _listed(value: Json, at: str, go_type: str) -> list[Json]:
    if value is None:
        return []
    if not isinstance(value, list):
        raise _mismatch(value, at, go_type)
    return value


def _strings(value: Json, at: str) -> tuple[str, ...]:
    return tuple(_string(v, at) for v in _listed(value, at, "[]string"))


def _string(value: Json, at: str) -> str:
    if value is None:
        return ""
    if not isinstance(value, str):
        raise _mismatch(value, at, "string")
    return value


def _bytes(text: str) -> bytes:
    try:
        return b64decode("".join(text.splitlines()), validate=True)
    except (Base64Error, ValueError):
        raise ConfigError("illegal base64 data") from None


def _mismatch(value: Json, at: str, go_type: str) -> ConfigError:
    where = f"struct field {at}" if at else "value"
    return ConfigError(f"json: cannot unmarshal {_GO_NAMES[type(value)]} into Go {where} of type {go_type}")
