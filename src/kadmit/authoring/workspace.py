"""A cluster out of files: what stands in them is there, as if somebody had made it long ago.

Objects are taken as they are, with their defaults and their status; nobody's policies judge them. Only what configures admission
must be valid, for nothing else could be registered.
"""

import re
from collections.abc import Iterable

from kadmit.access import bootstrap
from kadmit.access.rbac import Rbac
from kadmit.api import errors, registration
from kadmit.api.errors import ApiError
from kadmit.api.gojson import marshal, quoted
from kadmit.api.meta import GroupKind
from kadmit.authoring.cluster import Ask, Cluster, nobody_answers
from kadmit.authoring.manifests import Json, Manifest
from kadmit.authoring.registering import DEFINITION, current, problems, with_own_defaults
from kadmit.cel.library.authorizer import Attributes, Decision
from kadmit.kinds.structs import DecodeError
from kadmit.resources.context import Given
from kadmit.resources.state import NAMESPACES, RBAC, State

_FROM_THE_START = ("default", "kube-node-lease", "kube-public", "kube-system")
_COMPLAINT = re.compile(r'Go struct field \w+\.(\S+) of type |unknown field "([^"]*)"')
_ROLES = ("clusterroles", "clusterrolebindings", "roles", "rolebindings")


class Unusable(ValueError):
    """An object that cannot be there; the message says where it stands."""


class Roles:
    """Who may do what: the roles of the files, and those that every cluster has. Worked out when somebody asks."""

    def __init__(self, state: State) -> None:
        self._state = state
        self._of: Rbac | None = None
        self._made = Rbac.build(())

    def check(self, attributes: Attributes) -> Decision:
        if self._of is not self._state.rbac:
            self._of = self._state.rbac
            given = [o for plural in _ROLES for o in self._state.all((RBAC, plural))]
            self._made = Rbac.build([*bootstrap.objects(), *given])
        return self._made.check(attributes)


class Workspace:
    """A cluster, and how objects of files get into it."""

    def __init__(self, manifests: Iterable[Manifest] = (), *, ask: Ask = nobody_answers) -> None:
        """Raises Unusable."""
        self._turn = 0
        self.cluster = Cluster(ask=ask, given=self.given)
        self.cluster.authorizer = Roles(self.cluster.state)
        self.cluster.allow_privileged = True  # as everybody sets up a cluster, if not as its server is by default
        for name in _FROM_THE_START:
            self.make_namespace(name)
        for manifest in sorted(manifests, key=_is_no_definition):
            self.put(manifest)

    def given(self) -> Given:
        """The same for all that is done in one turn; the next turn has another uid and another end of names."""
        return Given("2026-01-01T00:00:00Z", f"00000000-0000-4000-8000-{self._turn:012d}", f"{self._turn:05d}"[-5:])

    def next_turn(self) -> None:
        self._turn += 1

    def put(self, manifest: Manifest) -> None:
        """Raises Unusable."""
        value = self.read(manifest)
        if not manifest.metadata.get("name"):
            raise Unusable(f"{manifest.place()}: {quoted(manifest.kind.kind)}: must have a name: nobody generates one here")
        self.cluster.put(value)

    def read(self, manifest: Manifest) -> Json:
        """An object with its defaults. Raises Unusable. NB: what is misspelt in a policy would be missing from it silently."""
        made = self.decoded(manifest, strict=registration.is_registration(manifest.kind))
        kind = manifest.kind
        found = problems(kind, made)
        if found:
            error = errors.invalid(GroupKind(kind.group, kind.kind), manifest.name, found)
            raise Unusable(f"{manifest.place(found[0].field, found[0].detail)}: {error}")
        return made

    def decoded(self, manifest: Manifest, *, strict: bool = False) -> Json:
        """An object with its defaults, of a kind that is known. Raises Unusable; if `strict`, also for what its kind has not."""
        source = current(manifest.value, manifest.kind)
        try:
            target = self.cluster.target(source)
            found = self.cluster.known.decode(target.kind, marshal(source).encode())
        except (ApiError, DecodeError) as e:
            raise Unusable(f"{manifest.place(_field(str(e)))}: {e}") from None
        if strict and (manifest.repeated or found.problems):
            told = ", ".join((*manifest.repeated, *found.problems))
            raise Unusable(f"{manifest.place(_field(told))}: strict decoding error: {told}")
        decoded = found.object
        if not manifest.name:
            raise Unusable(f"{manifest.place()}: {quoted(manifest.kind.kind)}: must have a name")
        made = {**decoded, "apiVersion": source["apiVersion"], "kind": source["kind"]}
        return with_own_defaults(made, manifest.kind)

    def has_namespace(self, name: str) -> bool:
        return self.cluster.state.get(NAMESPACES, "", name) is not None

    def make_namespace(self, name: str) -> None:
        """A namespace of which no more is known than that it is there."""
        metadata = {"name": name, "labels": {"kubernetes.io/metadata.name": name}}
        status = {"phase": "Active"}
        self.cluster.put({"apiVersion": "v1", "kind": "Namespace", "metadata": metadata, "spec": {}, "status": status})


def _field(message: str) -> str:
    """The field that a decoder complains of. NB: it counts no elements, so of a list only the list is found."""
    found = _COMPLAINT.search(message)
    return found[1] or found[2] if found else ""


def _is_no_definition(manifest: Manifest) -> bool:
    return (manifest.kind.group, manifest.kind.kind) != DEFINITION
