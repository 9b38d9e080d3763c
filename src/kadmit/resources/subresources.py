"""Parts of objects with paths of their own: status, scale, finalize, eviction, binding, tokens.

Status and finalize are the whole object of which a write changes one part. Scale is another kind that shows two fields of it.
Actions (a POST) do something to the object and answer with something else.
"""

from collections.abc import Generator, Sequence
from typing import Any

from msgspec import Struct

from kadmit.admission import chain
from kadmit.api import errors
from kadmit.api.errors import ApiError, Status
from kadmit.api.meta import GroupResource
from kadmit.kinds import metadata, scaling
from kadmit.kinds.known import Known
from kadmit.matching.attributes import CREATE, Attributes, Json
from kadmit.resources import assigning, checks, ownership, podconditions, tokenrequests
from kadmit.resources.context import Context, Target, metadata_of
from kadmit.resources.effects import Put
from kadmit.resources.state import Place, State, place_of

_PODS = ("", "pods")
_ON_PODS = frozenset(("Binding", "Eviction"))
_EXACT = frozenset(("Binding", "TokenRequest"))
BINDINGS = ("", "v1", "bindings")  # NB: a resource that is nothing but an action; there are no such objects


class Acted(Struct, frozen=True):
    """What an action answers, and what it does: writes, or deletes."""

    object: Json
    code: int = 201
    put: Put | None = None
    evicted: Json | None = None  # the deleteOptions of an eviction, which is a deletion


def view(target: Target, live: Json, known: Known) -> Json:
    """The object as a subresource shows it."""
    if target.subresource == "scale":
        return scaling.scale_of(target.resource, live, known)
    return live


def act(context: Context, state: State, target: Target, new: Json) -> Generator[Sequence[Any], Any, Acted]:
    """POST to a subresource. Raises ApiError."""
    name = target.name or metadata_of(new).get("name") or ""
    attributes = Attributes(
        kind=target.kind,
        resource=target.gvr,
        operation=CREATE,
        name=name,
        namespace=target.namespace,
        subresource=target.subresource,
        object=_owned(context, target, new),
        options=context.options.raw or None,
        dry_run=context.options.dry_run,
        user=context.user,
    )
    after = yield from chain.mutate(context.snapshot, attributes, context.world, context.record)
    asked = _asked(context, state, target, name, after.object or {})
    yield from chain.validate(context.snapshot, after.with_object(asked), context.world, context.record)
    if not name:
        raise errors.bad_request("Name parameter required.")
    place, live = _acted_on(state, target, name)
    if target.kind.kind == "Eviction":
        options = asked.get("deleteOptions") or {}
        told = None if options.get("dryRun") else Put(place, (target.namespace, name), _disrupted(context, live), _version(live))
        return Acted(_success(), 201, told, options)
    if target.kind.kind == "Binding":
        bound = assigning.bound(live, asked, context.given.now)
        return Acted(_success(), 201, Put(place, (target.namespace, name), bound, _version(live)))
    raise not_here(target)


def _owned(context: Context, target: Target, new: Json) -> Json:
    """NB: bindings and token requests may say which very object they mean; elsewhere that is the server's to write."""
    if target.kind.kind not in _EXACT:
        new = {**new, "metadata": metadata.cleared_on_create(metadata_of(new), namespaced=True)}
    return ownership.own(context, target, None, checks.in_namespace(target, new))


def _acted_on(state: State, target: Target, name: str) -> tuple[Place, Json]:
    """Raises ApiError if it is not there."""
    place = _PODS if target.kind.kind in _ON_PODS else place_of(target.resource)
    live = state.get(place, target.namespace, name)
    if live is None:
        raise errors.not_found(GroupResource(*place), name)
    return place, live


def _asked(context: Context, state: State, target: Target, name: str, wish: Json) -> Json:
    """What is asked, by name; where an eviction says how to delete, a dry run is said there too. Raises ApiError."""
    if target.kind.kind == "TokenRequest":
        tokenrequests.check_name(wish, name)
        return tokenrequests.filled(wish, _acted_on(state, target, name)[1], context.given.now)
    if target.kind.kind in _ON_PODS and (metadata_of(wish).get("name") or "") != name:
        raise errors.bad_request(f"name in URL does not match name in {target.kind.kind} object")
    if target.kind.kind == "Binding":
        assigning.validate(wish)
    options = wish.get("deleteOptions") if target.kind.kind == "Eviction" and context.options.dry_run else None
    return wish if options is None or options.get("dryRun") else {**wish, "deleteOptions": {**options, "dryRun": ["All"]}}


def _version(live: Json) -> str | None:
    version: str | None = metadata_of(live).get("resourceVersion")
    return version


def _disrupted(context: Context, pod: Json) -> Json:
    """A Pod that is told why it ends, before it does."""
    return podconditions.with_condition(
        pod, "DisruptionTarget", context.given.now, reason="EvictionByEvictionAPI", message="Eviction API: evicting"
    )


def _success() -> Json:
    return {"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success", "code": 201}


def not_here(target: Target) -> ApiError:
    """What needs a node or a signing key."""
    text = f"{target.resource.plural}/{target.subresource} is not available on this server: no nodes and no token signer"
    return ApiError(Status(501, "NotImplemented", text))
