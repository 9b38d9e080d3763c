"""A webhook's own authority and serving certificate: made, renewed before they end, and replaced without a gap.

All of it is kept in one Secret, which every replica follows and only the leader writes. `renewed` says what the Secret is to hold
now, from what it holds and the time; whoever calls it again and again rotates. A new authority is trusted first and signs later:

    1. an authority grows old: another one is made, and stands in the bundle beside it
    2. after the overlap, when API servers know the bundle, the new one signs the serving certificate
    3. the old one stays in the bundle until it ends, so replicas may take their time to notice

A caller trusts all of the bundle, so at no moment is there a replica that it does not trust.
"""

from base64 import b64decode, b64encode
from binascii import Error as Base64Error
from collections.abc import Iterable, Mapping
from datetime import datetime, timedelta
from typing import Any

from cryptography import x509
from msgspec import Struct
from msgspec.structs import replace

from kadmit.matching.attributes import Json
from kadmit.pki import certificates, encoding, issuing
from kadmit.pki.issuing import SKEW, Keyed, Wanted
from kadmit.pki.pem import Pair

_SIGNING, _NEXT = "signing", "next"


class Lives(Struct, frozen=True):
    """How long things are good for. What has less than a third of its life left is old."""

    authority: timedelta = timedelta(days=365)
    certificate: timedelta = timedelta(days=90)
    overlap: timedelta = timedelta(minutes=10)


class Material(Struct, frozen=True):
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
    if material is None or _ended(encoding.certificate(material.signing.certificate), now):
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
        if not _old(encoding.certificate(material.signing.certificate), now):
            return material
        made = _authority(now, lives)
        return replace(material, bundle=material.bundle + made.certificate, coming=made)
    known_since = encoding.certificate(coming.certificate).not_valid_before_utc + SKEW
    return replace(material, signing=coming, coming=None) if now - known_since >= lives.overlap else material


def _serves(material: Material, names: frozenset[str], now: datetime) -> bool:
    known = encoding.certificate(material.serving.certificate)
    signer = encoding.certificate(material.signing.certificate)
    return not _old(known, now) and names <= certificates.names(known) and certificates.is_signed_by(known, signer)


def _pruned(material: Material, now: datetime) -> Material:
    """Without authorities whose time is over."""
    trusted = x509.load_pem_x509_certificates(material.bundle)
    left = [certificate for certificate in trusted if not _ended(certificate, now)]
    return material if len(left) == len(trusted) else replace(material, bundle=b"".join(map(encoding.text, left)))


def _old(certificate: x509.Certificate, now: datetime) -> bool:
    begun, ends = certificate.not_valid_before_utc + SKEW, certificate.not_valid_after_utc
    return ends - now < (ends - begun) / 3


def _ended(certificate: x509.Certificate, now: datetime) -> bool:
    return certificate.not_valid_after_utc <= now


# ---------------------------------------------------------------- making


def _authority(now: datetime, lives: Lives) -> Pair:
    return issuing.authority(issuing.unheard_of("kadmit-webhook-ca"), now, lives.authority).pair


def _serving(authority: Pair, names: frozenset[str], now: datetime, lives: Lives) -> Pair:
    """NB: it does not outlive who signs it."""
    signer = Keyed.of(authority)
    ends = min(now + lives.certificate, signer.certificate.not_valid_after_utc)
    return issuing.signed(Wanted(issuing.named("kadmit-webhook"), issuing.SERVER, names), signer, now, ends).pair


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
            encoding.certificate(pem)
        encoding.key(found.signing.key)
    except (KeyError, ValueError, TypeError, Base64Error, AttributeError):
        return None
    return found
