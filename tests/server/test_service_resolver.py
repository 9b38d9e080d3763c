"""Where services are."""

from collections.abc import Sequence
from typing import Any

import pytest

from kadmit.server.service_resolver import (
    Address,
    ClusterAddresses,
    EndpointAddresses,
    NoServices,
    ServiceError,
    ServiceResolver,
)

SPECS: dict[str, dict[str, Any]] = {
    "plain": {"type": "ClusterIP", "clusterIP": "10.0.0.7", "ports": [{"port": 443, "name": "https"}]},
    "node": {"type": "NodePort", "clusterIP": "10.0.0.8", "ports": [{"port": 443}]},
    "headless": {"type": "ClusterIP", "clusterIP": "None", "ports": [{"port": 443}]},
    "external": {"type": "ExternalName", "externalName": "example.com"},
    "odd": {"type": "Odd"},
    "dual": {"clusterIP": "10.0.0.9", "ports": [{"port": 443, "name": "https"}], "ipFamilies": ["IPv6", "IPv4"]},
}
HTTPS = [{"name": "https", "port": 8443}]
SLICES: dict[str, list[dict[str, Any]]] = {
    "plain": [
        {"addressType": "IPv4", "ports": [{"name": "http", "port": 80}], "endpoints": [{"addresses": ["10.1.0.1"]}]},
        {
            "addressType": "IPv4",
            "ports": HTTPS,
            "endpoints": [{"addresses": ["10.1.0.2"], "conditions": {"ready": False}}, {"addresses": ["10.1.0.3"]}],
        },
    ],
    "dual": [
        {"addressType": "IPv4", "ports": HTTPS, "endpoints": [{"addresses": ["10.1.0.4"]}]},
        {"addressType": "IPv6", "ports": HTTPS, "endpoints": [{"addresses": ["fd00::4"]}]},
    ],
    "node": [],
}


class Cluster:
    async def service(self, namespace: str, name: str) -> dict[str, Any] | None:
        return {"spec": SPECS[name]} if namespace == "ns" and name in SPECS else None

    async def endpoint_slices(self, namespace: str, service: str) -> Sequence[dict[str, Any]]:
        return SLICES.get(service, [])


CLUSTER, ENDPOINTS = ClusterAddresses(Cluster()), EndpointAddresses(Cluster())


@pytest.mark.parametrize(
    ("resolver", "name", "address"),
    [
        (CLUSTER, "plain", Address("10.0.0.7", 443)),
        (CLUSTER, "node", Address("10.0.0.8", 443)),
        (CLUSTER, "external", Address("example.com", 443)),
        (ENDPOINTS, "plain", Address("10.1.0.3", 8443)),
        (ENDPOINTS, "dual", Address("fd00::4", 8443)),
    ],
)
async def test_a_service_is_at(resolver: ServiceResolver, name: str, address: Address) -> None:
    assert await resolver.resolve("ns", name, 443) == address


@pytest.mark.parametrize(
    ("resolver", "name", "port", "reason"),
    [
        (NoServices(), "plain", 443, 'service "plain" not found'),
        (CLUSTER, "nosuch", 443, 'service "nosuch" not found'),
        (CLUSTER, "headless", 443, 'cannot route to service with ClusterIP "None"'),
        (CLUSTER, "plain", 8443, 'no service port 8443 found for service "plain"'),
        (CLUSTER, "odd", 443, 'unsupported service type "Odd"'),
        (ENDPOINTS, "nosuch", 443, 'service "nosuch" not found'),
        (ENDPOINTS, "external", 443, 'unsupported service type "ExternalName"'),
        (ENDPOINTS, "node", 443, 'no endpoints available for service "node"'),
        (ENDPOINTS, "plain", 1, 'no service port 1 found for service "plain"'),
    ],
)
async def test_a_service_that_cannot_be_called(resolver: ServiceResolver, name: str, port: int, reason: str) -> None:
    with pytest.raises(ServiceError) as raised:
        await resolver.resolve("ns", name, port)
    assert str(raised.value) == reason
