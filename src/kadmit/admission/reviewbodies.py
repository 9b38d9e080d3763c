"""The body of a webhook's reply: an AdmissionReview in JSON or YAML, or some other object that Kubernetes' client knows.

The client knows little: the AdmissionReviews, the options of requests, and what stands outside of all versions, such as Status.
What it knows is decoded before anybody asks whether it is what was wanted, so a wrong field is told of first.
"""

from collections.abc import Mapping
from typing import Any, TypeAlias

from kadmit.api import yaml
from kadmit.api.gojson import quoted
from kadmit.kinds import decoding, fulltext, protobuf, schema
from kadmit.kinds.catalog import Gvk
from kadmit.kinds.decoding import DecodeError
from kadmit.kinds.fulltext import SyntaxFault

Json: TypeAlias = Any

SCHEME = "k8s.io/apiserver/pkg/util/webhook/client.go:71"
_GROUP = "admission.k8s.io"
_VERSIONS = ("v1", "v1beta1")
_REVIEW = "AdmissionReview"
_UNVERSIONED = frozenset(("Status", "APIVersions", "APIGroupList", "APIGroup", "APIResourceList"))
_OF_EVERY_GROUP = frozenset(
    ("WatchEvent", "ListOptions", "GetOptions", "DeleteOptions", "CreateOptions", "UpdateOptions", "PatchOptions")
)


def review(body: bytes, version: str) -> dict[str, Json]:
    """The AdmissionReview of this version in a body; what it leaves out of its kind is taken for granted. Raises DecodeError."""
    value, raw = _parsed(body)
    wanted = (_GROUP, version, _REVIEW)
    named = _with_defaults(decoding.kind_of(value), wanted)
    decoded = _decoded(named, {} if value is None else value, raw)
    if named != wanted:
        shown = _version_shown(named)
        raise DecodeError(f"converting ({shown}.{named[2]}) to ({version}.{_REVIEW}): unknown conversion")
    given = value or {}
    return {**decoded, "apiVersion": given.get("apiVersion") or "", "kind": given.get("kind") or ""}


def failure(body: bytes) -> Mapping[str, Json] | None:
    """A failure that comes as a Status of the API, if this is one."""
    try:
        value, raw = _parsed(body)
        named = _with_defaults(decoding.kind_of(value), ("", "v1", ""))
        decoded = _decoded(named, value, raw) if named[2] == "Status" else {}
    except DecodeError:
        return None
    return decoded if decoded.get("status") == "Failure" else None


def _parsed(body: bytes) -> tuple[Json, bytes | None]:
    """The value in a body, and its JSON where it is JSON: only there a member that comes twice can still be seen."""
    if body.startswith(protobuf.PREFIX):
        return _from_protobuf(body), None
    if body.lstrip()[:1] != b"{":
        return _from_yaml(body), None
    try:
        return fulltext.loads(body), body
    except SyntaxFault as e:
        raise DecodeError(f"couldn't get version/kind; json parse error: {e}") from None


def _from_protobuf(body: bytes) -> Json:
    try:
        return protobuf.read(body)
    except protobuf.Unreadable as e:
        raise DecodeError(str(e)) from None


def _from_yaml(body: bytes) -> Json:
    try:
        return yaml.load(body).value
    except yaml.YamlError as e:
        raise DecodeError(str(e)) from None


def _with_defaults(named: Gvk, default: Gvk) -> Gvk:
    group, version, kind = named
    if not version and group in ("", default[0]):
        group, version = default[:2]
    return (group, version, kind or default[2])


def _decoded(named: Gvk, value: Json, raw: bytes | None) -> dict[str, Json]:
    node = _schema(named)
    if node is None:
        return {}
    return (decoding.normalise(node, value) if raw is None else decoding.decode(node, raw, value)).object


def _schema(named: Gvk) -> schema.Schema | None:
    """Of a kind that the client knows; none for one without fields that anybody could get wrong. Raises DecodeError."""
    group, version, kind = named
    if group == _GROUP and version in _VERSIONS:
        if kind == _REVIEW:
            return schema.for_kind(named)
        if kind in _OF_EVERY_GROUP:
            return schema.for_kind(("", "v1", kind))
    if kind in _UNVERSIONED:
        return schema.for_kind(("", "v1", kind))
    if version == "__internal":
        where = f"the internal version of group {quoted(group)}"
    else:
        where = f"version {quoted(f'{group}/{version}' if group else version)}"
    raise DecodeError(f"no kind {quoted(kind)} is registered for {where} in scheme {quoted(SCHEME)}")


def _version_shown(named: Gvk) -> str:
    """By the version that Go's type belongs to: all but reviews are v1 types, wherever they are registered."""
    return named[1] if named[2] == _REVIEW else "v1"
