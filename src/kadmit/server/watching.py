"""Watches: events of a resource as lines of JSON, from a revision on, or from all that is there now.

An object that a selector no longer selects is DELETED for its watchers, one that it newly selects is ADDED.
"""

import asyncio
import random
import time
from collections.abc import AsyncGenerator, AsyncIterator
from typing import TYPE_CHECKING

import orjson

from kadmit.api.errors import ApiError
from kadmit.api.meta import GroupVersionKind
from kadmit.kinds import blanks
from kadmit.kinds.known import Known
from kadmit.matching.attributes import Json
from kadmit.presentation import continuation, tables
from kadmit.presentation.listing import ListOptions
from kadmit.presentation.media import Representation
from kadmit.presentation.selection import Selection
from kadmit.presentation.tables import TableOptions
from kadmit.resources.context import Target, metadata_of, with_metadata
from kadmit.resources.state import place_of
from kadmit.server import shapes
from kadmit.server.cache import ADDED, DELETED, MODIFIED, Event
from kadmit.server.exchange import Exchange

if TYPE_CHECKING:
    from kadmit.server.handlers import Resources

INITIAL_END = "k8s.io/initial-events-end"
BOOKMARK_SECONDS = 60.0
LEAST_SECONDS = 1800


def content_type(how: Representation) -> str:
    return how.media_type


async def started(events: AsyncGenerator[bytes, None]) -> AsyncIterator[bytes]:
    """The same events, once the first question (is the revision too old?) has been answered. Raises ApiError."""
    first = await anext(events, None)

    async def whole() -> AsyncGenerator[bytes, None]:
        try:
            if first:
                yield first
            async for line in events:
                if line:
                    yield line
        finally:
            await events.aclose()

    return whole()


class _Writer:
    """Writes events in the form that the client asked for."""

    def __init__(self, target: Target, how: Representation, exchange: Exchange, known: Known) -> None:
        self._target, self._how = target, how
        self._printer = shapes.printer(target, known) if how.target is not None else None
        kind = GroupVersionKind(*target.resource.gvk)
        # NB: a bookmark is an empty object of its kind, and empty structs are written
        self._blank = {k: v for k, v in blanks.blank(kind).items() if k != "metadata"}
        self._options = tables.options(exchange.query) if how.target is not None else TableOptions()

    def line(self, kind: str, value: Json) -> bytes:
        shown = value
        if self._printer is not None and value.get("kind") != "Status":
            shown = tables.transformed(value, self._how.target, self._printer, self._options, now=time.time())
            self._options = TableOptions(self._options.include_object, headers=False)
        return orjson.dumps({"type": kind, "object": shown}) + b"\n"

    def bookmark(self, revision: int, *, ends_initial: bool = False) -> bytes:
        metadata: Json = {"resourceVersion": str(revision), "creationTimestamp": None}
        if ends_initial:
            metadata["annotations"] = {INITIAL_END: "true"}
        kind = self._target.resource
        value = {"kind": kind.kind, "apiVersion": kind.api_version, "metadata": metadata, **self._blank}
        return orjson.dumps({"type": "BOOKMARK", "object": value}) + b"\n"


async def stream(
    resources: "Resources", exchange: Exchange, target: Target, options: ListOptions, how: Representation
) -> AsyncGenerator[bytes, None]:
    """Lines of events; an empty first one when the watch has begun and there is nothing to tell yet. Raises ApiError."""
    cache = resources.cache
    writer = _Writer(target, how, exchange, cache.state.known)
    after = options.watch_from()
    initial = options.send_initial_events if options.send_initial_events is not None else after == 0
    revision = await cache.settled()
    lines: list[bytes] = []
    if initial and after > revision:
        yield _error(continuation.too_large(after, revision))
        return
    if initial:
        lines = [writer.line(ADDED, o) for o in resources.objects(target) if options.selection.matches(o)]
        if options.ends_initial_events:
            lines.append(writer.bookmark(revision, ends_initial=True))
        after = revision
    elif after == 0:
        after = revision
    source = cache.watch(place_of(target.resource), after)
    # NB: up to twice as long, lest all who came together come together again
    seconds = options.timeout_seconds or resources.watch_seconds * (1 + random.random())  # noqa: S311
    try:
        batches = _until(source, seconds, exchange)
        first = await anext(batches, None)
        lines += [line for e in first or () if (line := _line(writer, resources, target, options.selection, e)) is not None]
        yield b"".join(lines)
        last_told = time.monotonic()
        async for events in batches:
            told = [line for e in events if (line := _line(writer, resources, target, options.selection, e)) is not None]
            if not told and options.allow_watch_bookmarks and time.monotonic() - last_told > BOOKMARK_SECONDS:
                told = [writer.bookmark(cache.progress)]
            if told:
                last_told = time.monotonic()
                yield b"".join(told)
    except ApiError as e:
        yield _error(e)
    finally:
        await source.aclose()


def _error(error: ApiError) -> bytes:
    return orjson.dumps({"type": "ERROR", "object": error.status.as_json()}) + b"\n"


async def _until(
    source: AsyncGenerator[list[Event], None], seconds: float, exchange: Exchange
) -> AsyncGenerator[list[Event], None]:
    """Batches until the time is up."""
    end = time.monotonic() + seconds
    while True:
        left = end - time.monotonic()
        if left <= 0:
            return
        try:
            async with asyncio.timeout(left):
                batch = await anext(source, None)
        except TimeoutError:
            return
        if batch is None:
            return
        yield batch


def _line(writer: _Writer, resources: "Resources", target: Target, selection: Selection, event: Event) -> bytes | None:
    if target.namespace and event.name[0] != target.namespace:
        return None
    kind = GroupVersionKind(*target.resource.gvk)
    known = resources.cache.state.known
    new = known.read(event.value, kind)
    selected_now = event.kind != DELETED and selection.matches(new)
    selected_before = event.old is not None and selection.matches(known.read(event.old, kind))
    if selected_now:
        return writer.line(MODIFIED if selected_before else ADDED, new)
    if not selected_before:
        return None
    gone = known.read(event.old or event.value, kind) if event.kind != DELETED else new
    return writer.line(DELETED, with_metadata(gone, resourceVersion=metadata_of(event.value).get("resourceVersion")))
