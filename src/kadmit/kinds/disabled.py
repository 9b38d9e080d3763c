"""Fields of features that are off by default: dropped without a word. So no stored object has them."""

from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

Json: TypeAlias = Any
Object: TypeAlias = dict[str, Json]

_CONTAINERS = ("containers", "initContainers", "ephemeralContainers")
_PROJECTED = ("clusterTrustBundle", "podCertificate")
_TEMPLATE = ("spec", "template", "spec")


def without(kind: tuple[str, str], value: Object) -> Object:
    """The object, as far as it is about features that are on."""
    change = _OF_KINDS.get(kind)
    path = _POD_SPECS.get(kind)
    made = change(value) if change is not None else value
    return _changed(made, path, _pod_spec) if path is not None else made


def _changed(value: Object, path: tuple[str, ...], change: Callable[[Object], Object]) -> Object:
    """The value with one part of it changed, if it is there."""
    if not path:
        return change(value)
    part = value.get(path[0])
    if not isinstance(part, dict):
        return value
    made = _changed(part, path[1:], change)
    return value if made is part else {**value, path[0]: made}


# ---------------------------------------------------------------- pods


def _pod_spec(spec: Object) -> Object:
    return spec if _is_ordinary(spec) else _changed_spec(spec)


def _is_ordinary(spec: Object) -> bool:
    """A quick look, for nearly all pods have nothing of all this."""
    if "schedulingGroup" in spec:
        return False
    for member in _CONTAINERS:
        for container in spec.get(member) or ():
            if "lifecycle" in container:
                return False
    return all("projected" not in volume for volume in spec.get("volumes") or ())


def _changed_spec(spec: Object) -> Object:
    made = {key: part for key, part in spec.items() if key != "schedulingGroup"} if "schedulingGroup" in spec else spec
    for member in _CONTAINERS:
        made = _each(made, member, _container, having="lifecycle")
    return _each(made, "volumes", lambda volume: _changed(volume, ("projected",), _projected), having="projected")


def _each(holder: Object, member: str, change: Callable[[Object], Object], *, having: str = "") -> Object:
    listed = holder.get(member)
    if not listed or (having and all(having not in one for one in listed)):
        return holder
    made = [change(one) for one in listed]
    return holder if all(a is b for a, b in zip(made, listed, strict=True)) else {**holder, member: made}


def _container(container: Object) -> Object:
    hooks = container.get("lifecycle") or {}
    if "stopSignal" not in hooks:
        return container
    left = {key: hook for key, hook in hooks.items() if key != "stopSignal"}
    made = {key: part for key, part in container.items() if key != "lifecycle"}
    return {**made, "lifecycle": left} if left else made


def _projected(volume: Object) -> Object:
    return _each(volume, "sources", lambda source: _less(source, _PROJECTED))


def _less(value: Object, members: tuple[str, ...]) -> Object:
    if not any(member in value for member in members):
        return value
    return {key: part for key, part in value.items() if key not in members}


# ---------------------------------------------------------------- others


def _stateful_set(value: Object) -> Object:
    return _changed(value, ("spec", "updateStrategy", "rollingUpdate"), lambda part: _less(part, ("maxUnavailable",)))


def _lease(value: Object) -> Object:
    return _changed(value, ("spec",), lambda part: _less(part, ("strategy", "preferredHolder")))


def _driver(value: Object) -> Object:
    return _changed(value, ("spec",), lambda part: _less(part, ("preventPodSchedulingIfMissing",)))


_OF_KINDS: Mapping[tuple[str, str], Callable[[Object], Object]] = {
    ("apps", "StatefulSet"): _stateful_set,
    ("coordination.k8s.io", "Lease"): _lease,
    ("storage.k8s.io", "CSIDriver"): _driver,
}
_POD_SPECS: Mapping[tuple[str, str], tuple[str, ...]] = {
    ("", "Pod"): ("spec",),
    ("", "PodTemplate"): ("template", "spec"),
    ("", "ReplicationController"): _TEMPLATE,
    **dict.fromkeys((("apps", kind) for kind in ("DaemonSet", "Deployment", "ReplicaSet", "StatefulSet")), _TEMPLATE),
    ("batch", "Job"): _TEMPLATE,
    ("batch", "CronJob"): ("spec", "jobTemplate", *_TEMPLATE),
}
