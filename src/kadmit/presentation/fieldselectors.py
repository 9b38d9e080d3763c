"""By which fields objects of a kind can be selected, and how such a field reads as text.

Every kind knows metadata.name; most know metadata.namespace; a few more than that. A custom kind knows what its definition
lists as selectableFields. NB: how an unknown field is refused depends on the kind, because each was written by somebody else.
"""

from collections.abc import Callable, Iterable, Mapping
from typing import Any, TypeAlias

from msgspec import Struct, field

from kadmit.cel import gotext
from kadmit.kinds.catalog import Gvk, Resource

Json: TypeAlias = Any
Reader: TypeAlias = Callable[[Json], str]
Refusal: TypeAlias = Callable[[str], str]

NAME, NAMESPACE = "metadata.name", "metadata.namespace"


class SelectableFields(Struct, frozen=True):
    """The fields of one kind. `refusal` makes the message for any other."""

    readers: Mapping[str, Reader]
    refusal: Refusal

    def problem(self, name: str) -> str | None:
        return None if name in self.readers else self.refusal(name)

    def read(self, name: str, value: Json) -> str:
        return self.readers[name](value)


def of(resource: Resource, *, custom_fields: Iterable[str] = ()) -> SelectableFields:
    """What objects of this resource can be selected by. `custom_fields`: the JSON paths of selectableFields (`.spec.color`)."""
    if resource.custom:
        return _of_custom(resource, custom_fields)
    return _BUILTIN.get(resource.gvk, _ORDINARY)


def _of_custom(resource: Resource, paths: Iterable[str]) -> SelectableFields:
    known = (NAME, NAMESPACE) if resource.namespaced else (NAME,)
    readers = {name: _at(name) for name in known}
    readers |= {path.removeprefix("."): _at(path.removeprefix(".")) for path in paths}
    return SelectableFields(readers, _unsupported)


# ---------------------------------------------------------------- reading


def _at(path: str, otherwise: str = "") -> Reader:
    names = path.split(".")

    def read(value: Json) -> str:
        for name in names:
            value = value.get(name) if isinstance(value, dict) else None
        return otherwise if value is None else _text(value)

    return read


def _text(value: Json) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    return gotext.format_double(value) if isinstance(value, float) else str(value)


def _pod_ip(pod: Json) -> str:
    addresses = (pod.get("status") or {}).get("podIPs")
    first = (addresses[0].get("ip") or "") if addresses else _at("status.podIP")(pod)
    return str(first)


def _nothing(_: Json) -> str:
    """NB: a selector of pods may name podIPs, which no pod ever tells."""
    return ""


def _event_source(event: Json) -> str:
    return _at("source.component")(event) or _at("reportingComponent")(event)


# ---------------------------------------------------------------- the built-in kinds


def _unknown(name: str) -> str:
    return f'{gotext.quote(name)} is not a known field selector: only "{NAME}", "{NAMESPACE}"'


def _unsupported(name: str) -> str:
    return f"field label not supported: {name}"


def _unsupported_for_job(name: str) -> str:
    return f"field label {gotext.quote(name)} not supported for Job"


def _unsupported_for(gvk: Gvk) -> Refusal:
    group, version, kind = gvk
    return lambda name: f"field label not supported for {group}/{version}, Kind={kind}: {name}"


class _Kind(Struct, frozen=True):
    """Fields read where their name says, and others."""

    plain: tuple[str, ...] = ()
    special: Mapping[str, Reader] = field(default_factory=dict)
    namespaced: bool = True

    def fields(self, refusal: Refusal = _unsupported) -> SelectableFields:
        names = (NAME, NAMESPACE, *self.plain) if self.namespaced else (NAME, *self.plain)
        return SelectableFields({**{name: _at(name) for name in names}, **self.special}, refusal)


_ORDINARY = _Kind().fields(_unknown)
_OBJECT_FIELDS = ("kind", "namespace", "name", "uid", "apiVersion", "resourceVersion", "fieldPath")
_SIGNED = _Kind(("spec.signerName",), namespaced=False).fields()
_POD_CERTIFICATE = _Kind(("spec.signerName", "spec.podName", "spec.nodeName"), namespaced=False).fields()
_SLICE = _Kind(("spec.nodeName", "spec.driver"), namespaced=False)
_POD = _Kind(
    (
        "spec.nodeName",
        "spec.restartPolicy",
        "spec.schedulerName",
        "spec.serviceAccountName",
        "status.phase",
        "status.nominatedNodeName",
    ),
    {
        "spec.hostNetwork": _at("spec.hostNetwork", "false"),
        "spec.host": _at("spec.nodeName"),
        "status.podIP": _pod_ip,
        "status.podIPs": _nothing,
    },
)
_EVENT = _Kind(
    ("reason", "reportingComponent", "type", *(f"involvedObject.{name}" for name in _OBJECT_FIELDS)),
    {"source": _event_source},
)
_NEW_EVENT = _Kind(("reason", "reportingController", "type", *(f"regarding.{name}" for name in _OBJECT_FIELDS)))

_BUILTIN: Mapping[Gvk, SelectableFields] = {
    ("", "v1", "Pod"): _POD.fields(),
    ("", "v1", "Node"): _Kind((), {"spec.unschedulable": _at("spec.unschedulable", "false")}, namespaced=False).fields(),
    ("", "v1", "ReplicationController"): _Kind((), {"status.replicas": _at("status.replicas", "0")}).fields(),
    ("", "v1", "Event"): _EVENT.fields(),
    ("events.k8s.io", "v1", "Event"): _NEW_EVENT.fields(),
    ("", "v1", "Namespace"): _Kind(("status.phase",), namespaced=False).fields(),
    ("", "v1", "Secret"): _Kind(("type",)).fields(),
    ("", "v1", "Service"): _Kind(("spec.clusterIP", "spec.type")).fields(),
    ("batch", "v1", "Job"): _Kind((), {"status.successful": _at("status.succeeded", "0")}).fields(_unsupported_for_job),
    ("certificates.k8s.io", "v1", "CertificateSigningRequest"): _SIGNED,
    **{("certificates.k8s.io", version, "ClusterTrustBundle"): _SIGNED for version in ("v1beta1", "v1alpha1")},
    **{("certificates.k8s.io", version, "PodCertificateRequest"): _POD_CERTIFICATE for version in ("v1beta1", "v1alpha1")},
    **{
        gvk: _SLICE.fields(_unsupported_for(gvk))
        for version in ("v1", "v1beta2", "v1beta1")
        for gvk in (("resource.k8s.io", version, "ResourceSlice"),)
    },
}
