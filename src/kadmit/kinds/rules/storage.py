"""PersistentVolumes and StorageClasses."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, TypeAlias

from kadmit.api import fields
from kadmit.api.fields import FieldError, Path
from kadmit.kinds import internals
from kadmit.kinds.metadata import dns_subdomain
from kadmit.kinds.rules import claims, enums, meta, naming, paths, resources, scheduling
from kadmit.kinds.rules.meta import Object

Json: TypeAlias = Any
Part: TypeAlias = Mapping[str, Json]

_AT = fields.path("spec")
_SOURCES = (
    "hostPath", "gcePersistentDisk", "awsElasticBlockStore", "glusterfs", "flocker", "nfs", "rbd", "quobyte", "cephfs",
    "iscsi", "cinder", "fc", "flexVolume", "azureFile", "vsphereVolume", "photonPersistentDisk", "portworxVolume",
    "azureDisk", "scaleIO", "local", "storageos", "csi",
)  # fmt: skip


# ---------------------------------------------------------------- volumes

_MOUNT_OPTIONS = "volume.beta.kubernetes.io/mount-options"
_WITH_OPTIONS = (
    *(
        "gcePersistentDisk",
        "awsElasticBlockStore",
        "glusterfs",
        "nfs",
        "rbd",
        "quobyte",
        "iscsi",
        "cinder",
        "cephfs",
        "azureFile",
    ),
    *("vsphereVolume", "azureDisk", "photonPersistentDisk"),
)


def create_volume(volume: Object) -> Iterator[FieldError]:
    yield from meta.created(volume, dns_subdomain, namespaced=False)
    yield from _volume(volume.get("spec") or {})
    takes_options = any((volume.get("spec") or {}).get(source) is not None for source in _WITH_OPTIONS)
    if not takes_options and _MOUNT_OPTIONS in (meta.of(volume).get("annotations") or {}):
        place = fields.path("metadata", "annotations", _MOUNT_OPTIONS)
        yield fields.forbidden(place, "may not specify mount options for this volume type")


def _volume(spec: Part) -> Iterator[FieldError]:
    modes, capacity = spec.get("accessModes") or [], spec.get("capacity") or {}
    if not modes:
        yield fields.required(_AT.child("accessModes"))
    yield from claims.access_modes(modes, _AT.child("accessModes"))
    yield from _capacity(capacity, _AT.child("capacity"))
    policies = ("Delete", "Recycle", "Retain")
    yield from enums.one_of(
        spec.get("persistentVolumeReclaimPolicy") or None, policies, _AT.child("persistentVolumeReclaimPolicy")
    )
    affinity = spec.get("nodeAffinity")
    if affinity is not None:
        yield from _affinity(affinity, _AT.child("nodeAffinity"))
    yield from _source(spec, has_affinity=affinity is not None)
    yield from _recycled(spec)
    if spec.get("storageClassName"):
        yield from naming.subdomain(spec["storageClassName"], _AT.child("storageClassName"))
    yield from enums.one_of(spec.get("volumeMode"), claims.VOLUME_MODES, _AT.child("volumeMode"))


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


def _source(spec: Part, *, has_affinity: bool) -> Iterator[FieldError]:
    given = [name for name in _SOURCES if spec.get(name) is not None]
    if not given:
        yield fields.required(_AT, "must specify a volume type")
        return
    yield from _of_source(given[0], spec[given[0]], _AT.child(given[0]))
    for more in given[1:]:
        yield fields.forbidden(_AT.child(more), "may not specify more than 1 volume type")
    if given[0] == "local" and not has_affinity:
        yield fields.required(_AT.child("nodeAffinity"), "Local volume requires node affinity")


def _of_source(name: str, source: Part, at: Path) -> Iterator[FieldError]:
    path = source.get("path") or ""
    if name in ("hostPath", "local"):
        yield from paths.no_backsteps(path, at.child("path")) if path else (fields.required(at.child("path")),)
    elif name == "nfs":
        yield from (fields.required(at.child(member)) for member in ("server", "path") if not source.get(member))
        if not path.startswith("/"):
            yield fields.invalid(at.child("path"), path, "must be an absolute path")
    elif name == "csi":
        yield from claims.driver(source.get("driver") or "", at.child("driver"))
        if not source.get("volumeHandle"):
            yield fields.required(at.child("volumeHandle"))


def _recycled(spec: Part) -> Iterator[FieldError]:
    """The whole disk of a node is not to be wiped."""
    root = (spec.get("hostPath") or {}).get("path") == "/"
    if root and spec.get("persistentVolumeReclaimPolicy") == "Recycle":
        text = "may not be 'recycle' for a hostPath mount of '/'"
        yield fields.forbidden(_AT.child("persistentVolumeReclaimPolicy"), text)


def update_volume(new: Object, old: Object) -> Iterator[FieldError]:
    after, before = new.get("spec") or {}, old.get("spec") or {}
    yield from create_volume(new)
    yield from meta.updated(new, old)
    now, was = ({name: spec[name] for name in _SOURCES if spec.get(name) is not None} for spec in (after, before))
    if now != was:
        # NB: shown is the struct that holds the sources alone.
        told = internals.difference("PersistentVolumeSource", before, after)
        text = "spec.persistentvolumesource is immutable after creation"
        yield fields.forbidden(_AT.child("persistentvolumesource"), f"{text}\n{told}")
    yield from meta.immutable(after.get("volumeMode"), before.get("volumeMode"), fields.path("volumeMode"))
    if before.get("nodeAffinity") is not None and after.get("nodeAffinity") != before["nodeAffinity"]:
        shown = internals.shown("VolumeNodeAffinity", after.get("nodeAffinity"))
        text = f"{meta.IMMUTABLE}, except for updating from beta label to GA"
        yield fields.invalid(fields.path("nodeAffinity"), shown, text)


# ---------------------------------------------------------------- classes


def create_class(value: Object) -> Iterator[FieldError]:
    yield from meta.created(value, dns_subdomain, namespaced=False)
    provisioner, at = value.get("provisioner") or "", fields.path("provisioner")
    if not provisioner:
        yield fields.required(at)
    else:
        yield from naming.qualified(provisioner.lower(), at)
    yield from _parameters(value.get("parameters") or {}, fields.path("parameters"))
    policy = value.get("reclaimPolicy")
    yield from enums.one_of(policy or None, ("Delete", "Retain"), fields.path("reclaimPolicy"))
    mode, place = value.get("volumeBindingMode"), fields.path("volumeBindingMode")
    if mode is None:
        yield fields.required(place)
    yield from enums.one_of(mode, ("Immediate", "WaitForFirstConsumer"), place)
    yield from _topologies(value.get("allowedTopologies") or (), fields.path("allowedTopologies"))


def _topologies(terms: Sequence[Mapping[str, Json]], at: Path) -> Iterator[FieldError]:
    seen: list[dict[str, set[str]]] = []
    for index, term in enumerate(terms):
        place = at.index(index).child("matchLabelExpressions")
        needs: dict[str, set[str]] = {}
        for number, need in enumerate(term.get("matchLabelExpressions") or ()):
            key, values = need.get("key") or "", need.get("values") or []
            yield from _topology(key, values, place.index(number))
            if key in needs:
                yield fields.duplicate(place.index(number).child("key"), key)
            needs[key] = set(values)
        yield from (fields.duplicate(place, "") for other in seen if other == needs)
        seen.append(needs)


def _topology(key: str, values: list[str], at: Path) -> Iterator[FieldError]:
    if not values:
        yield fields.required(at.child("values"))
    for index, one in enumerate(values):
        if one in values[:index]:
            yield fields.duplicate(at.child("values").index(index), one)
    yield from naming.qualified(key, at.child("key"))


def _parameters(values: Mapping[str, str], at: Path) -> Iterator[FieldError]:
    if len(values) > 512:
        yield fields.too_long(at, 512)
        return
    if "" in values:
        yield fields.invalid(at, "", "field can not be empty.")
    if sum(naming.size(key) + naming.size(value) for key, value in values.items()) > 256 * 1024:
        yield fields.too_long(at, 256 * 1024)


def update_class(new: Object, old: Object) -> Iterator[FieldError]:
    yield from create_class(new)
    yield from meta.updated(new, old)
    for member in ("parameters", "provisioner", "reclaimPolicy", "volumeBindingMode"):
        yield from meta.immutable(new.get(member), old.get(member), fields.path(member))
