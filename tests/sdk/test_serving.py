"""The server of webhooks over TLS: verdicts, limits, deadlines, callers, certificates, and its end."""

import asyncio
import ssl
from contextlib import suppress
from pathlib import Path

import orjson
import pytest
from cryptography.x509.oid import ExtendedKeyUsageOID
from tests.sdk.serving import Answer, Caller, allow, authority, certificate, request, review, serving
from tests.server.certificates import Authority

from kadmit.webhook.answering import Limits
from kadmit.webhook.callers import Callers
from kadmit.webhook.review import NoVerdict, Response, Review, denied
from kadmit.webhook.serving import CertificateError, WebhookServer

CLIENT = ExtendedKeyUsageOID.CLIENT_AUTH


class Held:
    """A handler whose reviews wait until they are let go."""

    def __init__(self) -> None:
        self.begun = asyncio.Event()
        self.let_go = asyncio.Event()

    async def __call__(self, _review: Review) -> Response:
        self.begun.set()
        await self.let_go.wait()
        return Response(allowed=True)


# ---------------------------------------------------------------- verdicts


@pytest.mark.parametrize("version", ["v1", "v1beta1"])
async def test_a_review_is_answered_in_its_own_version(version: str) -> None:
    async with serving() as served:
        answer = await served.ask("/hook?timeout=10s", review(version))
    assert (answer.status, answer.headers["content-type"]) == (200, "application/json")
    assert orjson.loads(answer.body)["apiVersion"] == f"admission.k8s.io/{version}"


async def test_one_connection_serves_many_reviews() -> None:
    async with serving() as served, served.caller() as caller:
        for number in range(5):
            assert (await caller.ask("/hook", review(uid=f"u-{number}"))).response == {"uid": f"u-{number}", "allowed": True}


async def test_a_handler_that_fails_refuses_without_telling_more(caplog: pytest.LogCaptureFixture) -> None:
    async def fail(_review: Review) -> Response:
        raise RuntimeError("password=hunter2")

    async with serving({"/hook": fail}) as served:
        response = (await served.ask("/hook", review())).response
    assert response["allowed"] is False
    assert response["status"] == {"code": 500, "reason": "InternalError", "message": "the webhook failed; its log tells why"}
    assert "hunter2" in caplog.text


async def test_without_a_verdict_the_failure_policy_decides() -> None:
    async def fail(_review: Review) -> Response:
        raise NoVerdict("policies are not there yet", 503)

    async with serving({"/hook": fail}) as served:
        answer = await served.ask("/hook", review())
    assert (answer.status, answer.text) == (503, "policies are not there yet\n")


# ---------------------------------------------------------------- what is no review


@pytest.mark.parametrize(
    ("path", "body", "method", "status", "text"),
    [
        ("/nowhere", review(), "", 404, "no webhook has this path\n"),
        ("/hook", None, "", 405, "/hook takes POST only\n"),
        ("/hook", b"{}x", "", 400, "body is not JSON: unexpected content after document: line 1 column 3 (char 2)\n"),
        ("/hook", b"", "POST", 400, "body is empty\n"),
        ("/healthz", None, "", 200, "ok\n"),
        ("/livez", None, "", 200, "ok\n"),
        ("/readyz", None, "", 200, "ok\n"),
    ],
)
async def test_other_requests_are_answered_plainly(path: str, body: bytes | None, method: str, status: int, text: str) -> None:
    async with serving() as served:
        answer = await served.ask(path, body, method)
    assert (answer.status, answer.text) == (status, text)


async def test_a_server_is_ready_when_its_owner_says_so() -> None:
    reason = "policies are not there yet"
    async with serving(ready=lambda: reason) as served:
        assert (await served.ask("/readyz")).text == "not ready: policies are not there yet\n"
        assert (await served.ask("/livez")).status == 200
        reason = ""
        assert (await served.ask("/readyz")).status == 200


async def test_who_speaks_no_http_is_told_little(caplog: pytest.LogCaptureFixture) -> None:
    async with serving() as served, served.caller() as caller:
        await caller.say(b"HELLO\r\n\r\n")
        answer = await caller.answer()
        assert (answer.status, answer.text, caplog.text) == (400, "Bad Request\n", "")
        assert await caller.is_over()


# ---------------------------------------------------------------- limits


@pytest.mark.parametrize("chunked", [False, True])
async def test_a_body_that_is_too_large_is_not_read(chunked: bool) -> None:
    body = b"x" * 2000
    headers = {"Content_Length": "", "Transfer_Encoding": "chunked"} if chunked else {}
    sent = b"7d0\r\n" + body + b"\r\n0\r\n\r\n" if chunked else body
    async with serving(limits=Limits(body_bytes=1000)) as served, served.caller() as caller:
        answer = await caller.ask("/hook", sent, **headers)
        assert (answer.status, answer.text) == (413, "body is larger than 1000 bytes\n")
        assert await caller.is_over()


async def test_a_body_that_never_comes_is_not_waited_for() -> None:
    async with serving(limits=Limits(body_seconds=0.05)) as served, served.caller() as caller:
        await caller.say(b"POST /hook HTTP/1.1\r\nHost: hook\r\nContent-Length: 100\r\n\r\n{")
        assert (await caller.answer()).status == 408


async def test_a_review_has_the_time_that_its_caller_has() -> None:
    held = Held()
    async with serving({"/hook": held}) as served:
        answer = await served.ask("/hook?timeout=50ms", review())
        assert (answer.status, answer.text) == (504, "no verdict within 0.05 seconds\n")


@pytest.mark.parametrize("query", ["", "?timeout=", "?timeout=soon", "?timeout=-1s", "?x=1"])
async def test_without_a_timeout_that_can_be_read_it_has_the_time_of_the_limits(query: str) -> None:
    async with serving({"/hook": Held()}, limits=Limits(review_seconds=0.05)) as served:
        assert (await served.ask(f"/hook{query}", review())).status == 504


async def test_what_is_too_much_waits_in_line_or_is_told_to_come_back() -> None:
    held = Held()
    limits = Limits(reviews=1, waiting=1)
    async with serving({"/hook": held}, limits=limits) as served:
        first = asyncio.create_task(served.ask("/hook", review(uid="first")))
        await held.begun.wait()
        second = asyncio.create_task(served.ask("/hook", review(uid="second")))
        await _until_metric(served.server, "kadmit_webhook_queued_reviews 1")
        third = await served.ask("/hook", review(uid="third"))
        assert (third.status, third.headers["retry-after"], third.text) == (429, "1", "too many reviews at once\n")
        held.let_go.set()
        assert [(await task).response["uid"] for task in (first, second)] == ["first", "second"]


async def _until_metric(server: WebhookServer, line: str) -> None:
    async with asyncio.timeout(5):
        while line not in server.metrics.render().decode():
            await asyncio.sleep(0.001)


async def test_a_caller_that_says_nothing_is_not_waited_for() -> None:
    async with serving(limits=Limits(idle_seconds=0.05)) as served, served.caller() as silent, served.caller() as slow:
        await slow.say(b"POST /hook HT")
        assert await silent.is_over()
        assert await slow.is_over()


async def test_a_kept_connection_ends_after_a_while() -> None:
    async with serving(limits=Limits(idle_seconds=0.05)) as served, served.caller() as caller:
        assert (await caller.ask("/hook", review())).response["allowed"]
        assert await caller.is_over()


async def test_there_are_not_more_connections_than_allowed() -> None:
    async with serving(limits=Limits(connections=1)) as served, served.caller() as caller:
        assert (await caller.ask("/livez")).status == 200
        with pytest.raises((ConnectionError, asyncio.IncompleteReadError, ssl.SSLError)):
            await served.ask("/livez")
        assert (await caller.ask("/livez")).status == 200


# ---------------------------------------------------------------- TLS and callers


@pytest.mark.filterwarnings("ignore:.*TLSv1_1:DeprecationWarning")
async def test_nothing_older_than_tls_12_is_spoken() -> None:
    async with serving() as served:
        async with served.caller(newest=ssl.TLSVersion.TLSv1_2) as caller:
            assert (await caller.ask("/livez")).status == 200
        with pytest.raises((ssl.SSLError, ConnectionError)):
            async with served.caller(newest=ssl.TLSVersion.TLSv1_1):
                pass


async def test_a_new_certificate_counts_from_the_next_connection_on() -> None:
    replaced = authority().sign()
    async with serving() as served, served.caller() as old:
        served.server.replace_certificate(replaced.pem, replaced.key_pem)
        async with served.caller() as new:
            assert (old.serial, new.serial) == (certificate().certificate.serial_number, replaced.certificate.serial_number)
            assert (await old.ask("/hook", review())).response["allowed"]
            assert (await new.ask("/hook", review())).response["allowed"]


BROKEN = {
    "another key": (certificate().pem, authority().sign().key_pem, "the key is not the certificate's"),
    "no PEM": (b"x", b"y", "no usable certificate and key: not in PEM format"),
}


@pytest.mark.parametrize(("cert", "key", "text"), BROKEN.values(), ids=BROKEN)
async def test_a_certificate_that_cannot_be_used_changes_nothing(cert: bytes, key: bytes, text: str) -> None:
    async with serving() as served:
        with pytest.raises(CertificateError) as caught:
            served.server.replace_certificate(cert, key)
        assert str(caught.value) == text
        assert (await served.ask("/hook", review())).response["allowed"]


async def test_rotation_under_load_loses_no_review() -> None:
    pairs = [authority().sign() for _ in range(4)]
    async with serving() as served:

        async def keep_asking() -> int:
            answered = 0
            for _ in range(10):
                async with served.caller() as caller:
                    for _ in range(5):
                        answered += (await caller.ask("/hook", review())).response["allowed"]
            return answered

        async def rotate() -> None:
            for pair in pairs:
                served.server.replace_certificate(pair.pem, pair.key_pem)
                await asyncio.sleep(0.02)

        *answered, _ = await asyncio.gather(*(keep_asking() for _ in range(4)), rotate())
    assert answered == [50] * 4


CALLERS = {
    "a name that may": ("kube-apiserver", 200),
    "another name": ("somebody", 401),
    "no certificate": (None, 401),
}


@pytest.mark.parametrize(("name", "status"), CALLERS.values(), ids=CALLERS)
async def test_only_a_caller_with_the_right_certificate_may_ask(name: str | None, status: int) -> None:
    callers = Callers(authority().pem, frozenset({"kube-apiserver"}))
    shown = authority().sign((), common=name, usage=CLIENT) if name else None
    async with serving(callers=callers) as served, served.caller(shown) as caller:
        assert (await caller.ask("/hook", review())).status == status
    async with serving(callers=callers) as served:
        assert (await served.ask("/readyz")).status == 200


async def test_a_certificate_of_another_authority_is_no_certificate() -> None:
    shown = Authority("elsewhere").sign((), common="kube-apiserver", usage=CLIENT)
    async with serving(callers=Callers(authority().pem)) as served:
        with pytest.raises((ssl.SSLError, ConnectionError, asyncio.IncompleteReadError)):
            async with served.caller(shown) as caller:
                await caller.ask("/hook", review())


async def test_a_token_may_be_shown_instead_and_may_change(tmp_path: Path) -> None:
    file = tmp_path / "tokens"
    file.write_text("first\nsecond\n")
    async with serving(callers=Callers(token_file=file)) as served:

        async def status(token: str) -> int:
            return (await served.ask("/hook", review(), Authorization=token)).status

        assert [await status(token) for token in ("Bearer first", "bearer second", "Bearer third", "Basic first", "")] == [
            200, 200, 401, 401, 401,
        ]  # fmt: skip
        file.write_text("another token\n")
        assert [await status("Bearer first"), await status("Bearer another token")] == [401, 200]
        file.unlink()
        assert await status("Bearer another token") == 401


# ---------------------------------------------------------------- the end


async def test_the_end_finishes_what_is_being_worked_on() -> None:
    held = Held()
    async with serving({"/hook": held}) as served, served.caller() as busy, served.caller() as idle:
        assert (await idle.ask("/readyz")).status == 200
        asked = asyncio.create_task(busy.ask("/hook", review()))
        await held.begun.wait()
        ending = asyncio.create_task(served.server.stop())
        assert await idle.is_over()
        with pytest.raises(OSError):
            await served.ask("/livez")
        assert not ending.done()
        held.let_go.set()
        answer = await asked
        assert (answer.response["allowed"], answer.headers["connection"]) == (True, "close")
        await ending


async def test_before_it_stops_listening_it_is_not_ready() -> None:
    async with serving(limits=Limits(drain_delay=0.2)) as served, served.caller() as kept:
        assert (await kept.ask("/readyz")).status == 200
        ending = asyncio.create_task(served.server.stop())
        await asyncio.sleep(0)
        answer = await kept.ask("/readyz")
        assert (answer.status, answer.text, answer.headers["connection"]) == (503, "not ready: shutting down\n", "close")
        assert (await served.ask("/hook", review())).response["allowed"]
        await ending


async def test_what_is_not_finished_in_time_is_given_up() -> None:
    async with serving({"/hook": Held()}, limits=Limits(drain_seconds=0.05)) as served, served.caller() as caller:
        await caller.say(request("/hook", review()))
        await _until_metric(served.server, "kadmit_webhook_inflight_reviews 1")
        await served.server.stop()
        with suppress(ConnectionError):
            assert await caller.is_over()


# ---------------------------------------------------------------- metrics and spans


async def test_everything_is_counted() -> None:
    async def decide(review: Review) -> Response:
        if review.uid == "patched":
            return Response(allowed=True, patch=[{"op": "remove", "path": "/data"}])
        return denied("no") if review.uid == "denied" else Response(allowed=True)

    async with serving({"/hook": decide}) as served, served.caller() as caller:
        for uid in ("a", "b", "patched", "denied"):
            await caller.ask("/hook", review(uid=uid))
        await caller.ask("/nowhere")
        answer = await caller.ask("/metrics")
    assert answer.headers["content-type"] == "text/plain; version=0.0.4; charset=utf-8"
    lines = answer.text.splitlines()
    for line in (
        'kadmit_webhook_reviews_total{path="/hook",verdict="allowed"} 2',
        'kadmit_webhook_reviews_total{path="/hook",verdict="patched"} 1',
        'kadmit_webhook_reviews_total{path="/hook",verdict="denied"} 1',
        'kadmit_webhook_refused_total{reason="not_found"} 1',
        'kadmit_webhook_review_duration_seconds_count{path="/hook"} 4',
        'kadmit_webhook_review_duration_seconds_bucket{path="/hook",le="+Inf"} 4',
        "kadmit_webhook_inflight_reviews 0",
        "kadmit_webhook_connections 1",
    ):
        assert line in lines


async def test_a_caller_that_hangs_up_is_not_worked_for() -> None:
    ended = asyncio.Event()

    async def wait(_review: Review) -> Response:
        try:
            await asyncio.Event().wait()
        finally:
            ended.set()
        raise AssertionError

    async with serving({"/hook": wait}) as served:
        async with served.caller() as caller:
            await caller.say(request("/hook", review()))
            await _until_metric(served.server, "kadmit_webhook_inflight_reviews 1")
        async with asyncio.timeout(5):
            await ended.wait()


async def test_a_server_without_certificate_speaks_plain_http() -> None:
    async with serving(certificate=None, key=None) as served:
        caller = Caller(*await asyncio.open_connection("127.0.0.1", served.server.port))
        answer: Answer = await caller.ask("/hook", review())
        caller.writer.transport.abort()
        with pytest.raises(CertificateError):
            served.server.replace_certificate(certificate().pem, certificate().key_pem)
    assert answer.response["allowed"]
    assert await allow(Review("v1", "u", {})) == Response(allowed=True)
