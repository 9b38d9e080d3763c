"""Calling webhooks over real TLS on loopback: what is sent, what comes back, and what is said when nothing does."""

import asyncio
import gzip
import re
import socket

import pytest
from tests.server import hooks
from tests.server.calls import Moved, ask, call_hook, call_to, message
from tests.server.certificates import authority, good_context, server_context
from tests.server.hooks import Behaviour, Hook, serving

from kadmit.server import webhook_exchange
from kadmit.server.proxies import Proxies
from kadmit.server.service_resolver import Address, NoServices
from kadmit.server.webhook_client import WebhookClient
from kadmit.server.webhook_target import Service
from kadmit.server.webhook_transport import Transports, Trust

FAILED = "failed to call webhook: "
UNREAD = "unexpected error when reading response body. Please retry. Original error: "
IT_BROKE = 'an error on the server ("it broke") has prevented the request from succeeding'
EMPTY = "0-length response with status code: 200 and content type: application/json"
BROKEN = "net/http: HTTP/1.x transport connection broken: "
PARTIAL = b"HTTP/1.1 200 OK\r\nContent-Length: 100000\r\n\r\n"
BUSY = hooks.replies(503, b"busy", content_type="text/plain", headers={"Retry-After": "0"})


# What is sent


async def test_a_review_is_posted_as_json_with_the_time_it_may_take() -> None:
    async with serving(hooks.allows("fine"), context=good_context()) as hook, WebhookClient() as client:
        assert message(await ask(client, call_hook(hook))) == "fine"
    (asked,) = hook.asked
    assert (asked.method, asked.target) == ("POST", "/hook?timeout=10s")
    assert asked.review["kind"] == "AdmissionReview"
    assert asked.review["request"]["object"] == {"kind": "ConfigMap"}
    assert {k: asked.headers[k] for k in ("host", "user-agent", "accept", "content-type", "accept-encoding")} == {
        "host": f"127.0.0.1:{hook.port}",
        "user-agent": "kube-apiserver-admission",
        "accept": "application/json, */*",
        "content-type": "application/json",
        "accept-encoding": "gzip",
    }


async def test_each_call_has_a_uid_of_its_own_and_the_answers_keep_their_order() -> None:
    async with (
        serving(hooks.allows("a"), context=good_context()) as a,
        serving(hooks.allows("b"), context=good_context()) as b,
        WebhookClient() as client,
    ):
        answers = await client.call([call_hook(a), call_hook(b), call_hook(a)])
    assert [message(x) for x in answers] == ["a", "b", "a"]
    assert len({x.uid for x in answers}) == 3
    assert {x.uid for x in answers} == {asked.uid for asked in a.asked + b.asked}


async def test_several_calls_are_under_way_at_the_same_time() -> None:
    everybody_is_here = asyncio.Barrier(3)

    async def waits(_hook: Hook, asked: hooks.Asked, writer: asyncio.StreamWriter) -> None:
        await everybody_is_here.wait()
        writer.write(hooks.response(200, hooks.allowing(asked.uid, "met")))

    async with serving(waits, context=good_context()) as hook, WebhookClient() as client:
        answers = await client.call([call_hook(hook)] * 3)
    assert [message(x) for x in answers] == ["met"] * 3


async def test_a_failing_call_leaves_the_others_alone() -> None:
    async with serving(hooks.allows("fine"), context=good_context()) as hook, WebhookClient() as client:
        failed, fine = await client.call([call_to({"url": "https://127.0.0.1:1/closed"}), call_hook(hook)])
    assert failed.failure != ""
    assert message(fine) == "fine"


@pytest.mark.parametrize(
    ("within", "query"), [(None, "timeout=7s"), (2.5, "timeout=3s"), (0.5, "timeout=1s"), (60, "timeout=7s")]
)
async def test_the_time_a_webhook_is_given_is_the_shorter_one_in_whole_seconds(within: float | None, query: str) -> None:
    async with serving(hooks.allows(), context=good_context()) as hook, WebhookClient() as client:
        await ask(client, call_hook(hook, timeout=7), within=within)
    assert hook.asked[0].target == f"/hook?{query}"


async def test_connections_are_kept_and_used_again() -> None:
    async with serving(hooks.allows(), context=good_context()) as hook, WebhookClient() as client:
        for _ in range(3):
            await ask(client, call_hook(hook))
    assert [a.connection for a in hook.asked] == [1, 1, 1]


async def test_a_kept_connection_that_its_server_closed_is_not_used_again() -> None:
    async def answers_once(_hook: Hook, asked: hooks.Asked, writer: asyncio.StreamWriter) -> None:
        writer.write(hooks.response(200, hooks.allowing(asked.uid, "fine")))
        await writer.drain()
        writer.close()

    async with serving(answers_once, context=good_context()) as hook, WebhookClient() as client:
        for _ in range(5):
            assert message(await ask(client, call_hook(hook))) == "fine"
    assert [a.connection for a in hook.asked] == [1, 2, 3, 4, 5]


async def test_a_kept_connection_is_looked_at_before_a_review_is_trusted_to_it() -> None:
    """The server hangs up while the loop is busy: the news is there, but nobody has read it yet."""
    async with serving(hooks.allows("fine"), context=good_context()) as hook, WebhookClient() as client:
        await ask(client, call_hook(hook))
        (task,) = hook.tasks
        task.cancel()
        await task
        assert message(await ask(client, call_hook(hook))) == "fine"
    assert [a.connection for a in hook.asked] == [1, 2]


async def test_transports_that_nobody_uses_are_closed_when_there_are_many() -> None:
    transports = Transports(NoServices(), kept=2)
    trusts = [Trust("", service=Service("ns", str(i))) for i in range(4)]
    with transports.lease(trusts[0]) as used:
        leased = [used]
        for trust in trusts[1:]:
            with transports.lease(trust) as transport:
                leased.append(transport)
        await asyncio.sleep(0)
        assert [t.session.closed for t in leased] == [False, True, True, False]
    with transports.lease(trusts[0]) as again:
        assert again is used
    await transports.close()
    assert all(t.session.closed for t in leased)


# Services


async def test_a_service_is_dialled_where_it_is_and_verified_by_its_name() -> None:
    async with serving(hooks.allows("fine"), context=good_context()) as hook:
        services = Moved(Address("127.0.0.1", hook.port))
        async with WebhookClient(services) as client:
            answer = await ask(
                client, call_to({"service": {"namespace": "hooks", "name": "hook", "path": "/check", "port": 8443}})
            )
    assert message(answer) == "fine"
    assert services.asked == [("hooks", "hook", 8443)]
    assert (hook.asked[0].target, hook.asked[0].headers["host"]) == ("/check?timeout=10s", "hook.hooks.svc:8443")


async def test_a_service_that_moved_is_found_again() -> None:
    services = Moved("nowhere yet")
    async with WebhookClient(services) as client:
        for answer in ("here", "there"):
            async with serving(hooks.allows(answer), context=good_context()) as hook:
                services.address = Address("127.0.0.1", hook.port)
                assert message(await ask(client, call_to({"service": {"namespace": "hooks", "name": "hook"}}))) == answer


async def test_where_a_service_redirects_its_own_name_is_still_verified() -> None:
    only_the_service = server_context(authority().sign(["hook.hooks.svc"]))
    async with (
        serving(hooks.allows("there"), context=only_the_service) as other,
        serving(hooks.redirects(307, other.url()), context=only_the_service) as hook,
        WebhookClient(Moved(Address("127.0.0.1", hook.port))) as client,
    ):
        assert message(await ask(client, call_to({"service": {"namespace": "hooks", "name": "hook"}}))) == "there"


async def test_a_service_must_not_show_the_certificate_of_another() -> None:
    async with (
        serving(hooks.allows(), context=good_context()) as hook,
        WebhookClient(Moved(Address("127.0.0.1", hook.port))) as client,
    ):
        answer = await ask(client, call_to({"service": {"namespace": "ns", "name": "hook"}}))
    assert answer.failure == (
        f'{FAILED}Post "https://hook.ns.svc:443/?timeout=10s": tls: failed to verify certificate: '
        "x509: certificate is valid for localhost, hook.hooks.svc, not hook.ns.svc"
    )
    assert hook.asked == []


@pytest.mark.parametrize(
    ("at", "reason"),
    [
        ('service "hook" not found', 'service "hook" not found'),
        (Address("127.0.0.1", 1), "dial tcp 127.0.0.1:1: connect: connection refused"),
    ],
)
async def test_a_service_that_cannot_be_reached(at: Address | str, reason: str) -> None:
    async with WebhookClient(Moved(at)) as client:
        answer = await ask(client, call_to({"service": {"namespace": "ns", "name": "hook", "path": "check"}}))
    assert answer.failure == f'{FAILED}Post "https://hook.ns.svc:443/check?timeout=10s": {reason}'


# Replies


async def test_a_good_reply_may_be_compressed() -> None:
    async def zips(_hook: Hook, asked: hooks.Asked, writer: asyncio.StreamWriter) -> None:
        body = gzip.compress(hooks.allowing(asked.uid, "small"))
        writer.write(hooks.response(200, body, headers={"Content-Encoding": "gzip"}))

    async with serving(zips, context=good_context()) as hook, WebhookClient() as client:
        assert message(await ask(client, call_hook(hook))) == "small"


@pytest.mark.parametrize(
    ("behaviour", "failure", "code"),
    [
        (hooks.replies(500, b" it broke\n", content_type="text/plain"), IT_BROKE, 500),
        (hooks.replies(500, b"it broke", content_type=""), IT_BROKE, 500),
        (hooks.replies(404, b"no", content_type="text/plain"), "the server could not find the requested resource", 404),
        (hooks.replies(200, b"", content_type=""), EMPTY, 503),
        (hooks.replies(500, b"no gzip, no gzip", headers={"Content-Encoding": "gzip"}), UNREAD + "gzip: invalid header", 503),
        (hooks.says(b"HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nabc", close=True), UNREAD + "unexpected EOF", 503),
        (
            hooks.says(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nabc", close=True),
            UNREAD + "unexpected EOF",
            503,
        ),
        (
            hooks.says(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\nabc", close=True),
            UNREAD + "invalid byte in chunk length",
            503,
        ),
    ],
)
async def test_what_is_said_of_a_bad_reply(behaviour: Behaviour, failure: str, code: int) -> None:
    async with serving(behaviour, context=good_context()) as hook, WebhookClient() as client:
        answer = await ask(client, call_hook(hook))
    assert (answer.failure, answer.code) == (FAILED + failure, code)


@pytest.mark.parametrize(
    ("behaviour", "reason"),
    [
        (hooks.hangs_up, "EOF"),
        (hooks.resets, "read tcp LOCAL->REMOTE: read: connection reset by peer"),
        (hooks.says(b"garbage\r\n\r\n", close=True), f'{BROKEN}malformed HTTP response "garbage"'),
        (hooks.says(b"HTTP/1.1 abc OK\r\n\r\n", close=True), f'{BROKEN}malformed HTTP status code "abc"'),
        (
            hooks.says(b"HTTP/1.1 200 OK\r\nno colon\r\n\r\n", close=True),
            f'{BROKEN}malformed MIME header: missing colon: "no colon"',
        ),
        (hooks.says(b"HTTP/1.1 200 OK\r\nContent-Length: x\r\n\r\n", close=True), f'{BROKEN}bad Content-Length "x"'),
    ],
)
async def test_what_is_said_of_a_connection_that_breaks(behaviour: Behaviour, reason: str) -> None:
    async with serving(behaviour, context=good_context()) as hook, WebhookClient() as client:
        answer = await ask(client, call_hook(hook))
    failure = re.sub(r"127\.0\.0\.1:\d+->127\.0\.0\.1:\d+", "LOCAL->REMOTE", answer.failure)
    assert failure == f'{FAILED}Post "{hook.url()}?timeout=10s": {reason}'
    assert len(hook.asked) == 1


async def test_a_reply_of_five_million_characters_is_read() -> None:
    async def floods(_hook: Hook, asked: hooks.Asked, writer: asyncio.StreamWriter) -> None:
        writer.write(hooks.response(200, hooks.allowing(asked.uid, "x" * 5_000_000)))

    async with serving(floods, context=good_context()) as hook, WebhookClient() as client:
        assert len(message(await ask(client, call_hook(hook)))) == 5_000_000


@pytest.mark.parametrize(
    "endless",
    [
        hooks.replies(200, b"x" * 200_000),
        hooks.replies(200, gzip.compress(b"x" * 200_000), headers={"Content-Encoding": "gzip"}),
    ],
)
async def test_a_reply_that_never_ends_is_given_up(endless: Behaviour, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(webhook_exchange, "MAX_BODY", 100_000)
    async with serving(endless, context=good_context()) as hook, WebhookClient() as client:
        answer = await ask(client, call_hook(hook))
    assert answer.failure == f"{FAILED}{UNREAD}response body is larger than 100000 bytes"


# Deadlines


@pytest.mark.parametrize(
    ("behaviour", "in_body"),
    [
        (hooks.stalls(), False),
        (hooks.stalls(b"HTTP/1.1 200 OK\r\n"), False),
        (hooks.stalls(b"HTTP/1.1 200 OK\r\n", drip=b"x"), False),
        (hooks.stalls(PARTIAL), True),
        (hooks.stalls(PARTIAL, drip=b"x"), True),
    ],
    ids=["silent", "half a head", "a dripping head", "no body", "a dripping body"],
)
async def test_a_deadline_is_one_for_the_whole_call(behaviour: Behaviour, in_body: bool) -> None:
    started = asyncio.get_running_loop().time()
    async with serving(behaviour, context=good_context()) as hook, WebhookClient() as client:
        answer = await ask(client, call_hook(hook), within=0.2)
        took = asyncio.get_running_loop().time() - started
    late = "context deadline exceeded"
    assert answer.failure == (f"{FAILED}{UNREAD}{late}" if in_body else f'{FAILED}Post "{hook.url()}?timeout=1s": {late}')
    assert 0.15 < took < 1


async def test_a_deadline_also_holds_while_connecting() -> None:
    async def says_nothing(_reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await _reader.read()
        writer.close()

    async with hooks.accepting(says_nothing) as port, WebhookClient() as client:
        answer = await ask(client, call_to({"url": f"https://127.0.0.1:{port}/x"}), within=0.2)
    assert answer.failure == f'{FAILED}Post "https://127.0.0.1:{port}/x?timeout=1s": context deadline exceeded'


async def test_a_request_that_is_out_of_time_calls_nobody() -> None:
    async with serving(hooks.allows(), context=good_context()) as hook, WebhookClient() as client:
        answer = await ask(client, call_hook(hook), within=-1)
    assert answer.failure == f"{FAILED}context deadline exceeded"
    assert hook.asked == []


async def test_after_a_timeout_the_next_call_gets_an_answer_of_its_own() -> None:
    async with serving(hooks.stalls(PARTIAL), hooks.allows("fine"), context=good_context()) as hook, WebhookClient() as client:
        assert (await ask(client, call_hook(hook), within=0.2)).failure != ""
        assert message(await ask(client, call_hook(hook))) == "fine"


# Retries


@pytest.mark.parametrize(
    ("status", "after", "calls"),
    [
        (429, "0", 2),
        (503, "0", 2),
        (500, "+0", 2),
        (599, "-1", 2),
        (503, "soon", 1),
        (503, "0.5", 1),
        (503, "", 1),
        (404, "0", 1),
    ],
)
async def test_a_busy_webhook_is_asked_again_when_it_says_when(status: int, after: str, calls: int) -> None:
    busy = hooks.replies(status, b"busy", content_type="text/plain", headers={"Retry-After": after})
    async with serving(busy, hooks.allows(), context=good_context()) as hook, WebhookClient() as client:
        answer = await ask(client, call_hook(hook))
    assert len(hook.asked) == calls
    assert (answer.review is not None) is (calls == 2)
    assert len({a.uid for a in hook.asked}) == 1
    assert {a.target for a in hook.asked} == {"/hook?timeout=10s"}


async def test_a_webhook_that_stays_busy_is_asked_eleven_times() -> None:
    async with serving(BUSY, context=good_context()) as hook, WebhookClient() as client:
        answer = await ask(client, call_hook(hook))
    assert (answer.failure, answer.code) == (f"{FAILED}the server is currently unable to handle the request", 503)
    assert len(hook.asked) == 11


async def test_waiting_for_a_busy_webhook_ends_at_the_deadline() -> None:
    busy = hooks.replies(503, b"busy", headers={"Retry-After": "5"})
    async with serving(busy, context=good_context()) as hook, WebhookClient() as client:
        answer = await ask(client, call_hook(hook), within=0.2)
    assert answer.failure == f'{FAILED}Post "{hook.url()}?timeout=1s": context deadline exceeded'


# Redirects


@pytest.mark.parametrize("status", [307, 308])
async def test_a_redirect_that_keeps_the_method_is_sent_the_review_again(status: int) -> None:
    async with (
        serving(hooks.redirects(status, "/other"), hooks.allows("there"), context=good_context()) as hook,
        WebhookClient() as client,
    ):
        assert message(await ask(client, call_hook(hook))) == "there"
    assert [(a.method, a.target) for a in hook.asked] == [("POST", "/hook?timeout=10s"), ("POST", "/other")]
    assert hook.asked[0].body == hook.asked[1].body


@pytest.mark.parametrize("status", [301, 302, 303])
async def test_any_other_redirect_becomes_a_get(status: int) -> None:
    answers = hooks.redirects(status, "other"), hooks.replies(405)
    async with serving(*answers, context=good_context()) as hook, WebhookClient() as client:
        answer = await ask(client, call_hook(hook, "/a/hook"))
    assert answer.failure == f"{FAILED}the server does not allow this method on the requested resource"
    assert [(a.method, a.target) for a in hook.asked] == [("POST", "/a/hook?timeout=10s"), ("GET", "/a/other")]
    assert hook.asked[1].body == b""
    assert "content-type" not in hook.asked[1].headers


@pytest.mark.parametrize(
    ("location", "failure"),
    [
        ("", "the server responded with the status code 307 but did not return more information"),
        ("again", 'Post "again": stopped after 10 redirects'),
        ("ftp://x/y", 'Post "ftp://x/y": unsupported protocol scheme "ftp"'),
        ("https:///y", 'Post "https:///y": http: no Host in request URL'),
        ("https://127.0.0.1:1/a b", 'Post "https://127.0.0.1:1/a%20b": dial tcp 127.0.0.1:1: connect: connection refused'),
        ("https://u:secret@127.0.0.1:1/", 'Post "https://u:***@127.0.0.1:1/": dial tcp 127.0.0.1:1: connect: connection refused'),
        ("/%zz", 'Post "URL": failed to parse Location header "/%zz": parse "/%zz": invalid URL escape "%zz"'),
        (
            "a b:c",
            'Post "URL": failed to parse Location header "a b:c": parse "a b:c": first path segment in URL cannot contain colon',
        ),
        ("//a b/", 'Post "URL": failed to parse Location header "//a b/": parse "//a b/": invalid character " " in host name'),
        ("http://[:", """Post "URL": failed to parse Location header "http://[:": parse "http://[:": missing ']' in host"""),
    ],
)
async def test_a_redirect_that_leads_nowhere(location: str, failure: str) -> None:
    async with serving(hooks.redirects(307, location), context=good_context()) as hook, WebhookClient() as client:
        answer = await ask(client, call_hook(hook))
    assert answer.failure == FAILED + failure.replace("URL", f"{hook.url()}?timeout=10s", 1 if '"URL"' in failure else 0)
    assert len(hook.asked) == (10 if location == "again" else 1)


# Nobody there


@pytest.mark.parametrize(
    ("authority", "reason"),
    [
        ("127.0.0.1:99999", "dial tcp: address 99999: invalid port"),
        ("127.1:1", "dial tcp: lookup 127.1: no such host"),
        ("2130706433:1", "dial tcp: lookup 2130706433: no such host"),
    ],
)
async def test_an_address_that_nobody_could_dial(authority: str, reason: str) -> None:
    async with WebhookClient() as client:
        answer = await ask(client, call_to({"url": f"https://{authority}/x"}))
    assert (answer.failure, answer.code) == (f'{FAILED}Post "https://{authority}/x?timeout=10s": {reason}', 503)


async def test_a_closed_port() -> None:
    async with WebhookClient() as client:
        answer = await ask(client, call_to({"url": "https://127.0.0.1:1/closed"}))
    reason = "dial tcp 127.0.0.1:1: connect: connection refused"
    assert (answer.failure, answer.code) == (f'{FAILED}Post "https://127.0.0.1:1/closed?timeout=10s": {reason}', 503)


@pytest.mark.parametrize(("code", "reason"), [(socket.EAI_NONAME, "no such host"), (socket.EAI_AGAIN, "server misbehaving")])
async def test_a_name_without_an_address(code: int, reason: str, monkeypatch: pytest.MonkeyPatch) -> None:
    async def unknown(*_: object, **__: object) -> None:
        raise socket.gaierror(code, "unknown")

    monkeypatch.setattr(asyncio.get_running_loop(), "getaddrinfo", unknown)
    async with WebhookClient() as client:
        answer = await ask(client, call_to({"url": "https://nosuch.host/x"}))
    failure = re.sub(r" on \S+:53:", ":", answer.failure)
    assert failure == f'{FAILED}Post "https://nosuch.host/x?timeout=10s": dial tcp: lookup nosuch.host: {reason}'


async def test_a_server_that_does_not_speak_tls() -> None:
    async def plain(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read(10)
        writer.write(b"HTTP/1.1 400 Bad Request\r\n\r\n")
        await writer.drain()
        writer.close()

    async with hooks.accepting(plain) as port, WebhookClient() as client:
        answer = await ask(client, call_to({"url": f"https://127.0.0.1:{port}/x"}))
    assert (
        answer.failure
        == f'{FAILED}Post "https://127.0.0.1:{port}/x?timeout=10s": http: server gave HTTP response to HTTPS client'
    )


async def test_a_webhook_without_an_address() -> None:
    async with WebhookClient() as client:
        answer = await ask(client, call_to({}))
    reason = 'failed calling webhook "hook.example.com": webhook configuration must have either service or URL'
    assert (answer.failure, answer.code) == (f"could not get REST client: {reason}", 500)


# Proxies


async def test_a_webhook_behind_a_proxy_is_called_through_it_and_a_service_is_not() -> None:
    tunnels: list[str] = []

    async def tunnel(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        tunnels.append((await reader.readuntil(b"\r\n\r\n")).decode().split()[1])
        writer.write(b"HTTP/1.1 200 Connected\r\n\r\n")
        inner_reader, inner_writer = await asyncio.open_connection("127.0.0.1", hook.port)
        await asyncio.gather(_pipe(reader, inner_writer), _pipe(inner_reader, writer))

    async with serving(hooks.allows("fine"), context=good_context()) as hook, hooks.accepting(tunnel) as port:
        proxies = Proxies(https=f"http://127.0.0.1:{port}")
        async with WebhookClient(Moved(Address("127.0.0.1", hook.port)), proxies=proxies) as client:
            assert message(await ask(client, call_to({"url": "https://hook.hooks.svc/hook"}))) == "fine"
            assert message(await ask(client, call_to({"service": {"namespace": "hooks", "name": "hook"}}))) == "fine"
    assert tunnels == ["hook.hooks.svc:443"]


async def _pipe(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    while data := await reader.read(65536):
        writer.write(data)
    writer.close()


async def test_a_proxy_that_is_not_there() -> None:
    async with WebhookClient(proxies=Proxies(https="http://127.0.0.1:1")) as client:
        answer = await ask(client, call_to({"url": "https://example.com/x"}))
    reason = "proxyconnect tcp: dial tcp 127.0.0.1:1: connect: connection refused"
    assert answer.failure == f'{FAILED}Post "https://example.com/x?timeout=10s": {reason}'
