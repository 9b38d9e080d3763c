"""DELETE: admission sees the object that goes; finalizers and grace periods make it stay for a while."""

from collections.abc import Generator, Sequence

from msgspec import Struct
from msgspec.structs import replace

from kadmit.admission import chain
from kadmit.admission.answers import Answer
from kadmit.admission.webhooks import Call
from kadmit.api import errors
from kadmit.api.errors import ApiError
from kadmit.api.meta import GroupResource
from kadmit.matching.attributes import DELETE, Attributes, Json
from kadmit.resources import checks, definitions, grace, lifecycle, strategies
from kadmit.resources.context import Context, Target, metadata_of, with_metadata


class DeleteOptions(Struct, frozen=True):
    """What the client says about how to delete."""

    grace_period: int | None = None
    propagation: str = ""  # propagationPolicy; "" takes the kind's default
    orphan: bool | None = None
    uid: str = ""
    resource_version: str = ""


class Deleted(Struct, frozen=True):
    """`object`: as it was at last, or as it stays marked for deletion; `gone`: whether it is to be removed now.

    `marked`: whether the object was marked first, which watchers see as a change of its own.
    """

    object: Json
    gone: bool
    code: int = 200
    marked: bool = False


Calls = Generator[Sequence[Call], Sequence[Answer], Deleted]


def delete(context: Context, target: Target, live: Json, options: DeleteOptions, *, name: str | None = None) -> Calls:
    """Delete an object, or mark it. `name`: what admission is told (a collection delete tells none). Raises ApiError."""
    lifecycle.check_delete(target)
    if _orphans_by_default(target, options) and target.resource.gvr == _JOBS:
        context.record.warn(_ORPHANS)
    _check_preconditions(target, live, options)
    if grace.applies(target) and grace.is_pending(live, options.grace_period):
        return Deleted(live, gone=False)
    attributes = Attributes(
        kind=target.kind,
        resource=target.gvr,
        operation=DELETE,
        name=target.name if name is None else name,
        namespace=target.admission_namespace,
        subresource=target.subresource,
        old_object=live,
        options=_told(context, target, live, options, of_many=name is not None) or None,
        dry_run=context.options.dry_run,
        user=context.user,
    )
    yield from _admit(context, attributes)
    deleted = _marked_or_gone(context, target, live, options)
    in_two_steps = grace.applies(target) and deleted.gone and deleted.marked
    if in_two_steps and not context.options.dry_run:  # NB: admission is asked about both
        yield from _admit(context, replace(attributes, old_object=deleted.object))
    return deleted


def _told(context: Context, target: Target, live: Json, options: DeleteOptions, *, of_many: bool) -> Json:
    """The options as admission sees them: those for a single object say by then how long its end really takes."""
    raw, asked = context.options.raw, options.grace_period
    if (target.resource.group, target.resource.plural) in _CHECKED_EARLIER:  # NB: so that nothing but this very one goes
        raw = {**raw, "preconditions": {"uid": metadata_of(live).get("uid"), **(raw.get("preconditions") or {})}}
    if of_many:
        return raw
    if grace.applies(target) and not checks.is_being_deleted(live):
        return {**raw, "gracePeriodSeconds": grace.period(live, asked)}
    return {**raw, "gracePeriodSeconds": 1} if asked is not None and asked < 0 else raw


def _admit(context: Context, attributes: Attributes) -> Generator[Sequence[Call], Sequence[Answer], None]:
    if context.mutating:
        yield from chain.mutate(context.snapshot, attributes, context.world, context.record)
    if context.validating:
        yield from chain.validate(context.snapshot, attributes, context.world, context.record)


def _check_preconditions(target: Target, live: Json, options: DeleteOptions) -> None:
    metadata = metadata_of(live)
    if (target.resource.group, target.resource.plural) in _CHECKED_EARLIER:
        _check_early(target, metadata, options)
    if options.uid and options.uid != metadata.get("uid"):
        found = f"the UID in the precondition ({options.uid}) does not match the UID in record ({metadata.get('uid')})"
        raise _precondition(target, f"{found}. The object might have been deleted and then recreated")
    if options.resource_version and options.resource_version != metadata.get("resourceVersion"):
        given, version = options.resource_version, metadata.get("resourceVersion")
        found = f"the ResourceVersion in the precondition ({given}) does not match the ResourceVersion in record ({version})"
        raise _precondition(target, f"{found}. The object might have been modified")


# Kinds whose own code looks at preconditions before the store does, in other words.
_CHECKED_EARLIER = frozenset({("", "namespaces"), ("apiextensions.k8s.io", "customresourcedefinitions")})


def _check_early(target: Target, metadata: Json, options: DeleteOptions) -> None:
    for what, asked, member in (("UID", options.uid, "uid"), ("ResourceVersion", options.resource_version, "resourceVersion")):
        found = metadata.get(member)
        if asked and asked != found:
            cause = f"Precondition failed: {what} in precondition: {asked}, {what} in object meta: {found}"
            raise errors.conflict(target.group_resource, target.name, cause)


def _precondition(target: Target, cause: str) -> ApiError:
    """NB: it names the kind where other conflicts name the resource."""
    kind = strategies.inner_kind(target)
    return errors.conflict(GroupResource(kind.group, kind.kind), target.name, cause)


def _marked_or_gone(context: Context, target: Target, live: Json, options: DeleteOptions) -> Deleted:
    if definitions.is_definition(target) and not checks.is_being_deleted(live):
        is_last = not metadata_of(live).get("finalizers")
        return Deleted(definitions.terminating(live, context.given.now), gone=is_last, marked=True)
    finalizers = _finalizers(target, live, options)
    period = grace.period(live, options.grace_period) if grace.applies(target) else None
    if period is not None:
        return _gracefully(context, live, finalizers, period, asked=options.grace_period is not None)
    if not finalizers and not _keeps_until_finalized(target, live):
        return Deleted(live, gone=True)
    if checks.is_being_deleted(live):
        same = finalizers == list(metadata_of(live).get("finalizers") or ())
        return Deleted(live if same else with_metadata(live, finalizers=finalizers or None), gone=False)
    if _is_namespace(target):
        marked = with_metadata(live, deletionTimestamp=context.given.now)
        return Deleted({**marked, "status": {**(marked.get("status") or {}), "phase": "Terminating"}}, gone=False)
    marked = grace.marked(live, context.given.now, 0)
    return Deleted(with_metadata(marked, finalizers=finalizers), gone=False)


def _gracefully(context: Context, live: Json, finalizers: list[str], period: int, *, asked: bool) -> Deleted:
    """A Pod's end has time; a second deletion may only shorten it."""
    found = metadata_of(live)
    pending = found.get("deletionGracePeriodSeconds")
    if found.get("deletionTimestamp") is not None:
        if pending is None:
            return Deleted(live, gone=not finalizers)
        if not asked or period >= pending:
            return Deleted(live, gone=False)
        marked = grace.shortened(live, period)
    else:
        marked = grace.marked(live, context.given.now, period)
    made = with_metadata(marked, finalizers=finalizers or None)
    return Deleted(made, gone=period == 0 and not finalizers, marked=True)


def _is_namespace(target: Target) -> bool:
    return target.resource.gvr == ("", "v1", "namespaces")


_ORPHANS = (
    "child pods are preserved by default when jobs are deleted; set propagationPolicy=Background to remove them "
    "or set propagationPolicy=Orphan to suppress this warning"
)


_JOBS = ("batch", "v1", "jobs")
_ORPHANING = frozenset({_JOBS, ("", "v1", "replicationcontrollers")})


def _orphans_by_default(target: Target, options: DeleteOptions) -> bool:
    return not options.propagation and options.orphan is None and target.resource.gvr in _ORPHANING


def _finalizers(target: Target, live: Json, options: DeleteOptions) -> list[str]:
    """The finalizers that a deletion leaves: foreground and orphan are the client's to choose."""
    if _orphans_by_default(target, options):
        found = list(metadata_of(live).get("finalizers") or ())
        return found if "orphan" in found or "foregroundDeletion" in found else [*found, "orphan"]
    kept = [f for f in metadata_of(live).get("finalizers") or () if f not in ("orphan", "foregroundDeletion")]
    orphan = options.propagation == "Orphan" or options.orphan is True
    if orphan:
        return [*kept, "orphan"]
    if options.propagation == "Foreground":
        return [*kept, "foregroundDeletion"]
    return kept if options.propagation or options.orphan is not None else list(metadata_of(live).get("finalizers") or ())


def _keeps_until_finalized(target: Target, live: Json) -> bool:
    """A Namespace stays until its own finalizers, in its spec, are gone."""
    return _is_namespace(target) and bool((live.get("spec") or {}).get("finalizers"))


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
        *(("", "v1", plural) for plural in ("pods", "services", "serviceaccounts", "persistentvolumes", "podtemplates")),
        *(("", "v1", plural) for plural in ("persistentvolumeclaims", "resourcequotas", "namespaces")),
        *(("storage.k8s.io", "v1", plural) for plural in ("storageclasses", "csidrivers", "csinodes", "volumeattachments")),
        ("storage.k8s.io", "v1", "volumeattributesclasses"),
        ("apiextensions.k8s.io", "v1", "customresourcedefinitions"),
        *(("resource.k8s.io", "v1", plural) for plural in ("resourceclaims", "resourceclaimtemplates", "resourceslices")),
        ("resource.k8s.io", "v1", "deviceclasses"),
    }
)
