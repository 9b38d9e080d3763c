"""What can be connected to: parts of resources that take CONNECT, and the kinds of the options that admission is shown."""

from collections.abc import Mapping

from kadmit.api.meta import GroupVersionKind
from kadmit.cel.library.authorizer import User
from kadmit.kinds.catalog import Resource
from kadmit.matching.attributes import CONNECT, Attributes, Json
from kadmit.resources.context import Target

OPTIONS: Mapping[tuple[str, str], str] = {
    ("pods", "exec"): "PodExecOptions",
    ("pods", "attach"): "PodAttachOptions",
    ("pods", "portforward"): "PodPortForwardOptions",
    ("pods", "proxy"): "PodProxyOptions",
    ("services", "proxy"): "ServiceProxyOptions",
    ("nodes", "proxy"): "NodeProxyOptions",
}
SUBRESOURCES = frozenset(subresource for _, subresource in OPTIONS)


def takes(resource: Resource, subresource: str) -> bool:
    return resource.group == "" and (resource.plural, subresource) in OPTIONS


def is_about(target: Target) -> bool:
    return takes(target.resource, target.subresource)


def options_kind(target: Target) -> str:
    return OPTIONS[target.resource.plural, target.subresource]


def attributes(target: Target, options: Json, user: User) -> Attributes:
    """The request as admission sees it: the options are its object."""
    return Attributes(
        kind=GroupVersionKind("", "v1", options_kind(target)),
        resource=target.gvr,
        operation=CONNECT,
        name=target.name,
        namespace=target.namespace,
        subresource=target.subresource,
        object=options,
        user=user,
    )
