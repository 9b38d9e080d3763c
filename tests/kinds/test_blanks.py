"""New objects: what Go writes before anybody has written anything is there, and nobody's."""

import pytest

from kadmit.api.meta import GroupVersionKind
from kadmit.kinds import blanks


@pytest.mark.parametrize(
    ("kind", "blank"),
    [
        (GroupVersionKind("", "v1", "Pod"), {"metadata": {}, "spec": {"containers": None}, "status": {}}),
        (GroupVersionKind("scheduling.k8s.io", "v1", "PriorityClass"), {"metadata": {}, "value": 0}),
        (
            GroupVersionKind("rbac.authorization.k8s.io", "v1", "RoleBinding"),
            {"metadata": {}, "roleRef": {"apiGroup": "", "kind": "", "name": ""}},
        ),
        (GroupVersionKind("example.com", "v1", "Widget"), {}),
    ],
)
def test_a_new_object_holds_what_is_always_written(kind: GroupVersionKind, blank: object) -> None:
    assert blanks.blank(kind) == blank
