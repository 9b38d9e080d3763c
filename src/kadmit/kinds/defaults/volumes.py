"""Volumes of pods, persistent volumes and claims, and the classes and drivers behind them."""

from kadmit.kinds.defaults import images
from kadmit.kinds.defaults.amounts import requirements, rounded
from kadmit.kinds.defaults.rules import Object, Rule, each, struct

_READABLE = 420  # 0644

_STORAGE: dict[str, Rule] = {
    "hostPath": struct({"type": ""}),
    "iscsi": struct({"iscsiInterface": "default"}),
    "rbd": struct({"pool": "rbd", "user": "admin", "keyring": "/etc/ceph/keyring"}),
    "azureDisk": struct({"cachingMode": "ReadWrite", "fsType": "ext4", "readOnly": False, "kind": "Shared"}),
    "scaleIO": struct({"storageMode": "ThinProvisioned", "fsType": "xfs"}),
}

field_ref: Rule = struct({"apiVersion": "v1"})
_downward_items: Rule = each(struct(parts={"fieldRef": field_ref}))
claim_spec: Rule = struct({"volumeMode": "Filesystem"}, parts={"resources": requirements})

_FILES: dict[str, Rule] = {
    "secret": struct({"defaultMode": _READABLE}),
    "configMap": struct({"defaultMode": _READABLE}),
    "downwardAPI": struct({"defaultMode": _READABLE}, parts={"items": _downward_items}),
    "projected": struct(
        {"defaultMode": _READABLE},
        parts={
            "sources": each(
                struct(
                    parts={
                        "downwardAPI": struct(parts={"items": _downward_items}),
                        "serviceAccountToken": struct({"expirationSeconds": 3600}),
                    }
                )
            )
        },
    ),
    "ephemeral": struct(parts={"volumeClaimTemplate": struct(parts={"spec": claim_spec})}),
}


def _some_source(volume: Object) -> Object:
    """A volume without a source is an empty directory."""
    return {**volume, "emptyDir": {}} if len(volume) <= 1 else volume


def _pulled(image: Object) -> Object:
    if image.get("pullPolicy"):
        return image
    return {**image, "pullPolicy": images.pull_policy(image.get("reference") or "")}


volume: Rule = struct(first=(_some_source,), parts={**_FILES, **_STORAGE, "image": struct(first=(_pulled,))})

_volume_spec: Rule = struct(parts={"capacity": rounded, **_STORAGE})
persistent_volume: Rule = struct(
    parts={
        "spec": struct(
            {"persistentVolumeReclaimPolicy": "Retain", "volumeMode": "Filesystem"}, parts={"capacity": rounded, **_STORAGE}
        ),
        "status": struct({"phase": "Pending"}),
    }
)
claim: Rule = struct(
    parts={
        "spec": claim_spec,
        "status": struct({"phase": "Pending"}, parts={"capacity": rounded, "allocatedResources": rounded}),
    }
)
attachment: Rule = struct(parts={"spec": struct(parts={"source": struct(parts={"inlineVolumeSpec": _volume_spec})})})
storage_class: Rule = struct({"reclaimPolicy": "Delete", "volumeBindingMode": "Immediate"})
driver: Rule = struct(
    parts={
        "spec": struct(
            {
                "attachRequired": True,
                "podInfoOnMount": False,
                "storageCapacity": False,
                "requiresRepublish": False,
                "seLinuxMount": False,
                "fsGroupPolicy": "ReadWriteOnceWithFSType",
                "volumeLifecycleModes": ["Persistent"],
            }
        )
    }
)
