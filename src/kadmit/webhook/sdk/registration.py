"""How an App is registered: the two configuration objects that its decorators describe, checked as an API server checks them.

A resource is named as for kubectl: `pods`, `deployments.apps`, `widgets.example.com`, `pods/status`. Kubernetes' own kinds need
no group, and come in their preferred version, whichever a client used; for all others any version will do, unless it is named.
"""

import base64
import re
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, TypeAlias

from kadmit.webhook.review import VERSIONS, Json
from kadmit.webhook.sdk.handlers import Handler

if TYPE_CHECKING:
    from kadmit.webhook.sdk.app import App

API_VERSION = "admissionregistration.k8s.io/v1"
MUTATING, VALIDATING = "MutatingWebhookConfiguration", "ValidatingWebhookConfiguration"
PLURALS = {MUTATING: "mutatingwebhookconfigurations", VALIDATING: "validatingwebhookconfigurations"}

_Place: TypeAlias = tuple[str, str, str]  # group, version, resource with its subresource
_VERSION = re.compile(r"v\d+(?:(?:alpha|beta)\d+)?")


def configurations(
    app: "App", *, url: str, service: Mapping[str, Any] | None, authority: bytes, labels: Mapping[str, str]
) -> list[Json]:
    """Of kinds that have a handler only. `url` is where paths begin, or else `service` is a reference with namespace and name."""
    if bool(url) == bool(service):
        raise ValueError("either the URL of the webhooks or a service is needed")
    client = _Client(url.rstrip("/"), service, authority)
    found = []
    for kind, mutating in ((MUTATING, True), (VALIDATING, False)):
        webhooks = [_webhook(handler, app.name, client) for handler in app.handlers.values() if handler.mutating == mutating]
        if webhooks:
            metadata = {"name": app.name, **({"labels": dict(labels)} if labels else {})}
            made = {"apiVersion": API_VERSION, "kind": kind, "metadata": metadata, "webhooks": webhooks}
            _check(made)
            found.append(made)
    return found


class _Client:
    """clientConfig, for each path."""

    def __init__(self, url: str, service: Mapping[str, Any] | None, authority: bytes) -> None:
        self._url, self._service = url, service
        self._bundle = {"caBundle": base64.b64encode(authority).decode()} if authority else {}

    def at(self, path: str) -> Json:
        if self._service is None:
            return {"url": f"{self._url}{path}", **self._bundle}
        return {"service": {**self._service, "path": f"{self._service.get('path', '').rstrip('/')}{path}"}, **self._bundle}


def _webhook(handler: Handler, domain: str, client: _Client) -> Json:
    made: Json = {
        "name": f"{handler.name}.{domain}",
        "clientConfig": client.at(handler.path),
        "rules": rules(handler),
        "failurePolicy": handler.failure_policy,
        "matchPolicy": handler.match_policy,
        "sideEffects": handler.side_effects,
        "timeoutSeconds": handler.timeout,
        "admissionReviewVersions": list(VERSIONS),
    }
    if handler.namespace_selector is not None:
        made["namespaceSelector"] = handler.namespace_selector
    if handler.object_selector is not None:
        made["objectSelector"] = handler.object_selector
    if handler.match_conditions:
        made["matchConditions"] = [{"name": name, "expression": text} for name, text in handler.match_conditions.items()]
    if handler.mutating:
        made["reinvocationPolicy"] = handler.reinvocation
    return made


def rules(handler: Handler) -> list[Json]:
    """One for each group and version. Raises ValueError for a resource that needs its group."""
    found: dict[tuple[str, str], list[str]] = {}
    for group, version, resource in _places(handler):
        found.setdefault((group, version), []).append(resource)
    return [
        {
            "apiGroups": [group],
            "apiVersions": [version],
            "resources": resources,
            "operations": list(handler.operations),
            "scope": handler.scope,
        }
        for (group, version), resources in found.items()
    ]


def _places(handler: Handler) -> Iterable[_Place]:
    if not handler.groups:
        return [_place(text, handler.versions) for text in handler.resources]
    versions = handler.versions or ("*",)
    return [(group, version, text) for group in handler.groups for version in versions for text in handler.resources]


def _place(text: str, versions: tuple[str, ...]) -> _Place:
    from kadmit.kinds import catalog

    name, slash, subresource = text.partition("/")
    word, _, rest = name.partition(".")
    if word == "*":
        return rest or "*", versions[0] if versions else "*", f"*{slash}{subresource}"
    known = catalog.builtin().named(name)
    if known:
        version = versions[0] if versions else known[0].version
        return known[0].group, version, f"{known[0].plural}{slash}{subresource}"
    if not rest:
        raise ValueError(f"resource {text!r} is none of Kubernetes' own: write it with its group, such as {word}.example.com")
    first, _, group = rest.partition(".")
    if _VERSION.fullmatch(first) and group:
        return group, first, f"{word}{slash}{subresource}"
    return rest, versions[0] if versions else "*", f"{word}{slash}{subresource}"


def _check(made: Json) -> None:
    """Raises ValueError, with what an API server would say."""
    from kadmit import validation
    from kadmit.api import registration
    from kadmit.api.meta import GroupVersionKind

    group, _, version = API_VERSION.partition("/")
    kind = GroupVersionKind(group, version, made["kind"])
    errors = validation.validate_create(kind, registration.with_defaults(kind, made))
    if errors:
        raise ValueError("; ".join(str(error) for error in errors))
