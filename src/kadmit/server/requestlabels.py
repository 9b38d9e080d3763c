"""What a request is called in metrics: a verb in capitals that tells LIST from GET and APPLY from PATCH, a scope, and so on.

Whoever sends requests chooses paths and methods, so nothing that a client makes up may become a label: unknown methods are
`other`, and only resources that are served, and paths that are known, may be asked about here.
"""

from typing import NamedTuple

from kadmit.access.attributes import Query, RequestInfo

APPLY_TYPES = frozenset(("application/apply-patch+yaml",))

_METHODS = frozenset(
    (
        "APPLY",
        "CONNECT",
        "CREATE",
        "DELETE",
        "DELETECOLLECTION",
        "GET",
        "LIST",
        "PATCH",
        "POST",
        "PROXY",
        "PUT",
        "UPDATE",
        "WATCH",
    )
)
_CONNECTS = frozenset(("log", "exec", "portforward", "attach", "proxy"))


class RequestLabels(NamedTuple):
    """In the order of their names, as series are kept."""

    component: str = "apiserver"
    dry_run: str = ""
    group: str = ""
    resource: str = ""
    scope: str = ""
    subresource: str = ""
    verb: str = ""
    version: str = ""

    @property
    def without_dry_run(self) -> dict[str, str]:
        return {
            "component": self.component, "group": self.group, "resource": self.resource, "scope": self.scope,
            "subresource": self.subresource, "verb": self.verb, "version": self.version,
        }  # fmt: skip


def of_resource(info: RequestInfo, method: str, query: Query, content_type: str = "") -> RequestLabels:
    """NB: only for a resource that is served, and a part that it has."""
    scope = scope_of(info)
    return RequestLabels(
        dry_run=_dry_run(query),
        group=info.group,
        resource=info.resource,
        scope=scope,
        subresource=info.subresource,
        verb=_verb(info, method, scope, query, content_type),
        version=info.version,
    )


def of_path(path: str, method: str) -> RequestLabels:
    """For one of the server's own paths, such as /readyz or /version. NB: never for a path that only the client knows."""
    upper = method.upper()
    verb = "GET" if upper == "HEAD" else upper if upper in _METHODS else "other"
    return RequestLabels(verb=verb, subresource=path, component="")


def scope_of(info: RequestInfo) -> str:
    if info.name or info.verb == "create":
        return "resource"
    if info.namespace:
        return "namespace"
    return "cluster" if info.is_resource_request else ""


def _verb(info: RequestInfo, method: str, scope: str, query: Query, content_type: str) -> str:
    upper = method.upper()
    if info.subresource in _CONNECTS:
        return "CONNECT"
    if upper in ("GET", "HEAD"):
        watching = info.verb == "watch" or (upper == "GET" and _watches(query))
        return "WATCH" if watching else "GET" if scope == "resource" else "LIST"
    if upper == "PATCH" and content_type in APPLY_TYPES:
        return "APPLY"
    return upper if upper in _METHODS else "other"


def _watches(query: Query) -> bool:
    values = query.get("watch") or ("false",)
    return values[0].lower() not in ("0", "false")


def _dry_run(query: Query) -> str:
    asked = query.get("dryRun")
    if not asked:
        return ""
    return "All" if all(value == "All" for value in asked) else "invalid"
