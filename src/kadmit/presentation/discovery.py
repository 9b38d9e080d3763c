"""What the API says it serves: versions, groups, resources; one by one, or all at once (aggregated discovery).

A `Discovery` is made of a catalog and never changes; a new catalog makes a new one. Groups come in the catalog's order, custom
groups after them by name; versions in order of preference. Every document is plain JSON, its keys in the order that Go writes.

NB: the documents of the core group have no apiVersion, those of all other groups have one. Built-in kinds do not say their
group and version in aggregated discovery, custom kinds do.
"""

import base64
import functools
import hashlib
from collections.abc import Iterable, Mapping
from typing import Any, TypeAlias

from kadmit.kinds.catalog import Catalog, Resource, Subresource, version_priority
from kadmit.presentation import encoding
from kadmit.presentation.media import AGGREGATED_DISCOVERY

Json: TypeAlias = dict[str, Any]

# Kinds that are stored in another version than the one they are served in; the storage version hash shows it.
_STORED: Mapping[tuple[str, str], tuple[str, str]] = {
    ("events.k8s.io", "events"): ("", "v1"),
    ("autoscaling", "horizontalpodautoscalers"): ("autoscaling", "v2"),
    ("admissionregistration.k8s.io", "mutatingadmissionpolicies"): ("admissionregistration.k8s.io", "v1beta1"),
    ("admissionregistration.k8s.io", "mutatingadmissionpolicybindings"): ("admissionregistration.k8s.io", "v1beta1"),
    ("apiextensions.k8s.io", "customresourcedefinitions"): ("apiextensions.k8s.io", "v1beta1"),
}


class Discovery:
    """The documents of one catalog. `server_address` is what clients within the network are told to connect to.

    `storage_versions` gives the version in which custom kinds are stored, by group and plural.
    """

    def __init__(
        self, catalog: Catalog, *, server_address: str = "", storage_versions: Mapping[tuple[str, str], str] | None = None
    ) -> None:
        self._server_address = server_address
        self._storage_versions = storage_versions or {}
        self._groups: dict[str, dict[str, list[Resource]]] = {}
        for resource in _in_order(catalog):
            self._groups.setdefault(resource.group, {}).setdefault(resource.version, []).append(resource)

    def versions(self) -> Json:
        """/api"""
        addresses = [{"clientCIDR": "0.0.0.0/0", "serverAddress": self._server_address}]
        return {"kind": "APIVersions", "versions": [*self._groups.get("", {})], "serverAddressByClientCIDRs": addresses}

    def groups(self) -> Json:
        """/apis"""
        return {"kind": "APIGroupList", "apiVersion": "v1", "groups": [self._group(name) for name in self._groups if name]}

    def group(self, name: str) -> Json | None:
        """/apis/GROUP"""
        if not name or name not in self._groups:
            return None
        return {"kind": "APIGroup", "apiVersion": "v1", **self._group(name)}

    def _group(self, name: str) -> Json:
        versions = [{"groupVersion": f"{name}/{version}", "version": version} for version in self._groups[name]]
        return {"name": name, "versions": versions, "preferredVersion": versions[0]}

    def resources(self, group: str, version: str) -> Json | None:
        """/api/VERSION and /apis/GROUP/VERSION"""
        found = self._groups.get(group, {}).get(version)
        if found is None:
            return None
        rows = [row for resource in found for row in self._rows(resource)]
        if not group:
            return {"kind": "APIResourceList", "groupVersion": version, "resources": rows}
        return {"kind": "APIResourceList", "apiVersion": "v1", "groupVersion": f"{group}/{version}", "resources": rows}

    def _rows(self, resource: Resource) -> Iterable[Json]:
        yield {
            "name": resource.plural,
            "singularName": resource.singular,
            "namespaced": resource.namespaced,
            "kind": resource.kind,
            "verbs": [*resource.verbs],
            **_names(resource),
            **self._storage_version_hash(resource),
        }
        for sub in resource.subresources:
            elsewhere = {} if _at_home(resource, sub) else {"group": sub.group, "version": sub.version}
            yield {
                "name": f"{resource.plural}/{sub.name}",
                "singularName": "",
                "namespaced": resource.namespaced,
                **elsewhere,
                "kind": sub.kind,
                "verbs": [*sub.verbs],
            }

    def _storage_version_hash(self, resource: Resource) -> Json:
        stored = self._stored(resource)
        if stored is None:
            return {}
        digest = hashlib.sha256("/".join((*stored, resource.kind)).encode()).digest()
        return {"storageVersionHash": base64.b64encode(digest[:8]).decode()}

    def _stored(self, resource: Resource) -> tuple[str, str] | None:
        """Group and version; None for what is not stored, such as reviews."""
        key = (resource.group, resource.plural)
        if resource.custom:
            version = self._storage_versions.get(key)
            return (resource.group, version) if version else None
        return _STORED.get(key, (resource.group, resource.version)) if "watch" in resource.verbs else None

    # -------------------------------------------------------- all at once

    @functools.cached_property
    def aggregated_core(self) -> "Aggregated":
        """/api, asked for as APIGroupDiscoveryList"""
        return Aggregated([_discovered(name, versions) for name, versions in self._groups.items() if not name])

    @functools.cached_property
    def aggregated(self) -> "Aggregated":
        """/apis, asked for as APIGroupDiscoveryList"""
        return Aggregated([_discovered(name, versions) for name, versions in self._groups.items() if name])

    def paths(self) -> list[str]:
        """The paths that / lists for these groups."""
        named = [f"/apis/{name}" for name in self._groups if name]
        versioned = [f"/apis/{name}/{version}" for name, versions in self._groups.items() if name for version in versions]
        core = [f"/api/{version}" for version in self._groups.get("", {})]
        return sorted(["/api", *core, "/apis", "/apis/", *named, *versioned])


class Aggregated:
    """An APIGroupDiscoveryList and the name of its state, by which clients ask whether it changed."""

    def __init__(self, items: list[Json]) -> None:
        target = AGGREGATED_DISCOVERY
        self.document: Json = {"kind": target.kind, "apiVersion": target.api_version, "metadata": {}, "items": items}
        self.etag = f'"{hashlib.sha512(encoding.json({"metadata": {}, "items": items})).hexdigest().upper()}"'


def _in_order(catalog: Catalog) -> list[Resource]:
    """Built-in resources as the catalog lists them; custom ones by group, version and name."""
    builtin = [resource for resource in catalog if not resource.custom]
    custom = [resource for resource in catalog if resource.custom]
    return [*builtin, *sorted(custom, key=lambda r: (r.group, version_priority(r.version), r.plural))]


def _names(resource: Resource) -> Json:
    made = {"shortNames": [*resource.short_names], "categories": [*resource.categories]}
    return {key: value for key, value in made.items() if value}


def _at_home(resource: Resource, sub: Subresource) -> bool:
    return (sub.group, sub.version) == (resource.group, resource.version)


def _discovered(group: str, versions: Mapping[str, list[Resource]]) -> Json:
    metadata = {"name": group} if group else {}
    return {
        "metadata": metadata,
        "versions": [
            {"version": version, "resources": [_discovered_resource(r) for r in resources], "freshness": "Current"}
            for version, resources in versions.items()
        ],
    }


def _discovered_resource(resource: Resource) -> Json:
    own = (resource.group, resource.version) if resource.custom else ("", "")
    made = {
        "resource": resource.plural,
        "responseKind": _kind(*own, resource.kind),
        "scope": "Namespaced" if resource.namespaced else "Cluster",
        "singularResource": resource.singular,
        "verbs": [*resource.verbs],
        **_names(resource),
    }
    if resource.subresources:
        made["subresources"] = [_discovered_subresource(resource, sub) for sub in resource.subresources]
    return made


def _discovered_subresource(resource: Resource, sub: Subresource) -> Json:
    named = resource.custom or not _at_home(resource, sub)
    group, version = (sub.group, sub.version) if named else ("", "")
    return {"subresource": sub.name, "responseKind": _kind(group, version, sub.kind), "verbs": [*sub.verbs]}


def _kind(group: str, version: str, kind: str) -> Json:
    return {"group": group, "version": version, "kind": kind}
