"""What single kinds have done to them before they are looked at: parts that the server fills in, or keeps, or takes away."""

from collections.abc import Mapping
from typing import Any, TypeAlias

from kadmit.kinds.rules import jobs, services
from kadmit.patch import equality

Json: TypeAlias = Any
Object: TypeAlias = dict[str, Json]

_TEMPLATE_GENERATION = "deprecated.daemonset.template.generation"
_SNAPSHOTS = "snapshot.storage.k8s.io"


def namespace(value: Object) -> Object:
    """It lives, and cannot go before it has been emptied."""
    finalizers = (value.get("spec") or {}).get("finalizers") or []
    if "kubernetes" not in finalizers:
        finalizers = [*finalizers, "kubernetes"]
    return {**value, "spec": {**(value.get("spec") or {}), "finalizers": finalizers}, "status": {"phase": "Active"}}


def changed_namespace(new: Object, old: Object) -> Object:
    """Its finalizers have a door of their own."""
    kept = (old.get("spec") or {}).get("finalizers")
    spec = {key: value for key, value in (new.get("spec") or {}).items() if key != "finalizers"}
    return {**new, "spec": {**spec, "finalizers": kept} if kept else spec}


def node(value: Object) -> Object:
    """Its configuration is no longer kept here."""
    made = dict(value)
    for part, member in (("spec", "configSource"), ("status", "config")):
        if (made.get(part) or {}).get(member) is not None:
            made[part] = {key: one for key, one in made[part].items() if key != member}
    return made


def volume(value: Object) -> Object:
    """NB: the clock is that of its creation, which is the same."""
    created = (value.get("metadata") or {}).get("creationTimestamp")
    since = {"lastPhaseTransitionTime": created} if created else {}
    return {**value, "status": {**value["status"], "phase": "Pending", **since}}


def account(value: Object) -> Object:
    """Of secrets that it refers to, only the names count."""
    if not value.get("secrets"):
        return value
    return {**value, "secrets": [{"name": one["name"]} if one.get("name") else {} for one in value["secrets"]]}


def endpoints(value: Object) -> Object:
    """An older field for where endpoints are is only for who still has it: nobody, since its version is gone."""
    given = value.get("endpoints") or ()
    if not any("deprecatedTopology" in one for one in given):
        return value
    return {**value, "endpoints": [{key: part for key, part in one.items() if key != "deprecatedTopology"} for one in given]}


# ---------------------------------------------------------------- claims


def claim(value: Object) -> Object:
    spec = _without_foreign_source(value.get("spec") or {}, {})
    return {**value, "spec": _with_both_sources(_with_known_source(spec, {}))}


def changed_claim(new: Object, old: Object) -> Object:
    before = old.get("spec") or {}
    spec = _with_known_source(_without_foreign_source(new.get("spec") or {}, before), before)
    return {**new, "spec": _with_both_sources(spec)}


def _without_foreign_source(spec: Mapping[str, Json], old: Mapping[str, Json]) -> Mapping[str, Json]:
    """Sources of other namespaces are a feature that is off."""
    reference = spec.get("dataSourceRef")
    if reference is None or not reference.get("namespace") or old.get("dataSourceRef") is not None:
        return spec
    return {key: value for key, value in spec.items() if key != "dataSourceRef"}


def _with_known_source(spec: Mapping[str, Json], old: Mapping[str, Json]) -> Object:
    """The older field takes claims and snapshots only; anything else in it is silently dropped."""
    source = spec.get("dataSource")
    in_use = old.get("dataSource") is not None or old.get("dataSourceRef") is not None
    if source is None or in_use or spec.get("dataSourceRef") is not None or _is_known(source):
        return dict(spec)
    return {key: value for key, value in spec.items() if key != "dataSource"}


def _is_known(source: Mapping[str, Json]) -> bool:
    kind, group = source.get("kind"), source.get("apiGroup")
    return (kind == "PersistentVolumeClaim" and not group) or (kind == "VolumeSnapshot" and group == _SNAPSHOTS)


def _with_both_sources(spec: Object) -> Object:
    source, reference = spec.get("dataSource"), spec.get("dataSourceRef")
    if source is not None and reference is None:
        return {**spec, "dataSourceRef": dict(source)}
    if reference is not None and source is None and not reference.get("namespace"):
        return {**spec, "dataSource": {key: value for key, value in reference.items() if key != "namespace"}}
    return spec


# ---------------------------------------------------------------- workloads


def daemon_set(value: Object) -> Object:
    """NB: the generation of its template stands in an annotation."""
    given = ((value.get("metadata") or {}).get("annotations") or {}).get(_TEMPLATE_GENERATION) or ""
    return _with_template_generation(value, max(1, int(given) if given.isdecimal() and given.isascii() else 0))


def changed_daemon_set(new: Object, old: Object) -> Object:
    before = ((old.get("metadata") or {}).get("annotations") or {}).get(_TEMPLATE_GENERATION) or "0"
    generation = int(before) if before.isdecimal() and before.isascii() else 0
    after, was = (new.get("spec") or {}).get("template"), (old.get("spec") or {}).get("template")
    return _with_template_generation(new, generation if equality.same(after, was) else generation + 1)


def _with_template_generation(value: Object, generation: int) -> Object:
    meta = value.get("metadata") or {}
    annotations = {**(meta.get("annotations") or {}), _TEMPLATE_GENERATION: str(generation)}
    return {**value, "metadata": {**meta, "annotations": annotations}}


def job(value: Object) -> Object:
    """Its pods carry its name and uid, by which it selects them, unless its author selects them by hand."""
    spec = value.get("spec") or {}
    if spec.get("manualSelector"):
        return value
    meta, template, selector = value.get("metadata") or {}, spec.get("template") or {}, spec.get("selector") or {}
    own = {**dict.fromkeys(jobs.NAME_LABELS, meta.get("name") or ""), **dict.fromkeys(jobs.UID_LABELS, meta.get("uid") or "")}
    of_template = template.get("metadata") or {}
    labels = {**own, **(of_template.get("labels") or {})}
    selected = {jobs.UID_LABELS[1]: meta.get("uid") or "", **(selector.get("matchLabels") or {})}
    made = {
        **spec,
        "selector": {**selector, "matchLabels": selected},
        "template": {**template, "metadata": {**of_template, "labels": labels}},
    }
    # NB: labels that the Job has taken from its template are the template's own, and grow with them.
    shared = meta.get("labels") and meta["labels"] == of_template.get("labels")
    return {**value, "spec": made, **({"metadata": {**meta, "labels": labels}} if shared else {})}


# ---------------------------------------------------------------- secrets, services, definitions


def changed_secret(new: Object, old: Object) -> Object:
    return {**new, "type": old["type"]} if not new.get("type") and old.get("type") else new


def service(value: Object) -> Object:
    """Traffic inside the cluster is no concern of a name outside. NB: a wrong value stays, to be refused."""
    spec = value.get("spec") or {}
    if spec.get("type") != "ExternalName" or spec.get("internalTrafficPolicy") not in ("Cluster", "Local"):
        return value
    return {**value, "spec": {key: part for key, part in spec.items() if key != "internalTrafficPolicy"}}


def changed_service(new: Object, old: Object) -> Object:
    """What a service of its new type cannot have goes, if its author left it as it was."""
    after, before = dict(new.get("spec") or {}), old.get("spec") or {}
    now, was = after.get("type"), before.get("type")
    if was != "ExternalName" and now == "ExternalName":
        if all(after.get(member) == before.get(member) for member in ("clusterIP", "clusterIPs")):
            _drop(after, "clusterIP", "clusterIPs")
        _drop_unchanged(after, before, "ipFamilies", "ipFamilyPolicy")
    balanced = ("NodePort", "LoadBalancer")
    if was in balanced and now not in balanced and _node_ports(after) == _node_ports(before):
        ports = [{key: value for key, value in port.items() if key != "nodePort"} for port in after.get("ports") or ()]
        after = {**after, "ports": ports} if ports else after
    if services.needs_health_check(before) and not services.needs_health_check(after):
        _drop_unchanged(after, before, "healthCheckNodePort")
    if was == "LoadBalancer" and now != "LoadBalancer":
        _drop_unchanged(after, before, "allocateLoadBalancerNodePorts", "loadBalancerClass")
    if services.is_external(before) and not services.is_external(after):
        _drop_unchanged(after, before, "externalTrafficPolicy")
    status = new.get("status") if now == "LoadBalancer" else {**(new.get("status") or {}), "loadBalancer": {}}
    return service({**new, "spec": after, "status": status})


def _node_ports(spec: Mapping[str, Json]) -> list[int]:
    return sorted({port.get("nodePort") or 0 for port in spec.get("ports") or ()} - {0})


def _drop_unchanged(after: Object, before: Mapping[str, Json], *members: str) -> None:
    _drop(after, *(member for member in members if after.get(member) == before.get(member)))


def _drop(value: Object, *members: str) -> None:
    for member in members:
        value.pop(member, None)


def definition(value: Object) -> Object:
    """The version that objects are stored in is remembered for good."""
    status = dict(value.get("status") or {})
    stored = status.get("storedVersions") or []
    for version in (value.get("spec") or {}).get("versions") or ():
        if version.get("storage"):
            if version.get("name") not in stored:
                status["storedVersions"] = [*stored, version.get("name") or ""]
            break
    return {**value, "status": status}
