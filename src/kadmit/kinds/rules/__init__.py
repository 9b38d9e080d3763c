"""What Kubernetes has against objects of its own kinds: rules that are written in Go, and in no schema.

    errors = rules.validate_create(gvk, object)
    errors = rules.validate_update(gvk, new, old)

Objects are plain dicts of any served version, decoded and with defaults; on updates, `new` carries the metadata that the server
keeps (`kadmit.kinds.strategy`). Errors come in the order in which Kubernetes lists them. A kind without rules of its own is only
asked for sound metadata. Where Kubernetes walks a map, in random order, keys come sorted.
"""

from collections.abc import Callable, Iterator, Mapping
from functools import cache
from typing import Any, TypeAlias

from msgspec import Struct

from kadmit.api.fields import FieldError
from kadmit.api.meta import GroupVersionKind
from kadmit.kinds import catalog, metadata
from kadmit.kinds.rules import (
    autoscaling,
    certificates,
    claims,
    cluster,
    config,
    drivers,
    events,
    flowcontrol,
    jobs,
    jobstatus,
    networking,
    persistentvolumes,
    pods,
    podupdates,
    quotas,
    rbac,
    serviceaddresses,
    services,
    slices,
    statuses,
    storage,
    workloads,
)
from kadmit.kinds.rules.context import DEFAULT, Context
from kadmit.kinds.rules.meta import Object, of

__all__ = ["Context", "validate_create", "validate_update"]

Json: TypeAlias = Any
_Errors: TypeAlias = Iterator[FieldError]


class _Kind(Struct, frozen=True):
    """The rules of one kind; of its parts, by subresource."""

    create: Callable[[Object, Context], _Errors]
    update: Callable[[Object, Object, Context], _Errors]
    parts: Mapping[str, Callable[[Object, Object, Context], _Errors]]


def _kind(
    create: Callable[[Object], _Errors],
    update: Callable[[Object, Object], _Errors],
    **parts: Callable[[Object, Object], _Errors],
) -> _Kind:
    """A kind whose rules do not depend on the server."""
    return _Kind(
        lambda value, _: create(value),
        lambda new, old, _: update(new, old),
        {name: lambda new, old, _, part=part: part(new, old) for name, part in parts.items()},  # type: ignore[misc]
    )


def _status(check: statuses.Check) -> Mapping[str, Callable[[Object, Object, Context], _Errors]]:
    return {"status": lambda new, old, _: check(new, old)}


_FLOWS = "flowcontrol.apiserver.k8s.io"
_KINDS: Mapping[tuple[str, str], _Kind] = {
    ("", "ConfigMap"): _kind(config.create_config_map, config.update_config_map),
    ("", "Secret"): _kind(config.create_secret, config.update_secret),
    ("", "Namespace"): _kind(
        cluster.create_namespace,
        cluster.update_namespace,
        finalize=cluster.finalize_namespace,
        status=cluster.namespace_status,
    ),
    ("", "Node"): _kind(cluster.create_node, cluster.update_node, status=cluster.node_status),
    ("", "ServiceAccount"): _kind(cluster.create_account, cluster.update_account),
    ("", "Service"): _kind(services.create, services.update, status=statuses.service),
    ("", "Endpoints"): _kind(services.create_endpoints, services.update_endpoints),
    ("", "PersistentVolumeClaim"): _kind(claims.create, claims.update, status=statuses.claim),
    ("", "PersistentVolume"): _kind(persistentvolumes.create, persistentvolumes.update),
    ("", "ResourceQuota"): _kind(quotas.create_quota, quotas.update_quota, status=statuses.quota),
    ("", "LimitRange"): _kind(quotas.create_range, quotas.update_range),
    ("", "Pod"): _Kind(
        pods.create,
        podupdates.update,
        {"status": lambda new, old, _: podupdates.status(new, old), "ephemeralcontainers": podupdates.ephemeral},
    ),
    ("", "PodTemplate"): _Kind(workloads.create_pod_template, workloads.update_pod_template, {}),
    ("", "ReplicationController"): _Kind(
        workloads.create_replication_controller, workloads.update_replication_controller, _status(statuses.replication_controller)
    ),
    ("apps", "Deployment"): _Kind(workloads.create_deployment, workloads.update_deployment, _status(statuses.deployment)),
    ("apps", "ReplicaSet"): _Kind(workloads.create_replica_set, workloads.update_replica_set, _status(statuses.replica_set)),
    ("apps", "StatefulSet"): _Kind(workloads.create_stateful_set, workloads.update_stateful_set, _status(statuses.stateful_set)),
    ("apps", "DaemonSet"): _Kind(workloads.create_daemon_set, workloads.update_daemon_set, _status(statuses.daemon_set)),
    ("apps", "ControllerRevision"): _kind(workloads.create_revision, workloads.update_revision),
    ("batch", "Job"): _Kind(jobs.create_job, jobs.update_job, _status(jobstatus.update)),
    ("batch", "CronJob"): _Kind(jobs.create_cron_job, jobs.update_cron_job, _status(statuses.nothing)),
    ("autoscaling", "HorizontalPodAutoscaler"): _kind(autoscaling.create, autoscaling.update, status=statuses.autoscaler),
    ("policy", "PodDisruptionBudget"): _kind(cluster.create_budget, cluster.update_budget, status=statuses.budget),
    ("networking.k8s.io", "Ingress"): _kind(networking.create_ingress, networking.update_ingress, status=statuses.ingress),
    ("networking.k8s.io", "IngressClass"): _kind(networking.create_class, networking.update_class),
    ("networking.k8s.io", "NetworkPolicy"): _kind(networking.create_policy, networking.update_policy),
    ("rbac.authorization.k8s.io", "Role"): _kind(rbac.create_role, rbac.update_role),
    ("rbac.authorization.k8s.io", "ClusterRole"): _kind(rbac.create_cluster_role, rbac.update_cluster_role),
    ("rbac.authorization.k8s.io", "RoleBinding"): _kind(rbac.create_binding, rbac.update_binding),
    ("rbac.authorization.k8s.io", "ClusterRoleBinding"): _kind(rbac.create_cluster_binding, rbac.update_cluster_binding),
    ("coordination.k8s.io", "Lease"): _kind(cluster.create_lease, cluster.update_lease),
    ("scheduling.k8s.io", "PriorityClass"): _kind(cluster.create_priority_class, cluster.update_priority_class),
    ("node.k8s.io", "RuntimeClass"): _kind(cluster.create_runtime_class, cluster.update_runtime_class),
    ("", "Event"): _kind(events.create_core, events.update_core),
    ("events.k8s.io", "Event"): _kind(events.create, events.update),
    ("discovery.k8s.io", "EndpointSlice"): _kind(slices.create, slices.update),
    ("networking.k8s.io", "IPAddress"): _kind(serviceaddresses.create_address, serviceaddresses.update_address),
    ("networking.k8s.io", "ServiceCIDR"): _kind(serviceaddresses.create_blocks, serviceaddresses.update_blocks),
    ("storage.k8s.io", "StorageClass"): _kind(storage.create_class, storage.update_class),
    ("storage.k8s.io", "CSIDriver"): _kind(drivers.create_driver, drivers.update_driver),
    ("storage.k8s.io", "CSINode"): _kind(drivers.create_node, drivers.update_node),
    ("storage.k8s.io", "CSIStorageCapacity"): _kind(drivers.create_capacity, drivers.update_capacity),
    ("storage.k8s.io", "VolumeAttachment"): _kind(
        drivers.create_attachment,
        drivers.update_attachment,
        status=drivers.update_attachment,
    ),
    ("storage.k8s.io", "VolumeAttributesClass"): _kind(drivers.create_attributes_class, drivers.update_attributes_class),
    ("certificates.k8s.io", "CertificateSigningRequest"): _kind(
        certificates.create,
        certificates.update,
        status=certificates.status,
        approval=certificates.approval,
    ),
    (_FLOWS, "FlowSchema"): _kind(flowcontrol.create_schema, flowcontrol.update_schema, status=flowcontrol.status),
    (_FLOWS, "PriorityLevelConfiguration"): _kind(flowcontrol.create_level, flowcontrol.update_level, status=flowcontrol.status),
}


_DEFINITION = ("apiextensions.k8s.io", "CustomResourceDefinition")


@cache
def _definition() -> _Kind:
    """NB: loaded when somebody defines a kind: its rules look into schemas, and that takes most of CEL."""
    from kadmit.kinds.rules import definitions

    return _Kind(definitions.create, definitions.update, {"status": lambda new, old, _: definitions.status(new, old)})


def _rules_of(gvk: GroupVersionKind) -> _Kind | None:
    kind = (gvk.group, gvk.kind)
    return _definition() if kind == _DEFINITION else _KINDS.get(kind)


# Kinds that ask of metadata all that any kind does, and more of names: if they find nothing, there is nothing.
_STRICTER = frozenset({("", "Pod")})


def validate_create(gvk: GroupVersionKind, value: Object, context: Context = DEFAULT) -> list[FieldError]:
    """What is wrong with a new object."""
    kind = _rules_of(gvk)
    found = list(kind.create(value, context)) if kind is not None else []
    if not found and (gvk.group, gvk.kind) in _STRICTER:
        return found
    return found or metadata.validate(of(value), namespaced=_is_namespaced(gvk))


def validate_update(gvk: GroupVersionKind, new: Object, old: Object, context: Context = DEFAULT) -> list[FieldError]:
    """What is wrong with a change. Metadata is looked at twice: as any object's, and as this kind's."""
    kind = _rules_of(gvk)
    found = metadata.validate_update(of(new), of(old), namespaced=_is_namespaced(gvk))
    if kind is None:
        return found
    change = kind.parts.get(context.subresource, _metadata_only) if context.subresource else kind.update
    return [*found, *change(new, old, context)]


def _metadata_only(new: Object, old: Object, context: Context) -> _Errors:
    return metadata.changes(of(new), of(old), metadata.AT)


def _is_namespaced(gvk: GroupVersionKind) -> bool:
    found = catalog.builtin().kind(*gvk)
    return found is not None and found.namespaced
