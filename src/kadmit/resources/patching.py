"""PATCH: JSON, merge, strategic merge and apply, each against the stored object; then the same way as an update."""

from collections.abc import Callable
from typing import Any, cast

from msgspec.structs import replace

from kadmit.api import errors, fields, yaml
from kadmit.api.errors import ApiError, Cause
from kadmit.api.gojson import marshal
from kadmit.api.meta import GroupKind, GroupVersionKind
from kadmit.api.yaml import Document
from kadmit.kinds import decoding, scaling
from kadmit.kinds.decoding import Decoded, DecodeError
from kadmit.kinds.fulltext import Problem
from kadmit.kinds.merging import Unconvertible
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
            return _decoded(context, target, made, shown, list(read.complaints))
        if patch_type == MERGE_PATCH:
            merge = patchbody.merge_patch(body, strict=strict)
            merged = mergepatch.apply(cast("Any", shown), merge.patch)
            return _decoded(context, target, merged, shown, list(merge.complaints))
        return _strategic(context, target, shown, body, strict=strict)
    except PatchError as e:
        raise _refused(e) from None


def _strategic(context: Context, target: Target, shown: Json, body: bytes, *, strict: bool) -> Json:
    meta = context.known.patch_meta(target.kind)
    if meta is None:
        supported = [JSON_PATCH, MERGE_PATCH, APPLY_PATCH]
        raise errors.unsupported_media_type(supported)
    read = patchbody.strategic_patch(body, strict=strict)
    try:
        made = strategic.apply(cast("Any", shown), read.patch, meta)
        restored = context.known.restore(target.kind, cast("Any", made), shown)
    except PatchError as e:
        raise _unmerged(e) from None
    except (Unconvertible, DecodeError) as e:
        raise _unreadable(gotext.value_text(read.patch), str(e)) from None
    _tell(context, [*read.complaints, *restored.problems], lambda: gotext.value_text(read.patch))
    return bodies.forgetting(restored.object, made)


def _decoded(context: Context, target: Target, made: Any, shown: Json, complaints: list[str]) -> Json:
    """A patched object as its kind has it; what strict decoding has against patch or object is warned of, or refused."""
    try:
        decoded = _of_kind(context, target, made)
    except DecodeError as e:
        raise _unreadable(_text(context, target, made, shown), str(e)) from None
    _tell(context, [*complaints, *decoded.problems], lambda: _text(context, target, made, shown))
    return bodies.forgetting(decoded.object, made)


def _of_kind(context: Context, target: Target, made: Any) -> Decoded:
    """A patch may name another version of the kind, or none of either. Raises DecodeError."""
    if target.resource.custom or not isinstance(made, dict):
        return context.known.normalise(target.kind, made)
    group, version, kind = decoding.kind_of(made)
    if not version:
        return _versionless(made)
    named = GroupVersionKind(group, version, kind or target.kind.kind)
    if named == target.kind:
        return context.known.normalise(target.kind, made if kind else _called(named, made))
    other = bodies.other_kind(target, named)
    if other is not None:
        raise DecodeError(other)
    if context.known.kind(named) is None:
        return context.known.normalise(target.kind, _called(target.kind, made))
    decoded = context.known.normalise(named, _called(named, made))
    return replace(decoded, object=context.known.convert(decoded.object, target.kind))


def _versionless(made: Json) -> Decoded:
    """NB: without a version kube-apiserver reads into its own types, whose parts have other names: nothing is found."""
    unknown = [name for name in made if name not in ("apiVersion", "kind") and name not in _METADATA]
    return Decoded({}, tuple(Problem("unknown", name) for name in unknown))


def _called(kind: GroupVersionKind, made: Json) -> Json:
    return {**made, "apiVersion": str(kind.group_version), "kind": kind.kind}


def _tell(context: Context, problems: list[str], value: Callable[[], str]) -> None:
    """Refuse what strict decoding complains of, warn of it, or keep quiet. `value` is what is shown as patched."""
    if problems and context.options.field_validation == STRICT:
        raise _unreadable(value(), f"strict decoding error: {', '.join(problems)}")
    if context.options.field_validation != IGNORE:
        for problem in problems:
            context.record.warn(problem)


def _unreadable(value: str, cause: str) -> ApiError:
    """NB: kube-apiserver names neither kind nor object here. `value` is the patched object, or a strategic patch itself."""
    return errors.invalid(GroupKind("", ""), "", [fields.invalid(fields.path("patch"), value, cause)])


def _text(context: Context, target: Target, made: Any, shown: Json) -> str:
    """A patched object as kube-apiserver has it: what the patch has reached is sorted, the rest is as Go writes it."""
    if not isinstance(made, dict):
        return marshal(made)
    written = context.known.written(target.kind, shown)
    return marshal({k: _sorted_where_new(made[k], shown.get(k), written.get(k)) for k in sorted(made)})


def _sorted_where_new(made: Any, shown: Any, written: Any) -> Any:
    """NB: a patch copies the containers that it reaches, and leaves the others as they are."""
    if made is shown:
        return written
    if isinstance(made, dict) and isinstance(shown, dict):
        return {k: _sorted_where_new(made[k], shown.get(k), written.get(k)) for k in sorted(made)}
    if isinstance(made, list) and isinstance(shown, list):
        places = {id(item): place for place, item in enumerate(shown)}
        twins = [places.get(id(item), place) for place, item in enumerate(made)]
        known = list(zip(shown, written, strict=True))
        return [_sorted_where_new(i, *(known[t] if t < len(known) else (None, None))) for i, t in zip(made, twins, strict=True)]
    return made


_METADATA = (
    "name", "generateName", "namespace", "selfLink", "uid", "resourceVersion", "generation", "creationTimestamp",
    "deletionTimestamp", "deletionGracePeriodSeconds", "labels", "annotations", "ownerReferences", "finalizers", "managedFields",
)  # fmt: skip


def _refused(error: PatchError) -> ApiError:
    if error.reason in (Reason.UNDECODABLE, Reason.MALFORMED):
        return errors.bad_request(str(error))
    if error.reason is Reason.TOO_LARGE:
        return errors.entity_too_large(str(error))
    return strategies.patch_refused()


def _unmerged(error: PatchError) -> ApiError:
    """NB: of a strategic merge kube-apiserver tells the cause, but gives most of them no code of their own."""
    return strategies.patch_failed(str(error)) if error.reason is Reason.INAPPLICABLE else _refused(error)


# ---------------------------------------------------------------- apply


def _as_object(context: Context, target: Target, made: Json, before: Json) -> Json:
    """What an apply made, as an object of its kind. NB: numbers are converted, and refusals come late."""
    if target.kind in context.known.custom:
        return context.known.normalise(target.kind, made).object
    try:
        return context.known.restore(target.kind, made, before).object
    except (DecodeError, Unconvertible) as error:
        named = metadata_of(made)
        which = f"{named.get('namespace') or ''}/{named.get('name') or ''}; {target.kind}"
        text = f"unable to convert unstructured object to {target.kind}: {error}"
        raise strategies.patch_failed(f"failed to convert new object ({which}) to proper version: {text}") from None


def _apply(context: Context, state: State, target: Target, live: Json | None, body: bytes) -> Calls:
    document, config = _configuration(body)
    if target.subresource == "scale" and live is not None:
        return (yield from _apply_scale(context, target, live, document, config))
    made = _applied(context, target, live, config)
    _strict_yaml(context, document)
    placed = checks.in_namespace(target, _as_object(context, target, made, live or {}))
    checks.has_name(target, placed)
    if live is None:
        _no_uid(target, placed)
        options = replace(context.options, raw={**context.options.raw, "kind": "CreateOptions"})
        return (yield from writing.create_applied(replace(context, options=options), target, placed))
    return (yield from writing.finish_update(context, target, live, placed))


def _applied(context: Context, target: Target, live: Json | None, config: Json) -> Json:
    """The object that an apply makes, with its managed fields. Raises ApiError."""
    scope = ownership.scope(context.known, target)
    options = context.options
    try:
        return managedfields.apply(scope, live, config, manager=options.manager, force=options.force, now=context.given.now)
    except ApplyConflict as e:
        causes = [Cause("FieldManagerConflict", _as_told(target, c.message), c.field) for c in e.causes]
        raise errors.apply_conflict(causes, _as_told(target, str(e))) from None
    except ApplyRefused as e:
        raise errors.bad_request(str(e)) from None
    except MergeError as e:
        raise strategies.patch_failed(str(e)) from None


def _as_told(target: Target, text: str) -> str:
    """NB: all who own the replicas of an object own those of its Scale."""
    own = f" using {GroupVersionKind(*target.resource.gvk).group_version}"
    return text.replace(own, f" using {target.kind.group_version}") if target.subresource == "scale" else text


def _apply_scale(context: Context, target: Target, live: Json, document: Document, config: Json) -> Calls:
    """A Scale is applied as the one field of the object that it stands for. Raises ApiError."""
    if (config.get("apiVersion"), config.get("kind")) != (str(target.kind.group_version), target.kind.kind):
        raise errors.bad_request(f"invalid object type: {managedfields.kind_text(config)}")
    whole = GroupVersionKind(*target.resource.gvk)
    named = {"apiVersion": str(whole.group_version), "kind": whole.kind, "metadata": {"name": target.name}}
    made = _applied(context, target, live, scaling.with_scale(target.resource, named, config, context.known))
    _strict_yaml(context, document)
    shown = scaling.scale_of(target.resource, made, context.known)
    return (yield from writing.scale(context, target, live, shown, managed=metadata_of(made).get("managedFields")))


def _configuration(body: bytes) -> tuple[Document, Json]:
    try:
        document = yaml.load(body)
    except yaml.YamlError as e:
        raise errors.bad_request(f"error decoding YAML: error converting YAML to JSON: {e}") from None
    config = {} if document.value is None else document.value
    if not isinstance(config, dict):
        fault = bodies.not_an_object(config)
        raise errors.bad_request(f"error decoding YAML: error unmarshaling JSON: while decoding JSON: {fault}")
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
