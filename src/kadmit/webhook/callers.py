"""Who may ask for a review: any API server, or only one that shows a certificate or a token that we know.

An API server has these from the kubeconfig that its AdmissionConfiguration names for webhooks. Without them, whoever reaches the
port may ask, which tells little: a verdict changes nothing by itself.
"""

import hmac
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from msgspec import Struct

from kadmit.pki import files
from kadmit.pki.files import Stamp


class Callers(Struct, frozen=True):
    """`authorities` (PEM) sign the certificates of callers, whose name must be one of `names`, if there are any;
    `token_file` holds tokens, one a line. With both, either will do."""

    authorities: bytes = b""
    names: frozenset[str] = frozenset()
    token_file: Path | None = None


@dataclass(slots=True)
class Doorkeeper:
    """Decides for each request. The token file is read again when it changes."""

    callers: Callers
    _tokens: tuple[bytes, ...] = ()
    _seen: Stamp | None = None
    open: bool = field(init=False)

    def __post_init__(self) -> None:
        self.open = not self.callers.authorities and self.callers.token_file is None

    def refusal(self, certificate: Mapping[str, Any] | None, authorization: str) -> str:
        """Why a caller may not ask; empty if it may. `certificate` is a checked one, as Python's ssl shows it."""
        if self.open or self._is_known(certificate) or self._has_token(authorization):
            return ""
        if certificate and self.callers.authorities:
            return f"certificate of {_shown(_names(certificate))} is not one that may call"
        return "the caller must show a certificate or a token" if self.callers.authorities else "the caller must show a token"

    def _is_known(self, certificate: Mapping[str, Any] | None) -> bool:
        if not certificate or not self.callers.authorities:
            return False
        return not self.callers.names or not self.callers.names.isdisjoint(_names(certificate))

    def _has_token(self, authorization: str) -> bool:
        scheme, _, token = authorization.partition(" ")
        if self.callers.token_file is None or scheme.lower() != "bearer" or not token.strip():
            return False
        given = token.strip().encode("utf-8", "surrogateescape")
        return any(hmac.compare_digest(given, known) for known in self._known_tokens(self.callers.token_file))

    def _known_tokens(self, path: Path) -> tuple[bytes, ...]:
        """NB: nobody may call by a token that cannot be read."""
        stamp = files.stamp(path)
        if stamp is None or stamp != self._seen:
            try:
                self._tokens, self._seen = _tokens(path), stamp
            except OSError:
                self._tokens, self._seen = (), None
        return self._tokens


def _tokens(path: Path) -> tuple[bytes, ...]:
    """Raises OSError."""
    return tuple(line.strip() for line in path.read_bytes().splitlines() if line.strip())


def _names(certificate: Mapping[str, Any]) -> list[str]:
    """The common name and the DNS names."""
    common = [value for part in certificate.get("subject", ()) for name, value in part if name == "commonName"]
    return common + [value for kind, value in certificate.get("subjectAltName", ()) if kind == "DNS"]


def _shown(names: Sequence[str]) -> str:
    return repr(names[0]) if names else "nobody"
