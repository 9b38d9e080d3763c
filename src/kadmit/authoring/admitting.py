"""Manifests through the whole admission chain, one request each, and what came of it."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from kadmit.admission.answers import Answer
from kadmit.admission.outcome import Record
from kadmit.admission.webhooks import Call
from kadmit.api.errors import ApiError, Status
from kadmit.api.gojson import marshal
from kadmit.authoring import explanation
from kadmit.authoring.cluster import ADMIN, Ask, Request
from kadmit.authoring.explanation import Step
from kadmit.authoring.manifests import Json, Manifest
from kadmit.authoring.workspace import Unusable, Workspace
from kadmit.cel.library.authorizer import Attributes, Authorizer, Decision, User
from kadmit.matching.attributes import CREATE, DELETE, UPDATE
from kadmit.resources import bodies, verbs
from kadmit.resources.context import Context, Options, Target, metadata_of, with_metadata
from kadmit.resources.deleting import DeleteOptions

MANAGER = "kadmit"

# Kinds that others need: they go first, as `kubectl apply` users order their files.
_FIRST = {"CustomResourceDefinition": 0, "Namespace": 1}
_MADE_UP = ("creationTimestamp", "managedFields", "resourceVersion", "uid")
_CALLS = ("mutation.webhook.admission.k8s.io/", "patch.webhook.admission.k8s.io/")


def allowing(calls: Sequence[Call]) -> Sequence[Answer]:
    """Stands in for webhooks that are not called: each allows what it is asked."""
    return [Answer(review=_allowed(call), stand_in=True) for call in calls]


def _allowed(call: Call) -> Json:
    return {
        "apiVersion": f"admission.k8s.io/{call.version}",
        "kind": "AdmissionReview",
        "response": {"uid": "", "allowed": True},
    }


@dataclass(frozen=True, slots=True)
class Asked:
    """How all requests of a run are made. Without an operation each is an UPDATE if there is an old object, else a CREATE."""

    user: User = ADMIN
    operation: str | None = None
    calls: bool = False  # webhooks are really called, and the requests are dry runs
    subresource: str = ""

    def options(self, operation: str) -> Options:
        dry_run = {"dryRun": ["All"]} if self.calls else {}
        raw = {"kind": f"{operation.capitalize()}Options", "apiVersion": "meta.k8s.io/v1", **dry_run}
        if operation != DELETE:
            raw["fieldManager"] = MANAGER
        return Options(dry_run=self.calls, manager=MANAGER, raw=raw)


@dataclass(frozen=True, slots=True)
class Admission:
    """What came of one request: an object or a Status, and the words that go with it."""

    manifest: Manifest
    operation: str
    resource: str  # pod, deployment.apps
    name: str
    namespace: str
    before: Json | None = None  # as it would be without admission
    object: Json | None = None
    status: Status | None = None
    warnings: Sequence[str] = ()
    annotations: dict[str, str] = field(default_factory=dict)
    steps: Sequence[Step] = ()
    record: Record = field(default_factory=Record)

    @property
    def allowed(self) -> bool:
        return self.status is None

    @property
    def changed(self) -> bool:
        return self.object is not None and self.before != self.object

    @property
    def title(self) -> str:
        return f"{self.resource}/{self.name}"

    def as_json(self) -> Json:
        made: dict[str, Any] = {"file": self.manifest.file.name, "line": self.manifest.line(), "operation": self.operation}
        made |= {"resource": self.resource, "name": self.name}
        if self.namespace:
            made["namespace"] = self.namespace
        made |= {"allowed": self.allowed, "changed": self.changed}
        if self.status is not None:
            made["status"] = self.status.as_json()
        made |= {"warnings": list(self.warnings), "auditAnnotations": self.annotations}
        made["steps"] = [step.as_json() for step in self.steps]
        return made | ({"object": self.object} if self.object is not None else {})


class Remembering:
    """An authorizer whose answers stay what they were: who looks at a request again sees what its policies saw."""

    def __init__(self, real: Authorizer | None) -> None:
        self._real = real
        self._known: list[tuple[Attributes, Decision]] = []

    def check(self, attributes: Attributes) -> Decision:
        for asked, said in self._known:
            if asked == attributes:
                return said
        assert self._real is not None, "a workspace has roles"
        said = self._real.check(attributes)
        self._known.append((attributes, said))
        return said


class Admitting:
    """Requests, one after another, to a cluster made of `surroundings`; what is admitted is there for those that follow."""

    def __init__(
        self, surroundings: Iterable[Manifest], old_objects: Iterable[Manifest], *, asked: Asked, ask: Ask = allowing
    ) -> None:
        """Raises Unusable."""
        self._asked = asked
        self._workspace = Workspace(surroundings, ask=ask)
        self._cluster = self._workspace.cluster
        self._authorizer = self._cluster.authorizer
        self._old = list(old_objects)

    def admit_all(self, manifests: Iterable[Manifest]) -> list[Admission]:
        """Raises Unusable for what is no request at all."""
        ordered = sorted(manifests, key=lambda m: _FIRST.get(m.kind.kind, 2))
        coming = {m.name for m in ordered if m.kind.kind == "Namespace" and not m.kind.group}
        return [self._admit(manifest, coming) for manifest in ordered]

    # ------------------------------------------------------------ one request

    def _admit(self, manifest: Manifest, coming: set[str]) -> Admission:
        decoded = self._workspace.decoded(manifest)
        source = {**manifest.value, "apiVersion": decoded["apiVersion"]}
        self._workspace.next_turn()
        target = self._target(manifest, decoded)
        self._cluster.authorizer = Remembering(self._authorizer)
        if target.namespace and target.namespace not in coming and not self._workspace.has_namespace(target.namespace):
            self._workspace.make_namespace(target.namespace)
        for old in self._old:
            if self._is_old(old, target):
                self._workspace.put(old)
        operation = self._operation(manifest, decoded, target)
        request = Request(self._asked.user, self._asked.options(operation), Record(events=[], warnings=list(manifest.repeated)))
        before = self._unjudged(operation, target, source)
        status, answered = None, None
        try:
            answered = self._send(operation, target, source, request)
        except ApiError as error:
            status = error.status
        if answered is not None and self._asked.calls:
            self._cluster.put(answered)  # a dry run stores nothing
        return self._told(manifest, operation, target, request.record, before, answered, status)

    def _target(self, manifest: Manifest, decoded: Json) -> Target:
        target = self._cluster.target(decoded)
        part = self._asked.subresource
        if part and target.resource.kind_of(part) is None:
            raise Unusable(f"{manifest.place()}: {target.resource.plural} have no subresource {part}")
        return replace(target, subresource=part)

    def _is_old(self, old: Manifest, target: Target) -> bool:
        namespace = (old.metadata.get("namespace") or "default") if target.resource.namespaced else ""
        same_kind = (old.kind.group, old.kind.kind) == (target.kind.group, target.kind.kind)
        return same_kind and (namespace, old.metadata.get("name")) == (target.namespace, target.name)

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

    def _body(self, operation: str, target: Target, source: Json) -> bytes:
        """NB: a file holds what somebody read once: the version it had then says nothing here."""
        if operation == CREATE:
            return marshal(with_metadata(source, resourceVersion=None)).encode()
        live = verbs.find(self._cluster.state, target)
        return marshal(with_metadata(source, resourceVersion=metadata_of(live).get("resourceVersion"))).encode()

    def _send(self, operation: str, target: Target, source: Json, request: Request) -> Json | None:
        if operation == DELETE:
            self._cluster.delete(target, DeleteOptions(), request)
            return None
        body = self._body(operation, target, source)
        if operation == CREATE:
            return self._cluster.create(replace(target, name=""), body, request).object
        return self._cluster.update(target, body, request).object

    def _unjudged(self, operation: str, target: Target, source: Json) -> Json | None:
        """The object as it would be if there were no admission: what a diff starts from."""
        if operation == DELETE:
            return None
        state, body = self._cluster.state, self._body(operation, target, source)
        options = replace(self._asked.options(operation), dry_run=True)
        given, record = self._workspace.given(), Record()
        context = Context(
            state.known,
            state.world(None),
            state.snapshot,
            self._asked.user,
            options,
            given,
            record,
            state.pool,
            mutating=False,
            validating=False,
            allow_privileged=True,
        )
        at = replace(target, name="") if operation == CREATE else target
        verb = (verbs.create if operation == CREATE else verbs.update)(context, state, at, body)
        try:
            next(verb)
        except StopIteration as end:
            answered: verbs.Answered = end.value
            return answered.object
        except ApiError:
            return bodies.read(context, at, body)  # invalid as it is; perhaps a policy repairs it
        raise AssertionError("without admission and in a dry run there is nothing to wait for")

    def _told(
        self,
        manifest: Manifest,
        operation: str,
        target: Target,
        record: Record,
        before: Json | None,
        answered: Json | None,
        status: Status | None,
    ) -> Admission:
        calls, sent = self._asked.calls, manifest.metadata
        resource = ".".join(p for p in (target.resource.singular, target.resource.group) if p)
        annotations = record.annotations
        if not calls:
            annotations = {k: v for k, v in annotations.items() if not k.startswith(_CALLS)}
        return Admission(
            manifest,
            operation,
            resource,
            str(metadata_of(answered or {}).get("name") or manifest.name),
            target.namespace,
            None if before is None else _shown(before, sent),
            None if answered is None else _shown(answered, sent),
            status,
            tuple(dict.fromkeys(record.warnings)),
            annotations,
            explanation.steps(self._cluster.state, record, calls=calls, refused=status is not None),
            record,
        )


def _shown(value: Json, sent: Json) -> Json:
    """Without what a server makes up, unless it was sent."""
    return with_metadata(value, **{key: None for key in _MADE_UP if key not in sent or key == "managedFields"})
