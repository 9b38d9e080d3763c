"""The kubeconfig that a server leaves for its administrator: everything inline, so that it can be copied elsewhere.

It holds a private key that may do anything, so only its owner can read it.
"""

import base64
import json
from pathlib import Path

from msgspec import Struct

from kadmit.pki import files
from kadmit.server.certificates import Credentials
from kadmit.server.startup import StartupError, because

NAME, USER = "kadmit", "kubernetes-admin"


class Administrator(Struct, frozen=True):
    """How to reach a server, and as whom."""

    server: str
    authority: bytes
    certificate: bytes
    key: bytes

    @classmethod
    def of(cls, server: str, credentials: Credentials, authority: bytes | None = None) -> "Administrator":
        """`authority` where the server does not serve with our own certificate. Raises StartupError."""
        try:
            trusted = credentials.authority.certificate.read_bytes() if authority is None else authority
            return cls(server, trusted, credentials.admin.certificate.read_bytes(), credentials.admin.key.read_bytes())
        except OSError as error:
            raise StartupError(f"--cert-dir: cannot read {error.filename!r}: {because(error)}") from None


# NB: written out, for a start needs YAML for nothing else.
_TEXT = """\
apiVersion: v1
kind: Config
clusters:
- name: {name}
  cluster:
    server: {server}
    certificate-authority-data: {authority}
users:
- name: {user}
  user:
    client-certificate-data: {certificate}
    client-key-data: {key}
contexts:
- name: {name}
  context:
    cluster: {name}
    user: {user}
current-context: {name}
"""


def text(admin: Administrator) -> str:
    return _TEXT.format(
        name=NAME,
        user=USER,
        server=json.dumps(admin.server),
        authority=_base64(admin.authority),
        certificate=_base64(admin.certificate),
        key=_base64(admin.key),
    )


def write(path: Path, admin: Administrator) -> None:
    """Raises StartupError."""
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        files.write(path, text(admin).encode(), private=True)
    except OSError as error:
        raise StartupError(f"--kubeconfig-out: cannot write {str(path)!r}: {because(error)}") from None


def _base64(data: bytes) -> str:
    return base64.b64encode(data).decode()
