"""Single requests to a workspace, of every writing verb, each told as an Admission: what test fixtures and replays are made of.

Whoever has a file of manifests and wants them admitted in a row uses `admitting`; here the caller says what is done, and by whom.
"""

from functools import partial

from msgspec import Struct, field
from msgspec.structs import replace

from kadmit.admission.outcome import Record
from kadmit.api.errors import ApiError
from kadmit.authoring import explanation, request
from kadmit.authoring.admission import Admission
from kadmit.authoring.cluster import ADMIN
from kadmit.authoring.explanation import DENIED, FAILED
from kadmit.authoring.manifests import Json, Manifest
from kadmit.authoring.request import MANAGER, PATCH, Wanted
from kadmit.authoring.workspace import Unusable, Workspace
from kadmit.cel.library.authorizer import User
from kadmit.matching.attributes import CREATE, DELETE, UPDATE
from kadmit.resources import verbs
from kadmit.resources.context import WARN, Options, Target
from kadmit.resources.deleting import DeleteOptions
from kadmit.resources.patching import APPLY_PATCH

ALWAYS, REFUSED = "always", "refused"


class How(Struct, frozen=True):
    """What a request has beside its object."""

    user: User = ADMIN
    dry_run: bool = False
    manager: str = MANAGER
    subresource: str = ""
    field_validation: str = WARN
    force: bool = False
    delete: DeleteOptions = field(default_factory=DeleteOptions)
    at: Target | None = None  # where, if not where objects of this kind and name are

    def options(self, verb: str) -> Options:
        return request.options(
            verb,
            dry_run=self.dry_run,
            manager=self.manager,
            field_validation=self.field_validation,
            force=self.force,
            more=_raw_deletion(self.delete) if verb == DELETE else None,
        )


def _raw_deletion(options: DeleteOptions) -> Json:
    raw = {"gracePeriodSeconds": options.grace_period, "propagationPolicy": options.propagation or None}
    return {k: v for k, v in raw.items() if v is not None}


PLAIN = How()


class WorkspaceClient:
    """Requests to a workspace, one a turn. What is admitted is there for those that follow, unless it was a dry run."""

    def __init__(self, workspace: Workspace, *, calls: bool = False, compared: str = ALWAYS) -> None:
        """`calls`: whether somebody answers for webhooks; `compared`: when to work out the object without admission, always or
        when a request is refused by no policy."""
        self.workspace = workspace
        self.calls = calls
        self._cluster = workspace.cluster
        self._state = workspace.cluster.state
        self._compared = compared

    # ------------------------------------------------------------ verbs

    def create(self, manifest: Manifest, how: How = PLAIN) -> Admission:
        """POST. Raises Unusable where the kind is not known."""
        target = self._target(manifest, how)
        body = manifest.body if how.subresource else request.body(self._state, CREATE, target, manifest.value)
        return self._written(manifest, CREATE, target, body, how)

    def update(self, manifest: Manifest, how: How = PLAIN) -> Admission:
        """PUT. An object that names no resourceVersion is written over whatever is there. Raises Unusable."""
        target = self._target(manifest, how)
        as_it_is = manifest.metadata.get("resourceVersion") or verbs.stored(self._state, target) is None
        body = manifest.body if as_it_is else request.body(self._state, UPDATE, target, manifest.value)
        return self._written(manifest, UPDATE, target, body, how)

    def patch(self, manifest: Manifest, patch: bytes, patch_type: str, how: How = PLAIN) -> Admission:
        """PATCH of the object that the manifest names. Raises Unusable."""
        target = self._target(manifest, how)
        operation = UPDATE if verbs.stored(self._state, target) is not None else CREATE
        verb = partial(verbs.patch, state=self._state, target=target, body=patch, patch_type=patch_type)
        return self._admission(Wanted(manifest, operation, target, verb, how.options(PATCH), how.user))

    def apply(self, manifest: Manifest, how: How = PLAIN) -> Admission:
        """Server-side apply. Raises Unusable."""
        return self.patch(manifest, manifest.body, APPLY_PATCH, how)

    def delete(self, manifest: Manifest, how: How = PLAIN) -> Admission:
        """DELETE of the object that the manifest names. Raises Unusable."""
        return self._written(manifest, DELETE, self._target(manifest, how), b"", how)

    # ------------------------------------------------------------ one request

    def _target(self, manifest: Manifest, how: How) -> Target:
        """Where an object lives. A namespace that nobody made is made up."""
        workspace = self.workspace
        try:
            target = how.at or self._cluster.target(manifest.value)
        except ApiError as e:
            raise Unusable(f"{manifest.place()}: {e}") from None
        if target.namespace and not workspace.has_namespace(target.namespace):
            workspace.make_namespace(target.namespace)
        return replace(target, subresource=how.subresource)

    def _written(self, manifest: Manifest, operation: str, target: Target, body: bytes, how: How) -> Admission:
        verb = request.verb(self._state, operation, target, body, how.delete)
        return self._admission(Wanted(manifest, operation, target, verb, how.options(operation), how.user, body))

    def _admission(self, wanted: Wanted) -> Admission:
        self.workspace.next_turn()
        before = self._before(wanted) if self._compared == ALWAYS and wanted.operation != DELETE else None
        record = Record(events=[], warnings=list(wanted.manifest.repeated))
        answered, status = request.answer(self._cluster, wanted, record)
        steps = explanation.steps(self._state, record, calls=self.calls, refused=status is not None)
        if status is not None and self._compared == REFUSED and not any(s.did in (DENIED, FAILED) for s in steps):
            before = self._before(wanted)
        return request.told(wanted, record, answered, status, before, calls=self.calls, steps=steps)

    def _before(self, wanted: Wanted) -> Json | None:
        return request.unjudged(self._cluster, wanted.as_dry_run())
