"""The certificates that a server makes for itself, and TLS with them on loopback."""

import asyncio
import base64
import os
import ssl
import stat
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
import yaml
from cryptography import x509
from cryptography.hazmat.primitives import serialization

from kadmit.pki.files import Files
from kadmit.server import certificates, kubeconfigfile, servingtls
from kadmit.server.certificates import AUTHORITY_LIFE, LIFE, Credentials, bootstrap
from kadmit.server.kubeconfigfile import Administrator
from kadmit.server.servingtls import LiveTls, Material
from kadmit.server.startup import StartupError

NAMES = certificates.subject_names("127.0.0.1", "10.0.0.0/24")
NOW = datetime.now(UTC)
REFUSED = "refused"


def _certificate(files: Files) -> x509.Certificate:
    return x509.load_pem_x509_certificate(files.certificate.read_bytes())


def _texts(made: Credentials) -> list[bytes]:
    """The server's, then the administrator's, then the authority's certificate."""
    return [files.certificate.read_bytes() for files in (made.server, made.admin, made.authority)]


# ---------------------------------------------------------------- making


def test_a_folder_is_filled_with_an_authority_and_two_certificates_of_it(tmp_path: Path) -> None:
    made = bootstrap(tmp_path / "pki", NAMES)
    authority, server, admin = (_certificate(files) for files in (made.authority, made.server, made.admin))
    server.verify_directly_issued_by(authority)
    admin.verify_directly_issued_by(authority)
    assert admin.subject.rfc4514_string() == "CN=kubernetes-admin,O=system:masters"
    assert sorted(path.name for path in (tmp_path / "pki").iterdir()) == [
        "admin.crt", "admin.key", "apiserver.crt", "apiserver.key", "ca.crt", "ca.key",
    ]  # fmt: skip


def test_only_the_owner_can_read_keys(tmp_path: Path) -> None:
    before = os.umask(0)
    try:
        made = bootstrap(tmp_path / "pki", NAMES)
    finally:
        os.umask(before)
    modes = {path.name: stat.S_IMODE(path.stat().st_mode) for path in (tmp_path / "pki").iterdir()}
    assert {mode for name, mode in modes.items() if name.endswith(".key")} == {0o600}
    assert stat.S_IMODE(made.server.key.parent.stat().st_mode) == 0o700


def test_the_server_is_known_by_its_names(tmp_path: Path) -> None:
    names = certificates.subject_names("192.0.2.7", "10.96.0.0/12", ["api.example.com"])
    found = _certificate(bootstrap(tmp_path, names).server).extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    known = {str(name.value) for name in found}
    assert {"localhost", "kubernetes.default.svc", "127.0.0.1", "::1", "192.0.2.7", "10.96.0.1", "api.example.com"} <= known


@pytest.mark.parametrize("address", ["0.0.0.0", "::"])
def test_listening_everywhere_is_no_name(address: str) -> None:
    assert address not in certificates.subject_names(address)


def test_certificates_stay_while_they_are_good(tmp_path: Path) -> None:
    first = _texts(bootstrap(tmp_path, NAMES, NOW))
    assert _texts(bootstrap(tmp_path, NAMES, NOW + LIFE / 2)) == first


def test_certificates_are_made_anew_before_they_end(tmp_path: Path) -> None:
    server, admin, authority = _texts(bootstrap(tmp_path, NAMES, NOW))
    later = _texts(bootstrap(tmp_path, NAMES, NOW + LIFE * 0.9))
    assert later[0] != server
    assert later[1] != admin
    assert later[2] == authority


def test_a_renewed_authority_keeps_its_name_and_key(tmp_path: Path) -> None:
    old = _certificate(bootstrap(tmp_path, NAMES, NOW).authority)
    made = bootstrap(tmp_path, NAMES, NOW + AUTHORITY_LIFE * 0.9)
    new = _certificate(made.authority)
    assert new != old
    assert (new.subject, new.public_key()) == (old.subject, old.public_key())
    _certificate(made.server).verify_directly_issued_by(old)


def test_another_name_means_another_certificate(tmp_path: Path) -> None:
    server, admin, _ = _texts(bootstrap(tmp_path, NAMES, NOW))
    later = _texts(bootstrap(tmp_path, (*NAMES, "api.example.com"), NOW))
    assert later[0] != server
    assert later[1] == admin


@pytest.mark.parametrize("lost", ["apiserver.key", "apiserver.crt"])
def test_what_is_missing_is_made(tmp_path: Path, lost: str) -> None:
    before = _texts(bootstrap(tmp_path, NAMES, NOW))
    (tmp_path / lost).unlink()
    assert _texts(bootstrap(tmp_path, NAMES, NOW))[0] != before[0]


def test_an_authority_without_its_key_is_enough_while_nothing_has_to_be_signed(tmp_path: Path) -> None:
    made = bootstrap(tmp_path, NAMES, NOW)
    made.authority.key.unlink()
    bootstrap(tmp_path, NAMES, NOW)
    with pytest.raises(StartupError, match=r"must be made anew, but there is no '.*ca\.key' to sign it with"):
        bootstrap(tmp_path, NAMES, NOW + LIFE)


@pytest.mark.parametrize("name", ["ca.crt", "ca.key", "apiserver.crt", "admin.key"])
def test_a_broken_file_is_named(tmp_path: Path, name: str) -> None:
    bootstrap(tmp_path, NAMES)
    (tmp_path / name).write_text("-----BEGIN NONSENSE-----\n")
    with pytest.raises(StartupError, match=rf"{name}' cannot be read; restore it, or remove it"):
        bootstrap(tmp_path, NAMES)


def test_a_folder_that_cannot_be_made_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(StartupError, match=r"--cert-dir: cannot use '.*/file/pki': not a directory"):
        bootstrap(tmp_path / "file" / "pki", NAMES)


async def test_certificates_are_made_anew_while_the_server_runs(tmp_path: Path) -> None:
    first = _texts(bootstrap(tmp_path, NAMES, NOW - LIFE * 0.9))
    renewed: asyncio.Queue[Credentials] = asyncio.Queue()
    keeping = asyncio.create_task(certificates.keep(tmp_path, NAMES, renewed.put_nowait, period=0.001))
    made = await asyncio.wait_for(renewed.get(), 5)
    assert _texts(made)[0] != first[0]
    await asyncio.sleep(0.005)
    assert renewed.empty()
    keeping.cancel()


# ---------------------------------------------------------------- kubeconfig


def test_the_kubeconfig_holds_all_it_needs(tmp_path: Path) -> None:
    made = bootstrap(tmp_path / "pki", NAMES)
    path = tmp_path / "out" / "admin.kubeconfig"
    kubeconfigfile.write(path, Administrator.of("https://127.0.0.1:6443", made))
    config = yaml.safe_load(path.read_text())
    cluster, user = config["clusters"][0]["cluster"], config["users"][0]["user"]
    assert cluster["server"] == "https://127.0.0.1:6443"
    assert base64.b64decode(cluster["certificate-authority-data"]) == made.authority.certificate.read_bytes()
    assert base64.b64decode(user["client-key-data"]) == made.admin.key.read_bytes()
    assert config["current-context"] == config["contexts"][0]["name"]
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_a_kubeconfig_that_cannot_be_written_names_its_flag(tmp_path: Path) -> None:
    made = bootstrap(tmp_path, NAMES)
    with pytest.raises(StartupError, match=r"--kubeconfig-out: cannot write '.*': not a directory"):
        kubeconfigfile.write(made.server.key / "x" / "y", Administrator.of("https://a", made))


# ---------------------------------------------------------------- TLS on loopback


async def _tell_peer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    peer = writer.get_extra_info("peercert") or {}
    names = [value for part in peer.get("subject", ()) for key, value in part if key == "commonName"]
    await reader.readline()
    writer.write(f"{names}\n".encode())
    await writer.drain()
    writer.close()


@asynccontextmanager
async def _serving(live: LiveTls) -> AsyncIterator[int]:
    server = await asyncio.start_server(_tell_peer, "127.0.0.1", 0, ssl=live.context)
    async with server:
        yield server.sockets[0].getsockname()[1]


async def _ask(port: int, trusted: Files, shown: Files | None = None, name: str = "localhost") -> str:
    """Who the server thinks we are. Verifies the server by name."""
    client = ssl.create_default_context(cafile=str(trusted.certificate))
    client.verify_flags |= ssl.VERIFY_X509_STRICT
    if shown is not None:
        client.load_cert_chain(shown.certificate, shown.key)
    try:
        reader, writer = await asyncio.open_connection("127.0.0.1", port, ssl=client, server_hostname=name)
        writer.write(b"hello\n")
        answer = (await reader.readline()).decode().strip()
    except (ConnectionError, ssl.SSLError) as error:
        if isinstance(error, ssl.SSLCertVerificationError):
            raise
        return REFUSED
    writer.close()
    return answer or REFUSED  # with TLS 1.3 a client only learns afterwards that its certificate was refused


def _material(made: Credentials, *authorities: Files) -> Material:
    return Material(
        made.server.certificate, made.server.key, tuple(files.certificate for files in authorities or (made.authority,))
    )


@pytest.mark.parametrize("name", ["localhost", "127.0.0.1", "kubernetes.default.svc"])
async def test_clients_are_asked_for_a_certificate_and_need_none(tmp_path: Path, name: str) -> None:
    made = bootstrap(tmp_path, NAMES)
    async with _serving(LiveTls(_material(made))) as port:
        assert await _ask(port, made.authority, name=name) == "[]"
        assert await _ask(port, made.authority, made.admin, name) == "['kubernetes-admin']"


async def test_a_certificate_of_an_unknown_authority_is_refused(tmp_path: Path) -> None:
    ours, theirs = bootstrap(tmp_path / "a", NAMES), bootstrap(tmp_path / "b", NAMES)
    async with _serving(LiveTls(_material(ours))) as port:
        assert await _ask(port, ours.authority, theirs.admin) == REFUSED


@pytest.mark.parametrize("name", ["localhost", "127.0.0.1"])
async def test_a_new_serving_certificate_counts_from_the_next_connection(tmp_path: Path, name: str) -> None:
    old, new = bootstrap(tmp_path / "a", NAMES), bootstrap(tmp_path / "b", NAMES)
    live = LiveTls(_material(old))
    async with _serving(live) as port:
        assert await _ask(port, old.authority, name=name) == "[]"
        new.server.key.replace(old.server.key)
        new.server.certificate.replace(old.server.certificate)
        assert live.refresh()
        assert await _ask(port, new.authority, name=name) == "[]"
        with pytest.raises(ssl.SSLCertVerificationError):
            await _ask(port, old.authority, name=name)


async def test_a_new_client_authority_counts_and_the_old_one_no_longer(tmp_path: Path) -> None:
    ours, theirs = bootstrap(tmp_path / "a", NAMES), bootstrap(tmp_path / "b", NAMES)
    clients = tmp_path / "clients.crt"
    clients.write_bytes(ours.authority.certificate.read_bytes())
    live = LiveTls(Material(ours.server.certificate, ours.server.key, (clients,)))
    async with _serving(live) as port:
        assert await _ask(port, ours.authority, ours.admin) == "['kubernetes-admin']"
        clients.write_bytes(theirs.authority.certificate.read_bytes())
        assert live.refresh()
        assert await _ask(port, ours.authority, theirs.admin) == "['kubernetes-admin']"
        assert await _ask(port, ours.authority, ours.admin) == REFUSED


async def test_both_our_own_authority_and_the_operators_are_trusted(tmp_path: Path) -> None:
    ours, theirs = bootstrap(tmp_path / "a", NAMES), bootstrap(tmp_path / "b", NAMES)
    async with _serving(LiveTls(_material(ours, ours.authority, theirs.authority))) as port:
        assert await _ask(port, ours.authority, ours.admin) == "['kubernetes-admin']"
        assert await _ask(port, ours.authority, theirs.admin) == "['kubernetes-admin']"


async def test_broken_files_leave_the_old_certificate_in_use(tmp_path: Path) -> None:
    made, told = bootstrap(tmp_path, NAMES), list[str]()
    live = LiveTls(_material(made), told.append)
    key = made.server.key.read_bytes()
    async with _serving(live) as port:
        made.server.key.write_text("no key")
        assert not live.refresh()
        assert not live.refresh()
        assert await _ask(port, made.authority) == "[]"
        assert len(told) == 1
        assert told[0].startswith("certificates changed but cannot be used, the old ones stay: ")
        made.server.key.write_bytes(key)
        assert live.refresh()
        assert await _ask(port, made.authority) == "[]"


async def test_following_sees_a_change(tmp_path: Path) -> None:
    made = bootstrap(tmp_path, NAMES)
    changed = asyncio.Event()
    live = LiveTls(_material(made), lambda _: changed.set())
    following = asyncio.create_task(live.follow(period=0.001))
    made.server.certificate.unlink()
    bootstrap(tmp_path, NAMES)
    await asyncio.wait_for(changed.wait(), 5)
    following.cancel()


async def test_old_tls_is_refused_where_only_the_newest_may_be_used(tmp_path: Path) -> None:
    made = bootstrap(tmp_path, NAMES)
    material = Material(made.server.certificate, made.server.key, (made.authority.certificate,), oldest="VersionTLS13")
    async with _serving(LiveTls(material)) as port:
        assert await _ask(port, made.authority) == "[]"
        client = ssl.create_default_context(cafile=str(made.authority.certificate))
        client.maximum_version = ssl.TLSVersion.TLSv1_2
        with pytest.raises((ssl.SSLError, ConnectionError)):
            await asyncio.open_connection("127.0.0.1", port, ssl=client, server_hostname="localhost")


# ---------------------------------------------------------------- files that cannot be used


def _encrypted(key: Path) -> None:
    loaded = serialization.load_pem_private_key(key.read_bytes(), None)
    cipher = serialization.BestAvailableEncryption(b"secret")
    key.write_bytes(loaded.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, cipher))


def test_an_encrypted_key_is_refused_without_asking_for_its_password(tmp_path: Path) -> None:
    made = bootstrap(tmp_path, NAMES)
    _encrypted(made.server.key)
    with pytest.raises(StartupError, match="--tls-private-key-file: the key is encrypted; decrypt it first"):
        servingtls.context(_material(made))


def test_a_key_of_another_certificate_is_refused(tmp_path: Path) -> None:
    made = bootstrap(tmp_path, NAMES)
    with pytest.raises(StartupError, match=r"--tls-private-key-file: '.*admin.key' is not the key of '.*apiserver.crt'"):
        servingtls.context(Material(made.server.certificate, made.admin.key))


def test_a_missing_file_is_named_with_its_flag(tmp_path: Path) -> None:
    made = bootstrap(tmp_path, NAMES)
    made.server.certificate.unlink()
    with pytest.raises(StartupError, match=r"--tls-cert-file: cannot read '.*apiserver.crt': no such file or directory"):
        servingtls.context(_material(made))


@pytest.mark.parametrize("text", ["", "nonsense", "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n"])
def test_a_client_authority_that_is_no_certificate_is_refused(tmp_path: Path, text: str) -> None:
    made, path = bootstrap(tmp_path, NAMES), tmp_path / "clients.crt"
    path.write_text(text)
    with pytest.raises(StartupError, match=r"--client-ca-file: '.*clients.crt' holds no usable certificate: "):
        servingtls.context(Material(made.server.certificate, made.server.key, (path,)))


def test_a_certificate_file_without_a_certificate_is_refused(tmp_path: Path) -> None:
    made = bootstrap(tmp_path, NAMES)
    made.server.certificate.write_text("nonsense")
    with pytest.raises(StartupError, match="hold no usable certificate and key: "):
        servingtls.context(_material(made))


def test_a_certificate_from_the_future_is_made_anew(tmp_path: Path) -> None:
    first = _texts(bootstrap(tmp_path, NAMES, NOW + timedelta(days=400)))
    assert _texts(bootstrap(tmp_path, NAMES, NOW))[0] != first[0]
