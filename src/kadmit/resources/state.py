"""All objects of a server in memory, and what follows from them: kinds from CRDs, a snapshot from registrations, roles from RBAC.

It changes only through `apply`, one write at a time, in the order of revisions; what follows is worked out when it is next asked
for. Whoever keeps it in step with a store (or is the store, in tests) need not know what any object means.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from kadmit.access import rbac
from kadmit.access.rbac import Rbac
from kadmit.admission.snapshot import EMPTY, Configuration, Snapshot, build
from kadmit.api import registration
from kadmit.api.meta import GroupVersionKind
from kadmit.cel.library.authorizer import Authorizer
from kadmit.kinds import allocation
from kadmit.kinds.allocation import Pool
from kadmit.kinds.catalog import Resource
from kadmit.kinds.known import Known
from kadmit.matching.attributes import Json, labels_of
from kadmit.matching.selectors import Selector

Place = tuple[str, str]  # group, plural
Name = tuple[str, str]  # namespace, name

CRDS: Place = ("apiextensions.k8s.io", "customresourcedefinitions")
NAMESPACES: Place = ("", "namespaces")
SERVICES: Place = ("", "services")
REGISTRATION = registration.GROUP
_SAME: dict[Place, Place] = {("events.k8s.io", "events"): ("", "events")}
RBAC = rbac.GROUP


class State:
    """Objects by resource, namespace and name."""

    def __init__(self, *, pool: Pool | None = None, without: Iterable[str] = ()) -> None:
        """`without`: admission plugins that are off; what is registered for them is kept, and not obeyed."""
        self._without = frozenset(without)
        self.objects: dict[Place, dict[Name, Json]] = {}
        self.revision = 0
        self._known: Known | None = Known()
        self._snapshot: Snapshot = EMPTY
        self._stale = False
        self._v1: dict[int, tuple[Json, Json]] = {}
        self._rbac: Rbac = Rbac.build(())
        self._changed_roles: dict[rbac.Key, Json | None] = {}
        self._pool = pool or Pool()
        self._world: StateWorld | None = None

    # ------------------------------------------------------------ changing

    def apply(self, place: Place, name: Name, value: Json | None, revision: int) -> None:
        """One write: an object as it is now, or None that it is gone."""
        self.revision = max(self.revision, revision)
        held = self.objects.setdefault(place, {})
        old = held.get(name)
        if value is None:
            held.pop(name, None)
        else:
            held[name] = value
        if place == CRDS:
            self._known = None
        elif place[0] == REGISTRATION:
            self._stale = True
        elif place[0] == RBAC and (value or old):
            self._changed_roles[((value or old or {})["kind"], *name)] = value

    # ------------------------------------------------------------ asking

    @property
    def known(self) -> Known:
        if self._known is None:
            self._known = Known(self.all(CRDS))
        return self._known

    @property
    def snapshot(self) -> Snapshot:
        if self._stale:
            self._snapshot = build(self._configuration(), self._snapshot)
            self._stale = False
        return self._snapshot

    @property
    def rbac(self) -> Rbac:
        """NB: made when somebody asks: a start brings a hundred roles at once."""
        if self._changed_roles:
            self._rbac = self._rbac.changed(self._changed_roles)
            self._changed_roles = {}
        return self._rbac

    @property
    def pool(self) -> Pool:
        return allocation.taken(self._pool, self.all(SERVICES))

    def get(self, place: Place, namespace: str, name: str) -> Json | None:
        return self.objects.get(place, {}).get((namespace, name))

    def all(self, place: Place, namespace: str | None = None) -> list[Json]:
        """Objects by namespace and name."""
        held = self.objects.get(place, {})
        return [held[k] for k in sorted(held) if namespace is None or k[0] == namespace]

    def _configuration(self) -> Configuration:
        def registered(plural: str) -> list[Json]:
            return [self._as_v1(o) for o in self.all((REGISTRATION, plural))]

        def unless_off(plugin: str, plural: str) -> list[Json]:
            return [] if plugin in self._without else registered(plural)

        return Configuration(
            mutating_policies=unless_off("MutatingAdmissionPolicy", "mutatingadmissionpolicies"),
            mutating_bindings=registered("mutatingadmissionpolicybindings"),
            validating_policies=unless_off("ValidatingAdmissionPolicy", "validatingadmissionpolicies"),
            validating_bindings=registered("validatingadmissionpolicybindings"),
            mutating_webhooks=unless_off("MutatingAdmissionWebhook", "mutatingwebhookconfigurations"),
            validating_webhooks=unless_off("ValidatingAdmissionWebhook", "validatingwebhookconfigurations"),
        )

    def _as_v1(self, value: Json) -> Json:
        """NB: the very same object for the same object, so that a snapshot sees what did not change."""
        if value["apiVersion"].endswith("/v1"):
            return value
        known = self._v1.get(id(value))
        if known is None or known[0] is not value:
            known = self._v1[id(value)] = value, registration.convert(value, "v1")
        return known[1]

    def world(self, authorizer: Authorizer | None) -> "StateWorld":
        """The same one as long as it would be: it looks at this state whenever it is asked."""
        made = self._world
        if made is None or made.authorizer is not authorizer or made.known is not self.known:
            made = self._world = StateWorld(self, authorizer)
        return made


class StateWorld:
    """What policies and validation may ask of a state: it answers every seam of kadmit.policy.world."""

    __slots__ = (
        "_state",
        "authorizer",
        "convert",
        "equivalents",
        "is_custom",
        "known",
        "namespaced",
        "settle",
        "settle_patched",
        "shape",
    )

    def __init__(self, state: State, authorizer: Authorizer | None) -> None:
        self._state = state
        self.authorizer = authorizer
        known = self.known = state.known
        self.convert = known.convert
        self.equivalents = known.equivalents
        self.is_custom = known.is_custom
        self.namespaced = known.namespaced
        self.settle = known.settle
        self.settle_patched = known.settle_patched
        self.shape = known.shape

    def namespace(self, name: str) -> Json | None:
        return self._state.get(NAMESPACES, "", name)

    def param(self, kind: GroupVersionKind, namespace: str, name: str) -> Json | None:
        resource = self.known.kind(kind)
        found = self._state.get(place_of(resource), namespace if resource.namespaced else "", name) if resource else None
        return None if found is None else self.known.read(found, kind)

    def params(self, kind: GroupVersionKind, namespace: str, selector: Selector) -> Sequence[Json]:
        resource = self.known.kind(kind)
        if resource is None:
            return ()
        found = self._state.all(place_of(resource), namespace if resource.namespaced else None)
        return [self.known.read(o, kind) for o in found if selector.matches(labels_of(o) or {})]

    def resource(self, kind: GroupVersionKind) -> str | None:
        """The plural of a kind that is served."""
        found = self.known.kind(kind)
        return None if found is None else found.plural

    def policy(self, kind: str, name: str) -> Mapping[str, Any] | None:
        plural = "mutatingadmissionpolicies" if kind.startswith("Mutating") else "validatingadmissionpolicies"
        return self._state.get((REGISTRATION, plural), "", name)

    def services(self) -> Iterable[Json]:
        return self._state.all(SERVICES)


def place_of(resource: Resource) -> Place:
    """Where objects of a resource are kept. NB: Events of both groups are the same objects."""
    return _SAME.get((resource.group, resource.plural)) or (resource.group, resource.plural)
