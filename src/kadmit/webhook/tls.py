"""TLS of a webhook: a certificate that can be replaced while connections go on, and whose certificates callers may show."""

import ssl

from kadmit.pki import contexts
from kadmit.pki.contexts import Succession
from kadmit.pki.pem import Pair


class CertificateError(ValueError):
    """Certificates or keys that cannot be used."""


class ServingTls:
    """`context` is the one to listen with, always."""

    def __init__(self, certificate: bytes, key: bytes, *, callers: bytes = b"") -> None:
        """PEM, all of it; `callers` are the authorities of certificates that callers may show. Raises CertificateError."""
        self._callers = callers
        self._succession = Succession(_context(Pair(certificate, key), callers))
        self.context = self._succession.context

    def replace(self, certificate: bytes, key: bytes) -> None:
        """For new connections. Raises CertificateError, and all is as it was."""
        self._succession.replace(_context(Pair(certificate, key), self._callers))


def _context(pair: Pair, callers: bytes) -> ssl.SSLContext:
    made = contexts.serving()
    if callers:
        _trust(made, callers)
    _load(made, pair)
    return made


def _trust(made: ssl.SSLContext, callers: bytes) -> None:
    """NB: kubelets that ask for health have no certificate; who may ask for a review is decided later."""
    try:
        contexts.trust(made, callers)
    except (ssl.SSLError, ValueError) as error:
        raise CertificateError(f"no usable authority for callers: {contexts.reason(error)}") from None
    contexts.ask_for_certificates(made)


def _load(made: ssl.SSLContext, pair: Pair) -> None:
    try:
        contexts.load(made, pair)
    except ssl.SSLError as error:
        if contexts.is_of_another_key(error):
            raise CertificateError("the key is not the certificate's") from None
        raise CertificateError(f"no usable certificate and key: {contexts.reason(error)}") from None
