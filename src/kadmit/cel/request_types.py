"""The typed variables of admission: `request` and `namespaceObject`, field by field.

Their values are plain maps; the types only decide what compiles.
"""

from collections.abc import Mapping

from kadmit.cel import types
from kadmit.cel.types import BOOL, DYN, INT, STRING, TIMESTAMP, Type

_STRINGS = types.list_of(STRING)

_STRUCTS: dict[str, dict[str, Type]] = {
    "kubernetes.GroupVersionKind": {"group": STRING, "version": STRING, "kind": STRING},
    "kubernetes.GroupVersionResource": {"group": STRING, "version": STRING, "resource": STRING},
    "kubernetes.UserInfo": {
        "username": STRING,
        "uid": STRING,
        "groups": _STRINGS,
        "extra": types.map_of(STRING, _STRINGS),
    },
    "kubernetes.AdmissionRequest": {
        "kind": types.struct("kubernetes.GroupVersionKind"),
        "resource": types.struct("kubernetes.GroupVersionResource"),
        "subResource": STRING,
        "requestKind": types.struct("kubernetes.GroupVersionKind"),
        "requestResource": types.struct("kubernetes.GroupVersionResource"),
        "requestSubResource": STRING,
        "name": STRING,
        "namespace": STRING,
        "operation": STRING,
        "userInfo": types.struct("kubernetes.UserInfo"),
        "dryRun": BOOL,
        "options": DYN,
    },
    "kubernetes.NamespaceSpec": {"finalizers": _STRINGS},
    "kubernetes.NamespaceCondition": {
        "status": STRING,
        "type": STRING,
        "lastTransitionTime": TIMESTAMP,
        "message": STRING,
        "reason": STRING,
    },
    "kubernetes.NamespaceStatus": {"conditions": types.list_of(types.struct("kubernetes.NamespaceCondition")), "phase": STRING},
    "kubernetes.NamespaceMetadata": {
        "name": STRING,
        "generateName": STRING,
        "namespace": STRING,
        "labels": types.map_of(STRING, STRING),
        "annotations": types.map_of(STRING, STRING),
        "UID": STRING,
        "creationTimestamp": TIMESTAMP,
        "deletionGracePeriodSeconds": INT,
        "deletionTimestamp": TIMESTAMP,
        "generation": INT,
        "resourceVersion": STRING,
        "finalizers": _STRINGS,
    },
    "kubernetes.Namespace": {
        "metadata": types.struct("kubernetes.NamespaceMetadata"),
        "spec": types.struct("kubernetes.NamespaceSpec"),
        "status": types.struct("kubernetes.NamespaceStatus"),
    },
}


class FixedTypes:
    """A type provider over tables of fields."""

    __slots__ = ("structs",)

    def __init__(self, structs: Mapping[str, Mapping[str, Type]]) -> None:
        self.structs = structs

    def struct(self, name: str) -> Type | None:
        return types.struct(name) if name in self.structs else None

    def field(self, struct_name: str, field_name: str) -> Type | None:
        return self.structs.get(struct_name, {}).get(field_name)

    def with_structs(self, extra: Mapping[str, Mapping[str, Type]]) -> "FixedTypes":
        return FixedTypes({**self.structs, **extra})


REQUEST_TYPES = FixedTypes(_STRUCTS)
