"""A server's own certificates: an authority, a certificate to serve with, and one for the administrator, in one folder.

They are made on the first start, and made anew a good while before they end, or when the server is to answer to another name.
The authority keeps its key when it is renewed, so that clients who trust the old one go on. Keys are readable by their owner
only, and no file is ever half written.
"""

import asyncio
import contextlib
import ipaddress
import os
import secrets
import socket
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TypeVar

from cryptography import x509
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

from kadmit.server.startup import StartupError, because

AUTHORITY_LIFE = timedelta(days=3650)
LIFE = timedelta(days=365)
PERIOD = 6 * 3600.0  # seconds between looks at the dates
RENEW_AT = 0.2  # of a life: what remains when a certificate is made anew
ADMIN, MASTERS = "kubernetes-admin", "system:masters"
SERVICE_NAMES = ("kubernetes", "kubernetes.default", "kubernetes.default.svc", "kubernetes.default.svc.cluster.local")

_SKEW = timedelta(hours=1)  # clocks differ
_PUBLIC, _PRIVATE = 0o644, 0o600

_Found = TypeVar("_Found")


@dataclass(frozen=True, slots=True)
class Files:
    """A certificate and its key."""

    certificate: Path
    key: Path


@dataclass(frozen=True, slots=True)
class Credentials:
    """What stands in the folder."""

    authority: Files
    server: Files
    admin: Files


@dataclass(frozen=True, slots=True)
class _Pair:
    certificate: x509.Certificate
    key: ec.EllipticCurvePrivateKey


@dataclass(frozen=True, slots=True)
class _Wanted:
    """What a certificate is for."""

    subject: x509.Name
    usage: x509.ObjectIdentifier
    names: frozenset[str] = frozenset()


def subject_names(bind_address: str, service_range: str = "", more: Iterable[str] = ()) -> tuple[str, ...]:
    """What a server is called: this machine, the address it listens on, and the names it has in a cluster."""
    names = ["localhost", socket.gethostname(), *SERVICE_NAMES, "127.0.0.1", "::1", *more]
    if bind_address and not ipaddress.ip_address(bind_address).is_unspecified:
        names.append(bind_address)
    if service_range:
        names.append(str(ipaddress.ip_network(service_range.split(",")[0], strict=False)[1]))
    return tuple(dict.fromkeys(name.lower() for name in names if name))


def bootstrap(folder: Path, names: Sequence[str], now: datetime | None = None) -> Credentials:
    """All certificates, good for a while; what is missing or old is made. Raises StartupError."""
    moment = now or datetime.now(UTC)
    files = Credentials(_files(folder, "ca"), _files(folder, "apiserver"), _files(folder, "admin"))
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        authority = _authority(files.authority, moment)
        serving = _Wanted(_name("kube-apiserver"), ExtendedKeyUsageOID.SERVER_AUTH, frozenset(names))
        _renew(files.server, serving, authority, files.authority, moment)
        _renew(files.admin, _Wanted(_name(ADMIN, MASTERS), ExtendedKeyUsageOID.CLIENT_AUTH), authority, files.authority, moment)
    except OSError as error:
        raise StartupError(f"--cert-dir: cannot use {str(folder)!r}: {because(error)}") from None
    return files


async def keep(folder: Path, names: Sequence[str], renewed: Callable[[Credentials], None], period: float = PERIOD) -> None:
    """Makes certificates anew while the server runs, until cancelled. `renewed` is told, to write the kubeconfig again; whoever
    serves notices the files by itself. NB: what fails here fails again next time, and in the end at the next start."""
    while True:
        await asyncio.sleep(period)
        with contextlib.suppress(StartupError):
            before = _contents(folder)
            made = bootstrap(folder, names)
            if _contents(folder) != before:
                renewed(made)


def _contents(folder: Path) -> list[bytes]:
    return [path.read_bytes() for path in sorted(folder.glob("*.crt"))]


def _files(folder: Path, name: str) -> Files:
    return Files(folder / f"{name}.crt", folder / f"{name}.key")


# ---------------------------------------------------------------- the authority


def _authority(files: Files, now: datetime) -> "_Pair | x509.Certificate":
    """With its key, or (if somebody else holds the key) the certificate alone."""
    certificate = _read(files.certificate, x509.load_pem_x509_certificate)
    key = _read(files.key, _private_key)
    if certificate is not None and key is None:
        return certificate
    if certificate is not None and key is not None and _matches(certificate, key):
        if not _is_old(certificate, now):
            return _Pair(certificate, key)
    elif certificate is not None:
        raise StartupError(f"{str(files.key)!r} is not the key of {str(files.certificate)!r}")
    made = key or ec.generate_private_key(ec.SECP256R1())
    pair = _Pair(_authority_certificate(made, certificate.subject if certificate else None, now), made)
    _write_pair(files, pair)
    return pair


def _authority_certificate(key: ec.EllipticCurvePrivateKey, known: x509.Name | None, now: datetime) -> x509.Certificate:
    """NB: two authorities never share a name, or clients that know both would mistake one for the other."""
    subject = known or _name(f"kadmit-{secrets.token_hex(4)}")
    builder = _builder(subject, subject, key.public_key(), now, AUTHORITY_LIFE)
    builder = builder.add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
    builder = builder.add_extension(_usage(signs_certificates=True), critical=True)
    return builder.sign(key, hashes.SHA256())


# ---------------------------------------------------------------- certificates under it


def _renew(files: Files, wanted: _Wanted, authority: "_Pair | x509.Certificate", signer: Files, now: datetime) -> None:
    known = _read(files.certificate, x509.load_pem_x509_certificate)
    key = _read(files.key, _private_key)
    trusted = authority.certificate if isinstance(authority, _Pair) else authority
    if known is not None and key is not None and _serves(known, key, wanted, trusted) and not _is_old(known, now):
        return
    if not isinstance(authority, _Pair):
        raise StartupError(f"{str(files.certificate)!r} must be made anew, but there is no {str(signer.key)!r} to sign it with")
    made = ec.generate_private_key(ec.SECP256R1())
    _write_pair(files, _Pair(_signed(wanted, made, authority, now), made))


def _serves(known: x509.Certificate, key: ec.EllipticCurvePrivateKey, wanted: _Wanted, trusted: x509.Certificate) -> bool:
    return _matches(known, key) and _is_of(known, trusted) and known.subject == wanted.subject and wanted.names <= _names(known)


def _signed(wanted: _Wanted, key: ec.EllipticCurvePrivateKey, authority: _Pair, now: datetime) -> x509.Certificate:
    builder = _builder(wanted.subject, authority.certificate.subject, key.public_key(), now, LIFE)
    identifier = x509.AuthorityKeyIdentifier.from_issuer_public_key(authority.key.public_key())
    builder = builder.add_extension(identifier, critical=False)
    builder = builder.add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
    builder = builder.add_extension(_usage(signs_certificates=False), critical=True)
    builder = builder.add_extension(x509.ExtendedKeyUsage([wanted.usage]), critical=False)
    if wanted.names:
        names = x509.SubjectAlternativeName([_general_name(name) for name in sorted(wanted.names)])
        builder = builder.add_extension(names, critical=False)
    return builder.sign(authority.key, hashes.SHA256())


def _builder(
    subject: x509.Name, issuer: x509.Name, key: ec.EllipticCurvePublicKey, now: datetime, life: timedelta
) -> x509.CertificateBuilder:
    builder = x509.CertificateBuilder(issuer, subject, key, x509.random_serial_number(), now - _SKEW, now + life)
    return builder.add_extension(x509.SubjectKeyIdentifier.from_public_key(key), critical=False)


def _usage(*, signs_certificates: bool) -> x509.KeyUsage:
    return x509.KeyUsage(
        digital_signature=True,
        content_commitment=False,
        key_encipherment=False,
        data_encipherment=False,
        key_agreement=False,
        key_cert_sign=signs_certificates,
        crl_sign=signs_certificates,
        encipher_only=False,
        decipher_only=False,
    )


def _name(common_name: str, organization: str = "") -> x509.Name:
    parts = [x509.NameAttribute(NameOID.ORGANIZATION_NAME, organization)] if organization else []
    return x509.Name([*parts, x509.NameAttribute(NameOID.COMMON_NAME, common_name)])


def _general_name(name: str) -> x509.GeneralName:
    try:
        return x509.IPAddress(ipaddress.ip_address(name))
    except ValueError:
        return x509.DNSName(name)


def _names(certificate: x509.Certificate) -> frozenset[str]:
    try:
        found = certificate.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    except x509.ExtensionNotFound:
        return frozenset()
    return frozenset(str(name.value) for name in found)


def _is_old(certificate: x509.Certificate, now: datetime) -> bool:
    starts, ends = certificate.not_valid_before_utc, certificate.not_valid_after_utc
    return now < starts or ends - now < (ends - starts) * RENEW_AT


def _is_of(certificate: x509.Certificate, authority: x509.Certificate) -> bool:
    try:
        certificate.verify_directly_issued_by(authority)
    except (InvalidSignature, ValueError, TypeError):
        return False
    return True


def _matches(certificate: x509.Certificate, key: ec.EllipticCurvePrivateKey) -> bool:
    return certificate.public_key() == key.public_key()


# ---------------------------------------------------------------- files


def _read(path: Path, parse: Callable[[bytes], _Found]) -> _Found | None:
    """What the file holds; None if there is no such file. Raises StartupError for a file that is something else."""
    try:
        data = path.read_bytes()
    except FileNotFoundError:
        return None
    try:
        return parse(data)
    except (ValueError, TypeError):
        raise StartupError(f"{str(path)!r} cannot be read; restore it, or remove it to have it made anew") from None


def _private_key(data: bytes) -> ec.EllipticCurvePrivateKey:
    key = serialization.load_pem_private_key(data, None)
    if not isinstance(key, ec.EllipticCurvePrivateKey):
        raise TypeError("no elliptic curve key")
    return key


def _write_pair(files: Files, pair: _Pair) -> None:
    """The key first: whoever finds the two apart goes on with what it has, and looks again."""
    form = serialization.PrivateFormat.PKCS8
    key = pair.key.private_bytes(serialization.Encoding.PEM, form, serialization.NoEncryption())
    write_file(files.key, key, private=True)
    write_file(files.certificate, pair.certificate.public_bytes(serialization.Encoding.PEM), private=False)


def write_file(path: Path, data: bytes, *, private: bool) -> None:
    """All of it or nothing, and never readable by more people than it should be. Raises OSError."""
    unfinished = path.with_name(f".{path.name}.{secrets.token_hex(4)}")
    descriptor = os.open(unfinished, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, _PRIVATE if private else _PUBLIC)
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        unfinished.replace(path)
    except BaseException:
        with contextlib.suppress(OSError):
            unfinished.unlink()
        raise
