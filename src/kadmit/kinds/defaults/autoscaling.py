"""HorizontalPodAutoscalers: by cpu at 80 %, and how fast they scale where they say anything about it."""

from kadmit.kinds.defaults.rules import Json, Object, Rule, struct

CPU_UTILIZATION = 80


def cpu_metric(utilization: int) -> Object:
    return {
        "type": "Resource",
        "resource": {"name": "cpu", "target": {"type": "Utilization", "averageUtilization": utilization}},
    }


def _measured(spec: Object) -> Object:
    return spec if spec.get("metrics") else {**spec, "metrics": [cpu_metric(CPU_UTILIZATION)]}


def _percent() -> Object:
    return {"type": "Percent", "value": 100, "periodSeconds": 15}


def _up() -> Object:
    pods = {"type": "Pods", "value": 4, "periodSeconds": 15}
    return {"stabilizationWindowSeconds": 0, "selectPolicy": "Max", "policies": [pods, _percent()]}


def _down() -> Object:
    return {"selectPolicy": "Max", "policies": [_percent()]}


def _behaving(behavior: Object) -> Object:
    """Both directions, each field on its own."""
    made = behavior
    for name, default in (("scaleUp", _up()), ("scaleDown", _down())):
        given: Json = behavior.get(name) or {}
        if any(given.get(field) is None for field in default):
            kept = {field: value for field, value in given.items() if value is not None}
            made = {**made, name: {**default, **kept}}
    return made


v1: Rule = struct(parts={"spec": struct({"minReplicas": 1})})
v2: Rule = struct(parts={"spec": struct({"minReplicas": 1}, first=(_measured,), parts={"behavior": struct(first=(_behaving,))})})
