"""A cluster in the test's own process: an engine and objects in memory, made in milliseconds, gone with the test.

Objects that are loaded are there as if somebody had made them long ago; requests go through admission. A Namespace that nobody
made is made up. Webhooks answer by functions (`script`), or over TLS (`kadmit_webhook`); all others are taken to allow.
"""

from collections.abc import Callable, Sequence
from typing import Any, Protocol, Self

import orjson

from kadmit.admission import replies
from kadmit.admission.answers import Answer
from kadmit.admission.outcome import Record
from kadmit.admission.webhooks import Call
from kadmit.api.errors import ApiError
from kadmit.api.gojson import marshal
from kadmit.authoring.admission import Admission
from kadmit.authoring.client import How, WorkspaceClient
from kadmit.authoring.cluster import ADMIN, allowing
from kadmit.authoring.manifests import Manifest
from kadmit.authoring.person import person
from kadmit.authoring.story import story
from kadmit.authoring.workspace import Unusable, Workspace
from kadmit.resources import verbs
from kadmit.testing import answering
from kadmit.testing.answering import Function
from kadmit.testing.client import Asked, Client
from kadmit.testing.result import Json, Result
from kadmit.testing.sources import Source, Sources
from kadmit.webhook.review import NoVerdict

_UID = "00000000-0000-4000-8000-000000000000"


class Watcher(Protocol):
    """Whoever wants to know of all requests: coverage."""

    def loaded(self, manifests: Sequence[Manifest]) -> None:
        """These are in the cluster from now on."""

    def observe(self, record: Record) -> None:
        """One request is over."""


class Cluster(Client):
    """Requests in, results out."""

    def __init__(self, sources: Sources | None = None, watcher: Watcher | None = None) -> None:
        super().__init__()
        self._sources = sources or Sources()
        self._watcher = watcher
        self._workspace = Workspace(ask=self._ask)
        self._client = WorkspaceClient(self._workspace)
        self._loaded: list[Manifest] = []
        self._scripts: dict[str, Function] = {}
        self._callers: dict[str, Callable[[Sequence[Call]], Sequence[Answer]]] = {}
        self.reviews: list[Json] = []
        """The reviews that scripted webhooks were sent."""

    # ------------------------------------------------------------ objects

    def load(self, *sources: Source) -> Self:
        """Policies, bindings, params, Namespaces, CustomResourceDefinitions, anything. Raises Unreadable, Unusable."""
        found = [manifest for source in sources for manifest in self._sources.read(source)]
        for manifest in sorted(found, key=lambda m: m.kind.kind != "CustomResourceDefinition"):
            self._workspace.put(manifest)
        self._loaded += found
        if self._watcher is not None:
            self._watcher.loaded(found)
        return self

    def unload(self, *sources: Source) -> Self:
        """The objects of that kind and name are no longer there."""
        cluster = self._workspace.cluster
        for manifest in [m for source in sources for m in self._sources.read(source)]:
            cluster.remove(manifest.value)
        return self

    def get(self, obj: Source) -> Json | None:
        manifest = self._sources.one(obj)
        cluster = self._workspace.cluster
        try:
            return verbs.stored(cluster.state, cluster.target(manifest.value))
        except ApiError as e:
            raise Unusable(f"{manifest.place()}: {e}") from None

    # ------------------------------------------------------------ webhooks

    def script(self, webhook: str, function: Function) -> Self:
        """From now on the function answers for the webhook of that name. See `answering` for what it may answer."""
        self._scripts[webhook] = function
        self._client.calls = True
        return self

    def calls_by(self, webhook: str, ask: Callable[[Sequence[Call]], Sequence[Answer]] | None) -> None:
        """Who calls the webhook of that name; None: nobody any more."""
        self._callers.pop(webhook, None)
        if ask is not None:
            self._callers[webhook] = ask
            self._client.calls = True

    def _ask(self, calls: Sequence[Call]) -> Sequence[Answer]:
        return [self._answer(call) for call in calls]

    def _answer(self, call: Call) -> Answer:
        name = call.webhook.name
        if name in self._scripts:
            return self._scripted(call, self._scripts[name])
        (answer,) = self._callers.get(name, allowing)([call])
        return answer

    def _scripted(self, call: Call, function: Function) -> Answer:
        """Read as if it had come over the wire. What else the function raises is for the test."""
        asked = call.review(_UID)
        self.reviews.append(asked)
        try:
            body = orjson.dumps(answering.review(function, asked))
        except NoVerdict as e:
            return replies.read(call, _UID, status=e.code, content_type="text/plain", body=str(e).encode())
        return replies.read(call, _UID, status=200, content_type="application/json", body=body)

    # ------------------------------------------------------------ requests

    def _create(self, obj: Source, asked: Asked) -> Result:
        return self._result(self._client.create(self._sources.one(obj), _how(asked)))

    def _update(self, obj: Source, asked: Asked) -> Result:
        return self._result(self._client.update(self._sources.one(obj), _how(asked)))

    def _apply(self, obj: Source, asked: Asked) -> Result:
        return self._result(self._client.apply(self._sources.one(obj), _how(asked)))

    def _patch(self, obj: Source, patch: Any, patch_type: str, asked: Asked) -> Result:
        return self._result(self._client.patch(self._sources.one(obj), marshal(patch).encode(), patch_type, _how(asked)))

    def _delete(self, obj: Source, asked: Asked) -> Result:
        return self._result(self._client.delete(self._sources.one(obj), _how(asked)))

    def _result(self, admission: Admission) -> Result:
        if self._watcher is not None:
            self._watcher.observe(admission.record)
        return Result(
            admission.operation,
            admission.resource,
            admission.name,
            admission.namespace,
            admission.object,
            admission.before,
            None if admission.status is None else admission.status.as_json(),
            admission.warnings,
            admission.annotations,
            lambda: story.text(admission, self._loaded),
            self._workspace.cluster.known.shape(admission.manifest.kind),
        )


def _how(asked: Asked) -> How:
    user = ADMIN if asked.user is None else person(asked.user, tuple(asked.groups))
    return How(user, asked.dry_run, asked.manager, asked.subresource, force=asked.force)
