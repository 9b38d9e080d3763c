"""DELETE: admission sees the object that goes; finalizers and grace periods make it stay for a while."""

from collections.abc import Generator, Sequence
from dataclasses import dataclass
from typing import Any

from kadmit.admission import chain
from kadmit.admission.answers import Answer
from kadmit.admission.webhooks import Call
from kadmit.api import errors
from kadmit.matching.attributes import DELETE, Attributes, Json
from kadmit.resources import checks, lifecycle
from kadmit.resources.context import Context, Target, metadata_of, with_metadata


@dataclass(frozen=True, slots=True)
class DeleteOptions:
    """What the client says about how to delete."""

    grace_period: int | None = None
    propagation: str = ""  # propagationPolicy; "" takes the kind's default
    orphan: bool | None = None
    uid: str = ""
    resource_version: str = ""


@dataclass(frozen=True, slots=True)
class Deleted:
    """`object`: as it was at last, or as it stays marked for deletion; `gone`: whether it is to be removed now."""

    object: Json
    gone: bool
    code: int = 200


Calls = Generator[Sequence[Call], Sequence[Answer], Deleted]


def delete(context: Context, target: Target, live: Json, options: DeleteOptions, *, name: str | None = None) -> Calls:
    """Delete an object, or mark it. `name`: what admission is told (a collection delete tells none). Raises ApiError."""
    lifecycle.check_delete(target)
    _check_preconditions(target, live, options)
    attributes = Attributes(
        kind=target.kind,
        resource=target.gvr,
        operation=DELETE,
        name=target.name if name is None else name,
        namespace=target.admission_namespace,
        subresource=target.subresource,
        old_object=live,
        options=context.options.raw or None,
        dry_run=context.options.dry_run,
        user=context.user,
    )
    if context.mutating:
        yield from chain.mutate(context.snapshot, attributes, context.world, context.record)
    if context.validating:
        yield from chain.validate(context.snapshot, attributes, context.world, context.record)
    return _marked_or_gone(context, target, live, options)


def _check_preconditions(target: Target, live: Json, options: DeleteOptions) -> None:
    metadata = metadata_of(live)
    if options.uid and options.uid != metadata.get("uid"):
        text = f"Precondition failed: UID in precondition: {options.uid}, UID in object meta: {metadata.get('uid')}"
        raise errors.conflict(target.group_resource, target.name, text)
    if options.resource_version and options.resource_version != metadata.get("resourceVersion"):
        given, found = options.resource_version, metadata.get("resourceVersion")
        text = f"Precondition failed: ResourceVersion in precondition: {given}, ResourceVersion in object meta: {found}"
        raise errors.conflict(target.group_resource, target.name, text)


def _marked_or_gone(context: Context, target: Target, live: Json, options: DeleteOptions) -> Deleted:
    finalizers = _finalizers(live, options)
    if not finalizers and not _keeps_until_finalized(target, live):
        return Deleted(live, gone=True)
    if checks.is_being_deleted(live):
        same = finalizers == list(metadata_of(live).get("finalizers") or ())
        return Deleted(live if same else with_metadata(live, finalizers=finalizers or None), gone=False)
    changes: dict[str, Any] = {"deletionTimestamp": context.given.now, "deletionGracePeriodSeconds": options.grace_period or 0}
    if finalizers:
        changes["finalizers"] = finalizers
    if metadata_of(live).get("generation"):
        changes["generation"] = metadata_of(live)["generation"] + 1
    marked = with_metadata(live, **changes)
    if target.resource.gvr == ("", "v1", "namespaces"):
        marked = {**marked, "status": {**(marked.get("status") or {}), "phase": "Terminating"}}
    return Deleted(marked, gone=False)


def _finalizers(live: Json, options: DeleteOptions) -> list[str]:
    """The finalizers that a deletion leaves: foreground and orphan are the client's to choose."""
    kept = [f for f in metadata_of(live).get("finalizers") or () if f not in ("orphan", "foregroundDeletion")]
    orphan = options.propagation == "Orphan" or options.orphan is True
    if orphan:
        return [*kept, "orphan"]
    if options.propagation == "Foreground":
        return [*kept, "foregroundDeletion"]
    return kept if options.propagation or options.orphan is not None else list(metadata_of(live).get("finalizers") or ())


def _keeps_until_finalized(target: Target, live: Json) -> bool:
    """A Namespace stays until its own finalizers, in its spec, are gone."""
    is_namespace = target.resource.gvr == ("", "v1", "namespaces")
    return is_namespace and bool((live.get("spec") or {}).get("finalizers"))


def answer(target: Target, deleted: Deleted, live: Json) -> Json:
    """The last state of an object that is marked, or of a kind that shows it; else a Status that says it is gone."""
    if not deleted.gone or target.resource.gvr in _SHOWN_WHEN_GONE:
        return deleted.object
    details = {"name": target.name, "group": target.resource.group, "kind": target.resource.plural}
    details["uid"] = metadata_of(live).get("uid") or ""
    told = {k: v for k, v in details.items() if v}
    return {"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success", "details": told}


_SHOWN_WHEN_GONE = frozenset(
    {
        ("", "v1", "pods"),
        ("", "v1", "services"),
        ("", "v1", "serviceaccounts"),
        ("", "v1", "persistentvolumes"),
        ("", "v1", "persistentvolumeclaims"),
        ("", "v1", "podtemplates"),
        ("", "v1", "replicationcontrollers"),
        ("", "v1", "resourcequotas"),
    }
)
