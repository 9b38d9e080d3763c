"""One question and its answer over HTTP, as Go's http.Client has them: redirects followed, bodies read to the end, errors named.

A redirect that keeps the method (307, 308) is sent the review again, with credentials; any other becomes a GET without one.
"""

import re
import zlib
from dataclasses import dataclass, field
from urllib.parse import SplitResult, quote, urljoin, urlsplit

import aiohttp
from msgspec import Struct
from multidict import CIMultiDict
from yarl import URL

from kadmit.api.gojson import quoted
from kadmit.server import network_faults
from kadmit.server.dialing import TRIP, LookupFailed, Trip
from kadmit.server.proxies import Proxies
from kadmit.server.service_resolver import Address, ServiceError
from kadmit.server.webhook_transport import Transport

MAX_BODY = 16 * 1024 * 1024
"""Kubernetes reads whatever comes; nothing that a review could hold comes near this."""

_MAX_HOPS = 10
_PUNCTUATION = "!#$%&'()*+,/:;=?@[]"  # has its meaning in a URL; all else that is no letter or digit is escaped
_BAD_ESCAPE = re.compile(r"%(?![0-9a-fA-F]{2}).{0,2}")
_BAD_HOST = re.compile(r"[ ^`{|}\\]")
_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:")
_GZIP, _GZIP_HEAD = b"\x1f\x8b\x08", 10
_FAILURES = (aiohttp.ClientError, ServiceError, LookupFailed, OSError, ValueError)


class Fault(Exception):
    """No answer; the message is what Kubernetes' client says."""


class Reply(Struct, frozen=True):
    status: int
    content_type: str | None  # as it was sent
    retry_after: str
    body: bytes


@dataclass(slots=True)
class Exchange:
    """A review on its way. It knows at any moment what a deadline would interrupt."""

    transport: Transport
    url: str
    headers: CIMultiDict[str]
    body: bytes = field(repr=False)
    proxies: Proxies
    reading: bool = False

    def interrupted(self) -> str:
        """What is said when the deadline comes now."""
        return _unread(network_faults.DEADLINE) if self.reading else _post(self.url, network_faults.DEADLINE)

    async def run(self) -> Reply:
        """Raises Fault."""
        method, body, headers = "POST", self.body or None, self.headers
        for hop in range(_MAX_HOPS):
            async with await self._sent(method, body, headers) as response:
                location = _redirection(response)
                if not location:
                    return await self._read(response)
            if hop == _MAX_HOPS - 1:
                raise Fault(_post(location, f"stopped after {_MAX_HOPS} redirects"))
            self.url = _next(self.url, location)
            if response.status < 307:
                method, body, headers = "GET", None, _without_body(headers)
        raise AssertionError("the last hop returns or raises")

    async def _sent(self, method: str, body: bytes | None, headers: CIMultiDict[str]) -> aiohttp.ClientResponse:
        """NB: a kept connection may close at this very moment; as long as nothing went over it, a new one is tried."""
        parts = urlsplit(self.url)
        unreachable = network_faults.unreachable(parts.hostname or "", _port(parts))
        if unreachable is not None:
            raise Fault(_post(self.url, unreachable))
        address = _address(parts)
        while True:
            trip = Trip()
            TRIP.set(trip)
            try:
                return await self.transport.session.request(
                    method,
                    URL(_without_user(self.url), encoded=True),
                    data=body,
                    headers=headers,
                    allow_redirects=False,
                    server_hostname=self.transport.server_name,
                    proxy=self.proxies.proxy_for(self.url) if self.transport.trust.service is None else None,
                )
            except aiohttp.ClientConnectorCertificateError:
                text = await self.transport.refusal(trip.remote or trip.dialled or address, address.host)
                raise Fault(_post(self.url, f"tls: failed to verify certificate: {text}")) from None
            except _FAILURES as e:
                if trip.reused and isinstance(e, aiohttp.ClientConnectionResetError):
                    continue
                if network_faults.breaks_body(e):
                    raise Fault(_unread(network_faults.reading(e))) from None
                raise Fault(_post(self.url, network_faults.sending(e, trip, address))) from None

    async def _read(self, response: aiohttp.ClientResponse) -> Reply:
        self.reading = True
        try:
            body = await _whole(response)
        except (aiohttp.ClientError, OSError, zlib.error) as e:
            raise Fault(_unread(network_faults.reading(e))) from None
        self.reading = False
        headers = response.headers
        return Reply(response.status, headers.get("Content-Type"), headers.get("Retry-After", ""), body)


def _post(url: str, reason: str) -> str:
    return f"Post {quoted(_masked(url))}: {reason}"


def _unread(reason: str) -> str:
    return f"unexpected error when reading response body. Please retry. Original error: {reason}"


# ------------------------------------------------------------ bodies


async def _whole(response: aiohttp.ClientResponse) -> bytes:
    parts: list[bytes] = []
    size = 0
    async for part in response.content.iter_any():
        size += len(part)
        if size > MAX_BODY:
            raise Fault(_unread(f"response body is larger than {MAX_BODY} bytes"))
        parts.append(part)
    whole = b"".join(parts)
    return _unzipped(whole) if whole and response.headers.get("Content-Encoding", "").lower() == "gzip" else whole


def _unzipped(body: bytes) -> bytes:
    """Never more than the limit, whatever a few bytes would unfold to."""
    if len(body) >= _GZIP_HEAD and not body.startswith(_GZIP):
        raise Fault(_unread("gzip: invalid header"))
    unzip = zlib.decompressobj(wbits=31)
    made = unzip.decompress(body, MAX_BODY + 1)
    if len(made) > MAX_BODY:
        raise Fault(_unread(f"response body is larger than {MAX_BODY} bytes"))
    if not unzip.eof:
        raise zlib.error("incomplete")
    return made


# ------------------------------------------------------------ redirects


def _redirection(response: aiohttp.ClientResponse) -> str:
    """Where a response leads; nowhere if it is an answer."""
    return response.headers.get("Location", "") if response.status in (301, 302, 303, 307, 308) else ""


def _next(url: str, location: str) -> str:
    """Raises Fault."""
    escape = _BAD_ESCAPE.search(location)
    try:
        if escape:
            raise ValueError(f"invalid URL escape {quoted(escape[0])}")
        _check(location)
        joined = quote(location if urlsplit(location).scheme else urljoin(url, location), safe=_PUNCTUATION)
        parts = urlsplit(joined)
        _ = parts.port
    except ValueError as e:
        reason = "missing ']' in host" if "IPv6" in str(e) else str(e)
        broken = f"failed to parse Location header {quoted(location)}: parse {quoted(location)}: {reason}"
        raise Fault(_post(url, broken)) from None
    if parts.scheme not in ("http", "https"):
        raise Fault(_post(joined, f"unsupported protocol scheme {quoted(parts.scheme)}"))
    if not parts.hostname:
        raise Fault(_post(joined, "http: no Host in request URL"))
    return joined


def _check(location: str) -> None:
    """Raises ValueError with what Go has against an address that Python would take."""
    if not _SCHEME.match(location) and ":" in location.partition("/")[0]:
        raise ValueError("first path segment in URL cannot contain colon")
    found = _BAD_HOST.search(urlsplit(location).netloc)
    if found:
        raise ValueError(f"invalid character {quoted(found[0])} in host name")


def _without_body(headers: CIMultiDict[str]) -> CIMultiDict[str]:
    return CIMultiDict((k, v) for k, v in headers.items() if k.lower() != "content-type")


def _port(parts: SplitResult) -> str:
    """As it is written; NB: it may be too large for one."""
    return parts.netloc.rpartition("@")[2].rpartition("]")[2].partition(":")[2]


def _address(parts: SplitResult) -> Address:
    return Address(parts.hostname or "", parts.port or (443 if parts.scheme == "https" else 80))


def _without_user(url: str) -> str:
    parts = urlsplit(url)
    return parts._replace(netloc=parts.netloc.rpartition("@")[2]).geturl() if "@" in parts.netloc else url


def _masked(url: str) -> str:
    """A password in a URL is not for error messages."""
    parts = urlsplit(url) if "@" in url else None
    if parts is None or not parts.password:
        return url
    return parts._replace(netloc=f"{parts.username}:***@{parts.netloc.rpartition('@')[2]}").geturl()
