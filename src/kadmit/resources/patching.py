"""PATCH: JSON, merge, strategic merge and apply, each against the stored object; then the same way as an update."""

from dataclasses import replace
from typing import Any, cast

from kadmit.api import errors, yaml
from kadmit.api.errors import ApiError, Cause
from kadmit.kinds.decoding import DecodeError
from kadmit.matching.attributes import Json
from kadmit.patch import jsonpatch, managedfields, mergepatch, patchbody, strategic
from kadmit.patch.errors import PatchError, Reason
from kadmit.patch.managedfields import ApplyConflict, ApplyRefused
from kadmit.patch.typed import MergeError
from kadmit.resources import bodies, checks, ownership, strategies, subresources, writing
from kadmit.resources.context import IGNORE, STRICT, Context, Target, metadata_of
from kadmit.resources.state import State
from kadmit.resources.writing import Calls

JSON_PATCH = "application/json-patch+json"
MERGE_PATCH = "application/merge-patch+json"
STRATEGIC_PATCH = "application/strategic-merge-patch+json"
APPLY_PATCH = "application/apply-patch+yaml"


def patch(context: Context, state: State, target: Target, live: Json | None, body: bytes, patch_type: str) -> Calls:
    """Patch an object; an apply may also create it. Raises ApiError."""
    if patch_type == APPLY_PATCH:
        return (yield from _apply(context, state, target, live, body))
    if live is None:
        raise errors.not_found(target.group_resource, target.name)
    view = subresources.view(target, live, state.known)
    patched = _patched(context, target, view, live, body, patch_type)
    placed = checks.in_namespace(target, patched)
    checks.has_name(target, placed)
    owned = ownership.own(context, target, live, subresources.whole(target, placed, live, view))
    return (yield from writing.finish_update(context, target, live, owned))


def _patched(context: Context, target: Target, shown: Json, live: Json, body: bytes, patch_type: str) -> Json:
    strict = context.options.field_validation != IGNORE
    try:
        if patch_type == JSON_PATCH:
            read = patchbody.json_patch(body, strict=strict)
            made = read.patch.apply(cast("Any", shown), limits=jsonpatch.PATCH_REQUEST)
            return _decoded(context, target, made, live, list(read.complaints))
        if patch_type == MERGE_PATCH:
            merge = patchbody.merge_patch(body, strict=strict)
            return _decoded(context, target, mergepatch.apply(cast("Any", shown), merge.patch), live, list(merge.complaints))
        return _strategic(context, target, shown, live, body, strict=strict)
    except PatchError as e:
        raise _refused(target, e) from None


def _strategic(context: Context, target: Target, shown: Json, live: Json, body: bytes, *, strict: bool) -> Json:
    meta = context.known.patch_meta(target.kind)
    if meta is None:
        supported = [JSON_PATCH, MERGE_PATCH, APPLY_PATCH]
        raise errors.unsupported_media_type(supported)
    read = patchbody.strategic_patch(body, strict=strict)
    made = strategic.apply(cast("Any", shown), read.patch, meta)
    return _decoded(context, target, made, live, list(read.complaints))


def _decoded(context: Context, target: Target, made: Any, live: Json, complaints: list[str]) -> Json:
    """A patched object as its kind has it; what strict decoding has against patch or object is warned of, or refused."""
    try:
        decoded = context.known.normalise(target.kind, made)
    except DecodeError as e:
        raise errors.invalid(target.group_kind, target.name, [bodies.patch_error(made, str(e))]) from None
    problems = [*complaints, *decoded.problems]
    if problems and context.options.field_validation == STRICT:
        listed = ", ".join(problems)
        raise errors.bad_request(f"strict decoding error: {listed}")
    if context.options.field_validation != IGNORE:
        for problem in problems:
            context.record.warn(problem)
    return decoded.object


_CODES = {
    Reason.UNDECODABLE: (400, "BadRequest"),
    Reason.MALFORMED: (400, "BadRequest"),
    Reason.TOO_LARGE: (413, "RequestEntityTooLarge"),
}


def _refused(target: Target, error: PatchError) -> ApiError:
    code, reason = _CODES.get(error.reason, (422, "Invalid"))
    if code == 400:
        return errors.bad_request(str(error))
    if code == 413:
        return errors.entity_too_large(str(error))
    return strategies.patch_refused(target, error, reason)


# ---------------------------------------------------------------- apply


def _apply(context: Context, state: State, target: Target, live: Json | None, body: bytes) -> Calls:
    config = _configuration(body)
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
        raise strategies.apply_failed(target, str(e)) from None
    _strict_yaml(context, body)
    decoded = context.known.normalise(target.kind, made).object
    placed = checks.in_namespace(target, decoded)
    checks.has_name(target, placed)
    if live is None:
        _no_uid(target, placed)
        options = replace(context.options, raw={**context.options.raw, "kind": "CreateOptions"})
        return (yield from writing.create_applied(replace(context, options=options), target, placed))
    assert shown is not None
    merged = subresources.whole(target, placed, live, shown)
    return (yield from writing.finish_update(context, target, live, merged))


def _configuration(body: bytes) -> Json:
    try:
        config = yaml.load(body).value
    except yaml.YamlError as e:
        raise errors.bad_request(f"error decoding YAML: {e}") from None
    if not isinstance(config, dict):
        raise errors.bad_request(f"error decoding YAML: {bodies.not_an_object(config)}")
    return config


def _strict_yaml(context: Context, body: bytes) -> None:
    problem = yaml.load(body).strict_error
    if not problem or context.options.field_validation == IGNORE:
        return
    if context.options.field_validation == STRICT:
        raise errors.bad_request(f"error strict decoding YAML: {problem}")
    context.record.warn(problem)


def _no_uid(target: Target, made: Json) -> None:
    uid = metadata_of(made).get("uid")
    if uid:
        cause = f"uid mismatch: the provided object specified uid {uid}, and no existing object was found"
        raise errors.conflict(target.group_resource, target.name, cause)
