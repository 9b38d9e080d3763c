"""Requests as far as admission: what is asked of policies and webhooks, and nothing that a server does besides."""

from kadmit.admission import chain
from kadmit.authoring.manifests import Json
from kadmit.matching.attributes import UPDATE, Attributes
from kadmit.resources import bodies, connections
from kadmit.resources.context import Context, Target
from kadmit.resources.verbs import Answered, Verb


def write(context: Context, operation: str, target: Target, body: bytes, live: Json | None) -> Verb:
    """CREATE or UPDATE: an object that the server would refuse for other reasons is judged all the same. Raises ApiError."""
    new = bodies.read(context, target, body)
    attributes = Attributes(
        kind=target.kind,
        resource=target.gvr,
        operation=operation,
        name=target.name,
        namespace=target.admission_namespace,
        subresource=target.subresource,
        object=new,
        old_object=live if operation == UPDATE else None,
        options=context.options.raw or None,
        dry_run=context.options.dry_run,
        user=context.user,
    )
    return (yield from _judged(context, attributes))


def connect(context: Context, target: Target, options: Json) -> Verb:
    """CONNECT: there is no node to connect to. Raises ApiError."""
    shown = {"kind": connections.options_kind(target), "apiVersion": "v1", **options}
    return (yield from _judged(context, connections.attributes(target, shown, context.user)))


def _judged(context: Context, attributes: Attributes) -> Verb:
    if context.mutating:
        attributes = yield from chain.mutate(context.snapshot, attributes, context.world, context.record)
    if context.validating:
        yield from chain.validate(context.snapshot, attributes, context.world, context.record)
    return Answered(attributes.object or {})
