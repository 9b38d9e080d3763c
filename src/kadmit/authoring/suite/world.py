"""A cluster for the cases of a suite: each finds it as the fixtures made it, whatever the others did.

Nothing that a request writes is kept, and what a case needs besides is taken away again. So a suite's policies are compiled once,
and cases may run in any order and in any process.
"""

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from kadmit.admission import chain
from kadmit.admission.answers import Answer
from kadmit.admission.outcome import Record
from kadmit.admission.webhooks import Call
from kadmit.api.errors import ApiError, Status
from kadmit.api.gojson import marshal
from kadmit.api.meta import GroupVersionKind
from kadmit.authoring.cluster import ADMIN
from kadmit.authoring.manifests import Json, Manifest
from kadmit.authoring.registering import current
from kadmit.authoring.suite.model import Ask, Case, Scripts
from kadmit.authoring.suite.outcome import Outcome
from kadmit.authoring.suite.webhooks import Scripted
from kadmit.authoring.workspace import Unusable, Workspace
from kadmit.cel.library.authorizer import User
from kadmit.matching.attributes import CONNECT, CREATE, DELETE, UPDATE, Attributes
from kadmit.resources import bodies, verbs
from kadmit.resources.context import Context, Options, Target, metadata_of, with_metadata
from kadmit.resources.deleting import DeleteOptions
from kadmit.resources.effects import Put
from kadmit.resources.state import Name, Place, place_of
from kadmit.resources.verbs import Answered, Verb

if TYPE_CHECKING:
    from kadmit.authoring.admitting import Admission

MANAGER = "kadmit"
_MADE_UP = ("creationTimestamp", "managedFields", "resourceVersion", "uid")
ACTIONS = ("binding", "eviction")  # parts of an object to which something is posted
CONNECTIONS = {
    ("pods", "exec"): "PodExecOptions",
    ("pods", "attach"): "PodAttachOptions",
    ("pods", "portforward"): "PodPortForwardOptions",
    ("pods", "proxy"): "PodProxyOptions",
    ("services", "proxy"): "ServiceProxyOptions",
    ("nodes", "proxy"): "NodeProxyOptions",
}


class World:
    """A workspace on which requests are tried."""

    def __init__(self, fixtures: Iterable[Manifest]) -> None:
        """Raises Unusable."""
        self._scripted = Scripted({})
        self.workspace = Workspace(fixtures, ask=self._ask)
        self._cluster = self.workspace.cluster
        self._state = self._cluster.state
        self._read: dict[int, tuple[Manifest, Json]] = {}
        self._users: dict[tuple[Any, ...], User] = {}

    def _ask(self, calls: Sequence[Call]) -> Sequence[Answer]:
        return self._scripted.ask(calls)

    @contextmanager
    def tried(self, case: Case, scripts: Scripts, *, compared: bool, followed: bool) -> Iterator[Outcome]:
        """What comes of a case's request; while it is looked at, the world is as the request found it. Raises Unusable."""
        revision = self._state.revision
        undo: list[tuple[Place, Name, Json | None]] = []
        try:
            for manifest in case.fixtures:
                self._place(self._object(manifest), undo)
            yield self._try(case, scripts, undo, compared=compared, followed=followed)
        finally:
            for place, name, value in reversed(undo):
                self._state.apply(place, name, value, revision)
            self._state.revision = revision

    def admission(self, case: Case, outcome: Outcome) -> "Admission":
        """An outcome as stories are told of it."""
        from kadmit.authoring import explanation
        from kadmit.authoring.admitting import Admission

        manifest = case.ask.object or case.ask.old
        assert manifest is not None
        refused = outcome.status is not None
        return Admission(
            manifest=manifest,
            operation=outcome.operation,
            resource=outcome.resource,
            name=outcome.name,
            namespace=outcome.namespace,
            before=outcome.before,
            object=outcome.object,
            status=outcome.status,
            warnings=outcome.warnings,
            annotations=dict(outcome.annotations),
            steps=explanation.steps(self._state, outcome.record, calls=True, refused=refused),
            record=outcome.record,
        )

    # ------------------------------------------------------------ surroundings

    def _object(self, manifest: Manifest) -> Json:
        """An object as a cluster has it, read once."""
        known = self._read.get(id(manifest))
        if known is None:
            known = self._read[id(manifest)] = manifest, self.workspace.read(manifest)
        return known[1]

    def _place(self, value: Json, undo: list[tuple[Place, Name, Json | None]]) -> None:
        target = self._cluster.target(value)
        place, name = place_of(target.resource), (target.namespace if target.resource.namespaced else "", target.name)
        undo.append((place, name, self._state.get(place, *name)))
        self._cluster.put(value)

    def _make_namespace(self, name: str, undo: list[tuple[Place, Name, Json | None]]) -> None:
        undo.append((("", "namespaces"), ("", name), None))
        self.workspace.make_namespace(name)

    def _user(self, ask: Ask) -> User:
        if not ask.user:
            return ADMIN
        key = (ask.user, ask.groups, ask.uid, tuple(ask.extra.items()))
        if key not in self._users:
            from kadmit.authoring.requests import person

            self._users[key] = person(ask.user, ask.groups, uid=ask.uid, extra=dict(ask.extra))
        return self._users[key]

    # ------------------------------------------------------------ one request

    def _try(self, case: Case, scripts: Scripts, undo: list[Any], *, compared: bool, followed: bool) -> Outcome:
        ask = case.ask
        main = ask.old or ask.object
        assert main is not None, "the reader of suites sees to it"
        target = self._target(main, ask)
        if target.namespace and not self.workspace.has_namespace(target.namespace):
            self._make_namespace(target.namespace, undo)
        if ask.old is not None:
            self._place(_in_namespace(self._object(ask.old), target), undo)
        operation = self._operation(ask, target, main)
        if operation == DELETE and verbs.stored(self._state, target) is None:
            self._place(_in_namespace(self._object(main), target), undo)
        source = _in_namespace(_source(ask.object or main), target)
        self._scripted = Scripted(scripts)
        record = Record(events=[] if followed else None)
        context = self._context(ask, operation, record)
        answered, status = self._answered(self._verb(context, operation, target, source, ask))
        return self._told(ask, operation, target, source, answered, status, record, compared=compared)

    def _target(self, main: Manifest, ask: Ask) -> Target:
        """Where the object of a request lives. Raises Unusable."""
        try:
            target = self._cluster.target(current(main.value, main.kind))
        except ApiError as e:
            raise Unusable(f"{main.place()}: {e}") from None
        resource = target.resource
        if ask.namespace and resource.namespaced and not main.metadata.get("namespace"):
            target = replace(target, namespace=ask.namespace)
        if ask.subresource and resource.subresource(ask.subresource) is None:
            there = ", ".join(sub.name for sub in resource.subresources) or "none"
            raise Unusable(f'{main.place()}: {resource.plural} have no subresource "{ask.subresource}": there is {there}')
        return replace(target, subresource=ask.subresource)

    def _operation(self, ask: Ask, target: Target, main: Manifest) -> str:
        present = bool(target.name) and verbs.stored(self._state, target) is not None
        operation = ask.operation or _usual(target, present=present)
        if not present and (operation == UPDATE or target.subresource):
            about = f"{target.resource.singular} {target.name}"
            raise Unusable(f"{main.place()}: there is no {about} to {operation}: give it as oldObject or as a fixture")
        if operation == CONNECT and (target.resource.plural, target.subresource) not in CONNECTIONS:
            there = ", ".join(f"{plural}/{sub}" for plural, sub in CONNECTIONS)
            raise Unusable(f"{main.place()}: nobody connects to {target.resource.plural}: subresources to CONNECT to are {there}")
        return operation

    def _context(self, ask: Ask, operation: str, record: Record, *, admission: bool = True) -> Context:
        state = self._state
        return Context(
            state.known,
            state.world(self._cluster.authorizer),
            state.snapshot,
            self._user(ask),
            _options(ask, operation),
            self.workspace.given(),
            record,
            state.pool,
            mutating=admission,
            validating=admission,
            allow_privileged=self._cluster.allow_privileged,
        )

    def _verb(self, context: Context, operation: str, target: Target, source: Json, ask: Ask) -> Verb:
        if operation == DELETE:
            return verbs.delete(context, self._state, target, DeleteOptions())
        if operation == CONNECT:
            return _connect(context, target, ask.options)
        body = self._body(operation, target, source)
        if ask.policies_only:
            return _ask_policies(context, operation, target, body, verbs.stored(self._state, target))
        if operation == CREATE:
            at = target if target.subresource else replace(target, name="")
            return verbs.create(context, self._state, at, body)
        return verbs.update(context, self._state, target, body)

    def _body(self, operation: str, target: Target, source: Json) -> bytes:
        """NB: a file holds what somebody read once: the version it had then says nothing here."""
        live = None if operation == CREATE else verbs.stored(self._state, target)
        version = metadata_of(live).get("resourceVersion") if live is not None else None
        return marshal(with_metadata(source, resourceVersion=version)).encode()

    def _answered(self, verb: Verb) -> tuple[Json | None, Status | None]:
        """Webhooks answer from their scripts; what is written is not kept."""
        try:
            effect = next(verb)
            while True:
                effect = verb.send(self._state.revision + 1 if isinstance(effect, Put) else self._ask(effect))
        except StopIteration as end:
            answered: Answered = end.value
            return answered.object, None
        except ApiError as error:
            return None, error.status

    # ------------------------------------------------------------ what came of it

    def _told(
        self,
        ask: Ask,
        operation: str,
        target: Target,
        source: Json,
        answered: Json | None,
        status: Status | None,
        record: Record,
        *,
        compared: bool,
    ) -> Outcome:
        sent = metadata_of(source)

        def settle(value: Json) -> Json | None:
            made = self._unjudged(ask, operation, target, _in_namespace(value, target))
            return None if made is None else _shown(made, metadata_of(value))

        def unfit() -> str:
            return self._refusal(ask, operation, target, source) if ask.policies_only else ""

        made = None if operation == DELETE or answered is None else _shown(answered, sent)
        before = settle(source) if compared and operation in (CREATE, UPDATE) else None
        return Outcome(
            operation=operation,
            resource=".".join(p for p in (target.resource.singular, target.resource.group) if p),
            name=str(metadata_of(answered or {}).get("name") or target.name or sent.get("generateName") or ""),
            namespace=target.namespace,
            object=made,
            status=status,
            warnings=tuple(dict.fromkeys(record.warnings)),
            annotations=record.annotations,
            called=tuple(self._scripted.called),
            before=before,
            shape=self._state.known.shape(target.kind),
            record=record,
            settle=settle,
            unfit=unfit,
        )

    def _refusal(self, ask: Ask, operation: str, target: Target, source: Json) -> str:
        """Why the server would not take an object, even if no policy had anything against it."""
        if operation not in (CREATE, UPDATE):
            return ""
        context = self._context(ask, operation, Record(), admission=False)
        _, status = self._answered(self._verb(context, operation, target, source, replace(ask, policies_only=False)))
        return "" if status is None else status.message

    def _unjudged(self, ask: Ask, operation: str, target: Target, source: Json) -> Json | None:
        """An object as it would be if there were no admission; merely read, where it is invalid as it is."""
        if operation not in (CREATE, UPDATE) or target.subresource in ACTIONS:
            return None
        context = self._context(ask, operation, Record(), admission=False)
        made, status = self._answered(self._verb(context, operation, target, source, ask))
        if status is None:
            return made
        try:
            return bodies.read(context, target, self._body(operation, target, source))
        except ApiError:
            return None


def _shown(value: Json, sent: Json) -> Json:
    """An object without what a server makes up, unless it was sent."""
    return with_metadata(value, **{key: None for key in _MADE_UP if key not in sent or key == "managedFields"})


def _source(manifest: Manifest) -> Json:
    return current(manifest.value, manifest.kind)


def _in_namespace(value: Json, target: Target) -> Json:
    return with_metadata(value, namespace=target.namespace) if target.resource.namespaced else value


def _usual(target: Target, *, present: bool) -> str:
    """What is mostly done with such an object."""
    if not target.subresource:
        return UPDATE if present else CREATE
    if (target.resource.plural, target.subresource) in CONNECTIONS:
        return CONNECT
    return CREATE if target.subresource in ACTIONS else UPDATE


def _options(ask: Ask, operation: str) -> Options:
    if operation == CONNECT:
        return Options()
    raw: dict[str, Any] = {"kind": f"{operation.capitalize()}Options", "apiVersion": "meta.k8s.io/v1"}
    if ask.dry_run:
        raw["dryRun"] = ["All"]
    if operation != DELETE:
        raw |= {"fieldManager": MANAGER, "fieldValidation": ask.field_validation}
    return Options(dry_run=ask.dry_run, manager=MANAGER, field_validation=ask.field_validation, raw=raw)


def _ask_policies(context: Context, operation: str, target: Target, body: bytes, live: Json | None) -> Verb:
    """CREATE or UPDATE, as far as admission: an object that the server would refuse for other reasons is judged all the same."""
    new = bodies.read(context, target, body)
    attributes = Attributes(
        kind=target.kind,
        resource=target.gvr,
        operation=operation,
        name=target.name,
        namespace=target.admission_namespace,
        subresource=target.subresource,
        object=new,
        old_object=live if operation == UPDATE else None,
        options=context.options.raw or None,
        dry_run=context.options.dry_run,
        user=context.user,
    )
    if context.mutating:
        attributes = yield from chain.mutate(context.snapshot, attributes, context.world, context.record)
    if context.validating:
        yield from chain.validate(context.snapshot, attributes, context.world, context.record)
    return Answered(attributes.object or {})


def _connect(context: Context, target: Target, options: Json) -> Verb:
    """CONNECT, as far as admission: there is no node to connect to."""
    kind = CONNECTIONS[target.resource.plural, target.subresource]
    attributes = Attributes(
        kind=GroupVersionKind("", "v1", kind),
        resource=target.gvr,
        operation=CONNECT,
        name=target.name,
        namespace=target.namespace,
        subresource=target.subresource,
        object={"kind": kind, "apiVersion": "v1", **options},
        user=context.user,
    )
    after = yield from chain.mutate(context.snapshot, attributes, context.world, context.record)
    yield from chain.validate(context.snapshot, after, context.world, context.record)
    return Answered(after.object or {})
