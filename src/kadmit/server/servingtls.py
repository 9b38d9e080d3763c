"""TLS of the server: it asks clients for a certificate but needs none, and changes its own without a restart.

A new certificate, key or client authority counts from the next connection, and open ones are left alone (`Succession`).

NB: a client that shows a certificate of an authority we do not know fails in the handshake; Go's server would answer 401.
"""

import asyncio
import ssl
from collections.abc import Callable
from pathlib import Path

from msgspec import Struct

from kadmit.pki import contexts
from kadmit.pki.contexts import Succession
from kadmit.pki.files import Stamp, stamp
from kadmit.server.startup import StartupError, because, file_of

VERSIONS = {"VersionTLS12": ssl.TLSVersion.TLSv1_2, "VersionTLS13": ssl.TLSVersion.TLSv1_3}
PERIOD = 10.0  # seconds between looks at the files


class Material(Struct, frozen=True):
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
    made = contexts.serving(VERSIONS[material.oldest])
    contexts.ask_for_certificates(made)
    _load_certificate(made, material)
    for path in material.client_authorities:
        _load_authority(made, path)
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
    if contexts.is_of_another_key(error):
        return f"--tls-private-key-file: {str(material.key)!r} is not the key of {str(material.certificate)!r}"
    both = f"{str(material.certificate)!r} and {str(material.key)!r}"
    return f"--tls-cert-file, --tls-private-key-file: {both} hold no usable certificate and key: {contexts.reason(error)}"


def _load_authority(made: ssl.SSLContext, path: Path) -> None:
    data = file_of("client-ca-file", path)
    try:
        contexts.trust(made, data)
    except ssl.SSLError as error:
        raise StartupError(f"--client-ca-file: {str(path)!r} holds no usable certificate: {contexts.reason(error)}") from None
    except ValueError:
        raise StartupError(f"--client-ca-file: {str(path)!r} holds no usable certificate: it is empty") from None


# ---------------------------------------------------------------- changes


class LiveTls:
    """The context to listen with, and what makes it follow its files. `told` hears of what was loaded, or why it was not."""

    def __init__(self, material: Material, told: Callable[[str], None] = lambda _: None) -> None:
        """Raises StartupError."""
        self._material = material
        self._told = told
        self._seen = _stamps(material)
        self._succession = Succession(context(material))
        self.context = self._succession.context

    def refresh(self) -> bool:
        """Looks at the files; True if they changed and are in use from now on. What cannot be used leaves all as it was."""
        found = _stamps(self._material)
        if found == self._seen:
            return False
        self._seen = found
        try:
            self._succession.replace(context(self._material))
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


def _stamps(material: Material) -> tuple[Stamp | None, ...]:
    return tuple(map(stamp, material.files))
