"""Certificates over time: what the Secret is to hold, and that no caller is ever left with a replica that it does not trust."""

from datetime import UTC, datetime, timedelta

import pytest
from cryptography import x509
from cryptography.x509.verification import PolicyBuilder, Store, VerificationError

from kadmit.webhook import certificates
from kadmit.webhook.certificates import Lives, Material, renewed

START = datetime(2026, 1, 1, tzinfo=UTC)
NAMES = certificates.service_names("kadmit-system", "kadmit-webhook")
LIVES = Lives(authority=timedelta(days=30), certificate=timedelta(days=9), overlap=timedelta(hours=1))


def trusts(bundle: bytes, served: bytes, now: datetime, name: str = NAMES[0]) -> bool:
    """Whether an API server with this bundle would go on with a replica that shows this certificate."""
    store = Store(x509.load_pem_x509_certificates(bundle))
    verifier = PolicyBuilder().store(store).time(now.replace(tzinfo=None)).build_server_verifier(x509.DNSName(name))
    try:
        verifier.verify(x509.load_pem_x509_certificate(served), [])
    except VerificationError:
        return False
    return True


def test_what_is_made_first_is_trusted_by_all_names_of_the_service() -> None:
    made = renewed(None, NAMES, START, LIVES)
    assert all(trusts(made.bundle, made.serving.certificate, START, name) for name in NAMES if "." in name)
    assert made.coming is None


def test_nothing_is_done_before_its_time() -> None:
    made = renewed(None, NAMES, START, LIVES)
    assert renewed(made, NAMES, START + timedelta(days=5), LIVES) is made


def test_a_certificate_is_renewed_when_a_third_of_its_life_is_left() -> None:
    made = renewed(None, NAMES, START, LIVES)
    later = renewed(made, NAMES, START + timedelta(days=6, hours=1), LIVES)
    assert later.serving != made.serving
    assert (later.bundle, later.signing) == (made.bundle, made.signing)


def test_another_name_needs_another_certificate() -> None:
    made = renewed(None, NAMES, START, LIVES)
    assert renewed(made, [*NAMES, "192.0.2.7"], START, LIVES).serving != made.serving


def test_a_new_authority_is_trusted_first_and_signs_later() -> None:
    made = renewed(None, NAMES, START, LIVES)
    old = START + timedelta(days=21)
    coming = renewed(made, NAMES, old, LIVES)
    assert coming.coming is not None
    assert coming.bundle == made.bundle + coming.coming.certificate
    assert coming.signing == made.signing
    early = renewed(coming, NAMES, old + timedelta(minutes=59), LIVES)
    assert early.signing == made.signing
    signed = renewed(early, NAMES, old + timedelta(minutes=60), LIVES)
    assert (signed.signing, signed.coming) == (coming.coming, None)
    assert trusts(coming.bundle, signed.serving.certificate, old + timedelta(hours=1))
    ended = renewed(signed, NAMES, START + timedelta(days=30), LIVES)
    assert ended.bundle == signed.signing.certificate


def test_at_no_moment_is_a_slow_replica_not_trusted() -> None:
    """A replica that notices a Secret an hour late, called by a server that notices a bundle half an hour late."""
    material: Material | None = None
    history: list[tuple[datetime, Material]] = []
    now = START
    while now < START + timedelta(days=100):
        made = renewed(material, NAMES, now, LIVES)
        if made is not material:
            history.append((now, made))
            material = made
        served = [m for at, m in history if at <= now - timedelta(hours=1)] or [history[0][1]]
        bundle = [m for at, m in history if at <= now - timedelta(minutes=30)] or [history[0][1]]
        assert trusts(bundle[-1].bundle, served[-1].serving.certificate, now), now
        assert trusts(bundle[-1].bundle, made.serving.certificate, now), now
        now += timedelta(minutes=30)
    assert len({m.signing for _, m in history}) >= 4


def test_after_a_long_sleep_all_is_made_anew() -> None:
    made = renewed(None, NAMES, START, LIVES)
    late = START + timedelta(days=300)
    again = renewed(made, NAMES, late, LIVES)
    assert trusts(again.bundle, again.serving.certificate, late)
    assert made.bundle not in again.bundle


def test_a_secret_gives_back_what_it_was_made_of() -> None:
    made = renewed(None, NAMES, START, LIVES)
    coming = renewed(made, NAMES, START + timedelta(days=21), LIVES)
    for material in (made, coming):
        assert certificates.of_secret(certificates.secret(material, "n", "s")) == material
    assert certificates.secret(made, "n", "s", "7")["metadata"]["resourceVersion"] == "7"


@pytest.mark.parametrize("secret", [None, {}, {"data": None}, {"data": {"tls.crt": "AAAA"}}, {"data": {"ca.crt": "no base64!"}}])
def test_a_secret_that_holds_something_else_is_taken_for_empty(secret: dict[str, object] | None) -> None:
    assert certificates.of_secret(secret) is None


def test_keys_are_not_shown() -> None:
    assert "PRIVATE KEY" not in repr(renewed(None, NAMES, START, LIVES))
