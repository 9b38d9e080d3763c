"""Every writing verb from body to answer: read, decide, write, and again if somebody else wrote in between.

A verb is a generator of two kinds of effects: batches of webhook calls (answered with as many answers) and `Put`s (answered with
the revision of the write, or by throwing `Exists` or `Stale` into the generator). Reading is not an effect: the state is in
memory. So the same verb runs in a test, in a command, and in a server.
"""

import contextlib
from collections.abc import Generator, Sequence
from typing import Any, TypeAlias

from msgspec import Struct, field
from msgspec.structs import replace

from kadmit.admission.webhooks import Call
from kadmit.api import errors
from kadmit.api.errors import ApiError
from kadmit.api.meta import GroupVersionKind
from kadmit.kinds import fulltext
from kadmit.matching.attributes import Json
from kadmit.resources import bodies, checks, definitions, deleting, lifecycle, patching, strategies, subresources, writing
from kadmit.resources.context import Context, Target, Written, metadata_of, with_metadata
from kadmit.resources.deleting import Deleted, DeleteOptions
from kadmit.resources.effects import Exists, Put, Stale
from kadmit.resources.state import Name, Place, State, place_of

MAX_TRIES = 5


class Answered(Struct, frozen=True):
    """What the client gets."""

    object: Json
    code: int = 200
    retry_after: int = 0
    headers: dict[str, str] = field(default_factory=dict)


Effect: TypeAlias = Sequence[Call] | Put
Verb: TypeAlias = Generator[Effect, Any, Answered]


def _place(target: Target) -> Place:
    return place_of(target.resource)


def _name(target: Target, name: str) -> Name:
    return (target.namespace if target.resource.namespaced else ""), name


def stored(state: State, target: Target) -> Json | None:
    """The object of a target in the version of its URL, or None. Raises ApiError (400) if there never could be one."""
    found = state.get(_place(target), *_name(target, target.name))
    if found is None:
        checks.could_be_a_name(target)
        return None
    return state.known.read(found, GroupVersionKind(*target.resource.gvk))


def find(state: State, target: Target) -> Json:
    found = stored(state, target)
    if found is None:
        raise errors.not_found(target.group_resource, target.name)
    return found


# ---------------------------------------------------------------- creating


def create(
    context: Context, state: State, target: Target, body: bytes, *, is_yaml: bool = False, value: Any = fulltext.UNREAD
) -> Verb:
    """POST. `value`: what the body reads as, if somebody has read it already. Raises ApiError."""
    new = bodies.read(context, target, body, is_yaml=is_yaml, value=value)
    if target.subresource or target.resource.gvr == subresources.BINDINGS:
        return (yield from _create_part(context, state, target, new))
    lifecycle.check_create(state, target, new)
    written: Written = yield from writing.create(context, target, new)
    _refuse_version(context, written)
    return (yield from _store_new(context, state, target, written))


def _create_part(context: Context, state: State, target: Target, new: Json) -> Verb:
    """POST to a subresource: an action on the object."""
    made = yield from subresources.act(context, state, target, new)
    if made.put is not None and not context.options.dry_run:
        yield made.put
    if made.evicted is not None:
        conditions = made.evicted.get("preconditions") or {}
        asked = DeleteOptions(
            grace_period=made.evicted.get("gracePeriodSeconds"),
            uid=conditions.get("uid") or "",
            resource_version=conditions.get("resourceVersion") or "",
        )
        pod = replace(target, subresource="")
        options = replace(context.options, dry_run=context.options.dry_run or bool(made.evicted.get("dryRun")))
        quiet = replace(context, options=options, mutating=False, validating=False)  # NB: admission saw the eviction
        yield from delete(quiet, state, pod, asked)
    return Answered(made.object, made.code)


def _store_new(context: Context, state: State, target: Target, written: Written) -> Verb:
    name = metadata_of(written.object)["name"]
    if metadata_of(written.object).get("resourceVersion"):
        written = replace(written, object=with_metadata(written.object, resourceVersion=None))
    kept, shown = _kept(state, target, written.object)
    present = state.get(_place(target), *_name(target, name))
    if present is not None:
        raise _exists(target, name, present, written.object)
    if context.options.dry_run:
        return Answered(shown, 201)
    try:
        revision = yield Put(_place(target), _name(target, name), kept, None)
    except Exists:
        found = state.get(_place(target), *_name(target, name))
        raise _exists(target, name, found or {}, written.object) from None
    yield from _establish(context, target, written.object, revision)
    return Answered(with_metadata(shown, resourceVersion=str(revision)), 201)


def _kept(state: State, target: Target, new: Json) -> tuple[Json, Json]:
    """An object as it is stored, and as it is read from there in the version of the URL."""
    kind = GroupVersionKind(*target.resource.gvk)
    kept = state.known.kept(kind, new)
    return kept, new if kept is new else state.known.read(kept, kind)


def _refuse_version(context: Context, written: Written) -> None:
    """NB: a version on what is new is the store's to refuse, which it does last of all, and never sees what is not to be kept."""
    given = metadata_of(written.object).get("resourceVersion")
    if given and not context.options.dry_run and writing.is_version(given):
        raise strategies.resource_version_set()


def _establish(context: Context, target: Target, written: Json, revision: int) -> Generator[Effect, Any, None]:
    """NB: a second write, as in a cluster, so that the answer to the first does not show it."""
    if not definitions.is_definition(target) or metadata_of(written).get("deletionTimestamp"):
        return
    made = definitions.established(written, context.given.now)
    if made is not written:
        with contextlib.suppress(Stale):  # whoever was quicker has done it
            yield Put(_place(target), _name(target, metadata_of(written)["name"]), made, str(revision))


def _exists(target: Target, name: str, present: Json, new: Json) -> ApiError:
    if metadata_of(new).get("generateName") and not metadata_of(present).get("deletionTimestamp"):
        return errors.generate_name_conflict(target.group_resource, name)
    error = errors.already_exists(target.group_resource, name)
    being_deleted = metadata_of(present).get("deletionTimestamp") is not None
    return error.with_message(f"object is being deleted: {error}") if being_deleted else error


# ---------------------------------------------------------------- changing


def update(
    context: Context, state: State, target: Target, body: bytes, *, is_yaml: bool = False, value: Any = fulltext.UNREAD
) -> Verb:
    """PUT. `value`: what the body reads as, if somebody has read it already. Raises ApiError."""
    new = bodies.read(context, target, body, is_yaml=is_yaml, value=value)
    checks.has_name(target, checks.in_namespace(target, new))
    for _ in range(MAX_TRIES):
        live = stored(state, target)
        if live is None:
            if not lifecycle.allows_create_on_update(target):
                raise errors.not_found(target.group_resource, target.name)
            return (yield from _create_by_update(context, state, target, new))
        checks.same_uid(target, new, live)
        changed = writing.scale if target.subresource == "scale" else writing.update
        written: Written = yield from changed(context, target, live, new)
        try:
            return (yield from _store(context, state, target, live, written))
        except Stale:
            continue
    raise writing.conflict(target)


def _create_by_update(context: Context, state: State, target: Target, new: Json) -> Verb:
    options = replace(context.options, raw={**context.options.raw, "kind": "CreateOptions"})
    lifecycle.authorize_create(context, target)
    lifecycle.check_create(state, target, new)
    written: Written = yield from writing.create_named(replace(context, options=options), target, new)
    return (yield from _store_new(context, state, target, written))


def patch(context: Context, state: State, target: Target, body: bytes, patch_type: str) -> Verb:
    """PATCH. Raises ApiError."""
    for _ in range(MAX_TRIES):
        live = stored(state, target)
        if live is None and patch_type == patching.APPLY_PATCH:
            lifecycle.check_create(state, target, {})
        written: Written = yield from patching.patch(context, state, target, live, body, patch_type)
        if written.created or live is None:
            lifecycle.authorize_create(context, target)
            return (yield from _store_new(context, state, target, written))
        try:
            return (yield from _store(context, state, target, live, written))
        except Stale:
            continue
    raise writing.conflict(target)


def _store(context: Context, state: State, target: Target, live: Json, written: Written) -> Verb:
    """Write a changed object; one that is not changed is not written; one whose last finalizer is gone goes."""
    kept, new = _kept(state, target, written.object)
    metadata = metadata_of(new)
    gone = metadata.get("deletionTimestamp") is not None and not metadata.get("finalizers") and not lifecycle.is_kept(target, new)
    if not gone and new == live:
        return Answered(subresources.view(target, live, state.known))
    if context.options.dry_run:
        return Answered(subresources.view(target, new, state.known))
    expected = metadata_of(live).get("resourceVersion")
    revision = yield Put(_place(target), _name(target, target.name), None if gone else kept, expected)
    if not gone:
        yield from _establish(context, target, new, revision)
    return Answered(subresources.view(target, with_metadata(new, resourceVersion=str(revision)), state.known))


# ---------------------------------------------------------------- deleting


def delete(context: Context, state: State, target: Target, options: DeleteOptions, *, of_many: bool = False) -> Verb:
    """DELETE. Raises ApiError."""
    for _ in range(MAX_TRIES):
        live = find(state, target)
        deleted: Deleted = yield from deleting.delete(context, target, live, options, name="" if of_many else None)
        if context.options.dry_run:
            return Answered(deleting.answer(target, deleted, live), deleted.code)
        expected = metadata_of(live).get("resourceVersion")
        if not deleted.gone and deleted.object == live:
            return Answered(live, deleted.code)
        if deleted.gone and definitions.is_definition(target):
            yield from _remove_instances(state, live)
        try:
            revision = yield from _remove(state, target, deleted, expected)
        except Stale:
            continue
        final = deleted.object if deleted.gone else with_metadata(deleted.object, resourceVersion=str(revision))
        return Answered(deleting.answer(target, replace(deleted, object=final), live), deleted.code)
    raise writing.conflict(target)


def _remove_instances(state: State, definition: Json) -> Generator[Effect, Any, None]:
    for place, name, revision in definitions.instances(state, definition):
        with contextlib.suppress(Stale):
            yield Put(place, name, None, revision)


def _remove(state: State, target: Target, deleted: Deleted, expected: str | None) -> Generator[Effect, Any, int]:
    """Writes what a deletion leaves. What is marked and then goes at once is written twice, as its watchers expect."""
    place, name = _place(target), _name(target, target.name)
    revision: int = 0
    if deleted.marked or not deleted.gone:
        revision = yield Put(place, name, _kept(state, target, deleted.object)[0], expected)
        expected = str(revision)
    if deleted.gone:
        revision = yield Put(place, name, None, expected)
    return revision
