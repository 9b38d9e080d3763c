"""Versions of the API that are on their way out: whoever uses one is warned, and the audit log notes it."""

from kadmit.admission.outcome import Record
from kadmit.api import registration
from kadmit.api.meta import GroupVersionKind
from kadmit.resources.context import Target


def warn(target: Target, record: Record) -> None:
    kind = GroupVersionKind(*target.resource.gvk)
    text = registration.deprecation(kind) if registration.is_registration(kind) else None
    if text is None:
        return
    record.warn(text)
    record.annotations["k8s.io/deprecated"] = "true"
    removed = text.split("unavailable in v")[-1].split("+")[0] if "unavailable in v" in text else ""
    if removed:
        record.annotations["k8s.io/removed-release"] = removed
