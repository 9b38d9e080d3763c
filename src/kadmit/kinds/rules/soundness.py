"""A quick look at a pod: is everything about it so ordinary that no rule can have anything against it?

Nearly all pods are in order, and the rules are made to tell what is wrong, and where. So a look is taken before them that knows
neither texts nor places, and gives up at whatever is unusual: then the rules decide. It may be too careful, never too generous.
What is seldom seen is asked of its rule itself, whose answer is only counted here.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, NamedTuple, TypeAlias

from kadmit.api.fields import FieldError, Path
from kadmit.kinds import soundnames
from kadmit.kinds.rules import handlers, naming, numbers, resources, scheduling, security, variables, volumes

Json: TypeAlias = Any
Part: TypeAlias = Mapping[str, Json]

_NOWHERE = Path()  # errors are counted, not shown

_is_port_name = soundnames.remembered(naming.port, 15)
_is_variable = soundnames.remembered(naming.variable, 256)


class _Pod(NamedTuple):
    """What of its pod a container depends on."""

    volumes: Mapping[str, Part]
    spec: Part
    allow_privileged: bool


def is_sound(spec: Part, *, allow_privileged: bool = False) -> bool:
    """Whether the spec of a pod, or of a template, is certainly in order."""
    known = _volumes(spec.get("volumes") or ())
    if known is None or not spec.keys() >= _NEEDED:
        return False
    pod = _Pod(known, spec, allow_privileged)
    for member, value in spec.items():
        if member not in _FREE:
            check = _MEMBERS.get(member)
            if check is None or value is None or not check(value, pod):
                return False
    return _are_containers(spec["containers"], spec.get("initContainers") or (), pod)


def _silent(errors: Iterable[FieldError]) -> bool:
    return next(iter(errors), None) is None


# ---------------------------------------------------------------- containers


def _are_containers(regular: list[Part], first: Iterable[Part], pod: _Pod) -> bool:
    if not regular:
        return False
    seen: set[str] = set()
    for container in regular:
        if "restartPolicy" in container or not _is_container(container, seen, pod):
            return False
    return all(_is_init_container(container) and _is_container(container, seen, pod) for container in first)


def _is_init_container(container: Part) -> bool:
    """Either one that goes on running, or one without hooks and probes."""
    policy = container.get("restartPolicy")
    return policy == "Always" or (policy is None and container.keys().isdisjoint(_ONLY_WHILE_RUNNING))


def _is_container(container: Part, seen: set[str], pod: _Pod) -> bool:
    if not container.keys() >= _NEEDED_OF_CONTAINERS:
        return False
    for member, value in container.items():
        if member not in _FREE_OF_CONTAINERS:
            check = _MEMBERS_OF_CONTAINERS.get(member)
            if check is None or value is None or not check(value, pod):
                return False
    name = container["name"]
    if name in seen:
        return False
    seen.add(name)
    return True


def _are_ports(ports: list[Part], pod: _Pod) -> bool:
    seen: set[str] = set()
    for port in ports:
        if port.get("hostPort") or port.get("protocol") not in _PROTOCOLS or not 0 < (port.get("containerPort") or 0) < 65536:
            return False
        name = port.get("name")
        if name:
            if name in seen or not _is_port_name(name):
                return False
            seen.add(name)
    return True


def _are_variables(values: list[Part], pod: _Pod) -> bool:
    for variable in values:
        if not _is_variable(variable.get("name") or ""):
            return False
        source = variable.get("valueFrom")
        if source is not None and ("fileKeyRef" in source or not _silent(variables.all_of([variable], _NOWHERE))):
            return False
    return True


def _are_mounts(mounts: list[Part], pod: _Pod) -> bool:
    seen: set[str] = set()
    for mount in mounts:
        path = mount.get("mountPath")
        if not path or path in seen or mount.get("name") not in pod.volumes or not mount.keys() <= _OF_MOUNTS:
            return False
        seen.add(path)
        within = mount.get("subPath")
        if within and (within[0] == "/" or ".." in within):
            return False
    return True


def _is_security(value: Part, pod: _Pod) -> bool:
    if not value:
        return True
    users = pod.spec.get("hostUsers") is not False
    found = security.of_container(value, _NOWHERE, host_users=users, allow_privileged=pod.allow_privileged)
    return "windowsOptions" not in value and _silent(found)


def _is_security_of_pod(value: Part, pod: _Pod) -> bool:
    return not value or ("windowsOptions" not in value and _silent(security.of_pod(pod.spec, _NOWHERE)))


# ---------------------------------------------------------------- amounts


def _are_resources(value: Part, pod: _Pod) -> bool:
    limits, requests = value.get("limits") or {}, value.get("requests") or {}
    if "claims" in value:
        return False
    if not (limits.keys() <= _COMPUTE and requests.keys() <= _COMPUTE):
        return _silent(resources.requirements(value, _NOWHERE))
    for name, limit in limits.items():
        if not _fits(requests.get(name, "0"), limit):
            return False
    return all(name in limits or _fits(request, request) for name, request in requests.items())


def _fits(request: Json, limit: Json) -> bool:
    """Whether a request is neither below zero nor above its limit."""
    return resources.compare("0", request) <= 0 and resources.compare(request, limit) <= 0


# ---------------------------------------------------------------- probes


def _is_probe(probe: Part, pod: _Pod) -> bool:
    """One that asks in one way, and counts from zero."""
    ways = 0
    for member, value in probe.items():
        if value is None:
            return False
        if member not in _COUNTS:
            check = _WAYS.get(member)
            if check is None or not check(value):
                return False
            ways += 1
        elif value < 0:
            return False
    return ways == 1


def _is_liveness(probe: Part, pod: _Pod) -> bool:
    return probe.get("successThreshold") == 1 and _is_probe(probe, pod)


def _is_lifecycle(value: Part, pod: _Pod) -> bool:
    return _silent(handlers.lifecycle(value, pod.spec["terminationGracePeriodSeconds"], None, _NOWHERE))


def _is_command(action: Part) -> bool:
    return bool(action.get("command"))


def _is_request(action: Part) -> bool:
    if not action.get("path") or action.get("scheme") not in _SCHEMES or not _has_port(action):
        return False
    headers = action.get("httpHeaders")
    return not headers or not any(naming.header(header.get("name") or "") for header in headers)


def _has_port(action: Part) -> bool:
    port = action.get("port")
    return 0 < port < 65536 if isinstance(port, int) else port is not None and _is_port_name(port)


# ---------------------------------------------------------------- volumes


def _volumes(values: Iterable[Part]) -> dict[str, Part] | None:
    """All of them by name; None, unless all are sound."""
    known: dict[str, Part] = {}
    for volume in values:
        name = volume.get("name") or ""
        if len(volume) != 2 or name in known or not soundnames.is_label(name):
            return None
        for member, source in volume.items():
            if member != "name" and not _is_source(member, source):
                return None
        known[name] = volume
    return known


def _is_source(member: str, source: Json) -> bool:
    """NB: claims and images of a volume depend on what they are volumes of."""
    if member == "emptyDir" and source == {}:
        return True
    rule = volumes.SOURCES.get(member)
    return rule is not None and source is not None and member not in _DEPENDENT and _silent(rule(source, _NOWHERE))


# ---------------------------------------------------------------- tables

_Check: TypeAlias = Callable[[Json, _Pod], bool]


def _in(*values: Json) -> _Check:
    allowed = frozenset(values)
    return lambda value, pod: value in allowed


def _named(is_sound: soundnames.IsSound) -> _Check:
    return lambda value, pod: is_sound(value)


def _if_silent(rule: Callable[[Json, Path], Iterator[FieldError]]) -> _Check:
    return lambda value, pod: _silent(rule(value, _NOWHERE))


def _anything(value: Json, pod: _Pod) -> bool:
    return True


_PROTOCOLS, _SCHEMES = frozenset(("SCTP", "TCP", "UDP")), frozenset(("HTTP", "HTTPS"))
_COMPUTE = frozenset(("cpu", "memory", "ephemeral-storage"))
_OF_MOUNTS = frozenset(("name", "mountPath", "readOnly", "subPath"))
_DEPENDENT = frozenset(("ephemeral", "image"))
_COUNTS = frozenset(("initialDelaySeconds", "timeoutSeconds", "periodSeconds", "successThreshold", "failureThreshold"))
_WAYS: Mapping[str, Callable[[Part], bool]] = {
    "exec": _is_command,
    "httpGet": _is_request,
    "tcpSocket": _has_port,
    "grpc": _has_port,
}

_NEEDED_OF_CONTAINERS = frozenset(("name", "image", "terminationMessagePolicy", "imagePullPolicy"))
_ONLY_WHILE_RUNNING = frozenset(("lifecycle", "livenessProbe", "readinessProbe", "startupProbe"))
# Members that no rule is about.
_FREE_OF_CONTAINERS = frozenset(("args", "command", "stdin", "stdinOnce", "terminationMessagePath", "tty", "workingDir"))
_MEMBERS_OF_CONTAINERS: Mapping[str, _Check] = {
    "name": _named(soundnames.is_label),
    "image": lambda image, pod: bool(image),
    "imagePullPolicy": _in("Always", "IfNotPresent", "Never"),
    "terminationMessagePolicy": _in("File", "FallbackToLogsOnError"),
    "restartPolicy": _in("Always"),
    "ports": _are_ports,
    "env": _are_variables,
    "envFrom": _if_silent(variables.sources),
    "volumeMounts": _are_mounts,
    "resources": _are_resources,
    "securityContext": _is_security,
    "livenessProbe": _is_liveness,
    "readinessProbe": _is_probe,
    "startupProbe": _is_liveness,
    "lifecycle": _is_lifecycle,
}

_NEEDED = frozenset(("containers", "dnsPolicy", "restartPolicy", "terminationGracePeriodSeconds"))
_FREE = frozenset(
    (
        "automountServiceAccountToken", "containers", "enableServiceLinks", "imagePullSecrets", "initContainers", "priority",
        "schedulerName", "serviceAccount", "setHostnameAsFQDN", "volumes",
    )
)  # fmt: skip
_MEMBERS: Mapping[str, _Check] = {
    "activeDeadlineSeconds": _if_silent(lambda value, at: numbers.between(value, 1, numbers.MAX_INT32, at)),
    "affinity": _if_silent(scheduling.affinity),
    "dnsPolicy": _in("ClusterFirstWithHostNet", "ClusterFirst", "Default"),
    "hostIPC": _in(False),
    "hostNetwork": _in(False),
    "hostPID": _in(False),
    "hostUsers": _in(True),
    "hostname": _named(soundnames.is_label),
    "nodeName": _named(soundnames.is_subdomain),
    "nodeSelector": lambda value, pod: soundnames.are_labels(value),
    "preemptionPolicy": _in("PreemptLowerPriority", "Never"),
    "priorityClassName": _named(soundnames.is_subdomain),
    "restartPolicy": _in("Always", "OnFailure", "Never"),
    "runtimeClassName": _named(soundnames.is_subdomain),
    "securityContext": _is_security_of_pod,
    "serviceAccountName": _named(soundnames.is_subdomain),
    "shareProcessNamespace": _anything,
    "subdomain": _named(soundnames.is_label),
    "terminationGracePeriodSeconds": _anything,
    "tolerations": _if_silent(scheduling.tolerations),
    "topologySpreadConstraints": _if_silent(scheduling.spread),
}
