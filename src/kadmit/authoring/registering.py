"""Objects of files as the server would register them: in a version that is served, with their defaults, and judged.

Versions of the registration kinds that are no longer served are read as v1, with the defaults that they had.
"""

from kadmit.api import registration
from kadmit.api.fields import FieldError
from kadmit.api.meta import GroupKind, GroupVersionKind
from kadmit.authoring.manifests import Json

DEFINITION = GroupKind("apiextensions.k8s.io", "CustomResourceDefinition")


def current(value: Json, kind: GroupVersionKind) -> Json:
    """An object of a registration version that is no longer served, in v1."""
    return registration.convert(value, registration.V1) if is_retired(kind) else value


def with_own_defaults(decoded: Json, kind: GroupVersionKind) -> Json:
    """An object that was read as v1, with the defaults that its own version had."""
    return registration.with_defaults(kind, decoded) if is_retired(kind) else decoded


def is_retired(kind: GroupVersionKind) -> bool:
    known = registration.KINDS.get(kind.kind)
    return kind.group == registration.GROUP and known is not None and kind.version in known.retired


def problems(kind: GroupVersionKind, made: Json) -> list[FieldError]:
    """What is wrong with an object on which everything else depends."""
    if registration.is_registration(kind):
        from kadmit import validation

        return validation.validate_create(kind, made)
    if (kind.group, kind.kind) == DEFINITION:
        from kadmit.kinds import rules

        return rules.validate_create(kind, made)
    return []
