"""Who may do what: bindings of roles, certificate requests; and what changes requests: webhooks, policies, API services."""

from collections.abc import Mapping
from typing import Any, TypeAlias

from kadmit.presentation import ages, columns
from kadmit.presentation.columns import AGE, NAME, NONE, UNSET, Cell, Column, Columns, Item, Reader, at, count, filled, wide

Json: TypeAlias = Any

# ---------------------------------------------------------------- roles and certificates


def _role(item: Item) -> Cell:
    return f"{item.at('roleRef.kind', '')}/{item.at('roleRef.name', '')}"


def _subjects(kind: str) -> Reader:
    return lambda item: ", ".join(_subject(one) for one in item.items("subjects") if one.get("kind") == kind)


def _subject(one: Json) -> str:
    name = one.get("name", "")
    return f"{one.get('namespace', '')}/{name}" if one.get("kind") == "ServiceAccount" else str(name)


_ROLE_BINDING: Columns = (
    NAME,
    Column("Role", _role),
    AGE,
    wide("Users", _subjects("User")),
    wide("Groups", _subjects("Group")),
    wide("ServiceAccounts", _subjects("ServiceAccount")),
)


def _request_state(item: Item) -> Cell:
    types = {one.get("type") for one in item.items("status.conditions")}
    decision = "Denied" if "Denied" in types else "Approved" if "Approved" in types else "Pending"
    return decision + (",Failed" if "Failed" in types else "") + (",Issued" if item.at("status.certificate") else "")


def _requested_duration(item: Item) -> Cell:
    seconds = item.at("spec.expirationSeconds")
    return NONE if seconds is None else ages.human(seconds)


# ---------------------------------------------------------------- policies and webhooks


def _param_kind(item: Item) -> Cell:
    found = item.at("spec.paramKind")
    return UNSET if found is None else f"{found.get('apiVersion', '')}/{found.get('kind', '')}"


def _param_ref(item: Item) -> Cell:
    """Without a namespace it cannot be told whether the params have one."""
    found = item.at("spec.paramRef") or {}
    if found.get("name"):
        return f"{found.get('namespace') or '*'}/{found['name']}"
    return UNSET if found.get("selector") is None else _go_selector(found["selector"])


def _go_selector(selector: Json) -> str:
    """NB: as Go prints the struct."""
    labels = "".join(f"{key}: {value}," for key, value in sorted((selector.get("matchLabels") or {}).items()))
    terms = "".join(f"{_go_expression(term)}," for term in selector.get("matchExpressions") or ())
    return f"&LabelSelector{{MatchLabels:map[string]string{{{labels}}},MatchExpressions:[]LabelSelectorRequirement{{{terms}}},}}"


def _go_expression(term: Json) -> str:
    values = " ".join(term.get("values") or ())
    return f"LabelSelectorRequirement{{Key:{term.get('key', '')},Operator:{term.get('operator', '')},Values:[{values}],}}"


_WEBHOOKS: Columns = (NAME, Column("Webhooks", count("webhooks"), type="integer"), AGE)
_BINDING: Columns = (NAME, Column("PolicyName", at("spec.policyName")), Column("ParamRef", _param_ref), AGE)


def _policy(title: str, path: str) -> Columns:
    return (NAME, Column(title, count(path), type="integer"), Column("ParamKind", _param_kind), AGE)


# ---------------------------------------------------------------- API services


def _service(item: Item) -> Cell:
    found = item.at("spec.service")
    return "Local" if found is None else f"{found.get('namespace', '')}/{found.get('name', '')}"


def _available(item: Item) -> Cell:
    found = columns.condition(item.items("status.conditions"), "Available") or {}
    status = found.get("status", "Unknown")
    return f"{status} ({found['reason']})" if status != "True" and found.get("reason") else status


_REGISTRATION = "admissionregistration.k8s.io"

KINDS: Mapping[tuple[str, str], Columns] = {
    ("rbac.authorization.k8s.io", "RoleBinding"): _ROLE_BINDING,
    ("rbac.authorization.k8s.io", "ClusterRoleBinding"): _ROLE_BINDING,
    ("certificates.k8s.io", "CertificateSigningRequest"): (
        NAME,
        AGE,
        Column("SignerName", filled("spec.signerName")),
        Column("Requestor", at("spec.username")),
        Column("RequestedDuration", _requested_duration),
        Column("Condition", _request_state),
    ),
    ("certificates.k8s.io", "ClusterTrustBundle"): (NAME, Column("SignerName", filled("spec.signerName"))),
    (_REGISTRATION, "MutatingWebhookConfiguration"): _WEBHOOKS,
    (_REGISTRATION, "ValidatingWebhookConfiguration"): _WEBHOOKS,
    (_REGISTRATION, "MutatingAdmissionPolicy"): _policy("Mutations", "spec.mutations"),
    (_REGISTRATION, "ValidatingAdmissionPolicy"): _policy("Validations", "spec.validations"),
    (_REGISTRATION, "MutatingAdmissionPolicyBinding"): _BINDING,
    (_REGISTRATION, "ValidatingAdmissionPolicyBinding"): _BINDING,
    ("apiregistration.k8s.io", "APIService"): (NAME, Column("Service", _service), Column("Available", _available), AGE),
}
