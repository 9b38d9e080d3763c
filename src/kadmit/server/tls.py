"""TLS towards webhooks: what is trusted, who we are, and the words for a handshake that failed.

Python's ssl decides; nothing here makes it trust more. It is set up so that it decides as Go does: any certificate of a bundle is
an anchor, names stand in the alternative names only, nothing older than TLS 1.2.
"""

import re
import ssl

from kadmit.pki import contexts, pem
from kadmit.pki.pem import CERTIFICATE, Pair

_ALERT = re.compile(r"(?:ALERT_|TLSV1_(?=UNRECOGNIZED|UNSUPPORTED|BAD_))([A-Z_]+)")
_ALERT_WORDS = {
    "BAD_RECORD_MAC": "bad record MAC",
    "CERTIFICATE_REVOKED": "revoked certificate",
    "CERTIFICATE_EXPIRED": "expired certificate",
    "CERTIFICATE_UNKNOWN": "unknown certificate",
    "UNKNOWN_CA": "unknown certificate authority",
    "DECODE_ERROR": "error decoding message",
    "DECRYPT_ERROR": "error decrypting message",
    "PROTOCOL_VERSION": "protocol version not supported",
    "INSUFFICIENT_SECURITY": "insufficient security level",
    "USER_CANCELLED": "user canceled",
}


class TlsError(ValueError):
    """Certificates that cannot be used; the message is Go's."""


def client_context(roots: bytes, pair: Pair | None = None) -> ssl.SSLContext:
    """What to call a webhook with. No roots are the system's. Raises TlsError."""
    context = _bare_context()
    if roots:
        for certificate in root_certificates(roots):
            context.load_verify_locations(cadata=certificate)
    else:
        context.load_default_certs(ssl.Purpose.SERVER_AUTH)
    if pair is not None:
        _load_pair(context, pair)
    return context


def looking_context() -> ssl.SSLContext:
    """Trusts anybody: only to look at a certificate that was refused already, never to say anything over it."""
    context = _bare_context()
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    return context


def _bare_context() -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    context.hostname_checks_common_name = False
    context.verify_flags |= ssl.VerifyFlags.VERIFY_X509_PARTIAL_CHAIN
    context.set_alpn_protocols(["http/1.1"])
    return context


# ------------------------------------------------------------ roots


def root_certificates(bundle: bytes) -> list[bytes]:
    """The certificates of a PEM bundle, as DER. Those that are none are passed over, if only one is good. Raises TlsError."""
    blocks = pem.blocks(bundle)
    usable = [der for kind, der in blocks if kind == CERTIFICATE and _is_certificate(der)]
    if usable:
        return usable
    raise TlsError(f"unable to load root certificates: {_why_none(bundle, blocks)}")


def _is_certificate(der: bytes) -> bool:
    try:
        ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT).load_verify_locations(cadata=der)
    except (ssl.SSLError, ValueError):
        return False
    return True


def _why_none(bundle: bytes, blocks: list[tuple[str, bytes]]) -> str:
    if any(kind == CERTIFICATE for kind, _ in blocks):
        return "failed to parse certificate: x509: malformed certificate"
    rest = bundle.rpartition(b"-----END ")[2].partition(b"-----")[2].lstrip(b"\r\n")
    return "unable to parse bytes as PEM block" if not blocks or rest else "no valid certificate authority data seen"


# ------------------------------------------------------------ who we are


def check_pair(pair: Pair) -> None:
    """Raises TlsError."""
    _check_kinds(pair)
    _load_pair(_bare_context(), pair)


def _check_kinds(pair: Pair) -> None:
    kinds = [kind for kind, _ in pem.blocks(pair.certificate)]
    if not kinds:
        raise TlsError("tls: failed to find any PEM data in certificate input")
    if CERTIFICATE not in kinds:
        if kinds[0].endswith("PRIVATE KEY"):
            found = "but did find a private key; PEM inputs may have been switched"
            raise TlsError(f"tls: failed to find certificate PEM data in certificate input, {found}")
        skipped = " ".join(kinds)
        raise TlsError(f'tls: failed to find "CERTIFICATE" PEM block in certificate input after skipping PEM blocks [{skipped}]')
    keys = [kind for kind, _ in pem.blocks(pair.key)]
    if not keys:
        raise TlsError("tls: failed to find any PEM data in key input")
    if keys == [CERTIFICATE]:
        raise TlsError("tls: found a certificate rather than a key in the PEM for the private key")


def _load_pair(context: ssl.SSLContext, pair: Pair) -> None:
    try:
        contexts.load(context, pair)
    except ssl.SSLError as e:
        if contexts.is_of_another_key(e):
            raise TlsError("tls: private key does not match public key") from None
        malformed = "x509: malformed certificate" if not _certificates_parse(pair) else "tls: failed to parse private key"
        raise TlsError(malformed) from None


def _certificates_parse(pair: Pair) -> bool:
    return all(_is_certificate(der) for kind, der in pem.blocks(pair.certificate) if kind == CERTIFICATE)


# ------------------------------------------------------------ handshakes


def handshake_text(message: str) -> str:
    """What Go says where Python's ssl says `message`."""
    if "EOF" in message or "ZERO_RETURN" in message:
        return "EOF"
    alert = _ALERT.search(message)
    if alert:
        return "remote error: tls: " + _ALERT_WORDS.get(alert[1], alert[1].lower().replace("_", " "))
    if "WRONG_VERSION_NUMBER" in message or "HTTP_REQUEST" in message:
        # Whatever it is that answers, it does not speak TLS; most of the time it is a plain web server.
        return "http: server gave HTTP response to HTTPS client"
    if "UNSUPPORTED_PROTOCOL" in message:
        return "tls: server selected unsupported protocol version"
    return "tls: handshake failure"
