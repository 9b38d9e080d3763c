"""A webhook's HTTPS server: TLS 1.2 or newer, certificates replaced while it serves, limits for everything that callers can make
large or slow, and an end that loses no review.

The end has steps: first /readyz fails, so that nobody new is sent here; after a delay it stops listening; what is being worked on
is finished, and its answer closes the connection; what is idle is closed.
"""

import asyncio
import socket
from collections.abc import Callable, Mapping
from http import HTTPStatus
from typing import Any

from aiohttp import web
from aiohttp.abc import AbstractStreamWriter
from aiohttp.http_parser import RawRequestMessage
from aiohttp.streams import StreamReader

from kadmit.webhook import metrics as counted
from kadmit.webhook import tracing
from kadmit.webhook.answering import Answer, Answering, Asked, Handler, Limits
from kadmit.webhook.callers import Callers
from kadmit.webhook.metrics import Metrics
from kadmit.webhook.tls import CertificateError, ServingTls

_HEAD_BYTES = 64 * 1024
_HANDSHAKE_SECONDS = 10.0
_TRACE = ("traceparent", "tracestate")


class WebhookServer:
    """Serves `handlers` by their path. Certificate and key are PEM; None of them means plain HTTP, behind a proxy or in tests.
    `port` 0 is any that is free; `ready` gives a reason for as long as the server is not."""

    def __init__(
        self,
        handlers: Mapping[str, Handler],
        *,
        host: str = "",
        port: int = 0,
        certificate: bytes | None,
        key: bytes | None,
        limits: Limits | None = None,
        callers: Callers | None = None,
        ready: Callable[[], str] = lambda: "",
        metrics: Metrics | None = None,
    ) -> None:
        """Raises CertificateError."""
        self.host, self.port = host, port
        self.limits = limits or Limits()
        self.metrics = metrics or Metrics()
        self._handlers, self._callers, self._ready = handlers, callers, ready
        self._tls: ServingTls | None = None
        if certificate is not None and key is not None:
            self._tls = ServingTls(certificate, key, callers=callers.authorities if callers else b"")
        self._answering: Answering | None = None
        self._connections: _Connections | None = None
        self._listener: asyncio.Server | None = None

    async def start(self, sock: socket.socket | None = None) -> None:
        """Listens, on `sock` if there is one, and says with `port` where. Raises OSError."""
        self._answering = self._new_answering()
        self._connections = _Connections(self._answering, self.limits)
        loop = asyncio.get_running_loop()
        where: dict[str, Any] = {"sock": sock} if sock else {"host": self.host or None, "port": self.port}
        context = self._tls.context if self._tls else None
        if context is not None:
            where["ssl_handshake_timeout"] = _HANDSHAKE_SECONDS
        self._listener = await loop.create_server(self._connections, ssl=context, backlog=1024, **where)
        self.port = self._listener.sockets[0].getsockname()[1]

    def _new_answering(self) -> Answering:
        return Answering(
            self._handlers,
            limits=self.limits,
            metrics=self.metrics,
            callers=self._callers,
            ready=self._ready,
            tracer=tracing.tracer(),
        )

    def replace_certificate(self, certificate: bytes, key: bytes) -> None:
        """From the next connection on; open ones are left alone. Raises CertificateError, and all is as it was."""
        if self._tls is None:
            raise CertificateError("the server speaks plain HTTP")
        self._tls.replace(certificate, key)
        self.metrics.add(counted.CERTIFICATES)

    def replace_handlers(self, handlers: Mapping[str, Handler]) -> None:
        """From the next review on."""
        self._handlers = handlers
        if self._answering is not None:
            self._answering.handlers = dict(handlers)

    def drain(self) -> None:
        """/readyz fails from now on, and each answer closes its connection."""
        if self._answering is not None:
            self._answering.draining = True

    async def stop(self) -> None:
        """Drains, waits and closes."""
        if self._listener is None or self._connections is None:
            return
        self.drain()
        await asyncio.sleep(self.limits.drain_delay)
        self._listener.close()
        self._connections.pre_shutdown()
        await self._connections.shutdown(self.limits.drain_seconds)
        self._listener = None


class _Connections(web.Server):
    """aiohttp's server without its routes and middlewares, with our limits."""

    def __init__(self, answering: Answering, limits: Limits) -> None:
        super().__init__(
            self._handle,
            handler_cancellation=True,  # nobody waits for the verdict of a caller that has gone
            access_log=None,
            keepalive_timeout=limits.idle_seconds,
            max_line_size=_HEAD_BYTES,
            max_field_size=_HEAD_BYTES,
            auto_decompress=False,
        )
        self._answering = answering
        self._limits = limits

    def _make_request(
        self,
        message: RawRequestMessage,
        payload: StreamReader,
        protocol: web.RequestHandler,
        writer: AbstractStreamWriter,
        task: "asyncio.Task[None]",
    ) -> web.BaseRequest:
        limit = self._limits.body_bytes
        return web.BaseRequest(message, payload, protocol, writer, task, self._loop, client_max_size=limit)

    def __call__(self) -> "_Connection":
        return _Connection(self, self._limits.idle_seconds, loop=self._loop, **self._kwargs)

    def connection_made(self, handler: web.RequestHandler, transport: asyncio.Transport) -> None:
        super().connection_made(handler, transport)
        if len(self.connections) > self._limits.connections:
            transport.abort()
        self._count()

    def connection_lost(self, handler: web.RequestHandler, exc: BaseException | None = None) -> None:
        super().connection_lost(handler, exc)
        self._count()

    def _count(self) -> None:
        self._answering.metrics.set(counted.CONNECTIONS, len(self.connections))

    async def _handle(self, request: web.BaseRequest) -> web.StreamResponse:
        asked = _asked(request)
        answer = self._answering.early(asked, request.content_length)
        if answer is not None:
            return self._response(answer, close=request.can_read_body)
        try:
            body = await self._body(request)
        except web.HTTPRequestEntityTooLarge:
            return self._response(self._answering.too_large(), close=True)
        except TimeoutError:
            return self._response(self._answering.slow_body(), close=True)
        return self._response(await self._answering.review(asked, body))

    async def _body(self, request: web.BaseRequest) -> bytes:
        """Raises TimeoutError, HTTPRequestEntityTooLarge."""
        if request.content.is_eof():  # it came with its head, as small ones do
            return await request.read()
        async with asyncio.timeout(self._limits.body_seconds):
            return await request.read()

    def _response(self, answer: Answer, *, close: bool = False) -> web.Response:
        headers = {"Content-Type": answer.content_type}
        if answer.retry_after:
            headers["Retry-After"] = str(answer.retry_after)
        made = web.Response(status=answer.status, body=answer.body, headers=headers)
        if close or self._answering.draining:
            made.force_close()
        return made


class _Connection(web.RequestHandler):
    """Says no more than it must to whoever speaks no HTTP, and hangs up on whoever says nothing."""

    __slots__ = ("_patience", "_seconds")

    def __init__(self, manager: web.Server, seconds: float, **options: Any) -> None:
        super().__init__(manager, **options)
        self._seconds = seconds
        self._patience: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """NB: aiohttp only minds the time between requests, not that before the first one."""
        super().connection_made(transport)
        self._patience = self._loop.call_later(self._seconds, self._hang_up)

    def connection_lost(self, exc: BaseException | None) -> None:
        if self._patience is not None:
            self._patience.cancel()
        super().connection_lost(exc)

    def _hang_up(self) -> None:
        if not self._request_count:
            self.force_close()

    def handle_error(
        self, request: web.BaseRequest, status: int = 500, exc: BaseException | None = None, message: str | None = None
    ) -> web.StreamResponse:
        if status >= HTTPStatus.INTERNAL_SERVER_ERROR:
            self.log_exception("request failed", exc_info=exc)
        if request.writer.output_size > 0:
            raise ConnectionError("an answer has begun already")
        made = web.Response(status=status, text=f"{HTTPStatus(status).phrase}\n")
        made.force_close()
        return made


def _asked(request: web.BaseRequest) -> Asked:
    path, _, query = request.raw_path.partition("?")
    headers, transport = request.headers, request.transport
    return Asked(
        request.method,
        path,
        query,
        headers.get("Authorization", ""),
        transport.get_extra_info("peercert") if transport is not None else None,
        {name: headers[name] for name in _TRACE if name in headers},
    )


__all__ = ["Callers", "CertificateError", "Limits", "WebhookServer"]
