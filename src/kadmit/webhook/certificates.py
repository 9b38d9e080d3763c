"""A webhook's own authority and serving certificate: made, renewed before they end, and replaced without a gap.

All of it is kept in one Secret, which every replica follows and only the leader writes. `renewed` says what the Secret is to hold
now, from what it holds and the time; whoever calls it again and again rotates. A new authority is trusted first and signs later:

    1. an authority grows old: another one is made, and stands in the bundle beside it
    2. after the overlap, when API servers know the bundle, the new one signs the serving certificate
    3. the old one stays in the bundle until it ends, so replicas may take their time to notice

A caller trusts all of the bundle, so at no moment is there a replica that it does not trust.
"""

import ipaddress
import secrets
from base64 import b64decode, b64encode
from binascii import Error as Base64Error
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Any

from cryptography import x509
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

from kadmit.matching.attributes import Json

SKEW = timedelta(hours=1)  # clocks differ
_SIGNING, _NEXT = "signing", "next"


@dataclass(frozen=True, slots=True)
class Lives:
    """How long things are good for. What has less than a third of its life left is old."""

    authority: timedelta = timedelta(days=365)
    certificate: timedelta = timedelta(days=90)
    overlap: timedelta = timedelta(minutes=10)


@dataclass(frozen=True, slots=True)
class Pair:
    """A certificate and its key, as PEM."""

    certificate: bytes
    key: bytes

    def __repr__(self) -> str:
        return f"Pair({self.certificate!r}, ...)"


@dataclass(frozen=True, slots=True)
class Material:
    """What the Secret holds: whom to trust, who signs, who will, and what to serve with."""

    bundle: bytes
    signing: Pair
    serving: Pair
    coming: Pair | None = None


def service_names(namespace: str, service: str) -> tuple[str, ...]:
    """What a Service is called by those who call it."""
    base = f"{service}.{namespace}.svc"
    return (base, f"{base}.cluster.local", f"{service}.{namespace}", service)


# ---------------------------------------------------------------- what is to be


def renewed(material: Material | None, names: Iterable[str], now: datetime, lives: Lives) -> Material:
    """The very same material, if all is well."""
    wanted = frozenset(names)
    if material is None or _ended(_loaded(material.signing.certificate), now):
        made = _authority(now, lives)
        bundle = (material.bundle if material else b"") + made.certificate
        return _pruned(Material(bundle, made, _serving(made, wanted, now, lives)), now)
    found = _with_next(material, now, lives)
    if not _serves(found, wanted, now):
        found = replace(found, serving=_serving(found.signing, wanted, now, lives))
    return _pruned(found, now)


def _with_next(material: Material, now: datetime, lives: Lives) -> Material:
    coming = material.coming
    if coming is None:
        if not _old(_loaded(material.signing.certificate), now):
            return material
        made = _authority(now, lives)
        return replace(material, bundle=material.bundle + made.certificate, coming=made)
    known_since = _loaded(coming.certificate).not_valid_before_utc + SKEW
    return replace(material, signing=coming, coming=None) if now - known_since >= lives.overlap else material


def _serves(material: Material, names: frozenset[str], now: datetime) -> bool:
    known = _loaded(material.serving.certificate)
    return not _old(known, now) and names <= _names(known) and _signed_by(known, _loaded(material.signing.certificate))


def _pruned(material: Material, now: datetime) -> Material:
    """Without authorities whose time is over."""
    trusted = x509.load_pem_x509_certificates(material.bundle)
    left = [certificate for certificate in trusted if not _ended(certificate, now)]
    return material if len(left) == len(trusted) else replace(material, bundle=b"".join(map(_pem, left)))


def _old(certificate: x509.Certificate, now: datetime) -> bool:
    begun, ends = certificate.not_valid_before_utc + SKEW, certificate.not_valid_after_utc
    return ends - now < (ends - begun) / 3


def _ended(certificate: x509.Certificate, now: datetime) -> bool:
    return certificate.not_valid_after_utc <= now


def _signed_by(certificate: x509.Certificate, authority: x509.Certificate) -> bool:
    try:
        certificate.verify_directly_issued_by(authority)
    except (InvalidSignature, ValueError, TypeError):
        return False
    return True


def _names(certificate: x509.Certificate) -> frozenset[str]:
    try:
        found = certificate.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    except x509.ExtensionNotFound:
        return frozenset()
    return frozenset(str(name.value) for name in found)


# ---------------------------------------------------------------- making


def _authority(now: datetime, lives: Lives) -> Pair:
    """NB: two authorities never share a name, or clients that know both would mistake one for the other."""
    key = ec.generate_private_key(ec.SECP256R1())
    subject = _name(f"kadmit-webhook-ca-{secrets.token_hex(4)}")
    builder = _builder(subject, subject, key.public_key(), now, now + lives.authority)
    builder = builder.add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
    return _pair(builder.add_extension(_usage(signs=True), critical=True).sign(key, hashes.SHA256()), key)


def _serving(authority: Pair, names: frozenset[str], now: datetime, lives: Lives) -> Pair:
    signer = _loaded(authority.certificate)
    signing_key = serialization.load_pem_private_key(authority.key, None)
    assert isinstance(signing_key, ec.EllipticCurvePrivateKey)
    key = ec.generate_private_key(ec.SECP256R1())
    ends = min(now + lives.certificate, signer.not_valid_after_utc)
    builder = _builder(_name("kadmit-webhook"), signer.subject, key.public_key(), now, ends)
    builder = builder.add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
    builder = builder.add_extension(_usage(signs=False), critical=True)
    builder = builder.add_extension(x509.ExtendedKeyUsage([ExtendedKeyUsageOID.SERVER_AUTH]), critical=False)
    identifier = x509.AuthorityKeyIdentifier.from_issuer_public_key(signing_key.public_key())
    builder = builder.add_extension(identifier, critical=False)
    builder = builder.add_extension(x509.SubjectAlternativeName([_general(name) for name in sorted(names)]), critical=False)
    return _pair(builder.sign(signing_key, hashes.SHA256()), key)


def _builder(
    subject: x509.Name, issuer: x509.Name, key: ec.EllipticCurvePublicKey, now: datetime, ends: datetime
) -> x509.CertificateBuilder:
    builder = x509.CertificateBuilder(issuer, subject, key, x509.random_serial_number(), now - SKEW, ends)
    return builder.add_extension(x509.SubjectKeyIdentifier.from_public_key(key), critical=False)


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


def _name(common_name: str) -> x509.Name:
    return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, common_name)])


def _general(name: str) -> x509.GeneralName:
    try:
        return x509.IPAddress(ipaddress.ip_address(name))
    except ValueError:
        return x509.DNSName(name)


def _pair(certificate: x509.Certificate, key: ec.EllipticCurvePrivateKey) -> Pair:
    written = key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
    return Pair(_pem(certificate), written)


def _pem(certificate: x509.Certificate) -> bytes:
    return certificate.public_bytes(serialization.Encoding.PEM)


def _loaded(pem: bytes) -> x509.Certificate:
    return x509.load_pem_x509_certificate(pem)


# ---------------------------------------------------------------- the Secret


def secret(material: Material, namespace: str, name: str, version: str = "") -> Json:
    data = {"ca.crt": material.bundle, "tls.crt": material.serving.certificate, "tls.key": material.serving.key}
    data |= {f"{_SIGNING}.crt": material.signing.certificate, f"{_SIGNING}.key": material.signing.key}
    if material.coming is not None:
        data |= {f"{_NEXT}.crt": material.coming.certificate, f"{_NEXT}.key": material.coming.key}
    metadata = {"namespace": namespace, "name": name, "labels": {"app.kubernetes.io/managed-by": "kadmit-webhook"}}
    metadata |= {"resourceVersion": version} if version else {}
    encoded = {key: b64encode(value).decode() for key, value in data.items()}
    return {"apiVersion": "v1", "kind": "Secret", "metadata": metadata, "type": "kubernetes.io/tls", "data": encoded}


def of_secret(value: Mapping[str, Any] | None) -> Material | None:
    """None for a Secret that is not there, is still empty, or holds something else: it is filled anew."""
    try:
        data = {key: b64decode(text, validate=True) for key, text in ((value or {}).get("data") or {}).items()}
        found = Material(
            data["ca.crt"],
            Pair(data[f"{_SIGNING}.crt"], data[f"{_SIGNING}.key"]),
            Pair(data["tls.crt"], data["tls.key"]),
            Pair(data[f"{_NEXT}.crt"], data[f"{_NEXT}.key"]) if f"{_NEXT}.crt" in data else None,
        )
        for pem in (found.bundle, found.signing.certificate, found.serving.certificate):
            _loaded(pem)
        serialization.load_pem_private_key(found.signing.key, None)
    except (KeyError, ValueError, TypeError, Base64Error, AttributeError):
        return None
    return found
