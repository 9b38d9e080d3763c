"""The HTTP side: who asks, may they, what do they want, and how the answer goes back. One handler for every path.

The order is the API server's: identity, impersonation, audit, authorization, then the request itself. Errors of any kind become
Status objects; what nobody expected becomes a 500 that says so, and a line in the log.
"""

import asyncio
import ssl
import time
import traceback
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any
from urllib.parse import unquote
from uuid import uuid4

import orjson
from aiohttp import web

from kadmit.access import attributes as access
from kadmit.access import impersonation
from kadmit.access.identity import Identities, certificate_user
from kadmit.admission import outcome
from kadmit.api import errors
from kadmit.api.errors import ApiError, Status
from kadmit.api.gojson import quoted
from kadmit.cel.library.authorizer import Attributes, User
from kadmit.kinds import protobuf
from kadmit.presentation import encoding, media
from kadmit.server import audit, requestlabels
from kadmit.server.audit import Auditor, Trail
from kadmit.server.exchange import Exchange, Reply
from kadmit.server.handlers import Resources
from kadmit.server.httpserver import HttpServer
from kadmit.server.lifecycle import Inflight
from kadmit.server.logs import Log
from kadmit.server.metrics import Metrics
from kadmit.server.plain import Plain

MAX_BODY = 3 * 1024 * 1024
_NOBODY = User("")
_LONG_RUNNING = frozenset(("attach", "exec", "log", "portforward", "proxy"))


@dataclass(slots=True)
class Server:
    """Everything that requests need."""

    resources: Resources
    plain: Plain
    identities: Identities
    auditor: Auditor
    metrics: Metrics
    max_body: int = MAX_BODY
    request_timeout: float = 60.0
    log: Log | None = None
    inflight: Inflight = field(default_factory=Inflight)
    _modes: dict[str, str] = field(default_factory=dict)  # by requester: how they were last allowed to impersonate
    _watches: set["asyncio.Task[Any]"] = field(default_factory=set)

    def http(self) -> HttpServer:
        return HttpServer(self.handle, max_body=self.max_body)

    def end_watches(self) -> None:
        for task in list(self._watches):
            task.cancel()

    # ------------------------------------------------------------ one request

    async def handle(self, request: web.BaseRequest) -> web.StreamResponse:
        begun = time.time()
        audit_id = request.headers.get(audit.HEADER) or str(uuid4())
        if access.has_bad_escape(request.rel_url.raw_path):
            return web.Response(status=400, text="400 Bad Request")  # as Go's library says it, before there is an API to ask
        path = unquote(request.rel_url.raw_path)
        try:
            info = access.request_info(request.method, path, request.rel_url.raw_query_string)
        except access.UnreadablePath as e:
            return web.Response(status=500, text=e.answer(request.path_qs))
        query = access.query_values(request.rel_url.raw_query_string)
        pretty = media.wants_pretty(next(iter(query.get("pretty", ())), None), request.headers.get("User-Agent", ""))
        try:
            user = self._identify(request)
        except ApiError as e:
            asked = access.attributes_of(info, _NOBODY)
            self.auditor.follow(self._about(request, audit_id, begun), asked).started(e.status.code)
            return self._failure(e, request, pretty, {audit.HEADER: audit_id})
        return await self._audited(request, path, query, info, user, audit_id, begun, pretty=pretty)

    def _about(self, request: web.BaseRequest, audit_id: str, begun: float) -> audit.Request:
        source = (request.remote,) if request.remote else ()
        return audit.Request(audit_id, request.path_qs, begun, source, request.headers.get("User-Agent", ""))

    def _identify(self, request: web.BaseRequest) -> User:
        found = self.identities.identify(request.headers.get("Authorization", ""), certificate=_certificate_user(request))
        if found.user is None:
            refusal = found.refusal()
            assert refusal is not None
            raise refusal
        return found.user

    async def _audited(
        self,
        request: web.BaseRequest,
        path: str,
        query: dict[str, list[str]],
        info: access.RequestInfo,
        user: User,
        audit_id: str,
        begun: float,
        *,
        pretty: bool,
    ) -> web.StreamResponse:
        asked = access.attributes_of(info, user)
        trail = self.auditor.follow(self._about(request, audit_id, begun), asked)
        exchange = Exchange(request.method, path, query, request.headers, b"", info, user)
        labels = self._labels(exchange)
        reply: Reply
        try:
            trail.received()
            asked, exchange = self._impersonated(request, asked, exchange, trail)
            self._authorize(asked, exchange, trail)
            with self.inflight:
                exchange.body = await self._body(request)
                exchange.deadline = self._deadline(exchange, begun)
                self._tell_request(trail, exchange)
                reply = await self._answer(exchange)
        except ApiError as e:
            reply = self._status_reply(e, request, pretty)
        except asyncio.CancelledError:
            raise
        except Exception as e:
            if self.log is not None:
                self.log.error("request failed", path=path, error="".join(traceback.format_exception(e)))
            trail.panicked(e)
            reply = self._status_reply(errors.internal("the server met an unexpected condition"), request, pretty)
        return await self._send(request, reply, exchange, trail, labels, audit_id, begun)

    def _labels(self, exchange: Exchange) -> requestlabels.RequestLabels | None:
        """NB: nothing for what is not served, so that clients cannot make labels up."""
        info = exchange.info
        if info.is_resource_request:
            known = self.resources.knows(info)
            return requestlabels.of_resource(info, exchange.method, exchange.query, exchange.content_type) if known else None
        path = self.plain.known_path(exchange.path)
        return requestlabels.of_path(path, exchange.method) if path else None

    def _impersonated(
        self, request: web.BaseRequest, asked: Attributes, exchange: Exchange, trail: Trail
    ) -> tuple[Attributes, Exchange]:
        wanted = impersonation.wanted_user([(k, v) for k, v in request.headers.items() if k.lower().startswith("impersonate-")])
        if wanted is None:
            return asked, exchange
        requester = exchange.user.name
        found = impersonation.impersonate(self.resources.authorizer, asked, wanted, last_mode=self._modes.get(requester, ""))
        if isinstance(found, ApiError):
            raise found
        self._modes[requester] = found.mode
        trail.impersonated(found.user, found.constraint)
        exchange.user = found.user
        return replace(asked, user=found.user), exchange

    def _authorize(self, asked: Attributes, exchange: Exchange, trail: Trail) -> None:
        decision = self.resources.authorizer.check(asked)
        trail.annotate("authorization.k8s.io/decision", "allow" if decision.is_allowed else "forbid")
        trail.annotate("authorization.k8s.io/reason", decision.reason)
        if not decision.is_allowed:
            raise access.forbidden(asked, decision.reason)

    async def _body(self, request: web.BaseRequest) -> bytes:
        """Raises ApiError if it is too large, or ends before it should."""
        if not request.can_read_body:
            return b""
        if (request.content_length or 0) > self.max_body:
            raise errors.entity_too_large(f"limit is {self.max_body}")
        try:
            async with asyncio.timeout(self.request_timeout):
                await _told_to_continue(request)
                return await request.read()
        except web.RequestPayloadError:
            raise errors.bad_request("the body of the request cannot be read: it is not what its headers say") from None
        except web.HTTPRequestEntityTooLarge:
            raise errors.entity_too_large(f"limit is {self.max_body}") from None
        except TimeoutError:
            raise errors.timeout("request did not complete within the allotted timeout") from None

    def _deadline(self, exchange: Exchange, begun: float) -> float:
        """When the request must be done: `?timeout=` may shorten it. Raises ApiError."""
        text = exchange.asked("timeout")
        seconds = self.request_timeout
        if text and exchange.info.verb not in ("watch",):
            seconds = min(_duration(text), self.request_timeout)
        return time.monotonic() + seconds - (time.time() - begun)

    def _tell_request(self, trail: Trail, exchange: Exchange) -> None:
        if not trail.enabled or not exchange.body or not exchange.info.is_resource_request:
            return
        if exchange.method == "PATCH":
            trail.request_patch(exchange.body)
            return
        try:
            in_protobuf = exchange.body.startswith(protobuf.PREFIX)
            trail.request_object(protobuf.read(exchange.body) if in_protobuf else orjson.loads(exchange.body))
        except ValueError:
            return

    async def _answer(self, exchange: Exchange) -> Reply:
        if not exchange.info.is_resource_request:
            return await self.plain.handle(exchange)
        return await self.resources.handle(exchange)

    # ------------------------------------------------------------ answers

    def _status_reply(self, error: ApiError, request: web.BaseRequest, pretty: bool) -> Reply:
        how = media.negotiate_error(request.headers.get("Accept", ""), pretty=pretty)
        value = error.status.as_json()
        headers = {}
        if error.status.details is not None and error.status.details.retry_after_seconds:
            headers["Retry-After"] = str(error.status.details.retry_after_seconds)
        return Reply(error.status.code, encoding.encode(value, how), how.media_type, headers, object=value)

    def _failure(self, error: ApiError, request: web.BaseRequest, pretty: bool, headers: Mapping[str, str]) -> web.Response:
        reply = self._status_reply(error, request, pretty)
        return web.Response(
            status=reply.status, body=reply.body, content_type=reply.content_type, headers={**headers, **reply.headers}
        )

    async def _send(
        self,
        request: web.BaseRequest,
        reply: Reply,
        exchange: Exchange,
        trail: Trail,
        labels: requestlabels.RequestLabels | None,
        audit_id: str,
        begun: float,
    ) -> web.StreamResponse:
        record = exchange.record
        headers = [(audit.HEADER, audit_id), ("Cache-Control", "no-cache, private"), *reply.headers.items()]
        headers += [("Warning", text) for text in outcome.warning_headers(record.warnings)]
        trail.annotate_all(record.annotations, record.request_annotations)
        self.metrics.apply(record.increments)
        if reply.stream is not None:
            return await self._send_stream(request, reply, headers, trail, labels, begun)
        response = web.Response(status=reply.status, body=reply.body)
        response.headers["Content-Type"] = reply.content_type
        for name, value in headers:
            response.headers.add(name, value)
        if reply.object is not None:
            trail.response_object(reply.object)
        if _is_long_running(exchange.info):
            trail.started(reply.status)
        trail.complete(reply.status)
        self._count(labels, reply.status, begun)
        return response

    def _count(self, labels: requestlabels.RequestLabels | None, status: int, begun: float) -> None:
        if labels is not None:
            self.metrics.request(labels, status, time.time() - begun)

    async def _send_stream(
        self,
        request: web.BaseRequest,
        reply: Reply,
        headers: list[tuple[str, str]],
        trail: Trail,
        labels: requestlabels.RequestLabels | None,
        begun: float,
    ) -> web.StreamResponse:
        assert reply.stream is not None
        response = web.StreamResponse(status=reply.status)
        response.headers["Content-Type"] = reply.content_type
        for name, value in headers:
            response.headers.add(name, value)
        response.enable_chunked_encoding()
        task = asyncio.current_task()
        assert task is not None
        self._watches.add(task)
        try:
            await response.prepare(request)
            trail.started(reply.status)
            async for chunk in reply.stream:
                await response.write(chunk)
            await response.write_eof()
        except (ConnectionResetError, asyncio.CancelledError):
            pass
        finally:
            self._watches.discard(task)
            trail.complete(reply.status)
            self._count(labels, reply.status, begun)
        return response


def _is_long_running(info: access.RequestInfo) -> bool:
    return info.verb in ("watch", "proxy") or info.subresource in _LONG_RUNNING


async def _told_to_continue(request: web.BaseRequest) -> None:
    """Some clients send a large body only when told that it is welcome."""
    if request.headers.get("Expect", "").lower() == "100-continue":
        await request.writer.write(b"HTTP/1.1 100 Continue\r\n\r\n")
        request.writer.output_size = 0  # NB: the answer itself has not begun


def _certificate_user(request: web.BaseRequest) -> User | None:
    """The user of a client certificate that the TLS layer has verified."""
    transport = request.transport
    tls = transport.get_extra_info("ssl_object") if transport is not None else None
    if not isinstance(tls, ssl.SSLObject):
        return None
    certificate = tls.getpeercert()
    der = tls.getpeercert(binary_form=True)
    if not certificate or der is None:
        return None
    subject: Any = certificate.get("subject", ())
    return certificate_user(subject, der)


def _duration(text: str) -> float:
    from kadmit.cel import gotime
    from kadmit.cel.values import Duration

    found = gotime.parse_duration(text)
    if not isinstance(found, Duration):
        raise errors.bad_request(f"invalid timeout specified in the request URL - time: invalid duration {quoted(text)}")
    if found.nanos < 0:
        raise ApiError(
            Status(400, "BadRequest", f"invalid timeout specified in the request URL - timeout must be non-negative: {text}")
        )
    return found.nanos / 1e9 or 1e9
