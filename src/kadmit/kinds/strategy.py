"""What the server makes of an object before it looks at it: parts that are not the client's to write, and the generation.

    made = prepare_for_create(gvk, decoded)                       # after defaults, before validation
    made = prepare_for_update(gvk, decoded, old, subresource)     # metadata that clients cannot change stays, quietly

`custom` is the resource of a custom kind, which tells whether it keeps its status apart. Nothing is changed in place. What needs
a clock or other objects (a Service's addresses, `kadmit.kinds.allocation`) is done elsewhere.
"""

import functools
from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

from kadmit.api.meta import GroupVersionKind
from kadmit.kinds import catalog, decoding, disabled, metadata, podpreparation, preparation, schema
from kadmit.kinds.catalog import Resource
from kadmit.patch import equality

Json: TypeAlias = Any
Object: TypeAlias = dict[str, Json]

_REGISTRATION, _RBAC = "admissionregistration.k8s.io", "rbac.authorization.k8s.io"
_POLICIES = ("MutatingAdmissionPolicy", "MutatingAdmissionPolicyBinding", "ValidatingAdmissionPolicy")

# Kinds that count the generations of these parts of theirs.
_GENERATIONS: Mapping[tuple[str, str], tuple[str, ...]] = {
    **{(_REGISTRATION, kind): ("spec",) for kind in (*_POLICIES, "ValidatingAdmissionPolicyBinding")},
    **{(_REGISTRATION, f"{kind}WebhookConfiguration"): ("webhooks",) for kind in ("Mutating", "Validating")},
    **{("apps", kind): ("spec",) for kind in ("DaemonSet", "Deployment", "ReplicaSet", "StatefulSet")},
    **{("batch", kind): ("spec",) for kind in ("CronJob", "Job")},
    **{("", kind): ("spec",) for kind in ("Pod", "ReplicationController")},
    ("", "PodTemplate"): ("template",),
    ("discovery.k8s.io", "EndpointSlice"): ("addressType", "endpoints", "ports"),
    **{("flowcontrol.apiserver.k8s.io", kind): ("spec",) for kind in ("FlowSchema", "PriorityLevelConfiguration")},
    **{("networking.k8s.io", kind): ("spec",) for kind in ("Ingress", "IngressClass", "NetworkPolicy")},
    ("policy", "PodDisruptionBudget"): ("spec",),
    **{("resource.k8s.io", kind): ("spec",) for kind in ("DeviceClass", "DeviceTaintRule", "ResourceSlice")},
    ("scheduling.k8s.io", "PriorityClass"): (),
    ("storage.k8s.io", "CSIDriver"): ("spec",),
    ("apiextensions.k8s.io", "CustomResourceDefinition"): ("spec",),
}
# Kinds that have no generation before they change.
_UNBORN = frozenset({("storage.k8s.io", "CSIDriver")})
# Kinds with a status that clients may set when they create: nobody takes it away.
_OPEN_STATUS = frozenset({("", "Node"), ("", "Event"), ("flowcontrol.apiserver.k8s.io", "FlowSchema")})
_OPEN_STATUS |= {("", "Pod")}  # what is left of it is decided where pods are prepared
_OPEN_STATUS |= {("flowcontrol.apiserver.k8s.io", "PriorityLevelConfiguration"), ("apiregistration.k8s.io", "APIService")}
# Kinds whose status is written without touching anything else of theirs.
_CLOSED_METADATA = frozenset({(_REGISTRATION, "ValidatingAdmissionPolicy"), ("storage.k8s.io", "VolumeAttachment")})
_CLOSED_METADATA |= {("networking.k8s.io", "ServiceCIDR"), ("flowcontrol.apiserver.k8s.io", "FlowSchema")}
_CLOSED_METADATA |= {("flowcontrol.apiserver.k8s.io", "PriorityLevelConfiguration"), ("apiregistration.k8s.io", "APIService")}
_CLOSED_METADATA |= {("resource.k8s.io", "ResourceClaim")}

_ON_CREATE: Mapping[tuple[str, str], Callable[[Object], Object]] = {
    ("", "Namespace"): preparation.namespace,
    ("", "Node"): preparation.node,
    ("", "PersistentVolume"): preparation.volume,
    ("", "PersistentVolumeClaim"): preparation.claim,
    ("", "Pod"): podpreparation.pod,
    ("", "Service"): preparation.service,
    ("", "ServiceAccount"): preparation.account,
    ("apiextensions.k8s.io", "CustomResourceDefinition"): preparation.definition,
    ("apps", "DaemonSet"): preparation.daemon_set,
    ("batch", "Job"): preparation.job,
    ("discovery.k8s.io", "EndpointSlice"): preparation.endpoints,
}
_ON_UPDATE: Mapping[tuple[str, str], Callable[[Object, Object], Object]] = {
    ("", "Namespace"): preparation.changed_namespace,
    ("", "PersistentVolumeClaim"): preparation.changed_claim,
    ("", "Secret"): preparation.changed_secret,
    ("", "Service"): preparation.changed_service,
    ("", "ServiceAccount"): lambda new, _: preparation.account(new),
    ("apiextensions.k8s.io", "CustomResourceDefinition"): lambda new, _: preparation.definition(new),
    ("apps", "DaemonSet"): preparation.changed_daemon_set,
    ("discovery.k8s.io", "EndpointSlice"): lambda new, _: preparation.endpoints(new),
}


def prepare_for_create(gvk: GroupVersionKind, value: Object, *, custom: Resource | None = None) -> Object:
    if custom is not None:
        return _with_generation(_without_status(value) if custom.subresource("status") else value, 1)
    kind = (gvk.group, gvk.kind)
    value = disabled.without(kind, value)
    made = _with_status(value, zero_status(gvk)) if kind not in _OPEN_STATUS else value
    if kind in _ON_CREATE:
        made = _ON_CREATE[kind](made)
    return _with_generation(made, 1) if kind in _GENERATIONS and kind not in _UNBORN else made


def prepare_for_update(
    gvk: GroupVersionKind, new: Object, old: Object, subresource: str = "", *, custom: Resource | None = None
) -> Object:
    """`old` as it is stored."""
    if custom is not None:
        made = _custom_update(new, old, subresource, has_status=custom.subresource("status") is not None)
    elif subresource == "status":
        made = _status_update((gvk.group, gvk.kind), new, old)
    elif subresource == "approval":
        made = new
    elif subresource == "finalize":
        made = _with_status(new, old.get("status"))
    elif subresource == "ephemeralcontainers":
        made = podpreparation.with_ephemeral_containers(new, old)
    elif subresource == "resize":
        made = podpreparation.resized(new, old)
    else:
        made = _update(gvk, new, old)
    namespaced = custom.namespaced if custom is not None else _is_namespaced(gvk)
    kept = metadata.kept_on_update(made.get("metadata") or {}, old.get("metadata") or {}, namespaced=namespaced)
    kept = {key: value for key, value in kept.items() if key != "generation" or (old.get("metadata") or {}).get(key)}
    return _counted(gvk, {**made, "metadata": kept}, old, subresource, is_custom=custom is not None)


def _is_namespaced(gvk: GroupVersionKind) -> bool:
    found = catalog.builtin().kind(*gvk)
    return found is not None and found.namespaced


def _update(gvk: GroupVersionKind, new: Object, old: Object) -> Object:
    kind = (gvk.group, gvk.kind)
    new = disabled.without(kind, new)
    made = _with_status(new, old.get("status")) if zero_status(gvk) is not None or kind in _OPEN_STATUS else new
    return _ON_UPDATE[kind](made, old) if kind in _ON_UPDATE else made


def _status_update(kind: tuple[str, str], new: Object, old: Object) -> Object:
    made = {**new, **({"spec": old["spec"]} if "spec" in old else {})}
    meta, before = dict(made.get("metadata") or {}), old.get("metadata") or {}
    if kind == ("apps", "Deployment"):
        made["metadata"] = _with_old(meta, before, ("labels",))
    elif kind == ("", "Pod"):
        meta.pop("deletionTimestamp", None)
        made["metadata"] = _with_old(meta, before, ("ownerReferences",))
        status = made.get("status") or {}
        if not status.get("qosClass") and (old.get("status") or {}).get("qosClass"):
            made["status"] = {**status, "qosClass": old["status"]["qosClass"]}
    elif kind in _CLOSED_METADATA:
        made["metadata"] = _with_old(meta, before, ("labels", "annotations", "finalizers", "ownerReferences", "selfLink"))
    return made


def _with_old(meta: Object, old: Mapping[str, Json], members: tuple[str, ...]) -> Object:
    kept = {key: value for key, value in meta.items() if key not in members}
    return {**kept, **{member: old[member] for member in members if member in old}}


def _custom_update(new: Object, old: Object, subresource: str, *, has_status: bool) -> Object:
    if subresource == "status":
        managed = (new.get("metadata") or {}).get("managedFields")
        meta = {key: value for key, value in (old.get("metadata") or {}).items() if key != "managedFields"}
        made = {**old, "metadata": {**meta, **({"managedFields": managed} if managed else {})}}
        return _with_status(made, new.get("status"))
    return _with_status(new, old.get("status")) if has_status else new


# ---------------------------------------------------------------- generations


def _counted(gvk: GroupVersionKind, made: Object, old: Object, subresource: str, *, is_custom: bool) -> Object:
    """A new generation, if a part of the object has changed that counts."""
    if subresource in ("status", "finalize", "approval"):
        return made
    if is_custom:
        changed = not equality.same(_but_metadata(made), _but_metadata(old))
    else:
        changed = _has_changed((gvk.group, gvk.kind), made, old)
    return _with_generation(made, ((old.get("metadata") or {}).get("generation") or 0) + 1) if changed else made


def _has_changed(kind: tuple[str, str], new: Object, old: Object) -> bool:
    if any(not equality.same(new.get(part), old.get(part)) for part in _GENERATIONS.get(kind, ())):
        return True
    after, before = new.get("metadata") or {}, old.get("metadata") or {}
    if kind == ("apps", "Deployment"):
        return (after.get("annotations") or {}) != (before.get("annotations") or {})
    return kind == ("discovery.k8s.io", "EndpointSlice") and (after.get("labels") or {}) != (before.get("labels") or {})


def _but_metadata(value: Object) -> Object:
    return {key: member for key, member in value.items() if key != "metadata"}


def _with_generation(value: Object, generation: int) -> Object:
    return {**value, "metadata": {**(value.get("metadata") or {}), "generation": generation}}


# ---------------------------------------------------------------- status


@functools.cache
def _zero_status(gvk: GroupVersionKind) -> Json:
    found = schema.for_kind(gvk)
    if found is None or "status" not in found.fields:
        return None
    return decoding.normalise(found, {"status": {}}).object.get("status", {})


def zero_status(gvk: GroupVersionKind) -> Json:
    """The status of an object that has none yet, as it is written; None, if the kind knows no status."""
    found = _zero_status(gvk)
    return None if found is None else dict(found)


def _with_status(value: Object, status: Json) -> Object:
    if status is None:
        return _without_status(value)
    return {**value, "status": status}


def _without_status(value: Object) -> Object:
    return {key: member for key, member in value.items() if key != "status"} if "status" in value else value
