"""Paths that are no resources: discovery, OpenAPI, version, health, metrics."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING

from kadmit.api import errors
from kadmit.kinds.catalog import Catalog
from kadmit.kinds.known import Known
from kadmit.matching.attributes import Json
from kadmit.presentation import encoding, media
from kadmit.presentation.discovery import Aggregated, Discovery
from kadmit.presentation.media import Endpoint
from kadmit.presentation.runtimeconfig import RuntimeConfig
from kadmit.server.exchange import Exchange, Reply
from kadmit.server.metrictext import CONTENT_TYPE, Snapshot

if TYPE_CHECKING:
    from kadmit.presentation.openapi import Document, OpenApi

VERSION = {
    "major": "1",
    "minor": "36",
    "gitVersion": "v1.36.4",
    "gitCommit": "kadmit",
    "gitTreeState": "clean",
    "buildDate": "1970-01-01T00:00:00Z",
    "goVersion": "none",
    "compiler": "cpython",
    "platform": "linux/amd64",
}
_COUNTED = frozenset(("/healthz", "/livez", "/readyz", "/metrics", "/version", "/api", "/apis", "/openapi/v2", "/openapi/v3"))
_CHECKS = frozenset(("ping", "log", "etcd", "informer-sync", "shutdown"))
_HEALTH = ("/healthz", "/livez", "/readyz")


class Plain:
    """Answers what is known without looking at any object."""

    def __init__(
        self,
        known: Callable[[], Known],
        numbers: Callable[[], Awaitable[Snapshot]],
        *,
        serves: RuntimeConfig | None = None,
        definitions: Callable[[], list[Json]] = list,
        ready: Callable[[], bool] = lambda: True,
    ) -> None:
        self._known = known
        self._numbers = numbers
        self._serves = serves
        self._definitions = definitions
        self._ready = ready
        self._made: tuple[Known, Discovery] | None = None
        self._openapi_made: tuple[Known, OpenApi] | None = None

    @property
    def discovery(self) -> Discovery:
        known = self._known()
        if self._made is None or self._made[0] is not known:
            self._made = known, Discovery(self._catalog(known))
        return self._made[1]

    def _catalog(self, known: Known) -> Catalog:
        return known.catalog if self._serves is None else self._serves.applied(known.catalog)

    async def handle(self, exchange: Exchange) -> Reply:
        """Raises ApiError."""
        path = exchange.path.rstrip("/") or "/"
        if path.startswith(_HEALTH):
            return self._health(path)
        if path == "/metrics":
            return Reply(200, await asyncio.to_thread((await self._numbers()).render), CONTENT_TYPE)
        if path == "/version":
            return self._json(exchange, VERSION)
        if path.startswith("/openapi/"):
            return await self._openapi(exchange, path)
        return self._discovery(exchange, path)

    def known_path(self, path: str) -> str:
        """The path, if it is one of the few that everybody knows; else nothing. What is counted is counted by it."""
        trimmed = path.rstrip("/")
        return trimmed if trimmed in _COUNTED else ""

    def _health(self, path: str) -> Reply:
        kind, _, check = path.strip("/").partition("/")
        if check and check not in _CHECKS:
            return no_page()
        headers = {"X-Content-Type-Options": "nosniff"}
        if kind == "readyz" and not self._ready():
            return Reply(500, b"not ready", "text/plain; charset=utf-8", headers)
        return Reply(200, b"ok", "text/plain; charset=utf-8", headers)

    def _json(self, exchange: Exchange, value: Json, **headers: str) -> Reply:
        pretty = media.wants_pretty(exchange.asked("pretty"), exchange.user_agent)
        how = media.negotiate(exchange.accept, endpoint=Endpoint.PLAIN, pretty=pretty)
        return Reply(200, encoding.encode(value, how), how.media_type, dict(headers), object=value)

    def _discovery(self, exchange: Exchange, path: str) -> Reply:
        discovery = self.discovery
        parts = path.strip("/").split("/")
        is_known = parts[0] == "api" or (parts[0] == "apis" and (len(parts) < 2 or parts[1] in self._known().builtin_groups))
        if exchange.method not in ("GET", "HEAD"):
            if is_known:
                raise errors.method_not_allowed()
            return no_page()
        if path in ("/api", "/apis") and media.wants_aggregated_discovery(exchange.accept):
            return self._aggregated(exchange, discovery.aggregated_core if path == "/api" else discovery.aggregated)
        value = self._document(discovery, path)
        if value is None:
            if is_known:
                raise errors.not_found_path()
            return no_page()
        return self._json(exchange, value)

    def _document(self, discovery: Discovery, path: str) -> Json | None:
        parts = path.strip("/").split("/")
        match parts:
            case [""]:
                return {"paths": discovery.paths()}
            case ["api"]:
                return discovery.versions()
            case ["apis"]:
                return discovery.groups()
            case ["api", version]:
                return discovery.resources("", version)
            case ["apis", group]:
                return discovery.group(group)
            case ["apis", group, version]:
                return discovery.resources(group, version)
        return None

    def _aggregated(self, exchange: Exchange, found: Aggregated) -> Reply:
        content_type = f"{media.JSON}{media.AGGREGATED_DISCOVERY.parameters}"
        headers = {"ETag": found.etag, "Vary": "Accept"}
        if exchange.headers.get("If-None-Match") == found.etag:
            return Reply(304, b"", content_type, headers)
        return Reply(200, encoding.json(found.document), content_type, headers)

    async def _openapi(self, exchange: Exchange, path: str) -> Reply:
        documents = self._documents()
        if path == "/openapi/v3":
            index = await asyncio.to_thread(documents.index)
            return Reply(200, encoding.json(index), "text/plain; charset=utf-8")
        if path == "/openapi/v2":
            form = media.swagger_type(exchange.accept)
            if form is None:
                return Reply(406, b"", "text/plain; charset=utf-8")
            made = documents.swagger if form == media.JSON else documents.swagger_protobuf
            return _unless_known(exchange, await asyncio.to_thread(made), form)
        name = path.removeprefix("/openapi/v3/")
        wanted = documents.hash(name)
        if wanted is None:
            return Reply(404, b"", "text/plain; charset=utf-8")
        asked = exchange.asked("hash")
        if asked and asked != wanted:
            return Reply(301, b"", "text/plain; charset=utf-8", {"Location": f"/openapi/v3/{name}?hash={wanted}"})
        found = await asyncio.to_thread(documents.document, name)
        assert found is not None
        return _unless_known(exchange, found)

    def _documents(self) -> "OpenApi":
        from kadmit.presentation.openapi import OpenApi  # large, and only asked for by some clients

        known = self._known()
        if self._openapi_made is None or self._openapi_made[0] is not known:
            self._openapi_made = known, OpenApi(self._catalog(known), self._definitions())
        return self._openapi_made[1]


def no_page() -> Reply:
    """What is found nowhere, in the words of Go's HTTP library."""
    return Reply(404, b"404 page not found\n", "text/plain; charset=utf-8", {"X-Content-Type-Options": "nosniff"})


def _unless_known(exchange: Exchange, found: "Document", form: str = media.JSON) -> Reply:
    headers = {"ETag": found.etag, "Vary": "Accept"}
    if exchange.headers.get("If-None-Match") == found.etag:
        return Reply(304, b"", form, headers)
    return Reply(200, found.body, form, headers)
