"""Namespaces and births: NamespaceLifecycle, who may be created by PUT, and who may create."""

from kadmit.access import attributes as access
from kadmit.api import errors
from kadmit.api.errors import ApiError, Cause, Details, Status
from kadmit.api.meta import GroupResource
from kadmit.cel.library.authorizer import Attributes
from kadmit.matching.attributes import Json
from kadmit.resources.context import Context, Target, metadata_of
from kadmit.resources.state import NAMESPACES, State

IMMORTAL = frozenset({"default", "kube-system", "kube-public"})
_CREATED_BY_PUT = frozenset(
    {
        ("coordination.k8s.io", "leases"),
        ("", "events"),
        ("events.k8s.io", "events"),
        ("", "endpoints"),
        ("", "limitranges"),
        ("", "services"),
        ("node.k8s.io", "runtimeclasses"),
    }
)
_CREATED_BY_PUT |= {
    ("rbac.authorization.k8s.io", plural) for plural in ("roles", "clusterroles", "rolebindings", "clusterrolebindings")
}


def check_create(state: State, target: Target, new: Json) -> None:
    """The namespace of a new object must be there, and not on its way out. Raises ApiError."""
    if not target.resource.namespaced:
        return
    namespace = state.get(NAMESPACES, "", target.namespace)
    if namespace is None:
        raise errors.not_found(GroupResource("", "namespaces"), target.namespace)
    if (namespace.get("status") or {}).get("phase") == "Terminating" or metadata_of(namespace).get("deletionTimestamp"):
        name = target.name or metadata_of(new).get("name") or metadata_of(new).get("generateName") or "Unknown"
        raise _terminating(target, name)


def _terminating(target: Target, name: str) -> ApiError:
    cause = f"unable to create new content in namespace {target.namespace} because it is being terminated"
    error = errors.forbidden(target.group_resource, name, cause)
    told = Cause("NamespaceTerminating", f"namespace {target.namespace} is being terminated", "metadata.namespace")
    details = error.status.details or Details()
    causes = (told,)
    made = Details(details.name, details.group, details.kind, causes=causes)
    return ApiError(Status(403, "Forbidden", error.status.message, made))


def check_delete(target: Target) -> None:
    """Some namespaces cannot be deleted. Raises ApiError."""
    if (target.resource.group, target.resource.plural) == NAMESPACES and target.name in IMMORTAL:
        raise errors.forbidden(target.group_resource, target.name, "this namespace may not be deleted")


def allows_create_on_update(target: Target) -> bool:
    return (target.resource.group, target.resource.plural) in _CREATED_BY_PUT and not target.subresource


def is_kept(target: Target, value: Json) -> bool:
    """A Namespace stays as long as its spec has finalizers."""
    is_namespace = (target.resource.group, target.resource.plural) == NAMESPACES
    return is_namespace and bool((value.get("spec") or {}).get("finalizers"))


def authorize_create(context: Context, target: Target) -> None:
    """A PUT or an apply that would create needs permission to create. Raises ApiError."""
    who = context.world.authorizer
    if who is None:
        return
    asked = Attributes(
        user=context.user,
        verb="create",
        resource_request=True,
        group=target.resource.group,
        version=target.resource.version,
        resource=target.resource.plural,
        subresource=target.subresource,
        namespace=target.namespace,
        name=target.name,
    )
    if not who.check(asked).is_allowed:
        raise access.forbidden(asked)
