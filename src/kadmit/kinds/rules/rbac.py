"""Roles and their bindings. Names may be anything that can be part of a path."""

from collections.abc import Iterator, Mapping
from typing import Any, TypeAlias

from kadmit.api import fields
from kadmit.api.fields import FieldError, Path
from kadmit.kinds import internals, labels
from kadmit.kinds.metadata import path_segment
from kadmit.kinds.rules import meta, naming, selectors
from kadmit.kinds.rules.meta import Object

Json: TypeAlias = Any
Part: TypeAlias = Mapping[str, Json]

GROUP = "rbac.authorization.k8s.io"


def create_role(role: Object, *, namespaced: bool = True) -> Iterator[FieldError]:
    yield from meta.created(role, path_segment, namespaced=namespaced)
    for index, rule in enumerate(role.get("rules") or ()):
        yield from _rule(rule, fields.path("rules").index(index), namespaced=namespaced)


def update_role(new: Object, old: Object) -> Iterator[FieldError]:
    yield from create_role(new)
    yield from meta.updated(new, old)


def create_cluster_role(role: Object) -> Iterator[FieldError]:
    yield from create_role(role, namespaced=False)
    if role.get("aggregationRule") is not None:
        yield from _aggregation(role["aggregationRule"].get("clusterRoleSelectors") or [])


def update_cluster_role(new: Object, old: Object) -> Iterator[FieldError]:
    yield from create_cluster_role(new)
    yield from meta.updated(new, old)


def _rule(rule: Part, at: Path, *, namespaced: bool) -> Iterator[FieldError]:
    urls = rule.get("nonResourceURLs") or []
    if not rule.get("verbs"):
        yield fields.required(at.child("verbs"), "verbs must contain at least one value")
    if not urls:
        if not rule.get("apiGroups"):
            yield fields.required(at.child("apiGroups"), "resource rules must supply at least one api group")
        if not rule.get("resources"):
            yield fields.required(at.child("resources"), "resource rules must supply at least one resource")
        return
    if namespaced:
        yield fields.invalid(at.child("nonResourceURLs"), urls, "namespaced rules cannot apply to non-resource URLs")
    if any(rule.get(member) for member in ("apiGroups", "resources", "resourceNames")):
        text = "rules cannot apply to both regular resources and non-resource URLs"
        yield fields.invalid(at.child("nonResourceURLs"), urls, text)


def _aggregation(values: list[Part]) -> Iterator[FieldError]:
    at = fields.path("aggregationRule", "clusterRoleSelectors")
    if not values:
        yield fields.required(at, "at least one clusterRoleSelector required if aggregationRule is non-nil")
    for index, selector in enumerate(values):
        yield from labels.validate_selector(selector, at.index(index))
        if not selectors.is_sound(selector):
            yield fields.invalid(at.index(index), None, "invalid label selector.")


# ---------------------------------------------------------------- bindings


def create_binding(binding: Object, *, namespaced: bool = True) -> Iterator[FieldError]:
    yield from meta.created(binding, path_segment, namespaced=namespaced)
    role, at = binding.get("roleRef") or {}, fields.path("roleRef")
    if (role.get("apiGroup") or "") != GROUP:
        yield fields.not_supported(at.child("apiGroup"), role.get("apiGroup") or "", (GROUP,))
    kinds = ("Role", "ClusterRole") if namespaced else ("ClusterRole",)
    if role.get("kind") not in kinds:
        yield fields.not_supported(at.child("kind"), role.get("kind") or "", kinds)
    name = role.get("name") or ""
    yield from naming.path_segment(name, at.child("name")) if name else (fields.required(at.child("name")),)
    for index, subject in enumerate(binding.get("subjects") or ()):
        yield from _subject(subject, fields.path("subjects").index(index), namespaced=namespaced)


def update_binding(new: Object, old: Object, *, namespaced: bool = True) -> Iterator[FieldError]:
    yield from create_binding(new, namespaced=namespaced)
    yield from meta.updated(new, old)
    if not internals.same("RoleRef", old.get("roleRef") or {}, new.get("roleRef") or {}):
        shown = internals.shown("RoleRef", new.get("roleRef") or {})
        yield fields.invalid(fields.path("roleRef"), shown, "cannot change roleRef")


def create_cluster_binding(binding: Object) -> Iterator[FieldError]:
    return create_binding(binding, namespaced=False)


def update_cluster_binding(new: Object, old: Object) -> Iterator[FieldError]:
    return update_binding(new, old, namespaced=False)


def _subject(subject: Part, at: Path, *, namespaced: bool) -> Iterator[FieldError]:
    name, group = subject.get("name") or "", subject.get("apiGroup") or ""
    if not name:
        yield fields.required(at.child("name"))
    match subject.get("kind"):
        case "ServiceAccount":
            if name:
                yield from naming.subdomain(name, at.child("name"))
            if group:
                yield fields.not_supported(at.child("apiGroup"), group, ("",))
            if not namespaced and not subject.get("namespace"):
                yield fields.required(at.child("namespace"))
        case "User" | "Group":
            if group != GROUP:
                yield fields.not_supported(at.child("apiGroup"), group, (GROUP,))
        case kind:
            yield fields.not_supported(at.child("kind"), kind or "", ("ServiceAccount", "User", "Group"))
