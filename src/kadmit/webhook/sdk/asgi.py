"""An App as an ASGI application: the same paths, limits, health and metrics as WebhookServer has, carried by another server.

TLS, certificates and connections are that server's. Callers are not checked here, either: what stands before it knows them.
"""

import asyncio
from collections.abc import Awaitable, Callable, MutableMapping
from contextlib import AsyncExitStack
from typing import TYPE_CHECKING, Any, TypeAlias

from kadmit.webhook import tracing
from kadmit.webhook.answering import Answer, Answering, Asked, Limits

if TYPE_CHECKING:
    from kadmit.webhook.sdk.app import App

Message: TypeAlias = MutableMapping[str, Any]
Receive: TypeAlias = Callable[[], Awaitable[Message]]
Send: TypeAlias = Callable[[Message], Awaitable[None]]

_TRACE = (b"traceparent", b"tracestate")


class _Gone(Exception):
    """The caller has hung up."""


class AsgiApp:
    """Speaks http and lifespan. Where it is mounted in another application, that one's lifespan counts, and ours is entered with
    the first review."""

    def __init__(self, app: "App", limits: Limits | None = None) -> None:
        self._app = app
        self._limits = limits or Limits()
        self._answering: Answering | None = None
        self._stack = AsyncExitStack()
        self._entering = asyncio.Lock()

    async def __call__(self, scope: Message, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await self._live(receive, send)
        elif scope["type"] == "http":
            await self._serve(scope, receive, send)
        else:
            raise ValueError(f"no webhook speaks {scope['type']}")

    async def _live(self, receive: Receive, send: Send) -> None:
        await receive()
        try:
            await self._started()
        except Exception as error:
            await send({"type": "lifespan.startup.failed", "message": str(error)})
            return
        await send({"type": "lifespan.startup.complete"})
        await receive()
        await self._stack.aclose()
        await send({"type": "lifespan.shutdown.complete"})

    async def _started(self) -> Answering:
        async with self._entering:
            if self._answering is None:
                await self._stack.enter_async_context(self._app.lifespan())
                self._answering = Answering(self._app.routes, limits=self._limits, tracer=tracing.tracer())
        return self._answering

    async def _serve(self, scope: Message, receive: Receive, send: Send) -> None:
        answering = self._answering or await self._started()
        headers = {name.lower(): value for name, value in scope["headers"]}
        asked = _asked(scope, headers)
        length = headers.get(b"content-length", b"")
        answer = answering.early(asked, int(length) if length.isdigit() else None)
        try:
            await _send(send, answer or await self._reviewed(answering, asked, receive))
        except _Gone:
            return

    async def _reviewed(self, answering: Answering, asked: Asked, receive: Receive) -> Answer:
        try:
            async with asyncio.timeout(self._limits.body_seconds):
                body = await _body(receive, self._limits.body_bytes)
        except TimeoutError:
            return answering.slow_body()
        return answering.too_large() if body is None else await answering.review(asked, body)


def _asked(scope: Message, headers: MutableMapping[bytes, bytes]) -> Asked:
    path, root = scope["path"], scope.get("root_path", "").rstrip("/")
    return Asked(
        scope["method"],
        path.removeprefix(root) if path.startswith(f"{root}/") else path,
        scope.get("query_string", b"").decode("latin-1"),
        headers.get(b"authorization", b"").decode("latin-1"),
        trace={name.decode(): headers[name].decode("latin-1") for name in _TRACE if name in headers},
    )


async def _body(receive: Receive, limit: int) -> bytes | None:
    """None if it is too large."""
    parts: list[bytes] = []
    size = 0
    while True:
        message = await receive()
        if message["type"] == "http.disconnect":
            raise _Gone
        part = message.get("body", b"")
        size += len(part)
        if size > limit:
            return None
        parts.append(part)
        if not message.get("more_body", False):
            return b"".join(parts)


async def _send(send: Send, answer: Answer) -> None:
    headers = [(b"content-type", answer.content_type.encode()), (b"content-length", str(len(answer.body)).encode())]
    if answer.retry_after:
        headers.append((b"retry-after", str(answer.retry_after).encode()))
    await send({"type": "http.response.start", "status": answer.status, "headers": headers})
    await send({"type": "http.response.body", "body": answer.body})
