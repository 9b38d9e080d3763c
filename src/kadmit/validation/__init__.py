"""API validation of what users register: policies, bindings and webhook configurations.

    errors = validate_create(kind, obj)           # obj decoded, defaulted and named
    errors = validate_update(kind, new, old)      # with what an update keeps already kept (`kinds.metadata`)
    if not errors:
        errors = authorization.authorize(...)

Errors come with Kubernetes' fields and texts, and in its order. `minor` is the Kubernetes version whose CEL is understood.
"""

from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

from kadmit.api import registration
from kadmit.api.fields import FieldError
from kadmit.api.meta import GroupVersionKind
from kadmit.cel.environment import NEWEST
from kadmit.kinds import metadata
from kadmit.validation import bindings, policies, status, webhooks

STATIC_SUFFIX = ".static.k8s.io"

_Object: TypeAlias = Mapping[str, Any]
_Rules: TypeAlias = Callable[[_Object, _Object | None, int], list[FieldError]]

_RULES: Mapping[str, _Rules] = {
    registration.MUTATING_POLICY: policies.validate_mutating,
    registration.VALIDATING_POLICY: policies.validate_validating,
    registration.MUTATING_BINDING: lambda obj, _old, _minor: bindings.validate_mutating(obj),
    registration.VALIDATING_BINDING: lambda obj, _old, _minor: bindings.validate_validating(obj),
    registration.MUTATING_WEBHOOKS: webhooks.validate,
    registration.VALIDATING_WEBHOOKS: webhooks.validate,
}


def validate_create(kind: GroupVersionKind, obj: _Object, *, minor: int = NEWEST) -> list[FieldError]:
    """Everything that is wrong with a new object."""
    return [*_own_metadata(obj), *_RULES[kind.kind](obj, None, minor)]


def validate_update(kind: GroupVersionKind, new: _Object, old: _Object, *, minor: int = NEWEST) -> list[FieldError]:
    """Everything that is wrong with a changed object. NB: what is wrong with its metadata is listed more than once."""
    return [*_common_metadata(new, old), *_own_metadata(new), *_RULES[kind.kind](new, old, minor)]


def validate_status_update(_kind: GroupVersionKind, new: _Object, old: _Object) -> list[FieldError]:
    """Everything that is wrong with a new status of a ValidatingAdmissionPolicy."""
    return [*_common_metadata(new, old), *status.validate(new)]


def warnings(obj: _Object) -> list[str]:
    """What to say about an object that was accepted."""
    if not (_metadata(obj).get("name") or "").endswith(STATIC_SUFFIX):
        return []
    reserved = "are reserved for static manifest-based configurations and cannot be managed via the API"
    return [f'metadata.name: names ending with "{STATIC_SUFFIX}" {reserved}']


def _metadata(obj: _Object) -> _Object:
    found: _Object = obj.get("metadata") or {}
    return found


def _own_metadata(obj: _Object) -> list[FieldError]:
    return metadata.validate(_metadata(obj), namespaced=False, name_rule=metadata.dns_subdomain)


def _common_metadata(new: _Object, old: _Object) -> list[FieldError]:
    return metadata.validate_update(_metadata(new), _metadata(old), namespaced=False)
