"""The cluster itself: nodes, namespaces, events, configuration, quotas, priorities, leases, devices."""

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
    filled,
    number,
    wide,
)

Json: TypeAlias = Any

_ROLE_PREFIX, _ROLE = "node-role.kubernetes.io/", "kubernetes.io/role"


# ---------------------------------------------------------------- nodes


def _node_status(item: Item) -> Cell:
    # NB: of several conditions of one type the last counts.
    ready = columns.condition(reversed(item.items("status.conditions")), "Ready")
    state = "Unknown" if ready is None else "Ready" if ready.get("status") == "True" else "NotReady"
    return f"{state},SchedulingDisabled" if item.at("spec.unschedulable") else state


def _roles(item: Item) -> Cell:
    labels = item.members("metadata.labels")
    found = {key.removeprefix(_ROLE_PREFIX) for key in labels if key.startswith(_ROLE_PREFIX)} | {labels.get(_ROLE, "")}
    return ",".join(sorted(found - {""})) or NONE


def _address(kind: str) -> Reader:
    return lambda item: next((one.get("address", "") for one in item.items("status.addresses") if one.get("type") == kind), NONE)


def _kernel(item: Item) -> Cell:
    version, architecture = item.at("status.nodeInfo.kernelVersion") or ages.UNKNOWN, item.at("status.nodeInfo.architecture")
    return f"{version} ({architecture})" if architecture else version


# ---------------------------------------------------------------- events


def _first_seen(item: Item) -> str:
    return item.since("firstTimestamp") if item.at("firstTimestamp") else item.since("eventTime")


def _last_seen(item: Item) -> Cell:
    if item.at("series") is not None:
        return item.since("series.lastObservedTime")
    return item.since("lastTimestamp") if item.at("lastTimestamp") else _first_seen(item)


def _event_count(item: Item) -> Cell:
    found: int = item.at("series.count", 0) if item.at("series") is not None else item.at("count", 0) or 1
    return found


def _involved(item: Item) -> Cell:
    kind, name = item.at("involvedObject.kind", "").lower(), item.at("involvedObject.name", "")
    return f"{kind}/{name}" if name else kind


def _source(item: Item) -> Cell:
    component = item.at("source.component") or item.at("reportingComponent", "")
    instance = item.at("source.host") or item.at("reportingInstance", "")
    return f"{component}, {instance}" if instance else component


# ---------------------------------------------------------------- others


def _quota(*, limits: bool) -> Reader:
    def read(item: Item) -> Cell:
        used, hard = item.members("status.used"), item.members("status.hard")
        names = [name for name in sorted(hard) if name.startswith("limits.") is limits]
        return ", ".join(f"{name}: {used.get(name, '0')}/{hard[name]}" for name in names)

    return read


def _health(item: Item) -> Json:
    return columns.condition(item.items("conditions"), "Healthy") or {}


def _health_status(item: Item) -> Cell:
    found = _health(item).get("status")
    return "Unknown" if found is None else "Healthy" if found == "True" else "Unhealthy"


def _dangling(item: Item) -> Cell:
    found: str = (columns.condition(item.items("status.conditions"), "Dangling") or {}).get("status", "?")
    return found


def _queuing(field: str) -> Reader:
    """NB: without queues there is nothing to tell, not zero."""
    path = "spec.limited.limitResponse.queuing"
    return lambda item: item.at(f"{path}.{field}", 0) if item.at(path) is not None else NONE


def _shares(item: Item) -> Cell:
    found: Cell = item.at("spec.limited.nominalConcurrencyShares", 0) if item.at("spec.limited") is not None else NONE
    return found


def _claim_state(item: Item) -> Cell:
    allocated = item.at("status.allocation") is not None
    states = ["deleted"] if item.deleted else []
    if allocated:
        states += ["allocated", "reserved"] if item.items("status.reservedFor") else ["allocated"]
    return ",".join(states) or "pending"


KINDS: Mapping[tuple[str, str], Columns] = {
    ("", "Node"): (
        NAME,
        Column("Status", _node_status),
        Column("Roles", _roles),
        AGE,
        Column("Version", at("status.nodeInfo.kubeletVersion")),
        wide("Internal-IP", _address("InternalIP")),
        wide("External-IP", _address("ExternalIP")),
        wide("OS-Image", filled("status.nodeInfo.osImage", ages.UNKNOWN)),
        wide("Kernel-Version", _kernel),
        wide("Container-Runtime", filled("status.nodeInfo.containerRuntimeVersion", ages.UNKNOWN)),
    ),
    ("", "Event"): (
        Column("Last Seen", _last_seen),
        Column("Type", at("type")),
        Column("Reason", at("reason")),
        Column("Object", _involved),
        wide("Subobject", at("involvedObject.fieldPath")),
        wide("Source", _source),
        Column("Message", lambda item: item.at("message", "").strip()),
        wide("First Seen", _first_seen),
        wide("Count", _event_count),
        Column("Name", columns.name, format="name", priority=1),
    ),
    ("", "Namespace"): (NAME, Column("Status", at("status.phase")), AGE),
    ("", "ConfigMap"): (NAME, Column("Data", count("data", "binaryData")), AGE),
    ("", "Secret"): (NAME, Column("Type", at("type")), Column("Data", count("data")), AGE),
    ("", "ServiceAccount"): (NAME, AGE),
    ("", "ResourceQuota"): (NAME, Column("Request", _quota(limits=False)), Column("Limit", _quota(limits=True)), AGE),
    ("", "ComponentStatus"): (
        NAME,
        Column("Status", _health_status),
        Column("Message", lambda item: _health(item).get("message", "")),
        Column("Error", lambda item: _health(item).get("error", "")),
    ),
    ("scheduling.k8s.io", "PriorityClass"): (
        NAME,
        number("Value", "value"),
        Column("Global-Default", at("globalDefault", otherwise=False), type="boolean"),
        AGE,
        Column("PreemptionPolicy", at("preemptionPolicy")),
    ),
    ("node.k8s.io", "RuntimeClass"): (NAME, Column("Handler", at("handler")), AGE),
    ("coordination.k8s.io", "Lease"): (NAME, Column("Holder", at("spec.holderIdentity")), AGE),
    ("flowcontrol.apiserver.k8s.io", "FlowSchema"): (
        NAME,
        Column("PriorityLevel", at("spec.priorityLevelConfiguration.name")),
        Column("MatchingPrecedence", at("spec.matchingPrecedence", 0)),
        Column("DistinguisherMethod", at("spec.distinguisherMethod.type", NONE)),
        AGE,
        Column("MissingPL", _dangling),
    ),
    ("flowcontrol.apiserver.k8s.io", "PriorityLevelConfiguration"): (
        NAME,
        Column("Type", at("spec.type")),
        Column("NominalConcurrencyShares", _shares),
        Column("Queues", _queuing("queues")),
        Column("HandSize", _queuing("handSize")),
        Column("QueueLengthLimit", _queuing("queueLengthLimit")),
        AGE,
    ),
    ("resource.k8s.io", "DeviceClass"): (NAME, AGE),
    ("resource.k8s.io", "ResourceClaim"): (NAME, Column("State", _claim_state), AGE),
    ("resource.k8s.io", "ResourceClaimTemplate"): (NAME, AGE),
    ("resource.k8s.io", "ResourceSlice"): (
        NAME,
        Column("Node", at("spec.nodeName")),
        Column("Driver", at("spec.driver")),
        Column("Pool", at("spec.pool.name")),
        AGE,
    ),
    ("internal.apiserver.k8s.io", "StorageVersion"): (
        NAME,
        Column("CommonEncodingVersion", at("status.commonEncodingVersion", UNSET)),
        Column(
            "StorageVersions",
            lambda item: columns.few(
                f"{one.get('apiServerID', '')}={one.get('encodingVersion', '')}" for one in item.items("status.storageVersions")
            ),
        ),
        AGE,
    ),
}
