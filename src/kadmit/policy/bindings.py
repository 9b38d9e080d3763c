"""The variables of an expression, made from a request: object, oldObject, request, params, namespaceObject, authorizer."""

from collections.abc import Mapping
from typing import Any

from kadmit.api.meta import GroupVersionKind, GroupVersionResource
from kadmit.cel.library import authorizer
from kadmit.cel.library.authorizer import Authorizer, AuthorizerValue
from kadmit.cel.values import Value
from kadmit.matching.attributes import Attributes, Json, user_info


def request_variable(attributes: Attributes, resource: GroupVersionResource, kind: GroupVersionKind) -> Json:
    """`request`: empty fields are absent, but for three that every AdmissionRequest has and policies are not told of."""
    taken_as, place = kind._asdict(), resource._asdict()
    made: Json = {
        "kind": taken_as,
        "resource": place,
        "requestKind": taken_as if attributes.kind == kind else attributes.kind._asdict(),
        "requestResource": place if attributes.resource == resource else attributes.resource._asdict(),
        "operation": attributes.operation,
        "userInfo": user_info(attributes.user),
        "dryRun": attributes.dry_run,
        "options": attributes.options,
        "uid": "",
        "object": None,
        "oldObject": None,
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


class RequestVariables:
    """The variables of all evaluations for one request. What its object has no part in is made once."""

    __slots__ = ("_attributes", "_constant", "_who")

    def __init__(self, attributes: Attributes, who: Authorizer | None) -> None:
        self._attributes = attributes
        self._who = who
        self._constant: dict[tuple[GroupVersionResource, GroupVersionKind, bool], dict[str, Value]] = {}

    def bind(
        self,
        versioned: Attributes,
        resource: GroupVersionResource,
        kind: GroupVersionKind,
        *,
        params: Json | None = None,
        namespace: Json | None = None,
        authorizer: bool = True,
    ) -> dict[str, Value]:
        """Those of one evaluation, with the objects of `versioned`; without an authorizer, `authorizer` does not exist."""
        key = (resource, kind, authorizer)
        constant = self._constant.get(key)
        if constant is None:
            who = self._who if authorizer else None
            constant = self._constant[key] = _constant_variables(self._attributes, resource, kind, who)
        bound = constant.copy()
        bound["object"] = versioned.object
        bound["oldObject"] = versioned.old_object
        bound["params"] = params
        bound["namespaceObject"] = namespace
        return bound


def variables(
    attributes: Attributes,
    resource: GroupVersionResource,
    kind: GroupVersionKind,
    *,
    params: Json | None = None,
    namespace: Json | None = None,
    who: Authorizer | None = None,
) -> dict[str, Value]:
    """All variables of a single evaluation."""
    return RequestVariables(attributes, who).bind(attributes, resource, kind, params=params, namespace=namespace)


def _constant_variables(
    attributes: Attributes, resource: GroupVersionResource, kind: GroupVersionKind, who: Authorizer | None
) -> dict[str, Value]:
    bound: dict[str, Value] = {"request": request_variable(attributes, resource, kind)}
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
