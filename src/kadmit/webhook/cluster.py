"""A client of one cluster's API: requests, watches, and errors as the API tells them.

Tokens and authorities that stand in files are looked at for each request, for they are replaced while a Pod runs. Redirects are
not followed and proxies of the environment not used: credentials go to the cluster and nowhere else.
"""

import ssl
from base64 import b64encode
from collections.abc import AsyncIterator, Mapping
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import Any

import aiohttp
import orjson
from multidict import CIMultiDict

from kadmit.api.errors import ApiError, Cause, Details, Status
from kadmit.matching.attributes import Json
from kadmit.pki import contexts, files
from kadmit.pki.files import Stamp
from kadmit.webhook.kubeconfig import Connection

APPLY, MERGE = "application/apply-patch+yaml", "application/merge-patch+json"
SECONDS = 30.0
WATCH_SECONDS = 240  # after which a watch is begun anew, by the server
_SLACK = 30.0
_MAX_LINE = 32 * 1024 * 1024

Unreachable = (aiohttp.ClientError, TimeoutError, OSError, ValueError)
"""What a request may raise besides ApiError: nobody answered, or something that is no API."""


class Cluster:
    """Requests to one API server. Raises ApiError for what it refuses, and those of `Unreachable`."""

    def __init__(self, connection: Connection) -> None:
        self.connection = connection
        self._session: aiohttp.ClientSession | None = None
        self._trust = _Trust(connection)

    async def close(self) -> None:
        if self._session is not None:
            await self._session.close()

    def _opened(self) -> aiohttp.ClientSession:
        if self._session is None:
            self._session = aiohttp.ClientSession(
                connector=aiohttp.TCPConnector(limit=0), read_bufsize=2**18, headers={"User-Agent": "kadmit-webhook"}
            )
        return self._session

    async def get(self, path: str, query: Mapping[str, str] | None = None) -> Json:
        return await self.send("GET", path, query=query)

    async def send(
        self,
        method: str,
        path: str,
        body: Json | None = None,
        *,
        query: Mapping[str, str] | None = None,
        content_type: str = "application/json",
    ) -> Json:
        """The object that comes back."""
        data = None if body is None else orjson.dumps(body)
        headers = self._headers()
        if data is not None:
            headers["Content-Type"] = content_type
        timeout = aiohttp.ClientTimeout(total=SECONDS)
        async with self._opened().request(
            method,
            self._url(path),
            params=query,
            data=data,
            headers=headers,
            timeout=timeout,
            allow_redirects=False,
            **self._tls(),
        ) as response:
            return _checked(response.status, await response.read())

    async def apply(self, path: str, value: Json, manager: str) -> Json:
        """Server-side apply; what others own and we name is ours from now on."""
        return await self.send("PATCH", path, value, query={"fieldManager": manager, "force": "true"}, content_type=APPLY)

    async def watch(self, path: str, query: Mapping[str, str]) -> AsyncIterator[Json]:
        """Events, until the server ends it."""
        timeout = aiohttp.ClientTimeout(total=None, sock_connect=SECONDS, sock_read=WATCH_SECONDS + _SLACK)
        asked = {"watch": "true", "allowWatchBookmarks": "true", "timeoutSeconds": str(WATCH_SECONDS), **query}
        async with self._opened().get(
            self._url(path), params=asked, headers=self._headers(), timeout=timeout, allow_redirects=False, **self._tls()
        ) as response:
            if response.status != 200:
                _checked(response.status, await response.read())
                raise ValueError(f"status {response.status} for a watch")
            async for line in _lines(response.content):
                yield orjson.loads(line)

    def _url(self, path: str) -> str:
        return f"{self.connection.server}{path}"

    def _headers(self) -> CIMultiDict[str]:
        user = self.connection.user
        headers = CIMultiDict({"Accept": "application/json"})
        token = _token(user.token_file) or user.token
        if token:
            headers["Authorization"] = f"Bearer {token}"
        elif user.username:
            pair = b64encode(f"{user.username}:{user.password}".encode()).decode()
            headers["Authorization"] = f"Basic {pair}"
        if user.impersonation is not None:
            headers["Impersonate-User"] = user.impersonation.user
            headers.extend([("Impersonate-Group", group) for group in user.impersonation.groups])
        return headers

    def _tls(self) -> dict[str, Any]:
        if not self.connection.server.startswith("https://"):
            return {}
        name = self.connection.server_name
        return {"ssl": self._trust.context(), **({"server_hostname": name} if name else {})}


async def _lines(content: aiohttp.StreamReader) -> AsyncIterator[bytes]:
    """NB: an object may be longer than any buffer, so lines are put together here. Raises ValueError for one without end."""
    rest = b""
    async for chunk in content.iter_any():
        *whole, rest = (rest + chunk).split(b"\n")
        for line in whole:
            if line.strip():
                yield line
        if len(rest) > _MAX_LINE:
            raise ValueError(f"an event of a watch is longer than {_MAX_LINE} bytes")


def _checked(status: int, body: bytes) -> Json:
    if 200 <= status < 300:
        found = orjson.loads(body)
        if not isinstance(found, dict):
            raise ValueError("the answer is no object")
        return found
    raise _error(status, body)


def _error(status: int, body: bytes) -> ApiError:
    try:
        told = orjson.loads(body)
    except orjson.JSONDecodeError:
        told = None
    if not isinstance(told, dict) or told.get("kind") != "Status":
        return ApiError(Status(status, "", f"the server answered with status {status}"))
    return of_status(told, status)


def of_status(told: Mapping[str, Any], code: int = 0) -> ApiError:
    """A Status of the API as an error."""
    raw = told.get("details") or {}
    causes = tuple(Cause(c.get("reason") or "", c.get("message") or "", c.get("field") or "") for c in raw.get("causes") or ())
    details = Details(raw.get("name") or "", raw.get("group") or "", raw.get("kind") or "", causes=causes)
    return ApiError(Status(int(told.get("code") or code), told.get("reason") or "", told.get("message") or "", details))


def _token(path: str) -> str:
    if not path:
        return ""
    try:
        return Path(path).read_text().strip()
    except OSError:
        return ""


class _Trust:
    """The TLS context, made anew when the authority's file has changed."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self._made: ssl.SSLContext | None = None
        self._seen: Stamp | None = None

    def context(self) -> ssl.SSLContext:
        """Raises OSError, ssl.SSLError."""
        seen = files.stamp(self._connection.authority_file)
        if self._made is None or seen != self._seen:
            self._made, self._seen = _context(self._connection), seen
        return self._made


def _context(connection: Connection) -> ssl.SSLContext:
    made = ssl.create_default_context(
        cafile=connection.authority_file or None, cadata=connection.authority.decode() if connection.authority else None
    )
    if connection.insecure:
        made.check_hostname = False
        made.verify_mode = ssl.CERT_NONE
    user = connection.user
    if user.certificate_data or user.certificate_file:
        with _file(user.certificate_data, user.certificate_file) as certificate, _file(user.key_data, user.key_file) as key:
            made.load_cert_chain(certificate, key or None)
    return made


def _file(data: bytes, path: str) -> AbstractContextManager[str]:
    """What is given as a text counts before what is in a file."""
    return contexts.as_file(data) if data else nullcontext(path)
