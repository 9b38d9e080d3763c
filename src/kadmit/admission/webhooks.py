"""The pure half of webhooks: whether one is called, what it is sent, and how its configuration compiles."""

from collections.abc import Mapping, Sequence
from typing import Any

from msgspec import Struct

from kadmit.api.meta import GroupVersionKind, GroupVersionResource
from kadmit.cel import environment
from kadmit.cel.environment import NEWEST
from kadmit.matching.attributes import Attributes, Json, user_info
from kadmit.matching.criteria import Criteria, compile_webhook_criteria
from kadmit.policy.compiler import compile_conditions
from kadmit.policy.model import MatchCondition


class Webhook(Struct, frozen=True):
    """One webhook of a configuration, compiled. `uid` tells it from all others, for reinvocation."""

    name: str
    configuration: str
    uid: str
    criteria: Criteria
    conditions: tuple[MatchCondition, ...]
    client: Mapping[str, Any]  # clientConfig, as registered
    fail: bool
    side_effects: str
    timeout: int
    versions: tuple[str, ...]
    reinvoke: bool = False

    @property
    def review_version(self) -> str | None:
        """The first of its review versions that we speak."""
        return next((v for v in self.versions if v in ("v1", "v1beta1")), None)


class Call(Struct, frozen=True):
    """A webhook to be called with a review. Whoever calls it makes up the uid: chance is not pure."""

    webhook: Webhook
    version: str
    request: Json  # AdmissionRequest without its uid
    mutating: bool

    def review(self, uid: str) -> Json:
        return {
            "kind": "AdmissionReview",
            "apiVersion": f"admission.k8s.io/{self.version}",
            "request": {"uid": uid, **self.request},
        }


def admission_request(attributes: Attributes, resource: GroupVersionResource, kind: GroupVersionKind) -> Json:
    """AdmissionRequest, v1 and v1beta1 alike, of attributes whose objects are already in the version of `kind`."""
    made: dict[str, Any] = {"kind": kind._asdict(), "resource": resource._asdict()}
    if attributes.subresource:
        made["subResource"] = attributes.subresource
    made["requestKind"] = attributes.kind._asdict()
    made["requestResource"] = attributes.resource._asdict()
    if attributes.subresource:
        made["requestSubResource"] = attributes.subresource
    if attributes.name:
        made["name"] = attributes.name
    if attributes.namespace:
        made["namespace"] = attributes.namespace
    made["operation"] = attributes.operation
    made["userInfo"] = user_info(attributes.user)
    made["object"] = attributes.object
    made["oldObject"] = attributes.old_object
    made["dryRun"] = attributes.dry_run
    made["options"] = attributes.options
    return made


def compile_configuration(raw: Mapping[str, Any], minor: int = NEWEST) -> tuple[Webhook, ...]:
    """The webhooks of a MutatingWebhookConfiguration or ValidatingWebhookConfiguration, defaults filled in."""
    name = raw["metadata"]["name"]
    seen: dict[str, int] = {}
    made: list[Webhook] = []
    for hook in raw.get("webhooks") or ():
        count = seen.get(hook["name"], 0)
        seen[hook["name"]] = count + 1
        made.append(_compile(hook, name, f"{name}/{hook['name']}/{count}", minor))
    return tuple(made)


def _compile(hook: Mapping[str, Any], configuration: str, uid: str, minor: int) -> Webhook:
    env = environment.admission(minor, params=False)
    return Webhook(
        name=hook["name"],
        configuration=configuration,
        uid=uid,
        criteria=compile_webhook_criteria(hook),
        conditions=compile_conditions(hook.get("matchConditions") or (), env),
        client=hook.get("clientConfig") or {},
        fail=hook.get("failurePolicy") != "Ignore",
        side_effects=hook.get("sideEffects") or "",
        timeout=hook.get("timeoutSeconds") or 10,
        versions=tuple(hook.get("admissionReviewVersions") or ()),
        reinvoke=hook.get("reinvocationPolicy") == "IfNeeded",
    )


def supports_dry_run(webhook: Webhook) -> bool:
    return webhook.side_effects in ("None", "NoneOnDryRun")


def in_order(configurations: Sequence[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    """Configurations run by name."""
    return sorted(configurations, key=lambda c: str(c["metadata"]["name"]))
