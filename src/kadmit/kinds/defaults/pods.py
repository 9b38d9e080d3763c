"""Pods and pod templates. A template gets what every pod gets, less what depends on its becoming a pod."""

from collections.abc import Sequence

from kadmit.kinds.defaults import images
from kadmit.kinds.defaults.amounts import of_whole_pod, requests_of_limits, requirements, rounded
from kadmit.kinds.defaults.rules import Json, Object, Rule, Step, each, struct
from kadmit.kinds.defaults.volumes import field_ref, volume

_http_get: Rule = struct({"path": "/", "scheme": "HTTP"})
_handler: Rule = struct(parts={"httpGet": _http_get})
_probe: Rule = struct(
    {"timeoutSeconds": 1, "periodSeconds": 10, "successThreshold": 1, "failureThreshold": 3},
    parts={"httpGet": _http_get, "grpc": struct(null={"service": ""})},
)
_value_from: Rule = struct(parts={"fieldRef": field_ref, "fileKeyRef": struct({"optional": False})})


def _pulled(container: Object) -> Object:
    if container.get("imagePullPolicy"):
        return container
    return {**container, "imagePullPolicy": images.pull_policy(container.get("image") or "")}


def _container(*first: Step) -> Rule:
    return struct(
        {"terminationMessagePath": "/dev/termination-log", "terminationMessagePolicy": "File"},
        first=(_pulled, *first),
        parts={
            "ports": each(struct({"protocol": "TCP"})),
            "env": each(struct(parts={"valueFrom": _value_from}), having="valueFrom"),
            "resources": requirements,
            "livenessProbe": _probe,
            "readinessProbe": _probe,
            "startupProbe": _probe,
            "lifecycle": struct(parts={"postStart": _handler, "preStop": _handler}),
        },
    )


_OF_EVERY_POD: dict[str, Json] = {
    "dnsPolicy": "ClusterFirst",
    "restartPolicy": "Always",
    "securityContext": {},
    "terminationGracePeriodSeconds": 30,
    "schedulerName": "default-scheduler",
}


def _spec(absent: dict[str, Json], container: Rule, first: Sequence[Step] = ()) -> Rule:
    return struct(
        absent,
        first=first,
        parts={
            "volumes": each(volume),
            "initContainers": each(container),
            "containers": each(container),
            "ephemeralContainers": each(_container()),
            "overhead": rounded,
            "resources": requirements,
        },
    )


def _host_ports(spec: Object) -> Object:
    """On the host's network a port of a container is a port of the host."""
    if not spec.get("hostNetwork"):
        return spec
    made = spec
    for name in ("containers", "initContainers"):
        containers = spec.get(name)
        if containers:
            new = [_on_host(container) for container in containers]
            if any(one is not other for one, other in zip(new, containers, strict=True)):
                made = {**made, name: new}
    return made


def _on_host(container: Object) -> Object:
    ports = container.get("ports") or ()
    if not any(map(_lacks_host_port, ports)):
        return container
    made = [{**port, "hostPort": port["containerPort"]} if _lacks_host_port(port) else port for port in ports]
    return {**container, "ports": made}


def _lacks_host_port(port: Object) -> bool:
    return bool(not port.get("hostPort") and port.get("containerPort"))


_container_status: Rule = struct(parts={"allocatedResources": rounded, "resources": requirements})
_statuses = each(_container_status)

template: Rule = struct(parts={"spec": _spec(_OF_EVERY_POD, _container())})
pod_template: Rule = struct(parts={"template": template})
pod: Rule = struct(
    parts={
        # NB: the whole pod comes first: its sums are of amounts that are not rounded yet.
        "spec": _spec({**_OF_EVERY_POD, "enableServiceLinks": True}, _container(requests_of_limits), (of_whole_pod, _host_ports)),
        "status": struct(
            parts={
                "initContainerStatuses": _statuses,
                "containerStatuses": _statuses,
                "ephemeralContainerStatuses": _statuses,
                "allocatedResources": rounded,
                "resources": requirements,
            }
        ),
    }
)
