"""Everything that a cluster keeps besides pods, services and storage: namespaces, nodes, roles, limits, priorities, devices."""

from kadmit.kinds.defaults.amounts import allocatable, limit_range_item, rounded
from kadmit.kinds.defaults.rules import Object, Rule, each, each_value, struct

_RBAC = "rbac.authorization.k8s.io"
_NAME_LABEL = "kubernetes.io/metadata.name"


def _labelled_by_name(namespace: Object) -> Object:
    metadata = namespace.get("metadata") or {}
    name, labels = metadata.get("name"), metadata.get("labels") or {}
    if not name or labels.get(_NAME_LABEL) == name:
        return namespace
    return {**namespace, "metadata": {**metadata, "labels": {**labels, _NAME_LABEL: name}}}


namespace: Rule = struct(first=(_labelled_by_name,), parts={"status": struct({"phase": "Active"})})
node: Rule = struct(parts={"status": struct(first=(allocatable,), parts={"capacity": rounded, "allocatable": rounded})})
secret: Rule = struct({"type": "Opaque"})
limit_range: Rule = struct(parts={"spec": struct(parts={"limits": each(limit_range_item)})})
resource_quota: Rule = struct(
    parts={"spec": struct(parts={"hard": rounded}), "status": struct(parts={"hard": rounded, "used": rounded})}
)
priority_class: Rule = struct({"preemptionPolicy": "PreemptLowerPriority"})


def _in_rbac(subject: Object) -> Object:
    """Users and groups belong to RBAC, service accounts to the core."""
    if subject.get("apiGroup") or subject.get("kind") not in ("User", "Group"):
        return subject
    return {**subject, "apiGroup": _RBAC}


role_binding: Rule = struct(parts={"roleRef": struct(empty={"apiGroup": _RBAC}), "subjects": each(struct(first=(_in_rbac,)))})
token_request: Rule = struct(parts={"spec": struct(null={"expirationSeconds": 3600})})

flow_schema: Rule = struct(parts={"spec": struct(empty={"matchingPrecedence": 1000})})
_queuing: Rule = struct(empty={"queues": 64, "handSize": 8, "queueLengthLimit": 50})
priority_level: Rule = struct(
    parts={
        "spec": struct(
            parts={
                "exempt": struct({"nominalConcurrencyShares": 0, "lendablePercent": 0}),
                "limited": struct(
                    {"lendablePercent": 0},
                    null={"nominalConcurrencyShares": 30},
                    parts={"limitResponse": struct(parts={"queuing": _queuing})},
                ),
            }
        )
    }
)


def _one_device(request: Object) -> Object:
    mode = request.get("allocationMode") or "ExactCount"
    count = request.get("count") or (1 if mode == "ExactCount" else None)
    if mode == request.get("allocationMode") and count == request.get("count"):
        return request
    made = {**request, "allocationMode": mode}
    return {**made, "count": count} if count is not None else made


_tolerations: Rule = each(struct({"operator": "Equal"}))
_exactly: Rule = struct(first=(_one_device,), parts={"tolerations": _tolerations})
_claim_spec: Rule = struct(
    parts={
        "devices": struct(parts={"requests": each(struct(parts={"exactly": _exactly, "firstAvailable": each(_exactly)}))}),
    }
)
_results: Rule = each(struct(parts={"tolerations": _tolerations}))
resource_claim: Rule = struct(
    parts={
        "spec": _claim_spec,
        "status": struct(parts={"allocation": struct(parts={"devices": struct(parts={"results": _results})})}),
    }
)
resource_claim_template: Rule = struct(parts={"spec": struct(parts={"spec": _claim_spec})})
# NB: a taint without a time also gets the time of the request; whoever has a clock sets it.
_device: Rule = struct(parts={"nodeAllocatableResourceMappings": each_value(struct({"allocationMultiplier": "1"}))})
resource_slice: Rule = struct(parts={"spec": struct(parts={"devices": each(_device)})})
