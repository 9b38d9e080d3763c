"""Operating systems of pods, and what pods that do not share the users of their host cannot do."""

from collections.abc import Iterator, Mapping
from typing import Any, TypeAlias

from kadmit.api import fields
from kadmit.api.fields import FieldError, Path
from kadmit.kinds.rules import enums

Json: TypeAlias = Any
Spec: TypeAlias = Mapping[str, Json]

_NOT_ON_WINDOWS = "cannot be set for a windows pod"
_POD_FIELDS = (
    ("securityContext", "appArmorProfile"), ("securityContext", "seLinuxOptions"), ("hostUsers",), ("hostPID",), ("hostIPC",),
    ("securityContext", "seccompProfile"), ("securityContext", "fsGroup"), ("securityContext", "fsGroupChangePolicy"),
    ("securityContext", "sysctls"), ("shareProcessNamespace",), ("securityContext", "runAsUser"),
    ("securityContext", "runAsGroup"), ("securityContext", "supplementalGroups"),
    ("securityContext", "supplementalGroupsPolicy"), ("securityContext", "seLinuxChangePolicy"),
)  # fmt: skip
_CONTAINER_FIELDS = (
    "appArmorProfile", "seLinuxOptions", "seccompProfile", "capabilities", "readOnlyRootFilesystem", "privileged",
    "allowPrivilegeEscalation", "procMount", "runAsUser", "runAsGroup",
)  # fmt: skip
_FLAGS = ("hostPID", "hostIPC")


def each_container(spec: Spec, at: Path) -> Iterator[tuple[Spec, Path]]:
    """All containers of a pod in the order of Kubernetes: those that run first come first."""
    for member in ("initContainers", "containers", "ephemeralContainers"):
        for index, container in enumerate(spec.get(member) or ()):
            yield container, at.child(member).index(index)


def host_users(spec: Spec, at: Path) -> Iterator[FieldError]:
    if spec.get("hostUsers") is not False:
        return
    text = "when `hostUsers` is false"
    for member, called in (("hostNetwork", "hostNetwork"), ("hostPID", "HostPID"), ("hostIPC", "HostIPC")):
        if spec.get(member):
            yield fields.forbidden(at.child(called), text)
    for container, place in each_container(spec, at):
        if container.get("volumeDevices"):
            yield fields.forbidden(place.child("volumeDevices"), text)


def host_processes(spec: Spec, at: Path, *, allow_privileged: bool) -> Iterator[FieldError]:
    """Containers that are processes of a Windows host: all of a pod, or none."""
    of_pod = _host_process(spec)
    each: list[bool] = []
    for container, place in each_container(spec, at):
        own = _host_process(container)
        if of_pod is not None and own is not None and of_pod != own:
            text = f"pod hostProcess value must be identical if both are specified, was {str(of_pod).lower()}"
            yield fields.invalid(place.child("securityContext", "windowsOptions", "hostProcess"), own, text)
        each.append(bool(of_pod if own is None else own))
    if not any(each):
        return
    if not all(each):
        text = "If pod contains any hostProcess containers then all containers must be HostProcess containers"
        yield fields.invalid(at, "", text)
    if not spec.get("hostNetwork"):
        text = "hostNetwork must be true if pod contains any hostProcess containers"
        yield fields.invalid(at.child("hostNetwork"), False, text)
    if not allow_privileged:
        yield fields.forbidden(at, "hostProcess containers are disallowed by cluster policy")


def _host_process(holder: Spec) -> bool | None:
    found: bool | None = ((holder.get("securityContext") or {}).get("windowsOptions") or {}).get("hostProcess")
    return found


def os(spec: Spec, at: Path) -> Iterator[FieldError]:
    if spec.get("os") is None:
        return
    name = spec["os"].get("name") or ""
    if not name:
        yield fields.required(at.child("os", "name"))
        return
    yield from enums.one_of(name, ("linux", "windows"), at.child("os"))
    if name == "linux":
        yield from _linux(spec, at)
    elif name == "windows":
        yield from _windows(spec, at)


def _linux(spec: Spec, at: Path) -> Iterator[FieldError]:
    text = "windows options cannot be set for a linux pod"
    for holder, place in ((spec, at), *each_container(spec, at)):
        if (holder.get("securityContext") or {}).get("windowsOptions") is not None:
            yield fields.forbidden(place.child("securityContext", "windowsOptions"), text)


def _windows(spec: Spec, at: Path) -> Iterator[FieldError]:
    for keys in _POD_FIELDS:
        value = spec.get(keys[0]) if len(keys) == 1 else (spec.get(keys[0]) or {}).get(keys[1])
        if value is not None and value != [] and not (keys[0] in _FLAGS and not value):
            yield fields.forbidden(at.child(*keys), _NOT_ON_WINDOWS)
    for container, place in each_container(spec, at):
        context = container.get("securityContext") or {}
        for member in _CONTAINER_FIELDS:
            if context.get(member) is not None:
                yield fields.forbidden(place.child("securityContext", member), _NOT_ON_WINDOWS)
