"""Services: ports, addresses, and what goes with which type. Endpoints, their older form of an answer, too."""

from collections.abc import Iterator, Mapping
from typing import Any, TypeAlias

from kadmit.api import fields
from kadmit.api.fields import FieldError, Path
from kadmit.api.gojson import Named
from kadmit.kinds import internals, labels
from kadmit.kinds.metadata import dns_label
from kadmit.kinds.rules import addresses, enums, meta, naming, numbers
from kadmit.kinds.rules.containers import PROTOCOLS
from kadmit.kinds.rules.meta import Object

Json: TypeAlias = Any
Part: TypeAlias = Mapping[str, Json]

_AT = fields.path("spec")
_FAMILIES = ("IPv4", "IPv6")
_FAMILY_POLICIES = ("PreferDualStack", "RequireDualStack", "SingleStack")
_TYPES = ("ClusterIP", "ExternalName", "LoadBalancer", "NodePort")
_HINTS, _MODE = "service.kubernetes.io/topology-aware-hints", "service.kubernetes.io/topology-mode"
_RANGES = "service.beta.kubernetes.io/load-balancer-source-ranges"
_ONLY_BALANCERS = "may only be used when `type` is 'LoadBalancer'"
_LONGEST_AFFINITY = 86400


def create(service: Object) -> Iterator[FieldError]:
    yield from meta.created(service, dns_label)
    yield from _service(service, None)


def update(new: Object, old: Object) -> Iterator[FieldError]:
    yield from meta.updated(new, old)
    yield from _kept_addresses(new.get("spec") or {}, old.get("spec") or {})
    yield from _kept_families(new.get("spec") or {}, old.get("spec") or {})
    yield from _balancer_class(new.get("spec") or {}, old.get("spec"))
    after, before = new.get("spec") or {}, old.get("spec") or {}
    if needs_health_check(after) and needs_health_check(before):
        if (after.get("healthCheckNodePort") or 0) != (before.get("healthCheckNodePort") or 0):
            yield fields.forbidden(_AT.child("healthCheckNodePort"), "field is immutable")
    yield from _service(new, old)


def is_headless(spec: Part) -> bool:
    return (spec.get("clusterIPs") or []) == ["None"]


def is_external(spec: Part) -> bool:
    """Whether it can be reached from outside the cluster."""
    of_type = spec.get("type")
    return of_type in ("LoadBalancer", "NodePort") or (of_type == "ClusterIP" and bool(spec.get("externalIPs")))


def needs_health_check(spec: Part) -> bool:
    return spec.get("type") == "LoadBalancer" and spec.get("externalTrafficPolicy") == "Local"


# ---------------------------------------------------------------- a service by itself


def _service(service: Object, old: Object | None) -> Iterator[FieldError]:
    spec, ports = service.get("spec") or {}, (service.get("spec") or {}).get("ports") or []
    yield from _topology(meta.of(service).get("annotations") or {})
    if not ports and not is_headless(spec) and spec.get("type") != "ExternalName":
        yield fields.required(_AT.child("ports"))
    yield from _of_type(spec)
    yield from _ports(ports, _AT.child("ports"))
    yield from labels.validate_labels(spec.get("selector"), _AT.child("selector"))
    yield from _affinity(spec)
    yield from cluster_ips(spec, (old or {}).get("spec"))
    yield from _external_ips(spec, (old or {}).get("spec") or {})
    yield from enums.required_one_of(spec.get("type"), _TYPES, _AT.child("type"))
    yield from _node_ports(spec, ports)
    yield from _repeated_ports(ports)
    yield from _source_ranges(service, old)
    yield from _balancer(spec)
    yield from _traffic(spec)


def _topology(annotations: Mapping[str, str]) -> Iterator[FieldError]:
    if _HINTS in annotations and _MODE in annotations and annotations[_HINTS] != annotations[_MODE]:
        at = fields.path("metadata", "annotations").key(_MODE)
        yield fields.invalid(at, annotations[_MODE], f"must match annotations[{_HINTS}] when both are specified")


def _of_type(spec: Part) -> Iterator[FieldError]:
    of_type = spec.get("type")
    if of_type in ("LoadBalancer", "NodePort") and is_headless(spec):
        yield fields.invalid(_AT.child("clusterIPs").index(0), "None", f"may not be set to 'None' for {of_type} services")
    if of_type != "ExternalName":
        return
    for member in ("clusterIPs", "ipFamilies", "ipFamilyPolicy"):
        if spec.get(member):
            yield fields.forbidden(_AT.child(member), "may not be set for ExternalName services")
    name = (spec.get("externalName") or "").removesuffix(".")
    yield from naming.subdomain(name, _AT.child("externalName")) if name else (fields.required(_AT.child("externalName")),)


def _ports(ports: list[Part], at: Path) -> Iterator[FieldError]:
    seen: set[str] = set()
    for index, port in enumerate(ports):
        place, name = at.index(index), port.get("name") or ""
        if name:
            yield from naming.label(name, place.child("name"))
            if name in seen:
                yield fields.duplicate(place.child("name"), name)
            seen.add(name)
        elif len(ports) > 1:
            yield fields.required(place.child("name"))
        yield from numbers.port(port.get("port") or 0, place.child("port"))
        yield from enums.required_one_of(port.get("protocol"), PROTOCOLS, place.child("protocol"))
        yield from numbers.port_or_name(port.get("targetPort") or 0, place.child("targetPort"))
        if port.get("appProtocol") is not None:
            yield from naming.qualified(port["appProtocol"], place.child("appProtocol"))


def _affinity(spec: Part) -> Iterator[FieldError]:
    affinity, config, at = spec.get("sessionAffinity"), spec.get("sessionAffinityConfig"), _AT.child("sessionAffinityConfig")
    yield from enums.required_one_of(affinity, ("ClientIP", "None"), _AT.child("sessionAffinity"))
    if affinity == "None" and config is not None:
        yield fields.forbidden(at, "must not be set when session affinity is None")
    if affinity != "ClientIP":
        return
    for member in ("clientIP", "timeoutSeconds"):
        if config is not None:
            config, at = config.get(member), at.child(member)
    if config is None:
        yield fields.required(at, "when session affinity type is ClientIP")
    elif not 0 < config <= _LONGEST_AFFINITY:
        yield fields.invalid(at, config, f"must be greater than 0 and less than {_LONGEST_AFFINITY}")


def _external_ips(spec: Part, old: Part) -> Iterator[FieldError]:
    for index, address in enumerate(spec.get("externalIPs") or ()):
        place = _AT.child("externalIPs").index(index)
        wrong = list(addresses.address(address, place, old.get("externalIPs") or ()))
        yield from wrong or addresses.endpoint(address, place)


def _node_ports(spec: Part, ports: list[Part]) -> Iterator[FieldError]:
    if spec.get("type") == "ClusterIP":
        for index, port in enumerate(ports):
            if port.get("nodePort"):
                place = _AT.child("ports").index(index).child("nodePort")
                yield fields.forbidden(place, "may not be used when `type` is 'ClusterIP'")
    seen: set[tuple[str, int]] = set()
    for index, port in enumerate(ports):
        used = (port.get("protocol") or "", port.get("nodePort") or 0)
        if used[1] and used in seen:
            yield fields.duplicate(_AT.child("ports").index(index).child("nodePort"), used[1])
        seen.add(used)


def _repeated_ports(ports: list[Part]) -> Iterator[FieldError]:
    seen: set[tuple[str, int]] = set()
    for index, port in enumerate(ports):
        used = (port.get("protocol") or "", port.get("port") or 0)
        if used in seen:
            shown = internals.shown("ServicePort", {"protocol": used[0], "port": used[1]})
            yield fields.duplicate(_AT.child("ports").index(index), shown)
        seen.add(used)


def _source_ranges(service: Object, old: Object | None) -> Iterator[FieldError]:
    spec, annotations = service.get("spec") or {}, meta.of(service).get("annotations") or {}
    ranges = spec.get("loadBalancerSourceRanges") or ()
    at = _AT.child("LoadBalancerSourceRanges") if ranges else fields.path("metadata", "annotations").key(_RANGES)
    if not ranges and _RANGES not in annotations:
        return
    if spec.get("type") != "LoadBalancer":
        yield fields.forbidden(at, _ONLY_BALANCERS)
    if ranges:
        kept = [one.strip() for one in ((old or {}).get("spec") or {}).get("loadBalancerSourceRanges") or ()]
        for index, value in enumerate(ranges):
            yield from addresses.block(value.strip(), at.index(index), kept)
    elif old is None or (meta.of(old).get("annotations") or {}).get(_RANGES) != annotations[_RANGES]:
        for value in annotations[_RANGES].strip().split(",") if annotations[_RANGES].strip() else ():
            yield from addresses.block(value.strip(), at)


def _balancer(spec: Part) -> Iterator[FieldError]:
    allocates, is_balancer = spec.get("allocateLoadBalancerNodePorts"), spec.get("type") == "LoadBalancer"
    if allocates is not None and not is_balancer:
        yield fields.forbidden(_AT.child("allocateLoadBalancerNodePorts"), _ONLY_BALANCERS)
    if allocates is None and is_balancer:
        yield fields.required(fields.path("allocateLoadBalancerNodePorts"))
    yield from _balancer_class(spec, None)


def _balancer_class(spec: Part, old: Part | None) -> Iterator[FieldError]:
    given, at = spec.get("loadBalancerClass"), _AT.child("loadBalancerClass")
    is_balancer = spec.get("type") == "LoadBalancer"
    if old is not None and is_balancer and old.get("type") == "LoadBalancer" and old.get("loadBalancerClass") != given:
        yield fields.invalid(at, given, "may not change once set")
    if given is None:
        return
    if is_balancer:
        yield from naming.qualified(given, at)
    else:
        yield fields.forbidden(at, _ONLY_BALANCERS)


def _traffic(spec: Part) -> Iterator[FieldError]:
    external, at = spec.get("externalTrafficPolicy") or "", _AT.child("externalTrafficPolicy")
    if is_external(spec):
        yield from enums.required_one_of(external, ("Cluster", "Local"), at)
    elif external:
        yield fields.invalid(at, Named(external), "may only be set for externally-accessible services")
    yield from _health_check(spec, _AT.child("healthCheckNodePort"))
    internal = spec.get("internalTrafficPolicy")
    if internal is None and spec.get("type") in ("NodePort", "LoadBalancer", "ClusterIP"):
        yield fields.required(_AT.child("internalTrafficPolicy"))
    yield from enums.one_of(internal, ("Cluster", "Local"), _AT.child("internalTrafficPolicy"))
    distributions = ("PreferClose", "PreferSameZone", "PreferSameNode")
    yield from enums.one_of(spec.get("trafficDistribution"), distributions, _AT.child("trafficDistribution"))


def _health_check(spec: Part, at: Path) -> Iterator[FieldError]:
    port = spec.get("healthCheckNodePort") or 0
    if needs_health_check(spec):
        yield from numbers.port(port, at) if port else (fields.required(at),)
    elif port:
        text = "may only be set when `type` is 'LoadBalancer' and `externalTrafficPolicy` is 'Local'"
        yield fields.invalid(at, port, text)


# ---------------------------------------------------------------- cluster addresses


def cluster_ips(spec: Part, old: Part | None) -> Iterator[FieldError]:
    """Also asked before addresses are given out."""
    if spec.get("type") == "ExternalName":
        return
    ips, families = spec.get("clusterIPs") or [], spec.get("ipFamilies") or []
    yield from _first_ip(spec.get("clusterIP") or "", spec.get("clusterIPs"), _AT.child("clusterIPs"))
    yield from _families(families, _AT.child("ipFamilies"))
    yield from enums.one_of(spec.get("ipFamilyPolicy"), _FAMILY_POLICIES, _AT.child("ipFamilyPolicy"))
    wrong = list(_each_ip(ips, (old or {}).get("clusterIPs") or [], _AT.child("clusterIPs")))
    yield from wrong
    if len(ips) > 2:
        yield fields.invalid(_AT.child("clusterIPs"), ips, "may only hold up to 2 values")
    if not wrong:
        yield from _both_families(ips, families, spec)


def _first_ip(first: str, ips: list[str] | None, at: Path) -> Iterator[FieldError]:
    if not first:
        if ips:
            yield fields.invalid(at, ips, "must be empty when `clusterIP` is not specified")
    elif not ips:
        yield fields.required(at)
    elif ips[0] != first:
        yield fields.invalid(at, ips, "first value must match `clusterIP`")


def _families(families: list[str], at: Path) -> Iterator[FieldError]:
    for index, family in enumerate(families):
        yield from enums.one_of(family, _FAMILIES, at.index(index))
        if family in families[:index]:
            yield fields.duplicate(at.index(index), Named(family))


def _each_ip(ips: list[str], kept: list[str], at: Path) -> Iterator[FieldError]:
    for index, address in enumerate(ips):
        if index == 0 and address == "None":
            if len(ips) > 1:
                yield fields.invalid(at, ips, "'None' must be the first and only value")
            continue
        yield from addresses.address(address, at.index(index), kept)


def _both_families(ips: list[str], families: list[str], spec: Part) -> Iterator[FieldError]:
    at = _AT.child("clusterIPs")
    six = [addresses.is_ipv6(address) for address in ips]
    if len(ips) > 1 and len(set(six)) < 2:
        yield fields.invalid(at, ips, "may specify no more than one IP for each IP family")
    if is_headless(spec):
        return
    for index, (family, is_six) in enumerate(zip(families, six, strict=False)):
        if (family == "IPv4" and is_six) or (family == "IPv6" and not is_six):
            text = f"expected an {family} value as indicated by `ipFamilies[{index}]`"
            yield fields.invalid(at.index(index), ips[index], text)


def _kept_addresses(after: Part, before: Part) -> Iterator[FieldError]:
    """A second address may come and go; the first stays."""
    if "ExternalName" in (after.get("type"), before.get("type")) or (is_headless(after) and is_headless(before)):
        return
    now, was, at = after.get("clusterIPs") or [], before.get("clusterIPs") or [], _AT.child("clusterIPs")
    if len(now) == len(was):
        for index, (new, old) in enumerate(zip(now, was, strict=True)):
            if new != old:
                yield fields.invalid(at.index(index), now, "may not change once set")
        return
    if not now:
        yield fields.invalid(at.index(0), None, "primary clusterIP can not be unset")
    if now and was and now[0] != was[0]:
        yield fields.invalid(at.index(0), now, "may not change once set")
    if len(now) == 1 < len(was):
        yield from _released(after, "clusterIP")


def _released(after: Part, what: str) -> Iterator[FieldError]:
    policy = after.get("ipFamilyPolicy")
    if policy != "SingleStack":
        text = f"must be set to 'SingleStack' when releasing the secondary {what}"
        yield fields.invalid(_AT.child("ipFamilyPolicy"), policy, text)


def _kept_families(after: Part, before: Part) -> Iterator[FieldError]:
    if "ExternalName" in (after.get("type"), before.get("type")) or is_headless(after) or is_headless(before):
        return
    now, was, at = after.get("ipFamilies") or [], before.get("ipFamilies") or [], _AT.child("ipFamilies").index(0)
    if len(now) == len(was):
        yield from (fields.invalid(at, now, "may not change once set") for new, old in zip(now, was, strict=True) if new != old)
        return
    if len(now) < len(was) and not after.get("clusterIPs"):
        yield fields.invalid(at, now or None, "primary ipFamily can not be unset")
    if now and was and now[0] != was[0]:
        yield fields.invalid(at, after.get("clusterIPs"), "may not change once set")
    if len(now) == 1 < len(was):
        yield from _released(after, "ipFamily")


# ---------------------------------------------------------------- endpoints


def create_endpoints(value: Object) -> Iterator[FieldError]:
    yield from meta.created(value)
    yield from _subsets(value)


def update_endpoints(new: Object, old: Object) -> Iterator[FieldError]:
    yield from meta.updated(new, old)
    yield from meta.created(new)
    if new.get("subsets") != old.get("subsets"):
        yield from _subsets(new)


def _subsets(value: Object) -> Iterator[FieldError]:
    for index, subset in enumerate(value.get("subsets") or ()):
        at = fields.path("subsets").index(index)
        if not subset.get("addresses") and not subset.get("notReadyAddresses"):
            yield fields.required(at, "must specify `addresses` or `notReadyAddresses`")
        for member in ("addresses", "notReadyAddresses"):
            for which, address in enumerate(subset.get(member) or ()):
                yield from _endpoint_address(address, at.child(member).index(which))
        ports = subset.get("ports") or ()
        for which, port in enumerate(ports):
            yield from _endpoint_port(port, at.child("ports").index(which), needs_name=len(ports) > 1)


def _endpoint_address(address: Part, at: Path) -> Iterator[FieldError]:
    text = address.get("ip") or ""
    yield from addresses.address(text, at.child("ip"))
    if address.get("hostname"):
        yield from naming.label(address["hostname"], at.child("hostname"))
    if address.get("nodeName") is not None:
        yield from naming.subdomain(address["nodeName"], at.child("nodeName"))
    yield from addresses.endpoint(text, at.child("ip"))


def _endpoint_port(port: Part, at: Path, *, needs_name: bool) -> Iterator[FieldError]:
    name = port.get("name") or ""
    if name:
        yield from naming.label(name, at.child("name"))
    elif needs_name:
        yield fields.required(at.child("name"))
    yield from numbers.port(port.get("port") or 0, at.child("port"))
    yield from enums.required_one_of(port.get("protocol"), PROTOCOLS, at.child("protocol"))
    if port.get("appProtocol") is not None:
        yield from naming.qualified(port["appProtocol"], at.child("appProtocol"))
