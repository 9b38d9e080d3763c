"""The admission plugins of kube-apiserver v1.36: which there are, which are on, and which of them do something here."""

from collections.abc import Iterable

DEFAULT = (
    "NamespaceLifecycle", "LimitRanger", "ServiceAccount", "TaintNodesByCondition", "PodSecurity", "Priority",
    "DefaultTolerationSeconds", "DefaultStorageClass", "StorageObjectInUseProtection", "PodGroupProtection",
    "PersistentVolumeClaimResize", "RuntimeClass", "CertificateApproval", "CertificateSigning", "ClusterTrustBundleAttest",
    "CertificateSubjectRestriction", "DefaultIngressClass", "PodTopologyLabels", "PodGroupWorkloadExists",
    "NodeDeclaredFeatureValidator", "JobValidation", "PodResizeValidator", "MutatingAdmissionPolicy", "MutatingAdmissionWebhook",
    "ValidatingAdmissionPolicy", "ValidatingAdmissionWebhook", "ResourceQuota",
)  # fmt: skip
OTHERS = (
    "AlwaysAdmit", "AlwaysDeny", "AlwaysPullImages", "DenyServiceExternalIPs", "EventRateLimit", "ExtendedResourceToleration",
    "ImagePolicyWebhook", "LimitPodHardAntiAffinityTopology", "NamespaceAutoProvision", "NamespaceExists", "NodeRestriction",
    "OwnerReferencesPermissionEnforcement", "PodNodeSelector", "PodTolerationRestriction",
)  # fmt: skip
KNOWN = frozenset((*DEFAULT, *OTHERS))
IMPLEMENTED = frozenset(
    (
        "NamespaceLifecycle",
        "MutatingAdmissionPolicy",
        "MutatingAdmissionWebhook",
        "ValidatingAdmissionPolicy",
        "ValidatingAdmissionWebhook",
    )
)


def enabled(more: Iterable[str], less: Iterable[str]) -> frozenset[str]:
    """Those that are on and do something here."""
    return (frozenset((*DEFAULT, *more)) - frozenset(less)) & IMPLEMENTED
