"""Empty lists that are always written: none, once they are stored."""

from typing import Any

import pytest

from kadmit.api.meta import GroupVersionKind
from kadmit.kinds import emptiness

ROLE = GroupVersionKind("rbac.authorization.k8s.io", "v1", "Role")
RANGE = GroupVersionKind("", "v1", "LimitRange")
DEFINITION = GroupVersionKind("apiextensions.k8s.io", "v1", "CustomResourceDefinition")


@pytest.mark.parametrize(
    ("kind", "value", "expected"),
    [
        (ROLE, {"rules": []}, {"rules": None}),
        (ROLE, {"rules": [{"verbs": ["get"]}]}, {"rules": [{"verbs": ["get"]}]}),
        (RANGE, {"spec": {"limits": []}}, {"spec": {"limits": None}}),
        (RANGE, {}, {}),
        (DEFINITION, {"status": {"storedVersions": []}}, {"status": {"storedVersions": []}}),
    ],
)
def test_what_protobuf_cannot_tell_from_nothing_is_read_back_as_null(kind: GroupVersionKind, value: Any, expected: Any) -> None:
    assert emptiness.stored(kind, value) == expected


def test_an_object_without_such_lists_is_the_same_object() -> None:
    value = {"rules": None}
    assert emptiness.stored(ROLE, value) is value
