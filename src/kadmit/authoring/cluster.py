"""A cluster in memory: objects, and every verb on them, with admission. No server, no clock of its own, no waiting.

Commands and tests fill it from files and send it requests; it answers as the API server would. Webhooks are answered by whoever
is given as `ask`. A written policy counts for the very next request.
"""

from collections.abc import Callable, Generator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar

from kadmit.admission.answers import Answer
from kadmit.admission.chain import drive
from kadmit.admission.outcome import Record
from kadmit.admission.snapshot import EMPTY, Configuration, Snapshot, build
from kadmit.admission.webhooks import Call
from kadmit.api import errors, registration
from kadmit.api.meta import GroupVersionKind
from kadmit.cel.library.authorizer import Authorizer, User
from kadmit.kinds.catalog import Resource
from kadmit.kinds.known import Known
from kadmit.matching.attributes import Json, labels_of
from kadmit.matching.selectors import Selector
from kadmit.resources import bodies, deleting, patching, writing
from kadmit.resources.context import Context, Given, Options, Target, Written, metadata_of, with_metadata
from kadmit.resources.deleting import DeleteOptions

T = TypeVar("T")
Ask = Callable[[Sequence[Call]], Sequence[Answer]]
Key = tuple[str, str, str, str]  # group, plural, namespace, name

ADMIN = User("admin", "admin-uid", ("system:masters", "system:authenticated"))
CRDS = ("apiextensions.k8s.io", "customresourcedefinitions")
REGISTRATION = registration.GROUP


def nobody_answers(calls: Sequence[Call]) -> Sequence[Answer]:
    """For clusters whose webhooks are not to be called."""
    return [Answer(failure="failed to call webhook: webhooks are not called here") for _ in calls]


@dataclass(slots=True)
class Request:
    """Who asks, and how; everything has a default."""

    user: User = ADMIN
    options: Options = field(default_factory=Options)
    record: Record = field(default_factory=Record)


class World:
    """What policies may ask of the cluster."""

    __slots__ = ("_cluster", "authorizer")

    def __init__(self, cluster: "Cluster", authorizer: Authorizer | None) -> None:
        self._cluster = cluster
        self.authorizer = authorizer

    def __getattr__(self, name: str) -> Any:
        """Whatever is known of kinds (`shape`, `settle`, `convert`, …) is known of this cluster's."""
        return getattr(self._cluster.known, name)

    def namespace(self, name: str) -> Json | None:
        return self._cluster.objects.get(("", "namespaces", "", name))

    def param(self, kind: GroupVersionKind, namespace: str, name: str) -> Json | None:
        resource = self._cluster.known.kind(kind)
        if resource is None:
            return None
        found = self._cluster.objects.get((resource.group, resource.plural, namespace if resource.namespaced else "", name))
        return None if found is None else self._cluster.known.convert(found, kind)

    def params(self, kind: GroupVersionKind, namespace: str, selector: Selector) -> Sequence[Json]:
        resource = self._cluster.known.kind(kind)
        if resource is None:
            return ()
        found = self._cluster.all_of(resource, namespace if resource.namespaced else None)
        return [self._cluster.known.convert(o, kind) for o in found if selector.matches(labels_of(o) or {})]

    def resource(self, kind: GroupVersionKind) -> str | None:
        found = self._cluster.known.kind(kind)
        return None if found is None else found.plural

    def policy(self, kind: str, name: str) -> Json | None:
        plural = "mutatingadmissionpolicies" if kind.startswith("Mutating") else "validatingadmissionpolicies"
        return self._cluster.objects.get((REGISTRATION, plural, "", name))


class Cluster:
    """All objects, and what follows from them."""

    def __init__(self, *, ask: Ask = nobody_answers, given: Callable[[], Given] | None = None) -> None:
        self.objects: dict[Key, Json] = {}
        self.known = Known()
        self.snapshot: Snapshot = EMPTY
        self.revision = 0
        self.ask = ask
        self.authorizer: Authorizer | None = None
        self._given = given or self._made_up
        self._count = 0

    def _made_up(self) -> Given:
        """Uids and names that only need to differ; a moment that only needs to be one."""
        self._count += 1
        return Given("2026-01-01T00:00:00Z", f"00000000-0000-4000-8000-{self._count:012d}", f"{self._count:05d}"[-5:])

    @property
    def world(self) -> World:
        return World(self, self.authorizer)

    # ------------------------------------------------------------ looking

    def all_of(self, resource: Resource, namespace: str | None = None) -> list[Json]:
        """Objects of a resource, by namespace and name."""
        keys = [
            k for k in self.objects if k[:2] == (resource.group, resource.plural) and (namespace is None or k[2] == namespace)
        ]
        return [self.objects[k] for k in sorted(keys)]

    def _key(self, target: Target, name: str = "") -> Key:
        namespace = target.namespace if target.resource.namespaced else ""
        return target.resource.group, target.resource.plural, namespace, name or target.name

    def find(self, target: Target) -> Json:
        """A stored object in the version of the target. Raises ApiError."""
        found = self.objects.get(self._key(target))
        if found is None:
            raise errors.not_found(target.group_resource, target.name)
        return self.known.convert(found, GroupVersionKind(*target.resource.gvk))

    def target(self, value: Mapping[str, Any]) -> Target:
        """Where an object lives. Raises ApiError for a kind that nobody knows."""
        api_version = str(value.get("apiVersion") or "")
        group, _, version = api_version.rpartition("/")
        resource = self.known.kind(GroupVersionKind(group, version, str(value.get("kind") or "")))
        if resource is None:
            raise errors.bad_request(f'no matches for kind "{value.get("kind")}" in version "{api_version}"')
        metadata = metadata_of(dict(value))
        namespace = (metadata.get("namespace") or "default") if resource.namespaced else ""
        return Target(resource, namespace, metadata.get("name") or "")

    # ------------------------------------------------------------ writing

    def _context(self, request: Request) -> Context:
        return Context(self.known, self.world, self.snapshot, request.user, request.options, self._given(), request.record)

    def _run(self, verb: Generator[Sequence[Call], Sequence[Answer], T]) -> T:
        return drive(verb, self.ask)

    def create(self, target: Target, body: bytes, request: Request, *, is_yaml: bool = False) -> Json:
        """POST. Raises ApiError."""
        context = self._context(request)
        new = bodies.read(context, target, body, is_yaml=is_yaml)
        return self.create_object(target, new, request, context)

    def create_object(self, target: Target, new: Json, request: Request, context: Context | None = None) -> Json:
        """Create an object that is decoded and defaulted already."""
        written = self._run(writing.create(context or self._context(request), target, new))
        return self._store_new(target, written, request)

    def _store_new(self, target: Target, written: Written, request: Request) -> Json:
        name = metadata_of(written.object)["name"]
        key = self._key(target, name)
        present = self.objects.get(key)
        if present is not None:
            deleting_now = metadata_of(present).get("deletionTimestamp") is not None
            raise self._exists(target, name, deleting_now=deleting_now)
        return self._store(key, written.object, request)

    def _exists(self, target: Target, name: str, *, deleting_now: bool) -> errors.ApiError:
        error = errors.already_exists(target.group_resource, name)
        return error.with_message(f"object is being deleted: {error}") if deleting_now else error

    def update(self, target: Target, body: bytes, request: Request, *, is_yaml: bool = False) -> Json:
        """PUT. Raises ApiError."""
        context = self._context(request)
        new = bodies.read(context, target, body, is_yaml=is_yaml)
        written = self._run(writing.update(context, target, self.find(target), new))
        return self._store(self._key(target), written.object, request)

    def patch(self, target: Target, body: bytes, patch_type: str, request: Request) -> tuple[Json, bool]:
        """PATCH; the object, and whether it was created. Raises ApiError."""
        context = self._context(request)
        stored = self.objects.get(self._key(target))
        live = None if stored is None else self.known.convert(stored, GroupVersionKind(*target.resource.gvk))
        written = self._run(patching.patch(context, target, live, body, patch_type))
        if written.created:
            return self._store_new(target, written, request), True
        return self._store(self._key(target), written.object, request), False

    def delete(self, target: Target, options: DeleteOptions, request: Request, *, name: str | None = None) -> Json:
        """DELETE; the object as it was, or as it stays. Raises ApiError."""
        live = self.find(target)
        deleted = self._run(deleting.delete(self._context(request), target, live, options, name=name))
        if request.options.dry_run:
            return deleted.object
        if deleted.gone:
            del self.objects[self._key(target)]
            self._changed(self._key(target))
            return deleted.object
        return self._store(self._key(target), deleted.object, request)

    def _store(self, key: Key, value: Json, request: Request) -> Json:
        if request.options.dry_run:
            return value
        stored = self.objects.get(key)
        if stored is not None and _unversioned(stored) == _unversioned(value):
            return stored
        self.revision += 1
        made = with_metadata(value, resourceVersion=str(self.revision))
        if stored is not None and metadata_of(made).get("deletionTimestamp") and not metadata_of(made).get("finalizers"):
            self.objects.pop(key)
        else:
            self.objects[key] = made
        self._changed(key)
        return made

    def put(self, value: Json) -> None:
        """Place an object as it is: fixtures that nobody judges."""
        target = self.target(value)
        self.revision += 1
        placed = with_metadata(value, resourceVersion=str(self.revision))
        if target.resource.namespaced:
            placed = with_metadata(placed, namespace=target.namespace)
        key = self._key(target)
        self.objects[key] = placed
        self._changed(key)

    # ------------------------------------------------------------ what follows

    def _changed(self, key: Key) -> None:
        if key[:2] == CRDS:
            self.known = Known(self._objects_of(*CRDS))
        if key[0] == REGISTRATION:
            self.snapshot = build(self._configuration(), self.snapshot)

    def _objects_of(self, group: str, plural: str) -> list[Json]:
        return [self.objects[k] for k in sorted(self.objects) if k[:2] == (group, plural)]

    def _configuration(self) -> Configuration:
        def registered(plural: str) -> list[Json]:
            return [_as_v1(o) for o in self._objects_of(REGISTRATION, plural)]

        return Configuration(
            mutating_policies=registered("mutatingadmissionpolicies"),
            mutating_bindings=registered("mutatingadmissionpolicybindings"),
            validating_policies=registered("validatingadmissionpolicies"),
            validating_bindings=registered("validatingadmissionpolicybindings"),
            mutating_webhooks=registered("mutatingwebhookconfigurations"),
            validating_webhooks=registered("validatingwebhookconfigurations"),
        )


def _as_v1(value: Json) -> Json:
    """NB: the same object as long as it is v1 already, so that the snapshot sees what did not change."""
    return value if value["apiVersion"].endswith("/v1") else registration.convert(value, "v1")


def _unversioned(value: Json) -> Json:
    return with_metadata(value, resourceVersion=None)
