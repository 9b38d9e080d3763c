"""TLS contexts: how one is set up to serve, how certificates get into it, and how it is replaced while connections go on.

What OpenSSL says is raised as it is; those above have words of their own for it.
"""

import contextlib
import os
import ssl
import tempfile
from collections.abc import Iterator
from pathlib import Path

from kadmit.pki.pem import Pair


def serving(oldest: ssl.TLSVersion = ssl.TLSVersion.TLSv1_2) -> ssl.SSLContext:
    """For a server of HTTP/1.1, still without a certificate."""
    made = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    made.minimum_version = oldest
    made.set_alpn_protocols(["http/1.1"])
    return made


def ask_for_certificates(context: ssl.SSLContext) -> None:
    """Clients may show one, and need none. NB: a resumed session would bring back a certificate without checking it again,
    perhaps one of an authority that is no longer trusted: so there are none."""
    context.verify_mode = ssl.CERT_OPTIONAL
    context.options |= ssl.OP_NO_TICKET
    context.num_tickets = 0


def trust(context: ssl.SSLContext, authorities: bytes) -> None:
    """Raises ssl.SSLError, and ValueError where there is nothing."""
    context.load_verify_locations(cadata=authorities.decode("ascii", "replace"))


def load(context: ssl.SSLContext, pair: Pair) -> None:
    """Raises ssl.SSLError."""
    with as_file(pair.certificate + b"\n" + pair.key) as path:
        # NB: an encrypted key would otherwise ask for its password at the terminal.
        context.load_cert_chain(path, password=b"")


def is_of_another_key(error: ssl.SSLError) -> bool:
    return error.reason == "KEY_VALUES_MISMATCH"


def reason(error: ssl.SSLError | ValueError) -> str:
    """Why OpenSSL cannot use a text, in words."""
    said = error.reason if isinstance(error, ssl.SSLError) else ""
    return said.replace("_", " ").lower() if said else "not in PEM format"


@contextlib.contextmanager
def as_file(content: bytes) -> Iterator[str]:
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


class Succession:
    """A context with successors. A listener keeps the context it was made with (`context`, always); that one hands each new
    connection to the newest before the handshake goes on. So a new certificate counts from the next connection, and open ones
    are left alone."""

    def __init__(self, first: ssl.SSLContext) -> None:
        self.context = self._newest = first
        first.sni_callback = self._hand_over

    def replace(self, newest: ssl.SSLContext) -> None:
        self._newest = newest

    def _hand_over(self, connection: ssl.SSLObject | ssl.SSLSocket, _name: str | None, _context: ssl.SSLContext) -> None:
        if self._newest is not self.context:
            connection.context = self._newest
