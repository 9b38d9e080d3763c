"""An App, served while it is being written: registered with a cluster, loaded anew when its source changes, removed at the end.

What is loaded anew takes over between two reviews; if it cannot be loaded or registered, the old one goes on.
"""

import asyncio
import signal
import time
from collections.abc import Callable, Coroutine
from contextlib import AsyncExitStack
from functools import partial
from pathlib import Path
from typing import Any

from msgspec import Struct

from kadmit.webhook.answering import Handler, Limits
from kadmit.webhook.callers import Callers
from kadmit.webhook.review import Json, Response, Review
from kadmit.webhook.sdk.app import App
from kadmit.webhook.sdk.loading import LoadError, Source
from kadmit.webhook.sdk.registering import LABEL, MANAGER, Registration, RegistrationError
from kadmit.webhook.sdk.request import Request
from kadmit.webhook.serving import CertificateError, WebhookServer

_RELOAD_SECONDS = 0.5
_FILE_SECONDS = 10.0


class RunError(Exception):
    """It cannot be served."""


class Place(Struct, frozen=True):
    """Where to listen, and what callers are told: the URL, with {port} for the port that was found, and whom to trust."""

    host: str
    port: int
    url: str
    certificate: bytes
    key: bytes
    authority: bytes
    files: tuple[Path, Path] | None = None  # certificate and key, if they may change


class Wishes(Struct, frozen=True):
    limits: Limits
    callers: Callers
    reload: bool = False
    quiet: bool = False
    debug: bool = False


class Runner:
    """One App, one server, one registration. `told` hears what people should know; `printed` gets configurations that nobody
    registers."""

    def __init__(
        self,
        source: Source,
        place: Place,
        wishes: Wishes,
        *,
        registration: Registration | None,
        told: Callable[[str], None],
        printed: Callable[[list[Json]], None],
    ) -> None:
        self._source, self._place, self._wishes = source, place, wishes
        self._registration, self._told, self._printed = registration, told, printed
        self._lifespan = AsyncExitStack()

    async def run(self, app: App) -> None:
        """Until a signal comes; a second one ends all waiting, by CancelledError. Raises RunError, RegistrationError."""
        ended = _signalled()
        server = self._server(app)
        async with AsyncExitStack() as stack:
            stack.push_async_callback(self._leave)
            await self._enter(app)
            await self._listen(server)
            stack.push_async_callback(server.stop)
            stack.push_async_callback(self._unregister)
            await self._register(app, server.port)
            self._told(f"ready at {self._url(server.port)}; {_summary(app, registered=self._registration is not None)}")
            tasks = [asyncio.create_task(work) for work in self._background(server)]
            await ended.wait()
            for task in tasks:
                task.cancel()

    async def _enter(self, app: App) -> None:
        """What an App is given for its life; that of the one before it is over."""
        entered = AsyncExitStack()
        await entered.enter_async_context(app.lifespan())
        app.debug = self._wishes.debug
        before, self._lifespan = self._lifespan, entered
        await before.aclose()

    async def _leave(self) -> None:
        await self._lifespan.aclose()

    def _server(self, app: App) -> WebhookServer:
        place, wishes = self._place, self._wishes
        try:
            return WebhookServer(
                self._routes(app),
                host=place.host,
                port=place.port,
                certificate=place.certificate,
                key=place.key,
                limits=wishes.limits,
                callers=wishes.callers,
            )
        except CertificateError as error:
            raise RunError(str(error)) from None

    async def _listen(self, server: WebhookServer) -> None:
        try:
            await server.start()
        except OSError as error:
            raise RunError(f"cannot listen on port {self._place.port}: {error.strerror or error}") from None

    def _url(self, port: int) -> str:
        return self._place.url.replace("{port}", str(port))

    async def _register(self, app: App, port: int) -> None:
        labels = {LABEL: MANAGER} if self._registration is not None else {}
        try:
            made = app.configurations(url=self._url(port), authority=self._place.authority, labels=labels)
        except ValueError as error:
            raise RunError(str(error)) from None
        if self._registration is None:
            self._printed(made)
        else:
            await self._registration.put(made)

    async def _unregister(self) -> None:
        if self._registration is not None:
            try:
                await self._registration.remove()
            except RegistrationError as error:
                self._told(str(error))

    # ------------------------------------------------------------ meanwhile

    def _background(self, server: WebhookServer) -> list[Coroutine[Any, Any, None]]:
        found: list[Coroutine[Any, Any, None]] = []
        if self._wishes.reload:
            found.append(self._follow_source(server))
        if self._place.files is not None:
            found.append(self._follow_certificate(server, *self._place.files))
        return found

    async def _follow_source(self, server: WebhookServer) -> None:
        while True:
            await asyncio.sleep(_RELOAD_SECONDS)
            changed = await asyncio.to_thread(self._source.changed)
            if changed:
                await self._reload(server, ", ".join(path.name for path in changed))

    async def _reload(self, server: WebhookServer, changed: str) -> None:
        try:
            app = self._source.reload()
            await self._register(app, server.port)
        except (LoadError, RunError, RegistrationError) as error:
            self._told(f"{changed} changed, but the old code goes on: {error}")
            return
        await self._enter(app)
        server.replace_handlers(self._routes(app))
        self._told(f"{changed} changed; {_summary(app, registered=self._registration is not None)}")

    async def _follow_certificate(self, server: WebhookServer, certificate: Path, key: Path) -> None:
        """NB: files that change one after the other do not fit for a moment, and are looked at again."""
        used = (self._place.certificate, self._place.key)
        while True:
            await asyncio.sleep(_FILE_SECONDS)
            try:
                found = (certificate.read_bytes(), key.read_bytes())
                if found != used:
                    server.replace_certificate(*found)
                    used = found
                    self._told("certificate changed and is in use")
            except (OSError, CertificateError) as error:
                self._told(f"certificate changed but cannot be used: {error}")

    # ------------------------------------------------------------ reviews

    def _routes(self, app: App) -> dict[str, Handler]:
        if self._wishes.quiet:
            return app.routes
        return {path: partial(self._watched, path, handler) for path, handler in app.routes.items()}

    async def _watched(self, path: str, handler: Handler, review: Review) -> Response:
        """A line for each review."""
        begun = time.perf_counter()
        response = await handler(review)
        request, milliseconds = Request(review.request), (time.perf_counter() - begun) * 1000
        about = f"{request.operation} {request.kind.kind} {request.namespace}/{request.name}".replace(" /", " ")
        self._told(f"{path[1:]}: {about}{' (dry run)' if request.dry_run else ''}: {_verdict(response)}, {milliseconds:.1f} ms")
        return response


def _signalled() -> asyncio.Event:
    """Set by the first signal that ends a process; the second cancels whoever asked."""
    ended, asking = asyncio.Event(), asyncio.current_task()

    def end() -> None:
        if ended.is_set() and asking is not None:
            asking.cancel()
        ended.set()

    for each in (signal.SIGINT, signal.SIGTERM):
        asyncio.get_running_loop().add_signal_handler(each, end)
    return ended


def _verdict(response: Response) -> str:
    if not response.allowed:
        return f"denied: {(response.status or {}).get('message', '')}"
    return f"patched, {len(response.patch)} operations" if response.patch else "allowed"


def _summary(app: App, *, registered: bool) -> str:
    names = ", ".join(handler.name for handler in app.handlers.values())
    return f"{names} registered as {app.name}" if registered else f"{names} not registered"
