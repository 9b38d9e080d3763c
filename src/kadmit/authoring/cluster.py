"""A cluster in memory: objects, and every verb on them, with admission. No server, no clock of its own, no waiting.

Commands and tests fill it from files and send it requests; it answers as the API server would. Webhooks are answered by whoever
is given as `ask`. A written policy counts for the very next request.
"""

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

from msgspec import Struct, field

from kadmit.admission.answers import Answer
from kadmit.admission.outcome import Record
from kadmit.admission.webhooks import Call
from kadmit.api import errors
from kadmit.api.meta import GroupVersionKind
from kadmit.cel.library.authorizer import Authorizer, User
from kadmit.kinds import decoding
from kadmit.kinds.known import Known
from kadmit.matching.attributes import Json
from kadmit.resources import verbs
from kadmit.resources.context import Context, Given, Options, Target, metadata_of, with_metadata
from kadmit.resources.deleting import DeleteOptions
from kadmit.resources.effects import Put
from kadmit.resources.state import State
from kadmit.resources.verbs import Answered, Verb

Ask = Callable[[Sequence[Call]], Sequence[Answer]]

ADMIN = User("admin", "admin-uid", ("system:masters", "system:authenticated"))


def nobody_answers(calls: Sequence[Call]) -> Sequence[Answer]:
    """For clusters whose webhooks are not to be called."""
    return [Answer(failure="failed to call webhook: webhooks are not called here") for _ in calls]


def allowing(calls: Sequence[Call]) -> Sequence[Answer]:
    """Stands in for webhooks that are not called: each allows what it is asked."""
    return [Answer(review=_allowed(call), stand_in=True) for call in calls]


def _allowed(call: Call) -> Json:
    return {
        "apiVersion": f"admission.k8s.io/{call.version}",
        "kind": "AdmissionReview",
        "response": {"uid": "", "allowed": True},
    }


class Request(Struct):
    """Who asks, and how; everything has a default."""

    user: User = ADMIN
    options: Options = field(default_factory=Options)
    record: Record = field(default_factory=Record)
    authorizer: Authorizer | None = None  # who says what the user may do, if not the cluster's own
    judged: bool = True  # whether there is admission, and whether anybody asks what the user may do
    kept: bool = True  # whether what is written stays


class Cluster:
    """Requests in, answers out. Its state is its store: every write counts at once."""

    def __init__(self, *, ask: Ask = nobody_answers, given: Callable[[], Given] | None = None) -> None:
        self.state = State()
        self.ask = ask
        self.authorizer: Authorizer | None = self.state.rbac
        self.allow_privileged = False
        self._given = given or self._made_up
        self._count = 0

    @property
    def known(self) -> Known:
        return self.state.known

    def _made_up(self) -> Given:
        """Uids and names that only need to differ; a moment that only needs to be one."""
        self._count += 1
        return Given("2026-01-01T00:00:00Z", f"00000000-0000-4000-8000-{self._count:012d}", f"{self._count:05d}"[-5:])

    def target(self, value: Mapping[str, Any]) -> Target:
        """Where an object lives. Raises ApiError for a kind that nobody knows, and for a name that is none."""
        api_version = str(value.get("apiVersion") or "")
        group, _, version = api_version.rpartition("/")
        resource = self.known.kind(GroupVersionKind(group, version, str(value.get("kind") or "")))
        if resource is None:
            raise errors.bad_request(f'no matches for kind "{value.get("kind") or ""}" in version "{api_version}"')
        metadata = metadata_of(dict(value))
        namespace = (_text(metadata, "namespace") or "default") if resource.namespaced else ""
        return Target(resource, namespace, _text(metadata, "name"))

    def _context(self, request: Request) -> Context:
        state = self.state
        world = state.world((request.authorizer or self.authorizer) if request.judged else None)
        given = self._given()
        return Context(
            state.known,
            world,
            state.snapshot,
            request.user,
            request.options,
            given,
            request.record,
            state.pool,
            mutating=request.judged,
            validating=request.judged,
            allow_privileged=self.allow_privileged,
        )

    def _run(self, verb: Verb, put: Callable[[Put], int]) -> Answered:
        """Do what a verb asks for, until it answers. Raises ApiError."""
        try:
            effect = next(verb)
            while True:
                effect = verb.send(put(effect) if isinstance(effect, Put) else self.ask(effect))
        except StopIteration as end:
            answered: Answered = end.value
            return answered

    def _put(self, put: Put) -> int:
        """NB: nobody else writes here, so what a verb has read is what is there."""
        revision = self.state.revision + 1
        value = None if put.value is None else with_metadata(put.value, resourceVersion=str(revision))
        self.state.apply(put.place, put.name, value, revision)
        return revision

    def _pretend(self, put: Put) -> int:
        """A write of which nothing stays."""
        return self.state.revision + 1

    # ------------------------------------------------------------ verbs

    def do(self, verb: Callable[[Context], Verb], request: Request) -> Answered:
        """Any verb, as its maker wants it. Raises ApiError."""
        return self._run(verb(self._context(request)), self._put if request.kept else self._pretend)

    def find(self, target: Target) -> Json:
        """GET. Raises ApiError."""
        return verbs.find(self.state, target)

    def create(self, target: Target, body: bytes, request: Request, *, is_yaml: bool = False) -> Answered:
        """POST. Raises ApiError."""
        return self.do(partial(verbs.create, state=self.state, target=target, body=body, is_yaml=is_yaml), request)

    def update(self, target: Target, body: bytes, request: Request, *, is_yaml: bool = False) -> Answered:
        """PUT. Raises ApiError."""
        return self.do(partial(verbs.update, state=self.state, target=target, body=body, is_yaml=is_yaml), request)

    def patch(self, target: Target, body: bytes, patch_type: str, request: Request) -> Answered:
        """PATCH. Raises ApiError."""
        return self.do(partial(verbs.patch, state=self.state, target=target, body=body, patch_type=patch_type), request)

    def delete(self, target: Target, options: DeleteOptions, request: Request) -> Answered:
        """DELETE. Raises ApiError."""
        return self.do(partial(verbs.delete, state=self.state, target=target, options=options), request)

    def put(self, value: Json) -> None:
        """Place an object as it is: fixtures that nobody judges."""
        target = self.target(value)
        placed = with_metadata(value, namespace=target.namespace) if target.resource.namespaced else value
        name = (target.namespace if target.resource.namespaced else "", target.name)
        self._put(Put((target.resource.group, target.resource.plural), name, placed, None))

    def remove(self, value: Json) -> None:
        """Take away the object of that kind and name, as if it had never been."""
        target = self.target(value)
        name = (target.namespace if target.resource.namespaced else "", target.name)
        self._put(Put((target.resource.group, target.resource.plural), name, None, None))


def _text(metadata: Mapping[str, Any], key: str) -> str:
    """Raises ApiError."""
    found = metadata.get(key) or ""
    if not isinstance(found, str):
        shown = decoding.called(found)
        raise errors.bad_request(f"json: cannot unmarshal {shown} into Go struct field ObjectMeta.metadata.{key} of type string")
    return found
