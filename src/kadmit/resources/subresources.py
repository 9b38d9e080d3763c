"""Parts of objects with paths of their own: status, scale, finalize, eviction, binding, tokens.

Status and finalize are the whole object of which a write changes one part. Scale is another kind that shows two fields of it.
Actions (a POST) do something to the object and answer with something else.
"""

from collections.abc import Generator, Sequence
from dataclasses import dataclass
from typing import Any

from kadmit.admission import chain
from kadmit.api import errors
from kadmit.api.errors import ApiError, Status
from kadmit.kinds import scaling
from kadmit.kinds.known import Known
from kadmit.matching.attributes import CREATE, Attributes, Json
from kadmit.resources.context import Context, Target, metadata_of
from kadmit.resources.effects import Put
from kadmit.resources.state import State, place_of


@dataclass(frozen=True, slots=True)
class Acted:
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
    live = state.get(place_of(target.resource), target.namespace, target.name)
    attributes = Attributes(
        kind=target.kind,
        resource=target.gvr,
        operation=CREATE,
        name=target.name,
        namespace=target.namespace,
        subresource=target.subresource,
        object=new,
        options=context.options.raw or None,
        dry_run=context.options.dry_run,
        user=context.user,
    )
    after = yield from chain.mutate(context.snapshot, attributes, context.world, context.record)
    if live is None:
        raise errors.not_found(target.group_resource, target.name)
    yield from chain.validate(context.snapshot, after, context.world, context.record)
    place, name = place_of(target.resource), (target.namespace, target.name)
    expected = metadata_of(live).get("resourceVersion")
    if target.subresource == "binding":
        node = ((after.object or {}).get("target") or {}).get("name") or ""
        bound = _bound(live, node, context.given.now)
        return Acted(_success(), 201, Put(place, name, bound, expected))
    if target.subresource == "eviction":
        return Acted(_success(), 201, evicted=(after.object or {}).get("deleteOptions") or {})
    raise not_here(target)


def _bound(pod: Json, node: str, now: str) -> Json:
    """A Pod that has its node."""
    status = pod.get("status") or {}
    scheduled = {"type": "PodScheduled", "status": "True", "lastProbeTime": None, "lastTransitionTime": now}
    others = [c for c in status.get("conditions") or () if c.get("type") != "PodScheduled"]
    made = {**pod, "spec": {**(pod.get("spec") or {}), "nodeName": node}}
    return {**made, "status": {**status, "conditions": [*others, scheduled]}}


def _success() -> Json:
    return {"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success", "code": 201}


def not_here(target: Target) -> ApiError:
    """What needs a node or a signing key."""
    text = f"{target.resource.plural}/{target.subresource} is not available on this server: no nodes and no token signer"
    return ApiError(Status(501, "NotImplemented", text))
