"""Volumes in containers: mounted as directories or handed over as devices."""

from collections.abc import Iterator, Mapping
from typing import Any, TypeAlias

from kadmit.api import fields
from kadmit.api.fields import FieldError, Path
from kadmit.kinds.rules import enums, paths

Json: TypeAlias = Any
Part: TypeAlias = Mapping[str, Json]

_PROPAGATIONS = ("Bidirectional", "HostToContainer", "None")
_READ_ONLY = ("Disabled", "Enabled", "IfPossible")


def mounts(container: Part, volumes: Mapping[str, Part], at: Path) -> Iterator[FieldError]:
    """NB: errors of sub-paths and propagation do not say which mount they are about."""
    used = {device.get("name") or "": device.get("devicePath") or "" for device in container.get("volumeDevices") or ()}
    seen: set[str] = set()
    for index, mount in enumerate(container.get("volumeMounts") or ()):
        yield from _mount(mount, volumes, used, seen, at.index(index))
        yield from _sub_paths(mount, at, at.index(index))
        yield from _propagation(mount, container, at.child("mountPropagation"))
        yield from _recursive_read_only(mount, at.child("recursiveReadOnly"))


def _mount(mount: Part, volumes: Mapping[str, Part], used: Mapping[str, str], seen: set[str], at: Path) -> Iterator[FieldError]:
    name, path = mount.get("name") or "", mount.get("mountPath") or ""
    if not name:
        yield fields.required(at.child("name"))
    if name not in volumes:
        yield fields.not_found(at.child("name"), name)
    if not path:
        yield fields.required(at.child("mountPath"))
    if path in seen:
        yield fields.invalid(at.child("mountPath"), path, "must be unique")
    seen.add(path)
    if name in used:
        yield fields.invalid(at.child("name"), name, "must not already exist in volumeDevices")
    if path in used.values():
        yield fields.invalid(at.child("mountPath"), path, "must not already exist as a path in volumeDevices")


def _sub_paths(mount: Part, at: Path, place: Path) -> Iterator[FieldError]:
    path, expression = mount.get("subPath") or "", mount.get("subPathExpr") or ""
    if path:
        yield from paths.descending(path, at.child("subPath"))
    if expression:
        if path:
            text = "subPathExpr and subPath are mutually exclusive"
            yield fields.invalid(place.child("subPathExpr"), expression, text)
        yield from paths.descending(expression, at.child("subPathExpr"))


def _propagation(mount: Part, container: Part, at: Path) -> Iterator[FieldError]:
    yield from enums.one_of(mount.get("mountPropagation"), _PROPAGATIONS, at)
    privileged = (container.get("securityContext") or {}).get("privileged")
    if mount.get("mountPropagation") == "Bidirectional" and not privileged:
        yield fields.forbidden(at, "Bidirectional mount propagation is available only to privileged containers")


def _recursive_read_only(mount: Part, at: Path) -> Iterator[FieldError]:
    wanted = mount.get("recursiveReadOnly")
    yield from enums.one_of(wanted, _READ_ONLY, at)
    if wanted in ("Enabled", "IfPossible"):
        if not mount.get("readOnly"):
            yield fields.forbidden(at, "may only be specified when readOnly is true")
        if mount.get("mountPropagation") not in (None, "None"):
            yield fields.forbidden(at, "may only be specified when mountPropagation is None or not specified")


def devices(container: Part, volumes: Mapping[str, Part], at: Path) -> Iterator[FieldError]:
    used = {mount.get("name") or "": mount.get("mountPath") or "" for mount in container.get("volumeMounts") or ()}
    names: set[str] = set()
    taken: set[str] = set()
    for index, device in enumerate(container.get("volumeDevices") or ()):
        place, name, path = at.index(index), device.get("name") or "", device.get("devicePath") or ""
        yield from _device_name(name, names, volumes, place.child("name"))
        yield from _device_path(path, taken, place.child("devicePath"))
        if name in used:
            yield fields.invalid(place.child("name"), name, "must not already exist in volumeMounts")
        if path in used.values():
            yield fields.invalid(place.child("devicePath"), path, "must not already exist as a path in volumeMounts")
        names |= {name} if name else set()


def _device_name(name: str, seen: set[str], volumes: Mapping[str, Part], at: Path) -> Iterator[FieldError]:
    if not name:
        yield fields.required(at)
    if name in seen:
        yield fields.invalid(at, name, "must be unique")
    volume = volumes.get(name)
    if volume is None:
        yield fields.not_found(at, name)
    elif volume.get("persistentVolumeClaim") is None and volume.get("ephemeral") is None:
        text = "can only use volume source type of PersistentVolumeClaim or Ephemeral for block mode"
        yield fields.invalid(at, name, text)


def _device_path(path: str, taken: set[str], at: Path) -> Iterator[FieldError]:
    if not path:
        yield fields.required(at)
    if path in taken:
        yield fields.invalid(at, path, "must be unique")
    if ".." in path.split("/"):
        yield fields.invalid(at, path, "can not contain backsteps ('..')")
    else:
        taken.add(path)
