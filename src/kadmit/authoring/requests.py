"""Single requests to a workspace, of every writing verb, each told as an Admission: what test fixtures and replays are made of.

Whoever has a file of manifests and wants them admitted in a row uses `admitting`; here the caller says what is done, and by whom.
"""

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any, TypeAlias

from kadmit.access import impersonation
from kadmit.access.rbac import Rbac
from kadmit.admission.outcome import Record
from kadmit.api.errors import ApiError
from kadmit.api.gojson import marshal
from kadmit.authoring import explanation
from kadmit.authoring.admitting import MANAGER, Admission
from kadmit.authoring.cluster import ADMIN, Request
from kadmit.authoring.explanation import DENIED, FAILED
from kadmit.authoring.manifests import File, Json, Manifest
from kadmit.authoring.workspace import Unusable, Workspace
from kadmit.cel.library.authorizer import Attributes, User
from kadmit.matching.attributes import CREATE, DELETE, UPDATE
from kadmit.resources import patching, verbs
from kadmit.resources.context import WARN, Context, Options, Target, metadata_of, with_metadata
from kadmit.resources.deleting import DeleteOptions

APPLY_PATCH, JSON_PATCH, MERGE_PATCH = patching.APPLY_PATCH, patching.JSON_PATCH, patching.MERGE_PATCH
STRATEGIC_PATCH = "application/strategic-merge-patch+json"

_MADE_UP = ("creationTimestamp", "managedFields", "resourceVersion", "uid")
_CALLS = ("mutation.webhook.admission.k8s.io/", "patch.webhook.admission.k8s.io/")


def person(name: str, groups: tuple[str, ...] = (), *, uid: str = "", extra: dict[str, tuple[str, ...]] | None = None) -> User:
    """A user with the groups that the server adds, as if an administrator impersonated them. Raises ValueError."""
    wanted = User(name, uid, groups, extra or {})
    found = impersonation.impersonate(Rbac.build(()), Attributes(ADMIN, "create"), wanted)
    if not isinstance(found, impersonation.Impersonated):
        raise ValueError(f"user {name!r}: {found}")
    return found.user


def manifest_of(value: Json, origin: str = "request") -> Manifest:
    """An object that no file holds."""
    return Manifest(File(origin, marshal(value).encode()), 0, value)


@dataclass(frozen=True, slots=True)
class How:
    """What a request has beside its object."""

    user: User = ADMIN
    dry_run: bool = False
    manager: str = MANAGER
    subresource: str = ""
    field_validation: str = WARN
    force: bool = False
    delete: DeleteOptions = field(default_factory=DeleteOptions)
    at: Target | None = None  # where, if not where objects of this kind and name are

    def options(self, kind: str) -> Options:
        raw: dict[str, Any] = {"kind": f"{kind}Options", "apiVersion": "meta.k8s.io/v1"}
        if self.dry_run:
            raw["dryRun"] = ["All"]
        if kind != "Delete":
            raw["fieldManager"] = self.manager
        if self.force:
            raw["force"] = True
        if kind == "Delete":
            raw |= _raw_deletion(self.delete)
        return Options(self.dry_run, self.manager, self.field_validation, self.force, raw)


def _raw_deletion(options: DeleteOptions) -> Json:
    raw = {"gracePeriodSeconds": options.grace_period, "propagationPolicy": options.propagation or None}
    return {k: v for k, v in raw.items() if v is not None}


PLAIN = How()
ALWAYS, REFUSED = "always", "refused"

_Maker: TypeAlias = Callable[[Context], verbs.Verb]


class Requests:
    """Requests to a workspace, one a turn. What is admitted is there for those that follow, unless it was a dry run."""

    def __init__(self, workspace: Workspace, *, calls: bool = False, compared: str = ALWAYS) -> None:
        """`calls`: whether somebody answers for webhooks; `compared`: when to work out the object without admission, always or
        when a request is refused by no policy."""
        self.workspace = workspace
        self.calls = calls
        self._compared = compared

    # ------------------------------------------------------------ verbs

    def create(self, manifest: Manifest, how: How = PLAIN) -> Admission:
        """POST. Raises Unusable where the kind is not known."""
        target = self._target(manifest, how)
        at = target if how.subresource else replace(target, name="")
        body = manifest.body if how.subresource else marshal(with_metadata(manifest.value, resourceVersion=None)).encode()

        def verb(context: Context) -> verbs.Verb:
            return verbs.create(context, self.workspace.cluster.state, at, body)

        return self._told(manifest, CREATE, target, verb, how, how.options("Create"))

    def update(self, manifest: Manifest, how: How = PLAIN) -> Admission:
        """PUT. An object that names no resourceVersion is written over whatever is there. Raises Unusable."""
        target = self._target(manifest, how)
        state = self.workspace.cluster.state
        live = None if manifest.metadata.get("resourceVersion") else verbs.stored(state, target)
        version = metadata_of(live or {}).get("resourceVersion")
        body = marshal(with_metadata(manifest.value, resourceVersion=version)).encode() if version else manifest.body

        def verb(context: Context) -> verbs.Verb:
            return verbs.update(context, state, target, body)

        return self._told(manifest, UPDATE, target, verb, how, how.options("Update"))

    def patch(self, manifest: Manifest, patch: bytes, patch_type: str, how: How = PLAIN) -> Admission:
        """PATCH of the object that the manifest names. Raises Unusable."""
        target = self._target(manifest, how)
        state = self.workspace.cluster.state
        operation = UPDATE if verbs.stored(state, target) is not None else CREATE

        def verb(context: Context) -> verbs.Verb:
            return verbs.patch(context, state, target, patch, patch_type)

        return self._told(manifest, operation, target, verb, how, how.options("Patch"))

    def apply(self, manifest: Manifest, how: How = PLAIN) -> Admission:
        """Server-side apply. Raises Unusable."""
        return self.patch(manifest, manifest.body, APPLY_PATCH, how)

    def delete(self, manifest: Manifest, how: How = PLAIN) -> Admission:
        """DELETE of the object that the manifest names. Raises Unusable."""
        target = self._target(manifest, how)

        def verb(context: Context) -> verbs.Verb:
            return verbs.delete(context, self.workspace.cluster.state, target, how.delete)

        return self._told(manifest, DELETE, target, verb, how, how.options("Delete"))

    # ------------------------------------------------------------ one request

    def _target(self, manifest: Manifest, how: How) -> Target:
        """Where an object lives. A namespace that nobody made is made up."""
        workspace = self.workspace
        try:
            target = how.at or workspace.cluster.target(manifest.value)
        except ApiError as e:
            raise Unusable(f"{manifest.place()}: {e}") from None
        if target.namespace and not workspace.has_namespace(target.namespace):
            workspace.make_namespace(target.namespace)
        return replace(target, subresource=how.subresource)

    def _told(self, manifest: Manifest, operation: str, target: Target, verb: _Maker, how: How, options: Options) -> Admission:
        self.workspace.next_turn()
        cluster = self.workspace.cluster
        before = self._unjudged(verb, how, options) if self._compared == ALWAYS and operation != DELETE else None
        request = Request(how.user, options, Record(events=[], warnings=list(manifest.repeated)))
        answered, status = None, None
        try:
            answered = cluster.do(verb, request).object
        except ApiError as error:
            status = error.status
        made = None if operation == DELETE else answered
        sent, record = manifest.metadata, request.record
        steps = explanation.steps(cluster.state, record, calls=self.calls, refused=status is not None)
        if status is not None and self._compared == REFUSED and not any(s.did in (DENIED, FAILED) for s in steps):
            before = self._unjudged(verb, how, options)
        return Admission(
            manifest,
            operation,
            ".".join(p for p in (target.resource.singular, target.resource.group) if p),
            str(metadata_of(made or {}).get("name") or manifest.name),
            target.namespace,
            None if before is None else shown(before, sent),
            None if made is None else shown(made, sent),
            status,
            tuple(dict.fromkeys(record.warnings)),
            self._annotations(record),
            steps,
            record,
        )

    def _annotations(self, record: Record) -> dict[str, str]:
        """NB: what a webhook left that nobody called would be made up."""
        return {k: v for k, v in record.annotations.items() if self.calls or not k.startswith(_CALLS)}

    def _unjudged(self, verb: _Maker, how: How, options: Options) -> Json | None:
        """The object as it would be if there were no admission: what a diff starts from; None where it would not be."""
        state = self.workspace.cluster.state
        context = Context(
            state.known,
            state.world(None),
            state.snapshot,
            how.user,
            replace(options, dry_run=True),
            self.workspace.given(),
            Record(),
            state.pool,
            mutating=False,
            validating=False,
            allow_privileged=True,
        )
        try:
            next(verb(context))
        except StopIteration as end:
            answered: verbs.Answered = end.value
            return answered.object
        except ApiError:
            return None
        return None


def shown(value: Json, sent: Json) -> Json:
    """An object without what a server makes up, unless it was sent."""
    return with_metadata(value, **{key: None for key in _MADE_UP if key not in sent or key == "managedFields"})
