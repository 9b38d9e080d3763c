"""What fills a view: the collections of a cluster, followed, or the objects of files, read again when they change.

Policies are those of the real API where it has them, in its newest version that we know, else those of our own definitions. The
kinds of params are followed as policies ask for them, and not any longer. What was seen is published when it is complete.
"""

import asyncio
import contextlib
from collections.abc import Callable, Iterable, Sequence
from typing import Protocol

from msgspec import Struct

from kadmit.api import registration
from kadmit.api.errors import ApiError
from kadmit.api.meta import GroupVersionKind
from kadmit.matching.attributes import Json
from kadmit.resources.state import CRDS, NAMESPACES, Place, place_of
from kadmit.validation import validate_create
from kadmit.webhook.cluster import Cluster, Unreachable
from kadmit.webhook.following import Collection, Follower, Followers, Pause
from kadmit.webhook.view import FIXED, GROUP, POLICIES, View

AUTO, BUILTIN, CUSTOM = "auto", "builtin", "custom"
PERIOD = 1.0  # seconds between looks at files
_VERSIONS = (registration.V1, registration.V1BETA1, registration.V1ALPHA1)

Told = Callable[[str], None]


class Objects(Protocol):
    """Objects of files. A seam, because how files are read and told of is the command's matter."""

    def stamp(self) -> object:
        """Different when a file has changed."""

    def read(self) -> Sequence[Json]:
        """All objects, defaults filled in. Raises ValueError with what is wrong, and where."""


# ---------------------------------------------------------------- files


class FileFeed:
    """Objects of files. Those that cannot be used leave what is obeyed as it was. `only`: other resources are not taken."""

    def __init__(
        self, view: View, objects: Objects, told: Told, *, published: Callable[[], None], only: Iterable[Place] = ()
    ) -> None:
        self._view = view
        self._objects = objects
        self._published = published
        self._told = told
        self._only = frozenset(only)
        self._places: set[Place] = set()
        self._seen: object = None

    def load(self) -> None:
        """Raises ValueError."""
        self._seen = self._objects.stamp()
        found: dict[Place, list[Json]] = {place: [] for place in self._places}
        for value in sorted(self._objects.read(), key=lambda each: each.get("kind") != "CustomResourceDefinition"):
            place = self._place(value)
            if not self._only or place in self._only:
                found.setdefault(place, []).append(value)
        for place in sorted(found, key=lambda each: each != CRDS):
            self._view.replace(place, found[place])
        self._places = set(found)
        self._view.publish()
        self._published()

    def _place(self, value: Json) -> Place:
        group, _, version = str(value.get("apiVersion") or "").rpartition("/")
        resource = self._view.state.known.kind(GroupVersionKind(group, version, str(value.get("kind") or "")))
        return place_of(resource) if resource is not None else (group, str(value.get("kind") or ""))

    async def run(self) -> None:
        while True:
            await asyncio.sleep(PERIOD)
            if self._objects.stamp() == self._seen:
                continue
            try:
                self.load()
                self._told("files changed and are obeyed")
            except (ValueError, OSError) as error:
                self._told(f"files changed but cannot be used, what was obeyed stays: {error}")


# ---------------------------------------------------------------- a cluster


class _Seen(Struct, frozen=True):
    """Takes what is followed into the view. `adopt` makes of an object what the view holds; None: it cannot be used."""

    view: View
    place: Place
    changed: Callable[[], None]
    adopt: Callable[[Json], Json | None] = lambda value: value

    def replace(self, values: list[Json]) -> None:
        adopted = [made for made in map(self.adopt, values) if made is not None]
        self.view.replace(self.place, adopted)
        self.changed()

    def put(self, value: Json) -> None:
        made = self.adopt(value)
        if made is None:
            self.view.remove(self.place, value)
        else:
            self.view.put(self.place, made)
        self.changed()

    def remove(self, value: Json) -> None:
        self.view.remove(self.place, value)
        self.changed()


class ClusterFeed:
    """Follows a cluster. `policies`: whose policies are obeyed; None: those of files, which somebody else reads. `published` is
    told when something else is obeyed, `seen` of any object."""

    def __init__(
        self,
        view: View,
        cluster: Cluster,
        told: Told,
        *,
        published: Callable[[], None],
        seen: Callable[[], None] = lambda: None,
        policies: str | None = AUTO,
    ) -> None:
        self._view = view
        self._cluster = cluster
        self._published = published
        self._seen = seen
        self._told = told
        self._policies = policies
        self._followers = Followers(cluster, told)
        self._params: dict[Place, Collection] = {}
        self._changed = asyncio.Event()

    def reconsider(self) -> None:
        """Something was seen that may change what is obeyed."""
        self._changed.set()

    async def run(self) -> None:
        try:
            await self._start()
            while True:
                self._changed.clear()
                await self._follow_params()
                self._view.publish()
                self._published()
                await self._changed.wait()
        finally:
            await self._followers.close()

    async def _start(self) -> None:
        started = [
            self._follow(Collection("apiextensions.k8s.io", "v1", "customresourcedefinitions"), CRDS, self.reconsider),
            self._follow(Collection("", "v1", "namespaces"), NAMESPACES, self._seen),
        ]
        if self._policies is not None:
            for place in POLICIES:
                collection = await self._patiently(place)
                adopt = self._adopted if collection.group == GROUP else None
                started.append(self._follow(collection, place, self.reconsider, adopt))
        for follower in started:
            await follower.synced.wait()

    def _follow(
        self,
        collection: Collection,
        place: Place,
        changed: Callable[[], None],
        adopt: Callable[[Json], Json | None] | None = None,
    ) -> Follower:
        sink = _Seen(self._view, place, changed, adopt) if adopt is not None else _Seen(self._view, place, changed)
        return self._followers.start(collection, sink)

    async def _follow_params(self) -> None:
        """Begin with what policies ask for now, end with what they asked for, and wait until it is all there.

        NB: params that we may not see are missing to their policy, and keep no other one waiting.
        """
        wanted = {
            place_of(resource): Collection(resource.group, resource.version, resource.plural)
            for resource in self._view.param_resources()
        }
        for place, collection in list(self._params.items()):
            if wanted.get(place) != collection:
                self._followers.stop(collection)
                del self._params[place]
                if place not in FIXED:
                    self._view.forget(place)
        followers = [self._follow(collection, place, self._seen) for place, collection in wanted.items()]
        self._params = wanted
        for follower in followers:
            await follower.answered.wait()

    # ------------------------------------------------------------ whose policies

    async def _patiently(self, place: Place) -> Collection:
        pause = Pause()
        while True:
            try:
                return await self._found(place)
            except (ApiError, *Unreachable) as error:
                self._told(f"cannot ask the cluster for its policies: {str(error) or type(error).__name__}")
                await asyncio.sleep(pause.seconds())

    async def _found(self, place: Place) -> Collection:
        """Raises ApiError and those of Unreachable."""
        if self._policies != CUSTOM:
            for version in _VERSIONS:
                if place[1] in await self._plurals(f"/apis/{registration.GROUP}/{version}"):
                    return Collection(registration.GROUP, version, place[1])
        if self._policies == BUILTIN:
            self._told(f"the cluster has no {place[1]}.{registration.GROUP}")
            return Collection(registration.GROUP, registration.V1, place[1])
        if place[1] not in await self._plurals(f"/apis/{GROUP}/v1"):
            self._told(f"the cluster has no {place[1]}: `kadmit webhook install` brings definitions for them")
        return Collection(GROUP, "v1", place[1])

    async def _plurals(self, path: str) -> set[str]:
        try:
            found = await self._cluster.get(path)
        except ApiError as error:
            if error.status.code == 404:
                return set()
            raise
        return {str(resource.get("name")) for resource in found.get("resources") or ()}

    def _adopted(self, value: Json) -> Json | None:
        """An object of our own definitions as one of the API's; None, and a word about it, if the API would refuse it."""
        kind = GroupVersionKind(registration.GROUP, registration.V1, str(value.get("kind") or ""))
        made = registration.with_defaults(kind, {**value, "apiVersion": f"{registration.GROUP}/{registration.V1}"})
        problems: list[str] = ["no such kind"]
        with contextlib.suppress(KeyError, TypeError, AttributeError):
            problems = [str(problem) for problem in validate_create(kind, made)]
        if problems:
            name = (value.get("metadata") or {}).get("name")
            self._told(f"{value.get('kind')} {name!r} is not obeyed: {problems[0]}")
            return None
        return made
