"""Where kinds differ in how they are written: preparation, validation, and which part a subresource may change."""

from collections.abc import Mapping
from typing import Any

from kadmit.access import escalation
from kadmit.access.rbac import GROUP as RBAC_GROUP
from kadmit.access.rbac import Rbac
from kadmit.api import errors, registration
from kadmit.api.errors import ApiError, Details, Status
from kadmit.api.fields import FieldError
from kadmit.api.meta import GroupKind
from kadmit.kinds import allocation, custom, emptiness, metadata, rules, strategy
from kadmit.kinds.catalog import Resource
from kadmit.kinds.rules import warnings as rule_warnings
from kadmit.kinds.rules.context import Context as RuleContext
from kadmit.matching.attributes import Json
from kadmit.resources import signing
from kadmit.resources.context import Context, Target, metadata_of, with_metadata
from kadmit.validation import authorization, validate_status_update
from kadmit.validation import validate_create as validate_registration
from kadmit.validation import validate_update as validate_registration_update
from kadmit.validation import warnings as registration_warnings
from kadmit.validation.clients import validate_client


def resource_version_set() -> ApiError:
    """NB: an error of the store, which kube-apiserver answers without a reason."""
    return ApiError(Status(500, "", "resourceVersion should not be set on objects to be created"))


def resource_as_kind(target: Target) -> GroupKind:
    """NB: some refusals name the resource where others name the kind."""
    return GroupKind(target.resource.group, target.resource.plural)


# Groups, and single resources of others, that must be updated with the version that the client has seen.
_CONDITIONAL_GROUPS = frozenset(
    {
        "admissionregistration.k8s.io",
        "apiextensions.k8s.io",
        "apiregistration.k8s.io",
        "coordination.k8s.io",
        "internal.apiserver.k8s.io",
        "node.k8s.io",
        "policy",
        "storagemigration.k8s.io",
    }
)
_CONDITIONAL = frozenset(
    {
        ("certificates.k8s.io", "clustertrustbundles"),
        ("certificates.k8s.io", "podcertificaterequests"),
        ("resource.k8s.io", "resourcepoolstatusrequests"),
        *(("storage.k8s.io", name) for name in ("csidrivers", "csinodes", "csistoragecapacities", "volumeattachments")),
    }
)


def allows_unconditional_update(target: Target) -> bool:
    resource = target.resource
    named = (resource.group, resource.plural) in _CONDITIONAL
    return not (resource.custom or named or resource.group in _CONDITIONAL_GROUPS)


def _is_registration(target: Target) -> bool:
    return registration.is_registration(target.kind)


# ---------------------------------------------------------------- preparation


def prepare_for_create(context: Context, target: Target, new: Json) -> Json:
    made = signing.asked(context, new) if signing.is_request(target) else new
    return strategy.prepare_for_create(target.kind, _named(context, target, made), custom=_custom(target))


def _named(context: Context, target: Target, new: Json) -> Json:
    """NB: a LimitRange is the one kind that needs no name."""
    if target.resource.gvr != ("", "v1", "limitranges") or metadata_of(new).get("name"):
        return new
    return with_metadata(new, name=context.given.uid)


def prepare_for_update(context: Context, target: Target, new: Json, old: Json) -> Json:
    if signing.is_request(target):
        new = signing.changed(context, target, new, old)
    elif target.subresource == "status" and target.resource.gvr == ("", "v1", "persistentvolumes"):
        new = _with_transition(context.given.now, new, old)
    return strategy.prepare_for_update(target.kind, new, old, target.subresource, custom=_custom(target))


def _with_transition(now: str, new: Json, old: Json) -> Json:
    """A volume's status tells since when it is in its phase, unless whoever wrote it said so."""
    status, before = new.get("status") or {}, old.get("status") or {}
    given, since = status.get("lastPhaseTransitionTime"), before.get("lastPhaseTransitionTime")
    is_same = status.get("phase") == before.get("phase")
    if given and (is_same or given != since):
        return new
    stamp = since if is_same else now
    return {**new, "status": {**status, "lastPhaseTransitionTime": stamp}} if stamp else new


def _custom(target: Target) -> Resource | None:
    return target.resource if target.resource.custom else None


# Kinds whose defaults look at what preparation wrote or took away; kube-apiserver applies them again when it reads what it wrote.
_DEFAULTED_AGAIN = frozenset({("batch", "Job"), ("", "PersistentVolumeClaim"), ("", "PersistentVolume"), ("", "Secret")})


def stored(context: Context, target: Target, prepared: Json) -> Json:
    """An object as it is read after it was written."""
    prepared = emptiness.stored(target.kind, prepared)
    if (target.kind.group, target.kind.kind) not in _DEFAULTED_AGAIN:
        return prepared
    if target.kind.kind == "Secret":
        data = prepared.get("data") or {}
        empty = {key: "" for key, value in data.items() if value is None}
        return {**prepared, "data": {**data, **empty}} if empty else prepared
    return context.known.normalise(target.kind, prepared).object


def allocated(context: Context, target: Target, new: Json, old: Json | None) -> Json:
    """A Service with its addresses and ports. Raises ApiError."""
    if target.resource.gvr != ("", "v1", "services") or context.pool is None or target.subresource:
        return new
    made, found = allocation.allocate(new, old, context.pool)
    _refuse(target, new, found)
    return made


# ---------------------------------------------------------------- validation


def validate_create(context: Context, target: Target, new: Json) -> None:
    """Raises ApiError with everything that is wrong with a new object."""
    if _is_registration(target):
        found = validate_registration(target.kind, new) or _unauthorized(context, new, None)
        _refuse(target, new, found)
        _warn(context, registration_warnings(new))
        return
    definition = context.known.custom.get(target.kind)
    if definition is not None:
        _refuse(target, new, custom.validate_create(definition, new))
        _warn(context, metadata.finalizer_warnings(metadata_of(new)))
        return
    _refuse_escalation(context, target, new, None)
    _refuse(target, new, rules.validate_create(target.kind, new, _rules_of(context, target)))
    _warn(context, rule_warnings.of(target.kind, new))


def validate_update(context: Context, target: Target, new: Json, old: Json) -> None:
    """Raises ApiError with everything that is wrong with a changed object."""
    if _is_registration(target):
        if target.subresource == "status":
            _refuse(target, new, validate_status_update(target.kind, new, old))
            return
        found = validate_registration_update(target.kind, new, old) or _unauthorized(context, new, old)
        _refuse(target, new, found)
        _warn(context, registration_warnings(new))
        return
    definition = context.known.custom.get(target.kind)
    if definition is not None:
        _refuse(target, new, custom.validate_update(definition, new, old, target.subresource))
        _warn(context, metadata.finalizer_warnings(metadata_of(new), metadata_of(old)))
        return
    _refuse_escalation(context, target, new, old)
    _refuse(target, new, rules.validate_update(target.kind, new, old, _rules_of(context, target)))
    _warn(context, rule_warnings.of(target.kind, new, old, target.subresource))


def _rules_of(context: Context, target: Target) -> RuleContext:
    return RuleContext(context.allow_privileged, target.subresource, validate_client)


def _refuse_escalation(context: Context, target: Target, new: Json, old: Json | None) -> None:
    """Nobody may give what they do not have. Raises ApiError."""
    who = context.world.authorizer
    if target.resource.group != RBAC_GROUP or not isinstance(who, Rbac):
        return
    name = target.name or metadata_of(new).get("name") or ""
    refused = escalation.refusal(who, context.user, new, old=old, name=name, namespace=target.namespace)
    if refused is not None:
        raise refused


def _unauthorized(context: Context, new: Mapping[str, Any], old: Mapping[str, Any] | None) -> list[FieldError]:
    """May the user refer to these params at all?"""
    who = context.world.authorizer
    if who is None:
        return []
    return authorization.authorize(context.user, new, old, authorizer=who, registry=context.world)


def _refuse(target: Target, new: Json, found: list[FieldError]) -> None:
    if found:
        raise errors.invalid(_named_kind(target, new), metadata_of(new).get("name") or "", found)


# NB: both groups share one kind inside, which is of the core group.
_EVENT = GroupKind("events.k8s.io", "Event")


def inner_kind(target: Target) -> GroupKind:
    """The kind as kube-apiserver has it inside."""
    return GroupKind("", "Event") if target.group_kind == _EVENT else target.group_kind


def _named_kind(target: Target, new: Json) -> GroupKind:
    """NB: a custom object is what it says it is, even where that is what is wrong with it."""
    if not target.resource.custom or target.subresource:
        return inner_kind(target)
    return GroupKind(str(new.get("apiVersion") or "").rpartition("/")[0], str(new.get("kind") or ""))


def _warn(context: Context, texts: list[str]) -> None:
    for text in texts:
        context.record.warn(text)


# ---------------------------------------------------------------- refusals


def patch_refused() -> ApiError:
    """A patch that does not fit the object. NB: kube-apiserver does not say why."""
    return ApiError(Status(422, "Invalid", "the server rejected our request due to an error in our request", Details()))


def patch_failed(cause: str) -> ApiError:
    """An apply or a strategic merge that does not fit its kind. NB: kube-apiserver gives it no reason and no code of its own."""
    return ApiError(Status(500, "", cause))
