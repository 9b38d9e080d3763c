"""Webhooks for tests: TLS servers on loopback that read a request and then do exactly what a test tells them to."""

import asyncio
import contextlib
import socket
import ssl
import struct
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass, field
from typing import Any

import orjson


@dataclass(frozen=True)
class Asked:
    """A request as it came over the wire."""

    method: str
    target: str
    headers: dict[str, str]
    body: bytes
    connection: int  # which of the server's connections it came over

    @property
    def review(self) -> Any:
        return orjson.loads(self.body)

    @property
    def uid(self) -> str:
        return str(self.review["request"]["uid"])


Behaviour = Callable[["Hook", Asked, asyncio.StreamWriter], Awaitable[None]]


@dataclass
class Hook:
    """A server: its behaviours are taken one after the other, the last one repeats."""

    behaviours: list[Behaviour]
    asked: list[Asked] = field(default_factory=list)
    connections: int = 0
    port: int = 0
    tasks: set[asyncio.Task[None]] = field(default_factory=set)
    writers: list[asyncio.StreamWriter] = field(default_factory=list)

    def url(self, path: str = "/hook", host: str = "127.0.0.1") -> str:
        return f"https://{host}:{self.port}{path}"

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self.tasks.add(task)
        self.writers.append(writer)
        self.connections += 1
        connection = self.connections
        with contextlib.suppress(ConnectionError, asyncio.IncompleteReadError, asyncio.CancelledError, ssl.SSLError):
            while not writer.is_closing():
                asked = await _read(reader, connection)
                behaviour = self.behaviours[min(len(self.asked), len(self.behaviours) - 1)]
                self.asked.append(asked)
                await behaviour(self, asked, writer)
                await writer.drain()
        writer.close()


async def _read(reader: asyncio.StreamReader, connection: int) -> Asked:
    head = (await reader.readuntil(b"\r\n\r\n")).decode()
    first, *lines = head.strip().split("\r\n")
    method, target, _ = first.split(" ")
    headers: dict[str, str] = {}
    for line in lines:
        name, _, value = line.partition(":")
        key = name.lower()
        headers[key] = f"{headers[key]}, {value.strip()}" if key in headers else value.strip()
    body = await reader.readexactly(int(headers.get("content-length", 0)))
    return Asked(method, target, headers, body, connection)


@contextlib.asynccontextmanager
async def serving(*behaviours: Behaviour, context: ssl.SSLContext | None, host: str = "127.0.0.1") -> AsyncIterator[Hook]:
    """A webhook while the block runs; without a context it speaks no TLS."""
    hook = Hook(list(behaviours))
    server = await asyncio.start_server(hook.serve, host, 0, ssl=context)
    hook.port = server.sockets[0].getsockname()[1]
    try:
        yield hook
    finally:
        server.close()
        for task in hook.tasks:
            task.cancel()
        await asyncio.gather(*hook.tasks)
        for writer in hook.writers:
            writer.transport.abort()  # whoever is on the other side may never say goodbye
        await asyncio.sleep(0)


@contextlib.asynccontextmanager
async def accepting(behaviour: Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]) -> AsyncIterator[int]:
    """A plain TCP port; the behaviour has the connection from its first byte on."""
    server = await asyncio.start_server(behaviour, "127.0.0.1", 0)
    try:
        yield server.sockets[0].getsockname()[1]
    finally:
        server.close()


# ------------------------------------------------------------ behaviours


def response(
    status: int, body: bytes = b"", *, content_type: str = "application/json", headers: dict[str, str] | None = None
) -> bytes:
    lines = [f"HTTP/1.1 {status} Text", f"Content-Length: {len(body)}"]
    lines += [f"Content-Type: {content_type}"] if content_type else []
    lines += [f"{k}: {v}" for k, v in (headers or {}).items()]
    return "\r\n".join(lines).encode() + b"\r\n\r\n" + body


def replies(
    status: int, body: bytes = b"", *, content_type: str = "application/json", headers: dict[str, str] | None = None
) -> Behaviour:
    return says(response(status, body, content_type=content_type, headers=headers))


def says(raw: bytes, *, close: bool = False) -> Behaviour:
    """Exactly these bytes."""

    async def behave(_hook: Hook, _asked: Asked, writer: asyncio.StreamWriter) -> None:
        writer.write(raw)
        if close:
            writer.close()

    return behave


def allows(message: str = "") -> Behaviour:
    """A good review that allows; the message tells one answer from another."""

    async def behave(_hook: Hook, asked: Asked, writer: asyncio.StreamWriter) -> None:
        writer.write(response(200, allowing(asked.uid, message)))

    return behave


def allowing(uid: str, message: str = "") -> bytes:
    answer: dict[str, Any] = {"uid": uid, "allowed": True}
    if message:
        answer["status"] = {"message": message}
    return orjson.dumps({"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "response": answer})


def redirects(status: int, location: str) -> Behaviour:
    return replies(status, headers={"Location": location})


def stalls(first: bytes = b"", *, drip: bytes = b"", every: float = 0.02) -> Behaviour:
    """Says something and then nothing; or drips, for ever."""

    async def behave(_hook: Hook, _asked: Asked, writer: asyncio.StreamWriter) -> None:
        writer.write(first)
        while not writer.is_closing():
            if drip:
                writer.write(drip)
                await writer.drain()
            await asyncio.sleep(every)

    return behave


async def resets(_hook: Hook, _asked: Asked, writer: asyncio.StreamWriter) -> None:
    """Drops the connection with a reset instead of a goodbye."""
    reset(writer)


def reset(writer: asyncio.StreamWriter) -> None:
    sock = writer.get_extra_info("socket")
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    writer.transport.abort()


async def hangs_up(_hook: Hook, _asked: Asked, writer: asyncio.StreamWriter) -> None:
    writer.close()
