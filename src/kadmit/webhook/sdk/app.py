"""Webhooks as Python functions: an App collects them, answers reviews with them, and knows how they are registered.

A handler gets the request and the object, and changes the object in place. The patch is worked out afterwards, from what the
object was before; a handler that returns another object means that one. Plain functions run in threads, since nobody knows
whether they wait for something; coroutines run on the event loop.
"""

import asyncio
import contextvars
import logging
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractAsyncContextManager, nullcontext
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any, TypeVar, Unpack

import orjson

from kadmit.webhook import review as wire
from kadmit.webhook.patching import Operation as PatchOperation
from kadmit.webhook.patching import operations as patch_operations
from kadmit.webhook.review import Json, NoVerdict, Response, Review
from kadmit.webhook.sdk import handlers
from kadmit.webhook.sdk.handlers import Function, Handler, MutatingOptions, Operation, Options
from kadmit.webhook.sdk.request import Deny, Object, Request

if TYPE_CHECKING:
    from kadmit.webhook.callers import Callers
    from kadmit.webhook.sdk.asgi import AsgiApp
    from kadmit.webhook.sdk.testing import Verdict
    from kadmit.webhook.serving import Limits, WebhookServer

F = TypeVar("F", bound=Function)
Lifespan = Callable[[], AbstractAsyncContextManager[None]]

_LARGE = 256 * 1024  # bytes of an object from which comparing it would keep other reviews waiting
_LOG = logging.getLogger("kadmit.webhook")


class App:
    """Webhooks that are served together. `name` names their configurations and ends the names of webhooks; `threads` is how many
    plain functions run at a time; `lifespan` is entered before the first review and left after the last; with `debug` a client is
    told why a handler failed, which may be more than it should know."""

    def __init__(
        self, name: str = "webhooks.local", *, threads: int = 16, lifespan: Lifespan | None = None, debug: bool = False
    ) -> None:
        if "." not in name.strip("."):
            raise ValueError(f"name {name!r} of an app must have a dot, such as webhooks.example.com")
        self.name = name
        self.debug = debug
        self.handlers: dict[str, Handler] = {}  # by path
        self._lifespan = lifespan
        self._threads = threads

    # ------------------------------------------------------------ decorators

    def mutating(self, resources: str | Sequence[str], **options: Unpack[MutatingOptions]) -> Callable[[F], F]:
        """A function that changes objects. Raises ValueError."""

        def decorate(function: F) -> F:
            self._add(handlers.handler(function, resources, mutating=True, **options))
            return function

        return decorate

    def validating(self, resources: str | Sequence[str], **options: Unpack[Options]) -> Callable[[F], F]:
        """A function that looks at objects, and raises Deny. Raises ValueError."""

        def decorate(function: F) -> F:
            self._add(handlers.handler(function, resources, mutating=False, **options))
            return function

        return decorate

    def _add(self, made: Handler) -> None:
        if made.path in self.handlers or any(known.name == made.name for known in self.handlers.values()):
            raise ValueError(f"there is a webhook {made.name!r} already, or one at {made.path}; give this one another name")
        self.handlers[made.path] = made

    # ------------------------------------------------------------ answers

    async def answer(self, review: Review, handlers: Sequence[Handler]) -> Response:
        """What handlers, one after the other, make of a review. Raises NoVerdict if one fails whose failure policy is Ignore."""
        request = Request(review.request)
        whole: Object | None = review.request.get("object")
        subject: Any = whole if whole is not None else review.request.get("oldObject")
        before = b""
        for handler in handlers:
            try:
                if handler.mutating and whole is not None and not before:
                    before = orjson.dumps(whole)
                subject = await self._called(handler, request, subject)
            except Deny as refusal:
                return _refused(request, refusal)
            except Exception as error:
                return self._failed(handler, request, error)
        try:
            patch = await self._patch(before, subject) if before else ()
        except Exception as error:  # what a handler left there is no JSON
            return self._failed(handlers[-1], request, error)
        return Response(allowed=True, patch=patch, warnings=request.warnings, annotations=request.annotations)

    async def _called(self, handler: Handler, request: Request, subject: Any) -> Any:
        """The object after the handler."""
        if handler.is_async:
            returned = await handler.function(request, subject)
        elif handler.inline:
            returned = handler.function(request, subject)
        else:
            context = contextvars.copy_context()
            run = partial(context.run, handler.function, request, subject)
            returned = await asyncio.get_running_loop().run_in_executor(self._pool, run)
        if returned is None:
            return subject
        if not handler.mutating:
            raise TypeError("a validating function returns nothing; it raises kadmit.Deny to refuse")
        if not isinstance(returned, dict):
            raise TypeError(f"a mutating function returns nothing or an object, not {type(returned).__name__}")
        return returned

    async def _patch(self, before: bytes, subject: Object) -> list[PatchOperation]:
        if len(before) > _LARGE:
            return await asyncio.get_running_loop().run_in_executor(self._pool, _compared, before, subject)
        return _compared(before, subject)

    def _failed(self, handler: Handler, request: Request, error: Exception) -> Response:
        """NB: what an exception says may be more than a client should know, so it goes to the log."""
        _LOG.error("webhook %s failed on %r, review %s", handler.name, request, request.uid, exc_info=error)
        why = f": {type(error).__name__}: {error}" if self.debug else f" ({type(error).__name__}); its log tells why"
        text = f"webhook {handler.name} failed{why}"
        if handler.failure_policy == "Ignore":
            raise NoVerdict(text)
        return wire.denied(text, 500)

    @cached_property
    def _pool(self) -> ThreadPoolExecutor:
        return ThreadPoolExecutor(self._threads, thread_name_prefix="kadmit-handler")

    # ------------------------------------------------------------ being served

    @property
    def routes(self) -> dict[str, Callable[[Review], Any]]:
        """What WebhookServer serves: one path a handler."""
        return {path: partial(self.answer, handlers=(handler,)) for path, handler in self.handlers.items()}

    def lifespan(self) -> AbstractAsyncContextManager[None]:
        """To be entered before the first review, and left after the last."""
        return self._lifespan() if self._lifespan is not None else nullcontext()

    def server(
        self,
        *,
        host: str = "",
        port: int = 8443,
        certificate: bytes | None,
        key: bytes | None,
        limits: "Limits | None" = None,
        callers: "Callers | None" = None,
    ) -> "WebhookServer":
        """A server of all handlers, for programs that run their own event loop."""
        from kadmit.webhook.serving import WebhookServer

        return WebhookServer(self.routes, host=host, port=port, certificate=certificate, key=key, limits=limits, callers=callers)

    @cached_property
    def asgi(self) -> "AsgiApp":
        """An ASGI application: for uvicorn, hypercorn, or to be mounted in another one."""
        from kadmit.webhook.sdk.asgi import AsgiApp

        return AsgiApp(self)

    # ------------------------------------------------------------ registration and tests

    def configurations(
        self,
        *,
        url: str = "",
        service: Mapping[str, Any] | None = None,
        authority: bytes = b"",
        labels: Mapping[str, str] | None = None,
    ) -> list[Json]:
        """The MutatingWebhookConfiguration and ValidatingWebhookConfiguration of all handlers. `url` is where their paths begin,
        or else `service` is a reference; `authority` signs the certificate (PEM). Raises ValueError."""
        from kadmit.webhook.sdk import registration

        return registration.configurations(self, url=url, service=service, authority=authority, labels=labels or {})

    def review(self, body: bytes | Mapping[str, Any], path: str = "") -> Json:
        """The answer to an AdmissionReview, without a server: of the handler at `path`, or of all whose rules match, mutating
        ones first. Raises BadReview."""
        from kadmit.webhook.sdk import testing

        return testing.review(self, body, path)

    def admit(
        self,
        object: Object | None = None,  # noqa: A002
        *,
        old: Object | None = None,
        operation: Operation | None = None,
        user: str = "kubernetes-admin",
        groups: Sequence[str] = ("system:masters", "system:authenticated"),
        namespace: str = "default",
        subresource: str = "",
        dry_run: bool = False,
        options: Object | None = None,
    ) -> "Verdict":
        """What all handlers whose rules match make of an object, without a server or a review: for tests."""
        from kadmit.webhook.sdk import testing

        request = testing.request(object, old, operation, user=user, groups=groups, namespace=namespace, subresource=subresource)
        return testing.admit(self, {**request, "dryRun": dry_run, "options": options})


def _refused(request: Request, refusal: Deny) -> Response:
    status = wire.status(refusal.code, refusal.message, refusal.reason)
    if refusal.details is not None:
        status["details"] = dict(refusal.details)
    return Response(allowed=False, status=status, warnings=request.warnings, annotations=request.annotations)


def _compared(before: bytes, subject: Object) -> list[PatchOperation]:
    return [] if orjson.dumps(subject) == before else patch_operations(orjson.loads(before), subject)


# ------------------------------------------------------------ for programs with one app

default: App = App()


def mutating(resources: str | Sequence[str], **options: Unpack[MutatingOptions]) -> Callable[[F], F]:
    """App.mutating, of the default app."""
    return default.mutating(resources, **options)


def validating(resources: str | Sequence[str], **options: Unpack[Options]) -> Callable[[F], F]:
    """App.validating, of the default app."""
    return default.validating(resources, **options)
