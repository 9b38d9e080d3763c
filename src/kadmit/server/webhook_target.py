"""Where a webhook is: its clientConfig as a URL, and the name under which credentials for it are looked up."""

import posixpath
from collections.abc import Mapping
from typing import Any, NamedTuple
from urllib.parse import quote, unquote_to_bytes, urlsplit

from msgspec import Struct

from kadmit.api.gojson import quoted

_PLAIN = "$&+,/:;=@"  # what Go leaves as it is in a path, beside letters, digits and -_.~


class Service(NamedTuple):
    """The service that a webhook names."""

    namespace: str
    name: str

    @property
    def host(self) -> str:
        """The name in its certificate."""
        return f"{self.name}.{self.namespace}.svc"


class TargetError(Exception):
    """A clientConfig that leads nowhere."""


class Target(Struct, frozen=True):
    url: str  # without a query
    authority: str  # host:port
    service: Service | None = None

    def within(self, seconds: int) -> str:
        """The URL of a call that has this much time."""
        return f"{self.url}?timeout={seconds}s"


def of(name: str, client: Mapping[str, Any]) -> Target:
    """The target of the webhook `name`. Raises TargetError."""
    service = client.get("service")
    if service is not None:
        return _of_service(service)
    url = client.get("url") or ""
    if not url:
        raise TargetError(f"failed calling webhook {quoted(name)}: webhook configuration must have either service or URL")
    try:
        return _of_url(url)
    except ValueError as e:
        raise TargetError(f"failed calling webhook {quoted(name)}: Unparsable URL: {e}") from None


def _of_service(raw: Mapping[str, Any]) -> Target:
    service = Service(raw["namespace"], raw["name"])
    authority = f"{service.host}:{raw.get('port') or 443}"
    return Target(f"https://{authority}{_path(raw.get('path') or '')}", authority, service)


def _of_url(url: str) -> Target:
    """NB: a query of its own is not kept; registration refuses it. A port may be any number: dialling will tell."""
    parts = urlsplit(url)
    authority = parts.netloc if ":" in parts.netloc.rpartition("]")[2] else f"{parts.netloc}:443"
    return Target(f"{parts.scheme}://{parts.netloc}{_path(parts.path)}", authority)


def _path(path: str) -> str:
    """As Go joins and writes it: cleaned of empty and dotted steps, without a slash at the end."""
    cleaned = posixpath.normpath(b"/" + unquote_to_bytes(path).lstrip(b"/"))
    return quote(cleaned, safe=_PLAIN)
