"""A cluster for the cases of a suite: each finds it as the fixtures made it, whatever the others did.

Nothing that a request writes is kept, and what a case needs besides is taken away again. So a suite's policies are compiled once,
and cases may run in any order and in any process.
"""

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from typing import Any

from msgspec.structs import replace

from kadmit.admission.answers import Answer
from kadmit.admission.outcome import Record
from kadmit.admission.webhooks import Call
from kadmit.api.errors import ApiError
from kadmit.authoring import request
from kadmit.authoring.admission import shown
from kadmit.authoring.cluster import ADMIN
from kadmit.authoring.manifests import Json, Manifest
from kadmit.authoring.registering import current
from kadmit.authoring.request import Maker, Wanted
from kadmit.authoring.suite import judging
from kadmit.authoring.suite.model import Ask, Case, Scripts
from kadmit.authoring.suite.outcome import Outcome
from kadmit.authoring.suite.webhooks import Scripted
from kadmit.authoring.workspace import Unusable, Workspace
from kadmit.cel.library.authorizer import User
from kadmit.matching.attributes import CONNECT, CREATE, DELETE, UPDATE
from kadmit.resources import connections, verbs
from kadmit.resources.context import Options, Target, metadata_of, with_metadata
from kadmit.resources.state import Name, Place, place_of

ACTIONS = ("binding", "eviction")  # parts of an object to which something is posted


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
            from kadmit.authoring.person import person

            self._users[key] = person(ask.user, ask.groups, uid=ask.uid, extra=ask.extra)
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
        self._scripted = Scripted(scripts)
        return self._outcome(ask, operation, target, compared=compared, followed=followed)

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
        if operation == CONNECT and not connections.is_about(target):
            there = ", ".join(f"{plural}/{sub}" for plural, sub in connections.OPTIONS)
            raise Unusable(f"{main.place()}: nobody connects to {target.resource.plural}: subresources to CONNECT to are {there}")
        return operation

    def _outcome(self, ask: Ask, operation: str, target: Target, *, compared: bool, followed: bool) -> Outcome:
        """Webhooks answer from their scripts; what is written is not kept."""
        manifest = ask.object or ask.old
        assert manifest is not None
        source = current(manifest.value, manifest.kind)
        wanted = self._wanted(ask, manifest, operation, target, source)
        record = Record(events=[] if followed else None)
        answered, status = request.answer(self._cluster, wanted, record, kept=False)

        def settle(value: Json) -> Json | None:
            made = self._unjudged(self._wanted(ask, manifest, operation, target, value))
            return None if made is None else shown(made, metadata_of(value))

        def unfit() -> str:
            return self._refusal(replace(ask, policies_only=False), wanted) if ask.policies_only else ""

        before = self._unjudged(wanted) if compared else None
        return Outcome(
            admission=request.told(wanted, record, answered, status, before),
            called=tuple(self._scripted.called),
            shape=self._state.known.shape(target.kind),
            settle=settle,
            unfit=unfit,
        )

    def _wanted(self, ask: Ask, manifest: Manifest, operation: str, target: Target, source: Json) -> Wanted:
        body = request.body(self._state, operation, target, _in_namespace(source, target))
        verb = self._verb(ask, operation, target, body)
        return Wanted(manifest, operation, target, verb, _options(ask, operation), self._user(ask), body)

    def _verb(self, ask: Ask, operation: str, target: Target, body: bytes) -> Maker:
        if operation == CONNECT:
            return partial(judging.connect, target=target, options=ask.options)
        if ask.policies_only and operation != DELETE:
            live = verbs.stored(self._state, target)
            return partial(judging.write, operation=operation, target=target, body=body, live=live)
        return request.verb(self._state, operation, target, body)

    # ------------------------------------------------------------ without admission

    def _refusal(self, ask: Ask, wanted: Wanted) -> str:
        """Why the server would not take an object, even if no policy had anything against it."""
        if wanted.operation not in (CREATE, UPDATE):
            return ""
        fully = replace(wanted, verb=self._verb(ask, wanted.operation, wanted.target, wanted.body))
        _, status = request.answer(self._cluster, fully, Record(), judged=False, kept=False)
        return "" if status is None else status.message

    def _unjudged(self, wanted: Wanted) -> Json | None:
        """An object as it would be if there were no admission; merely read, where it is invalid as it is."""
        if wanted.operation not in (CREATE, UPDATE) or wanted.target.subresource in ACTIONS:
            return None
        return request.unjudged(self._cluster, wanted) or request.as_read(self._cluster, wanted)


def _in_namespace(value: Json, target: Target) -> Json:
    return with_metadata(value, namespace=target.namespace) if target.resource.namespaced else value


def _usual(target: Target, *, present: bool) -> str:
    """What is mostly done with such an object."""
    if not target.subresource:
        return UPDATE if present else CREATE
    if connections.is_about(target):
        return CONNECT
    return CREATE if target.subresource in ACTIONS else UPDATE


def _options(ask: Ask, operation: str) -> Options:
    if operation == CONNECT:
        return Options()
    more = {} if operation == DELETE else {"fieldValidation": ask.field_validation}
    return request.options(operation, dry_run=ask.dry_run, field_validation=ask.field_validation, more=more)
