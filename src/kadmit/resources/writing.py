"""Creates and updates, once the new object is there: own, mutate, prepare, validate, and validate again by policy.

The order is the API server's and shows in answers: an invalid object has been through the mutating half, and a stale one too;
a name is generated after mutation and before validation.
"""

import re
from collections.abc import Generator, Sequence
from typing import Any

from kadmit.admission import chain
from kadmit.admission.answers import Answer
from kadmit.admission.webhooks import Call
from kadmit.api import errors, fields
from kadmit.api.errors import ApiError, Status
from kadmit.api.gojson import quoted
from kadmit.api.meta import GroupKind
from kadmit.kinds import emptiness, metadata, scaling
from kadmit.matching.attributes import CREATE, UPDATE, Attributes, Json
from kadmit.patch import managedfields
from kadmit.resources import checks, ownership, strategies
from kadmit.resources.context import Context, Target, Written, metadata_of, with_metadata

Calls = Generator[Sequence[Call], Sequence[Answer], Written]

MAX_GENERATED = 63 - 5
_NUMBER = re.compile(r"[0-9]{1,20}\Z")


def create(context: Context, target: Target, new: Json) -> Calls:
    """Create an object from a decoded and defaulted body. Raises ApiError."""
    cleared = metadata.cleared_on_create(metadata_of(new), namespaced=target.resource.namespaced)
    fresh = checks.owners_once(context, checks.in_namespace(target, {**new, "metadata": cleared}))
    owned = ownership.own(context, target, None, fresh)
    return (yield from _create(context, target, owned))


def create_named(context: Context, target: Target, new: Json) -> Calls:
    """Create an object by PUT: its name is the URL's."""
    checks.has_name(target, new)
    return (yield from create(context, target, with_metadata(new, resourceVersion=None)))


def create_applied(context: Context, target: Target, applied: Json) -> Calls:
    """Create an object that an apply has made, managed fields and all."""
    return (yield from _create(context, target, applied))


def _create(context: Context, target: Target, new: Json) -> Calls:
    attributes = _attributes(context, target, CREATE, new, None, name=metadata_of(new).get("name") or "")
    mutated = checks.owners_once(context, (yield from _mutate(context, attributes)), mutated=True)
    filled = _filled(context, target, mutated)
    prepared = strategies.prepare_for_create(context, target, strategies.allocated(context, target, filled, None))
    strategies.validate_create(context, target, prepared)
    if _is_validated(context, attributes):
        name = metadata_of(prepared).get("name") or ""
        yield from _validate(context, _attributes(context, target, CREATE, prepared, None, name=name))
    prepared = strategies.stored(context, target, prepared)
    return Written(prepared if mutated is new else context.known.stored(target.kind, prepared), created=True)


def asked(context: Context, target: Target, question: Json) -> Generator[Sequence[Call], Sequence[Answer], Json]:
    """A question that is posted like an object and never kept, as those who may mutate leave it. Raises ApiError."""
    return (yield from _mutate(context, _attributes(context, target, CREATE, question, None, name=_name(question))))


def judged(context: Context, target: Target, question: Json) -> Generator[Sequence[Call], Sequence[Answer], None]:
    """Raises ApiError if those who validate are against the question."""
    yield from _validate(context, _attributes(context, target, CREATE, question, None, name=_name(question)))


def _name(value: Json) -> str:
    return metadata_of(value).get("name") or ""


def update(context: Context, target: Target, live: Json, new: Json) -> Calls:
    """Replace an object with a decoded and defaulted body. Raises ApiError."""
    placed = checks.owners_once(context, checks.in_namespace(target, new))
    checks.has_name(target, placed)
    owned = ownership.own(context, target, live, placed)
    return (yield from finish_update(context, target, live, owned))


conflict = checks.conflict


def scale(context: Context, target: Target, live: Json, new: Json, *, managed: list[Json] | None = None) -> Calls:
    """Write an object's Scale: admission sees Scales, the store gets the whole object. Raises ApiError.

    `managed`: the managed fields that an apply has made already.
    """
    old = scaling.scale_of(target.resource, live, context.known)
    mutated = yield from _mutate(context, _attributes(context, target, UPDATE, new, old, name=target.name))
    replicas = (mutated.get("spec") or {}).get("replicas") or 0
    if replicas < 0 and not target.resource.custom:  # NB: of a custom one, the field that it stands in is told
        found = [fields.invalid(fields.path("spec", "replicas"), replicas, "must be greater than or equal to 0")]
        raise errors.invalid(GroupKind("autoscaling", "Scale"), target.name, found)
    given = metadata_of(mutated).get("resourceVersion")
    if given and given != metadata_of(live).get("resourceVersion"):
        raise checks.conflict(target)
    whole = Target(target.resource, target.namespace, target.name)
    scaled = scaling.with_scale(target.resource, live, mutated, context.known)
    owned = with_metadata(scaled, managedFields=managed) if managed else ownership.own(context, target, live, scaled)
    made = ownership.timeless(owned, live)
    prepared = strategies.prepare_for_update(context, whole, made, live)
    strategies.validate_update(context, whole, prepared, live)
    shown = scaling.scale_of(target.resource, prepared, context.known)
    yield from _validate(context, _attributes(context, target, UPDATE, shown, old, name=target.name))
    return Written(_keep_times(prepared, live))


def finish_update(context: Context, target: Target, live: Json, new: Json) -> Calls:
    """The rest of an update or patch, after the new object has its managed fields."""
    attributes = _attributes(context, target, UPDATE, new, live, name=target.name)
    mutated = checks.owners_once(context, (yield from _mutate(context, attributes)), mutated=True)
    current = _with_version(target, mutated, live)
    prepared = strategies.prepare_for_update(context, target, strategies.allocated(context, target, current, live), live)
    strategies.validate_update(context, target, prepared, live)
    settled = _keep_times(prepared, live)
    yield from _validate(context, _attributes(context, target, UPDATE, settled, live, name=target.name))
    kept = emptiness.stored(target.kind, settled)
    return Written(kept if mutated is new else context.known.stored(target.kind, kept))


def _keep_times(new: Json, live: Json) -> Json:
    """An update that changes nothing but times of managed fields keeps the old times, and so changes nothing."""
    return managedfields.keep_times(new, live)


def _with_version(target: Target, new: Json, live: Json) -> Json:
    """Optimistic locking: the version that the client knows must be the stored one. Raises ApiError."""
    stored = metadata_of(live).get("resourceVersion")
    given = metadata_of(new).get("resourceVersion") or ""
    if given and not _NUMBER.match(given):
        raise ApiError(Status(500, "", f"strconv.ParseUint: parsing {quoted(given)}: invalid syntax"))
    if not given or given == "0":
        if not strategies.allows_unconditional_update(target):
            at = fields.path("metadata", "resourceVersion")
            kind = strategies.resource_as_kind(target)
            raise errors.invalid(kind, target.name, [fields.invalid(at, 0, "must be specified for an update")])
        return with_metadata(new, resourceVersion=stored)
    if given != stored:
        raise checks.conflict(target)
    return new


def is_version(text: str) -> bool:
    """NB: 0 is none, and what is no number is none either."""
    return bool(_NUMBER.match(text)) and int(text) != 0


def _filled(context: Context, target: Target, new: Json) -> Json:
    """A new object with what only the server writes: uid, time, and the rest of a generated name."""
    if not isinstance(new.get("metadata", {}), dict):
        raise errors.internal("system metadata was not initialized")
    made: dict[str, Any] = dict(metadata_of(new))
    if not made.get("name") and made.get("generateName"):
        made["name"] = made["generateName"][:MAX_GENERATED] + context.given.suffix
    made["uid"] = context.given.uid
    made["creationTimestamp"] = context.given.now
    return checks.in_namespace(target, {**new, "metadata": made})


def _attributes(context: Context, target: Target, operation: str, new: Json | None, old: Json | None, *, name: str) -> Attributes:
    namespace = target.namespace
    if target.resource.gvr == ("", "v1", "namespaces") and not namespace:
        namespace = name
    return Attributes(
        kind=target.kind,
        resource=target.gvr,
        operation=operation,
        name=name,
        namespace=namespace,
        subresource=target.subresource,
        object=new,
        old_object=old,
        options=context.options.raw or None,
        dry_run=context.options.dry_run,
        user=context.user,
    )


def _mutate(context: Context, attributes: Attributes) -> Generator[Sequence[Call], Sequence[Answer], Json]:
    if not _is_mutated(context, attributes):
        assert attributes.object is not None
        return attributes.object
    after = yield from chain.mutate(context.snapshot, attributes, context.world, context.record)
    assert after.object is not None
    if after.object is attributes.object:
        return after.object
    return ownership.intact(context, attributes.object, context.known.finished(attributes.kind, after.object))


def _is_mutated(context: Context, attributes: Attributes) -> bool:
    """Whether anybody who may mutate has to be asked; whoever explains asks for all that happens, even if it is nothing."""
    found = context.snapshot.candidates(attributes, context.world)
    anybody = found.mutating_policies or found.mutating_webhooks or context.record.events is not None
    return context.mutating and bool(anybody)


def _is_validated(context: Context, attributes: Attributes) -> bool:
    found = context.snapshot.candidates(attributes, context.world)
    anybody = found.validating_policies or found.validating_webhooks or context.record.events is not None
    return context.validating and bool(anybody)


def _validate(context: Context, attributes: Attributes) -> Generator[Sequence[Call], Sequence[Answer], None]:
    if _is_validated(context, attributes):
        yield from chain.validate(context.snapshot, attributes, context.world, context.record)
