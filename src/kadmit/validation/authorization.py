"""Whoever lets a policy read params must be allowed to read them: the permission checks on paramKind and paramRef.

They come after validation, and only if it found nothing. A refusal is an error of the field, not an HTTP 403.
"""

from collections.abc import Mapping
from typing import Any, Protocol

from kadmit.api import fields
from kadmit.api.fields import FieldError
from kadmit.api.meta import GroupVersionKind, parse_api_version
from kadmit.api.registration import KINDS, MUTATING_BINDING, POLICY_OF
from kadmit.cel.library.authorizer import Attributes, Authorizer, User

SUPERUSERS = "system:masters"

_SPEC = fields.path("spec")


class Registry(Protocol):
    """What is registered. A seam, because a server looks into its store and discovery, and a tool into files."""

    def resource(self, kind: GroupVersionKind) -> str | None:
        """The plural name of a kind that is served in this version."""

    def policy(self, kind: str, name: str) -> Mapping[str, Any] | None:
        """A MutatingAdmissionPolicy or a ValidatingAdmissionPolicy, by its name."""


def authorize(
    user: User, new: Mapping[str, Any], old: Mapping[str, Any] | None, *, authorizer: Authorizer, registry: Registry
) -> list[FieldError]:
    """What the user may not register; `old` is None on create. Webhook configurations need no permission here."""
    kind, spec = new.get("kind", ""), new.get("spec") or {}
    if kind not in KINDS or SUPERUSERS in user.groups:
        return []
    if kind in POLICY_OF:
        return _param_ref(user, kind, spec, authorizer, registry) if spec.get("paramRef") is not None else []
    before = None if old is None else (old.get("spec") or {}).get("paramKind")
    param_kind = spec.get("paramKind")
    return _param_kind(user, param_kind, authorizer, registry) if param_kind is not None and param_kind != before else []


def shown(user: User) -> str:
    """As Go prints it."""
    extra = " ".join(f"{key}:[{' '.join(values)}]" for key, values in sorted(user.extra.items()))
    return f"&{{{user.name} {user.uid} [{' '.join(user.groups)}] map[{extra}]}}"


# ---------------------------------------------------------------- what is to be read


class _Target:
    """The resource behind a paramKind; whatever is unknown of it is asked for as `*`."""

    __slots__ = ("group", "resource", "trouble", "version")

    def __init__(self, raw: Mapping[str, Any] | None, registry: Registry) -> None:
        self.group = self.version = self.resource = "*"
        self.trouble = ""
        if raw is None:
            return
        try:
            self.group, self.version = parse_api_version(raw.get("apiVersion") or "")
        except ValueError:
            self.trouble = "parse"
            return
        found = registry.resource(GroupVersionKind(self.group, self.version, raw.get("kind") or ""))
        if found is None:
            self.trouble = "resolve"
        else:
            self.resource = found

    def asked(self, user: User, verb: str, *, namespace: str, name: str) -> Attributes:
        return Attributes(
            user=user,
            verb=verb,
            resource_request=True,
            group=self.group,
            version=self.version,
            resource=self.resource,
            namespace=namespace,
            name=name,
        )


def _param_kind(user: User, raw: Mapping[str, Any], authorizer: Authorizer, registry: Registry) -> list[FieldError]:
    at = _SPEC.child("paramKind")
    decision = authorizer.check(_Target(raw, registry).asked(user, "get", namespace="*", name="*"))
    if decision.error is not None:
        return [fields.forbidden(at, decision.error)]
    if decision.is_allowed:
        return []
    called = f"(kind={raw.get('kind') or ''}, apiVersion={raw.get('apiVersion') or ''})"
    text = f'user {shown(user)} must have "get" permission on all objects of the referenced paramKind {called}'
    return [fields.forbidden(at, text)]


def _param_ref(user: User, kind: str, spec: Mapping[str, Any], authorizer: Authorizer, registry: Registry) -> list[FieldError]:
    """NB: asked on every update, even of a label: Kubernetes compares paramRefs by address."""
    ref, policy = spec["paramRef"], registry.policy(POLICY_OF[kind], spec.get("policyName") or "")
    param_kind = None if policy is None else (policy.get("spec") or {}).get("paramKind")
    target = _Target(param_kind, registry)
    name = ref.get("name") or ""
    verb = "get" if name else "list"
    decision = authorizer.check(target.asked(user, verb, namespace=ref.get("namespace") or "", name=name))
    at = _SPEC.child("paramRef")
    if decision.error is not None:
        prefix = "" if kind == MUTATING_BINDING else "failed to authorize request: "
        return [fields.forbidden(at, prefix + decision.error)]
    if decision.is_allowed:
        return []
    if policy is None:
        return [fields.forbidden(at, _undetermined(f"get policy {spec.get('policyName') or ''}", user, verb))]
    if target.trouble:
        named = f"&{{{param_kind.get('apiVersion') or ''} {param_kind.get('kind') or ''}}}" if param_kind else ""
        return [fields.forbidden(at, _undetermined(f"{target.trouble} paramKind {named}", user, verb))]
    # NB: for mutating bindings the two are mixed up.
    who, what = (verb, shown(user)) if kind == MUTATING_BINDING else (shown(user), verb)
    return [fields.forbidden(at, f'user {who} does not have "{what}" permission on the object referenced by paramRef')]


def _undetermined(what: str, user: User, verb: str) -> str:
    missing = f'user {shown(user)} does not have "{verb}" permission for all groups, versions and resources'
    return f"unable to {what} to determine minimum required permissions and {missing}"
