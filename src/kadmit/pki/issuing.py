"""Certificates as they are made: authorities, which sign themselves, and what they sign. All keys are of the curve P-256."""

import secrets
from datetime import datetime, timedelta

from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID
from msgspec import Struct

from kadmit.pki import certificates, encoding
from kadmit.pki.pem import Pair

SERVER, CLIENT = ExtendedKeyUsageOID.SERVER_AUTH, ExtendedKeyUsageOID.CLIENT_AUTH
SKEW = timedelta(hours=1)
"""Clocks differ: a certificate is good from so long before it is made."""


class Keyed(Struct, frozen=True):
    """A certificate and its key."""

    certificate: x509.Certificate
    key: ec.EllipticCurvePrivateKey

    @classmethod
    def of(cls, pair: Pair) -> "Keyed":
        """Raises ValueError and TypeError."""
        return cls(encoding.certificate(pair.certificate), encoding.key(pair.key))

    @property
    def pair(self) -> Pair:
        return Pair(encoding.text(self.certificate), encoding.key_text(self.key))


class Wanted(Struct, frozen=True):
    """What a certificate is for."""

    subject: x509.Name
    usage: x509.ObjectIdentifier
    names: frozenset[str] = frozenset()


def named(common_name: str, organization: str = "") -> x509.Name:
    parts = [x509.NameAttribute(NameOID.ORGANIZATION_NAME, organization)] if organization else []
    return x509.Name([*parts, x509.NameAttribute(NameOID.COMMON_NAME, common_name)])


def unheard_of(prefix: str) -> x509.Name:
    """NB: two authorities never share a name, or clients that know both would mistake one for the other."""
    return named(f"{prefix}-{secrets.token_hex(4)}")


def authority(subject: x509.Name, now: datetime, life: timedelta, key: ec.EllipticCurvePrivateKey | None = None) -> Keyed:
    """`key` where an authority is renewed: who trusts the old certificate goes on with what it signed."""
    used = key or _new_key()
    builder = _builder(subject, subject, used, now, now + life)
    builder = builder.add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
    builder = builder.add_extension(_usage(signs=True), critical=True)
    return Keyed(builder.sign(used, hashes.SHA256()), used)


def signed(wanted: Wanted, signer: Keyed, now: datetime, ends: datetime) -> Keyed:
    """With a key of its own."""
    key = _new_key()
    builder = _builder(wanted.subject, signer.certificate.subject, key, now, ends)
    identifier = x509.AuthorityKeyIdentifier.from_issuer_public_key(signer.key.public_key())
    builder = builder.add_extension(identifier, critical=False)
    builder = builder.add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
    builder = builder.add_extension(_usage(signs=False), critical=True)
    builder = builder.add_extension(x509.ExtendedKeyUsage([wanted.usage]), critical=False)
    if wanted.names:
        names = x509.SubjectAlternativeName([certificates.general_name(name) for name in sorted(wanted.names)])
        builder = builder.add_extension(names, critical=False)
    return Keyed(builder.sign(signer.key, hashes.SHA256()), key)


def _new_key() -> ec.EllipticCurvePrivateKey:
    return ec.generate_private_key(ec.SECP256R1())


def _builder(
    subject: x509.Name, issuer: x509.Name, key: ec.EllipticCurvePrivateKey, now: datetime, ends: datetime
) -> x509.CertificateBuilder:
    public = key.public_key()
    builder = x509.CertificateBuilder(issuer, subject, public, x509.random_serial_number(), now - SKEW, ends)
    return builder.add_extension(x509.SubjectKeyIdentifier.from_public_key(public), critical=False)


def _usage(*, signs: bool) -> x509.KeyUsage:
    return x509.KeyUsage(
        digital_signature=True,
        content_commitment=False,
        key_encipherment=False,
        data_encipherment=False,
        key_agreement=False,
        key_cert_sign=signs,
        crl_sign=signs,
        encipher_only=False,
        decipher_only=False,
    )
