"""What one replica has seen of its cluster, or of its files: objects, and the policies that are obeyed from them.

Objects are taken over one at a time as they change. Policies count from the moment that they are published as a whole, when what
they need (the kinds of their params) has been seen as well: a request never meets a policy whose params are still on their way.
Each collection has a digest of what was seen of it; replicas with the same digests give the same answers.
"""

import hashlib
from collections.abc import Iterable, Iterator, Mapping

import orjson

from kadmit.admission.snapshot import Snapshot
from kadmit.api import registration
from kadmit.api.meta import GroupVersionKind
from kadmit.kinds.catalog import Resource
from kadmit.matching.attributes import Json
from kadmit.resources.context import metadata_of
from kadmit.resources.state import CRDS, NAMESPACES, Name, Place, State, StateWorld, place_of
from kadmit.webhook.policies import Share, shares

GROUP = "policies.kadmit.dev"
POLICIES: tuple[Place, ...] = tuple(
    (registration.GROUP, registration.KINDS[kind].plural)
    for kind in (
        registration.MUTATING_POLICY,
        registration.MUTATING_BINDING,
        registration.VALIDATING_POLICY,
        registration.VALIDATING_BINDING,
    )
)
FIXED: tuple[Place, ...] = (*POLICIES, NAMESPACES, CRDS)
_DIGEST_BYTES = 6  # so that it is exact as a number in metrics
_MODULUS: int = 256**_DIGEST_BYTES


class View:
    """Objects by resource, and the shares of what is obeyed."""

    def __init__(self) -> None:
        self.state = State()
        self.published: Mapping[Share, Snapshot] = {}  # empty: nothing has been published yet
        self.policies_digest = 0  # of the policies that were published
        self._digests: dict[Place, int] = {}
        self._published_digests: dict[Place, int] = {}
        self._counted: dict[tuple[Place, Name], int] = {}

    # ------------------------------------------------------------ seeing

    def put(self, place: Place, value: Json) -> None:
        """An object as it is now."""
        name = _name(value)
        self.state.apply(place, name, value, 0)
        self._count(place, name, _fingerprint(value))

    def remove(self, place: Place, value: Json) -> None:
        name = _name(value)
        self.state.apply(place, name, None, 0)
        self._count(place, name, 0)

    def replace(self, place: Place, values: Iterable[Json]) -> None:
        """All objects of a collection, as a list shows them. Those that are as before stay the very same."""
        there = {_name(value): value for value in values}
        held = self.state.objects.get(place, {})
        for name in [name for name in held if name not in there]:
            self.remove(place, held[name])
        for name, value in there.items():
            if self._counted.get((place, name)) != _fingerprint(value):
                self.put(place, value)

    def forget(self, place: Place) -> None:
        """A collection that is not followed any more."""
        self.replace(place, ())
        self._digests.pop(place, None)

    def _count(self, place: Place, name: Name, fingerprint: int) -> None:
        before = self._counted.pop((place, name), 0)
        if fingerprint:
            self._counted[place, name] = fingerprint
        self._digests[place] = (self._digests.get(place, 0) - before + fingerprint) % _MODULUS

    # ------------------------------------------------------------ obeying

    def publish(self) -> None:
        """What has been seen counts from now on."""
        snapshot = self.state.snapshot
        self.published = {share: share.of(snapshot) for share in shares()}
        self._published_digests = {place: self._digests[place] for place in (*POLICIES, CRDS) if place in self._digests}
        self.policies_digest = sum(self._published_digests.get(place, 0) for place in POLICIES) % _MODULUS

    @property
    def world(self) -> StateWorld:
        return self.state.world(None)

    def param_kinds(self) -> set[GroupVersionKind]:
        """What the policies that were seen have as params."""
        bound = (*self.state.snapshot.mutating_policies, *self.state.snapshot.validating_policies)
        return {each.policy.param_kind for each in bound if each.policy.param_kind is not None}

    def param_resources(self) -> Iterator[Resource]:
        """Where these are. A kind that nobody knows has no place: its policy fails, as it does in an API server."""
        places: set[Place] = set(FIXED)
        for kind in sorted(self.param_kinds()):
            resource = self.state.known.kind(kind)
            if resource is not None and place_of(resource) not in places:
                places.add(place_of(resource))
                yield resource

    # ------------------------------------------------------------ telling

    def digests(self) -> Mapping[Place, int]:
        """Of what was seen; of what policies are made of, when it was published."""
        late = (*POLICIES, CRDS)
        return {place: digest for place, digest in self._digests.items() if place not in late} | self._published_digests


def _name(value: Json) -> Name:
    metadata = metadata_of(value)
    return str(metadata.get("namespace") or ""), str(metadata.get("name") or "")


def _fingerprint(value: Json) -> int:
    """Of an object in one state. Those of files have no version, so their content is theirs."""
    metadata = metadata_of(value)
    version = metadata.get("resourceVersion") or orjson.dumps(value, default=str).decode()
    return fingerprint(*_name(value), str(metadata.get("uid") or ""), str(version))


def fingerprint(*parts: str) -> int:
    """Never 0, so that an object more or less always shows."""
    found = hashlib.sha256("\0".join(parts).encode()).digest()[:_DIGEST_BYTES]
    return int.from_bytes(found, "big") or 1
