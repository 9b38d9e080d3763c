"""One request to a cluster out of files: how it is put, what comes of it, and how that is told.

Whoever makes requests says what is wanted, with a verb that can be made as often as somebody asks: with admission, without it,
or without keeping what is written. `admitting` takes manifests in a row, `client` makes single requests of every verb, and
`suite.world` tries requests that leave nothing behind.
"""

from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, TypeAlias

from msgspec import Struct
from msgspec.structs import replace

from kadmit.admission.outcome import Record
from kadmit.api.errors import ApiError, Status
from kadmit.api.gojson import marshal
from kadmit.authoring.admission import OF_CALLS, Admission, shown
from kadmit.authoring.cluster import ADMIN, Cluster, Request
from kadmit.authoring.manifests import Json, Manifest
from kadmit.authoring.remembering import Remembering
from kadmit.cel.library.authorizer import User
from kadmit.matching.attributes import CREATE, DELETE, UPDATE
from kadmit.resources import bodies, verbs
from kadmit.resources.context import WARN, Context, Options, Target, metadata_of, with_metadata
from kadmit.resources.deleting import DeleteOptions
from kadmit.resources.state import State
from kadmit.resources.verbs import Answered, Verb

if TYPE_CHECKING:
    from kadmit.authoring.explanation import Step

MANAGER = "kadmit"
PATCH = "PATCH"

Maker: TypeAlias = Callable[[Context], Verb]


class Wanted(Struct, frozen=True):
    """A request that can be made. `manifest` is what it is told about; `body` is what is sent."""

    manifest: Manifest
    operation: str
    target: Target
    verb: Maker
    options: Options
    user: User = ADMIN
    body: bytes = b""

    def as_dry_run(self) -> "Wanted":
        """To the server, that is: the options that admission is shown are the same."""
        return replace(self, options=replace(self.options, dry_run=True))


# ---------------------------------------------------------------- how it is put


def options(
    verb: str,
    *,
    dry_run: bool = False,
    manager: str = MANAGER,
    field_validation: str = WARN,
    force: bool = False,
    more: Json | None = None,
) -> Options:
    """Options of CREATE, UPDATE, PATCH or DELETE; `more` is what admission is shown besides."""
    raw: dict[str, Any] = {"kind": f"{verb.capitalize()}Options", "apiVersion": "meta.k8s.io/v1"}
    if dry_run:
        raw["dryRun"] = ["All"]
    if verb != DELETE:
        raw["fieldManager"] = manager
    if force:
        raw["force"] = True
    return Options(dry_run, manager, field_validation, force, raw | (more or {}))


def body(state: State, operation: str, target: Target, value: Json) -> bytes:
    """NB: a file holds what somebody read once: the version it had then says nothing here."""
    if operation not in (CREATE, UPDATE):
        return b""
    live = verbs.stored(state, target) if operation == UPDATE else None
    return marshal(with_metadata(value, resourceVersion=metadata_of(live or {}).get("resourceVersion"))).encode()


def verb(state: State, operation: str, target: Target, sent: bytes, deletion: DeleteOptions | None = None) -> Maker:
    """POST, PUT or DELETE. A new object's name stands in its body, that of an object to whose part is posted in the URL."""
    if operation == DELETE:
        return partial(verbs.delete, state=state, target=target, options=deletion or DeleteOptions())
    if operation == UPDATE:
        return partial(verbs.update, state=state, target=target, body=sent)
    return partial(verbs.create, state=state, target=target if target.subresource else replace(target, name=""), body=sent)


# ---------------------------------------------------------------- what comes of it


def answer(
    cluster: Cluster, wanted: Wanted, record: Record, *, judged: bool = True, kept: bool = True
) -> tuple[Json | None, Status | None]:
    """An object, or why there is none."""
    authorizer = None if cluster.authorizer is None else Remembering(cluster.authorizer)
    request = Request(wanted.user, wanted.options, record, authorizer=authorizer, judged=judged, kept=kept)
    try:
        return cluster.do(wanted.verb, request).object, None
    except ApiError as error:
        return None, error.status


def unjudged(cluster: Cluster, wanted: Wanted) -> Json | None:
    """The object as it would be if there were no admission: what a diff starts from; None where it would not be."""
    return answer(cluster, wanted, Record(), judged=False, kept=False)[0]


def as_read(cluster: Cluster, wanted: Wanted) -> Json | None:
    """The object as it was sent, with its defaults: where it is invalid, and perhaps a policy repairs it."""
    return unjudged(cluster, replace(wanted, verb=partial(_reading, target=wanted.target, body=wanted.body)))


def _reading(context: Context, target: Target, body: bytes) -> Verb:
    yield from ()
    return Answered(bodies.read(context, target, body))


# ---------------------------------------------------------------- how that is told


def told(
    wanted: Wanted,
    record: Record,
    answered: Json | None,
    status: Status | None,
    before: Json | None,
    *,
    calls: bool = True,
    steps: "Sequence[Step]" = (),
) -> Admission:
    """`calls`: whether somebody answers for webhooks. NB: what a webhook left that nobody called would be made up."""
    manifest, target = wanted.manifest, wanted.target
    made = None if wanted.operation == DELETE else answered
    sent = manifest.metadata
    return Admission(
        manifest,
        wanted.operation,
        ".".join(p for p in (target.resource.singular, target.resource.group) if p),
        str(metadata_of(made or {}).get("name") or manifest.name or target.name),
        target.namespace,
        None if before is None else shown(before, sent),
        None if made is None else shown(made, sent),
        status,
        tuple(dict.fromkeys(record.warnings)),
        {k: v for k, v in record.annotations.items() if calls or not k.startswith(OF_CALLS)},
        steps,
        record,
    )
