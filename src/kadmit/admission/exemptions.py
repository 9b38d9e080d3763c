"""Kinds that are never matched, lest configuration lock itself out."""

from kadmit.matching.attributes import Attributes

REGISTRATION = "admissionregistration.k8s.io"

_POLICY_KINDS = frozenset(
    {
        "ValidatingAdmissionPolicy",
        "ValidatingAdmissionPolicyBinding",
        "MutatingAdmissionPolicy",
        "MutatingAdmissionPolicyBinding",
    }
)
_WEBHOOK_KINDS = _POLICY_KINDS | {"ValidatingWebhookConfiguration", "MutatingWebhookConfiguration"}

_REVIEWS = frozenset(
    {
        ("authentication.k8s.io", "selfsubjectreviews"),
        ("authentication.k8s.io", "tokenreviews"),
        ("authorization.k8s.io", "localsubjectaccessreviews"),
        ("authorization.k8s.io", "selfsubjectaccessreviews"),
        ("authorization.k8s.io", "selfsubjectrulesreviews"),
        ("authorization.k8s.io", "subjectaccessreviews"),
    }
)


def from_policies(attributes: Attributes) -> bool:
    """Policies, bindings, and reviews of access and tokens."""
    if attributes.kind.group == REGISTRATION and attributes.kind.kind in _POLICY_KINDS:
        return True
    return (attributes.resource.group, attributes.resource.resource) in _REVIEWS


def from_webhooks(attributes: Attributes) -> bool:
    """Everything that configures admission."""
    return attributes.kind.group == REGISTRATION and attributes.kind.kind in _WEBHOOK_KINDS
