"""Bodies of requests: from bytes to an object of the kind that the URL is about, or the answer to a body that does not fit."""

from typing import Any

from kadmit.api import errors, yaml
from kadmit.api.errors import ApiError
from kadmit.api.gojson import marshal, quoted
from kadmit.api.meta import GroupVersionKind
from kadmit.kinds import decoding, fulltext, schema
from kadmit.kinds.decoding import Decoded, DecodeError
from kadmit.kinds.fulltext import SyntaxFault
from kadmit.matching.attributes import Json
from kadmit.patch import gojson
from kadmit.resources.context import IGNORE, STRICT, Context, Target, with_metadata

SCHEME = "pkg/api/legacyscheme/scheme.go:30"
_SHOWN = 30  # bytes of an unreadable body that an answer shows


def read(context: Context, target: Target, body: bytes, *, is_yaml: bool = False, value: Any = fulltext.UNREAD) -> Json:
    """The object in a body, defaults filled in. Raises ApiError; what is unusual is warned of.

    `value`: what the body reads as, if it is JSON and somebody has read it already.
    """
    repeated: tuple[str, ...] = ()
    strict_repeated = ""
    data = body
    if is_yaml:
        try:
            document = yaml.load(body)
        except yaml.YamlError as e:
            raise unrecognized(target, str(e), body) from None
        repeated, strict_repeated = document.repeated, document.strict_error
        data = marshal(document.value).encode() if document.value is not None else b"null"
    if is_yaml or value is fulltext.UNREAD:
        value = _value(target, data, body)
    kind = target.kind
    if not _is_plainly(target, value):
        kind = _kind_of(target, value, body, custom=context.known.is_custom(target.kind))
        if kind != target.kind:
            _check_kind(context, target, kind)
    if value is None:
        data, value = b"{}", {}
    try:
        decoded = context.known.decode(target.kind, data, value)
    except DecodeError as e:
        raise cannot_be_handled(kind, target, str(e)) from None
    if repeated or decoded.found:
        _object_to(context, kind, target, repeated, strict_repeated, decoded)
    made = forgetting(decoded.object, value)
    if made.get("kind") == kind.kind and made.get("apiVersion") == target.api_version:
        return made
    return {**made, "apiVersion": target.api_version, "kind": kind.kind}


def forgetting(decoded: Json, sent: Any) -> Json:
    """NB: an empty list of managed fields is no field of an object, but asks to forget all managers."""
    metadata = sent.get("metadata") if isinstance(sent, dict) else None
    asked = isinstance(metadata, dict) and metadata.get("managedFields") == []
    return with_metadata(decoded, managedFields=[]) if asked else decoded


def _object_to(
    context: Context, kind: GroupVersionKind, target: Target, repeated: tuple[str, ...], strict_repeated: str, decoded: Decoded
) -> None:
    """Unknown and repeated fields are refused, or warned of, as the client wishes. Raises ApiError."""
    if context.options.field_validation == STRICT:
        told = [*([strict_repeated] if strict_repeated else []), *decoded.problems]
        raise cannot_be_handled(kind, target, f"strict decoding error: {', '.join(told)}")
    if context.options.field_validation != IGNORE:
        for problem in (*repeated, *decoded.problems):
            context.record.warn(problem)


# Members that objects usually have. NB: what a body calls its kind may be written in any case, so other names need a closer look.
_USUAL = frozenset(("apiVersion", "kind", "metadata", "spec", "status", "data", "type"))


def _is_plainly(target: Target, value: Any) -> bool:
    """Whether a body surely says that it is what the URL is about."""
    if value.__class__ is not dict or not value.keys() <= _USUAL:
        return False
    found: bool = value.get("kind") == target.kind.kind and value.get("apiVersion") == target.api_version
    return found


def _value(target: Target, data: bytes, body: bytes) -> Any:
    try:
        return fulltext.loads(data)
    except SyntaxFault as e:
        raise unrecognized(target, f"couldn't get version/kind; json parse error: {e}", body) from None


def _kind_of(target: Target, value: Any, body: bytes, *, custom: bool) -> GroupVersionKind:
    """The kind that a body says it has; what it leaves out is the URL's. NB: a custom object must say all of it itself."""
    try:
        group, version, kind = decoding.kind_of(value)
    except DecodeError as e:
        raise unrecognized(target, str(e), body) from None
    if custom and not kind:
        raise unrecognized(target, f"Object 'Kind' is missing in '{body.decode('utf-8', 'replace')}'", body)
    if not version and not custom:
        group, version = target.kind.group, target.kind.version
    return GroupVersionKind(group, version, kind or target.kind.kind)


def _check_kind(context: Context, target: Target, kind: GroupVersionKind) -> None:
    """Raises ApiError: a kind that does not exist, another kind, or another version of the right one."""
    wanted = target.kind
    if context.known.is_custom(wanted):
        if kind.group_version != wanted.group_version:
            raise version_mismatch(target, kind)
        return  # NB: another kind of the same version is for validation to refuse
    other = other_kind(target, kind)
    if other is not None:
        raise cannot_be_handled(kind, target, other)
    raise version_mismatch(target, kind)


def other_kind(target: Target, kind: GroupVersionKind) -> str | None:
    """Why an object of this kind cannot become one of the target's; None if it is only of another version."""
    wanted = target.kind
    if not _is_registered(kind):
        shown = str(kind.group_version)
        return f'no kind {quoted(kind.kind)} is registered for version {quoted(shown)} in scheme "{SCHEME}"'
    if (kind.group, kind.kind) != (wanted.group, wanted.kind):
        return f"converting ({kind.version}.{kind.kind}) to ({_package(wanted.group)}.{wanted.kind}): unknown conversion"
    return None


# Versions that kube-apiserver still understands but no longer serves.
_OLD = frozenset(
    {
        ("apps", "v1beta1"),
        ("apps", "v1beta2"),
        ("extensions", "v1beta1"),
        ("batch", "v1beta1"),
        ("policy", "v1beta1"),
        ("autoscaling", "v2beta1"),
        ("autoscaling", "v2beta2"),
        ("networking.k8s.io", "v1beta1"),
        ("rbac.authorization.k8s.io", "v1beta1"),
        ("rbac.authorization.k8s.io", "v1alpha1"),
        ("admissionregistration.k8s.io", "v1beta1"),
        ("admissionregistration.k8s.io", "v1alpha1"),
    }
)
# What Kubernetes calls its own version of a group: the first word of the group, but for these.
_PACKAGES = {"": "core", "events.k8s.io": "core", "flowcontrol.apiserver.k8s.io": "flowcontrol"}


def _is_registered(kind: GroupVersionKind) -> bool:
    base = kind.kind.removesuffix("List")
    known = schema.for_kind(kind) or schema.for_kind((kind.group, kind.version, base))
    return known is not None or (kind.group, kind.version) in _OLD


def _package(group: str) -> str:
    return _PACKAGES.get(group) or group.split(".")[0]


def version_mismatch(target: Target, kind: GroupVersionKind) -> ApiError:
    text = "does not match the expected API version"
    return errors.bad_request(f"the API version in the data ({kind.group_version}) {text} ({target.kind.group_version})")


def cannot_be_handled(kind: GroupVersionKind, target: Target, cause: str) -> ApiError:
    text = f"{kind.kind} in version {quoted(kind.version)} cannot be handled as a {target.kind.kind}: {cause}"
    return errors.bad_request(text)


def unrecognized(target: Target, cause: str, body: bytes) -> ApiError:
    return errors.bad_request(
        f"the object provided is unrecognized (must be of type {target.kind.kind}): {cause} ({_summary(body)})"
    )


def _summary(body: bytes) -> str:
    """The beginning of a body: as text if it looks like JSON, else in hex."""
    if not body:
        return "<empty>"
    if body.lstrip()[:1] == b"{":
        text = body.decode("utf-8", "replace")
        return f"{text[:_SHOWN]} ..." if len(text) > _SHOWN else text
    shown = body[:_SHOWN].hex()
    return f"{shown} ..." if len(body) > _SHOWN else shown


def not_an_object(value: Any) -> str:
    return str(gojson.mismatch(value, "map[string]interface {}"))
