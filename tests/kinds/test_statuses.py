"""What may be written through the door of a status."""

from typing import Any

import pytest

from kadmit.api.meta import GroupVersionKind
from kadmit.kinds import rules
from kadmit.kinds.rules import Context

STATUS = Context(subresource="status")
META = {"name": "a", "namespace": "ns", "resourceVersion": "1"}
LESS = "cannot be greater than status.replicas"


def refused(group: str, kind: str, status: Any, *, before: Any = None, spec: Any = None) -> list[tuple[str, str]]:
    """Place and detail of all that is wrong with a new status."""
    gvk = GroupVersionKind(group, "v1" if group != "autoscaling" else "v2", kind)
    shared = {"metadata": META, "spec": spec or {}}
    found = rules.validate_update(gvk, {**shared, "status": status}, {**shared, "status": before or {}}, STATUS)
    return [(error.field, error.detail) for error in found]


@pytest.mark.parametrize(
    ("group", "kind", "status", "expected"),
    [
        ("apps", "Deployment", {"replicas": 1, "readyReplicas": 2}, [("status.readyReplicas", LESS)]),
        ("apps", "ReplicaSet", {"fullyLabeledReplicas": 1}, [("status.fullyLabeledReplicas", LESS)]),
        ("apps", "StatefulSet", {"currentReplicas": 1}, [("status.currentReplicas", LESS)]),
        ("apps", "DaemonSet", {"numberReady": -1}, [("status.numberReady", "must be greater than or equal to 0")]),
        ("autoscaling", "HorizontalPodAutoscaler", {"desiredReplicas": 3}, []),
        ("batch", "CronJob", {"active": [{"name": "x"}]}, []),
    ],
)
def test_counts_are_possible(group: str, kind: str, status: Any, expected: list[tuple[str, str]]) -> None:
    assert refused(group, kind, status) == expected


def test_collisions_are_only_ever_more() -> None:
    told = refused("apps", "Deployment", {"collisionCount": 1}, before={"collisionCount": 2})
    assert told == [("status.collisionCount", "cannot be decremented")]


def test_what_a_job_has_counted_stays_counted() -> None:
    assert refused("batch", "Job", {"failed": 1}, before={"failed": 2}) == [
        ("status.failed", "cannot decrease the failed counter")
    ]


def test_a_job_that_had_ended_badly_before_anybody_asked_may_be_written_again() -> None:
    status = {"conditions": [{"type": "Complete", "status": "True"}]}
    assert refused("batch", "Job", status, before=status) == []


def test_only_a_load_balancer_has_points_of_ingress() -> None:
    status = {"loadBalancer": {"ingress": [{"ip": "1.1.1.1", "ipMode": "VIP"}]}}
    assert refused("", "Service", status, spec={"type": "LoadBalancer"}) == []
    told = refused("", "Service", status, spec={"type": "ClusterIP"})
    assert told == [("status.loadBalancer.ingress", "may only be used when `spec.type` is 'LoadBalancer'")]


def test_a_pod_has_one_address_of_each_family() -> None:
    assert refused("", "Pod", {"podIPs": [{"ip": "1.1.1.1"}, {"ip": "fd00::1"}]}) == []
    told = refused("", "Pod", {"podIPs": [{"ip": "1.1.1.1"}, {"ip": "2.2.2.2"}]})
    assert told == [("status.podIPs", "may specify no more than one IP for each IP family")]
