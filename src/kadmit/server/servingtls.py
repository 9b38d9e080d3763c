"""TLS of the server: it asks clients for a certificate but needs none, and changes its own without a restart.

A listener keeps the context it was made with. That one hands each new connection to the newest context before the handshake
goes on, so a new certificate, key or client authority counts from the next connection, and open ones are left alone.

NB: a client that shows a certificate of an authority we do not know fails in the handshake; Go's server would answer 401.
"""

import asyncio
import os
import ssl
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from kadmit.server.startup import StartupError, because, file_of

VERSIONS = {"VersionTLS12": ssl.TLSVersion.TLSv1_2, "VersionTLS13": ssl.TLSVersion.TLSv1_3}
PERIOD = 10.0  # seconds between looks at the files


@dataclass(frozen=True, slots=True)
class Material:
    """The files to serve with. `client_authorities` sign the certificates that clients may show."""

    certificate: Path
    key: Path
    client_authorities: tuple[Path, ...] = ()
    oldest: str = "VersionTLS12"

    @property
    def files(self) -> tuple[Path, ...]:
        return (self.certificate, self.key, *self.client_authorities)


def context(material: Material) -> ssl.SSLContext:
    """Raises StartupError."""
    made = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    made.minimum_version = VERSIONS[material.oldest]
    made.set_alpn_protocols(["http/1.1"])
    # A resumed session would bring back a client certificate that was checked against an authority we no longer trust.
    made.options |= ssl.OP_NO_TICKET
    made.num_tickets = 0
    _load_certificate(made, material)
    for path in material.client_authorities:
        _load_authority(made, path)
    made.verify_mode = ssl.CERT_OPTIONAL
    return made


def _load_certificate(made: ssl.SSLContext, material: Material) -> None:
    file_of("tls-cert-file", material.certificate)
    file_of("tls-private-key-file", material.key)
    try:
        made.load_cert_chain(material.certificate, material.key, password=_refuse_password)
    except ssl.SSLError as error:
        raise StartupError(_bad_pair(material, error)) from None
    except OSError as error:
        raise StartupError(f"--tls-cert-file: cannot read {str(material.certificate)!r}: {because(error)}") from None


def _refuse_password() -> str:
    """NB: without this, OpenSSL would ask for the password at the terminal."""
    raise StartupError("--tls-private-key-file: the key is encrypted; decrypt it first")


def _bad_pair(material: Material, error: ssl.SSLError) -> str:
    if error.reason == "KEY_VALUES_MISMATCH":
        return f"--tls-private-key-file: {str(material.key)!r} is not the key of {str(material.certificate)!r}"
    both = f"{str(material.certificate)!r} and {str(material.key)!r}"
    return f"--tls-cert-file, --tls-private-key-file: {both} hold no usable certificate and key: {_reason(error)}"


def _load_authority(made: ssl.SSLContext, path: Path) -> None:
    data = file_of("client-ca-file", path)
    try:
        made.load_verify_locations(cadata=data.decode("ascii", "replace"))
    except ssl.SSLError as error:
        raise StartupError(f"--client-ca-file: {str(path)!r} holds no usable certificate: {_reason(error)}") from None
    except ValueError:
        raise StartupError(f"--client-ca-file: {str(path)!r} holds no usable certificate: it is empty") from None


def _reason(error: ssl.SSLError) -> str:
    return (error.reason or "not in PEM format").replace("_", " ").lower()


# ---------------------------------------------------------------- changes


class LiveTls:
    """The context to listen with, and what makes it follow its files. `told` hears of what was loaded, or why it was not."""

    def __init__(self, material: Material, told: Callable[[str], None] = lambda _: None) -> None:
        """Raises StartupError."""
        self._material = material
        self._told = told
        self._seen = _signature(material.files)
        self._current = self.context = context(material)
        self.context.sni_callback = self._hand_over

    def refresh(self) -> bool:
        """Looks at the files; True if they changed and are in use from now on. What cannot be used leaves all as it was."""
        found = _signature(self._material.files)
        if found == self._seen:
            return False
        self._seen = found
        try:
            self._current = context(self._material)
        except StartupError as error:
            self._told(f"certificates changed but cannot be used, the old ones stay: {error}")
            return False
        self._told("certificates changed and are in use")
        return True

    async def follow(self, period: float = PERIOD) -> None:
        """Looks again and again, until cancelled. NB: files that change one after the other are seen again when complete."""
        while True:
            await asyncio.sleep(period)
            self.refresh()

    def _hand_over(self, connection: ssl.SSLObject | ssl.SSLSocket, _name: str | None, _context: ssl.SSLContext) -> None:
        if self._current is not self.context:
            connection.context = self._current


def _signature(paths: Sequence[Path]) -> tuple[tuple[int, int, int] | None, ...]:
    return tuple(_stamp(path) for path in paths)


def _stamp(path: Path) -> tuple[int, int, int] | None:
    try:
        found = os.stat(path)  # noqa: PTH116 - links are followed: mounted secrets change by their links
    except OSError:
        return None
    return (found.st_mtime_ns, found.st_size, found.st_ino)
