"""TLS of a webhook: a certificate that can be replaced while connections go on, and whose certificates callers may show.

A listener keeps the context it was made with. That one hands each new connection to the newest context before the handshake goes
on, so a new certificate counts from the next connection and open ones are left alone.
"""

import contextlib
import os
import ssl
import tempfile
from collections.abc import Iterator
from pathlib import Path


class CertificateError(ValueError):
    """Certificates or keys that cannot be used."""


class ServingTls:
    """`context` is the one to listen with, always."""

    def __init__(self, certificate: bytes, key: bytes, *, callers: bytes = b"") -> None:
        """PEM, all of it; `callers` are the authorities of certificates that callers may show. Raises CertificateError."""
        self._callers = callers
        self._current = self.context = _context(certificate, key, callers)
        self.context.sni_callback = self._hand_over

    def replace(self, certificate: bytes, key: bytes) -> None:
        """For new connections. Raises CertificateError, and all is as it was."""
        self._current = _context(certificate, key, self._callers)

    def _hand_over(self, connection: ssl.SSLObject | ssl.SSLSocket, _name: str | None, _context: ssl.SSLContext) -> None:
        if self._current is not self.context:
            connection.context = self._current


def _context(certificate: bytes, key: bytes, callers: bytes) -> ssl.SSLContext:
    made = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    made.minimum_version = ssl.TLSVersion.TLSv1_2
    made.set_alpn_protocols(["http/1.1"])
    if callers:
        _trust(made, callers)
        # A resumed session would bring back a certificate without checking it again.
        made.options |= ssl.OP_NO_TICKET
        made.num_tickets = 0
    _load(made, certificate, key)
    return made


def _trust(made: ssl.SSLContext, callers: bytes) -> None:
    """NB: optional, since kubelets that ask for health have none; who may ask for a review is decided later."""
    try:
        made.load_verify_locations(cadata=callers.decode("ascii", "replace"))
    except (ssl.SSLError, ValueError) as error:
        raise CertificateError(f"no usable authority for callers: {_reason(error)}") from None
    made.verify_mode = ssl.CERT_OPTIONAL


def _load(made: ssl.SSLContext, certificate: bytes, key: bytes) -> None:
    try:
        with _as_file(certificate + b"\n" + key) as path:
            # NB: an encrypted key would otherwise ask for its password at the terminal.
            made.load_cert_chain(path, password=b"")
    except ssl.SSLError as error:
        if error.reason == "KEY_VALUES_MISMATCH":
            raise CertificateError("the key is not the certificate's") from None
        raise CertificateError(f"no usable certificate and key: {_reason(error)}") from None


def _reason(error: ssl.SSLError | ValueError) -> str:
    reason = error.reason if isinstance(error, ssl.SSLError) else ""
    return reason.replace("_", " ").lower() if reason else "not in PEM format"


@contextlib.contextmanager
def _as_file(content: bytes) -> Iterator[str]:
    """OpenSSL reads keys from files only: memory that looks like one where there is such a thing, else a file for a moment."""
    if hasattr(os, "memfd_create"):
        with open(os.memfd_create("certificate"), "wb") as file:  # noqa: PTH123  # a descriptor has no path
            file.write(content)
            file.flush()
            yield f"/proc/self/fd/{file.fileno()}"
        return
    descriptor, path = tempfile.mkstemp()
    try:
        with open(descriptor, "wb") as file:  # noqa: PTH123
            file.write(content)
        yield path
    finally:
        Path(path).unlink()
