"""What runs pods: deployments and all the others."""

from collections.abc import Mapping
from typing import Any, TypeAlias

from kadmit.presentation import ages, columns
from kadmit.presentation.columns import (
    AGE,
    NAME,
    NONE,
    UNSET,
    Cell,
    Column,
    Columns,
    Item,
    Reader,
    at,
    count,
    number,
    wide,
)
from kadmit.presentation.printers import pods

Json: TypeAlias = Any


def _containers(path: str, field: str) -> Reader:
    return lambda item: ",".join(one.get(field) or "" for one in item.items(path))


def _containers_of(template: str) -> tuple[Column, Column]:
    path = f"{template}.spec.containers"
    return wide("Containers", _containers(path, "name")), wide("Images", _containers(path, "image"))


def _selector(path: str, otherwise: str = NONE) -> Column:
    return wide("Selector", lambda item: columns.selector(item.at(path)) or otherwise)


def _of(part: str, whole: str) -> Reader:
    return lambda item: f"{item.at(part, 0)}/{item.at(whole, 0)}"


# ---------------------------------------------------------------- jobs


_JOB_STATES = (
    ("Complete", "Complete"),
    ("Failed", "Failed"),
    ("", "Terminating"),
    ("Suspended", "Suspended"),
    ("FailureTarget", "FailureTarget"),
    ("SuccessCriteriaMet", "SuccessCriteriaMet"),
)


def _job_status(item: Item) -> Cell:
    conditions = item.items("status.conditions")
    for kind, state in _JOB_STATES:
        if columns.holds(conditions, kind) if kind else item.deleted:
            return state
    return "Running"


def _job_completions(item: Item) -> Cell:
    done, wanted = item.at("status.succeeded", 0), item.at("spec.completions")
    if wanted is not None:
        return f"{done}/{wanted}"
    parallelism = item.at("spec.parallelism", 0)
    return f"{done}/1 of {parallelism}" if parallelism > 1 else f"{done}/1"


def _job_duration(item: Item) -> Cell:
    started, completed = item.at("status.startTime"), item.at("status.completionTime")
    begin = ages.seconds(started) if started else None
    end = ages.seconds(completed) if completed else item.now
    return "" if begin is None or end is None else ages.human(end - begin)


def _last_schedule(item: Item) -> Cell:
    return item.since("status.lastScheduleTime") if item.at("status.lastScheduleTime") else NONE


def _suspended(item: Item) -> Cell:
    found = item.at("spec.suspend")
    return UNSET if found is None else "True" if found else "False"


# ---------------------------------------------------------------- autoscalers


def _targets(item: Item) -> Cell:
    specs, statuses = item.items("spec.metrics"), item.items("status.currentMetrics")
    texts = [_metric(spec, statuses[i] if i < len(statuses) else {}) for i, spec in enumerate(specs)]
    shown = ", ".join(texts[:2])
    if len(texts) > 2:
        return f"{shown} + {len(texts) - 2} more..."
    return shown or NONE


_METRICS = {
    "External": "external",
    "Pods": "pods",
    "Object": "object",
    "Resource": "resource",
    "ContainerResource": "containerResource",
}


def _metric(spec: Json, status: Json) -> str:
    source = _METRICS.get(spec.get("type", ""))
    if source is None:
        return "<unknown type>"
    wanted = (spec.get(source) or {}).get("target") or {}
    told = status.get(source)
    current = (told or {}).get("current") or {}
    if source in ("resource", "containerResource"):
        return f"{(spec.get(source) or {}).get('name', '')}: {_resource_metric(wanted, told, current)}"
    if source == "pods":
        return f"{_current(told, current, 'averageValue')}/{wanted.get('averageValue', '0')}"
    if wanted.get("averageValue") is not None:
        shown = current.get("averageValue") or "<unknown>"
        return f"{shown}/{wanted['averageValue']} (avg)"
    return f"{_current(told, current, 'value')}/{wanted.get('value', '0')}"


def _current(told: Json, current: Json, field: str) -> str:
    return "<unknown>" if told is None else str(current.get(field, "0"))


def _resource_metric(wanted: Json, told: Json, current: Json) -> str:
    if wanted.get("averageValue") is not None:
        return f"{_current(told, current, 'averageValue')}/{wanted['averageValue']}"
    measured, target = current.get("averageUtilization"), wanted.get("averageUtilization")
    shown = "<unknown>" if measured is None else f"{measured}%"
    return f"{shown}/{'<auto>' if target is None else f'{target}%'}"


def _min_pods(item: Item) -> Cell:
    found = item.at("spec.minReplicas")
    return UNSET if found is None else str(found)


# ---------------------------------------------------------------- revisions, budgets


def _controller(item: Item) -> Cell:
    owner = next((one for one in item.items("metadata.ownerReferences") if one.get("controller")), None)
    if owner is None:
        return NONE
    group = owner.get("apiVersion", "").rpartition("/")[0]
    kind = f"{owner.get('kind', '')}.{group}" if group else owner.get("kind", "")
    return f"{kind.lower()}/{owner.get('name', '')}"


def _int_or_string(path: str) -> Reader:
    return lambda item: str(item.at(path, "N/A"))


def _replicas(selector: Column) -> Columns:
    return (
        NAME,
        number("Desired", "spec.replicas"),
        number("Current", "status.replicas"),
        number("Ready", "status.readyReplicas"),
        AGE,
        *_containers_of("spec.template"),
        selector,
    )


KINDS: Mapping[tuple[str, str], Columns] = {
    ("", "Pod"): pods.POD,
    ("", "PodTemplate"): (
        NAME,
        Column("Containers", _containers("template.spec.containers", "name")),
        Column("Images", _containers("template.spec.containers", "image")),
        Column("Pod Labels", lambda item: columns.labels(item.at("template.metadata.labels"))),
    ),
    ("", "ReplicationController"): _replicas(wide("Selector", lambda item: columns.labels(item.at("spec.selector")))),
    ("apps", "ReplicaSet"): _replicas(_selector("spec.selector")),
    ("apps", "Deployment"): (
        NAME,
        Column("Ready", _of("status.readyReplicas", "spec.replicas")),
        Column("Up-to-date", at("status.updatedReplicas", 0)),
        Column("Available", at("status.availableReplicas", 0)),
        AGE,
        *_containers_of("spec.template"),
        _selector("spec.selector", ""),
    ),
    ("apps", "StatefulSet"): (
        NAME,
        Column("Ready", _of("status.readyReplicas", "spec.replicas")),
        AGE,
        *_containers_of("spec.template"),
    ),
    ("apps", "DaemonSet"): (
        NAME,
        number("Desired", "status.desiredNumberScheduled"),
        number("Current", "status.currentNumberScheduled"),
        number("Ready", "status.numberReady"),
        number("Up-to-date", "status.updatedNumberScheduled"),
        number("Available", "status.numberAvailable"),
        Column("Node Selector", lambda item: columns.labels(item.at("spec.template.spec.nodeSelector"))),
        AGE,
        *_containers_of("spec.template"),
        _selector("spec.selector"),
    ),
    ("apps", "ControllerRevision"): (NAME, Column("Controller", _controller), Column("Revision", at("revision", 0)), AGE),
    ("batch", "Job"): (
        NAME,
        Column("Status", _job_status),
        Column("Completions", _job_completions),
        Column("Duration", _job_duration),
        AGE,
        *_containers_of("spec.template"),
        _selector("spec.selector"),
    ),
    ("batch", "CronJob"): (
        NAME,
        Column("Schedule", at("spec.schedule")),
        Column("Timezone", at("spec.timeZone", NONE)),
        Column("Suspend", _suspended, type="boolean"),
        Column("Active", count("status.active"), type="integer"),
        Column("Last Schedule", _last_schedule),
        AGE,
        *_containers_of("spec.jobTemplate.spec.template"),
        _selector("spec.jobTemplate.spec.selector"),
    ),
    ("autoscaling", "HorizontalPodAutoscaler"): (
        NAME,
        Column("Reference", lambda item: f"{item.at('spec.scaleTargetRef.kind', '')}/{item.at('spec.scaleTargetRef.name', '')}"),
        Column("Targets", _targets),
        Column("MinPods", _min_pods),
        Column("MaxPods", at("spec.maxReplicas", 0)),
        Column("Replicas", at("status.currentReplicas", 0)),
        AGE,
    ),
    ("autoscaling", "Scale"): (
        Column("Name", columns.name),
        number("Desired", "spec.replicas"),
        number("Available", "status.replicas"),
        AGE,
    ),
    ("policy", "PodDisruptionBudget"): (
        NAME,
        Column("Min Available", _int_or_string("spec.minAvailable")),
        Column("Max Unavailable", _int_or_string("spec.maxUnavailable")),
        number("Allowed Disruptions", "status.disruptionsAllowed"),
        AGE,
    ),
}
