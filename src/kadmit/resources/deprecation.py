"""Versions of the API that are on their way out: whoever uses one is warned, and the audit log notes it."""

from kadmit.admission.outcome import Record
from kadmit.api import registration
from kadmit.api.meta import GroupVersionKind
from kadmit.resources.context import Target

_REPLACED = {
    GroupVersionKind("", "v1", "Endpoints"): "v1 Endpoints is deprecated in v1.33+; use discovery.k8s.io/v1 EndpointSlice",
    GroupVersionKind("", "v1", "ComponentStatus"): "v1 ComponentStatus is deprecated in v1.19+",
}


def text(target: Target) -> str | None:
    """What users of the kind are told, if it is one of these."""
    kind = GroupVersionKind(*target.resource.gvk)
    return registration.deprecation(kind) if registration.is_registration(kind) else _REPLACED.get(kind)


def warn(target: Target, record: Record) -> None:
    told = text(target)
    if told is None:
        return
    record.warn(told)
    record.annotations["k8s.io/deprecated"] = "true"
    removed = told.split("unavailable in v")[-1].split("+")[0] if "unavailable in v" in told else ""
    if removed:
        record.annotations["k8s.io/removed-release"] = removed
