"""The variables of an expression, made from a request: object, oldObject, request, params, namespaceObject, authorizer."""

from collections.abc import Mapping
from typing import Any

from kadmit.api.meta import GroupVersionKind, GroupVersionResource
from kadmit.cel.library import authorizer
from kadmit.cel.library.authorizer import Authorizer, AuthorizerValue
from kadmit.cel.values import Value
from kadmit.matching.attributes import Attributes, Json, user_info


def request_variable(attributes: Attributes, resource: GroupVersionResource, kind: GroupVersionKind) -> Json:
    """`request`: empty fields are absent."""
    made: Json = {
        "kind": kind._asdict(),
        "resource": resource._asdict(),
        "requestKind": attributes.kind._asdict(),
        "requestResource": attributes.resource._asdict(),
        "operation": attributes.operation,
        "userInfo": user_info(attributes.user),
        "dryRun": attributes.dry_run,
        "options": attributes.options,
    }
    if attributes.subresource:
        made["subResource"] = made["requestSubResource"] = attributes.subresource
    if attributes.name:
        made["name"] = attributes.name
    if attributes.namespace:
        made["namespace"] = attributes.namespace
    return made


_NAMESPACE_METADATA = (
    "name",
    "generateName",
    "namespace",
    "uid",
    "resourceVersion",
    "generation",
    "creationTimestamp",
    "deletionTimestamp",
    "deletionGracePeriodSeconds",
    "labels",
    "annotations",
    "finalizers",
)


def namespace_variable(namespace: Mapping[str, Any] | None) -> Json | None:
    """`namespaceObject`: what policies may see of a Namespace."""
    if namespace is None:
        return None
    metadata = namespace.get("metadata") or {}
    shown: Json = {"metadata": {k: metadata[k] for k in _NAMESPACE_METADATA if k in metadata}}
    for part in ("spec", "status"):
        shown[part] = namespace.get(part) or {}
    return shown


def variables(
    attributes: Attributes,
    resource: GroupVersionResource,
    kind: GroupVersionKind,
    *,
    params: Json | None = None,
    namespace: Json | None = None,
    who: Authorizer | None = None,
) -> dict[str, Value]:
    """All variables of one evaluation; without an authorizer, `authorizer` does not exist."""
    bound: dict[str, Value] = {
        "object": attributes.object,
        "oldObject": attributes.old_object,
        "request": request_variable(attributes, resource, kind),
        "params": params,
        "namespaceObject": namespace,
    }
    if who is not None:
        bound["authorizer"] = AuthorizerValue(attributes.user, who)
        bound["authorizer.requestResource"] = authorizer.request_resource(
            attributes.user,
            who,
            group=attributes.resource.group,
            resource=attributes.resource.resource,
            subresource=attributes.subresource,
            namespace=attributes.namespace,
            name=attributes.name,
        )
    return bound
