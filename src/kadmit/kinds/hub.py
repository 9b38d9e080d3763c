"""What an object is like after Kubernetes has held it: it converts every built-in kind to a version of its own and back.

    made = through(("", "v1", "Pod"), defaulted)

Most objects come back as they went. The rest is here: fields that mirror each other, write-only fields, fields that live in
annotations. A server does this to whatever it decodes, and again to what mutations have made, once they are all done.
"""

import base64
from collections.abc import Callable
from typing import Any, TypeAlias

from kadmit.kinds import autoscalers
from kadmit.kinds.catalog import Gvk
from kadmit.kinds.structs import DecodeError
from kadmit.patch import gotext

Json: TypeAlias = Any
Object: TypeAlias = dict[str, Json]

_INIT_CONTAINERS = frozenset(
    f"pod.{stage}.kubernetes.io/init-container{what}" for stage in ("alpha", "beta") for what in ("s", "-statuses")
)
_TEMPLATE_GENERATION = "deprecated.daemonset.template.generation"
_ROLLBACK = "deprecated.deployment.rollback.to"
_MATCH_LABEL = "pdb.kubernetes.io/deprecated-v1beta1-empty-selector-match"


def through(gvk: Gvk, value: Object) -> Object:
    """The object as it comes back; the very same one if nothing changes. Raises DecodeError."""
    rule = _RULES.get(gvk)
    return rule(value) if rule is not None else value


def _with(value: Object, name: str, part: Json) -> Object:
    """The object with this part: itself if it has it already, without it if there is none."""
    if part is value.get(name):
        return value
    if part is None:
        return {key: member for key, member in value.items() if key != name}
    return {**value, name: part}


# ---------------------------------------------------------------- pods and their templates


def _pod(pod: Object) -> Object:
    if _is_ordinary(pod):
        return pod
    made = _unannotated(pod)
    spec, status = made.get("spec"), made.get("status")
    if spec:
        new = _account(spec)
        if (new.get("terminationGracePeriodSeconds") or 0) < 0:
            new = {**new, "terminationGracePeriodSeconds": 1}
        made = _with(made, "spec", new)
    return _with(made, "status", _addresses(status)) if status else made


def _is_ordinary(pod: Object) -> bool:
    """A quick look, for most pods come back as they went."""
    spec = pod.get("spec") or {}
    named = pod.get("status") or (pod.get("metadata") or {}).get("annotations") or "serviceAccountName" in spec
    return not named and "serviceAccount" not in spec and (spec.get("terminationGracePeriodSeconds") or 0) >= 0


def _template(template: Object) -> Object:
    made = _unannotated(template)
    return _with(made, "spec", _account(made["spec"])) if made.get("spec") else made


def _unannotated(value: Object) -> Object:
    """Annotations that told kubelets of init containers, long ago, are dropped."""
    metadata = value.get("metadata")
    annotations = metadata.get("annotations") if metadata else None
    if not metadata or not annotations or _INIT_CONTAINERS.isdisjoint(annotations):
        return value
    kept = {name: text for name, text in annotations.items() if name not in _INIT_CONTAINERS}
    return {**value, "metadata": _with(metadata, "annotations", kept or None)}


def _account(spec: Object) -> Object:
    """serviceAccount is an old name of serviceAccountName, which wins."""
    account = spec.get("serviceAccountName") or spec.get("serviceAccount")
    if not account or (spec.get("serviceAccount") == account and spec.get("serviceAccountName") == account):
        return spec
    return {**spec, "serviceAccountName": account, "serviceAccount": account}


def _addresses(status: Object) -> Object:
    """podIP is the first of podIPs; where they differ, podIP counts."""
    first, points = status.get("podIP"), status.get("podIPs")
    if first and (not points or points[0].get("ip") != first):
        return {**status, "podIPs": [{"ip": first}]}
    if points and not first and points[0].get("ip"):
        return {**status, "podIP": points[0]["ip"]}
    return status


def _inside(*path: str, rule: Callable[[Object], Object]) -> Callable[[Object], Object]:
    """The rule, for what lies at this path."""
    name, *rest = path
    inner = _inside(*rest, rule=rule) if rest else rule

    def apply(value: Object) -> Object:
        part = value.get(name)
        return _with(value, name, inner(part)) if part is not None else value

    return apply


# ---------------------------------------------------------------- workloads


def _annotations(value: Object) -> Object:
    found: Object = (value.get("metadata") or {}).get("annotations") or {}
    return found


def _annotated(value: Object, name: str, text: str) -> Object:
    metadata = value.get("metadata") or {}
    return {**value, "metadata": {**metadata, "annotations": {**(metadata.get("annotations") or {}), name: text}}}


def _whole(text: str) -> int:
    """A 64-bit integer as Go reads it. Raises DecodeError."""
    digits = text[1:] if text[:1] in ("+", "-") else text
    if not (digits.isascii() and digits.isdigit()):
        raise DecodeError(f"strconv.ParseInt: parsing {gotext.quote(text)}: invalid syntax")
    number = int(digits.lstrip("0")[:20] or "0") * (-1 if text[:1] == "-" else 1)
    if not -(2**63) <= number < 2**63:
        raise DecodeError(f"strconv.ParseInt: parsing {gotext.quote(text)}: value out of range")
    return number


def _generation(daemon_set: Object) -> Object:
    """Where the generation of the template lives."""
    text = _annotations(daemon_set).get(_TEMPLATE_GENERATION)
    number = str(_whole(text)) if text is not None else "0"
    return daemon_set if number == text else _annotated(daemon_set, _TEMPLATE_GENERATION, number)


def _rollback(deployment: Object) -> Object:
    """Where a revision to roll back to lived."""
    text = _annotations(deployment).get(_ROLLBACK)
    if text is None:
        return deployment
    if not text:
        kept = {name: value for name, value in _annotations(deployment).items() if name != _ROLLBACK}
        return {**deployment, "metadata": _with(deployment["metadata"], "annotations", kept or None)}
    try:
        number = str(_whole(text))
    except DecodeError as error:
        raise DecodeError(f"failed to parse annotation[{_ROLLBACK}]={text} as int64: {error}") from None
    return deployment if number == text else _annotated(deployment, _ROLLBACK, number)


def _steps(strategy: str, *names: str) -> Callable[[Object], Object]:
    """Steps of a rolling update that are not given are 0, where defaults have left them alone."""

    def zeroed(steps: Object) -> Object:
        missing = {name: 0 for name in names if name not in steps}
        return {**steps, **missing} if missing else steps

    return _inside("spec", strategy, "rollingUpdate", rule=zeroed)


def _claims(spec: Object) -> Object:
    """Templates of claims are objects: they say of what kind."""
    templates = spec.get("volumeClaimTemplates")
    if not templates:
        return spec
    made = [_claim(template) for template in templates]
    same = all(one is other for one, other in zip(made, templates, strict=True))
    return spec if same else {**spec, "volumeClaimTemplates": made}


def _claim(template: Object) -> Object:
    if template.get("apiVersion") == "v1" and template.get("kind") == "PersistentVolumeClaim":
        return template
    return {**template, "apiVersion": "v1", "kind": "PersistentVolumeClaim"}


# ---------------------------------------------------------------- the rest


def _secret(secret: Object) -> Object:
    """stringData is for writing only: it goes into data."""
    texts = secret.get("stringData")
    if texts is None:
        return secret
    coded = {key: base64.b64encode(text.encode()).decode() for key, text in texts.items()}
    data = {**(secret.get("data") or {}), **coded}
    return _with(_with(secret, "stringData", None), "data", data or None)


def _node_spec(spec: Object) -> Object:
    first, ranges = spec.get("podCIDR"), spec.get("podCIDRs")
    if first and (not ranges or ranges[0] != first):
        return {**spec, "podCIDRs": [first]}
    return {**spec, "podCIDR": ranges[0]} if ranges and not first and ranges[0] else spec


def _budget(spec: Object) -> Object:
    """An expression that stands for "none" does so alone; anywhere else it is dropped."""
    selector = spec.get("selector") or {}
    expressions = selector.get("matchExpressions") or []
    kept = [one for one in expressions if one.get("key") != _MATCH_LABEL]
    if len(kept) == len(expressions) or _means_none(selector, expressions):
        return spec
    return {**spec, "selector": _with(selector, "matchExpressions", kept or None)}


def _means_none(selector: Object, expressions: list[Object]) -> bool:
    alone = len(expressions) == 1 and not selector.get("matchLabels") and not expressions[0].get("values")
    return alone and expressions[0].get("operator") == "Exists"


def _conversion(conversion: Object) -> Object:
    """A conversion webhook of which nothing is said is none."""
    webhook = conversion.get("webhook")
    if webhook is None or webhook.get("clientConfig") is not None or webhook.get("conversionReviewVersions") is not None:
        return conversion
    return _with(conversion, "webhook", None)


def _autoscaler_v1(value: Object) -> Object:
    return autoscalers.to_v1(autoscalers.to_v2(value))


def _chain(*rules: Callable[[Object], Object]) -> Callable[[Object], Object]:
    def apply(value: Object) -> Object:
        for rule in rules:
            value = rule(value)
        return value

    return apply


_workload = _inside("spec", "template", rule=_template)
_RULES: dict[Gvk, Callable[[Object], Object]] = {
    ("", "v1", "Node"): _inside("spec", rule=_node_spec),
    ("", "v1", "Pod"): _pod,
    ("", "v1", "PodTemplate"): _inside("template", rule=_template),
    ("", "v1", "ReplicationController"): _workload,
    ("", "v1", "Secret"): _secret,
    ("apiextensions.k8s.io", "v1", "CustomResourceDefinition"): _inside("spec", "conversion", rule=_conversion),
    ("apps", "v1", "DaemonSet"): _chain(_workload, _generation, _steps("updateStrategy", "maxUnavailable", "maxSurge")),
    ("apps", "v1", "Deployment"): _chain(_workload, _rollback, _steps("strategy", "maxUnavailable", "maxSurge")),
    ("apps", "v1", "ReplicaSet"): _workload,
    ("apps", "v1", "StatefulSet"): _chain(_workload, _inside("spec", rule=_claims), _steps("updateStrategy", "partition")),
    ("autoscaling", "v1", "HorizontalPodAutoscaler"): _autoscaler_v1,
    ("autoscaling", "v2", "HorizontalPodAutoscaler"): autoscalers.without_texts,
    ("batch", "v1", "CronJob"): _inside("spec", "jobTemplate", rule=_workload),
    ("batch", "v1", "Job"): _workload,
    ("policy", "v1", "PodDisruptionBudget"): _inside("spec", rule=_budget),
}
