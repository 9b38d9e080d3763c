"""PersistentVolumes: exactly one source, a capacity, and what of them may change later; also where one is written inline."""

from collections.abc import Callable, Iterator, Mapping
from posixpath import normpath
from typing import Any, TypeAlias

from kadmit.api import fields
from kadmit.api.fields import FieldError, Path
from kadmit.kinds import internals
from kadmit.kinds.metadata import dns_subdomain
from kadmit.kinds.rules import claims, enums, meta, naming, paths, resources, scheduling, vendors, volumes
from kadmit.kinds.rules.meta import Object

Json: TypeAlias = Any
Part: TypeAlias = Mapping[str, Json]
Check: TypeAlias = Callable[[Part, Path], Iterator[FieldError]]

_AT = fields.path("spec")
_ONE_TYPE = "may not specify more than 1 volume type"
_INLINE = "in the context of inline volumes"
_MOUNT_OPTIONS = "volume.beta.kubernetes.io/mount-options"
_WITH_OPTIONS = (
    *("gcePersistentDisk", "awsElasticBlockStore", "glusterfs", "nfs", "rbd", "quobyte", "iscsi", "cinder", "cephfs"),
    *("azureFile", "vsphereVolume", "azureDisk", "photonPersistentDisk"),
)


def create(volume: Object) -> Iterator[FieldError]:
    yield from _by_itself(volume)
    takes_options = any((volume.get("spec") or {}).get(source) is not None for source in _WITH_OPTIONS)
    if not takes_options and _MOUNT_OPTIONS in (meta.of(volume).get("annotations") or {}):
        place = fields.path("metadata", "annotations", _MOUNT_OPTIONS)
        yield fields.forbidden(place, "may not specify mount options for this volume type")


def _by_itself(volume: Object) -> Iterator[FieldError]:
    yield from meta.created(volume, dns_subdomain, namespaced=False)
    yield from _volume(volume.get("spec") or {}, meta.of(volume).get("name") or "")


def _volume(spec: Part, name: str) -> Iterator[FieldError]:
    yield from _modes(spec, _AT)
    yield from _capacity(spec.get("capacity") or {}, _AT.child("capacity"))
    policies, at = ("Delete", "Recycle", "Retain"), _AT.child("persistentVolumeReclaimPolicy")
    yield from enums.one_of(spec.get("persistentVolumeReclaimPolicy") or None, policies, at)
    affinity = spec.get("nodeAffinity")
    if affinity is not None:
        yield from _affinity(affinity, _AT.child("nodeAffinity"))
    yield from _sources(spec, _AT, name)
    yield from _recycled(spec, _AT)
    if spec.get("storageClassName"):
        yield from naming.subdomain(spec["storageClassName"], _AT.child("storageClassName"))
    yield from enums.one_of(spec.get("volumeMode"), claims.VOLUME_MODES, _AT.child("volumeMode"))
    yield from _attributes(spec, _AT)


def inline_volume(spec: Part, at: Path) -> Iterator[FieldError]:
    """A volume that stands in another object: much of a volume of its own has no meaning there."""
    for member in ("claimRef", "capacity"):
        if spec.get(member):
            yield fields.forbidden(at.child(member), f"may not be specified {_INLINE}")
    if spec.get("csi") is None:
        yield fields.required(at.child("csi"), f"has to be specified {_INLINE}")
    yield from _modes(spec, at)
    if spec.get("persistentVolumeReclaimPolicy") not in (None, "", "Retain"):
        yield fields.forbidden(at.child("persistentVolumeReclaimPolicy"), f"may only be Retain {_INLINE}")
    if spec.get("nodeAffinity") is not None:
        yield fields.forbidden(at.child("nodeAffinity"), f"may not be specified {_INLINE}")
    yield from _sources(spec, at, "", is_inline=True)
    yield from _recycled(spec, at)
    if spec.get("storageClassName"):
        yield fields.forbidden(at.child("storageClassName"), f"may not be specified {_INLINE}")
    if spec.get("volumeMode") not in (None, "Filesystem"):
        yield fields.forbidden(at.child("volumeMode"), f"may not specify volumeMode other than Filesystem {_INLINE}")


def _modes(spec: Part, at: Path) -> Iterator[FieldError]:
    modes = spec.get("accessModes") or []
    if not modes:
        yield fields.required(at.child("accessModes"))
    yield from claims.access_modes(modes, at.child("accessModes"))


def _capacity(capacity: Part, at: Path) -> Iterator[FieldError]:
    if not capacity:
        yield fields.required(at)
    if list(capacity) != ["storage"]:
        yield fields.not_supported(at, {name: capacity[name] for name in sorted(capacity)} or None, ("storage",))
    for name in sorted(capacity):
        amount = resources.parsed(capacity[name])
        if amount.sign() < 0:
            whole = int(amount.rounded_up(0).decimal())
            yield fields.invalid(at.key(name), whole, "must be a valid resource quantity")
        yield from resources.positive(capacity[name], at.key(name))


def _affinity(affinity: Part, at: Path) -> Iterator[FieldError]:
    if affinity.get("required") is None:
        yield fields.required(at.child("required"), "must specify required node constraints")
    else:
        yield from scheduling.node_selector(affinity["required"], at.child("required"))


def _recycled(spec: Part, at: Path) -> Iterator[FieldError]:
    """The whole disk of a node is not to be wiped."""
    path = (spec.get("hostPath") or {}).get("path") or ""
    if path and normpath(path) in ("/", "//") and spec.get("persistentVolumeReclaimPolicy") == "Recycle":
        text = "may not be 'recycle' for a hostPath mount of '/'"
        yield fields.forbidden(at.child("persistentVolumeReclaimPolicy"), text)


def _attributes(spec: Part, at: Path) -> Iterator[FieldError]:
    name, place = spec.get("volumeAttributesClassName"), at.child("volumeAttributesClassName")
    if name is None:
        return
    yield from naming.subdomain(name, place) if name else (fields.required(place, "an empty string is disallowed"),)
    if spec.get("csi") is None:
        yield fields.required(at.child("csi"), "has to be specified when using volumeAttributesClassName")


# ---------------------------------------------------------------- sources


def _local(source: Part, at: Path) -> Iterator[FieldError]:
    path = source.get("path") or ""
    yield from paths.no_backsteps(path, at.child("path")) if path else (fields.required(at.child("path")),)


def _glusterfs(source: Part, at: Path) -> Iterator[FieldError]:
    yield from vendors.needs("endpoints", "path")(source, at)
    namespace, place = source.get("endpointsNamespace"), at.child("endpointsNamespace")
    if namespace == "":
        yield fields.invalid(place, "", "if the endpointnamespace is set, it must be a valid namespace name")
    elif namespace is not None:
        yield from naming.label(namespace, place)


def _named_secret(source: Part, at: Path) -> Iterator[FieldError]:
    """A secret of some namespace."""
    secret = source.get("secretRef")
    if secret is not None:
        yield from vendors.needs("name", "namespace")(secret, at.child("secretRef"))


def _cinder(source: Part, at: Path) -> Iterator[FieldError]:
    yield from vendors.needs("volumeID")(source, at)
    yield from _named_secret(source, at)


def _storage_os(source: Part, at: Path) -> Iterator[FieldError]:
    yield from vendors.storage_os({key: value for key, value in source.items() if key != "secretRef"}, at)
    yield from _named_secret(source, at)


def _azure_file(source: Part, at: Path) -> Iterator[FieldError]:
    yield from vendors.needs("secretName", "shareName")(source, at)
    if source.get("secretNamespace") == "":
        yield fields.required(at.child("secretNamespace"))


def _csi(source: Part, at: Path) -> Iterator[FieldError]:
    yield from claims.driver(source.get("driver") or "", at.child("driver"))
    yield from vendors.needs("volumeHandle")(source, at)
    for member in ("controllerPublishSecretRef", "controllerExpandSecretRef", "nodePublishSecretRef", "nodeExpandSecretRef"):
        if source.get(member) is not None:
            yield from _secret(source[member], at.child(member))


def _secret(reference: Part, at: Path) -> Iterator[FieldError]:
    name, namespace = reference.get("name") or "", reference.get("namespace") or ""
    yield from naming.subdomain(name, at.child("name")) if name else (fields.required(at.child("name")),)
    yield from naming.label(namespace, at.child("namespace")) if namespace else (fields.required(at.child("namespace")),)


# In the order in which they are looked at; others are as those of pods.
_SOURCES: Mapping[str, Check | None] = {
    **dict.fromkeys(("hostPath", "gcePersistentDisk", "awsElasticBlockStore")),
    "glusterfs": _glusterfs,
    **dict.fromkeys(("flocker", "nfs", "rbd", "quobyte", "cephfs")),
    "iscsi": vendors.persistent_iscsi,
    "cinder": _cinder,
    **dict.fromkeys(("fc", "flexVolume")),
    "azureFile": _azure_file,
    **dict.fromkeys(("vsphereVolume", "photonPersistentDisk", "portworxVolume", "azureDisk", "scaleIO")),
    "local": _local,
    "storageos": _storage_os,
    "csi": _csi,
}


def _sources(spec: Part, at: Path, name: str, *, is_inline: bool = False) -> Iterator[FieldError]:
    """NB: flexVolume does not mind those before it, and the second of two cephfs volumes is spelt differently."""
    given = [source for source in _SOURCES if spec.get(source) is not None]
    if not given:
        yield fields.required(at, "must specify a volume type")
    for index, source in enumerate(given):
        if index and source != "flexVolume":
            yield fields.forbidden(at.child("cephFS" if source == "cephfs" else source), _ONE_TYPE)
            continue
        if source == "iscsi":
            yield from vendors.iscsi_portal(name, spec[source], at.child(source))
        check = _SOURCES[source] or volumes.SOURCES[source]
        yield from check(spec[source], at.child(source))
        if source == "local" and (is_inline or spec.get("nodeAffinity") is None):
            yield fields.required(at.child("nodeAffinity"), "Local volume requires node affinity")


# ---------------------------------------------------------------- changes


def update(new: Object, old: Object) -> Iterator[FieldError]:
    """NB: a volume is looked at by itself twice."""
    after, before = new.get("spec") or {}, old.get("spec") or {}
    yield from create(new)
    yield from _by_itself(new)
    yield from _same_source(_with_late_secret(after, before), before)
    yield from meta.immutable(after.get("volumeMode"), before.get("volumeMode"), fields.path("volumeMode"))
    if before.get("nodeAffinity") is not None and after.get("nodeAffinity") != before["nodeAffinity"]:
        shown = internals.shown("VolumeNodeAffinity", after.get("nodeAffinity"))
        text = f"{meta.IMMUTABLE}, except for updating from beta label to GA"
        yield fields.invalid(fields.path("nodeAffinity"), shown, text)
    if before.get("volumeAttributesClassName") is not None and after.get("volumeAttributesClassName") is None:
        yield fields.forbidden(_AT.child("volumeAttributesClassName"), "update from non-nil value to nil is forbidden")


def _with_late_secret(after: Part, before: Part) -> Part:
    """The secret for growing a volume may be added later."""
    now, was, secret = after.get("csi"), before.get("csi"), "controllerExpandSecretRef"
    if now is None or was is None or was.get(secret) is not None or now.get(secret) is None:
        return after
    return {**after, "csi": {key: value for key, value in now.items() if key != secret}}


def _same_source(after: Part, before: Part) -> Iterator[FieldError]:
    now, was = ({name: spec[name] for name in _SOURCES if spec.get(name) is not None} for spec in (after, before))
    if now != was:
        # NB: shown is the struct that holds the sources alone.
        told = internals.difference("PersistentVolumeSource", before, after)
        text = "spec.persistentvolumesource is immutable after creation"
        yield fields.forbidden(_AT.child("persistentvolumesource"), f"{text}\n{told}")
