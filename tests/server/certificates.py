"""Certificates for tests: an authority that signs whatever a test wants to go wrong."""

import datetime
import functools
import ssl
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeAlias

from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

from kadmit.pki import certificates, encoding

DAY = datetime.timedelta(days=1)
Life: TypeAlias = tuple[datetime.datetime, datetime.datetime]


def now() -> datetime.datetime:
    return datetime.datetime.now(datetime.UTC).replace(microsecond=0)


def _name(common: str) -> x509.Name:
    return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, common)] if common else [])


@dataclass(frozen=True)
class Pair:
    """A certificate and its key."""

    certificate: x509.Certificate
    key: ec.EllipticCurvePrivateKey

    @property
    def pem(self) -> bytes:
        return encoding.text(self.certificate)

    @property
    def key_pem(self) -> bytes:
        return encoding.key_text(self.key)

    def write(self, folder: Path, name: str) -> tuple[Path, Path]:
        certificate, key = folder / f"{name}.crt", folder / f"{name}.key"
        certificate.write_bytes(self.pem)
        key.write_bytes(self.key_pem)
        return certificate, key


@dataclass(frozen=True)
class Authority:
    """Signs certificates; signed by nobody."""

    name: str = "test-ca"
    is_ca: bool = True
    life: Life = field(default_factory=lambda: (now() - DAY, now() + DAY))
    pair: Pair = field(init=False)

    def __post_init__(self) -> None:
        key = ec.generate_private_key(ec.SECP256R1())
        made = _builder(_name(self.name), key, self.life).issuer_name(_name(self.name))
        made = made.add_extension(x509.BasicConstraints(ca=self.is_ca, path_length=None), critical=True)
        object.__setattr__(self, "pair", Pair(made.sign(key, hashes.SHA256()), key))

    @property
    def pem(self) -> bytes:
        return self.pair.pem

    def sign(
        self,
        names: Sequence[str] = ("localhost", "127.0.0.1", "hook.hooks.svc"),
        *,
        common: str = "hook",
        life: Life | None = None,
        usage: x509.ObjectIdentifier | None = ExtendedKeyUsageOID.SERVER_AUTH,
    ) -> Pair:
        key = ec.generate_private_key(ec.SECP256R1())
        made = _builder(_name(common), key, life or (now() - DAY, now() + DAY)).issuer_name(_name(self.name))
        if names:
            made = made.add_extension(x509.SubjectAlternativeName([certificates.general_name(n) for n in names]), critical=False)
        if usage is not None:
            made = made.add_extension(x509.ExtendedKeyUsage([usage]), critical=False)
        return Pair(made.sign(self.pair.key, hashes.SHA256()), key)


def _builder(subject: x509.Name, key: ec.EllipticCurvePrivateKey, life: Life) -> x509.CertificateBuilder:
    made = x509.CertificateBuilder().subject_name(subject).public_key(key.public_key())
    return made.serial_number(x509.random_serial_number()).not_valid_before(life[0]).not_valid_after(life[1])


def server_context(pair: Pair, *, clients: bytes = b"", newest: ssl.TLSVersion | None = None) -> ssl.SSLContext:
    """What a server with this certificate speaks TLS with; `clients` is the CA of the client certificates that it demands."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    with tempfile.TemporaryDirectory() as folder:
        context.load_cert_chain(*pair.write(Path(folder), "server"))
    if newest is not None:
        context.maximum_version = newest
    if clients:
        context.verify_mode = ssl.CERT_REQUIRED
        context.load_verify_locations(cadata=clients.decode())
    return context


@functools.cache
def authority() -> Authority:
    """The authority that tests trust."""
    return Authority()


@functools.cache
def good_context() -> ssl.SSLContext:
    """A server that is what it says: localhost, 127.0.0.1 and the service hook of the namespace hooks."""
    return server_context(authority().sign())
