"""The defaults that Kubernetes writes in Go: what an object of a built-in kind says when it says nothing.

    made = apply(("", "v1", "Pod"), decoded)              # everything
    made = apply(("", "v1", "Pod"), changed, before)      # what a mutation changed

Here is the table of kinds; the rules are sorted by noun. Defaults of custom kinds are in their schemas (`structural`), and what
only a registry or a plugin adds (addresses of services, a Job's selector, a Pod's status) is not a default.
"""

from kadmit.kinds.catalog import Gvk
from kadmit.kinds.defaults import autoscaling, cluster, pods, registration, services, volumes, workloads
from kadmit.kinds.defaults.rules import Object, Rule

__all__ = ["apply"]

_REGISTRATION = "admissionregistration.k8s.io"
_RBAC = "rbac.authorization.k8s.io"

_RULES: dict[Gvk, Rule] = {
    ("", "v1", "Endpoints"): services.endpoints,
    ("", "v1", "LimitRange"): cluster.limit_range,
    ("", "v1", "Namespace"): cluster.namespace,
    ("", "v1", "Node"): cluster.node,
    ("", "v1", "PersistentVolume"): volumes.persistent_volume,
    ("", "v1", "PersistentVolumeClaim"): volumes.claim,
    ("", "v1", "Pod"): pods.pod,
    ("", "v1", "PodTemplate"): pods.pod_template,
    ("", "v1", "ReplicationController"): workloads.replication_controller,
    ("", "v1", "ResourceQuota"): cluster.resource_quota,
    ("", "v1", "Secret"): cluster.secret,
    ("", "v1", "Service"): services.service,
    (_REGISTRATION, "v1", "MutatingAdmissionPolicy"): registration.policy,
    (_REGISTRATION, "v1", "MutatingAdmissionPolicyBinding"): registration.binding,
    (_REGISTRATION, "v1", "MutatingWebhookConfiguration"): registration.mutating_webhooks,
    (_REGISTRATION, "v1", "ValidatingAdmissionPolicy"): registration.policy,
    (_REGISTRATION, "v1", "ValidatingAdmissionPolicyBinding"): registration.binding,
    (_REGISTRATION, "v1", "ValidatingWebhookConfiguration"): registration.validating_webhooks,
    (_REGISTRATION, "v1beta1", "MutatingAdmissionPolicy"): registration.policy,
    (_REGISTRATION, "v1beta1", "MutatingAdmissionPolicyBinding"): registration.binding,
    (_REGISTRATION, "v1alpha1", "MutatingAdmissionPolicy"): registration.policy,
    (_REGISTRATION, "v1alpha1", "MutatingAdmissionPolicyBinding"): registration.binding_v1alpha1,
    ("apiextensions.k8s.io", "v1", "CustomResourceDefinition"): registration.custom_resource_definition,
    ("apiregistration.k8s.io", "v1", "APIService"): registration.api_service,
    ("apps", "v1", "DaemonSet"): workloads.daemon_set,
    ("apps", "v1", "Deployment"): workloads.deployment,
    ("apps", "v1", "ReplicaSet"): workloads.replica_set,
    ("apps", "v1", "StatefulSet"): workloads.stateful_set,
    ("authentication.k8s.io", "v1", "TokenRequest"): cluster.token_request,
    ("autoscaling", "v1", "HorizontalPodAutoscaler"): autoscaling.v1,
    ("autoscaling", "v2", "HorizontalPodAutoscaler"): autoscaling.v2,
    ("batch", "v1", "CronJob"): workloads.cron_job,
    ("batch", "v1", "Job"): workloads.job,
    ("discovery.k8s.io", "v1", "EndpointSlice"): services.endpoint_slice,
    ("flowcontrol.apiserver.k8s.io", "v1", "FlowSchema"): cluster.flow_schema,
    ("flowcontrol.apiserver.k8s.io", "v1", "PriorityLevelConfiguration"): cluster.priority_level,
    ("networking.k8s.io", "v1", "IngressClass"): services.ingress_class,
    ("networking.k8s.io", "v1", "NetworkPolicy"): services.network_policy,
    (_RBAC, "v1", "ClusterRoleBinding"): cluster.role_binding,
    (_RBAC, "v1", "RoleBinding"): cluster.role_binding,
    ("resource.k8s.io", "v1", "ResourceClaim"): cluster.resource_claim,
    ("resource.k8s.io", "v1", "ResourceClaimTemplate"): cluster.resource_claim_template,
    ("resource.k8s.io", "v1", "ResourceSlice"): cluster.resource_slice,
    ("scheduling.k8s.io", "v1", "PriorityClass"): cluster.priority_class,
    ("storage.k8s.io", "v1", "CSIDriver"): volumes.driver,
    ("storage.k8s.io", "v1", "StorageClass"): volumes.storage_class,
    ("storage.k8s.io", "v1", "VolumeAttachment"): volumes.attachment,
}


def apply(gvk: Gvk, value: Object, before: Object | None = None) -> Object:
    """The object with its defaults; the very same one if it has them all.

    `before` had its defaults already: what the object shares with it is not looked at again.
    """
    rule = _RULES.get(gvk)
    if rule is None or value is before:
        return value
    made: Object = rule(value, before)
    return made
