"""Versions of kinds that Kubernetes still reads and no longer serves: an object may be patched into one, and is refused late.

Their structs are nearly those of the version that is served, so that one stands for them.
"""

from kadmit.kinds import schema
from kadmit.kinds.catalog import Gvk
from kadmit.kinds.schema import Schema

_ROLES = "Role RoleBinding ClusterRole ClusterRoleBinding"
_FLOWS = "FlowSchema PriorityLevelConfiguration"
_DEVICES = "DeviceClass ResourceClaim ResourceClaimTemplate ResourceSlice"
_POLICIES = "ValidatingAdmissionPolicy ValidatingAdmissionPolicyBinding"
_KINDS = {
    ("admissionregistration.k8s.io", "v1alpha1"): _POLICIES,
    ("admissionregistration.k8s.io", "v1beta1"): f"{_POLICIES} ValidatingWebhookConfiguration MutatingWebhookConfiguration",
    ("apps", "v1beta1"): "Deployment StatefulSet ControllerRevision",
    ("apps", "v1beta2"): "Deployment StatefulSet DaemonSet ReplicaSet ControllerRevision",
    ("authentication.k8s.io", "v1alpha1"): "SelfSubjectReview",
    ("authentication.k8s.io", "v1beta1"): "SelfSubjectReview TokenReview",
    ("authorization.k8s.io", "v1beta1"): (
        "SelfSubjectRulesReview SelfSubjectAccessReview SubjectAccessReview LocalSubjectAccessReview"
    ),
    ("batch", "v1beta1"): "CronJob",
    ("certificates.k8s.io", "v1beta1"): "CertificateSigningRequest",
    ("coordination.k8s.io", "v1beta1"): "Lease",
    ("discovery.k8s.io", "v1beta1"): "EndpointSlice",
    ("events.k8s.io", "v1beta1"): "Event",
    ("extensions", "v1beta1"): "Deployment DaemonSet Ingress ReplicaSet NetworkPolicy",
    ("flowcontrol.apiserver.k8s.io", "v1beta1"): _FLOWS,
    ("flowcontrol.apiserver.k8s.io", "v1beta2"): _FLOWS,
    ("flowcontrol.apiserver.k8s.io", "v1beta3"): _FLOWS,
    ("networking.k8s.io", "v1beta1"): "Ingress IngressClass IPAddress ServiceCIDR",
    ("node.k8s.io", "v1alpha1"): "RuntimeClass",
    ("node.k8s.io", "v1beta1"): "RuntimeClass",
    ("policy", "v1beta1"): "PodDisruptionBudget Eviction",
    ("rbac.authorization.k8s.io", "v1alpha1"): _ROLES,
    ("rbac.authorization.k8s.io", "v1beta1"): _ROLES,
    ("resource.k8s.io", "v1beta1"): _DEVICES,
    ("resource.k8s.io", "v1beta2"): _DEVICES,
    ("scheduling.k8s.io", "v1beta1"): "PriorityClass",
    ("storage.k8s.io", "v1alpha1"): "VolumeAttachment CSIStorageCapacity VolumeAttributesClass",
    ("storage.k8s.io", "v1beta1"): "StorageClass VolumeAttachment CSIDriver CSINode CSIStorageCapacity VolumeAttributesClass",
}
_HEIRS = {"extensions": ("apps", "networking.k8s.io")}  # where the kinds of a group that is gone are served now


def schema_of(kind: Gvk) -> Schema | None:
    group, version, name = kind
    if name not in _KINDS.get((group, version), "").split():
        return None
    served = (schema.for_kind((heir, "v1", name)) for heir in _HEIRS.get(group, (group,)))
    return next(filter(None, served), None)
