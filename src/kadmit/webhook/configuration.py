"""The webhook configurations that make an API server call for the policies: exactly for what they match, and for nothing else.

One MutatingWebhookConfiguration and one ValidatingWebhookConfiguration, with an entry for each share of the policies that is not
empty: failurePolicy and reinvocationPolicy are an entry's, so they are mapped one to one. An entry's rules are the union of its
policies' rules. Selectors, names and match conditions stay with the policies: an entry cannot say "this or that".

The namespace of the webhook itself is excluded, and so are the kinds that policies are never asked about: whoever could not be
reached would otherwise keep itself from coming back, and the cluster from asking who may do what.
"""

from base64 import b64encode
from collections.abc import Iterable, Mapping, Sequence

from msgspec import Struct

from kadmit.admission.exemptions import REGISTRATION
from kadmit.admission.snapshot import Snapshot
from kadmit.api import registration
from kadmit.matching.attributes import Json
from kadmit.matching.rules import Rule
from kadmit.policy.model import BoundPolicy
from kadmit.webhook.policies import Share, entries
from kadmit.webhook.view import GROUP

NAME = "00-kadmit"  # NB: configurations are called by name, and policies come before other people's webhooks
MANAGER = "kadmit-webhook"
DOMAIN = "policies.kadmit.dev"
INJECT = "cert-manager.io/inject-ca-from"
EXEMPT_GROUPS = ("authentication.k8s.io", "authorization.k8s.io", GROUP)

_ALL = Rule(frozenset("*"), frozenset("*"), frozenset("*"), frozenset({("*", "*")}))


class Target(Struct, frozen=True):
    """Where the webhook is: a Service, or (outside of the cluster) a URL. `authority`: who signed its certificates, as PEM."""

    url: str = ""
    namespace: str = ""
    service: str = ""
    port: int = 443
    authority: bytes = b""

    def client(self, path: str) -> Json:
        made: Json = {"caBundle": b64encode(self.authority).decode()} if self.authority else {}
        if self.url:
            return {"url": f"{self.url.rstrip('/')}{path}", **made}
        return {"service": {"namespace": self.namespace, "name": self.service, "path": path, "port": self.port}, **made}


class Wishes(Struct, frozen=True):
    """What the policies do not say. `certificate`: namespace/name of a cert-manager Certificate, which then brings the bundle."""

    target: Target
    excluded: tuple[str, ...] = ()  # namespaces
    timeout: int = 10
    name: str = NAME
    certificate: str = ""


def configurations(published: Mapping[Share, Snapshot], wishes: Wishes) -> tuple[Json, Json]:
    """The mutating one and the validating one."""
    made = []
    for mutating, kind in ((True, registration.MUTATING_WEBHOOKS), (False, registration.VALIDATING_WEBHOOKS)):
        found = [(share, _policies(published[share])) for share in entries() if share.mutating is mutating]
        webhooks = [_entry(share, bound, wishes) for share, bound in found if bound]
        annotations = {INJECT: wishes.certificate} if wishes.certificate else {}
        metadata = {"name": wishes.name, "labels": {"app.kubernetes.io/managed-by": MANAGER}}
        metadata |= {"annotations": annotations} if annotations else {}
        made.append({"apiVersion": f"{REGISTRATION}/v1", "kind": kind, "metadata": metadata, "webhooks": webhooks})
    return made[0], made[1]


def path_of(configuration: Mapping[str, Json]) -> str:
    """Where a configuration is in the API."""
    kind, name = str(configuration["kind"]), configuration["metadata"]["name"]
    return f"/apis/{REGISTRATION}/v1/{registration.KINDS[kind].plural}/{name}"


def entry_name(share: Share) -> str:
    """never-fail.mutate.policies.kadmit.dev"""
    half, *parts = share.path.removeprefix("/").split("/")
    return f"{'-'.join(reversed(parts))}.{half}.{DOMAIN}"


def _policies(snapshot: Snapshot) -> Sequence[BoundPolicy]:
    return (*snapshot.mutating_policies, *snapshot.validating_policies)


def _entry(share: Share, bound: Sequence[BoundPolicy], wishes: Wishes) -> Json:
    rules = union(rule for each in bound for rule in each.policy.criteria.rules or (_ALL,))
    made: Json = {
        "name": entry_name(share),
        "admissionReviewVersions": ["v1", "v1beta1"],
        "clientConfig": wishes.target.client(share.path),
        "rules": [as_json(rule) for rule in rules],
        "failurePolicy": "Fail" if share.fail else "Ignore",
        "matchPolicy": "Equivalent" if any(each.policy.criteria.equivalent for each in bound) else "Exact",
        "namespaceSelector": _elsewhere(wishes.excluded),
        "objectSelector": {},
        "sideEffects": "None",
        "timeoutSeconds": wishes.timeout,
    }
    if share.mutating:
        made["reinvocationPolicy"] = "IfNeeded" if share.reinvoke else "Never"
    if any(_in(rule.groups, group) for rule in rules for group in EXEMPT_GROUPS):
        groups = ", ".join(f'"{group}"' for group in EXEMPT_GROUPS)
        made["matchConditions"] = [{"name": "not-exempt", "expression": f"!(request.resource.group in [{groups}])"}]
    return made


def _in(items: frozenset[str], wanted: str) -> bool:
    return wanted in items or "*" in items


def _elsewhere(namespaces: Sequence[str]) -> Json:
    if not namespaces:
        return {}
    return {"matchExpressions": [{"key": "kubernetes.io/metadata.name", "operator": "NotIn", "values": sorted(namespaces)}]}


# ---------------------------------------------------------------- the union of rules

_Parts = tuple[frozenset[str], frozenset[str], frozenset[str], frozenset[tuple[str, str]], str]


def union(rules: Iterable[Rule]) -> list[Rule]:
    """Few rules that match exactly what these match, names aside."""
    found = {_without_more(rule) for rule in rules}
    while True:
        fewer = _not_covered(_joined(found))
        if fewer == found:
            return [Rule(*parts) for parts in sorted(fewer, key=_order)]
        found = fewer


def _order(parts: _Parts) -> tuple[object, ...]:
    return tuple(sorted(part) if isinstance(part, frozenset) else part for part in parts)


def _without_more(rule: Rule) -> _Parts:
    """A star covers all else, a resource with all subresources covers each of them."""

    def covered(one: tuple[str, str]) -> bool:
        resource, subresource = one
        larger = {("*", "*"), ("*", subresource), (resource, "*")} - {one}
        return not larger.isdisjoint(rule.resources)

    resources = frozenset(one for one in rule.resources if not covered(one))
    return _starred(rule.operations), _starred(rule.groups), _starred(rule.versions), resources, rule.scope


def _starred(items: frozenset[str]) -> frozenset[str]:
    return frozenset("*") if "*" in items else items


def _joined(found: set[_Parts]) -> set[_Parts]:
    """Rules that differ in one part only become one rule."""
    for part in range(4):
        groups: dict[tuple[object, ...], list[_Parts]] = {}
        for parts in found:
            groups.setdefault((*parts[:part], *parts[part + 1 :]), []).append(parts)
        found = {_together(same, part) for same in groups.values()}
    return found


def _together(same: Sequence[_Parts], part: int) -> _Parts:
    if len(same) == 1:
        return same[0]
    merged = frozenset().union(*(parts[part] for parts in same))
    whole: list[object] = list(same[0])
    whole[part] = merged
    return _without_more(Rule(*whole))  # type: ignore[arg-type]  # all parts but this one are as they were


def _not_covered(found: set[_Parts]) -> set[_Parts]:
    return {parts for parts in found if not any(_covers(other, parts) for other in found if other != parts)}


def _covers(large: _Parts, small: _Parts) -> bool:
    plain = all("*" in one or other <= one for one, other in zip(large[:3], small[:3], strict=True))
    return plain and large[4] in ("*", small[4]) and all(_has(large[3], one) for one in small[3])


def _has(resources: frozenset[tuple[str, str]], one: tuple[str, str]) -> bool:
    resource, subresource = one
    return not resources.isdisjoint({one, ("*", "*"), ("*", subresource), (resource, "*")})


def as_json(rule: Rule) -> Json:
    return {
        "operations": sorted(rule.operations),
        "apiGroups": sorted(rule.groups),
        "apiVersions": sorted(rule.versions),
        "resources": sorted(f"{resource}/{sub}" if sub else resource for resource, sub in rule.resources),
        "scope": rule.scope,
    }
