"""Nobody may give what they do not have: what roles and bindings a user may write.

A role may be written by who holds all of its rules, or may `escalate` roles. A binding may be written by who holds all rules of
its role, or may `bind` that role. Members of system:masters may write all of them.
"""

from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias

from kadmit.access.policyrules import (
    FULL_AUTHORITY,
    PolicyRule,
    Rules,
    TooManyRules,
    compacted,
    compile_rules,
    quoted_list,
    uncovered,
)
from kadmit.access.rbac import (
    CLUSTER_ROLE,
    CLUSTER_ROLE_BINDING,
    GROUP,
    MASTERS,
    ROLE,
    ROLE_BINDING,
    Rbac,
    RoleRef,
    compile_role_ref,
)
from kadmit.api import errors
from kadmit.api.errors import ApiError
from kadmit.api.gojson import quoted
from kadmit.api.meta import GroupResource
from kadmit.cel.library.authorizer import Attributes, User

Json: TypeAlias = Mapping[str, Any]

_RESOURCES = {
    ROLE: "roles",
    CLUSTER_ROLE: "clusterroles",
    ROLE_BINDING: "rolebindings",
    CLUSTER_ROLE_BINDING: "clusterrolebindings",
}
_ONLY_FOR_DELETION = ("ownerReferences", "finalizers", "selfLink", "managedFields")


def refusal(
    rbac: Rbac, user: User, new: Json, *, old: Json | None = None, name: str = "", namespace: str = ""
) -> ApiError | None:
    """Why a user may not write this role or binding; None if they may. Name and namespace are those of the request's path."""
    kind = new.get("kind", "")
    if MASTERS in user.groups or kind not in _RESOURCES:
        return None
    if kind in (ROLE, CLUSTER_ROLE):
        return _role_refusal(rbac, user, new, old=old, name=name, namespace=namespace)
    return _binding_refusal(rbac, user, new, old=old, namespace=namespace)


# ---------------------------------------------------------------- roles


def _role_refusal(rbac: Rbac, user: User, new: Json, *, old: Json | None, name: str, namespace: str) -> ApiError | None:
    resource = _RESOURCES[new["kind"]]
    escalate = Attributes(
        user, "escalate", resource_request=True, group=GROUP, version="*", resource=resource, namespace=namespace, name=name
    )
    if rbac.check(escalate).is_allowed or _only_for_deletion(new, old):
        return None
    cause = _excess(rbac, user, new, namespace, compile_rules(new.get("rules")))
    if cause is None and new["kind"] == CLUSTER_ROLE and (_aggregates(new) or _aggregates(old)):
        cause = _aggregation_refusal(rbac, user)
    return None if cause is None else _forbidden(new, cause)


def _aggregates(role: Json | None) -> bool:
    rule = role.get("aggregationRule") if role else None
    return isinstance(rule, dict) and bool(rule.get("clusterRoleSelectors"))


def _aggregation_refusal(rbac: Rbac, user: User) -> str | None:
    """An aggregated role may come to hold anything, so it takes everything to write one."""
    held = Rules.of(rbac.rules_for(user, "").rules)
    return "must have cluster-admin privileges to use the aggregationRule" if uncovered(held, FULL_AUTHORITY) else None


# ---------------------------------------------------------------- bindings


def _binding_refusal(rbac: Rbac, user: User, new: Json, *, old: Json | None, namespace: str) -> ApiError | None:
    role = compile_role_ref(new.get("roleRef"))
    if _only_for_deletion(new, old) or _may_bind(rbac, user, role, namespace):
        return None
    rules = rbac.rules_of(role, namespace, reported_as=_RESOURCES[new["kind"]])
    if isinstance(rules, ApiError):
        return rules
    cause = _excess(rbac, user, new, namespace, rules.rules)
    return None if cause is None else _forbidden(new, cause)


def _may_bind(rbac: Rbac, user: User, role: RoleRef, namespace: str) -> bool:
    """Asked in the namespace of the binding, cluster roles too: so one may let others bind some of them there only."""
    if role.kind not in (ROLE, CLUSTER_ROLE):
        return False
    asked = Attributes(
        user,
        "bind",
        resource_request=True,
        group=role.api_group,
        version="*",
        resource=_RESOURCES[role.kind],
        namespace=namespace,
        name=role.name,
    )
    return rbac.check(asked).is_allowed


# ---------------------------------------------------------------- both


def _excess(rbac: Rbac, user: User, new: Json, namespace: str, wanted: Sequence[PolicyRule]) -> str | None:
    """What would be granted beyond what the user holds."""
    found = rbac.rules_for(user, namespace, reported_as=_RESOURCES[new["kind"]])
    try:
        missing = uncovered(Rules.of(found.rules), wanted)
    except TooManyRules as too_many:
        return str(too_many)
    if not missing:
        return None
    listed = "\n".join(sorted({str(rule) for rule in compacted(missing)}))
    who = f"user {quoted(user.name)} (groups={quoted_list(user.groups)})"
    text = f"{who} is attempting to grant RBAC permissions not currently held:\n{listed}"
    return text if found.error is None else f"{text}; resolution errors: [{found.error}]"


def _forbidden(new: Json, cause: str) -> ApiError:
    metadata = new.get("metadata") or {}
    return errors.forbidden(GroupResource(GROUP, _RESOURCES[new["kind"]]), metadata.get("name") or "", cause)


def _only_for_deletion(new: Json, old: Json | None) -> bool:
    """Whether only fields change that the garbage collector needs, to get rid of the object some day."""
    return old is not None and _compared(new) == _compared(old)


def _compared(value: Json) -> object:
    metadata = {k: v for k, v in (value.get("metadata") or {}).items() if k not in _ONLY_FOR_DELETION}
    return _without_empties({**value, "metadata": metadata})


def _without_empties(value: object) -> object:
    """Absent, null and empty are the same to Kubernetes here."""
    if isinstance(value, dict):
        kept = {k: _without_empties(v) for k, v in value.items()}
        return {k: v for k, v in kept.items() if v not in (None, "", [], {})}
    return [_without_empties(v) for v in value] if isinstance(value, list) else value
