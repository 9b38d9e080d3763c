"""A webhook server for tests, and callers of it that say exactly what a test wants them to."""

import asyncio
import functools
import ssl
import tempfile
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import orjson
from tests.server.certificates import Authority, Pair

from kadmit.webhook.answering import Handler
from kadmit.webhook.review import Response, Review
from kadmit.webhook.serving import WebhookServer

SECONDS = 10.0  # more than anything here takes


@functools.cache
def authority() -> Authority:
    return Authority()


@functools.cache
def certificate() -> Pair:
    return authority().sign()


def review(version: str = "v1", **request: Any) -> bytes:
    asked = {
        "uid": "u-1",
        "kind": {"group": "", "version": "v1", "kind": "ConfigMap"},
        "resource": {"group": "", "version": "v1", "resource": "configmaps"},
        "name": "a",
        "namespace": "default",
        "operation": "CREATE",
        "userInfo": {"username": "alice", "groups": ["devs"]},
        "object": {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}},
        "oldObject": None,
        "dryRun": False,
        **request,
    }
    return orjson.dumps({"apiVersion": f"admission.k8s.io/{version}", "kind": "AdmissionReview", "request": asked})


async def allow(_review: Review) -> Response:
    return Response(allowed=True)


@dataclass(frozen=True)
class Answer:
    status: int
    headers: Mapping[str, str]
    body: bytes

    @property
    def text(self) -> str:
        return self.body.decode()

    @property
    def response(self) -> Any:
        """Of a review."""
        assert self.status == 200, self.text
        return orjson.loads(self.body)["response"]


class Caller:
    """One TLS connection."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.reader, self.writer = reader, writer

    @property
    def serial(self) -> int:
        """Of the certificate that the server showed."""
        shown = self.writer.get_extra_info("ssl_object").getpeercert()
        return int(shown["serialNumber"], 16)

    async def say(self, data: bytes) -> None:
        self.writer.write(data)
        await self.writer.drain()

    async def answer(self) -> Answer:
        async with asyncio.timeout(SECONDS):
            head = (await self.reader.readuntil(b"\r\n\r\n")).decode()
            first, *lines = head.strip().split("\r\n")
            headers = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in lines)}
            body = await self.reader.readexactly(int(headers.get("content-length", 0)))
        return Answer(int(first.split(" ")[1]), headers, body)

    async def ask(self, path: str, body: bytes | None = None, method: str = "", **headers: str) -> Answer:
        await self.say(request(path, body, method, **headers))
        return await self.answer()

    async def is_over(self) -> bool:
        async with asyncio.timeout(SECONDS):
            return await self.reader.read(1) == b""


def request(path: str, body: bytes | None = None, method: str = "", **headers: str) -> bytes:
    """Without a body it is a GET; underscores in names of headers are dashes."""
    length = {"Content_Length": str(len(body))} if body is not None else {}
    lines = [f"{method or ('GET' if body is None else 'POST')} {path} HTTP/1.1"]
    given = {"Host": "hook", **length, **headers}
    lines += [f"{name.replace('_', '-')}: {value}" for name, value in given.items() if value]
    return "\r\n".join(lines).encode() + b"\r\n\r\n" + (body or b"")


class Served:
    """A server that runs, and how to call it."""

    def __init__(self, server: WebhookServer) -> None:
        self.server = server

    @asynccontextmanager
    async def caller(self, shown: Pair | None = None, newest: ssl.TLSVersion | None = None) -> AsyncIterator[Caller]:
        """`shown` is a certificate of the caller's own."""
        reader, writer = await asyncio.open_connection(
            "127.0.0.1", self.server.port, ssl=_context(shown, newest), server_hostname="localhost"
        )
        try:
            yield Caller(reader, writer)
        finally:
            writer.transport.abort()

    async def ask(self, path: str, body: bytes | None = None, method: str = "", **headers: str) -> Answer:
        """On a connection of its own."""
        async with self.caller() as caller:
            return await caller.ask(path, body, method, **headers)


def _context(shown: Pair | None, newest: ssl.TLSVersion | None) -> ssl.SSLContext:
    context = ssl.create_default_context(cadata=authority().pem.decode())
    if newest is not None:
        context.minimum_version, context.maximum_version = ssl.TLSVersion.MINIMUM_SUPPORTED, newest
    if shown is not None:
        with tempfile.TemporaryDirectory() as folder:
            context.load_cert_chain(*shown.write(Path(folder), "caller"))
    return context


@asynccontextmanager
async def serving(handlers: Mapping[str, Handler] | None = None, **options: Any) -> AsyncIterator[Served]:
    """A server while the block runs."""
    given = {"certificate": certificate().pem, "key": certificate().key_pem, **options}
    server = WebhookServer(handlers or {"/hook": allow}, host="127.0.0.1", port=0, **given)
    await server.start()
    try:
        yield Served(server)
    finally:
        await server.stop()
