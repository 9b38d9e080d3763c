"""An answer whose bytes are all there, written at once.

aiohttp makes an answer in many small steps, each of which an application may hook into. None does here, and together they would
take as long as deciding what a request is about. So the head is written here, and goes out with the body in one piece.
"""

import time
from collections.abc import Iterable
from email.utils import formatdate
from http import HTTPStatus

from aiohttp import web

_PHRASES = {status.value: status.phrase for status in HTTPStatus}
_BODILESS = frozenset((204, 304))
_COPIED = 256 * 1024  # up to here, a copy costs less than a record of its own

Header = tuple[str, str]


class WholeAnswer(web.StreamResponse):
    """NB: of what aiohttp's answers can do, it has what a connection asks for: prepare, write_eof and keep_alive."""

    def __init__(self, status: int, headers: Iterable[Header], body: bytes) -> None:
        self._code, self._lines, self._content = status, headers, body
        self._keep_alive = True
        self._request: web.BaseRequest | None = None

    @property
    def status(self) -> int:
        return self._code

    @property
    def keep_alive(self) -> bool:
        return bool(self._keep_alive)

    async def prepare(self, request: web.BaseRequest) -> None:
        self._request, self._keep_alive = request, request.keep_alive

    async def write_eof(self, data: bytes = b"") -> None:
        """Raises ConnectionResetError if nobody is there any more."""
        request = self._request
        assert request is not None
        transport = request.transport
        if transport is None or transport.is_closing():
            raise ConnectionResetError("nobody waits for this answer any more")
        body = b"" if request.method == "HEAD" or self._code in _BODILESS else self._content
        if len(body) > _COPIED:
            transport.writelines((self._head(request), body))
        else:
            transport.write(self._head(request) + body)
        await request.writer.drain()

    def _head(self, request: web.BaseRequest) -> bytes:
        major, minor = request.version
        lines = [f"HTTP/{major}.{minor} {self._code} {_PHRASES.get(self._code, '')}"]
        lines += [f"{name}: {value}" for name, value in self._lines]
        lines.append(f"Date: {date()}")
        if self._code not in _BODILESS:
            lines.append(f"Content-Length: {len(self._content)}")
        if not self._keep_alive:
            lines.append("Connection: close")
        elif minor == 0:
            lines.append("Connection: keep-alive")
        text = "\r\n".join(lines)
        if text.count("\n") != len(lines) - 1 or text.count("\r") != len(lines) - 1:
            raise ValueError("a header with a line end in it")
        return f"{text}\r\n\r\n".encode("utf-8", "surrogateescape")


_second, _date = -1, ""


def date() -> str:
    """Now, as headers have it. A text serves a whole second."""
    global _second, _date
    second = int(time.time())
    if second != _second:
        _second, _date = second, formatdate(second, usegmt=True)
    return _date
