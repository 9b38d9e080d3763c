"""Talking to etcd: channels to its members, one call at a time, with deadlines; and a watch for as long as its stream lives.

A member that does not answer is left for the next one. Whether a call may be made again is the caller's to know, so
nothing is retried here; `Lost` tells whether the call may have been carried out.
"""

import asyncio
from collections.abc import AsyncGenerator, Sequence
from pathlib import Path
from urllib.parse import urlsplit

import grpc
import grpc.aio
from msgspec import Struct

from kadmit.store import etcd_messages as messages
from kadmit.store.base import Compacted, FutureRevision, StoreError, Unavailable
from kadmit.store.etcd_messages import Watched
from kadmit.store.protobuf import Malformed

_OPTIONS = (
    ("grpc.max_receive_message_length", -1),  # a page of large objects is larger than gRPC's 4 MiB
    ("grpc.max_send_message_length", -1),  # etcd knows its own limit, and says so
    ("grpc.keepalive_time_ms", 10_000),
    ("grpc.keepalive_timeout_ms", 5_000),
    ("grpc.initial_reconnect_backoff_ms", 50),
    ("grpc.min_reconnect_backoff_ms", 50),
    ("grpc.max_reconnect_backoff_ms", 1_000),
    ("grpc.use_local_subchannel_pool", 1),  # or a closed store's broken connections would delay the next one
)
# A member that has lost its leader ends the call instead of keeping it waiting.
_METADATA = (("hasleader", "true"),)
_CALL_SECONDS = 5.0
_CREATION_SECONDS = 5.0


class Tls(Struct, frozen=True):
    """Files in PEM format, as kube-apiserver's --etcd-cafile, --etcd-certfile and --etcd-keyfile name them."""

    ca: Path | None = None
    certificate: Path | None = None
    key: Path | None = None


class Lost(StoreError):
    """No answer from a member. Another may do better; whether the call was carried out is unknown."""


class TooLargeForEtcd(StoreError):
    """etcd refuses the request for its size."""


_Stream = grpc.aio.StreamStreamCall[bytes, bytes]


class Client:
    def __init__(self, endpoints: Sequence[str], tls: Tls | None = None) -> None:
        if not endpoints:
            raise ValueError("etcd needs at least one endpoint")
        credentials = _credentials(tls) if tls else None
        self._channels = [_channel(endpoint, credentials) for endpoint in endpoints]
        self._current = 0
        self._streams: set[_Stream] = set()

    async def call(self, method: str, request: bytes, *, seconds: float = _CALL_SECONDS) -> bytes:
        """Raises Lost, and what etcd refuses with."""
        channel = self._channels[self._current]
        try:
            call: grpc.aio.UnaryUnaryMultiCallable[bytes, bytes] = channel.unary_unary(method)
            return await call(request, timeout=seconds, metadata=_METADATA)
        except grpc.aio.AioRpcError as error:
            raise self._failure(error, channel) from error

    async def watch(self, key: bytes, end: bytes, start: int) -> AsyncGenerator[Watched, None]:
        """What one stream tells, from the revision `start` on. Ends by raising: Lost, or Compacted."""
        channel = self._channels[self._current]
        call: _Stream = channel.stream_stream(messages.WATCH)(metadata=_METADATA)
        self._streams.add(call)
        try:
            async with asyncio.timeout(_CREATION_SECONDS):
                await call.write(messages.watch_creation(key, end, start))
                answer = await _next(call)
            while True:
                yield _checked(answer, start)
                answer = await _next(call)
        except TimeoutError as error:
            self._leave(channel)
            raise Lost("etcd does not answer") from error
        except grpc.aio.AioRpcError as error:
            raise self._failure(error, channel) from error
        finally:
            self._streams.discard(call)
            call.cancel()

    async def close(self) -> None:
        """Ends watches, and waits for calls."""
        for stream in self._streams:
            stream.cancel()
        for channel in self._channels:
            await channel.close(grace=_CALL_SECONDS)

    def _failure(self, error: grpc.aio.AioRpcError, channel: grpc.aio.Channel) -> StoreError:
        failure = _named(error)
        if isinstance(failure, Lost):
            self._leave(channel)
        return failure

    def _leave(self, channel: grpc.aio.Channel) -> None:
        """Many calls may fail on one member at the same time; that is still one reason to leave it."""
        if self._channels[self._current] is channel:
            self._current = (self._current + 1) % len(self._channels)


async def _next(call: _Stream) -> Watched:
    """NB: a stream that is cancelled from here raises CancelledError in its reader, though nobody has cancelled the reader."""
    try:
        answer = await call.read()
    except asyncio.CancelledError:
        task = asyncio.current_task()
        if not call.cancelled() or (task is not None and task.cancelling()):
            raise
        raise Lost("the watch was ended") from None
    if not isinstance(answer, bytes):
        raise Lost("etcd has ended the watch")
    try:
        return messages.watched(answer)
    except Malformed as error:
        raise Lost(f"etcd has sent no message: {error}") from error


def _checked(answer: Watched, start: int) -> Watched:
    if answer.compacted:
        raise Compacted(start, oldest=answer.compacted)
    if answer.canceled:
        raise Lost(f"etcd has ended the watch: {answer.reason}")
    return answer


_LOST = {grpc.StatusCode.UNAVAILABLE, grpc.StatusCode.DEADLINE_EXCEEDED, grpc.StatusCode.CANCELLED, grpc.StatusCode.INTERNAL}


def _named(error: grpc.aio.AioRpcError) -> StoreError:
    """etcd tells its errors apart by their texts."""
    details = error.details() or ""
    if "required revision has been compacted" in details:
        return Compacted(0)
    if "required revision is a future revision" in details:
        return FutureRevision(0)
    if "request is too large" in details:
        return TooLargeForEtcd(details)
    if error.code() in _LOST or "too many requests" in details:
        return Lost(f"etcd: {details}")
    return Unavailable(f"etcd: {details}")


def _channel(endpoint: str, credentials: grpc.ChannelCredentials | None) -> grpc.aio.Channel:
    """An endpoint is a URL, as etcd's own tools take it, or only host and port."""
    url = urlsplit(endpoint if "://" in endpoint else f"http://{endpoint}")
    if url.scheme not in ("http", "https") or not url.hostname:
        raise ValueError(f"etcd endpoint {endpoint!r} is no http or https URL")
    host = f"[{url.hostname}]" if ":" in url.hostname else url.hostname
    target = f"dns:///{host}:{url.port or 2379}"
    if url.scheme == "https":
        return grpc.aio.secure_channel(target, credentials or grpc.ssl_channel_credentials(), options=_OPTIONS)
    return grpc.aio.insecure_channel(target, options=_OPTIONS)


def _credentials(tls: Tls) -> grpc.ChannelCredentials:
    def content(path: Path | None) -> bytes | None:
        return path.read_bytes() if path else None

    return grpc.ssl_channel_credentials(content(tls.ca), content(tls.key), content(tls.certificate))
