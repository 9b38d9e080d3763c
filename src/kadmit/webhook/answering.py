"""What comes of a request, whoever carries it: paths, limits, deadlines, health, and the verdicts of handlers.

A verdict is an AdmissionReview with HTTP 200. All else (overload, a deadline, a body that asks nothing) is an HTTP error, so that
the caller's failurePolicy decides, and with Retry-After where it pays to ask again. No traceback ever leaves the process.
"""

import asyncio
import logging
import math
import re
import time
from collections.abc import Awaitable, Callable, Mapping
from functools import lru_cache
from typing import Any, TypeAlias
from urllib.parse import parse_qs

from msgspec import Struct, field

from kadmit.webhook import metrics as counted
from kadmit.webhook import review as wire
from kadmit.webhook.callers import Callers, Doorkeeper
from kadmit.webhook.metrics import Metrics
from kadmit.webhook.review import BadReview, NoVerdict, Response, Review
from kadmit.webhook.tracing import Tracer

Handler: TypeAlias = Callable[[Review], Awaitable[Response]]

JSON, TEXT = "application/json", "text/plain; charset=utf-8"
HEALTH = ("/healthz", "/livez", "/readyz")
METRICS = "/metrics"

_LOG = logging.getLogger("kadmit.webhook")
_AMOUNT = re.compile(r"(\d+(?:\.\d+)?)(ms|us|µs|ns|s|m|h)", re.ASCII)
_UNITS = {"ns": 1e-9, "us": 1e-6, "µs": 1e-6, "ms": 1e-3, "s": 1.0, "m": 60.0, "h": 3600.0}
_HEADROOM = 0.25  # seconds, for the answer to reach a caller that still waits


class Limits(Struct, frozen=True):
    """What a server takes on. The body of a review holds the object at most twice, and an API server takes 3 MiB a request."""

    body_bytes: int = 8 * 1024 * 1024
    body_seconds: float = 10.0  # for a body to be there
    reviews: int = 64  # worked on at the same time
    waiting: int = 256  # more than that are told to come back
    review_seconds: float = 30.0  # where the caller names no timeout, and at most
    idle_seconds: float = 90.0  # for the next request of a kept connection
    connections: int = 4096
    drain_delay: float = 0.0  # between not being ready and not listening
    drain_seconds: float = 30.0  # for what is being worked on


class Asked(Struct, frozen=True):
    """The head of a request. `certificate` is the caller's, checked, as Python's ssl shows it."""

    method: str
    path: str
    query: str = ""
    authorization: str = ""
    certificate: Mapping[str, Any] | None = None
    trace: Mapping[str, str] = field(default_factory=dict)  # traceparent, tracestate


class Answer(Struct, frozen=True):
    status: int
    body: bytes
    content_type: str = TEXT
    retry_after: int = 0  # seconds; 0: not said


class Answering:
    """Answers requests by their path. `ready` gives a reason for as long as the server is not."""

    def __init__(
        self,
        handlers: Mapping[str, Handler],
        *,
        limits: Limits,
        metrics: Metrics | None = None,
        callers: Callers | None = None,
        ready: Callable[[], str] = lambda: "",
        tracer: Tracer | None = None,
    ) -> None:
        self.handlers = dict(handlers)
        self.limits = limits
        self.metrics = metrics or Metrics()
        self.draining = False
        self._doorkeeper = Doorkeeper(callers or Callers())
        self._ready = ready
        self._tracer = tracer
        self._turns = asyncio.Semaphore(limits.reviews)
        self._waiting = 0
        self._running = 0
        self._idle = asyncio.Event()
        self._idle.set()

    # ------------------------------------------------------------ before the body

    def early(self, asked: Asked, length: int | None) -> Answer | None:
        """The answer that needs no body, if there is one."""
        if asked.path not in self.handlers:
            return self._plain(asked)
        if asked.method != "POST":
            return self._refused("not_found", 405, f"{asked.path} takes POST only")
        if length is not None and length > self.limits.body_bytes:
            return self.too_large()
        refusal = self._doorkeeper.refusal(asked.certificate, asked.authorization)
        return self._refused("unauthorized", 401, refusal) if refusal else None

    def too_large(self) -> Answer:
        return self._refused("too_large", 413, f"body is larger than {self.limits.body_bytes} bytes")

    def slow_body(self) -> Answer:
        return self._refused("slow_body", 408, f"body was not there after {self.limits.body_seconds:g} seconds")

    def _plain(self, asked: Asked) -> Answer:
        if asked.path in HEALTH:
            reason = self._unready() if asked.path == "/readyz" else ""
            return Answer(503, f"not ready: {reason}\n".encode()) if reason else Answer(200, b"ok\n")
        if asked.path == METRICS:
            return Answer(200, self.metrics.render(time.process_time()), counted.CONTENT_TYPE)
        return self._refused("not_found", 404, "no webhook has this path")

    def _unready(self) -> str:
        return "shutting down" if self.draining else self._ready()

    def _refused(self, reason: str, status: int, text: str, retry_after: int = 0) -> Answer:
        self.metrics.add(counted.REFUSED, 1, reason)
        return Answer(status, f"{text}\n".encode(), retry_after=retry_after)

    # ------------------------------------------------------------ a review

    async def review(self, asked: Asked, body: bytes) -> Answer:
        """The answer to a body for one of our paths."""
        begun = time.perf_counter()
        try:
            review = wire.read(body)
        except BadReview as error:
            return self._refused("bad_review", 400, str(error))
        if self._turns.locked() and self._waiting >= self.limits.waiting:
            return self._refused("overload", 429, "too many reviews at once", retry_after=1)
        seconds = min(_timeout(asked.query) or math.inf, self.limits.review_seconds)
        try:
            async with asyncio.timeout(max(seconds - _HEADROOM, seconds * 0.8)):
                answer = await self._in_turn(asked, review)
        except TimeoutError:
            answer = self._refused("deadline", 504, f"no verdict within {seconds:g} seconds")
        self.metrics.observe(counted.DURATION, time.perf_counter() - begun, asked.path)
        return answer

    async def _in_turn(self, asked: Asked, review: Review) -> Answer:
        if self._turns.locked():
            await self._wait()
        else:
            await self._turns.acquire()
        self._running += 1
        self._idle.clear()
        self.metrics.set(counted.INFLIGHT, self._running)
        try:
            return await self._verdict(asked, review)
        finally:
            self._turns.release()
            self._running -= 1
            self.metrics.set(counted.INFLIGHT, self._running)
            if not self._running and not self._waiting:
                self._idle.set()

    async def _wait(self) -> None:
        self._waiting += 1
        self.metrics.set(counted.QUEUED, self._waiting)
        try:
            await self._turns.acquire()
        finally:
            self._waiting -= 1
            self.metrics.set(counted.QUEUED, self._waiting)

    async def _verdict(self, asked: Asked, review: Review) -> Answer:
        try:
            response = await self._handled(asked, review)
            body = wire.write(review, response)
        except NoVerdict as error:
            self.metrics.add(counted.REVIEWS, 1, asked.path, "failed")
            return Answer(error.code, f"{error}\n".encode())
        except Exception:
            _LOG.exception("review %s at %s failed", review.uid, asked.path)
            self.metrics.add(counted.REVIEWS, 1, asked.path, "failed")
            return Answer(200, wire.write(review, wire.denied("the webhook failed; its log tells why", 500)), JSON)
        verdict = "denied" if not response.allowed else "patched" if response.patch else "allowed"
        self.metrics.add(counted.REVIEWS, 1, asked.path, verdict)
        return Answer(200, body, JSON)

    async def _handled(self, asked: Asked, review: Review) -> Response:
        handler = self.handlers[asked.path]
        if self._tracer is None:
            return await handler(review)
        with self._tracer.review(asked.path, review, asked.trace) as span:
            response = await handler(review)
            span.verdict(response)
            return response

    async def idle(self) -> None:
        """Until nothing is being worked on."""
        await self._idle.wait()


@lru_cache(256)
def _timeout(query: str) -> float:
    """What the caller allows, in seconds; 0 where it says nothing that can be read."""
    given = parse_qs(query).get("timeout", [""])[0]
    parts = _AMOUNT.findall(given)
    if not parts or "".join(number + unit for number, unit in parts) != given:
        return 0.0
    return float(sum(float(number) * _UNITS[unit] for number, unit in parts))


__all__ = ["Answer", "Answering", "Asked", "Handler", "Limits"]
