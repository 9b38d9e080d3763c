"""What follows from writing a CustomResourceDefinition: its names are accepted, it is established, and its objects go with it.

In a cluster controllers inside kube-apiserver do this a moment later; here it is done by the time the answer is out.
"""

from collections.abc import Iterator
from typing import Any

from kadmit.matching.attributes import Json
from kadmit.resources.context import Target, metadata_of, with_metadata
from kadmit.resources.state import CRDS, Name, Place, State

_NAMES = ("plural", "singular", "shortNames", "kind", "listKind", "categories")


def is_definition(target: Target) -> bool:
    return (target.resource.group, target.resource.plural) == CRDS and not target.subresource


def established(definition: Json, now: str) -> Json:
    """The definition with the status of one that is served; the same one if it has that status."""
    status = definition.get("status") or {}
    spec = definition.get("spec") or {}
    accepted = {name: spec["names"][name] for name in _NAMES if spec.get("names", {}).get(name)}
    made = {**status, "acceptedNames": accepted, "conditions": _conditions(status.get("conditions") or [], now)}
    return definition if made == status else {**definition, "status": made}


def _conditions(found: list[Json], now: str) -> list[Json]:
    wanted: list[tuple[str, str, str]] = [
        ("NamesAccepted", "NoConflicts", "no conflicts found"),
        ("Established", "InitialNamesAccepted", "the initial names have been accepted"),
    ]
    known: dict[str, Any] = {c.get("type", ""): c for c in found}
    for kind, reason, message in wanted:
        if (known.get(kind) or {}).get("status") != "True":
            known[kind] = {
                "type": kind,
                "status": "True",
                "lastTransitionTime": now,
                "reason": reason,
                "message": message,
            }
    return list(known.values())


def terminating(definition: Json, now: str) -> Json:
    """The definition on its way out, which takes its objects with it."""
    metadata, status = metadata_of(definition), definition.get("status") or {}
    finalizers = [f for f in metadata.get("finalizers") or () if f != CLEANUP]
    others = [c for c in status.get("conditions") or () if c.get("type") != _TERMINATING["type"]]
    conditions = [*others, {"lastTransitionTime": now, **_TERMINATING}]
    marked = with_metadata(definition, deletionTimestamp=now, finalizers=[*finalizers, CLEANUP])
    return {**marked, "status": {**status, "conditions": conditions}}


CLEANUP = "customresourcecleanup.apiextensions.k8s.io"
_TERMINATING = {
    "type": "Terminating",
    "status": "True",
    "reason": "InstanceDeletionPending",
    "message": "CustomResourceDefinition marked for deletion; CustomResource deletion will begin soon",
}


def instances(state: State, definition: Json) -> Iterator[tuple[Place, Name, str]]:
    """Where the objects of a definition are, and their revisions."""
    spec = definition.get("spec") or {}
    place = (spec.get("group") or "", (spec.get("names") or {}).get("plural") or "")
    for name, value in list(state.objects.get(place, {}).items()):
        yield place, name, metadata_of(value).get("resourceVersion") or ""
