"""Objects at rest before new policies: each as a CREATE of itself, or as an UPDATE that changes nothing.

An object that a policy would deny now can still be there: nobody asks until somebody writes. This asks.
"""

from collections.abc import Iterable, Sequence
from typing import Any, TypeAlias

from msgspec.structs import replace

from kadmit.api.errors import ApiError
from kadmit.api.meta import GroupVersionKind
from kadmit.authoring.admission import Admission
from kadmit.authoring.client import How
from kadmit.authoring.cluster import ADMIN
from kadmit.authoring.manifests import Manifest
from kadmit.authoring.replaying.findings import Findings
from kadmit.authoring.replaying.replay import Judge, is_refused_anyway, judged
from kadmit.authoring.workspace import Unusable
from kadmit.cel.library.authorizer import User
from kadmit.matching.attributes import CREATE, UPDATE
from kadmit.resources.context import Target, metadata_of, with_metadata
from kadmit.resources.state import CRDS, REGISTRATION, place_of

Json: TypeAlias = dict[str, Any]

_OF_A_SERVER = ("managedFields", "resourceVersion", "uid", "selfLink", "generation", "creationTimestamp")


class Impact:
    """Policies, and the objects that are to be held against them."""

    def __init__(
        self, manifests: Iterable[Manifest], *, operations: Sequence[str] = (UPDATE,), user: User = ADMIN, examples: int = 3
    ) -> None:
        """Raises Unusable."""
        self.judge = Judge(manifests)
        self._cluster = self.judge.workspace.cluster
        self.operations = operations
        self._user = user
        self.findings = Findings(examples)
        self.objects = 0
        self._told: set[tuple[str, ...]] = set()  # objects of which it is told already that they cannot be judged

    def surround(self, manifests: Iterable[Manifest]) -> None:
        """Objects that are only there to be asked about: namespaces, kinds, roles, params. What configures admission is not."""
        for manifest in manifests:
            if manifest.kind.group == REGISTRATION:
                continue
            try:
                self.judge.workspace.put(manifest)
            except Unusable as e:
                self._told.add(_identity(manifest))
                reason = self._why_not(manifest) or "cannot be in a cluster"
                self.findings.miss(reason, {"object": _title(manifest), "message": str(e)})

    def take(self, manifest: Manifest, *, file: str = "") -> None:
        """One object. NB: what it is in is given by `surround` before."""
        self.objects += 1
        if _identity(manifest) in self._told:
            return
        reason = self._why_not(manifest)
        if reason:
            self.findings.miss(reason, {"object": _title(manifest), **({"file": file} if file else {})})
            return
        target = self._cluster.target(manifest.value)
        for operation in self.operations:
            self._ask(manifest, target, operation, file)

    def _why_not(self, manifest: Manifest) -> str:
        kind = manifest.kind
        resource = self._cluster.known.kind(GroupVersionKind(*kind))
        if kind.group == REGISTRATION:
            return "configures admission itself, which policies do not judge"
        if resource is None:
            version = "/".join(part for part in kind[:2] if part)
            return f"{kind.kind} in version {version} is not known: give its CustomResourceDefinition with -f"
        if not metadata_of(manifest.value).get("name"):
            return "has no name"
        if "update" not in resource.verbs:
            return f"{kind.kind} cannot be updated"
        return ""

    def _ask(self, manifest: Manifest, target: Target, operation: str, file: str) -> None:
        if not self.judge.may_matter(target.resource, "", operation):
            self.findings.replayed += 1
            self.findings.unaffected += 1
            return
        try:
            admission = self._sent(manifest, target, operation)
        except (Unusable, ApiError) as e:
            self.findings.miss("cannot be in a cluster", {"object": _title(manifest), "message": str(e)})
            return
        if is_refused_anyway(admission):
            status = admission.status
            assert status is not None
            example = {"object": _title(manifest), "message": status.message}
            self.findings.miss(
                f"{operation} is refused by the API itself, without any policy ({status.code} {status.reason})", example
            )
            return
        self.findings.add(judged(admission, target, self._user, {"file": file}))

    def _sent(self, manifest: Manifest, target: Target, operation: str) -> Admission:
        """NB: as a dry run would be seen by policies, the request is none; the cluster is put back in order instead."""
        how = How(self._user)
        before = self._cluster.state.get(place_of(target.resource), target.namespace, target.name)
        sent = replace(manifest, value=with_metadata(manifest.value, **dict.fromkeys(_OF_A_SERVER)))
        try:
            if operation == CREATE:
                self._set(target, None)
                return self.judge.client.create(sent, how)
            self._make_namespace(target)
            self.judge.workspace.put(sent)
            live = self._cluster.find(target)
            same = with_metadata(live, managedFields=None)
            return self.judge.client.update(replace(manifest, value=same), how)
        finally:
            self._set(target, before)

    def _make_namespace(self, target: Target) -> None:
        if target.namespace and not self.judge.workspace.has_namespace(target.namespace):
            self.judge.workspace.make_namespace(target.namespace)

    def _set(self, target: Target, value: Json | None) -> None:
        place = place_of(target.resource)
        if place != CRDS:  # NB: kinds stay known
            state = self._cluster.state
            state.apply(place, (target.namespace, target.name), value, state.revision + 1)


def _identity(manifest: Manifest) -> tuple[str, ...]:
    return (*manifest.kind, str(manifest.metadata.get("namespace") or ""), manifest.name)


def _title(manifest: Manifest) -> str:
    namespace = manifest.metadata.get("namespace")
    name = f"{namespace}/{manifest.name}" if namespace else manifest.name
    return f"{manifest.kind.kind} {name}"
