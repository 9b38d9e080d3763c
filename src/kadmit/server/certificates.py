"""A server's own certificates: an authority, a certificate to serve with, and one for the administrator, in one folder.

They are made on the first start, and made anew a good while before they end, or when the server is to answer to another name.
The authority keeps its key when it is renewed, so that clients who trust the old one go on. Keys are readable by their owner
only, and no file is ever half written.
"""

import asyncio
import contextlib
import ipaddress
import socket
from collections.abc import Callable, Iterable, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TypeVar

from cryptography import x509
from cryptography.hazmat.primitives.asymmetric import ec
from msgspec import Struct

from kadmit.pki import certificates, encoding, issuing
from kadmit.pki.files import Files
from kadmit.pki.issuing import Keyed, Wanted
from kadmit.server.startup import StartupError, because

AUTHORITY_LIFE = timedelta(days=3650)
LIFE = timedelta(days=365)
PERIOD = 6 * 3600.0  # seconds between looks at the dates
RENEW_AT = 0.2  # of a life: what remains when a certificate is made anew
ADMIN, MASTERS = "kubernetes-admin", "system:masters"
SERVICE_NAMES = ("kubernetes", "kubernetes.default", "kubernetes.default.svc", "kubernetes.default.svc.cluster.local")

_Found = TypeVar("_Found")


class Credentials(Struct, frozen=True):
    """What stands in the folder."""

    authority: Files
    server: Files
    admin: Files


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
    files = Credentials(Files.named(folder, "ca"), Files.named(folder, "apiserver"), Files.named(folder, "admin"))
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        authority = _authority(files.authority, moment)
        serving = Wanted(issuing.named("kube-apiserver"), issuing.SERVER, frozenset(names))
        _renew(files.server, serving, authority, files.authority, moment)
        _renew(files.admin, Wanted(issuing.named(ADMIN, MASTERS), issuing.CLIENT), authority, files.authority, moment)
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


def _authority(files: Files, now: datetime) -> Keyed | x509.Certificate:
    """With its key, or (if somebody else holds the key) the certificate alone."""
    certificate = _read(files.certificate, encoding.certificate)
    key = _read(files.key, encoding.key)
    if certificate is not None and key is None:
        return certificate
    if certificate is not None and key is not None and certificates.is_of(certificate, key):
        if not _is_old(certificate, now):
            return Keyed(certificate, key)
    elif certificate is not None:
        raise StartupError(f"{str(files.key)!r} is not the key of {str(files.certificate)!r}")
    subject = certificate.subject if certificate else issuing.unheard_of("kadmit")
    made = issuing.authority(subject, now, AUTHORITY_LIFE, key)
    files.write(made.pair)
    return made


def _renew(files: Files, wanted: Wanted, authority: Keyed | x509.Certificate, signer: Files, now: datetime) -> None:
    known = _read(files.certificate, encoding.certificate)
    key = _read(files.key, encoding.key)
    trusted = authority.certificate if isinstance(authority, Keyed) else authority
    if known is not None and key is not None and _serves(known, key, wanted, trusted) and not _is_old(known, now):
        return
    if not isinstance(authority, Keyed):
        raise StartupError(f"{str(files.certificate)!r} must be made anew, but there is no {str(signer.key)!r} to sign it with")
    files.write(issuing.signed(wanted, authority, now, now + LIFE).pair)


def _serves(known: x509.Certificate, key: ec.EllipticCurvePrivateKey, wanted: Wanted, trusted: x509.Certificate) -> bool:
    is_ours = certificates.is_of(known, key) and certificates.is_signed_by(known, trusted)
    return is_ours and known.subject == wanted.subject and wanted.names <= certificates.names(known)


def _is_old(certificate: x509.Certificate, now: datetime) -> bool:
    starts, ends = certificate.not_valid_before_utc, certificate.not_valid_after_utc
    return now < starts or ends - now < (ends - starts) * RENEW_AT


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
