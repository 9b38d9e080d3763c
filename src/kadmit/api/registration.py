"""The kinds of admissionregistration.k8s.io: their names and versions, and what the server itself writes into them.

Objects are plain JSON, as decoding leaves them, and are never changed: every function gives a new one. All versions of a kind
have one shape, so converting is renaming; only their defaults differ.
"""

from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

from msgspec import Struct

from kadmit.api.meta import GroupVersionKind, GroupVersionResource

Json: TypeAlias = dict[str, Any]

GROUP = "admissionregistration.k8s.io"
V1, V1BETA1, V1ALPHA1 = "v1", "v1beta1", "v1alpha1"

MUTATING_POLICY, MUTATING_BINDING = "MutatingAdmissionPolicy", "MutatingAdmissionPolicyBinding"
VALIDATING_POLICY, VALIDATING_BINDING = "ValidatingAdmissionPolicy", "ValidatingAdmissionPolicyBinding"
MUTATING_WEBHOOKS, VALIDATING_WEBHOOKS = "MutatingWebhookConfiguration", "ValidatingWebhookConfiguration"


class Kind(Struct, frozen=True):
    """One kind: which versions a server has, and which more can be read from files."""

    name: str
    plural: str
    served: tuple[str, ...]
    retired: tuple[str, ...] = ()

    @property
    def readable(self) -> tuple[str, ...]:
        return self.served + self.retired


_ALL = (V1, V1BETA1, V1ALPHA1)
_OLD = (V1BETA1, V1ALPHA1)
KINDS: Mapping[str, Kind] = {
    kind.name: kind
    for kind in (
        Kind(MUTATING_POLICY, "mutatingadmissionpolicies", _ALL),
        Kind(MUTATING_BINDING, "mutatingadmissionpolicybindings", _ALL),
        Kind(VALIDATING_POLICY, "validatingadmissionpolicies", (V1,), _OLD),
        Kind(VALIDATING_BINDING, "validatingadmissionpolicybindings", (V1,), _OLD),
        Kind(MUTATING_WEBHOOKS, "mutatingwebhookconfigurations", (V1,)),
        Kind(VALIDATING_WEBHOOKS, "validatingwebhookconfigurations", (V1,)),
    )
}
POLICY_OF = {MUTATING_BINDING: MUTATING_POLICY, VALIDATING_BINDING: VALIDATING_POLICY}


class UnknownVersion(ValueError):
    """A version that the kind never had."""


def is_registration(kind: GroupVersionKind) -> bool:
    """Whether this is one of the kinds here, in a version that can be read."""
    known = KINDS.get(kind.kind)
    return kind.group == GROUP and known is not None and kind.version in known.readable


def resource_of(kind: GroupVersionKind) -> GroupVersionResource:
    return GroupVersionResource(kind.group, kind.version, KINDS[kind.kind].plural)


def convert(obj: Mapping[str, Any], version: str) -> Json:
    """The object in another version of its kind; raises UnknownVersion."""
    known = KINDS.get(obj.get("kind", ""))
    if known is None or version not in known.readable:
        raise UnknownVersion(f'no kind "{obj.get("kind", "")}" is registered for version "{GROUP}/{version}"')
    return {**obj, "apiVersion": f"{GROUP}/{version}"}


# ---------------------------------------------------------------- defaults


def with_defaults(kind: GroupVersionKind, obj: Mapping[str, Any]) -> Json:
    """The object with everything filled in that it leaves open. Null is open; an empty text is not."""
    return _DEFAULTS[kind.kind](kind.version, obj)


_MATCHING: Json = {"matchPolicy": "Equivalent", "namespaceSelector": {}, "objectSelector": {}}
_WEBHOOK: Json = {**_MATCHING, "failurePolicy": "Fail", "timeoutSeconds": 10}


def _filled(obj: Mapping[str, Any], defaults: Mapping[str, Any]) -> Json:
    missing = {key: value for key, value in defaults.items() if obj.get(key) is None}
    return {**obj, **{key: {} if value == {} else value for key, value in missing.items()}}


def _changed(obj: Mapping[str, Any], key: str, change: Callable[[Any], Any]) -> Json:
    """The object with one field changed, if it has it."""
    value = obj.get(key)
    return dict(obj) if value is None else {**obj, key: change(value)}


def _with_scopes(rules: list[Json]) -> list[Json]:
    return [_filled(rule, {"scope": "*"}) for rule in rules]


def _match_resources(raw: Json) -> Json:
    made = _changed(_filled(raw, _MATCHING), "resourceRules", _with_scopes)
    return _changed(made, "excludeResourceRules", _with_scopes)


def _policy(_version: str, obj: Mapping[str, Any]) -> Json:
    spec = _filled(obj.get("spec") or {}, {"failurePolicy": "Fail"})
    return {**obj, "spec": _changed(spec, "matchConstraints", _match_resources)}


def _binding(version: str, obj: Mapping[str, Any]) -> Json:
    spec = _changed(obj.get("spec") or {}, "matchResources", _match_resources)
    if version == V1ALPHA1:
        spec = _changed(spec, "paramRef", lambda ref: _filled(ref, {"parameterNotFoundAction": "Deny"}))
    return {**obj, "spec": spec}


def _webhooks(defaults: Mapping[str, Any]) -> Callable[[str, Mapping[str, Any]], Json]:
    def webhook(raw: Json) -> Json:
        made = _changed(_filled(raw, defaults), "rules", _with_scopes)
        return _changed(made, "clientConfig", lambda client: _changed(client, "service", lambda s: _filled(s, {"port": 443})))

    return lambda _version, obj: _changed(obj, "webhooks", lambda hooks: [webhook(hook) for hook in hooks])


_DEFAULTS: Mapping[str, Callable[[str, Mapping[str, Any]], Json]] = {
    MUTATING_POLICY: _policy,
    MUTATING_BINDING: _binding,
    VALIDATING_POLICY: _policy,
    VALIDATING_BINDING: _binding,
    MUTATING_WEBHOOKS: _webhooks({**_WEBHOOK, "reinvocationPolicy": "Never"}),
    VALIDATING_WEBHOOKS: _webhooks(_WEBHOOK),
}


# ---------------------------------------------------------------- what clients cannot write


def as_created(obj: Mapping[str, Any]) -> Json:
    """A new object as the server takes it: the first generation, and no status yet."""
    made = {**obj, "metadata": {**(obj.get("metadata") or {}), "generation": 1}}
    return {**made, "status": {}} if obj.get("kind") == VALIDATING_POLICY else made


def as_updated(new: Mapping[str, Any], old: Mapping[str, Any]) -> Json:
    """A changed object as the server takes it: a change of what it says is a new generation, and the status stays."""
    made = {**new, "metadata": {**(new.get("metadata") or {}), "generation": _generation(new, old)}}
    return {**made, "status": old.get("status") or {}} if new.get("kind") == VALIDATING_POLICY else made


def _generation(new: Mapping[str, Any], old: Mapping[str, Any]) -> int:
    part = "webhooks" if new.get("kind") in (MUTATING_WEBHOOKS, VALIDATING_WEBHOOKS) else "spec"
    before: int = (old.get("metadata") or {}).get("generation") or 0
    return before + ((new.get(part) or None) != (old.get(part) or None))


def with_status_updated(new: Mapping[str, Any], old: Mapping[str, Any]) -> Json:
    """What a write to /status makes of the old object: only its status changes."""
    return {**old, "status": new.get("status") or {}}


def deprecation(kind: GroupVersionKind) -> str | None:
    """The warning that comes with every use of an old version."""
    if kind.version == V1ALPHA1:
        return f"{kind.group_version} {kind.kind} is deprecated in v1.35+, unavailable in v1.38+"
    if kind.version == V1BETA1:
        use = f"use {GROUP}/{V1} {kind.kind}"
        return f"{kind.group_version} {kind.kind} is deprecated in v1.37+, unavailable in v1.40+; {use}"
    return None
