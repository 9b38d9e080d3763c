"""Volumes, claims, classes, and what attaches them."""

from collections.abc import Mapping

from kadmit.presentation import columns
from kadmit.presentation.columns import AGE, NAME, NONE, UNSET, Cell, Column, Columns, Item, Reader, at, count, wide

_MODES = {"ReadWriteOnce": "RWO", "ReadOnlyMany": "ROX", "ReadWriteMany": "RWX", "ReadWriteOncePod": "RWOP"}
_CLASS = "volume.beta.kubernetes.io/storage-class"
_DEFAULTS = ("storageclass.kubernetes.io/is-default-class", "storageclass.beta.kubernetes.io/is-default-class")


def _modes(item: Item, path: str) -> str:
    found = item.items(path)
    return ",".join(short for mode, short in _MODES.items() if mode in found)


def _class(item: Item) -> Cell:
    """The old annotation wins."""
    named = item.members("metadata.annotations").get(_CLASS)
    found: str = item.at("spec.storageClassName", "") if named is None else named
    return found


def _phase(item: Item) -> Cell:
    found: str = "Terminating" if item.deleted else item.at("status.phase", "")
    return found


def _claim(item: Item) -> Cell:
    found = item.at("spec.claimRef")
    return "" if found is None else f"{found.get('namespace', '')}/{found.get('name', '')}"


def _if_bound(read: Reader) -> Reader:
    return lambda item: read(item) if item.at("spec.volumeName") else ""


def _class_name(item: Item) -> Cell:
    annotations = item.members("metadata.annotations")
    default = any(annotations.get(key) == "true" for key in _DEFAULTS)
    return f"{columns.name(item)} (default)" if default else columns.name(item)


def _token_requests(item: Item) -> Cell:
    found = item.at("spec.tokenRequests")
    return UNSET if found is None else ",".join(one.get("audience") or "" for one in found)


def _lifecycles(item: Item) -> Cell:
    return ",".join(item.items("spec.volumeLifecycleModes")) or NONE


def _flag(title: str, path: str, otherwise: bool) -> Column:
    return Column(title, at(path, otherwise), type="boolean")


KINDS: Mapping[tuple[str, str], Columns] = {
    ("", "PersistentVolume"): (
        NAME,
        Column("Capacity", at("spec.capacity.storage", "0")),
        Column("Access Modes", lambda item: _modes(item, "spec.accessModes")),
        Column("Reclaim Policy", at("spec.persistentVolumeReclaimPolicy")),
        Column("Status", _phase),
        Column("Claim", _claim),
        Column("StorageClass", _class),
        Column("VolumeAttributesClass", at("spec.volumeAttributesClassName", UNSET)),
        Column("Reason", at("status.reason")),
        AGE,
        wide("VolumeMode", at("spec.volumeMode", UNSET)),
    ),
    ("", "PersistentVolumeClaim"): (
        NAME,
        Column("Status", _phase),
        Column("Volume", at("spec.volumeName")),
        Column("Capacity", _if_bound(at("status.capacity.storage", "0"))),
        Column("Access Modes", _if_bound(lambda item: _modes(item, "status.accessModes"))),
        Column("StorageClass", _class),
        Column("VolumeAttributesClass", at("spec.volumeAttributesClassName", UNSET)),
        AGE,
        wide("VolumeMode", at("spec.volumeMode", UNSET)),
    ),
    ("storage.k8s.io", "StorageClass"): (
        Column("Name", _class_name, format="name"),
        Column("Provisioner", at("provisioner")),
        Column("ReclaimPolicy", at("reclaimPolicy", "Delete")),
        Column("VolumeBindingMode", at("volumeBindingMode", "Immediate")),
        Column("AllowVolumeExpansion", at("allowVolumeExpansion", otherwise=False)),
        AGE,
    ),
    ("storage.k8s.io", "VolumeAttributesClass"): (NAME, Column("DriverName", at("driverName")), AGE),
    ("storage.k8s.io", "VolumeAttachment"): (
        NAME,
        Column("Attacher", at("spec.attacher"), format="name"),
        Column("PV", at("spec.source.persistentVolumeName")),
        Column("Node", at("spec.nodeName")),
        _flag("Attached", "status.attached", False),
        AGE,
    ),
    ("storage.k8s.io", "CSINode"): (NAME, Column("Drivers", count("spec.drivers"), type="integer"), AGE),
    ("storage.k8s.io", "CSIDriver"): (
        NAME,
        _flag("AttachRequired", "spec.attachRequired", True),
        _flag("PodInfoOnMount", "spec.podInfoOnMount", False),
        _flag("StorageCapacity", "spec.storageCapacity", False),
        Column("TokenRequests", _token_requests),
        _flag("RequiresRepublish", "spec.requiresRepublish", False),
        Column("Modes", _lifecycles),
        AGE,
    ),
}
