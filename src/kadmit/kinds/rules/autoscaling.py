"""HorizontalPodAutoscalers, in the form of autoscaling/v2: a target, limits, metrics, and how fast to move."""

from collections.abc import Callable, Iterator, Mapping
from typing import Any, TypeAlias

from kadmit.api import fields
from kadmit.api.fields import FieldError, Path
from kadmit.api.gojson import Named
from kadmit.api.meta import parse_api_version
from kadmit.kinds.rules import enums, meta, naming, numbers, resources
from kadmit.kinds.rules.meta import Object

Json: TypeAlias = Any
Part: TypeAlias = Mapping[str, Json]

_AT = fields.path("spec")
_LONGEST_WINDOW, _LONGEST_PERIOD = 3600, 1800
_METRICS = ("ContainerResource", "External", "Object", "Pods", "Resource")


def create(value: Object) -> Iterator[FieldError]:
    yield from meta.created(value)
    yield from _autoscaler(as_v2(value.get("spec") or {}), any_target=False)


def update(new: Object, old: Object) -> Iterator[FieldError]:
    """A target whose version was wrong before may stay."""
    before = as_v2(old.get("spec") or {})
    wrong = _api_version_problem((before.get("scaleTargetRef") or {}).get("apiVersion") or "")
    yield from meta.updated(new, old)
    yield from _autoscaler(as_v2(new.get("spec") or {}), any_target=bool(wrong))


def as_v2(spec: Part) -> Part:
    """autoscaling/v1 knows one number, which is a metric in v2."""
    percent = spec.get("targetCPUUtilizationPercentage")
    if percent is None:
        return spec
    cpu = {"name": "cpu", "target": {"type": "Utilization", "averageUtilization": percent}}
    return {**spec, "metrics": [{"type": "Resource", "resource": cpu}]}


def _autoscaler(spec: Part, *, any_target: bool) -> Iterator[FieldError]:
    least, most, at = spec.get("minReplicas"), spec.get("maxReplicas") or 0, _AT.child("maxReplicas")
    if least is not None and least < 1:
        yield fields.invalid(_AT.child("minReplicas"), least, "must be greater than or equal to 1")
    if most == 0:
        yield fields.required(at, "must be set and greater than 0")
    elif most < 0:
        yield fields.invalid(at, most, "must be greater than or equal to 1")
    if least is not None and most < least:
        yield fields.invalid(at, most, "must be greater than or equal to `minReplicas`")
    yield from _reference(spec.get("scaleTargetRef") or {}, _AT.child("scaleTargetRef"), any_version=any_target)
    yield from _metrics(spec, least)
    for direction in ("scaleUp", "scaleDown"):
        yield from _scaling((spec.get("behavior") or {}).get(direction), _AT.child("behavior", direction))


def _reference(reference: Part, at: Path, *, any_version: bool = False, core: bool = False) -> Iterator[FieldError]:
    for member in ("kind", "name"):
        value = reference.get(member) or ""
        yield from naming.path_segment(value, at.child(member)) if value else (fields.required(at.child(member)),)
    version = reference.get("apiVersion") or ""
    wrong = "" if any_version else _api_version_problem(version, core=core)
    if wrong:
        yield fields.invalid(at.child("apiVersion"), version, wrong)


def _api_version_problem(version: str, *, core: bool = False) -> str:
    try:
        group = parse_api_version(version).group
    except ValueError as wrong:
        return str(wrong)
    return "" if group or core else "apiVersion must specify API group"


# ---------------------------------------------------------------- metrics


def _metrics(spec: Part, least: int | None) -> Iterator[FieldError]:
    metrics = spec.get("metrics") or ()
    for index, metric in enumerate(metrics):
        yield from _metric(metric, _AT.child("metrics").index(index))
    if least == 0 and not any(metric.get("type") in ("Object", "External") for metric in metrics):
        text = "must specify at least one Object or External metric to support scaling to zero replicas"
        yield fields.forbidden(_AT.child("metrics"), text)


def _metric(metric: Part, at: Path) -> Iterator[FieldError]:
    of_type = metric.get("type") or ""
    if not of_type:
        yield fields.required(at.child("type"), "must specify a metric source type")
    yield from enums.one_of(of_type, _METRICS, at.child("type"))
    given = [member for member in _SOURCES if metric.get(member) is not None]
    if given:
        yield from _SOURCES[given[0]](metric[given[0]], at.child(given[0]))
    expected = of_type[:1].lower() + of_type[1:]
    if of_type in _METRICS:
        if metric.get(expected) is None:
            yield fields.required(at.child(expected), "must populate information for the given metric source")
    else:
        yield from enums.one_of(of_type, _METRICS, at.child("type"))
    if len(given) != 1:
        for member in given:
            if member != expected:
                yield fields.forbidden(at.child(member), "must populate the given metric source only")


def _identifier(source: Part, at: Path) -> Iterator[FieldError]:
    name = (source.get("metric") or {}).get("name") or ""
    if not name:
        yield fields.required(at.child("metric", "name"), "must specify a metric name")
    else:
        yield from naming.path_segment(name, at.child("metric", "name"))


def _target(source: Part, at: Path) -> Iterator[FieldError]:
    target, place = source.get("target") or {}, at.child("target")
    of_type = target.get("type") or ""
    if not of_type:
        yield fields.required(place.child("type"), "must specify a metric target type")
    if of_type not in ("Utilization", "Value", "AverageValue"):
        yield fields.invalid(place.child("type"), Named(of_type), "must be either Utilization, Value, or AverageValue")
    for member in ("value", "averageValue"):
        if target.get(member) is not None and resources.parsed(target[member]).sign() <= 0:
            yield fields.invalid(place.child(member), str(target[member]), "must be positive")
    percent = target.get("averageUtilization")
    if percent is not None and percent < 1:
        yield fields.invalid(place.child("averageUtilization"), percent, "must be greater than 0")


def _given(source: Part, *members: str) -> int:
    return sum((source.get("target") or {}).get(member) is not None for member in members)


def _object(source: Part, at: Path) -> Iterator[FieldError]:
    yield from _reference(source.get("describedObject") or {}, at.child("describedObject"), core=True)
    yield from _identifier(source, at)
    yield from _target(source, at)
    if not _given(source, "value", "averageValue"):
        yield fields.required(at.child("target", "averageValue"), "must set either a target value or averageValue")


def _external(source: Part, at: Path) -> Iterator[FieldError]:
    yield from _identifier(source, at)
    yield from _target(source, at)
    if not _given(source, "value", "averageValue"):
        text = "must set either a target value for metric or a per-pod target"
        yield fields.required(at.child("target", "averageValue"), text)
    if _given(source, "value", "averageValue") == 2:
        text = "may not set both a target value for metric and a per-pod target"
        yield fields.forbidden(at.child("target", "value"), text)


def _pods(source: Part, at: Path) -> Iterator[FieldError]:
    yield from _identifier(source, at)
    yield from _target(source, at)
    if not _given(source, "averageValue"):
        yield fields.required(at.child("target", "averageValue"), "must specify a positive target averageValue")


def _resource(source: Part, at: Path) -> Iterator[FieldError]:
    if not source.get("name"):
        yield fields.required(at.child("name"), "must specify a resource name")
    yield from _used(source, at)


def _container_resource(source: Part, at: Path) -> Iterator[FieldError]:
    name, container = source.get("name") or "", source.get("container") or ""
    if not name:
        yield fields.required(at.child("name"), "must specify a resource name")
    else:
        yield from resources.container_name(name, at.child("name"))
    if not container:
        yield fields.required(at.child("container"), "must specify a container")
    else:
        yield from naming.label(container, at.child("container"))
    yield from _used(source, at)


def _used(source: Part, at: Path) -> Iterator[FieldError]:
    yield from _target(source, at)
    given = _given(source, "averageUtilization", "averageValue")
    if not given:
        text = "must set either a target raw value or a target utilization"
        yield fields.required(at.child("target", "averageUtilization"), text)
    if given == 2:
        text = "may not set both a target raw value and a target utilization"
        yield fields.forbidden(at.child("target", "averageValue"), text)


_SOURCES: Mapping[str, Callable[[Part, Path], Iterator[FieldError]]] = {
    "object": _object,
    "external": _external,
    "pods": _pods,
    "resource": _resource,
    "containerResource": _container_resource,
}


# ---------------------------------------------------------------- how fast to move


def _scaling(rules: Part | None, at: Path) -> Iterator[FieldError]:
    if rules is None:
        return
    window, place = rules.get("stabilizationWindowSeconds"), at.child("stabilizationWindowSeconds")
    if window is not None and window < 0:
        yield fields.invalid(place, window, "must be greater than or equal to zero")
    if window is not None and window > _LONGEST_WINDOW:
        yield fields.invalid(place, window, f"must be less than or equal to {_LONGEST_WINDOW}")
    yield from enums.one_of(rules.get("selectPolicy"), ("Disabled", "Max", "Min"), at.child("selectPolicy"))
    if not rules.get("policies"):
        yield fields.required(at.child("policies"), "must specify at least one Policy")
    for index, policy in enumerate(rules.get("policies") or ()):
        yield from _scaling_policy(policy, at.child("policies").index(index))
    yield from resources.not_negative(rules.get("tolerance"), at.child("tolerance"))


def _scaling_policy(policy: Part, at: Path) -> Iterator[FieldError]:
    yield from enums.one_of(policy.get("type") or "", ("Percent", "Pods"), at.child("type"))
    yield from numbers.positive(policy.get("value") or 0, at.child("value"))
    period = policy.get("periodSeconds") or 0
    yield from numbers.positive(period, at.child("periodSeconds"))
    if period > _LONGEST_PERIOD:
        yield fields.invalid(at.child("periodSeconds"), period, f"must be less than or equal to {_LONGEST_PERIOD}")
