"""Which proxy a URL is called through, from HTTPS_PROXY, HTTP_PROXY and NO_PROXY, by Go's rules.

Services of the cluster are never called through one, nor is this machine.
"""

import ipaddress
from collections.abc import Mapping
from typing import TypeAlias
from urllib.parse import urlsplit

from msgspec import Struct

Address: TypeAlias = ipaddress.IPv4Address | ipaddress.IPv6Address


class Proxies(Struct, frozen=True):
    http: str = ""
    https: str = ""
    exceptions: tuple[str, ...] = ()

    @classmethod
    def from_environment(cls, environment: Mapping[str, str]) -> "Proxies":
        def value(name: str) -> str:
            return environment.get(name) or environment.get(name.lower()) or ""

        excepted = tuple(e.strip().lower() for e in value("NO_PROXY").split(",") if e.strip())
        return cls(_complete(value("HTTP_PROXY")), _complete(value("HTTPS_PROXY")), excepted)

    def proxy_for(self, url: str) -> str | None:
        """The proxy's URL, or None to go straight."""
        if not self.http and not self.https:
            return None
        parts = urlsplit(url)
        proxy = self.https if parts.scheme == "https" else self.http
        host, port = (parts.hostname or "").rstrip("."), str(parts.port or (443 if parts.scheme == "https" else 80))
        return None if not proxy or self._excepted(host, port) else proxy

    def _excepted(self, host: str, port: str) -> bool:
        address = _address(host)
        if host == "localhost" or (address is not None and address.is_loopback):
            return True
        return any(_matches(entry, host, port, address) for entry in self.exceptions)


def _complete(proxy: str) -> str:
    return proxy if not proxy or "://" in proxy else f"http://{proxy}"


def _matches(entry: str, host: str, port: str, address: Address | None) -> bool:
    """An entry is a star, a network, or an address or domain, the last two maybe with a port."""
    if entry == "*":
        return True
    if "/" in entry:
        try:
            return address is not None and address in ipaddress.ip_network(entry, strict=False)
        except ValueError:
            return False
    name, colon, wanted = entry.rpartition(":") if entry.count(":") == 1 else (entry, "", "")
    if colon and wanted != port:
        return False
    if address is not None:
        return _address(name.strip("[]")) == address
    bare = name.removeprefix("*").removeprefix(".")
    return host.endswith(f".{bare}") or (host == bare and not name.startswith((".", "*")))


def _address(host: str) -> Address | None:
    try:
        return ipaddress.ip_address(host)
    except ValueError:
        return None
