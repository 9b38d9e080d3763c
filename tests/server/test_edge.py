"""The server over plain HTTP in this process: heads of answers byte for byte, watches that end, and what is counted meanwhile."""

import asyncio
import re
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

import aiohttp
import orjson
import pytest
from aiohttp import web

from kadmit.access.always import AlwaysAllow
from kadmit.access.identity import Identities
from kadmit.admission.answers import Answer
from kadmit.admission.webhooks import Call
from kadmit.api import auditpolicy
from kadmit.cel.library.authorizer import User
from kadmit.server import firstobjects
from kadmit.server.app import Server
from kadmit.server.audit import Auditor
from kadmit.server.cache import Cache
from kadmit.server.handlers import Resources
from kadmit.server.metrics import Metrics
from kadmit.server.plain import Plain
from kadmit.server.siblings import Siblings
from kadmit.server.wholeanswer import WholeAnswer
from kadmit.store.memory import MemoryStore

CONFIG_MAPS = "/api/v1/namespaces/default/configmaps"
AUTHORIZATION = {"Authorization": "Bearer token"}


class Slow:
    """A webhook that allows everything, and says that it took half a second."""

    async def call(self, calls: Sequence[Call], *, deadline: float | None = None) -> list[Answer]:
        review = {"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "response": {"uid": "u", "allowed": True}}
        return [Answer("u", review, seconds=0.5) for _ in calls]


@dataclass
class Running:
    server: Server
    port: int
    session: aiohttp.ClientSession

    def url(self, path: str) -> str:
        return f"http://127.0.0.1:{self.port}{path}"

    async def create(self, path: str, value: dict[str, Any]) -> int:
        async with self.session.post(
            self.url(path), data=orjson.dumps(value), headers={"Content-Type": "application/json"}
        ) as answer:
            await answer.read()
            return answer.status

    async def samples(self, name: str) -> dict[str, float]:
        async with self.session.get(self.url("/metrics")) as answer:
            text = await answer.text()
        return {labels: float(value) for labels, value in re.findall(rf"^{name}(?:{{(.*)}})? (\S+)$", text, re.MULTILINE)}

    async def raw(self, head: str, body: bytes = b"") -> bytes:
        """What the server says to this head before it hangs up."""
        reader, writer = await asyncio.open_connection("127.0.0.1", self.port)
        writer.write(head.replace("\n", "\r\n").encode() + b"\r\n" + body)
        answer = await reader.read()
        writer.close()
        return answer


@asynccontextmanager
async def running(*, watch_seconds: int = 1800, auditor: Auditor | None = None) -> AsyncIterator[Running]:
    cache, metrics = Cache(MemoryStore()), Metrics()
    await cache.start()
    identities = Identities({"token": User("me", "", ("system:masters",))})
    resources = Resources(cache, Slow(), AlwaysAllow(), identities=identities, watch_seconds=watch_seconds)
    await firstobjects.create(resources, roles=False)
    cache.begin_history()
    plain = Plain(lambda: cache.state.known, Siblings(metrics.snapshot).numbers)
    server = Server(resources, plain, identities, auditor or Auditor(), metrics)
    runner = web.ServerRunner(server.http())
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    async with aiohttp.ClientSession(headers=AUTHORIZATION) as session:
        yield Running(server, runner.addresses[0][1], session)
    server.end_watches()
    await runner.cleanup()
    await cache.stop()


def config_map(name: str) -> dict[str, Any]:
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}}


# ---------------------------------------------------------------- heads


async def test_an_answer_has_one_head_and_exactly_its_body() -> None:
    async with running() as it:
        text = await it.raw("GET /version HTTP/1.1\nHost: x\nAuthorization: Bearer token\nConnection: close\nAudit-Id: mine\n")
    head, body = text.split(b"\r\n\r\n", 1)
    first, *lines = head.decode().split("\r\n")
    headers = dict(line.split(": ", 1) for line in lines)
    assert first == "HTTP/1.1 200 OK"
    assert headers["Content-Length"] == str(len(body))
    assert headers["Connection"] == "close"
    assert headers["Content-Type"] == "application/json"
    assert (headers["Audit-Id"], headers["Cache-Control"]) == ("mine", "no-cache, private")
    assert re.fullmatch(r"\w{3}, \d\d \w{3} \d{4} \d\d:\d\d:\d\d GMT", headers["Date"])
    assert orjson.loads(body)["major"] == "1"


async def test_head_gets_the_length_of_a_body_and_no_body() -> None:
    async with running() as it:
        text = await it.raw("HEAD /version HTTP/1.1\nHost: x\nAuthorization: Bearer token\nConnection: close\n")
    head, body = text.split(b"\r\n\r\n", 1)
    assert int(re.findall(rb"Content-Length: ([0-9]+)", head)[0]) > 100
    assert body == b""


async def test_http_1_0_is_answered_in_kind() -> None:
    asked = "GET /version HTTP/1.0\nAuthorization: Bearer token\nConnection: {}\n"
    async with running() as it:
        closing = await it.raw(asked.format("close"))
        reader, writer = await asyncio.open_connection("127.0.0.1", it.port)
        writer.write(asked.format("keep-alive").replace("\n", "\r\n").encode() + b"\r\n")
        kept = await reader.readuntil(b"\r\n\r\n")
        writer.close()
    assert closing.startswith(b"HTTP/1.0 200 OK\r\n")
    assert b"Connection: keep-alive\r\n" not in closing
    assert b"Connection: keep-alive\r\n" in kept


async def test_a_header_cannot_smuggle_another_one() -> None:
    class Request:
        version, keep_alive, method = (1, 1), True, "GET"

    with pytest.raises(ValueError, match="line end"):
        WholeAnswer(200, [("Warning", "a\r\nSet-Cookie: b")], b"")._head(Request())  # type: ignore[arg-type]


async def test_a_body_that_comes_in_pieces_is_the_same_body() -> None:
    body = orjson.dumps(config_map("pieces"))
    async with running() as it:
        reader, writer = await asyncio.open_connection("127.0.0.1", it.port)
        head = f"POST {CONFIG_MAPS} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer token\r\nContent-Type: application/json\r\n"
        writer.write(f"{head}Content-Length: {len(body)}\r\n\r\n".encode() + body[:10])
        await writer.drain()
        await asyncio.sleep(0)
        writer.write(body[10:])
        answer = await reader.readuntil(b"\r\n\r\n")
        writer.close()
    assert answer.startswith(b"HTTP/1.1 201 Created\r\n")


async def test_a_request_that_cannot_be_recorded_is_refused_where_that_is_wanted() -> None:
    class Full:
        def write(self, line: bytes) -> None:
            raise OSError("no space left on device")

    policy = auditpolicy.parse("apiVersion: audit.k8s.io/v1\nkind: Policy\nrules: [{level: Metadata}]\n")
    for strict, code in ((True, 500), (False, 201)):
        async with running(auditor=Auditor(policy, Full(), strict=strict)) as it:
            async with it.session.get(it.url("/version")) as answer:
                assert (await answer.text()).startswith(
                    'Internal Server Error: "/version": failed to store audit event' if strict else "{"
                )
            assert await it.create(CONFIG_MAPS, config_map("a")) == code


# ---------------------------------------------------------------- watches and what is counted


async def test_a_watch_ends_when_the_least_time_that_it_must_last_is_over() -> None:
    async with running(watch_seconds=0) as it, asyncio.timeout(20), it.session.get(it.url(f"{CONFIG_MAPS}?watch=true")) as answer:
        assert await answer.read() == b""


async def test_watches_and_their_events_are_counted() -> None:
    gauge, labels = "apiserver_longrunning_requests", 'resource="configmaps"'
    async with running() as it, asyncio.timeout(20):
        async with it.session.get(it.url(f"{CONFIG_MAPS}?watch=true")) as answer:
            assert await it.create(CONFIG_MAPS, config_map("a")) == 201
            assert b'"ADDED"' in await answer.content.readline()
            assert [value for key, value in (await it.samples(gauge)).items() if labels in key] == [1]
            assert await it.create(CONFIG_MAPS, config_map("b")) == 201
            await answer.content.readline()
        events = await it.samples("apiserver_watch_events_total")
    assert events == {'group="",resource="configmaps",version="v1"': 2}


async def test_requests_in_flight_are_those_that_run_now() -> None:
    async with running() as it:
        assert await it.create(CONFIG_MAPS, config_map("a")) == 201
        found = await it.samples("apiserver_current_inflight_requests")
    assert found == {'request_kind="mutating"': 0, 'request_kind="readOnly"': 1}  # the scrape itself


async def test_the_time_that_webhooks_take_is_observed() -> None:
    rule = {"operations": ["CREATE"], "apiGroups": [""], "apiVersions": ["v1"], "resources": ["configmaps"]}
    hook = {
        "name": "slow.example.com",
        "clientConfig": {"url": "https://example.com"},
        "rules": [rule],
        "sideEffects": "None",
        "admissionReviewVersions": ["v1"],
    }
    registration = {
        "apiVersion": "admissionregistration.k8s.io/v1",
        "kind": "ValidatingWebhookConfiguration",
        "metadata": {"name": "slow"},
        "webhooks": [hook],
    }
    async with running() as it:
        path = "/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations"
        assert await it.create(path, registration) == 201
        assert await it.create(CONFIG_MAPS, config_map("a")) == 201
        found = await it.samples("apiserver_admission_webhook_admission_duration_seconds_sum")
    assert found == {'name="slow.example.com",operation="CREATE",rejected="false",type="validating"': 0.5}


async def test_a_made_up_part_of_a_resource_becomes_no_label() -> None:
    async with running() as it:
        async with it.session.get(it.url(f"{CONFIG_MAPS}/a/made-up")) as answer:
            assert answer.status == 404
        assert "made-up" not in str(await it.samples("apiserver_request_total"))


async def test_a_url_that_is_remembered_follows_what_is_served() -> None:
    """A custom kind comes, goes and comes again in another scope."""
    definition = {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": "things.example.com"},
        "spec": {
            "group": "example.com",
            "scope": "Namespaced",
            "names": {"plural": "things", "singular": "thing", "kind": "Thing", "listKind": "ThingList"},
            "versions": [
                {"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": {"type": "object"}}},
            ],
        },
    }
    things, definitions = (
        "/apis/example.com/v1/namespaces/default/things",
        "/apis/apiextensions.k8s.io/v1/customresourcedefinitions",
    )
    async with running() as it:
        statuses = []
        for _ in range(2):
            async with it.session.get(it.url(things)) as answer:
                statuses.append(answer.status)
            assert await it.create(definitions, definition) == 201
            async with it.session.get(it.url(things)) as answer:
                statuses.append(answer.status)
            async with it.session.delete(it.url(f"{definitions}/things.example.com")) as answer:
                assert answer.status == 200
    assert statuses == [404, 200, 404, 200]
