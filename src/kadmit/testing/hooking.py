"""Webhooks of one test: served, registered, and in the end taken away again, with whatever their functions raised."""

from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from types import TracebackType
from typing import Any, Protocol, Self

from kadmit.testing import webhook
from kadmit.testing.answering import Function
from kadmit.testing.calling import Caller
from kadmit.testing.cluster import Cluster
from kadmit.testing.result import Json
from kadmit.testing.server import Server
from kadmit.testing.sources import Source, Sources
from kadmit.testing.webhook import Webhook
from kadmit.webhook.sdk.app import App


class Serve(Protocol):
    """What the fixture kadmit_webhook is."""

    def __call__(
        self,
        function: Function | Mapping[str, Function] | App,
        cluster: Cluster | Server | None = None,
        *,
        mutating: bool = False,
        name: str = "webhook.kadmit.test",
        configuration: Source | None = None,
        **fields: Any,
    ) -> Webhook: ...


class Hooks:
    """A context: what is served in it ends with it."""

    def __init__(self, folder: Callable[[], Path]) -> None:
        self._folder = folder
        self._stack = ExitStack()
        self._served: list[Webhook] = []
        self._caller: Caller | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self._stack.close()
        raised = [e for hook in self._served for e in hook.errors]
        if raised and kind is None:
            raise ExceptionGroup("a webhook function failed", raised)

    def serve(
        self,
        function: Function | Mapping[str, Function] | App,
        cluster: Cluster | Server | None = None,
        *,
        mutating: bool = False,
        name: str = "webhook.kadmit.test",
        configuration: Source | None = None,
        **fields: Any,
    ) -> Webhook:
        """Serves a function, several by path, or a kadmit.App, and registers it with the cluster or server, if one is given.

        It is registered by a `configuration` of yours, whose webhooks then lead here; or by one that is made of `fields`, which
        have Kubernetes' names (rules, failurePolicy, matchConditions). An App says itself how it is registered.
        """
        if configuration is not None and fields:
            raise ValueError(f"a configuration has its own {', '.join(fields)}")
        if isinstance(function, App):
            made, functions = function.configurations(url="https://127.0.0.1"), _of_app(function)
        else:
            wanted = _configuration(configuration) if configuration is not None else None
            made = [wanted or webhook.configuration(name, mutating=mutating, fields=fields)]
            functions = _by_path(function, made[0])
        hook = Webhook(functions, self._folder())
        hook.configurations = [webhook.directed(each, hook) for each in made]
        self._served.append(hook)
        self._stack.callback(hook.stop)
        if cluster is not None:
            self._register(cluster, hook)
        return hook

    def _register(self, cluster: Cluster | Server, hook: Webhook) -> None:
        cluster.load(hook.configurations)
        if isinstance(cluster, Cluster):
            self._stack.callback(cluster.unload, hook.configurations)
            for name in (name for each in hook.configurations for name in webhook.names_of(each)):
                cluster.calls_by(name, self._calling().ask)
                self._stack.callback(cluster.calls_by, name, None)
        else:
            self._stack.callback(_unregister, cluster, hook.configurations)

    def _calling(self) -> Caller:
        if self._caller is None:
            self._caller = Caller()
            self._stack.callback(self._caller.close)
        return self._caller


def _unregister(server: Server, configurations: Sequence[Json]) -> None:
    """NB: a test may have stopped the server."""
    for each in configurations if server.running else ():
        server.delete(each)


def _configuration(source: Source) -> Json:
    found = [m.value for m in Sources().read(source) if m.kind.kind in (webhook.MUTATING, webhook.VALIDATING)]
    if len(found) != 1:
        raise ValueError(f"a configuration must hold one webhook configuration, holds {len(found)}")
    return found[0]


def _of_app(app: App) -> Mapping[str, Function]:
    def answering(path: str) -> Function:
        return lambda request: app.review(
            {"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "request": request}, path
        )

    return {path: answering(path) for path in app.handlers}


def _by_path(function: Function | Mapping[str, Function], configuration: Json) -> Mapping[str, Function]:
    """A single function answers at every path that the configuration has."""
    if isinstance(function, Mapping):
        return function
    return {webhook.path_of(each): function for each in configuration.get("webhooks") or ()} | {"/": function}
