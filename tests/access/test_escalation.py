"""Nobody may give what they do not have."""

from typing import Any

import pytest
from tests.access import recording

from kadmit.access import escalation
from kadmit.access.rbac import Rbac

RECORDED = recording.cluster("escalation")


@pytest.mark.parametrize(
    "row", recording.rows("escalation"), ids=lambda row: f"{row['new']['kind']}-{row['new']['metadata']['name']}"
)
def test_writing_a_role_or_binding_is_refused_with_the_recorded_text(row: dict[str, Any]) -> None:
    where = {"name": row["name"], "namespace": row["namespace"]}
    found = escalation.refusal(RECORDED, recording.ALICE, row["new"], old=row["old"], **where)
    assert (None if found is None else found.status.as_json()) == row["expected"]


def test_members_of_system_masters_may_grant_anything() -> None:
    new = {"kind": "ClusterRole", "metadata": {"name": "x"}, "rules": [{"verbs": ["*"], "apiGroups": ["*"], "resources": ["*"]}]}
    assert escalation.refusal(Rbac.build([]), recording.ADMIN, new) is None


def test_rules_that_multiply_beyond_measure_are_refused_without_being_multiplied() -> None:
    words = [f"w{i}" for i in range(5000)]
    new = {"kind": "Role", "metadata": {"name": "x"}, "rules": [{"verbs": words, "apiGroups": words, "resources": words}]}
    found = escalation.refusal(Rbac.build([]), recording.ALICE, new, namespace="n")
    assert found is not None
    assert str(found).endswith('"x" is forbidden: the rules hold more than 100000 permissions')


def test_other_kinds_are_no_matter() -> None:
    assert escalation.refusal(Rbac.build([]), recording.ALICE, {"kind": "Pod"}) is None
