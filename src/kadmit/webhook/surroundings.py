"""What policies may ask while a review is judged: the engine's world, as far as a replica has seen its cluster.

Two things differ from an API server. Custom objects are only renamed when they change version, for what a conversion webhook does
has been done by the API server before it called. And what a replica does not know by itself is asked elsewhere.
"""

from collections.abc import Sequence

from kadmit.api.meta import GroupVersionKind, GroupVersionResource
from kadmit.cel.library.authorizer import Authorizer
from kadmit.matching.attributes import Json
from kadmit.matching.selectors import Selector
from kadmit.patch.shapes import Shape
from kadmit.policy.world import World
from kadmit.webhook.questions import Elsewhere


class Surroundings:
    """Answers every seam of kadmit.policy.world."""

    __slots__ = ("_elsewhere", "_world", "authorizer")

    def __init__(self, world: World, elsewhere: Elsewhere) -> None:
        self._world = world
        self._elsewhere = elsewhere
        self.authorizer: Authorizer | None = elsewhere

    def equivalents(
        self, resource: GroupVersionResource, subresource: str
    ) -> Sequence[tuple[GroupVersionResource, GroupVersionKind]]:
        return self._world.equivalents(resource, subresource)

    def namespace(self, name: str) -> Json | None:
        found = self._world.namespace(name)
        return self._elsewhere.namespace(name) if found is None else found

    def namespaced(self, kind: GroupVersionKind) -> bool | None:
        return self._world.namespaced(kind)

    def param(self, kind: GroupVersionKind, namespace: str, name: str) -> Json | None:
        return self._world.param(kind, namespace, name)

    def params(self, kind: GroupVersionKind, namespace: str, selector: Selector) -> Sequence[Json]:
        return self._world.params(kind, namespace, selector)

    def shape(self, kind: GroupVersionKind) -> Shape | None:
        return self._world.shape(kind)

    def is_custom(self, kind: GroupVersionKind) -> bool:
        return self._world.is_custom(kind)

    def settle(self, kind: GroupVersionKind, changed: Json, before: Json, *, strict: bool) -> Json:
        return self._world.settle(kind, changed, before, strict=strict)

    def settle_patched(self, kind: GroupVersionKind, changed: Json, before: Json) -> Json:
        return self._world.settle_patched(kind, changed, before)

    def convert(self, value: Json, kind: GroupVersionKind) -> Json:
        """Raises UnknownConversion."""
        if not self._world.is_custom(kind):
            return self._world.convert(value, kind)
        api_version = str(kind.group_version)
        return value if value.get("apiVersion") == api_version else {**value, "apiVersion": api_version}
