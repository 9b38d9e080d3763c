"""Pods, and the templates of pods inside workloads."""

import re
from collections.abc import Iterator, Mapping
from typing import Any, TypeAlias

from kadmit.api import fields
from kadmit.api.fields import FieldError, Path
from kadmit.cel.library import names
from kadmit.kinds import labels
from kadmit.kinds.rules import (
    addresses,
    containers,
    enums,
    meta,
    naming,
    numbers,
    platforms,
    podresources,
    profiles,
    resources,
    scheduling,
    security,
    soundness,
    variables,
    volumes,
)
from kadmit.kinds.rules.context import Context
from kadmit.kinds.rules.meta import Object

Json: TypeAlias = Any
Spec: TypeAlias = Mapping[str, Json]

RESTART_POLICIES = ("Always", "OnFailure", "Never")
_DNS_POLICIES = ("ClusterFirstWithHostNet", "ClusterFirst", "Default", "None")
_MIRROR, _DELETION_COST = "kubernetes.io/config.mirror", "controller.kubernetes.io/pod-deletion-cost"
_INT32 = re.compile("-?(?:0|[1-9][0-9]{0,9})")
_AT = fields.path("spec")


def create(pod: Object, context: Context) -> Iterator[FieldError]:
    value = pod.get("spec") or {}
    yield from metadata_and_spec(pod, context)
    if value.get("ephemeralContainers"):
        yield fields.forbidden(_AT.child("ephemeralContainers"), "cannot be set on create")
    if value.get("nodeName") and value.get("schedulingGates"):
        yield fields.forbidden(_AT.child("nodeName"), "cannot be set until all schedulingGates have been cleared")
    if meta.of(pod).get("annotations"):
        yield from profiles.agree(pod, _AT)


def metadata_and_spec(pod: Object, context: Context) -> Iterator[FieldError]:
    value = pod.get("spec") or {}
    yield from meta.created(pod)
    if meta.of(pod).get("annotations"):
        yield from annotations(pod, fields.path("metadata", "annotations"))
    yield from spec(value, _AT, context, pod=meta.of(pod).get("name") or "", is_pod=True)
    if value.get("volumes") and not value.get("serviceAccountName"):
        yield from _tokens(value)
    for member in ("containers", "initContainers"):
        for index, container in enumerate(value.get(member) or ()):
            if containers.has_padded_image(container):
                yield from containers.padded_image(container, _AT.child(member).index(index))


def _tokens(value: Spec) -> Iterator[FieldError]:
    for index, volume in enumerate(value.get("volumes") or ()):
        for which, source in enumerate((volume.get("projected") or {}).get("sources") or ()):
            if source.get("serviceAccountToken") is not None:
                place = _AT.child("volumes").index(index).child("projected", "sources").index(which)
                text = "must not be specified when serviceAccountName is not set"
                yield fields.forbidden(place.child("serviceAccountToken"), text)


def annotations(value: Object, at: Path) -> Iterator[FieldError]:
    """Annotations that mean something for a pod, of the pod itself or of a template."""
    given = meta.of(value).get("annotations") or {}
    if _MIRROR in given and not (value.get("spec") or {}).get("nodeName"):
        text = "must set spec.nodeName if mirror pod annotation is set"
        yield fields.invalid(at.key(_MIRROR), given[_MIRROR], text)
    if _DELETION_COST in given and not _is_int32(given[_DELETION_COST]):
        yield fields.invalid(at.key(_DELETION_COST), given[_DELETION_COST], "must be a 32bit integer")
    yield from profiles.annotations(value, at)


def _is_int32(text: str) -> bool:
    return _INT32.fullmatch(text) is not None and -(2**31) <= int(text) < 2**31


def template(value: Object | None, at: Path, context: Context) -> Iterator[FieldError]:
    """The pods that a workload makes."""
    given = value or {}
    yield from meta.template(given, at)
    yield from annotations(given, at.child("annotations"))
    yield from spec(given.get("spec") or {}, at.child("spec"), context)
    yield from profiles.agree(given, at.child("spec"))
    if (given.get("spec") or {}).get("ephemeralContainers"):
        yield fields.forbidden(at.child("spec", "ephemeralContainers"), "ephemeral containers not allowed in pod template")


# ---------------------------------------------------------------- the spec


def spec(value: Spec, at: Path, context: Context, *, pod: str = "", is_pod: bool = False) -> Iterator[FieldError]:
    """`pod`: the name of the pod, `is_pod`: whether it is one and no template."""
    if soundness.is_sound(value, allow_privileged=context.allow_privileged):
        return iter(())
    return every_rule(value, at, context, pod=pod, is_pod=is_pod)


def every_rule(value: Spec, at: Path, context: Context, *, pod: str, is_pod: bool) -> Iterator[FieldError]:
    """What each rule has to say, in Kubernetes' order."""
    if value.get("terminationGracePeriodSeconds") is None:
        yield fields.required(at.child("terminationGracePeriodSeconds"))
    sound, found = volumes.all_of(value.get("volumes") or [], at.child("volumes"), pod=pod, is_pod=is_pod)
    yield from found
    yield from podresources.claims(value, at.child("resourceClaims"))
    yield from _containers(value, sound, at, context)
    yield from podresources.of_pod(value, at)
    yield from _host_network(value, at.child("containers"), is_pod=is_pod)
    yield from enums.required_one_of(value.get("restartPolicy"), RESTART_POLICIES, at.child("restartPolicy"))
    yield from enums.required_one_of(value.get("dnsPolicy"), _DNS_POLICIES, at.child("dnsPolicy"))
    yield from labels.validate_labels(value.get("nodeSelector"), at.child("nodeSelector"))
    yield from security.of_pod(value, at.child("securityContext"))
    yield from scheduling.affinity(value.get("affinity"), at.child("affinity"))
    yield from _dns_config(value.get("dnsConfig"), value.get("dnsPolicy") or "", at.child("dnsConfig"))
    yield from _gates(value, at)
    yield from scheduling.spread(value.get("topologySpreadConstraints") or [], at.child("topologySpreadConstraints"))
    yield from platforms.host_processes(value, at, allow_privileged=context.allow_privileged)
    yield from platforms.host_users(value, at)
    yield from _hostname_override(value, at.child("hostnameOverride"))
    yield from _names(value, at)
    yield from _rest(value, at)
    yield from platforms.os(value, at)
    yield from _group(value.get("schedulingGroup"), at.child("schedulingGroup", "podGroupName"))
    yield from _variable_files(value, at)


def _containers(value: Spec, sound: Mapping[str, Spec], at: Path, context: Context) -> Iterator[FieldError]:
    surroundings = containers.Surroundings(
        volumes=sound,
        claims=podresources.claim_names(value),
        grace=value.get("terminationGracePeriodSeconds"),
        os=(value.get("os") or {}).get("name") or "" if value.get("os") is not None else None,
        restart_policy=value.get("restartPolicy") or "",
        host_users=value.get("hostUsers") is not False,
        allow_privileged=context.allow_privileged,
    )
    regular, first = value.get("containers") or [], value.get("initContainers") or []
    late = value.get("ephemeralContainers") or []
    yield from containers.regular(regular, surroundings, at.child("containers"))
    yield from containers.init(first, regular, surroundings, at.child("initContainers"))
    yield from containers.ephemeral(late, [*regular, *first], surroundings, at.child("ephemeralContainers"))


def _host_network(value: Spec, at: Path, *, is_pod: bool) -> Iterator[FieldError]:
    if not value.get("hostNetwork"):
        return
    for which, container in enumerate(value.get("containers") or ()):
        for index, port in enumerate(container.get("ports") or ()):
            of_host = port.get("hostPort") or 0
            if (is_pod or of_host) and of_host != (port.get("containerPort") or 0):
                place = at.index(which).child("ports").index(index).child("hostPort")
                yield fields.invalid(place, of_host, "must match `containerPort` when `hostNetwork` is true")


def _dns_config(config: Spec | None, policy: str, at: Path) -> Iterator[FieldError]:
    if policy == "None":
        if config is None:
            yield fields.required(at, "must provide `dnsConfig` when `dnsPolicy` is None")
            return
        if not config.get("nameservers"):
            text = "must provide at least one DNS nameserver when `dnsPolicy` is None"
            yield fields.required(at.child("nameservers"), text)
            return
    servers, searches = (config or {}).get("nameservers") or [], (config or {}).get("searches") or []
    if len(servers) > 3:
        yield fields.invalid(at.child("nameservers"), servers, "must not have more than 3 nameservers")
    for index, server in enumerate(servers):
        yield from addresses.address(server, at.child("nameservers").index(index))
    if len(searches) > 32:
        yield fields.invalid(at.child("searches"), searches, "must not have more than 32 search paths")
    if naming.size(" ".join(searches)) > 2048:
        text = "must not have more than 2048 characters (including spaces) in the search list"
        yield fields.invalid(at.child("searches"), searches, text)
    for index, search in enumerate(searches):
        yield from naming.search_domain(search, at.child("searches").index(index))
    for index, option in enumerate((config or {}).get("options") or ()):
        if not option.get("name"):
            yield fields.required(at.child("options").index(index), "must not be empty")


def _gates(value: Spec, at: Path) -> Iterator[FieldError]:
    for index, gate in enumerate(value.get("readinessGates") or ()):
        place = at.child("readinessGates").index(index).child("conditionType")
        yield from naming.qualified(gate.get("conditionType") or "", place)
    seen: set[str] = set()
    for index, gate in enumerate(value.get("schedulingGates") or ()):
        place, name = at.child("schedulingGates").index(index), gate.get("name") or ""
        yield from naming.qualified(name, place)
        if name in seen:
            yield fields.duplicate(place, name)
        seen.add(name)


def _hostname_override(value: Spec, at: Path) -> Iterator[FieldError]:
    name = value.get("hostnameOverride")
    if name is None:
        return
    for member in ("setHostnameAsFQDN", "hostNetwork"):
        if value.get(member):
            yield fields.forbidden(at, f"may not be specified when {member} is true")
    if naming.size(name) > 64:
        yield fields.too_long(at, 64)
    yield from naming.subdomain(name, at)


def _names(value: Spec, at: Path) -> Iterator[FieldError]:
    for member in ("serviceAccountName", "nodeName"):
        if value.get(member):
            yield from naming.subdomain(value[member], at.child(member))
    deadline = value.get("activeDeadlineSeconds")
    yield from numbers.between(deadline, 1, numbers.MAX_INT32, at.child("activeDeadlineSeconds"))
    for member in ("hostname", "subdomain"):
        if value.get(member):
            yield from naming.label(value[member], at.child(member))


def _rest(value: Spec, at: Path) -> Iterator[FieldError]:
    yield from scheduling.tolerations(value.get("tolerations") or [], at.child("tolerations"))
    for index, alias in enumerate(value.get("hostAliases") or ()):
        place = at.child("hostAliases").index(index)
        yield from addresses.address(alias.get("ip") or "", place.child("ip"))
        for which, name in enumerate(alias.get("hostnames") or ()):
            yield from naming.subdomain(name, place.child("hostnames").index(which))
    if value.get("priorityClassName"):
        yield from naming.subdomain(value["priorityClassName"], at.child("priorityClassName"))
    if value.get("runtimeClassName") is not None:
        yield from naming.subdomain(value["runtimeClassName"], at.child("runtimeClassName"))
    yield from preemption_policy(value.get("preemptionPolicy"), at.child("preemptionPolicy"))
    if value.get("overhead") is not None:
        yield from resources.requirements({"limits": value["overhead"]}, at.child("overhead"))


def preemption_policy(value: str | None, at: Path) -> Iterator[FieldError]:
    if value is not None:
        yield from enums.required_one_of(value, ("PreemptLowerPriority", "Never"), at)


def _group(group: Spec | None, at: Path) -> Iterator[FieldError]:
    if group is None:
        return
    name = group.get("podGroupName")
    if name is None:
        yield fields.invalid(at, None, "must specify one of: `podGroupName`")
    else:
        yield from naming.complaints(names.dns1123_subdomain(name), name, at)


def _variable_files(value: Spec, at: Path) -> Iterator[FieldError]:
    known = {volume.get("name") or "": volume for volume in value.get("volumes") or ()}
    for container, place in platforms.each_container(value, at):
        yield from variables.files(container, known, place)
