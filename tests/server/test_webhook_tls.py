"""Whom the webhook client trusts, and what it says of those it does not. The texts are Go's, recorded from its own client."""

import ssl
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from cryptography.x509.oid import ExtendedKeyUsageOID
from tests.server import hooks
from tests.server.calls import Moved, ask, call_to, message
from tests.server.certificates import DAY, Authority, Pair, authority, good_context, now, server_context
from tests.server.hooks import serving

from kadmit.api.config import Kubeconfig, User
from kadmit.server.credentials import MUTATING, Credentials
from kadmit.server.service_resolver import Address
from kadmit.server.tls import handshake_text
from kadmit.server.webhook_client import WebhookClient

UNKNOWN = "x509: certificate signed by unknown authority"
PAST, FUTURE = (now() - 3 * DAY, now() - DAY), (now() + DAY, now() + 2 * DAY)
SWITCHED = "but did find a private key; PEM inputs may have been switched"
BAD_CERTIFICATE = b"-----BEGIN CERTIFICATE-----\nQUJD\n-----END CERTIFICATE-----\n"


def _hint(reason: str, name: str = "test-ca") -> str:
    return f'{UNKNOWN} (possibly because of "{reason}" while trying to verify candidate authority certificate "{name}")'


@dataclass(frozen=True)
class Shown:
    """A certificate, and what is said of it. `ca` is who is trusted, where it is not who signed it."""

    says: str
    pair: Pair
    host: str = "127.0.0.1"
    ca: bytes = field(default_factory=lambda: authority().pem)


def _refused() -> dict[str, Shown]:
    ca, namesake, other = authority(), Authority(), Authority(name="other-ca")
    expired, no_authority = Authority(life=PAST), Authority(is_ca=False)
    late, early = f"is after {_z(PAST[1])}", f"is before {_z(FUTURE[0])}"
    old = "x509: certificate has expired or is not yet valid: current time NOW "
    many = [f"n{i}" for i in range(100)]
    return {
        "another authority": Shown(UNKNOWN, other.sign()),
        "an authority of the same name": Shown(_hint("x509: ECDSA verification failure"), namesake.sign()),
        "an authority that is none": Shown(
            _hint("x509: invalid signature: parent certificate cannot sign this kind of certificate"),
            no_authority.sign(),
            ca=no_authority.pem,
        ),
        "an expired authority": Shown(old + late, expired.sign(), ca=expired.pem),
        "the system's roots": Shown(UNKNOWN, ca.sign(), ca=b""),
        "expired": Shown(old + late, ca.sign(life=PAST)),
        "not yet valid": Shown(old + early, ca.sign(life=FUTURE)),
        "for other addresses": Shown(
            "x509: certificate is valid for 127.0.0.2, ::1, not 127.0.0.1", ca.sign(["127.0.0.2", "::1", "x.y"])
        ),
        "for no address": Shown(
            "x509: cannot validate certificate for 127.0.0.1 because it doesn't contain any IP SANs", ca.sign(["x.y"])
        ),
        "for other names": Shown(
            "x509: certificate is valid for x.y, *.z, not localhost", ca.sign(["x.y", "*.z", "127.0.0.1"]), "localhost"
        ),
        "for no name": Shown(
            "x509: certificate is not valid for any names, but wanted to match localhost", ca.sign(["127.0.0.1"]), "localhost"
        ),
        "for a hundred names": Shown(
            "x509: certificate is valid for 100 names, but none matched localhost", ca.sign(many), "localhost"
        ),
        "for the common name": Shown(
            "x509: certificate relies on legacy Common Name field, use SANs instead", ca.sign([], common="localhost"), "localhost"
        ),
        "for clients": Shown(
            "x509: certificate specifies an incompatible key usage", ca.sign(usage=ExtendedKeyUsageOID.CLIENT_AUTH)
        ),
        "dates come before names": Shown(old + late, other.sign(["a"], life=PAST)),
        "names come before authorities": Shown("x509: certificate is valid for a, not localhost", other.sign(["a"]), "localhost"),
    }


def _z(moment: object) -> str:
    return str(moment).replace(" ", "T").replace("+00:00", "Z")


@pytest.mark.parametrize("shown", [pytest.param(v, id=k) for k, v in _refused().items()])
async def test_a_certificate_that_is_refused(shown: Shown, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("kadmit.pki.faults._shown", lambda m: "NOW" if m.microsecond else _z(m))
    async with serving(hooks.allows(), context=server_context(shown.pair)) as hook, WebhookClient() as client:
        url = hook.url(host=shown.host)
        answer = await ask(client, call_to({"url": url}, ca=shown.ca))
    says = f"tls: failed to verify certificate: {shown.says}"
    assert answer.failure == f'failed to call webhook: Post "{url}?timeout=10s": {says}'
    assert hook.asked == []


async def test_a_certificate_may_itself_be_trusted() -> None:
    pair = authority().sign()
    async with serving(hooks.allows("fine"), context=server_context(pair)) as hook, WebhookClient() as client:
        assert message(await ask(client, call_to({"url": hook.url()}, ca=pair.pem))) == "fine"


async def test_a_wildcard_stands_for_one_label() -> None:
    pair = authority().sign(["*.hooks.svc"])
    async with (
        serving(hooks.allows("fine"), context=server_context(pair)) as hook,
        WebhookClient(Moved(Address("127.0.0.1", hook.port))) as client,
    ):
        assert message(await ask(client, call_to({"service": {"namespace": "hooks", "name": "any"}}))) == "fine"
        assert (await ask(client, call_to({"service": {"namespace": "hooks", "name": "a.b"}}))).failure != ""


@pytest.mark.parametrize(
    ("bundle", "reason"),
    [
        (b"garbage", "unable to parse bytes as PEM block"),
        (b" \n", "unable to parse bytes as PEM block"),
        (b"-----BEGIN CERTIFICATE-----\nQ@@@@D\n-----END CERTIFICATE-----\n", "unable to parse bytes as PEM block"),
        (authority().pair.key_pem, "no valid certificate authority data seen"),
        (authority().pair.key_pem + b"xx", "unable to parse bytes as PEM block"),
        (BAD_CERTIFICATE, "failed to parse certificate: x509: malformed certificate"),
    ],
)
async def test_a_bundle_that_holds_no_certificate(bundle: bytes, reason: str) -> None:
    async with WebhookClient() as client:
        answer = await ask(client, call_to({"url": "https://127.0.0.1:1/x"}, ca=bundle))
    assert (answer.failure, answer.code) == (f"could not get REST client: unable to load root certificates: {reason}", 500)


@pytest.mark.parametrize(
    "bundle",
    [
        b"hello\n" + authority().pem + b"\nbye",
        BAD_CERTIFICATE + authority().pem,
        Authority(name="other-ca").pem + authority().pem,
        authority().pem.replace(b"\n", b"\r\n"),
    ],
    ids=["text around it", "a bad one before it", "two authorities", "another system's lines"],
)
async def test_a_bundle_with_one_good_certificate_is_good(bundle: bytes) -> None:
    async with serving(hooks.allows("fine"), context=good_context()) as hook, WebhookClient() as client:
        assert message(await ask(client, call_to({"url": hook.url()}, ca=bundle))) == "fine"


# Client certificates


def _user(pair: Pair, folder: Path | None = None) -> User:
    if folder is None:
        return User(certificate_data=pair.pem, key_data=pair.key_pem)
    certificate, key = pair.write(folder, "client")
    return User(certificate_file=str(certificate), key_file=str(key))


def _with(user: User) -> WebhookClient:
    return WebhookClient(credentials={MUTATING: Credentials(Kubeconfig({"*": user}))})


@pytest.mark.parametrize("newest", [ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3])
@pytest.mark.parametrize("in_files", [False, True])
async def test_a_client_certificate_is_shown_to_who_wants_one(newest: ssl.TLSVersion, in_files: bool, tmp_path: Path) -> None:
    clients = Authority(name="clients")
    user = _user(clients.sign([], common="kadmit", usage=ExtendedKeyUsageOID.CLIENT_AUTH), tmp_path if in_files else None)
    context = server_context(authority().sign(), clients=clients.pem, newest=newest)
    async with serving(hooks.allows("fine"), context=context) as hook, _with(user) as client:
        assert message(await ask(client, call_to({"url": hook.url()}))) == "fine"
        assert (await ask(client, call_to({"url": hook.url()}, mutating=False))).failure != ""


async def test_a_rotated_client_certificate_is_shown_at_the_next_call(tmp_path: Path) -> None:
    old, new = Authority(name="old"), Authority(name="new")
    user = _user(old.sign([], usage=ExtendedKeyUsageOID.CLIENT_AUTH), tmp_path)
    context = server_context(authority().sign(), clients=new.pem, newest=ssl.TLSVersion.TLSv1_2)
    async with serving(hooks.allows("fine"), context=context) as hook, _with(user) as client:
        assert (await ask(client, call_to({"url": hook.url()}))).failure != ""
        _user(new.sign([], usage=ExtendedKeyUsageOID.CLIENT_AUTH), tmp_path)
        assert message(await ask(client, call_to({"url": hook.url()}))) == "fine"


def _pairs() -> list[tuple[bytes, bytes, str]]:
    one, other = authority().sign(), authority().sign()
    return [
        (one.pem, other.key_pem, "tls: private key does not match public key"),
        (b"ABC", one.key_pem, "tls: failed to find any PEM data in certificate input"),
        (one.pem, b"ABC", "tls: failed to find any PEM data in key input"),
        (one.pem, one.pem, "tls: found a certificate rather than a key in the PEM for the private key"),
        (
            one.key_pem,
            one.key_pem,
            f"tls: failed to find certificate PEM data in certificate input, {SWITCHED}",
        ),
        (BAD_CERTIFICATE, one.key_pem, "x509: malformed certificate"),
    ]


@pytest.mark.parametrize(("certificate", "key", "reason"), _pairs())
async def test_a_client_certificate_that_cannot_be_used(certificate: bytes, key: bytes, reason: str) -> None:
    async with _with(User(certificate_data=certificate, key_data=key)) as client:
        answer = await ask(client, call_to({"url": "https://127.0.0.1:1/x"}))
    assert (answer.failure, answer.code) == (f"could not get REST client: {reason}", 500)


# Handshakes


@pytest.mark.parametrize(
    ("python", "go"),
    [
        ("[SSL: TLSV13_ALERT_CERTIFICATE_REQUIRED] tlsv13 alert certificate required", "remote error: tls: certificate required"),
        ("[SSL: SSLV3_ALERT_HANDSHAKE_FAILURE] sslv3 alert handshake failure", "remote error: tls: handshake failure"),
        ("[SSL: TLSV1_ALERT_UNKNOWN_CA] tlsv1 alert unknown ca", "remote error: tls: unknown certificate authority"),
        ("[SSL: TLSV1_ALERT_PROTOCOL_VERSION] tlsv1 alert protocol version", "remote error: tls: protocol version not supported"),
        ("[SSL: TLSV1_UNRECOGNIZED_NAME] tlsv1 unrecognized name", "remote error: tls: unrecognized name"),
        ("[SSL: UNEXPECTED_EOF_WHILE_READING] EOF occurred in violation of protocol", "EOF"),
        ("[SSL: WRONG_VERSION_NUMBER] wrong version number", "http: server gave HTTP response to HTTPS client"),
    ],
)
async def test_what_is_said_of_a_failed_handshake(python: str, go: str) -> None:
    assert handshake_text(python) == go
