"""How pods are reached: services, endpoints, ingresses, policies, addresses."""

from collections.abc import Iterator, Mapping
from typing import Any, TypeAlias

from kadmit.presentation import columns
from kadmit.presentation.columns import AGE, NAME, NONE, Cell, Column, Columns, Item, at, wide

Json: TypeAlias = Any

_DEFAULT_INGRESS_CLASS = "ingressclass.kubernetes.io/is-default-class"


def _cluster_ip(item: Item) -> Cell:
    addresses = item.items("spec.clusterIPs")
    found: str = addresses[0] if addresses else item.at("spec.clusterIP") or NONE
    return found


def _external_ip(item: Item) -> Cell:
    external = item.items("spec.externalIPs")
    match item.at("spec.type"):
        case "ClusterIP" | "NodePort":
            return ",".join(external) or NONE
        case "LoadBalancer":
            return ",".join([*_balanced(item), *external]) or "<pending>"
        case "ExternalName":
            found: str = item.at("spec.externalName", "")
            return found
    return "<unknown>"


def _balanced(item: Item) -> list[str]:
    """The addresses of a load balancer, by the alphabet."""
    found = {one.get("ip") or one.get("hostname") or "" for one in item.items("status.loadBalancer.ingress")}
    return sorted(found - {""})


def _service_ports(item: Item) -> Cell:
    return ",".join(_service_port(port) for port in item.items("spec.ports")) or NONE


def _service_port(port: Json) -> str:
    node = f":{port['nodePort']}" if port.get("nodePort") else ""
    return f"{port.get('port', 0)}{node}/{port.get('protocol', '')}"


def _endpoints(item: Item) -> Cell:
    subsets = item.items("subsets")
    return columns.few(_addresses(subsets), empty="") if subsets else NONE


def _addresses(subsets: list[Json]) -> Iterator[str]:
    for subset in subsets:
        for port in subset.get("ports") or [None]:
            for address in subset.get("addresses") or ():
                yield _joined(address.get("ip", ""), port)


def _joined(ip: str, port: Json) -> str:
    if port is None:
        return ip
    return f"[{ip}]:{port.get('port', 0)}" if ":" in ip else f"{ip}:{port.get('port', 0)}"


def _slice_ports(item: Item) -> Cell:
    return columns.few(_slice_port(port) for port in item.items("ports"))


def _slice_port(port: Json) -> str:
    if port.get("port") is not None:
        return str(port["port"])
    return "*" if port.get("name") is None else str(port["name"])


def _slice_endpoints(item: Item) -> Cell:
    return columns.few(address for one in item.items("endpoints") for address in one.get("addresses") or ())


def _hosts(item: Item) -> Cell:
    """NB: once three hosts are found, all rules that follow count as more, with a host or not."""
    rules = item.items("spec.rules")
    hosts: list[str] = []
    more = False
    for rule in rules:
        more = more or len(hosts) == 3
        if not more and rule.get("host"):
            hosts.append(rule["host"])
    shown = ",".join(hosts) or "*"
    return f"{shown} + {len(rules) - 3} more..." if more else shown


def _ingress_class_name(item: Item) -> Cell:
    default = item.members("metadata.annotations").get(_DEFAULT_INGRESS_CLASS) == "true"
    return f"{columns.name(item)} (default)" if default else columns.name(item)


def _ingress_parameters(item: Item) -> Cell:
    found = item.at("spec.parameters")
    if found is None:
        return NONE
    group = found.get("apiGroup")
    kind = found.get("kind", "") if group is None else f"{found.get('kind', '')}.{group}"
    return f"{kind}/{found.get('name', '')}"


def _parent(item: Item) -> Cell:
    found = item.at("spec.parentRef")
    if found is None:
        return NONE
    resource = f"{found.get('resource', '')}.{found['group']}" if found.get("group") else found.get("resource", "")
    namespace = f"/{found['namespace']}" if found.get("namespace") else ""
    return f"{resource.lower()}{namespace}/{found.get('name', '')}"


KINDS: Mapping[tuple[str, str], Columns] = {
    ("", "Service"): (
        NAME,
        Column("Type", at("spec.type")),
        Column("Cluster-IP", _cluster_ip),
        Column("External-IP", _external_ip),
        Column("Port(s)", _service_ports),
        AGE,
        wide("Selector", lambda item: columns.labels(item.at("spec.selector"))),
    ),
    ("", "Endpoints"): (NAME, Column("Endpoints", _endpoints), AGE),
    ("discovery.k8s.io", "EndpointSlice"): (
        NAME,
        Column("AddressType", at("addressType")),
        Column("Ports", _slice_ports),
        Column("Endpoints", _slice_endpoints),
        AGE,
    ),
    ("networking.k8s.io", "Ingress"): (
        NAME,
        Column("Class", at("spec.ingressClassName", NONE)),
        Column("Hosts", _hosts),
        Column("Address", lambda item: ",".join(_balanced(item))),
        Column("Ports", lambda item: "80, 443" if item.items("spec.tls") else "80"),
        AGE,
    ),
    ("networking.k8s.io", "IngressClass"): (
        Column("Name", _ingress_class_name, format="name"),
        Column("Controller", at("spec.controller")),
        Column("Parameters", _ingress_parameters),
        AGE,
    ),
    ("networking.k8s.io", "NetworkPolicy"): (
        NAME,
        Column("Pod-Selector", lambda item: columns.selector(item.at("spec.podSelector")) or NONE),
        AGE,
    ),
    ("networking.k8s.io", "ServiceCIDR"): (NAME, Column("CIDRs", lambda item: ",".join(item.items("spec.cidrs"))), AGE),
    # NB: a cell more than there are columns.
    ("networking.k8s.io", "IPAddress"): (NAME, Column("ParentRef", _parent), Column("", columns.age)),
}
