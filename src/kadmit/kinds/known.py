"""All kinds of a server together, built-in and custom: one place to ask what is known of any of them.

Immutable: a new CustomResourceDefinition makes a new `Known` that shares everything else. Names are those of the seams in
kadmit.policy.world, which this answers as far as kinds can.
"""

import functools
from collections.abc import Hashable, Iterable, Mapping, Sequence
from typing import Any, TypeAlias

from kadmit.api.errors import ApiError, Status
from kadmit.api.meta import GroupVersionKind, GroupVersionResource
from kadmit.kinds import catalog, conversion, crd, decoding, defaults, fulltext, goorder, hub, patchmeta, schema, settling, shapes
from kadmit.kinds.catalog import Catalog, Resource
from kadmit.kinds.crd import CustomKind
from kadmit.kinds.decoding import Decoded
from kadmit.kinds.structural import with_readable_metadata
from kadmit.patch import unwritten
from kadmit.patch.shapes import Shape
from kadmit.patch.strategic import PatchMeta
from kadmit.patch.unwritten import Unwritable

Json: TypeAlias = dict[str, Any]


class Known:
    """Built-in kinds, and those of these CustomResourceDefinitions."""

    def __init__(self, definitions: Iterable[Mapping[str, Any]] = ()) -> None:
        listed = list(definitions)
        self.catalog: Catalog = catalog.builtin().with_crds(listed)
        self.custom: dict[tuple[str, str, str], CustomKind] = {}
        self._equivalents: dict[tuple[GroupVersionResource, str], list[tuple[GroupVersionResource, GroupVersionKind]]] = {}
        self._schemas: dict[GroupVersionKind, schema.Schema] = {}  # of built-in kinds, as far as they were asked for
        self.remembered: dict[Hashable, Any] = {}  # what others have worked out from these kinds, for as long as they last
        self._changed: set[tuple[str, str, str]] = set()  # kinds whose definition was written more than once
        for definition in listed:
            for kind in crd.custom_kinds(definition).values():
                found = self.catalog.resource(*kind.resource.gvr)
                if found is None or found.custom:
                    self.custom[kind.resource.gvk] = kind
                    if ((definition.get("metadata") or {}).get("generation") or 1) > 1:
                        self._changed.add(kind.resource.gvk)

    def resource(self, resource: GroupVersionResource) -> Resource | None:
        return self.catalog.resource(*resource)

    def kind(self, kind: GroupVersionKind) -> Resource | None:
        return self.catalog.kind(*kind)

    @functools.cached_property
    def builtin_groups(self) -> frozenset[str]:
        """API groups that are there without any definition, served or not."""
        return frozenset(resource.group for resource in self.catalog if not resource.custom)

    def is_custom(self, kind: GroupVersionKind) -> bool:
        return kind in self.custom

    def namespaced(self, kind: GroupVersionKind) -> bool | None:
        found = self.catalog.kind(*kind)
        return None if found is None else found.namespaced

    def shape(self, kind: GroupVersionKind) -> Shape | None:
        custom = self.custom.get(kind)
        if custom is not None:
            return custom.shape
        # NB: kube-apiserver knows no merge schema for kinds that are only ever subresources.
        return shapes.for_kind(kind) if self.catalog.kind(*kind) is not None else None

    def patch_meta(self, kind: GroupVersionKind) -> PatchMeta | None:
        """How a strategic merge treats the kind; None for custom kinds, which have none."""
        return None if self.is_custom(kind) else patchmeta.for_kind(kind)

    def equivalents(
        self, resource: GroupVersionResource, subresource: str
    ) -> Sequence[tuple[GroupVersionResource, GroupVersionKind]]:
        key = (resource, subresource)
        if key not in self._equivalents:
            self._equivalents[key] = self._find_equivalents(resource, subresource)
        return self._equivalents[key]

    def _find_equivalents(
        self, resource: GroupVersionResource, subresource: str
    ) -> list[tuple[GroupVersionResource, GroupVersionKind]]:
        found = self.catalog.resource(*resource)
        if found is None:
            return []
        made = []
        for same in self.catalog.equivalents(found, subresource):
            kind = same.kind_of(subresource)
            if kind is not None:
                made.append((GroupVersionResource(*same.gvr), GroupVersionKind(*kind)))
        return made

    def decode(self, kind: GroupVersionKind, body: bytes, value: Any = fulltext.UNREAD) -> Decoded:
        """A body as an object of this kind, defaults filled in; `value` is what it reads as, if known. Raises DecodeError."""
        custom = self.custom.get(kind)
        if custom is not None:
            return custom.decode(body, value)
        decoded = decoding.decode(self._schema(kind), body, value)
        return Decoded(hub.through(kind, defaults.apply(kind, decoded.object)), decoded.found)

    def normalise(self, kind: GroupVersionKind, value: Json) -> Decoded:
        """A value as an object of this kind, defaults filled in. Raises DecodeError."""
        custom = self.custom.get(kind)
        if custom is not None:
            return custom.normalise(value)
        decoded = decoding.normalise(self._schema(kind), value)
        return Decoded(hub.through(kind, defaults.apply(kind, decoded.object)), decoded.found)

    def written(self, kind: GroupVersionKind, value: Json) -> Json:
        """An object in the order in which kube-apiserver writes its members."""
        made: Json = goorder.sorted_by_key(value) if self.is_custom(kind) else goorder.ordered(self._schema(kind), value)
        return made

    def restore(self, kind: GroupVersionKind, merged: Json, before: Json) -> Decoded:
        """What a strategic merge made, as an object of this kind. Raises DecodeError and Unconvertible.

        NB: it is of this kind whatever it calls itself.
        """
        decoded = decoding.restore(self._schema(kind), merged, before)
        named = {**decoded.object, "apiVersion": str(kind.group_version), "kind": kind.kind}
        return Decoded(hub.through(kind, defaults.apply(kind, named)), decoded.found)

    def finished(self, kind: GroupVersionKind, mutated: Json) -> Json:
        """An object after all its mutations. NB: a custom one still has what its schema does not know, for all to see."""
        return with_readable_metadata(mutated) if kind in self.custom else hub.through(kind, mutated)

    def stored(self, kind: GroupVersionKind, mutated: Json) -> Json:
        """A mutated object as it is read after it was written: a custom one loses what its schema does not know.

        Raises ApiError if it cannot be written at all.
        """
        custom = self.custom.get(kind)
        if custom is None:
            return mutated
        try:
            return custom.normalise(unwritten.written(mutated)).object
        except Unwritable as error:
            raise ApiError(Status(500, "", str(error))) from None

    def _schema(self, kind: GroupVersionKind) -> schema.Schema:
        found = self._schemas.get(kind)
        if found is None:
            found = schema.for_kind(kind)
            assert found is not None, kind
            self._schemas[kind] = found
        return found

    def settle(self, kind: GroupVersionKind, changed: Json, before: Json, *, strict: bool) -> Json:
        """The result of a policy's mutation."""
        return settling.settle(kind, changed, before, strict=strict, custom=self.custom.get(kind))

    def settle_patched(self, kind: GroupVersionKind, changed: Json, before: Json) -> Json:
        """The result of a webhook's JSON patch."""
        return settling.patched(kind, changed, before, strict=False, custom=self.custom.get(kind))

    def convert(self, value: Json, kind: GroupVersionKind) -> Json:
        """An object in another version. Raises UnknownConversion."""
        return conversion.convert(value, kind)

    def kept(self, kind: GroupVersionKind, value: Json) -> Json:
        """An object of this kind as it is stored: a custom one in one of its versions, and as the schema of that has it."""
        custom = self.custom.get(kind)
        storage = self.custom.get((kind.group, custom.storage, kind.kind)) if custom is not None else None
        if storage is None or storage is custom:
            return value
        return storage.normalise({**value, "apiVersion": storage.resource.api_version}).object

    def read(self, value: Json, kind: GroupVersionKind) -> Json:
        """A stored object in a version of its kind. Raises UnknownConversion.

        NB: a custom object is read through the schema of the version in which it is stored, which may have changed since, and
        then through the one that is asked for.
        """
        custom = self.custom.get(kind)
        if custom is None:
            return conversion.convert(value, kind)
        stored = value if kind not in self._changed else self._read_again(value)
        made = conversion.convert(stored, kind)
        return made if made is stored else custom.pruned(made)

    def _read_again(self, value: Json) -> Json:
        custom = self.custom.get(decoding.kind_of(value))
        return value if custom is None else custom.normalise(value).object
