"""What the server makes of objects before it looks at them."""

import copy
import itertools
from typing import Any

import pytest

from kadmit.api.errors import ApiError
from kadmit.api.meta import GroupVersionKind
from kadmit.kinds import allocation, disabled, podpreparation, strategy
from kadmit.kinds.allocation import Pool

POD = GroupVersionKind("", "v1", "Pod")
DEPLOYMENT = GroupVersionKind("apps", "v1", "Deployment")
CONFIG_MAP = GroupVersionKind("", "v1", "ConfigMap")
SET = GroupVersionKind("apps", "v1", "StatefulSet")


def deployment(**spec: Any) -> dict[str, Any]:
    return {"metadata": {"name": "a", "generation": 3}, "spec": {"replicas": 1, **spec}, "status": {"replicas": 1}}


def test_a_status_is_not_the_creators_to_write() -> None:
    made = strategy.prepare_for_create(DEPLOYMENT, deployment())
    assert made["status"] == {}
    assert made["metadata"]["generation"] == 1


def test_kinds_without_generations_get_none() -> None:
    assert "generation" not in strategy.prepare_for_create(CONFIG_MAP, {"metadata": {"name": "a"}})["metadata"]


@pytest.mark.parametrize(
    ("new", "generation"),
    [
        (deployment(), 3),
        (deployment(replicas=2), 4),
        ({**deployment(), "status": {"replicas": 9}}, 3),
        ({**deployment(), "metadata": {"name": "a", "annotations": {"x": "y"}}}, 4),
        ({**deployment(), "metadata": {"name": "a", "labels": {"x": "y"}}}, 3),
        ({**deployment(), "metadata": {"name": "a", "generation": 77}}, 3),
    ],
)
def test_a_generation_counts_changes_that_matter(new: dict[str, Any], generation: int) -> None:
    made = strategy.prepare_for_update(DEPLOYMENT, new, deployment())
    assert made["metadata"]["generation"] == generation
    assert made["status"] == {"replicas": 1}


def test_status_is_written_without_touching_the_rest() -> None:
    new = {**deployment(replicas=7), "status": {"replicas": 5}}
    made = strategy.prepare_for_update(DEPLOYMENT, new, deployment(), "status")
    assert (made["spec"]["replicas"], made["status"], made["metadata"]["generation"]) == (1, {"replicas": 5}, 3)


@pytest.mark.parametrize(
    ("resources", "quality"),
    [
        ({}, "BestEffort"),
        ({"requests": {"cpu": "1"}}, "Burstable"),
        ({"limits": {"cpu": "1", "memory": "1Gi"}, "requests": {"cpu": "1000m", "memory": "1024Mi"}}, "Guaranteed"),
    ],
)
def test_pods_get_their_quality_of_service(resources: dict[str, Any], quality: str) -> None:
    pod = {"metadata": {"name": "a"}, "spec": {"containers": [{"name": "c", "resources": resources}]}}
    assert strategy.prepare_for_create(POD, pod)["status"]["qosClass"] == quality


AMOUNTS = ("0", "1", "1000m", "2")
PARTS = [
    {"limits": {"cpu": limit, "memory": limit}, "requests": {"cpu": request, "memory": memory}}
    for limit, request, memory in itertools.product(AMOUNTS, repeat=3)
]


@pytest.mark.parametrize("other", [PARTS[0], PARTS[21], PARTS[42], PARTS[63], {}])
def test_a_pod_is_guaranteed_where_all_are_limited_and_get_their_limits_together(other: dict[str, Any]) -> None:
    for part in PARTS:
        containers = [{"name": "a", "resources": part}, {"name": "b", "resources": other}]
        asked, limits = ([_cpu_and_memory(one, member) for one in (part, other)] for member in ("requests", "limits"))
        limited = all(amount > 0 for one in limits for amount in one)
        equal = [sum(of) for of in zip(*asked, strict=True)] == [sum(of) for of in zip(*limits, strict=True)]
        some = any(amount for one in (*asked, *limits) for amount in one)
        expected = ("Guaranteed" if limited and equal else "Burstable") if some else "BestEffort"
        assert podpreparation.quality({"containers": containers}) == expected, part


def _cpu_and_memory(part: dict[str, Any], member: str) -> tuple[int, int]:
    cpu, memory = (
        1 if text == "1000m" else int(text) for text in ((part.get(member) or {}).get(n, "0") for n in ("cpu", "memory"))
    )
    return cpu, memory


def test_nothing_is_changed_in_place() -> None:
    pod = {"metadata": {"name": "a"}, "spec": {"containers": [{"name": "c", "lifecycle": {"stopSignal": "SIGTERM"}}]}}
    given = copy.deepcopy(pod)
    made = strategy.prepare_for_create(POD, pod)
    strategy.prepare_for_update(POD, pod, made)
    assert pod == given


def test_fields_of_features_that_are_off_are_dropped() -> None:
    template = {"spec": {"containers": [{"name": "c", "lifecycle": {"stopSignal": "SIGTERM", "preStop": {"sleep": {}}}}]}}
    rolling = {"maxUnavailable": 2, "partition": 1}
    value = {"spec": {"template": template, "updateStrategy": {"rollingUpdate": rolling}}}
    made = disabled.without(("apps", "StatefulSet"), value)
    assert made["spec"]["template"]["spec"]["containers"] == [{"name": "c", "lifecycle": {"preStop": {"sleep": {}}}}]
    assert made["spec"]["updateStrategy"] == {"rollingUpdate": {"partition": 1}}


def test_objects_without_such_fields_are_left_as_they_are() -> None:
    value: dict[str, Any] = {"spec": {"template": {"spec": {"containers": [{"name": "c"}]}}}}
    assert disabled.without(("apps", "StatefulSet"), value) is value


# ---------------------------------------------------------------- addresses and ports of Services


def service(**spec: Any) -> dict[str, Any]:
    return {"metadata": {"name": "s"}, "spec": {"type": "ClusterIP", "selector": {"a": "b"}, "ports": [{"port": 80}], **spec}}


def test_the_same_services_always_get_the_same_addresses() -> None:
    first, wrong = allocation.allocate(service(), None, Pool())
    second, _ = allocation.allocate(service(), None, allocation.taken(Pool(), [first]))
    assert wrong == []
    assert (first["spec"]["clusterIP"], second["spec"]["clusterIP"]) == ("10.0.0.17", "10.0.0.18")


def test_an_address_is_given_out_once() -> None:
    pool = allocation.taken(Pool(), [service(clusterIPs=["10.0.0.99"])])
    _, wrong = allocation.allocate(service(clusterIP="10.0.0.99"), None, pool)
    assert [error.detail for error in wrong] == ["failed to allocate IP 10.0.0.99: provided IP is already allocated"]


def test_an_update_keeps_what_was_given_out() -> None:
    old, _ = allocation.allocate(service(type="NodePort"), None, Pool())
    new, wrong = allocation.allocate(service(type="NodePort"), old, allocation.taken(Pool(), [old]))
    assert wrong == []
    assert new["spec"]["clusterIP"] == old["spec"]["clusterIP"]
    assert new["spec"]["ports"] == old["spec"]["ports"]


def test_a_headless_service_gets_no_address() -> None:
    made, _ = allocation.allocate(service(clusterIP="None"), None, Pool())
    assert made["spec"]["clusterIPs"] == ["None"]


def test_when_no_address_is_left_the_server_fails() -> None:
    pool = allocation.taken(Pool(), [service(clusterIPs=[f"10.0.0.{n}" for n in range(1, 255)])])
    with pytest.raises(ApiError, match="range is full"):
        allocation.allocate(service(), None, pool)
