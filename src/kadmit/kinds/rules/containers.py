"""Containers of a pod: names, images, ports, variables, mounts, and which kinds of container take what."""

from collections.abc import Iterator, Mapping
from typing import Any, TypeAlias

from msgspec import Struct

from kadmit.api import fields
from kadmit.api.fields import FieldError, Path
from kadmit.kinds.rules import enums, handlers, naming, numbers, resources, security, variables
from kadmit.kinds.rules.mounts import devices, mounts

Json: TypeAlias = Any
Container: TypeAlias = Mapping[str, Json]

PROTOCOLS = ("SCTP", "TCP", "UDP")
_ONLY_SIDECARS = "may not be set for init containers without restartPolicy=Always"
_NOT_EPHEMERAL = (
    *("ports", "resources", "resizePolicy", "restartPolicy", "restartPolicyRules"),
    *("livenessProbe", "readinessProbe", "startupProbe", "lifecycle"),
)
_MAX_RULES, _MAX_EXIT_CODES = 20, 255


class Surroundings(Struct, frozen=True):
    """What of its pod a container depends on."""

    volumes: Mapping[str, Mapping[str, Json]]
    claims: frozenset[str]
    grace: int | None
    os: str | None
    restart_policy: str
    host_users: bool
    allow_privileged: bool


def regular(containers: list[Container], pod: Surroundings, at: Path) -> Iterator[FieldError]:
    if not containers:
        yield fields.required(at)
        return
    seen: set[str] = set()
    for index, container in enumerate(containers):
        place, name = at.index(index), container.get("name") or ""
        yield from _container(container, pod, place)
        if name in seen:
            yield fields.duplicate(place.child("name"), name)
        seen.add(name)
        yield from _hooks_and_probes(container, pod, place)
        yield from _restarts(container, place)
    yield from _host_ports(containers, at)


def init(containers: list[Container], others: list[Container], pod: Surroundings, at: Path) -> Iterator[FieldError]:
    seen = {other.get("name") or "" for other in others}
    for index, container in enumerate(containers):
        place, name = at.index(index), container.get("name") or ""
        yield from _container(container, pod, place)
        yield from _restarts(container, place)
        if name in seen:
            yield fields.duplicate(place.child("name"), name)
        elif name:
            seen.add(name)
        # NB: ports are those of the first container in the errors, whichever it is.
        yield from _host_ports([container], at)
        if container.get("restartPolicy") == "Always":
            yield from _hooks_and_probes(container, pod, place)
        else:
            yield from _without_hooks(container, place)


def _without_hooks(container: Container, at: Path) -> Iterator[FieldError]:
    for member in ("lifecycle", "livenessProbe", "readinessProbe", "startupProbe"):
        if container.get(member) is not None:
            yield fields.forbidden(at.child(member), _ONLY_SIDECARS)
    for index, policy in enumerate(container.get("resizePolicy") or ()):
        if policy.get("restartPolicy") == "RestartContainer":
            text = "must not be set to 'RestartContainer' for non-sidecar initContainers"
            yield fields.invalid(at.child("resizePolicy").index(index).child("restartPolicy"), "RestartContainer", text)


def ephemeral(containers: list[Container], others: list[Container], pod: Surroundings, at: Path) -> Iterator[FieldError]:
    targets = {other.get("name") or "" for other in others}
    seen = set(targets)
    for index, container in enumerate(containers):
        place, name = at.index(index), container.get("name") or ""
        yield from _container(container, pod, place)
        yield from padded_image(container, place)
        if name in seen:
            yield fields.duplicate(place.child("name"), name)
        seen.add(name)
        target = container.get("targetContainerName") or ""
        if target and target not in targets:
            yield fields.not_found(place.child("targetContainerName"), target)
        yield from _not_ephemeral(container, place)


def _not_ephemeral(container: Container, at: Path) -> Iterator[FieldError]:
    text = "cannot be set for an Ephemeral Container"
    for member in _NOT_EPHEMERAL:
        if container.get(member):
            yield fields.forbidden(at.child(member), text)
    for index, mount in enumerate(container.get("volumeMounts") or ()):
        for member in ("subPath", "subPathExpr"):
            if mount.get(member):
                yield fields.forbidden(at.child("volumeMounts").index(index).child(member), text)


def has_padded_image(container: Container) -> bool:
    image = container.get("image") or ""
    return bool(image.strip() != image)


def padded_image(container: Container, at: Path) -> Iterator[FieldError]:
    if has_padded_image(container):
        yield fields.invalid(at.child("image"), container["image"], "must not have leading or trailing whitespace")


# ---------------------------------------------------------------- what all have in common


def _container(container: Container, pod: Surroundings, at: Path) -> Iterator[FieldError]:
    name = container.get("name") or ""
    yield from naming.label(name, at.child("name")) if name else (fields.required(at.child("name")),)
    if not container.get("image"):
        yield fields.required(at.child("image"))
    policy = container.get("terminationMessagePolicy")
    yield from enums.required_one_of(policy, ("File", "FallbackToLogsOnError"), at.child("terminationMessagePolicy"))
    yield from _ports(container.get("ports") or [], at.child("ports"))
    yield from variables.all_of(container.get("env") or (), at.child("env"))
    yield from variables.sources(container.get("envFrom") or (), at.child("envFrom"))
    yield from mounts(container, pod.volumes, at.child("volumeMounts"))
    yield from devices(container, pod.volumes, at.child("volumeDevices"))
    pull = container.get("imagePullPolicy")
    yield from enums.required_one_of(pull, ("Always", "IfNotPresent", "Never"), at.child("imagePullPolicy"))
    yield from resources.requirements(container.get("resources"), at.child("resources"), claims=pod.claims)
    yield from _resizing(container.get("resizePolicy") or [], pod.restart_policy, at.child("resizePolicy"))
    yield from security.of_container(
        container.get("securityContext"),
        at.child("securityContext"),
        host_users=pod.host_users,
        allow_privileged=pod.allow_privileged,
    )


def _hooks_and_probes(container: Container, pod: Surroundings, at: Path) -> Iterator[FieldError]:
    yield from handlers.lifecycle(container.get("lifecycle"), pod.grace, pod.os, at.child("lifecycle"))
    yield from handlers.liveness(container.get("livenessProbe"), at.child("livenessProbe"))
    yield from handlers.readiness(container.get("readinessProbe"), at.child("readinessProbe"))
    yield from handlers.liveness(container.get("startupProbe"), at.child("startupProbe"))


def _ports(ports: list[Mapping[str, Json]], at: Path) -> Iterator[FieldError]:
    seen: set[str] = set()
    for index, port in enumerate(ports):
        place, name = at.index(index), port.get("name") or ""
        problems = naming.port(name) if name else []
        yield from naming.complaints(problems, name, place.child("name"))
        if not problems and name in seen:
            yield fields.duplicate(place.child("name"), name)
        seen |= {name} if name and not problems else set()
        if not port.get("containerPort"):
            yield fields.required(place.child("containerPort"))
        else:
            yield from numbers.port(port["containerPort"], place.child("containerPort"))
        yield from numbers.port(port.get("hostPort") or None, place.child("hostPort"))
        yield from enums.required_one_of(port.get("protocol"), PROTOCOLS, place.child("protocol"))


def _host_ports(containers: list[Container], at: Path) -> Iterator[FieldError]:
    """A port of the host can be given out once."""
    seen: set[str] = set()
    for which, container in enumerate(containers):
        for index, port in enumerate(container.get("ports") or ()):
            if not port.get("hostPort"):
                continue
            used = f"{port.get('protocol') or ''}/{port.get('hostIP') or ''}/{port['hostPort']}"
            if used in seen:
                yield fields.duplicate(at.index(which).child("ports").index(index).child("hostPort"), used)
            seen.add(used)


def _resizing(policies: list[Mapping[str, Json]], restart_policy: str, at: Path) -> Iterator[FieldError]:
    """NB: most errors do not say which of the policies they are about."""
    seen: set[str] = set()
    for index, policy in enumerate(policies):
        resource, restart = policy.get("resourceName") or "", policy.get("restartPolicy") or ""
        if resource in seen:
            yield fields.duplicate(at.index(index), resource)
        seen.add(resource)
        yield from enums.required_one_of(resource, ("cpu", "memory"), at)
        yield from enums.required_one_of(restart, ("NotRequired", "RestartContainer"), at)
        if restart_policy == "Never" and restart != "NotRequired":
            yield fields.invalid(at, restart, "must be 'NotRequired' when pod `restartPolicy` is 'Never'")


def _restarts(container: Container, at: Path) -> Iterator[FieldError]:
    policy, rules = container.get("restartPolicy"), container.get("restartPolicyRules") or ()
    if policy is None and rules:
        yield fields.required(at.child("restartPolicy"), "must specify restartPolicy when restart rules are used")
    yield from enums.one_of(policy, ("Always", "Never", "OnFailure"), at.child("restartPolicy"))
    if len(rules) > _MAX_RULES:
        yield fields.too_many(at.child("restartPolicyRules"), len(rules), _MAX_RULES)
    for index, rule in enumerate(rules):
        yield from _restart_rule(rule, at.child("restartPolicyRules").index(index))


def _restart_rule(rule: Mapping[str, Json], at: Path) -> Iterator[FieldError]:
    yield from enums.one_of(rule.get("action") or "", ("Restart", "RestartAllContainers"), at.child("action"))
    codes = rule.get("exitCodes")
    if codes is None:
        yield fields.required(at.child("exitCodes"), "must be specified")
        return
    yield from enums.one_of(codes.get("operator") or "", ("In", "NotIn"), at.child("exitCodes", "operator"))
    if len(codes.get("values") or ()) > _MAX_EXIT_CODES:
        yield fields.too_many(at.child("exitCodes", "values"), len(codes["values"]), _MAX_EXIT_CODES)
