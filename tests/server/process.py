"""A `kadmit serve` of its own for tests that mistreat it: requests go to it byte for byte, and its memory can be looked at."""

import asyncio
import os
import signal
import ssl
import subprocess
import sys
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import orjson

TOKENS = Path(__file__).parent.parent / "conformance" / "server" / "tokens.csv"
TOKEN = "admin-token"
SECONDS = 20.0  # more than anything here takes


@dataclass(frozen=True, slots=True)
class Answer:
    """An answer off the wire. `body` is what the connection carried for it, dechunked by nobody."""

    status: int
    headers: dict[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        return orjson.loads(self.body)

    @property
    def told(self) -> tuple[int, str, str]:
        """Of a Status object: code, reason and message."""
        status = self.json
        assert (status["kind"], status["status"], status["code"]) == ("Status", "Failure", self.status)
        return self.status, status.get("reason", ""), status["message"]


class Connection:
    """One TLS connection, on which a test says exactly what it wants to."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader, self._writer = reader, writer

    async def say(self, data: bytes) -> None:
        self._writer.write(data)
        await self._writer.drain()

    async def ask(self, method: str, path: str, body: bytes = b"", **headers: str) -> Answer:
        await self.say(request(method, path, body, **headers))
        return await self.answer(method)

    async def head(self) -> tuple[int, dict[str, str]]:
        async with asyncio.timeout(SECONDS):
            text = (await self._reader.readuntil(b"\r\n\r\n")).decode("latin-1")
        first, *lines = text.strip().split("\r\n")
        return int(first.split(" ")[1]), {k.strip().lower(): v.strip() for k, _, v in (line.partition(":") for line in lines)}

    async def answer(self, method: str = "") -> Answer:
        status, headers = await self.head()
        async with asyncio.timeout(SECONDS):
            if method == "HEAD":
                body = b""
            elif "content-length" in headers:
                body = await self._reader.readexactly(int(headers["content-length"]))
            else:
                body = await self._reader.read()
        return Answer(status, headers, body)

    async def line(self) -> bytes:
        async with asyncio.timeout(SECONDS):
            return await self._reader.readline()

    async def is_over(self) -> bool:
        """Whether the server hangs up without another word."""
        async with asyncio.timeout(SECONDS):
            try:
                return await self._reader.read(1) == b""
            except ConnectionError:
                return True

    def hang_up(self) -> None:
        """Whatever was promised."""
        self._writer.close()
        self._writer.transport.abort()


def request(method: str, path: str, body: bytes = b"", **headers: str) -> bytes:
    """A request as it goes over the wire; underscores in header names are dashes."""
    given = {"Host": "kadmit", "Authorization": f"Bearer {TOKEN}"}
    if body:
        given |= {"Content-Type": "application/json", "Content-Length": str(len(body))}
    given |= {name.replace("_", "-"): value for name, value in headers.items()}
    lines = [f"{method} {path} HTTP/1.1", *(f"{k}: {v}" for k, v in given.items() if v)]
    return "\r\n".join(lines).encode("utf-8", "surrogateescape") + b"\r\n\r\n" + body


class Running:
    """A server process and how to reach it."""

    def __init__(self, process: "subprocess.Popen[str]", url: str, data: Path) -> None:
        parts = urlsplit(url)
        self.host, self.port, self.url = str(parts.hostname), int(parts.port or 0), url
        self.process, self.data = process, data
        self.context = ssl.create_default_context()
        self.context.check_hostname = False
        self.context.verify_mode = ssl.CERT_NONE

    @asynccontextmanager
    async def connection(self) -> AsyncIterator[Connection]:
        made = Connection(*await asyncio.open_connection(self.host, self.port, ssl=self.context, limit=2**20))
        try:
            yield made
        finally:
            made.hang_up()

    async def ask(self, method: str, path: str, body: bytes = b"", **headers: str) -> Answer:
        """On a connection of its own."""
        async with self.connection() as connection:
            return await connection.ask(method, path, body, **headers)

    @property
    def megabytes(self) -> float:
        """Resident memory."""
        pages = int(Path(f"/proc/{self.process.pid}/statm").read_text().split()[1])
        return pages * os.sysconf("SC_PAGE_SIZE") / 1e6

    @property
    def complaints(self) -> str:
        """What was logged: nothing, if nothing unexpected happened."""
        return (self.data / "stderr").read_text()


@contextmanager
def running(data: Path, *flags: str, environment: Mapping[str, str] | None = None) -> Iterator[Running]:
    """A server on a free port, ended with the block."""
    data.mkdir(parents=True, exist_ok=True)
    command = [sys.executable, "-m", "kadmit", "serve", "--storage=memory", "--secure-port=0", f"--data-dir={data}"]
    with (data / "stderr").open("w") as errors:
        process = subprocess.Popen(
            [*command, f"--token-auth-file={TOKENS}", *flags],
            stdout=subprocess.PIPE,
            stderr=errors,
            text=True,
            env={**os.environ, **(environment or {})},
        )
    try:
        assert process.stdout is not None
        line = process.stdout.readline()
        assert "ready at" in line, (data / "stderr").read_text()
        yield Running(process, line.split()[4].rstrip(";"), data)
    finally:
        process.send_signal(signal.SIGTERM)
        try:
            process.wait(SECONDS)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
        if process.stdout is not None:
            process.stdout.close()
