"""Calls webhooks over HTTPS, as kube-apiserver does: the edge to which the admission chain hands its calls.

A deadline is one for the whole call: connecting, sending, waiting between retries, and reading an answer that drips.
"""

import asyncio
import itertools
import math
import os
import re
from collections.abc import Iterator, Mapping, Sequence
from types import TracebackType
from typing import Self, TypeAlias
from uuid import uuid4

import orjson
from msgspec.structs import replace
from multidict import CIMultiDict

from kadmit import tracing
from kadmit.admission import replies
from kadmit.admission.answers import Answer
from kadmit.admission.webhooks import Call
from kadmit.server import network_faults, webhook_target
from kadmit.server.credentials import MUTATING, VALIDATING, CredentialError, Credentials, Identity
from kadmit.server.proxies import Proxies
from kadmit.server.service_resolver import NoServices, ServiceResolver
from kadmit.server.tls import TlsError
from kadmit.server.webhook_exchange import Exchange, Fault, Reply
from kadmit.server.webhook_target import Target, TargetError
from kadmit.server.webhook_transport import Transport, Transports, Trust
from kadmit.tracing import Spans

Headers: TypeAlias = tuple[tuple[str, str], ...]

_HEADERS = {
    "User-Agent": "kube-apiserver-admission",
    "Accept": "application/json, */*",
    "Content-Type": "application/json",
    "Accept-Encoding": "gzip",
}
_UNTRACED: Mapping[str, str] = {}
_RETRIES = 10
_SECONDS = re.compile(r"[+-]?[0-9]{1,9}\Z")


class WebhookClient:
    """Keeps connections; close it, or use it as a context manager."""

    def __init__(
        self,
        services: ServiceResolver | None = None,
        *,
        credentials: Mapping[str, Credentials] | None = None,
        proxies: Proxies | None = None,
    ) -> None:
        self._credentials = credentials or {}
        self._proxies = Proxies.from_environment(os.environ) if proxies is None else proxies
        self._transports = Transports(services or NoServices())
        self._spans = tracing.spans("kadmit.server")

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        await self.close()

    async def close(self) -> None:
        await self._transports.close()

    async def call(self, calls: Sequence[Call], *, deadline: float | None = None) -> list[Answer]:
        """Their answers, in order; several are called at once. `deadline` is when the request itself ends, in loop time."""
        if len(calls) == 1:
            return [await self._timed(calls[0], deadline)]
        arrivals = itertools.count()
        return list(await asyncio.gather(*(self._ranked(call, deadline, arrivals) for call in calls)))

    async def _ranked(self, call: Call, deadline: float | None, arrivals: Iterator[int]) -> Answer:
        """An answer that knows how many came before it."""
        answer = await self._timed(call, deadline)
        return replace(answer, arrival=next(arrivals))

    async def _timed(self, call: Call, deadline: float | None) -> Answer:
        clock = asyncio.get_running_loop().time
        begun = clock()
        answer = await (self._answer(call, deadline) if self._spans is None else self._traced(self._spans, call, deadline))
        return replace(answer, seconds=clock() - begun)

    async def _traced(self, spans: Spans, call: Call, deadline: float | None) -> Answer:
        attributes = {"kadmit.webhook": call.webhook.name, "kadmit.mutating": call.mutating}
        with spans.called(f"call webhook {call.webhook.name}", attributes) as headers:
            return await self._answer(call, deadline, headers)

    async def _answer(self, call: Call, deadline: float | None, trace: Mapping[str, str] = _UNTRACED) -> Answer:
        try:
            target = webhook_target.of(call.webhook.name, call.webhook.client)
            identity = self._identity(call, target)
            trust = Trust(call.webhook.client.get("caBundle") or "", identity.pair, target.service)
            with self._transports.lease(trust) as transport:
                return await self._ask(call, target, (*identity.headers, *trace.items()), transport, deadline)
        except (TargetError, CredentialError, TlsError) as e:
            return Answer(failure=f"could not get REST client: {e}", code=500)

    def _identity(self, call: Call, target: Target) -> Identity:
        credentials = self._credentials.get(MUTATING if call.mutating else VALIDATING)
        return credentials.identity(target.authority) if credentials else Identity()

    async def _ask(self, call: Call, target: Target, more: Headers, transport: Transport, deadline: float | None) -> Answer:
        now = asyncio.get_running_loop().time()
        ends = now + call.webhook.timeout if deadline is None else min(now + call.webhook.timeout, deadline)
        if ends <= now:
            return replies.failed(network_faults.DEADLINE)
        uid = str(uuid4())
        url, body = target.within(math.ceil(ends - now)), orjson.dumps(call.review(uid))
        headers = CIMultiDict((*_HEADERS.items(), *more))
        exchange = Exchange(transport, url, headers, body, self._proxies)
        try:
            async with asyncio.timeout_at(ends):
                reply = await self._persistently(exchange, url)
        except TimeoutError:
            return replies.failed(exchange.interrupted())
        except Fault as e:
            return replies.failed(str(e))
        return replies.read(call, uid, status=reply.status, content_type=reply.content_type or "", body=reply.body)

    async def _persistently(self, exchange: Exchange, url: str) -> Reply:
        """Asks again, with the same review, where a busy webhook says when."""
        for _ in range(_RETRIES):
            reply = await exchange.run()
            wait = _retry_after(reply)
            if wait is None:
                return reply
            exchange.url = url
            await asyncio.sleep(max(0, wait))
        return await exchange.run()


def _retry_after(reply: Reply) -> int | None:
    busy = reply.status == 429 or reply.status >= 500
    return int(reply.retry_after) if busy and _SECONDS.match(reply.retry_after) else None
