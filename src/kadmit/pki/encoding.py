"""Certificates and keys out of PEM, and into it.

Apart from `certificates` because of what cryptography loads for keys, which who only looks at certificates does without.
"""

from cryptography import x509
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec


def certificate(pem: bytes) -> x509.Certificate:
    """The first one. Raises ValueError."""
    return x509.load_pem_x509_certificate(pem)


def key(pem: bytes) -> ec.EllipticCurvePrivateKey:
    """Raises ValueError and TypeError."""
    found = serialization.load_pem_private_key(pem, None)
    if not isinstance(found, ec.EllipticCurvePrivateKey):
        raise TypeError("no elliptic curve key")
    return found


def text(certificate: x509.Certificate) -> bytes:
    return certificate.public_bytes(serialization.Encoding.PEM)


def key_text(key: ec.EllipticCurvePrivateKey) -> bytes:
    return key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
