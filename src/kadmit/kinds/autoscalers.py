"""HorizontalPodAutoscalers of both versions. v2 says everything; what v1 has no fields for, it keeps as texts in annotations.

The texts are JSON as Go writes it: metrics and statuses in the words of v1, the behavior by the names of its Go fields. They
come back from clients, so they are read with care: a text that does not fit is ignored, as Kubernetes does.
"""

from collections.abc import Mapping
from typing import Any, TypeAlias

import orjson

from kadmit.api import gojson
from kadmit.kinds import decoding, schema
from kadmit.kinds.defaults import autoscaling

Json: TypeAlias = Any
Object: TypeAlias = dict[str, Json]

_PREFIX = "autoscaling.alpha.kubernetes.io/"
_METRICS = f"{_PREFIX}metrics"
_STATUSES = f"{_PREFIX}current-metrics"
_CONDITIONS = f"{_PREFIX}conditions"
_BEHAVIOR = f"{_PREFIX}behavior"
_OURS = (_METRICS, _STATUSES, _CONDITIONS, _BEHAVIOR, f"{_PREFIX}scale-down-tolerance", f"{_PREFIX}scale-up-tolerance")

_V1 = "api.autoscaling.v1.HorizontalPodAutoscaler"
_V2 = "api.autoscaling.v2.HorizontalPodAutoscaler"
_SHARED_SPEC = ("scaleTargetRef", "minReplicas", "maxReplicas")
_SHARED_STATUS = ("observedGeneration", "lastScaleTime", "currentReplicas", "desiredReplicas")


class _Unreadable(Exception):
    """A text that does not fit."""


def without_texts(value: Object) -> Object:
    """An autoscaler of v2 never shows the annotations of v1."""
    metadata = value.get("metadata") or {}
    annotations = metadata.get("annotations") or {}
    if not any(name in annotations for name in _OURS):
        return value
    kept = {name: text for name, text in annotations.items() if name not in _OURS}
    made = {name: part for name, part in metadata.items() if name != "annotations"}
    return {**value, "metadata": {**made, "annotations": kept} if kept else made}


# ---------------------------------------------------------------- v1 to v2


def to_v2(value: Object) -> Object:
    """An autoscaler of v1 in v2. One that measures nothing at all measures the cpu."""
    spec, status = value.get("spec") or {}, value.get("status") or {}
    annotations = (value.get("metadata") or {}).get("annotations") or {}
    percentage = spec.get("targetCPUUtilizationPercentage")
    cpu = [] if percentage is None else [autoscaling.cpu_metric(percentage)]
    metrics = [*(_read(annotations, _METRICS, _metrics_of_v1) or []), *cpu] or [
        autoscaling.cpu_metric(autoscaling.CPU_UTILIZATION)
    ]
    made_spec = {**_picked(spec, _SHARED_SPEC), "metrics": metrics, "behavior": _read(annotations, _BEHAVIOR, _behavior_of_go)}
    current = _read(annotations, _STATUSES, _statuses_of_v1)
    made_status = {
        **_picked(status, _SHARED_STATUS),
        "currentMetrics": current if current is not None else _cpu_status(status),
        "conditions": _read(annotations, _CONDITIONS, _conditions),
    }
    made = {**without_texts(value), "apiVersion": "autoscaling/v2", "spec": made_spec, "status": made_status}
    return decoding.normalise(schema.definition(_V2), made).object


def _cpu_status(status: Object) -> list[Object] | None:
    percentage = status.get("currentCPUUtilizationPercentage")
    if percentage is None:
        return None
    return [{"type": "Resource", "resource": {"name": "cpu", "current": {"averageUtilization": percentage}}}]


def _read(annotations: Mapping[str, str], name: str, convert: Any) -> Json:
    """What an annotation says, or None. What it says must fit v2, or else it did not fit v1."""
    text = annotations.get(name)
    if text is None:
        return None
    try:
        return _checked(name, convert(orjson.loads(text)))
    except (orjson.JSONDecodeError, _Unreadable, decoding.DecodeError):
        return None


def _checked(name: str, part: Json) -> Json:
    place = {_METRICS: ("spec", "metrics"), _BEHAVIOR: ("spec", "behavior"), _STATUSES: ("status", "currentMetrics")}
    parent, field = place.get(name, ("status", "conditions"))
    made = decoding.normalise(schema.definition(_V2).fields[parent].schema, {field: part}).object
    return made.get(field)


def _members(value: Json) -> Object:
    """The members of an object. NB: Go takes names in any case here."""
    if value is None:
        return {}
    if not isinstance(value, dict):
        raise _Unreadable
    return {name.lower(): member for name, member in value.items()}


def _items(value: Json) -> list[Object]:
    if value is None:
        return []
    if not isinstance(value, list):
        raise _Unreadable
    return [_members(item) for item in value]


def _present(**fields: Json) -> Object:
    return {name: value for name, value in fields.items() if value is not None}


def _metrics_of_v1(value: Json) -> list[Object]:
    return [_sources(item, _SOURCES_OF_V1) for item in _items(value)]


def _statuses_of_v1(value: Json) -> list[Object]:
    return [_sources(item, _STATUSES_OF_V1) for item in _items(value)]


def _sources(item: Object, converters: Mapping[str, Any]) -> Object:
    made: Object = {"type": item.get("type")}
    for name, convert in converters.items():
        if item.get(name.lower()) is not None:
            made[name] = convert(_members(item[name.lower()]))
    return made


def _identifier(source: Object, selector: str = "selector") -> Object:
    return _present(name=source.get("metricname"), selector=source.get(selector))


def _reference(value: Json) -> Object:
    target = _members(value)
    return _present(kind=target.get("kind"), name=target.get("name"), apiVersion=target.get("apiversion"))


def _object_of_v1(source: Object) -> Object:
    """NB: v1 always shows a value, so that next to an average 0 means none."""
    value, average = source.get("targetvalue") or "0", source.get("averagevalue")
    if average is not None and value in (0, "0"):
        value = None
    target = _present(type="Value" if average is None else "AverageValue", value=value, averageValue=average)
    return {"describedObject": _reference(source.get("target")), "target": target, "metric": _identifier(source)}


def _pods_of_v1(source: Object) -> Object:
    target = {"type": "AverageValue", "averageValue": source.get("targetaveragevalue") or "0"}
    return {"target": target, "metric": _identifier(source)}


def _resource_of_v1(source: Object) -> Object:
    utilization = source.get("targetaverageutilization")
    kind = "AverageValue" if utilization is None else "Utilization"
    target = _present(type=kind, averageValue=source.get("targetaveragevalue"), averageUtilization=utilization)
    return _present(name=source.get("name"), container=source.get("container"), target=target)


def _external_of_v1(source: Object) -> Object:
    value = source.get("targetvalue")
    kind = "AverageValue" if value is None else "Value"
    target = _present(type=kind, value=value, averageValue=source.get("targetaveragevalue"))
    return {"target": target, "metric": _identifier(source, "metricselector")}


def _object_status_of_v1(status: Object) -> Object:
    current = _present(value=status.get("currentvalue") or "0", averageValue=status.get("averagevalue"))
    return {"current": current, "describedObject": _reference(status.get("target")), "metric": _identifier(status)}


def _pods_status_of_v1(status: Object) -> Object:
    return {"current": {"averageValue": status.get("currentaveragevalue") or "0"}, "metric": _identifier(status)}


def _resource_status_of_v1(status: Object) -> Object:
    current = _present(
        averageValue=status.get("currentaveragevalue") or "0", averageUtilization=status.get("currentaverageutilization")
    )
    return _present(name=status.get("name"), container=status.get("container"), current=current)


def _external_status_of_v1(status: Object) -> Object:
    current = _present(value=status.get("currentvalue") or "0", averageValue=status.get("currentaveragevalue"))
    return {"current": current, "metric": _identifier(status, "metricselector")}


_SOURCES_OF_V1 = {
    "object": _object_of_v1,
    "pods": _pods_of_v1,
    "resource": _resource_of_v1,
    "containerResource": _resource_of_v1,
    "external": _external_of_v1,
}
_STATUSES_OF_V1 = {
    "object": _object_status_of_v1,
    "pods": _pods_status_of_v1,
    "resource": _resource_status_of_v1,
    "containerResource": _resource_status_of_v1,
    "external": _external_status_of_v1,
}


def _conditions(value: Json) -> list[Object]:
    names = ("type", "status", "lastTransitionTime", "reason", "message")
    return [{name: item[name.lower()] for name in names if name.lower() in item} for item in _items(value)]


def _behavior_of_go(value: Json) -> Object | None:
    rules = _members(value)
    made = _present(scaleUp=_rules_of_go(rules.get("scaleup")), scaleDown=_rules_of_go(rules.get("scaledown")))
    return made or None


def _rules_of_go(value: Json) -> Object | None:
    if value is None:
        return None
    rules = _members(value)
    made = _present(
        stabilizationWindowSeconds=rules.get("stabilizationwindowseconds"),
        selectPolicy=rules.get("selectpolicy"),
        tolerance=rules.get("tolerance"),
    )
    if rules.get("policies") is not None:
        made["policies"] = [
            _present(type=one.get("type"), value=one.get("value"), periodSeconds=one.get("periodseconds"))
            for one in _items(rules["policies"])
        ]
    return made


# ---------------------------------------------------------------- v2 to v1


def to_v1(value: Object) -> Object:
    """An autoscaler of v2 in v1."""
    bare = without_texts(value)
    spec, status = value.get("spec") or {}, value.get("status") or {}
    texts = dict(_texts(spec, status))
    if texts:
        metadata = bare.get("metadata") or {}
        bare = {**bare, "metadata": {**metadata, "annotations": {**(metadata.get("annotations") or {}), **texts}}}
    cpu = next((_cpu_target(metric) for metric in spec.get("metrics") or () if _cpu_target(metric) is not None), None)
    made_spec = {**_picked(spec, _SHARED_SPEC), **_present(targetCPUUtilizationPercentage=cpu)}
    current = [found for metric in status.get("currentMetrics") or () if (found := _cpu_current(metric)) is not None]
    made_status = {**_picked(status, _SHARED_STATUS), **({"currentCPUUtilizationPercentage": current[-1]} if current else {})}
    made = {**bare, "apiVersion": "autoscaling/v1", "spec": made_spec, "status": made_status}
    return decoding.normalise(schema.definition(_V1), made).object


def _texts(spec: Object, status: Object) -> list[tuple[str, str]]:
    """The annotations that say what v1 cannot."""
    others = [_metric_in_v1(metric) for metric in spec.get("metrics") or () if _cpu_target(metric) is None]
    statuses = [_status_in_v1(metric) for metric in status.get("currentMetrics") or ()]
    made: list[tuple[str, Json]] = [(_METRICS, others), (_STATUSES, statuses)]
    if spec.get("behavior") is not None:
        made.append((_BEHAVIOR, _behavior_in_go(spec["behavior"])))
    made.append((_CONDITIONS, [_ordered_condition(condition) for condition in status.get("conditions") or ()]))
    return [(name, gojson.marshal(part)) for name, part in made if part]


def _cpu_target(metric: Object) -> int | None:
    resource = metric.get("resource")
    if metric.get("type") != "Resource" or resource is None or resource.get("name") != "cpu":
        return None
    found: int | None = (resource.get("target") or {}).get("averageUtilization")
    return found


def _cpu_current(metric: Object) -> int | None:
    resource = metric.get("resource")
    if metric.get("type") != "Resource" or resource is None or resource.get("name") != "cpu":
        return None
    found: int | None = (resource.get("current") or {}).get("averageUtilization")
    return found


def _metric_in_v1(metric: Object) -> Object:
    return _in_v1(metric, _SOURCES_IN_V1)


def _status_in_v1(metric: Object) -> Object:
    return _in_v1(metric, _STATUSES_IN_V1)


def _in_v1(metric: Object, converters: Mapping[str, Any]) -> Object:
    made: Object = {"type": metric.get("type") or ""}
    for name, convert in converters.items():
        if metric.get(name) is not None:
            made[name] = convert(metric[name])
    return made


def _parts(source: Object, which: str) -> tuple[Object, Object]:
    return source.get("metric") or {}, source.get(which) or {}


def _ordered_reference(value: Json) -> Object:
    made = {"kind": (value or {}).get("kind") or "", "name": (value or {}).get("name") or ""}
    return {**made, **_present(apiVersion=(value or {}).get("apiVersion"))}


def _ordered_selector(value: Json) -> Json:
    """NB: maps are written by their keys, structs by their source."""
    if value is None:
        return None
    labels = value.get("matchLabels")
    expressions = value.get("matchExpressions")
    return _present(
        matchLabels={key: labels[key] for key in sorted(labels)} if labels else None,
        matchExpressions=[_ordered_expression(one) for one in expressions] if expressions else None,
    )


def _ordered_expression(value: Object) -> Object:
    return {"key": value.get("key") or "", "operator": value.get("operator") or "", **_present(values=value.get("values"))}


def _object_in_v1(source: Object) -> Object:
    metric, target = _parts(source, "target")
    return {
        "target": _ordered_reference(source.get("describedObject")),
        "metricName": metric.get("name") or "",
        "targetValue": target.get("value") or "0",
        **_present(selector=_ordered_selector(metric.get("selector")), averageValue=target.get("averageValue")),
    }


def _pods_in_v1(source: Object) -> Object:
    metric, target = _parts(source, "target")
    made = {"metricName": metric.get("name") or "", "targetAverageValue": target.get("averageValue") or "0"}
    return {**made, **_present(selector=_ordered_selector(metric.get("selector")))}


def _resource_in_v1(source: Object) -> Object:
    _, target = _parts(source, "target")
    amounts = _present(
        targetAverageUtilization=target.get("averageUtilization"),
        targetAverageValue=target.get("averageValue"),
    )
    return {"name": source.get("name") or "", **amounts}


def _container_in_v1(source: Object) -> Object:
    return {**_resource_in_v1(source), "container": source.get("container") or ""}


def _external_in_v1(source: Object) -> Object:
    metric, target = _parts(source, "target")
    more = _present(
        metricSelector=_ordered_selector(metric.get("selector")),
        targetValue=target.get("value"),
        targetAverageValue=target.get("averageValue"),
    )
    return {"metricName": metric.get("name") or "", **more}


def _object_status_in_v1(status: Object) -> Object:
    metric, current = _parts(status, "current")
    return {
        "target": _ordered_reference(status.get("describedObject")),
        "metricName": metric.get("name") or "",
        "currentValue": current.get("value") or "0",
        **_present(selector=_ordered_selector(metric.get("selector")), averageValue=current.get("averageValue")),
    }


def _pods_status_in_v1(status: Object) -> Object:
    metric, current = _parts(status, "current")
    made = {"metricName": metric.get("name") or "", "currentAverageValue": current.get("averageValue") or "0"}
    return {**made, **_present(selector=_ordered_selector(metric.get("selector")))}


def _resource_status_in_v1(status: Object) -> Object:
    _, current = _parts(status, "current")
    utilization = _present(currentAverageUtilization=current.get("averageUtilization"))
    return {"name": status.get("name") or "", **utilization, "currentAverageValue": current.get("averageValue") or "0"}


def _container_status_in_v1(status: Object) -> Object:
    return {**_resource_status_in_v1(status), "container": status.get("container") or ""}


def _external_status_in_v1(status: Object) -> Object:
    metric, current = _parts(status, "current")
    return {
        "metricName": metric.get("name") or "",
        **_present(metricSelector=_ordered_selector(metric.get("selector"))),
        "currentValue": current.get("value") or "0",
        **_present(currentAverageValue=current.get("averageValue")),
    }


_SOURCES_IN_V1 = {
    "object": _object_in_v1,
    "pods": _pods_in_v1,
    "resource": _resource_in_v1,
    "containerResource": _container_in_v1,
    "external": _external_in_v1,
}
_STATUSES_IN_V1 = {
    "object": _object_status_in_v1,
    "pods": _pods_status_in_v1,
    "resource": _resource_status_in_v1,
    "containerResource": _container_status_in_v1,
    "external": _external_status_in_v1,
}


def _behavior_in_go(behavior: Object) -> Object:
    return {"ScaleUp": _rules_in_go(behavior.get("scaleUp")), "ScaleDown": _rules_in_go(behavior.get("scaleDown"))}


def _rules_in_go(rules: Object | None) -> Object | None:
    if rules is None:
        return None
    policies = rules.get("policies")
    return {
        "StabilizationWindowSeconds": rules.get("stabilizationWindowSeconds"),
        "SelectPolicy": rules.get("selectPolicy"),
        "Policies": [_policy_in_go(policy) for policy in policies] if policies is not None else None,
        "Tolerance": rules.get("tolerance"),
    }


def _policy_in_go(policy: Object) -> Object:
    seconds = policy.get("periodSeconds") or 0
    return {"Type": policy.get("type") or "", "Value": policy.get("value") or 0, "PeriodSeconds": seconds}


def _ordered_condition(condition: Object) -> Object:
    made = {"type": condition.get("type") or "", "status": condition.get("status") or ""}
    made["lastTransitionTime"] = condition.get("lastTransitionTime")
    return {**made, **_present(reason=condition.get("reason"), message=condition.get("message"))}


def _picked(value: Object, names: tuple[str, ...]) -> Object:
    return {name: value[name] for name in names if name in value}
