"""An address of this machine that a cluster's API server can call.

For a server on this machine it is the loopback address; for one elsewhere the address from which packets to it leave. Clusters
that run in containers or virtual machines on this machine have names for it, by the usual names of their contexts.
"""

import ipaddress
import socket
from urllib.parse import urlsplit

LOOPBACK = "127.0.0.1"

_LOCAL_CLUSTERS = {
    "docker-desktop": "host.docker.internal",
    "minikube": "host.minikube.internal",
    "k3d-": "host.k3d.internal",
    "rancher-desktop": "host.rancher-desktop.internal",
    "colima": "host.lima.internal",
}


def reachable(server: str, context: str = "") -> str:
    """`server` is the URL of the API. Raises OSError."""
    for prefix, name in _LOCAL_CLUSTERS.items():
        if context.startswith(prefix):
            return name
    parts = urlsplit(server)
    port = parts.port or (443 if parts.scheme == "https" else 80)
    family, _, _, _, address = socket.getaddrinfo(parts.hostname, port, type=socket.SOCK_DGRAM)[0]
    with socket.socket(family, socket.SOCK_DGRAM) as probe:
        probe.connect(address)  # sends nothing; only the way is chosen
        return str(probe.getsockname()[0])


def listening(advertised: str) -> str:
    """What to listen on, for callers of an address: no more than it needs."""
    try:
        return advertised if ipaddress.ip_address(advertised).is_loopback else ""
    except ValueError:
        return LOOPBACK if advertised == "localhost" else ""


def url(host: str, port: int | str) -> str:
    return f"https://[{host}]:{port}" if ":" in host else f"https://{host}:{port}"
