"""From a name to a connection: who resolves it, and what is worth remembering for the day it fails.

aiohttp says neither which address it dialled nor which connection broke, and Go's error texts say both. Each request carries a
Trip in its context, into which the connector writes them.
"""

import asyncio
import contextlib
import ipaddress
import select
import socket
from collections.abc import Callable
from contextvars import ContextVar
from pathlib import Path
from typing import Any

import aiohttp
from aiohttp.abc import AbstractResolver, ResolveResult
from aiohttp.connector import Connection
from aiohttp.tracing import Trace
from msgspec import Struct

from kadmit.server.service_resolver import Address, ServiceResolver
from kadmit.server.webhook_target import Service

RESOLV_CONF = Path("/etc/resolv.conf")


class Trip(Struct):
    """How one request travelled, as far as it came."""

    dialled: Address | None = None
    local: Address | None = None
    remote: Address | None = None
    reused: bool = False


TRIP: ContextVar[Trip] = ContextVar("TRIP")


class LookupFailed(Exception):
    """A name without an address; the message is Go's."""


def shown(address: Address | None) -> str:
    if address is None:
        return ""
    return f"[{address.host}]:{address.port}" if ":" in address.host else f"{address.host}:{address.port}"


class Dialler(AbstractResolver):
    """Resolves names for a connector: one service through the cluster, everything else through DNS, never from a cache."""

    def __init__(self, services: ServiceResolver, service: Service | None) -> None:
        self._services = services
        self._service = service

    async def resolve(self, host: str, port: int = 0, family: socket.AddressFamily = socket.AF_UNSPEC) -> list[ResolveResult]:
        """Raises ServiceError and LookupFailed."""
        wanted = Address(host, port)
        if self._service is not None and host == self._service.host:
            wanted = await self._services.resolve(self._service.namespace, self._service.name, port)
        found = [Address(wanted.host, wanted.port)] if is_address(wanted.host) else await _looked_up(wanted, family)
        return [_result(host, address) for address in found]

    async def close(self) -> None:
        pass


def is_address(host: str) -> bool:
    try:
        ipaddress.ip_address(host)
    except ValueError:
        return False
    return True


async def _looked_up(wanted: Address, family: socket.AddressFamily) -> list[Address]:
    loop = asyncio.get_running_loop()
    try:
        found = await loop.getaddrinfo(
            wanted.host, wanted.port, type=socket.SOCK_STREAM, family=family, flags=socket.AI_ADDRCONFIG
        )
    except (socket.gaierror, UnicodeError) as e:
        code = e.errno if isinstance(e, socket.gaierror) else socket.EAI_NONAME
        reason = "server misbehaving" if code == socket.EAI_AGAIN else "no such host"
        raise LookupFailed(f"dial tcp: lookup {wanted.host}{_asked_server()}: {reason}") from None
    return [Address(str(info[4][0]), int(info[4][1])) for info in found]


def _asked_server() -> str:
    """` on ADDRESS:53`, as Go's own resolver tells whom it asked."""
    with contextlib.suppress(OSError):
        for line in RESOLV_CONF.read_text().splitlines():
            words = line.split()
            if len(words) > 1 and words[0] == "nameserver":
                return f" on {shown(Address(words[1], 53))}"
    return ""


def _result(hostname: str, address: Address) -> ResolveResult:
    family = socket.AF_INET6 if ":" in address.host else socket.AF_INET
    flags = socket.AI_NUMERICHOST | socket.AI_NUMERICSERV
    return ResolveResult(hostname=hostname, host=address.host, port=address.port, family=family, proto=0, flags=flags)


class Connector(aiohttp.TCPConnector):
    """Notes which connection a request goes over, and never takes a kept one that its server has closed meanwhile."""

    async def connect(self, req: aiohttp.ClientRequest, traces: list[Trace], timeout: aiohttp.ClientTimeout) -> Connection:
        trip = TRIP.get()
        connection = await super().connect(req, traces, timeout)
        while trip.reused and _has_spoken(connection):
            connection.close()
            trip.reused = False
            connection = await super().connect(req, traces, timeout)
        transport = connection.transport
        assert transport is not None
        trip.local = _address(transport.get_extra_info("sockname"))
        trip.remote = _address(transport.get_extra_info("peername"))
        return connection


def _has_spoken(connection: Connection) -> bool:
    """Whether something waits to be read on a connection over which nothing was asked: nothing but its end can.

    The loop would find out a moment later, when the review has been sent, and it could not be told whether it had arrived.
    """
    transport = connection.transport
    if transport is None or transport.is_closing():
        return True
    poll = select.poll()
    poll.register(transport.get_extra_info("socket").fileno(), select.POLLIN)
    return bool(poll.poll(0))


def noted_socket(info: tuple[Any, ...]) -> socket.socket:
    """A socket that tells the trip whom it dials, and its addresses when it is closed: a failed handshake leaves nothing else."""
    trip = TRIP.get()
    trip.dialled = trip.dialled or _address(info[4])
    return _NotedSocket(*info[:3])


class _NotedSocket(socket.socket):
    def __init__(self, family: int, kind: int, protocol: int) -> None:
        super().__init__(family, kind, protocol)
        self._trip = TRIP.get()

    def close(self) -> None:
        self._trip.local = self._trip.local or _known(self.getsockname)
        self._trip.remote = self._trip.remote or _known(self.getpeername)
        super().close()


def _known(ask: Callable[[], Any]) -> Address | None:
    try:
        return _address(ask())
    except OSError:
        return None


def _address(pair: Any) -> Address | None:
    return Address(str(pair[0]), int(pair[1])) if pair else None


async def note_reuse(_session: aiohttp.ClientSession, _context: object, _params: aiohttp.TraceConnectionReuseconnParams) -> None:
    TRIP.get().reused = True
