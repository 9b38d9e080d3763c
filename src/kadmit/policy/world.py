"""What policies ask of everything around them. Each seam is small, so that a test, a file tree or a server can answer it."""

from collections.abc import Sequence
from typing import Protocol

from kadmit.api.meta import GroupVersionKind
from kadmit.cel.library.authorizer import Authorizer
from kadmit.matching.attributes import Json
from kadmit.matching.criteria import Equivalents, Namespaces
from kadmit.matching.selectors import Selector
from kadmit.patch.shapes import Shape


class Params(Protocol):
    """Finds the objects that bindings refer to."""

    def namespaced(self, kind: GroupVersionKind) -> bool | None:
        """Whether objects of this kind live in namespaces; None if there is no such kind."""

    def param(self, kind: GroupVersionKind, namespace: str, name: str) -> Json | None: ...

    def params(self, kind: GroupVersionKind, namespace: str, selector: Selector) -> Sequence[Json]:
        """Those that the selector selects, by namespace and name."""


class Kinds(Protocol):
    """What a mutation must know of an object's kind."""

    def shape(self, kind: GroupVersionKind) -> Shape | None:
        """How objects of this kind are merged; None if nobody knows."""

    def is_custom(self, kind: GroupVersionKind) -> bool:
        """Whether the kind comes from a CustomResourceDefinition."""

    def settle(self, kind: GroupVersionKind, changed: Json, before: Json, *, strict: bool) -> Json:
        """A changed object as the server would hold it: decoded (raising ApiError if it cannot be), and defaulted.

        What `changed` shares with `before` is settled already. `strict`: it comes as JSON text, where unknown fields are errors;
        else from a merge, where numbers are converted as Go converts them. Raises Unconvertible for what a failure policy may
        forgive, ApiError for what it may not.
        """

    def settle_patched(self, kind: GroupVersionKind, changed: Json, before: Json) -> Json:
        """The same for a webhook's patch, where unknown fields are dropped."""

    def convert(self, value: Json, kind: GroupVersionKind) -> Json:
        """An object in another version of its kind; raises UnknownConversion."""


class World(Equivalents, Namespaces, Params, Kinds, Protocol):
    """All of it, and who may do what."""

    @property
    def authorizer(self) -> Authorizer | None: ...
