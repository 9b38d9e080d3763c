"""The server's own Services and EndpointSlices, for webhooks that are called by service."""

from collections.abc import Sequence

from kadmit.resources.state import SERVICES, State
from kadmit.server.service_resolver import Json

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
