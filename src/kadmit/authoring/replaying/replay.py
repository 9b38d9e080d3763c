"""Requests of the past through new policies: what would be denied, changed or warned of.

The cluster is made of files and of what the log shows: after each request it is as the log says that it was then, not as it would
be with the new policies. A log never tells the object before a change; where nothing before has shown it, the change is taken for
one that changes nothing, and that is counted. Only what policies can ask about is kept, and only so much of it.
"""

from collections import OrderedDict
from collections.abc import Iterable
from typing import Any, TypeAlias

from msgspec.structs import replace

from kadmit.api.meta import GroupVersionKind, GroupVersionResource
from kadmit.authoring.admission import Admission
from kadmit.authoring.client import REFUSED, How, WorkspaceClient
from kadmit.authoring.cluster import allowing
from kadmit.authoring.explanation import CHANGED, DENIED, FAILED
from kadmit.authoring.manifests import File, Manifest
from kadmit.authoring.replaying.findings import Findings, Judged
from kadmit.authoring.replaying.log import Line, Logged, Origin, Unreplayable
from kadmit.authoring.workspace import Unusable, Workspace
from kadmit.cel.library.authorizer import User
from kadmit.kinds.catalog import Resource
from kadmit.matching.attributes import CREATE, DELETE, UPDATE, Attributes
from kadmit.resources.context import Target, metadata_of, with_metadata
from kadmit.resources.state import CRDS, NAMESPACES, RBAC, REGISTRATION, Place, place_of

Json: TypeAlias = dict[str, Any]

KEPT = 20_000  # objects of the log; the ones that were longest not seen go first
UNKNOWN_OLD = "the object before an UPDATE is not in the log: taken to be the same as after it"
UNREADABLE = "an object of the log is not as its kind should be, and is not remembered"

_OPERATIONS = (CREATE, UPDATE, DELETE)
_OF_A_SERVER = ("managedFields", "resourceVersion", "uid", "selfLink")


class Judge:
    """Policies of files, and one request after another before them."""

    def __init__(self, manifests: Iterable[Manifest]) -> None:
        """Raises Unusable."""
        self.workspace = Workspace(manifests, ask=allowing)
        self.client = WorkspaceClient(self.workspace, compared=REFUSED)

    def may_matter(self, resource: Resource, subresource: str, operation: str) -> bool:
        """Whether any policy or webhook could be about such a request."""
        state = self.workspace.cluster.state
        gvr = GroupVersionResource(*resource.gvr)
        asked = Attributes(GroupVersionKind(*resource.gvk), gvr, operation, subresource=subresource)
        found = state.snapshot.candidates(asked, state.known)
        return bool(found.mutating_policies or found.mutating_webhooks or found.validating_policies or found.validating_webhooks)

    def is_asked_about(self, resource: Resource) -> bool:
        """Whether objects of a resource decide anything: namespaces, roles, kinds, params, and what is matched itself."""
        place = place_of(resource)
        if place in (NAMESPACES, CRDS) or place[0] == RBAC or (resource.group, resource.kind) in self.params():
            return True
        return any(self.may_matter(resource, "", operation) for operation in _OPERATIONS) or any(
            self.may_matter(resource, part.name, operation) for part in resource.subresources for operation in _OPERATIONS
        )

    def params(self) -> set[tuple[str, str]]:
        """Groups and kinds of which policies take their params."""
        snapshot = self.workspace.cluster.state.snapshot
        kinds = [b.policy.param_kind for b in (*snapshot.mutating_policies, *snapshot.validating_policies)]
        return {(kind.group, kind.kind) for kind in kinds if kind is not None}


def is_refused_anyway(admission: Admission) -> bool:
    """Whether the API itself would refuse it, whatever policies say."""
    by_policies = any(step.did in (DENIED, FAILED) for step in admission.steps)
    made_invalid = admission.before is not None and any(step.did == CHANGED for step in admission.steps)
    return admission.status is not None and not by_policies and not made_invalid


def judged(admission: Admission, target: Target, user: User, example: Json) -> Judged:
    return Judged(
        admission.operation,
        resource_text(GroupVersionResource(*target.resource.gvr), target.subresource),
        target.namespace,
        admission.name,
        user.name,
        admission.allowed,
        admission.steps,
        "" if admission.status is None else admission.status.message,
        example,
    )


def resource_text(resource: GroupVersionResource, subresource: str = "") -> str:
    """pods, deployments.apps, pods/status."""
    name = f"{resource.resource}.{resource.group}" if resource.group else resource.resource
    return f"{name}/{subresource}" if subresource else name


class Replay:
    """A log, one line after another."""

    def __init__(self, manifests: Iterable[Manifest], *, examples: int = 3, kept: int = KEPT) -> None:
        """Raises Unusable."""
        self._judge = Judge(manifests)
        self._cluster = self._judge.workspace.cluster
        self._kept = kept
        self._of_the_log: OrderedDict[tuple[Place, tuple[str, str]], None] = OrderedDict()
        self._matters: dict[GroupVersionResource, bool] = {}
        self.findings = Findings(examples)
        self.events = 0  # lines of a log that are audit events

    def take(self, line: Line) -> None:
        if isinstance(line, Unreplayable):
            self.events += line.is_event
            self.findings.miss(line.reason, _example(line.origin), is_lost=line.is_lost)
            return
        self.events += 1
        reason = self._replayed(line)
        if reason:
            self.findings.miss(reason, _example(line.origin))

    def _replayed(self, logged: Logged) -> str:
        """Why it could not be done; nothing if it was."""
        resource = self._cluster.known.resource(logged.resource)
        if resource is None:
            name = resource_text(logged.resource)
            return f"{name} in version {logged.resource.version} is not known: give its CustomResourceDefinition with -f"
        if resource.group == REGISTRATION:
            return "configures admission itself, which policies do not judge"
        target = Target(resource, logged.namespace if resource.namespaced else "", logged.name, logged.subresource)
        if not self._judge.may_matter(resource, logged.subresource, logged.operation):
            self.findings.replayed += 1
            self.findings.unaffected += 1
            reason = ""
        else:
            reason = self._asked(logged, target)
        self._remember(logged, target)
        return reason

    # ------------------------------------------------------------ one request

    def _asked(self, logged: Logged, target: Target) -> str:
        live = self._live(target)
        if logged.operation == CREATE and not logged.subresource:
            if live is not None:
                self._forget(target)
        elif live is None:
            reason = self._supply(logged, target)
            if reason:
                return reason
        return self._sent(logged, target)

    def _supply(self, logged: Logged, target: Target) -> str:
        """The object before a request, where nothing has shown it yet."""
        known = logged.stored if logged.operation == DELETE or logged.subresource != "status" else logged.sent
        known = known or logged.sent
        if not _is_of(known, target):
            return f"{logged.operation} of an object that the log has not shown before"
        assert known is not None
        if not self._put(known, target):
            return UNREADABLE
        if logged.operation == UPDATE:
            self.findings.assume(UNKNOWN_OLD)
        return ""

    def _sent(self, logged: Logged, target: Target) -> str:
        live = self._live(target)
        how = How(logged.user, logged.dry_run, logged.manager, logged.subresource, at=replace(target, subresource=""))
        admission = self._send(logged, target, live, how)
        if admission.operation == CREATE and not target.name:
            self._forget(replace(target, name=admission.name))  # the log never names it again
        if is_refused_anyway(admission):
            status = admission.status
            assert status is not None
            return f"refused by the API itself, without any policy ({status.code} {status.reason})".replace(" )", ")")
        origin = logged.origin
        example = {"at": origin.at, "auditID": origin.audit_id}
        self.findings.add(judged(admission, target, logged.user, example))
        return ""

    def _send(self, logged: Logged, target: Target, live: Json | None, how: How) -> Admission:
        if logged.operation == DELETE:
            return self._judge.client.delete(_manifest(live or {}), how)
        sent = _as_sent(logged.sent or {}, target)
        if logged.operation == CREATE:
            return self._judge.client.create(_manifest(sent), how)
        if live is not None:
            sent = with_metadata(sent, resourceVersion=metadata_of(live).get("resourceVersion"))
        return self._judge.client.update(_manifest(sent), how)

    # ------------------------------------------------------------ what the log shows

    def _live(self, target: Target) -> Json | None:
        return self._cluster.state.get(place_of(target.resource), target.namespace, target.name)

    def _remember(self, logged: Logged, target: Target) -> None:
        """From now on the cluster is as it was then. NB: a dry run changed nothing; a part of an object is not the object."""
        if logged.dry_run or not self._is_asked_about(target.resource):
            return
        shown = logged.stored if logged.stored is not None else logged.sent
        if logged.operation == DELETE:
            is_marked = shown is not None and bool(metadata_of(shown).get("finalizers"))
            if not is_marked:
                self._forget(target)
            return
        if not _is_of(shown, target) or not target.name:
            return
        assert shown is not None
        if not self._put(shown, target):
            self.findings.assume(UNREADABLE)

    def _put(self, value: Json, target: Target) -> bool:
        """Keeps an object as its kind has it. False: it is none of that kind."""
        place, name = place_of(target.resource), (target.namespace, target.name)
        self._make_namespace(target)
        try:
            self._judge.workspace.put(_manifest(_named(value, target)))
        except Unusable:
            self._forget(target)
            return False
        if place == CRDS:
            self._matters.clear()
        self._of_the_log[place, name] = None
        self._of_the_log.move_to_end((place, name))
        if len(self._of_the_log) > self._kept:
            (place, (namespace, gone)), _ = self._of_the_log.popitem(last=False)
            self._cluster.state.apply(place, (namespace, gone), None, self._cluster.state.revision + 1)
        return True

    def _forget(self, target: Target) -> None:
        place, name = place_of(target.resource), (target.namespace, target.name)
        self._of_the_log.pop((place, name), None)
        self._cluster.state.apply(place, name, None, self._cluster.state.revision + 1)

    def _make_namespace(self, target: Target) -> None:
        if target.namespace and not self._judge.workspace.has_namespace(target.namespace):
            self._judge.workspace.make_namespace(target.namespace)

    def _is_asked_about(self, resource: Resource) -> bool:
        gvr = GroupVersionResource(*resource.gvr)
        if gvr not in self._matters:
            self._matters[gvr] = self._judge.is_asked_about(resource)
        return self._matters[gvr]


def _is_of(value: Json | None, target: Target) -> bool:
    """Whether it is an object of the resource itself."""
    return value is not None and value.get("kind") == target.resource.kind


def _named(value: Json, target: Target) -> Json:
    api_version = "/".join(part for part in (target.resource.group, target.resource.version) if part)
    named = with_metadata(value, name=target.name, namespace=target.namespace or None)
    return {**named, "apiVersion": api_version, "kind": target.resource.kind}


def _as_sent(value: Json, target: Target) -> Json:
    """Without what a server gives, which another server would not take."""
    kind = target.resource.kind_of(target.subresource) or target.resource.gvk
    api_version = "/".join(part for part in kind[:2] if part)
    return {"apiVersion": api_version, "kind": kind[2], **with_metadata(value, **dict.fromkeys(_OF_A_SERVER))}


def _manifest(value: Json) -> Manifest:
    return Manifest(File("audit log", b"{}"), 0, value)


def _example(origin: Origin | None) -> Json:
    if origin is None:
        return {}
    made = {"auditID": origin.audit_id, "at": origin.at, "user": origin.user, "requestURI": origin.uri}
    return {k: v for k, v in made.items() if v}
