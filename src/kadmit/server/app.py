"""The HTTP side: who asks, may they, what do they want, and how the answer goes back. One handler for every path.

The order is the API server's: identity, impersonation, audit, authorization, then the request itself. Errors of any kind become
Status objects; what nobody expected becomes a 500 that says so, and a line in the log.
"""

import asyncio
import ssl
import time
import traceback
from typing import Any

import orjson
from aiohttp import web
from msgspec import Struct, field
from msgspec.structs import replace
from multidict import CIMultiDict

from kadmit.access import attributes as access
from kadmit.access import impersonation
from kadmit.access.identity import Identities, authenticated, certificate_user
from kadmit.admission import outcome
from kadmit.api import errors
from kadmit.api.errors import ApiError, Status
from kadmit.api.gojson import quoted
from kadmit.cel.library.authorizer import Attributes, User
from kadmit.kinds import protobuf
from kadmit.presentation import encoding, media
from kadmit.server import audit, chance, requestlabels
from kadmit.server.audit import Auditor, Trail
from kadmit.server.exchange import Exchange, Reply
from kadmit.server.handlers import Resources
from kadmit.server.httpserver import UNASKED, Connection, HttpServer
from kadmit.server.lifecycle import Inflight
from kadmit.server.logs import Log
from kadmit.server.metrics import Metrics
from kadmit.server.plain import Plain
from kadmit.server.routes import BadEscape, Routes
from kadmit.server.wholeanswer import Header, WholeAnswer
from kadmit.tracing import Spans

MAX_BODY = 3 * 1024 * 1024
_NOBODY = User("")
_READING = frozenset(("get", "list", "watch"))
_MOST_USERS, _LONGEST_REMEMBERED = 1024, 1024
_ASKED = (Attributes,)
_UNCACHED = ("Cache-Control", "no-cache, private")
_LONG_RUNNING = frozenset(("attach", "exec", "log", "portforward", "proxy"))


class Server(Struct):
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
    routes: Routes = field(default_factory=Routes)
    spans: Spans | None = None  # None: nobody would see them
    _users: dict[str, User] = field(default_factory=dict)  # by what they last showed: tokens do not change
    _modes: dict[str, str] = field(default_factory=dict)  # by requester: how they were last allowed to impersonate
    _watches: set["asyncio.Task[Any]"] = field(default_factory=set)

    def http(self) -> HttpServer:
        return HttpServer(self.handle if self.spans is None else self.traced, max_body=self.max_body)

    def end_watches(self) -> None:
        for task in list(self._watches):
            task.cancel()

    # ------------------------------------------------------------ one request

    async def traced(self, request: web.BaseRequest) -> web.StreamResponse:
        """A span for each request, below the client's."""
        assert self.spans is not None
        method, url = request.method, request.raw_path
        about = {"http.request.method": method, "url.path": request.path}
        with self.spans.served(method, request.headers, about) as span:
            response = await self.handle(request)
            route = self.routes.find(method, url)
            if route is not None and route.info.resource:
                span.update_name(f"{route.info.verb} {route.info.resource}")
            span.set_attribute("http.response.status_code", response.status)
            return response

    async def handle(self, request: web.BaseRequest) -> web.StreamResponse:
        begun = time.time()
        audit_id = request.headers.get(audit.HEADER) or chance.uid()
        method, url = request.method, request.raw_path
        route = self.routes.find(method, url)
        try:
            if route is None:
                route = self.routes.read(method, url, request.rel_url.raw_path, request.rel_url.raw_query_string)
        except BadEscape:
            return web.Response(status=400, text="400 Bad Request")  # as Go's library says it, before there is an API to ask
        except access.UnreadablePath as e:
            return web.Response(status=500, text=e.answer(request.path_qs))
        exchange = Exchange(method, route.path, route.query, request.headers, b"", route.info, _NOBODY, memory=route.memory)
        try:
            exchange.user = self._identify(request)
        except ApiError as e:
            self._followed(request, audit_id, begun, access.attributes_of(route.info, _NOBODY)).started(e.status.code)
            return self._failure(e, exchange, (audit.HEADER, audit_id))
        return await self._audited(request, exchange, audit_id, begun)

    def _followed(self, request: web.BaseRequest, audit_id: str, begun: float, asked: Attributes) -> Trail:
        if self.auditor.policy is None or self.auditor.sink is None:
            return audit.SILENCE
        source = (request.remote,) if request.remote else ()
        about = audit.Request(audit_id, request.path_qs, begun, source, request.headers.get("User-Agent", ""))
        return self.auditor.follow(about, asked)

    def _identify(self, request: web.BaseRequest) -> User:
        shown, certificate = request.headers.get("Authorization", ""), _certificate_user(request)
        user = self._users.get(shown) if certificate is None else None
        if user is not None:
            return user
        found = self.identities.identify(shown, certificate=certificate)
        if found.user is None:
            refusal = found.refusal()
            assert refusal is not None
            raise refusal
        if certificate is None and len(shown) <= _LONGEST_REMEMBERED:
            if len(self._users) >= _MOST_USERS:
                self._users.clear()
            self._users[shown] = found.user
        return found.user

    async def _audited(self, request: web.BaseRequest, exchange: Exchange, audit_id: str, begun: float) -> web.StreamResponse:
        asked = _attributes(exchange)
        trail = self._followed(request, audit_id, begun, asked)
        if trail is not audit.SILENCE and not trail.received():
            return web.Response(status=500, text=access.internal_error(request.path_qs, "failed to store audit event"))
        reply: Reply
        try:
            asked = self._impersonated(request, asked, exchange, trail)
            self._authorize(asked, trail)
            reply = await self._worked(request, exchange, trail, begun)
        except ApiError as e:
            reply = self._status_reply(e, exchange)
        except asyncio.CancelledError:
            raise
        except Exception as e:
            if self.log is not None:
                self.log.error("request failed", path=exchange.path, error="".join(traceback.format_exception(e)))
            trail.panicked(e)
            reply = self._status_reply(errors.internal("the server met an unexpected condition"), exchange)
        headers = self._noted(reply, exchange, trail, audit_id)
        labels = self._labels(exchange)
        if reply.stream is not None:
            return await self._send_stream(request, reply, headers, trail, labels, begun)
        if trail is not audit.SILENCE:
            self._tell_answer(trail, exchange, reply)
        if labels is not None:
            self.metrics.request(labels, reply.status, time.time() - begun)
        return WholeAnswer(reply.status, headers, reply.body)

    async def _worked(self, request: web.BaseRequest, exchange: Exchange, trail: Trail, begun: float) -> Reply:
        """NB: whoever shuts the server down waits for what is in flight; watches are ended instead."""
        mutating = exchange.info.verb not in _READING
        by = 0 if _is_long_running(exchange.info) else 1
        self.metrics.inflight(by, mutating=mutating)
        try:
            with self.inflight:
                exchange.body = self._arrived(request) or await self._body(request)
                exchange.deadline = self._deadline(exchange, begun)
                if trail is not audit.SILENCE:
                    self._tell_request(trail, exchange)
                if exchange.info.is_resource_request:
                    return await self.resources.handle(exchange)
                return await self.plain.handle(exchange)
        finally:
            self.metrics.inflight(-by, mutating=mutating)

    def _labels(self, exchange: Exchange) -> requestlabels.RequestLabels | None:
        """NB: nothing for what is not served, so that clients cannot make labels up."""
        info = exchange.info
        if info.is_resource_request:
            return self._resource_labels(exchange)
        path = self.plain.known_path(exchange.path)
        return requestlabels.of_path(path, exchange.method) if path else None

    def _resource_labels(self, exchange: Exchange) -> requestlabels.RequestLabels | None:
        key = (requestlabels.RequestLabels, exchange.content_type if exchange.method == "PATCH" else "")
        found: requestlabels.RequestLabels | None = exchange.memory.held.get(key)
        if found is None and self.resources.knows(exchange.info):
            found = requestlabels.of_resource(exchange.info, exchange.method, exchange.query, exchange.content_type)
            exchange.memory.add(key, found)
        return found

    def _impersonated(self, request: web.BaseRequest, asked: Attributes, exchange: Exchange, trail: Trail) -> Attributes:
        headers = [(k, v) for k, v in request.headers.items() if k[:1] in "Ii" and k.lower().startswith("impersonate-")]
        wanted = impersonation.wanted_user(headers) if headers else None
        if wanted is None:
            return asked
        requester = exchange.user.name
        found = impersonation.impersonate(self.resources.authorizer, asked, wanted, last_mode=self._modes.get(requester, ""))
        if isinstance(found, ApiError):
            raise found
        self._modes[requester] = found.mode
        trail.impersonated(found.user, found.constraint)
        exchange.user = found.user
        return replace(asked, user=found.user)

    def _authorize(self, asked: Attributes, trail: Trail) -> None:
        decision = self.resources.authorizer.check(asked)
        if trail is not audit.SILENCE:
            trail.annotate("authorization.k8s.io/decision", "allow" if decision.is_allowed else "forbid")
            trail.annotate("authorization.k8s.io/reason", decision.reason)
        if not decision.is_allowed:
            raise access.forbidden(asked, decision.reason)

    def _arrived(self, request: web.BaseRequest) -> bytes:
        """The body, if all of it came with the head, so that there is nothing to wait for."""
        content = request.content
        if not content.is_eof() or content.total_bytes > self.max_body or content.exception() is not None:
            return b""
        return content.read_nowait()

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
            raise errors.out_of_time() from None

    def _deadline(self, exchange: Exchange, begun: float) -> float:
        """When the request must be done: `?timeout=` may shorten it. Raises ApiError."""
        seconds = self.request_timeout
        text = exchange.asked("timeout") if "timeout" in exchange.query else ""
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
            if not in_protobuf:
                exchange.value = orjson.loads(exchange.body)
            trail.request_object(protobuf.read(exchange.body) if in_protobuf else exchange.value)
        except ValueError:
            return

    # ------------------------------------------------------------ answers

    def _status_reply(self, error: ApiError, exchange: Exchange) -> Reply:
        pretty = media.wants_pretty(exchange.asked("pretty"), exchange.user_agent)
        how = media.negotiate_error(exchange.accept, pretty=pretty)
        value = error.status.as_json()
        headers = {}
        if error.status.details is not None and error.status.details.retry_after_seconds > 0:
            headers["Retry-After"] = str(error.status.details.retry_after_seconds)
        return Reply(error.status.code, encoding.encode(value, how), how.media_type, headers, object=value)

    def _failure(self, error: ApiError, exchange: Exchange, *headers: Header) -> WholeAnswer:
        reply = self._status_reply(error, exchange)
        written = [*headers, ("Content-Type", reply.content_type), *reply.headers.items()]
        return WholeAnswer(reply.status, written, reply.body)

    def _noted(self, reply: Reply, exchange: Exchange, trail: Trail, audit_id: str) -> list[Header]:
        """What admission left behind goes where it belongs; the headers of the answer."""
        record = exchange.record
        headers = [(audit.HEADER, audit_id), _UNCACHED, ("Content-Type", reply.content_type)]
        if reply.headers:
            headers += reply.headers.items()
        if record.warnings:
            headers += [("Warning", text) for text in outcome.warning_headers(record.warnings)]
        if trail is not audit.SILENCE:
            trail.annotate_all(record.annotations, record.request_annotations)
        if record.increments:
            self.metrics.apply(record.increments)
            self.metrics.webhooks(record.increments, exchange.waited)
        return headers

    def _tell_answer(self, trail: Trail, exchange: Exchange, reply: Reply) -> None:
        if reply.object is not None:
            trail.response_object(reply.object)
        if _is_long_running(exchange.info):
            trail.started(reply.status)
        trail.complete(reply.status)

    async def _send_stream(
        self,
        request: web.BaseRequest,
        reply: Reply,
        headers: list[Header],
        trail: Trail,
        labels: requestlabels.RequestLabels | None,
        begun: float,
    ) -> web.StreamResponse:
        assert reply.stream is not None
        response = web.StreamResponse(status=reply.status, headers=CIMultiDict(headers))
        response.enable_chunked_encoding()
        task = asyncio.current_task()
        assert task is not None
        self._watches.add(task)
        self._watch_counted(labels, 1)
        try:
            await response.prepare(request)
            trail.started(reply.status)
            async for chunk in reply.stream:
                await response.write(chunk)
                self._events_counted(labels, chunk)
            await response.write_eof()
        except (ConnectionResetError, asyncio.CancelledError):
            pass
        finally:
            self._watches.discard(task)
            self._watch_counted(labels, -1)
            trail.complete(reply.status)
            if labels is not None:
                self.metrics.request(labels, reply.status, time.time() - begun)
        return response

    def _watch_counted(self, labels: requestlabels.RequestLabels | None, by: int) -> None:
        if labels is not None:
            self.metrics.longrunning(labels, by)

    def _events_counted(self, labels: requestlabels.RequestLabels | None, chunk: bytes) -> None:
        """NB: an event is a line."""
        if labels is not None:
            self.metrics.watched(labels, chunk.count(b"\n"))


def _attributes(exchange: Exchange) -> Attributes:
    """What an authorizer is asked; the same for the same user and URL."""
    known: Attributes | None = exchange.memory.held.get(_ASKED)
    if known is None or known.user is not exchange.user:
        known = access.attributes_of(exchange.info, exchange.user)
        exchange.memory.add(_ASKED, known)
    return known


def _is_long_running(info: access.RequestInfo) -> bool:
    return info.verb in ("watch", "proxy") or info.subresource in _LONG_RUNNING


async def _told_to_continue(request: web.BaseRequest) -> None:
    """Some clients send a large body only when told that it is welcome."""
    if request.headers.get("Expect", "").lower() == "100-continue":
        await request.writer.write(b"HTTP/1.1 100 Continue\r\n\r\n")
        request.writer.output_size = 0  # NB: the answer itself has not begun


def _certificate_user(request: web.BaseRequest) -> User | None:
    """The user of a client certificate that the TLS layer has verified; worked out once for a connection."""
    connection = request.protocol
    if not isinstance(connection, Connection):
        return _certified(request.transport)
    if connection.user is UNASKED:
        connection.user = _certified(request.transport)
    found: User | None = connection.user
    return found


def _certified(transport: asyncio.Transport | None) -> User | None:
    tls = transport.get_extra_info("ssl_object") if transport is not None else None
    if not isinstance(tls, ssl.SSLObject):
        return None
    certificate = tls.getpeercert()
    der = tls.getpeercert(binary_form=True)
    if not certificate or der is None:
        return None
    subject: Any = certificate.get("subject", ())
    found = certificate_user(subject, der)
    return None if found is None else authenticated(found)


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
