"""The server's own Services and EndpointSlices, for webhooks that are called by service."""

from collections.abc import Sequence

from kadmit.resources.state import SERVICES, State
from kadmit.server import flagvalues
from kadmit.server.flagvalues import ServiceRouting
from kadmit.server.service_resolver import Address, ClusterAddresses, EndpointAddresses, Json, NoServices, ServiceResolver

_SLICES = ("discovery.k8s.io", "endpointslices")
_SERVICE_LABEL = "kubernetes.io/service-name"


class OwnServices:
    """Reads the state at the time of the call."""

    def __init__(self, state: State) -> None:
        self._state = state

    async def service(self, namespace: str, name: str) -> Json | None:
        return self._state.get(SERVICES, namespace, name)

    async def endpoint_slices(self, namespace: str, service: str) -> Sequence[Json]:
        found = self._state.all(_SLICES, namespace)
        return [s for s in found if ((s.get("metadata") or {}).get("labels") or {}).get(_SERVICE_LABEL) == service]


class _Named:
    """Single services at addresses that were given; the rest as somebody else says."""

    def __init__(self, routing: ServiceRouting, rest: ServiceResolver) -> None:
        self._addresses = routing.addresses
        self._rest = rest

    async def resolve(self, namespace: str, name: str, port: int) -> Address:
        """Raises ServiceError."""
        found = self._addresses.get(f"{namespace}/{name}:{port}") or self._addresses.get(f"{namespace}/{name}")
        return Address(*found) if found is not None else await self._rest.resolve(namespace, name, port)


def resolver(state: State, routing: ServiceRouting) -> ServiceResolver:
    """As --service-resolver says."""
    services = OwnServices(state)
    rest: ServiceResolver = ClusterAddresses(services)
    if routing.mode == flagvalues.ENDPOINTS:
        rest = EndpointAddresses(services)
    elif routing.mode != flagvalues.CLUSTER_IP:
        rest = NoServices()
    return _Named(routing, rest) if routing.addresses else rest
