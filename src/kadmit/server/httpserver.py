"""HTTP below the API: what a connection may ask of us before anybody knows who it is, and what it is told when it is no HTTP.

The limits and the words are those of Go's server: a head of one mebibyte, one plain line for an answer to what cannot be read,
and any word for a method, which is then the API's to refuse.
"""

import asyncio
import re
from asyncio import sslproto
from collections.abc import Awaitable, Callable
from http import HTTPStatus
from typing import Any, TypeAlias

from aiohttp import web
from aiohttp.abc import AbstractStreamWriter
from aiohttp.http_exceptions import LineTooLong
from aiohttp.http_parser import HttpRequestParserPy, RawRequestMessage
from aiohttp.streams import StreamReader

MAX_HEAD = 1024 * 1024
MAX_HEADERS = 2000
# Every connection holds a buffer of this size, and every read makes one: asyncio's own 256 KiB would be most of an idle watch.
_TLS_BUFFER = 32 * 1024
IDLE_SECONDS = 90.0  # for the next request to begin, and to be there up to its body

Handler: TypeAlias = Callable[[web.BaseRequest], Awaitable[web.StreamResponse]]

UNASKED: Any = object()
_METHOD = re.compile(rb"[!#$%&'*+.^_`|~0-9A-Za-z-]{1,64} ")
_USUAL = (b"GET ", b"POST ", b"PATCH ", b"PUT ", b"DELETE ", b"HEAD ", b"OPTIONS ", b"CONNECT ", b"TRACE ")


class _AnyMethod(HttpRequestParserPy):
    """Takes methods that nobody has heard of, and leaves their letters as they are."""

    def parse_message(self, lines: list[bytes]) -> RawRequestMessage:
        method = lines[0].partition(b" ")[0].decode("ascii", "replace")
        return super().parse_message(lines)._replace(method=method)


class Connection(web.RequestHandler):
    """One connection. NB: counts the bytes of a head, because headers are limited one by one otherwise."""

    __slots__ = ("_head", "user")

    def __init__(self, manager: web.Server, **options: Any) -> None:
        super().__init__(manager, **options)
        self._head = 0
        self.user: Any = UNASKED  # whom its certificate names, once somebody has asked

    def resume_reading(self, resume_parser: bool = True) -> None:
        """NB: aiohttp resumes whenever a body is read, and every time costs a turn of the loop and a read for nothing."""
        if self._reading_paused:
            super().resume_reading(resume_parser)

    def data_received(self, data: bytes) -> None:
        heads = self._request_count
        between = self._waiter is not None or not heads  # requests, or in the head of the next one
        if between and not self._head and not data.startswith(_USUAL):
            self._take_any_method(data)
        super().data_received(data)
        if self._request_count != heads:
            self._head = 0
        elif between:
            self._head += len(data)
            if self._head > MAX_HEAD:
                self._refuse(HTTPStatus.REQUEST_HEADER_FIELDS_TOO_LARGE)

    def _take_any_method(self, data: bytes) -> None:
        """The fast parser knows its methods by heart, and an unknown one ends it: another one goes on."""
        if _METHOD.match(data) and not isinstance(self._parser, HttpRequestParserPy):
            self._parser = _AnyMethod(
                self,
                self._loop,
                self._read_bufsize,
                max_line_size=self.max_line_size,
                max_field_size=self.max_field_size,
                max_headers=self.max_headers,
                payload_exception=web.RequestPayloadError,
                auto_decompress=False,
                max_msg_queue_size=self._max_msg_queue_size,
            )

    def _refuse(self, status: HTTPStatus) -> None:
        """Say so, and hang up."""
        if self.transport is not None:
            line = f"{status.value} {status.phrase}"
            headers = "Content-Type: text/plain; charset=utf-8\r\nConnection: close"
            self.transport.write(f"HTTP/1.1 {line}\r\n{headers}\r\n\r\n{line}".encode())
        self.force_close()

    def handle_error(
        self, request: web.BaseRequest, status: int = 500, exc: BaseException | None = None, message: str | None = None
    ) -> web.StreamResponse:
        """What the API never saw, or could not answer."""
        if status == HTTPStatus.INTERNAL_SERVER_ERROR:
            self.log_exception("request failed", exc_info=exc)
        if request.writer.output_size > 0:
            raise ConnectionError("an answer has begun already")
        if isinstance(exc, LineTooLong) or "Too many headers" in (message or ""):
            status = HTTPStatus.REQUEST_HEADER_FIELDS_TOO_LARGE
        response = web.Response(status=status, text=f"{status} {HTTPStatus(status).phrase}")
        response.force_close()
        return response


class HttpServer(web.Server):
    """Makes a Connection for everybody who comes, and asks one handler about every request."""

    def __init__(self, handler: Handler, *, max_body: int, idle_seconds: float = IDLE_SECONDS) -> None:
        sslproto.SSLProtocol.max_size = _TLS_BUFFER
        super().__init__(
            handler,
            handler_cancellation=True,
            access_log=None,
            keepalive_timeout=idle_seconds,
            max_line_size=MAX_HEAD,
            max_field_size=MAX_HEAD,
            max_headers=MAX_HEADERS,
            auto_decompress=False,  # as Kubernetes: a body is what it is
        )
        self._max_body = max_body

    def _make_request(
        self,
        message: RawRequestMessage,
        payload: StreamReader,
        protocol: web.RequestHandler,
        writer: AbstractStreamWriter,
        task: "asyncio.Task[None]",
    ) -> web.BaseRequest:
        return web.BaseRequest(message, payload, protocol, writer, task, self._loop, client_max_size=self._max_body)

    def __call__(self) -> Connection:
        return Connection(self, loop=self._loop, **self._kwargs)
