"""What can be done at which path, told of a catalog's resources: the part of OpenAPI that is the same in both of its versions.

    /apis/apps/v1/namespaces/{namespace}/deployments/{name}    get: read, put: replace, delete, patch

Names of operations are made of what is done, the group, the version, whether it is done within a namespace, and the kind.
"""

from collections.abc import Iterator, Mapping

from msgspec import Struct

from kadmit.kinds import table
from kadmit.kinds.catalog import Gvk, Resource, Subresource
from kadmit.presentation import media

_META = "apimachinery.pkg.apis.meta.v1"
STATUS, WATCH_EVENT, PATCH, DELETE_OPTIONS = f"{_META}.Status", f"{_META}.WatchEvent", f"{_META}.Patch", f"{_META}.DeleteOptions"
TEXT = ""  # an answer that is no object

ANSWERS = {"200": "OK", "201": "Created", "202": "Accepted", "401": "Unauthorized"}
_WRITING = ("dryRun", "fieldManager", "fieldValidation")
_DELETING = (
    "dryRun",
    "gracePeriodSeconds",
    "ignoreStoreReadErrorWithClusterBreakingPotential",
    "orphanDependents",
    "propagationPolicy",
)
_SELECTING = (
    "continue",
    "fieldSelector",
    "labelSelector",
    "limit",
    "resourceVersion",
    "resourceVersionMatch",
    "sendInitialEvents",
    "shardSelector",
    "timeoutSeconds",
)
_LISTING = ("allowWatchBookmarks", *_SELECTING, "watch")
_LOG = (
    "container",
    "follow",
    "insecureSkipTLSVerifyBackend",
    "limitBytes",
    "previous",
    "sinceSeconds",
    "stream",
    "tailLines",
    "timestamps",
)
_CONNECTED = {
    "PodAttachOptions": ("container", "stderr", "stdin", "stdout", "tty"),
    "PodExecOptions": ("command", "container", "stderr", "stdin", "stdout", "tty"),
    "PodPortForwardOptions": ("ports",),
    "PodProxyOptions": ("path",),
    "ServiceProxyOptions": ("path",),
    "NodeProxyOptions": ("path",),
}
_PROXY_METHODS = ("get", "put", "post", "delete", "options", "head", "patch")
TYPES: Mapping[str, str] = {
    **dict.fromkeys(("allowWatchBookmarks", "sendInitialEvents", "watch", "orphanDependents", "force", "follow"), "boolean"),
    **dict.fromkeys(("stderr", "stdin", "stdout", "tty", "previous", "timestamps", "insecureSkipTLSVerifyBackend"), "boolean"),
    "ignoreStoreReadErrorWithClusterBreakingPotential": "boolean",
    **dict.fromkeys(
        ("limit", "timeoutSeconds", "gracePeriodSeconds", "limitBytes", "sinceSeconds", "tailLines", "ports"), "integer"
    ),
}
# Kinds whose deletion answers with the object.
_GIVEN_BACK = frozenset(
    {
        *(("", name) for name in ("persistentvolumeclaims", "pods", "podtemplates", "resourcequotas", "serviceaccounts")),
        *(("", name) for name in ("services", "persistentvolumes")),
        *(
            ("resource.k8s.io", f"{name}s")
            for name in ("deviceclasse", "resourceclaim", "resourceclaimtemplate", "resourceslice")
        ),
        *(("storage.k8s.io", name) for name in ("csidrivers", "csinodes", "storageclasses", "volumeattachments")),
        ("storage.k8s.io", "volumeattributesclasses"),
    }
)


class Operation(Struct, frozen=True):
    """One method of one path. Schemas go by their names; `answers` by status code."""

    method: str
    id: str
    tag: str
    answers: Mapping[str, str]
    action: str = ""
    gvk: Gvk = ("", "", "")
    parameters: tuple[str, ...] = ()
    body: str = ""
    body_required: bool = False
    consumes: tuple[str, ...] = ("*/*",)
    produces: tuple[str, ...] = (media.JSON, media.YAML)


Paths = dict[str, list[Operation]]


def schema_name(gvk: Gvk) -> str:
    """The name of a kind's schema, custom kinds' too: com.example.v1.Widget."""
    group, version, kind = gvk
    known = table.schema_names().get("/".join(gvk))
    return f"io.k8s.{known}" if known else ".".join([*reversed(group.split(".")), version, kind])


def root(group: str, version: str) -> tuple[str, str]:
    """The path of a version, and how the names of its operations call it."""
    path = f"/apis/{group}/{version}" if group else f"/api/{version}"
    return path, f"{_title(group)}{version.capitalize()}"


def tag(group: str, version: str = "") -> str:
    title = _title(group)
    named = title[0].lower() + title[1:]
    return f"{named}_{version}" if version else named


def _title(group: str) -> str:
    words = (group.removesuffix(".k8s.io") or "core").replace("-", ".").split(".")
    return "".join(word[:1].upper() + word[1:] for word in words)


def of(resource: Resource) -> Paths:
    """Every path of a resource."""
    return _Described(resource).paths()


class _Described:
    """A resource whose paths are being told."""

    def __init__(self, resource: Resource) -> None:
        self.resource = resource
        self.root, self.title = root(resource.group, resource.version)
        self.within = "/namespaces/{namespace}" if resource.namespaced else ""
        self.prefix = "Namespaced" if resource.namespaced else ""
        self.kind = schema_name(resource.gvk)
        self.list_kind = schema_name((resource.group, resource.version, resource.list_kind))
        self.found: Paths = {}

    def paths(self) -> Paths:
        base = f"{self.root}{self.within}/{self.resource.plural}"
        if self.resource.namespaced and "list" in self.resource.verbs:
            every = f"{self.root}/{self.resource.plural}"
            self._add(every, "get", "list", "", "ForAllNamespaces", {"200": self.list_kind}, parameters=_LISTING)
        self._collection(base)
        self._object(f"{base}/{{name}}")
        for sub in self.resource.subresources:
            self._part(f"{base}/{{name}}/{sub.name}", sub)
        if "watch" in self.resource.verbs and not self.resource.custom:
            self._watches()
        return self.found

    def _collection(self, path: str) -> None:
        verbs, custom = self.resource.verbs, self.resource.custom
        if "list" in verbs:
            self._add(path, "get", "list", self.prefix, "", {"200": self.list_kind}, parameters=_LISTING)
        if "create" in verbs:
            self._write(path, "post", "create", self.kind)
        if "deletecollection" in verbs:
            asked = _LISTING if custom else tuple(sorted({*_SELECTING, *_DELETING}))
            body = "" if custom else f"io.k8s.{DELETE_OPTIONS}"
            named = f"Collection{self.prefix}"
            answers = {"200": f"io.k8s.{STATUS}"}
            self._add(path, "delete", "delete", named, "", answers, parameters=asked, body=body, action="deletecollection")

    def _object(self, path: str) -> None:
        verbs = self.resource.verbs
        if "get" in verbs:
            self._read(path, self.kind)
        if "update" in verbs:
            self._write(path, "put", "replace", self.kind)
        if "delete" in verbs:
            given = self.kind if (self.resource.group, self.resource.plural) in _GIVEN_BACK else f"io.k8s.{STATUS}"
            self._add(
                path,
                "delete",
                "delete",
                self.prefix,
                "",
                {"200": given, "202": given},
                parameters=_DELETING,
                body=f"io.k8s.{DELETE_OPTIONS}",
            )
        if "patch" in verbs:
            self._patch(path, self.kind)

    def _part(self, path: str, sub: Subresource) -> None:
        if sub.kind in _CONNECTED:
            self._connect(path, sub)
            return
        # NB: a custom kind's scale is told as an operation of the kind itself.
        kind, gvk = schema_name(sub.gvk), self.resource.gvk if self.resource.custom else sub.gvk
        name = sub.name[:1].upper() + sub.name[1:]
        if sub.name == "log":
            produces = (media.JSON, media.YAML, "text/plain")
            self._add(
                path, "get", "read", self.prefix, name, {"200": TEXT}, parameters=_LOG, gvk=gvk, action="get", produces=produces
            )
            return
        if "get" in sub.verbs:
            self._read(path, kind, name, gvk)
        if "update" in sub.verbs:
            self._write(path, "put", "replace", kind, name, gvk)
        if "create" in sub.verbs:
            self._write(path, "post", "create", kind, name, gvk)
        if "patch" in sub.verbs:
            self._patch(path, kind, name, gvk)

    def _read(self, path: str, kind: str, suffix: str = "", gvk: Gvk | None = None) -> None:
        asked = ("resourceVersion",) if self.resource.custom else ()
        self._add(path, "get", "read", self.prefix, suffix, {"200": kind}, parameters=asked, gvk=gvk, action="get")

    def _write(self, path: str, method: str, verb: str, kind: str, suffix: str = "", gvk: Gvk | None = None) -> None:
        answers = {"200": kind, "201": kind, "202": kind} if method == "post" else {"200": kind, "201": kind}
        self._add(
            path,
            method,
            verb,
            self.prefix,
            suffix,
            answers,
            parameters=_WRITING,
            gvk=gvk,
            action=method,
            body=kind,
            body_required=True,
        )

    def _patch(self, path: str, kind: str, suffix: str = "", gvk: Gvk | None = None) -> None:
        custom = self.resource.custom
        self._add(
            path,
            "patch",
            "patch",
            self.prefix,
            suffix,
            {"200": kind} if custom else {"200": kind, "201": kind},
            parameters=(*_WRITING, "force"),
            gvk=gvk,
            body=f"io.k8s.{PATCH}",
            body_required=True,
            consumes=media.CUSTOM_PATCHES if custom else media.PATCHES,
        )

    def _connect(self, path: str, sub: Subresource) -> None:
        name = sub.name[:1].upper() + sub.name[1:]
        proxied = sub.name == "proxy"
        for method in _PROXY_METHODS if proxied else ("get", "post"):
            named = f"{method.capitalize()}{self.prefix}"
            for at, suffix in ((path, name), (f"{path}/{{path}}", f"{name}WithPath")) if proxied else ((path, name),):
                self._add(
                    at,
                    method,
                    "connect",
                    named,
                    suffix,
                    {"200": TEXT},
                    parameters=_CONNECTED[sub.kind],
                    gvk=sub.gvk,
                    produces=("*/*",),
                    pretty=False,
                )

    def _watches(self) -> None:
        plural, every = self.resource.plural, f"{self.root}/watch"
        event = {"200": f"io.k8s.{WATCH_EVENT}"}
        if self.resource.namespaced:
            self._add(
                f"{every}/{plural}", "get", "watch", "", "ListForAllNamespaces", event, parameters=_LISTING, action="watchlist"
            )
        here = f"{every}{self.within}/{plural}"
        self._add(here, "get", "watch", self.prefix, "List", event, parameters=_LISTING, action="watchlist")
        if "get" in self.resource.verbs:
            self._add(f"{here}/{{name}}", "get", "watch", self.prefix, "", event, parameters=_LISTING)

    def _add(
        self,
        path: str,
        method: str,
        verb: str,
        prefix: str,
        suffix: str,
        answers: Mapping[str, str],
        *,
        parameters: tuple[str, ...] = (),
        action: str = "",
        gvk: Gvk | None = None,
        body: str = "",
        body_required: bool = False,
        consumes: tuple[str, ...] = (),
        produces: tuple[str, ...] = (media.JSON, media.YAML),
        pretty: bool = True,
    ) -> None:
        resource = self.resource
        asked = (*parameters, "pretty") if pretty else parameters
        operation = Operation(
            method,
            f"{verb}{self.title}{prefix}{resource.kind}{suffix}",
            tag(resource.group, resource.version),
            answers,
            action or verb,
            gvk or resource.gvk,
            (*asked, *_placeholders(path)),
            body,
            body_required,
            consumes or ((media.JSON, media.YAML) if resource.custom else ("*/*",)),
            produces,
        )
        self.found.setdefault(path, []).append(operation)


def _placeholders(path: str) -> Iterator[str]:
    for part in path.split("/"):
        if part.startswith("{"):
            yield part


def discovery(path: str, name: str, tag_name: str, kind: str) -> Paths:
    """A path that tells what is served."""
    operation = Operation("get", name, tag_name, {"200": f"io.k8s.{_META}.{kind}"})
    return {f"{path}/": [operation]}
