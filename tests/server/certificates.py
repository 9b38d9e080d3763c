"""Certificates for tests: an authority that signs whatever a test wants to go wrong."""

import datetime
import ipaddress
import ssl
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

DAY = datetime.timedelta(days=1)


def _now() -> datetime.datetime:
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
        return self.certificate.public_bytes(serialization.Encoding.PEM)

    @property
    def key_pem(self) -> bytes:
        return self.key.private_bytes(
            serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
        )

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
    begins: datetime.datetime = field(default_factory=lambda: _now() - DAY)
    ends: datetime.datetime = field(default_factory=lambda: _now() + DAY)
    pair: Pair = field(init=False)

    def __post_init__(self) -> None:
        key = ec.generate_private_key(ec.SECP256R1())
        made = _builder(_name(self.name), key, self.begins, self.ends).issuer_name(_name(self.name))
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
        begins: datetime.datetime | None = None,
        ends: datetime.datetime | None = None,
        usage: x509.ObjectIdentifier | None = ExtendedKeyUsageOID.SERVER_AUTH,
    ) -> Pair:
        key = ec.generate_private_key(ec.SECP256R1())
        made = _builder(_name(common), key, begins or _now() - DAY, ends or _now() + DAY).issuer_name(_name(self.name))
        if names:
            made = made.add_extension(x509.SubjectAlternativeName([_alternative(n) for n in names]), critical=False)
        if usage is not None:
            made = made.add_extension(x509.ExtendedKeyUsage([usage]), critical=False)
        return Pair(made.sign(self.pair.key, hashes.SHA256()), key)


def _builder(
    subject: x509.Name, key: ec.EllipticCurvePrivateKey, begins: datetime.datetime, ends: datetime.datetime
) -> x509.CertificateBuilder:
    made = x509.CertificateBuilder().subject_name(subject).public_key(key.public_key())
    return made.serial_number(x509.random_serial_number()).not_valid_before(begins).not_valid_after(ends)


def _alternative(name: str) -> x509.GeneralName:
    try:
        return x509.IPAddress(ipaddress.ip_address(name))
    except ValueError:
        return x509.DNSName(name)


def server_context(pair: Pair, folder: Path, *, clients: bytes = b"", oldest: ssl.TLSVersion | None = None) -> ssl.SSLContext:
    """What a server with this certificate speaks TLS with; `clients` is the CA of the client certificates that it demands."""
    certificate, key = pair.write(folder, f"server-{pair.certificate.serial_number}")
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate, key)
    if oldest is not None:
        context.maximum_version = oldest
    if clients:
        context.verify_mode = ssl.CERT_REQUIRED
        context.load_verify_locations(cadata=clients.decode())
    return context
