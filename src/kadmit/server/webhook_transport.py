"""Connections to webhooks, kept open: one aiohttp session for all webhooks that trust, and are trusted, alike."""

import asyncio
import datetime
from base64 import b64decode
from collections import OrderedDict
from collections.abc import Iterator
from contextlib import contextmanager

import aiohttp
from msgspec import Struct, field

from kadmit.pki import faults
from kadmit.pki.pem import Pair
from kadmit.server import tls
from kadmit.server.dialing import Connector, Dialler, note_reuse, noted_socket
from kadmit.server.service_resolver import Address, ServiceResolver
from kadmit.server.webhook_target import Service

IDLE_SECONDS = 90.0  # for as long as Go keeps connections
_KEPT = 200  # transports; more are closed, the least used first
_LONGEST_LINE = 1024 * 1024  # of a response's head
_NO_TIMEOUT = aiohttp.ClientTimeout(total=None, connect=None, sock_connect=None, sock_read=None)


class Trust(Struct, frozen=True):
    """What two webhooks must have in common to share connections."""

    bundle: str  # caBundle as registered: PEM in base64; none are the system's roots
    pair: Pair | None = None
    service: Service | None = None

    @property
    def roots(self) -> bytes:
        return b64decode(self.bundle)


class Transport(Struct):
    """A session, and what is needed to explain why it refused somebody."""

    trust: Trust
    session: aiohttp.ClientSession
    users: int = field(default=0)

    @property
    def server_name(self) -> str | None:
        """The name to verify, where it is not the URL's."""
        return self.trust.service.host if self.trust.service else None

    async def refusal(self, address: Address, host: str) -> str:
        """Why the certificate shown at an address is not good enough for `host`."""
        name = self.server_name or host
        certificate = await _shown_certificate(address, name)
        if certificate is None:
            return faults.UNKNOWN_AUTHORITY
        roots = tls.root_certificates(self.trust.roots) if self.trust.roots else []
        return faults.explain(certificate, name, roots, datetime.datetime.now().astimezone())


async def _shown_certificate(address: Address, name: str) -> bytes | None:
    """Looked up over a connection of its own, because OpenSSL forgets what it refuses. Nothing is sent over it."""
    try:
        context = tls.looking_context()
        _, writer = await asyncio.open_connection(address.host, address.port, ssl=context, server_hostname=name)
    except OSError:
        return None
    shown: bytes | None = writer.get_extra_info("ssl_object").getpeercert(binary_form=True)
    writer.transport.abort()
    return shown


class Transports:
    """All sessions of a client. Those in use are never closed."""

    def __init__(self, services: ServiceResolver, kept: int = _KEPT) -> None:
        self._services = services
        self._kept = kept
        self._known: OrderedDict[Trust, Transport] = OrderedDict()
        self._closing: set[asyncio.Task[None]] = set()

    @contextmanager
    def lease(self, trust: Trust) -> Iterator[Transport]:
        """The transport for this trust, safe from being closed meanwhile. Raises TlsError."""
        transport = self._known.get(trust) or self._open(trust)
        self._known.move_to_end(trust)
        transport.users += 1
        try:
            yield transport
        finally:
            transport.users -= 1
            self._forget_the_oldest()

    def _open(self, trust: Trust) -> Transport:
        connector = Connector(
            ssl=tls.client_context(trust.roots, trust.pair),
            resolver=Dialler(self._services, trust.service),
            use_dns_cache=False,
            limit=0,
            keepalive_timeout=IDLE_SECONDS,
            socket_factory=noted_socket,
        )
        tracing = aiohttp.TraceConfig()
        tracing.on_connection_reuseconn.append(note_reuse)
        session = aiohttp.ClientSession(
            connector=connector,
            cookie_jar=aiohttp.DummyCookieJar(),
            auto_decompress=False,
            timeout=_NO_TIMEOUT,
            max_line_size=_LONGEST_LINE,
            max_field_size=_LONGEST_LINE,
            trace_configs=[tracing],
        )
        transport = self._known[trust] = Transport(trust, session)
        return transport

    def _forget_the_oldest(self) -> None:
        for trust in [t for t, known in self._known.items() if not known.users][: max(0, len(self._known) - self._kept)]:
            task = asyncio.ensure_future(self._known.pop(trust).session.close())
            self._closing.add(task)
            task.add_done_callback(self._closing.discard)

    async def close(self) -> None:
        known, self._known = list(self._known.values()), OrderedDict()
        await asyncio.gather(*(t.session.close() for t in known), *self._closing)
