"""Manifests through the whole admission chain, one request each, and what came of it."""

from collections.abc import Iterable

from msgspec import Struct
from msgspec.structs import replace

from kadmit.admission.outcome import Record
from kadmit.authoring import explanation, request
from kadmit.authoring.admission import Admission
from kadmit.authoring.cluster import ADMIN, Ask, allowing
from kadmit.authoring.manifests import Json, Manifest
from kadmit.authoring.request import Wanted
from kadmit.authoring.workspace import Unusable, Workspace
from kadmit.cel.library.authorizer import User
from kadmit.matching.attributes import CREATE, DELETE, UPDATE
from kadmit.resources import verbs
from kadmit.resources.context import Target

# Kinds that others need: they go first, as `kubectl apply` users order their files.
_FIRST = {"CustomResourceDefinition": 0, "Namespace": 1}


class Asked(Struct, frozen=True):
    """How all requests of a run are made. Without an operation each is an UPDATE if there is an old object, else a CREATE."""

    user: User = ADMIN
    operation: str | None = None
    calls: bool = False  # webhooks are really called, and the requests are dry runs
    subresource: str = ""


class Admitting:
    """Requests, one after another, to a cluster made of `surroundings`; what is admitted is there for those that follow."""

    def __init__(
        self, surroundings: Iterable[Manifest], old_objects: Iterable[Manifest], *, asked: Asked, ask: Ask = allowing
    ) -> None:
        """Raises Unusable."""
        self._asked = asked
        self._workspace = Workspace(surroundings, ask=ask)
        self._cluster = self._workspace.cluster
        self._old = list(old_objects)

    def admit_all(self, manifests: Iterable[Manifest]) -> list[Admission]:
        """Raises Unusable for what is no request at all."""
        ordered = sorted(manifests, key=lambda m: _FIRST.get(m.kind.kind, 2))
        coming = {m.name for m in ordered if m.kind.kind == "Namespace" and not m.kind.group}
        return [self._admit(manifest, coming) for manifest in ordered]

    # ------------------------------------------------------------ one request

    def _admit(self, manifest: Manifest, coming: set[str]) -> Admission:
        decoded = self._workspace.decoded(manifest)
        self._workspace.next_turn()
        target = self._target(manifest, decoded)
        self._surround(target, coming)
        wanted = self._wanted(manifest, decoded, target)
        before = self._before(wanted)
        record = Record(events=[], warnings=list(manifest.repeated))
        answered, status = request.answer(self._cluster, wanted, record)
        calls = self._asked.calls
        if answered is not None and calls and wanted.operation != DELETE:
            self._cluster.put(answered)  # a dry run stores nothing
        steps = explanation.steps(self._cluster.state, record, calls=calls, refused=status is not None)
        return request.told(wanted, record, answered, status, before, calls=calls, steps=steps)

    def _target(self, manifest: Manifest, decoded: Json) -> Target:
        target = self._cluster.target(decoded)
        part = self._asked.subresource
        if part and target.resource.kind_of(part) is None:
            raise Unusable(f"{manifest.place()}: {target.resource.plural} have no subresource {part}")
        return replace(target, subresource=part)

    def _surround(self, target: Target, coming: set[str]) -> None:
        """Its namespace, unless somebody makes it, and the object before the request."""
        if target.namespace and target.namespace not in coming and not self._workspace.has_namespace(target.namespace):
            self._workspace.make_namespace(target.namespace)
        for old in self._old:
            if _is_old(old, target):
                self._workspace.put(old)

    def _wanted(self, manifest: Manifest, decoded: Json, target: Target) -> Wanted:
        asked, state = self._asked, self._cluster.state
        operation = self._operation(manifest, decoded, target)
        sent = request.body(state, operation, target, {**manifest.value, "apiVersion": decoded["apiVersion"]})
        verb = request.verb(state, operation, target, sent)
        return Wanted(manifest, operation, target, verb, request.options(operation, dry_run=asked.calls), asked.user, sent)

    def _operation(self, manifest: Manifest, decoded: Json, target: Target) -> str:
        present = bool(target.name) and verbs.stored(self._cluster.state, target) is not None
        operation = self._asked.operation or (UPDATE if present else CREATE)
        if target.subresource and operation != UPDATE:
            raise Unusable(f"{manifest.place()}: --subresource: only for an UPDATE: give the object before it with --old-object")
        if operation == UPDATE and not present:
            raise Unusable(f"{manifest.place()}: there is no old object to UPDATE: give it with --old-object")
        if operation == DELETE and not present:
            self._cluster.put(decoded)
        return operation

    def _before(self, wanted: Wanted) -> Json | None:
        if wanted.operation == DELETE:
            return None
        return request.unjudged(self._cluster, wanted.as_dry_run()) or request.as_read(self._cluster, wanted)


def _is_old(old: Manifest, target: Target) -> bool:
    namespace = (old.metadata.get("namespace") or "default") if target.resource.namespaced else ""
    same_kind = (old.kind.group, old.kind.kind) == (target.kind.group, target.kind.kind)
    return same_kind and (namespace, old.metadata.get("name")) == (target.namespace, target.name)
