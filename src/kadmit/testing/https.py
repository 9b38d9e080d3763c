"""Plain HTTPS to a test server: one connection, kept open, JSON in and out."""

import http.client
import re
import ssl
import threading
from collections.abc import Iterable
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import orjson
from msgspec import Struct

SECONDS = 60.0

_WARNING = re.compile(r'299 \S+ "((?:[^"\\]|\\.)*)"')
_ESCAPED = re.compile(r"\\(.)")


class Response(Struct, frozen=True):
    status: int
    headers: http.client.HTTPMessage
    body: bytes

    @property
    def json(self) -> Any:
        return orjson.loads(self.body)

    @property
    def warnings(self) -> tuple[str, ...]:
        """The texts of its Warning headers."""
        found = [text for value in self.headers.get_all("Warning") or () for text in _WARNING.findall(value)]
        return tuple(_ESCAPED.sub(r"\1", text) for text in found)


class Https:
    """Requests with a token, each sent when the one before is answered. Threads take turns."""

    def __init__(self, url: str, ca: Path, token: str) -> None:
        parts = urlsplit(url)
        assert parts.hostname is not None
        context = ssl.create_default_context(cafile=str(ca))
        self._connection = http.client.HTTPSConnection(parts.hostname, parts.port, context=context, timeout=SECONDS)
        self._token = token
        self._lock = threading.Lock()

    def send(
        self,
        method: str,
        path: str,
        body: bytes | None = None,
        content_type: str = "application/json",
        headers: Iterable[tuple[str, str]] = (),
    ) -> Response:
        with self._lock:
            try:
                return self._send(method, path, body, content_type, headers)
            except (http.client.RemoteDisconnected, ConnectionResetError, BrokenPipeError):
                self._connection.close()  # NB: it was closed while nobody used it
                if method != "GET":
                    raise
                return self._send(method, path, body, content_type, headers)

    def _send(
        self, method: str, path: str, body: bytes | None, content_type: str, headers: Iterable[tuple[str, str]]
    ) -> Response:
        connection = self._connection
        connection.putrequest(method, path)
        connection.putheader("Authorization", f"Bearer {self._token}")
        connection.putheader("Accept", "application/json")
        for name, value in headers:
            connection.putheader(name, value)
        if body is not None:
            connection.putheader("Content-Type", content_type)
        connection.putheader("Content-Length", str(len(body or b"")))
        connection.endheaders(body)
        answer = connection.getresponse()
        return Response(answer.status, answer.headers, answer.read())

    def close(self) -> None:
        self._connection.close()
