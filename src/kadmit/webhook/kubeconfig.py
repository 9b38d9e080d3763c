"""How to reach a cluster, and as whom: from a kubeconfig, or as every Pod is told.

Only the meaning of texts and of the environment. Whoever connects reads the files that are named here, again and again, for
tokens and authorities are replaced while a Pod runs.
"""

from base64 import b64decode
from binascii import Error as Base64Error
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from msgspec import Struct, field

from kadmit.api import config, yaml
from kadmit.api.config import ConfigError, User

SERVICE_ACCOUNT = Path("/var/run/secrets/kubernetes.io/serviceaccount")


class Connection(Struct, frozen=True):
    """A cluster's address, who may sign its certificate, and whose credentials are shown to it."""

    server: str
    user: User = field(default_factory=User)
    authority: bytes = b""  # PEM; without it and without a file, those that the machine trusts
    authority_file: str = ""
    server_name: str = ""
    insecure: bool = False
    namespace: str = "default"


def read(text: bytes | str, folder: str, context: str = "") -> Connection:
    """The current context of a kubeconfig, or another one. Raises ConfigError."""
    users = config.kubeconfig(text, folder).users
    raw = yaml.load(text).value
    if not isinstance(raw, dict):
        raise ConfigError("is empty")
    name = context or _text(raw.get("current-context"))
    if not name:
        raise ConfigError("has no current-context")
    chosen = _named(raw, "contexts", name, "context")
    cluster = _named(raw, "clusters", _text(chosen.get("cluster")), "cluster")
    user = users.get(_text(chosen.get("user")), User())
    if user.unsupported:
        raise ConfigError(f"user {_text(chosen.get('user'))!r}: {user.unsupported}")
    server = _text(cluster.get("server"))
    if not server.startswith(("https://", "http://")):
        raise ConfigError(f"cluster {_text(chosen.get('cluster'))!r}: server: must be a URL")
    file = _text(cluster.get("certificate-authority"))
    return Connection(
        server=server.rstrip("/"),
        user=user,
        authority=_bytes(_text(cluster.get("certificate-authority-data"))),
        authority_file=str(Path(folder, file)) if file else "",
        server_name=_text(cluster.get("tls-server-name")),
        insecure=cluster.get("insecure-skip-tls-verify") is True,
        namespace=_text(chosen.get("namespace")) or "default",
    )


def in_cluster(environment: Mapping[str, str], folder: Path = SERVICE_ACCOUNT) -> Connection | None:
    """As a Pod is told of its cluster; None outside of one."""
    host, port = environment.get("KUBERNETES_SERVICE_HOST"), environment.get("KUBERNETES_SERVICE_PORT")
    if not host or not port:
        return None
    shown = f"[{host}]" if ":" in host else host
    return Connection(
        server=f"https://{shown}:{port}",
        user=User(token_file=str(folder / "token")),
        authority_file=str(folder / "ca.crt"),
        namespace=_first_line(folder / "namespace") or "default",
    )


def _first_line(path: Path) -> str:
    try:
        return path.read_text().strip()
    except OSError:
        return ""


def _named(raw: Mapping[str, Any], plural: str, name: str, singular: str) -> Mapping[str, Any]:
    entries = raw.get(plural)
    for entry in entries if isinstance(entries, list) else ():
        if isinstance(entry, dict) and entry.get("name") == name:
            found = entry.get(singular)
            return found if isinstance(found, dict) else {}
    raise ConfigError(f"has no {singular} {name!r}")


def _text(value: object) -> str:
    return value if isinstance(value, str) else ""


def _bytes(text: str) -> bytes:
    try:
        return b64decode("".join(text.split()), validate=True)
    except (Base64Error, ValueError):
        raise ConfigError("certificate-authority-data: illegal base64 data") from None
