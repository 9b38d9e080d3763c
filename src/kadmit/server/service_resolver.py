"""Where a service of the cluster can be reached: by its cluster IP, or straight at one of its endpoints.

A webhook names a service; what is dialled is an address. Kubernetes takes the cluster IP unless it was told to route itself
(--enable-aggregator-routing), for networks that cannot reach cluster IPs.
"""

import random
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple, Protocol, TypeAlias

from msgspec import Struct

from kadmit.api.gojson import quoted

Json: TypeAlias = Mapping[str, Any]

_ROUTABLE = ("ClusterIP", "LoadBalancer", "NodePort")


class Address(NamedTuple):
    """What to dial: an IP address, or a name for an ExternalName service."""

    host: str
    port: int


class ServiceError(Exception):
    """A service that cannot be called; the message is Kubernetes'."""


class ServiceResolver(Protocol):
    """Asked for each new connection, so that a moved service is found again. A seam, because networks differ."""

    async def resolve(self, namespace: str, name: str, port: int) -> Address:
        """Raises ServiceError."""


class Services(Protocol):
    """What resolvers know of the cluster."""

    async def service(self, namespace: str, name: str) -> Json | None: ...

    async def endpoint_slices(self, namespace: str, service: str) -> Sequence[Json]: ...


class NoServices:
    """For a server without a cluster: every service is missing."""

    async def resolve(self, namespace: str, name: str, port: int) -> Address:
        raise _missing(name)


class ClusterAddresses(Struct, frozen=True):
    """Routes to the cluster IP, as kube-apiserver does by default."""

    services: Services

    async def resolve(self, namespace: str, name: str, port: int) -> Address:
        service = await self.services.service(namespace, name)
        if service is None:
            raise _missing(name)
        spec = service.get("spec") or {}
        kind = spec.get("type") or "ClusterIP"
        if kind == "ExternalName":
            return Address(spec.get("externalName") or "", port)
        if kind == "ClusterIP" and spec.get("clusterIP") == "None":
            raise ServiceError('cannot route to service with ClusterIP "None"')
        if kind not in _ROUTABLE:
            raise ServiceError(f"unsupported service type {quoted(kind)}")
        _port(name, spec, port)
        return Address(spec.get("clusterIP") or "", port)


class EndpointAddresses(Struct, frozen=True):
    """Routes to one of the ready endpoints, chosen by chance."""

    services: Services

    async def resolve(self, namespace: str, name: str, port: int) -> Address:
        service = await self.services.service(namespace, name)
        if service is None:
            raise _missing(name)
        spec = service.get("spec") or {}
        kind = spec.get("type") or "ClusterIP"
        if kind not in _ROUTABLE:
            raise ServiceError(f"unsupported service type {quoted(kind)}")
        wanted = _port(name, spec, port).get("name") or ""
        slices = await self.services.endpoint_slices(namespace, name)
        family = (spec.get("ipFamilies") or [""])[0]
        for group in (True, False):
            ready = [a for s in slices if (s.get("addressType") == family) is group for a in _ready(s, wanted)]
            if ready:
                return random.choice(ready)  # noqa: S311  # spreads load, guards nothing
        raise ServiceError(f"no endpoints available for service {quoted(name)}")


def _missing(name: str) -> ServiceError:
    return ServiceError(f"service {quoted(name)} not found")


def _port(name: str, spec: Json, port: int) -> Json:
    for candidate in spec.get("ports") or ():
        if candidate.get("port") == port:
            return dict(candidate)
    raise ServiceError(f"no service port {port} found for service {quoted(name)}")


def _ready(slice_: Json, wanted: str) -> Iterator[Address]:
    for port in slice_.get("ports") or ():
        if (port.get("name") or "") != wanted or not port.get("port"):
            continue
        for endpoint in slice_.get("endpoints") or ():
            if (endpoint.get("conditions") or {}).get("ready") is not False and endpoint.get("addresses"):
                yield Address(endpoint["addresses"][0], port["port"])
