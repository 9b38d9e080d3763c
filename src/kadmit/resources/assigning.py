"""Bindings: a scheduler says which node a Pod is to run on, once and for all."""

from kadmit.api import errors, fields
from kadmit.api.errors import ApiError, Status
from kadmit.api.gojson import quoted
from kadmit.api.meta import GroupResource
from kadmit.matching.attributes import Json
from kadmit.resources.context import metadata_of, with_metadata
from kadmit.resources.podconditions import with_condition

_PODS = GroupResource("", "pods")
_BINDINGS = GroupResource("", "pods/binding")
_TARGETS = ("Node", "<empty>")
_PRECONDITIONS = (("uid", "UID"), ("resourceVersion", "ResourceVersion"))


def validate(binding: Json) -> None:
    """Raises ApiError. NB: kube-apiserver gives it no reason and no code of its own."""
    target, at = binding.get("target") or {}, fields.path("target")
    found = []
    if target.get("kind") not in (None, "", "Node"):
        found.append(fields.not_supported(at.child("kind"), target["kind"], _TARGETS))
    if not target.get("name"):
        found.append(fields.required(at.child("name")))
    if found:
        raise ApiError(Status(500, "", fields.aggregate([str(e) for e in found])))


def bound(pod: Json, binding: Json, now: str) -> Json:
    """The Pod with its node, and with the labels and annotations of the binding. Raises ApiError."""
    _check_preconditions(pod, binding)
    _check_unassigned(pod)
    status = {k: v for k, v in (pod.get("status") or {}).items() if k != "nominatedNodeName"}
    spec = {**(pod.get("spec") or {}), "nodeName": binding["target"]["name"]}
    return with_condition({**_described(pod, binding), "spec": spec, "status": status}, "PodScheduled", now)


def _described(pod: Json, binding: Json) -> Json:
    given = metadata_of(binding)
    more = {part: given[part] for part in ("labels", "annotations") if given.get(part)}
    return with_metadata(pod, **{part: {**(metadata_of(pod).get(part) or {}), **new} for part, new in more.items()})


def _check_preconditions(pod: Json, binding: Json) -> None:
    found, name = metadata_of(pod), metadata_of(pod).get("name") or ""
    for member, what in _PRECONDITIONS:
        wanted = metadata_of(binding).get(member)
        if wanted and wanted != found.get(member):
            told = f"Precondition failed: {what} in precondition: {wanted}, {what} in object meta: {found.get(member)}"
            key = f"/registry/pods/{found.get('namespace')}/{name}"
            cause = f"StorageError: invalid object, Code: 4, Key: {key}, ResourceVersion: 0, AdditionalErrorMsg: {told}"
            raise errors.conflict(_PODS, name, cause)


def _check_unassigned(pod: Json) -> None:
    spec, name = pod.get("spec") or {}, metadata_of(pod).get("name") or ""
    if metadata_of(pod).get("deletionTimestamp") is not None:
        raise errors.conflict(_BINDINGS, name, f"pod {name} is being deleted, cannot be assigned to a host")
    if spec.get("nodeName"):
        raise errors.conflict(_BINDINGS, name, f"pod {name} is already assigned to node {quoted(spec['nodeName'])}")
    if spec.get("schedulingGates"):
        raise errors.conflict(_BINDINGS, name, f"pod {name} has non-empty .spec.schedulingGates")
