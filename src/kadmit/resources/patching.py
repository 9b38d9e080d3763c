"""PATCH: JSON, merge, strategic merge and apply, each against the stored object; then the same way as an update."""

from dataclasses import replace
from typing import Any, cast

from kadmit.api import errors, fields, yaml
from kadmit.api.errors import ApiError, Cause
from kadmit.api.gojson import marshal
from kadmit.api.meta import GroupKind
from kadmit.api.yaml import Document
from kadmit.kinds.decoding import DecodeError
from kadmit.matching.attributes import Json
from kadmit.patch import gotext, jsonpatch, managedfields, mergepatch, patchbody, strategic
from kadmit.patch.errors import PatchError, Reason
from kadmit.patch.managedfields import ApplyConflict, ApplyRefused
from kadmit.patch.typed import MergeError
from kadmit.resources import bodies, checks, ownership, strategies, subresources, writing
from kadmit.resources.context import IGNORE, STRICT, Context, Target, metadata_of
from kadmit.resources.state import State
from kadmit.resources.writing import Calls

JSON_PATCH = "application/json-patch+json"
MERGE_PATCH = "application/merge-patch+json"
APPLY_PATCH = "application/apply-patch+yaml"


def patch(context: Context, state: State, target: Target, live: Json | None, body: bytes, patch_type: str) -> Calls:
    """Patch an object; an apply may also create it. Raises ApiError."""
    if patch_type == APPLY_PATCH:
        return (yield from _apply(context, state, target, live, body))
    if live is None:
        raise errors.not_found(target.group_resource, target.name)
    view = subresources.view(target, live, state.known)
    patched = _patched(context, target, view, body, patch_type)
    placed = checks.in_namespace(target, patched)
    checks.has_name(target, placed)
    if target.subresource == "scale":
        return (yield from writing.scale(context, target, live, placed))
    owned = ownership.own(context, target, live, placed)
    return (yield from writing.finish_update(context, target, live, owned))


def _patched(context: Context, target: Target, shown: Json, body: bytes, patch_type: str) -> Json:
    strict = context.options.field_validation != IGNORE
    try:
        if patch_type == JSON_PATCH:
            read = patchbody.json_patch(body, strict=strict)
            made = read.patch.apply(cast("Any", shown), limits=jsonpatch.PATCH_REQUEST)
            return _decoded(context, target, made, list(read.complaints))
        if patch_type == MERGE_PATCH:
            merge = patchbody.merge_patch(body, strict=strict)
            return _decoded(context, target, mergepatch.apply(cast("Any", shown), merge.patch), list(merge.complaints))
        return _strategic(context, target, shown, body, strict=strict)
    except PatchError as e:
        raise _refused(e) from None


def _strategic(context: Context, target: Target, shown: Json, body: bytes, *, strict: bool) -> Json:
    meta = context.known.patch_meta(target.kind)
    if meta is None:
        supported = [JSON_PATCH, MERGE_PATCH, APPLY_PATCH]
        raise errors.unsupported_media_type(supported)
    read = patchbody.strategic_patch(body, strict=strict)
    made = strategic.apply(cast("Any", shown), read.patch, meta)
    return _decoded(context, target, made, list(read.complaints), by=read.patch)


def _decoded(context: Context, target: Target, made: Any, complaints: list[str], *, by: Any = None) -> Json:
    """A patched object as its kind has it; what strict decoding has against patch or object is warned of, or refused.

    `by` is a strategic merge patch, which kube-apiserver shows where it shows the patched object otherwise.
    """
    other = None if target.resource.custom else bodies.other_kind(target, made)
    if other is not None:
        raise _unreadable(made, by, other)
    try:
        decoded = context.known.normalise(target.kind, made)
    except DecodeError as e:
        cause = _restoring(by) or str(e) if by is not None else str(e)
        raise _unreadable(made, by, cause) from None
    problems = [*complaints, *decoded.problems]
    if problems and context.options.field_validation == STRICT:
        raise _unreadable(made, by, f"strict decoding error: {', '.join(problems)}")
    if context.options.field_validation != IGNORE:
        for problem in problems:
            context.record.warn(problem)
    return decoded.object


def _unreadable(made: Any, by: Any, cause: str) -> ApiError:
    """NB: kube-apiserver names neither kind nor object here."""
    value = gotext.value_text(by) if by is not None else marshal(_in_order(made))
    return errors.invalid(GroupKind("", ""), "", [fields.invalid(fields.path("patch"), value, cause)])


def _in_order(made: Any) -> Any:
    """A patched object as kube-apiserver has it then: sorted at the top, metadata in the order of its Go type."""
    if not isinstance(made, dict):
        return made
    found = made.get("metadata")
    if isinstance(found, dict):
        made = {**made, "metadata": {k: found[k] for k in sorted(found, key=_metadata_order)}}
    return {k: made[k] for k in sorted(made)}


def _metadata_order(field: str) -> int:
    return _METADATA.index(field) if field in _METADATA else len(_METADATA)


_METADATA = (
    "name", "generateName", "namespace", "selfLink", "uid", "resourceVersion", "generation", "creationTimestamp",
    "deletionTimestamp", "deletionGracePeriodSeconds", "labels", "annotations", "ownerReferences", "finalizers", "managedFields",
)  # fmt: skip
_GO_TYPES = {str: "string", bool: "bool", int: "int64", float: "float64", list: "slice"}


def _restoring(by: Any) -> str:
    """Where a strategic merge puts plain values in place of whole parts."""
    for value in by.values() if isinstance(by, dict) else ():
        if not isinstance(value, dict | list) and value is not None:
            return f"cannot restore struct from: {_GO_TYPES[type(value)]}"
    return ""


def _refused(error: PatchError) -> ApiError:
    if error.reason in (Reason.UNDECODABLE, Reason.MALFORMED):
        return errors.bad_request(str(error))
    if error.reason is Reason.TOO_LARGE:
        return errors.entity_too_large(str(error))
    return strategies.patch_refused()


# ---------------------------------------------------------------- apply


def _apply(context: Context, state: State, target: Target, live: Json | None, body: bytes) -> Calls:
    document, config = _configuration(body)
    scope = ownership.scope(context.known, target)
    shown = None if live is None else subresources.view(target, live, state.known)
    try:
        made = managedfields.apply(
            scope,
            shown,
            config,
            manager=context.options.manager,
            force=context.options.force,
            now=context.given.now,
        )
    except ApplyConflict as e:
        causes = [Cause("FieldManagerConflict", c.message, c.field) for c in e.causes]
        raise errors.apply_conflict(causes, str(e)) from None
    except ApplyRefused as e:
        raise errors.bad_request(str(e)) from None
    except MergeError as e:
        raise strategies.apply_failed(str(e)) from None
    _strict_yaml(context, document)
    decoded = context.known.normalise(target.kind, made).object
    placed = checks.in_namespace(target, decoded)
    checks.has_name(target, placed)
    if live is None:
        _no_uid(target, placed)
        options = replace(context.options, raw={**context.options.raw, "kind": "CreateOptions"})
        return (yield from writing.create_applied(replace(context, options=options), target, placed))
    if target.subresource == "scale":
        return (yield from writing.scale(context, target, live, placed))
    return (yield from writing.finish_update(context, target, live, placed))


def _configuration(body: bytes) -> tuple[Document, Json]:
    try:
        document = yaml.load(body)
    except yaml.YamlError as e:
        raise errors.bad_request(f"error decoding YAML: error converting YAML to JSON: {e}") from None
    config = document.value
    if not isinstance(config, dict):
        raise errors.bad_request(f"error decoding YAML: {bodies.not_an_object(config)}")
    return document, config


def _strict_yaml(context: Context, document: Document) -> None:
    if not document.repeated or context.options.field_validation == IGNORE:
        return
    if context.options.field_validation == STRICT:
        raise errors.bad_request(f"error strict decoding YAML: {document.strict_error}")
    for problem in document.repeated:
        context.record.warn(problem)


def _no_uid(target: Target, made: Json) -> None:
    uid = metadata_of(made).get("uid")
    if uid:
        cause = f"uid mismatch: the provided object specified uid {uid}, and no existing object was found"
        raise errors.conflict(target.group_resource, target.name, cause)
