"""Which kinds there are: names, scope, verbs, subresources, and which of them are the same thing under another version.

A catalog is immutable. The built-in one is made once; CustomResourceDefinitions add theirs in a new catalog that shares
everything else with the old one, so that a CRD costs nothing to requests that do not need it.
"""

import functools
import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, TypeAlias

from msgspec import Struct

from kadmit.kinds import table

Gvk: TypeAlias = tuple[str, str, str]  # group, version, kind
Gvr: TypeAlias = tuple[str, str, str]  # group, version, plural

# Resources that live in two groups at once; every other resource is equivalent to its own other versions only.
_COHABITATING: Mapping[tuple[str, str], tuple[str, str]] = {("events.k8s.io", "events"): ("", "events")}

_CUSTOM_VERBS = ("delete", "deletecollection", "get", "list", "patch", "create", "update", "watch")
_SUBRESOURCE_VERBS = ("get", "patch", "update")


class Subresource(Struct, frozen=True):
    """A part of a resource with a path of its own. `kind` is what is sent to it and answered by it."""

    name: str
    group: str
    version: str
    kind: str
    verbs: tuple[str, ...]

    @property
    def gvk(self) -> Gvk:
        return (self.group, self.version, self.kind)


class Resource(Struct, frozen=True):
    """One kind in one version."""

    group: str
    version: str
    kind: str
    plural: str
    singular: str
    namespaced: bool
    verbs: tuple[str, ...]
    short_names: tuple[str, ...] = ()
    categories: tuple[str, ...] = ()
    subresources: tuple[Subresource, ...] = ()
    list_kind: str = ""
    custom: bool = False  # defined by a CustomResourceDefinition
    served: bool = True  # False: a version that only admission rules and stored objects may name

    @property
    def gvk(self) -> Gvk:
        return (self.group, self.version, self.kind)

    @property
    def gvr(self) -> Gvr:
        return (self.group, self.version, self.plural)

    @property
    def api_version(self) -> str:
        return f"{self.group}/{self.version}" if self.group else self.version

    def subresource(self, name: str) -> Subresource | None:
        return next((sub for sub in self.subresources if sub.name == name), None)

    def kind_of(self, subresource: str = "") -> Gvk | None:
        """The kind that the resource, or this part of it, is read and written as."""
        if not subresource:
            return self.gvk
        found = self.subresource(subresource)
        return found.gvk if found else None


def _identity(group: str, plural: str) -> tuple[str, str]:
    return _COHABITATING.get((group, plural), (group, plural))


class Catalog:
    """All resources of a server, found by any of their names."""

    __slots__ = ("_by_gvk", "_by_gvr", "_by_identity", "_resources")

    def __init__(self, resources: Iterable[Resource]) -> None:
        self._resources = tuple(resources)
        self._by_gvr: dict[Gvr, Resource] = {}
        self._by_gvk: dict[Gvk, Resource] = {}
        self._by_identity: dict[tuple[str, str], tuple[Resource, ...]] = {}
        for resource in self._resources:
            identity = _identity(resource.group, resource.plural)
            self._by_identity[identity] = (*self._by_identity.get(identity, ()), resource)
            if resource.served:
                self._by_gvr[resource.gvr] = resource
                self._by_gvk.setdefault(resource.gvk, resource)

    def __iter__(self) -> Iterator[Resource]:
        """Every served resource."""
        return iter(self._by_gvr.values())

    def __len__(self) -> int:
        return len(self._by_gvr)

    def resource(self, group: str, version: str, plural: str) -> Resource | None:
        return self._by_gvr.get((group, version, plural))

    def kind(self, group: str, version: str, kind: str) -> Resource | None:
        return self._by_gvk.get((group, version, kind))

    def versions(self, group: str, kind: str) -> tuple[Resource, ...]:
        """Every version of a kind, the preferred one first."""
        found = [resource for resource in self if resource.group == group and resource.kind == kind]
        return tuple(sorted(found, key=_preference))

    def serves(self, group: str, version: str) -> bool:
        return any(resource.group == group and resource.version == version for resource in self)

    def equivalents(self, resource: Resource, subresource: str = "") -> tuple[Resource, ...]:
        """All resources that hold the same objects, itself among them, in the order in which admission tries them.

        NB: versions that a CRD no longer serves are among them: a rule may name them.
        """
        same = self._by_identity.get(_identity(resource.group, resource.plural), ())
        return tuple(other for other in same if not subresource or other.subresource(subresource))

    def named(self, name: str) -> tuple[Resource, ...]:
        """What a user means by `po`, `pod`, `pods`, `Pod`, `deployments.apps` or `deployments.v1.apps`; best match first."""
        word, _, rest = name.partition(".")
        found = [resource for resource in self if _goes_by(resource, word.lower()) and _lies_in(resource, rest)]
        return tuple(sorted(found, key=lambda resource: (word.lower() in resource.short_names, *_preference(resource))))

    def with_crds(self, definitions: Iterable[Mapping[str, Any]]) -> "Catalog":
        """This catalog and the kinds of these CustomResourceDefinitions. A name that is taken stays with its owner."""
        added = [
            resource
            for definition in definitions
            for resource in custom_resources(definition)
            if resource.gvr not in self._by_gvr
        ]
        return Catalog((*self._resources, *added)) if added else self


def _goes_by(resource: Resource, word: str) -> bool:
    return word in (resource.plural, resource.singular, resource.kind.lower()) or word in resource.short_names


def _preference(resource: Resource) -> tuple[Any, ...]:
    """Built-in resources are listed in order of preference; custom ones in the order that their definition gives."""
    return version_priority(resource.version) if resource.custom else ()


def _lies_in(resource: Resource, rest: str) -> bool:
    return not rest or rest == resource.group or rest == f"{resource.version}.{resource.group}".rstrip(".")


@functools.cache
def builtin() -> Catalog:
    """What kube-apiserver v1.36 serves by itself."""
    return Catalog(_from_row(row) for row in table.resources())


def _from_row(row: dict[str, Any]) -> Resource:
    return Resource(
        group=row["g"],
        version=row["v"],
        kind=row["k"],
        plural=row["p"],
        singular=row.get("s", ""),
        namespaced=row.get("ns", False),
        verbs=tuple(row["verbs"]),
        short_names=tuple(row.get("n", ())),
        categories=tuple(row.get("c", ())),
        subresources=tuple(
            Subresource(name, group, version, kind, tuple(verbs)) for name, group, version, kind, verbs in row.get("sub", ())
        ),
        list_kind=f"{row['k']}List",
    )


def custom_resources(definition: Mapping[str, Any]) -> tuple[Resource, ...]:
    """The resources of a CustomResourceDefinition: one per version, in the order that it gives."""
    spec = definition.get("spec") or {}
    return tuple(_custom_resource(spec, version) for version in spec.get("versions") or ())


def _custom_resource(spec: Mapping[str, Any], version: Mapping[str, Any]) -> Resource:
    names = spec["names"]
    return Resource(
        group=spec["group"],
        version=version["name"],
        kind=names["kind"],
        plural=names["plural"],
        singular=names.get("singular") or names["kind"].lower(),
        namespaced=spec.get("scope") == "Namespaced",
        verbs=_CUSTOM_VERBS,
        short_names=tuple(names.get("shortNames") or ()),
        categories=tuple(names.get("categories") or ()),
        subresources=tuple(_custom_subresources(spec, version)),
        list_kind=names.get("listKind") or f"{names['kind']}List",
        custom=True,
        served=bool(version.get("served")),
    )


def _custom_subresources(spec: Mapping[str, Any], version: Mapping[str, Any]) -> Iterator[Subresource]:
    declared = version.get("subresources") or {}
    if declared.get("status") is not None:
        yield Subresource("status", spec["group"], version["name"], spec["names"]["kind"], _SUBRESOURCE_VERBS)
    if declared.get("scale") is not None:
        yield Subresource("scale", "autoscaling", "v1", "Scale", _SUBRESOURCE_VERBS)


_VERSION = re.compile(r"v([1-9][0-9]{0,17})(?:(alpha|beta)([1-9][0-9]{0,17}))?\Z")
_STABILITY = {None: 0, "beta": 1, "alpha": 2}


def version_priority(version: str) -> tuple[int, int, int, str]:
    """Sorts versions as Kubernetes prefers them: v2, v1, v2beta1, v1beta2, v1alpha1, then all other names by the alphabet."""
    match = _VERSION.match(version)
    if not match:
        return (3, 0, 0, version)
    major, stability, minor = match.groups()
    return (_STABILITY[stability], -int(major), -int(minor or 0), version)
