"""Addresses and node ports of Services: given out when a Service is written, before anything else looks at it.

    made, errors = allocate(service, old, pool)        # old: None on create
    pool = taken(pool, services)                       # the pool, with everything that these services hold taken

A pool never changes; who stores a Service makes the next one. Where Kubernetes picks an address at random, the first free one of
the part that it prefers is taken here, so that the same services always get the same addresses.
"""

import ipaddress
from collections.abc import Iterable, Mapping
from typing import Any, TypeAlias

from msgspec import Struct, field
from msgspec.structs import replace

from kadmit.api import errors, fields
from kadmit.api.fields import FieldError
from kadmit.api.gojson import Named
from kadmit.cel.library.ip import IP
from kadmit.kinds.rules import addresses, services
from kadmit.kinds.rules.addresses import Block

Json: TypeAlias = Any
Object: TypeAlias = dict[str, Json]
Part: TypeAlias = Mapping[str, Json]

_AT = fields.path("spec")
_IPS, _FAMILIES, _POLICY = _AT.child("clusterIPs"), _AT.child("ipFamilies"), _AT.child("ipFamilyPolicy")
_BALANCED = ("NodePort", "LoadBalancer")
_OTHER = {"IPv4": "IPv6", "IPv6": "IPv4"}


class Pool(Struct, frozen=True):
    """What there is to give out: one block of addresses or one of each family, the first being preferred; and node ports."""

    blocks: tuple[Block, ...] = (Block(10 << 24, 32, 24),)
    first_port: int = 30000
    last_port: int = 32767
    ips: frozenset[str] = field(default=frozenset())
    ports: frozenset[int] = field(default=frozenset())

    def block(self, family: str) -> Block | None:
        return next((block for block in self.blocks if _family(block.width) == family), None)

    @property
    def default_family(self) -> str:
        return _family(self.blocks[0].width)


def pool(ranges: str) -> Pool:
    """Of networks as text, by commas. Raises ValueError."""
    networks = [ipaddress.ip_network(part, strict=False) for part in ranges.split(",")]
    return Pool(tuple(Block(int(n.network_address), n.max_prefixlen, n.prefixlen) for n in networks))


def _family(width: int) -> str:
    return "IPv4" if width == 32 else "IPv6"


def taken(pool: Pool, held: Iterable[Part]) -> Pool:
    ips: set[str] = set()
    ports: set[int] = set()
    for service in held:
        spec = service.get("spec") or {}
        ips.update(ip for ip in spec.get("clusterIPs") or () if ip != "None")
        ports.update(port["nodePort"] for port in spec.get("ports") or () if port.get("nodePort"))
        ports.update([spec["healthCheckNodePort"]] if spec.get("healthCheckNodePort") else ())
    return replace(pool, ips=frozenset(ips), ports=frozenset(ports))


class _Refused(Exception):
    def __init__(self, *found: FieldError) -> None:
        super().__init__(str(found))
        self.found = list(found)


def allocate(service: Object, old: Object | None, pool: Pool) -> tuple[Object, list[FieldError]]:
    """The service with all it needs; or as it was, and why it cannot have it. Raises ApiError when nothing is left."""
    before = (old or {}).get("spec")
    spec: Object = dict(service.get("spec") or {})
    spec["ports"] = [dict(port) for port in spec.get("ports") or ()]
    if before is not None:
        _keep(spec, before)
    _normalise(spec, before)
    try:
        _init_families(spec, before, pool)
        _take_ips(spec, before, pool, service)
        _take_ports(spec, before, pool)
    except _Refused as refusal:
        return service, refusal.found
    if not spec["ports"]:
        del spec["ports"]
    return {**service, "spec": spec}, []


# ---------------------------------------------------------------- what the author left out, or said twice


def _keep(spec: Object, before: Part) -> None:
    """Who sends a service again without what was given out for it, keeps it."""
    if "ExternalName" not in (spec.get("type"), before.get("type")):
        for member in ("clusterIP", "clusterIPs"):
            if not spec.get(member) and before.get(member):
                spec[member] = before[member]
    if spec.get("type") in _BALANCED and before.get("type") in _BALANCED:
        _keep_ports(spec, before)
    if services.needs_health_check(spec) and services.needs_health_check(before) and not spec.get("healthCheckNodePort"):
        spec["healthCheckNodePort"] = before.get("healthCheckNodePort") or 0


def _keep_ports(spec: Object, before: Part) -> None:
    was = {port.get("name") or "": port.get("nodePort") or 0 for port in before.get("ports") or ()}
    used = set(was.values()) & {port.get("nodePort") or 0 for port in spec["ports"]} - {0}
    for port in spec["ports"]:
        kept = was.get(port.get("name") or "", 0)
        if not port.get("nodePort") and kept and kept not in used:
            port["nodePort"] = kept


def _normalise(spec: Object, before: Part | None) -> None:
    """clusterIP is the first of clusterIPs; older clients know only the one."""
    first, ips = spec.get("clusterIP") or "", spec.get("clusterIPs") or []
    if before is None:
        if first and not ips:
            spec["clusterIPs"] = [first]
        return
    was, had = before.get("clusterIP") or "", before.get("clusterIPs") or []
    if had and not ips and first == was:
        spec["clusterIPs"] = list(had)
    elif first != was and ips == had:
        spec["clusterIPs"] = [first] if first or not was else []


# ---------------------------------------------------------------- families


def _init_families(spec: Object, before: Part | None, pool: Pool) -> None:
    if spec.get("type") == "ExternalName" or _keeps_preference(spec, before):
        return
    headless = spec.get("clusterIP") == "None" and not spec.get("selector")
    if spec.get("ipFamilyPolicy") is None:
        inherited = (before or {}).get("ipFamilyPolicy")
        spec["ipFamilyPolicy"] = inherited or ("RequireDualStack" if headless else "SingleStack")
    wrong = list(services.cluster_ips(spec, before)) or _policy_errors(spec, before)
    wrong = wrong or _inferred(spec, pool)
    if wrong:
        raise _Refused(*wrong)
    if headless:
        families = spec.get("ipFamilies") or [pool.default_family]
        dual = spec["ipFamilyPolicy"] != "SingleStack" and len(families) < 2
        spec["ipFamilies"] = [*families, _OTHER[families[0]]] if dual else families
        return
    _check_configured(spec, pool)
    families = spec.get("ipFamilies") or [pool.default_family]
    dual = spec["ipFamilyPolicy"] != "SingleStack" and len(families) == 1 and len(pool.blocks) == 2
    spec["ipFamilies"] = [*families, _OTHER[families[0]]] if dual else families


def _keeps_preference(spec: Part, before: Part | None) -> bool:
    """A service that prefers two families, and says nothing new, is left alone."""
    if before is None or before.get("type") == "ExternalName":
        return False
    if spec.get("ipFamilyPolicy") != "PreferDualStack" or before.get("ipFamilyPolicy") != "PreferDualStack":
        return False
    return all((spec.get(member) or []) == (before.get(member) or []) for member in ("clusterIPs", "ipFamilies"))


def _policy_errors(spec: Object, before: Part | None) -> list[FieldError]:
    policy, shown = spec["ipFamilyPolicy"], Named(spec["ipFamilyPolicy"])
    found: list[FieldError] = []
    for member, singular, plural in (
        ("clusterIPs", "cluster IP", "cluster IPs"),
        ("ipFamilies", "IP family", "IP families"),
    ):
        now, was = spec.get(member) or [], (before or {}).get(member) or []
        if policy == "SingleStack":
            if before is not None and now == was:
                now = spec[member] = now[:1]
            if len(now) == 2:
                text = f"must be 'RequireDualStack' or 'PreferDualStack' when multiple {plural} are specified"
                found.append(fields.invalid(_POLICY, shown, text))
        elif before is not None and len(was) == 2 and len(now) == 1 and now[0] == was[0]:
            found.append(fields.invalid(_POLICY, shown, f"must be 'SingleStack' to release the secondary {singular}"))
    return found


def _inferred(spec: Object, pool: Pool) -> list[FieldError]:
    """Addresses tell their families."""
    found: list[FieldError] = []
    families = list(spec.get("ipFamilies") or [])
    for index, ip in enumerate(spec.get("clusterIPs") or ()):
        if ip == "None":
            break
        family = "IPv6" if addresses.is_ipv6(ip) else "IPv4"
        if index >= len(families):
            if pool.block(family) is None:
                text = f"{family} is not configured on this cluster"
                found.append(fields.invalid(_IPS.index(index), spec["clusterIPs"], text))
            else:
                families.append(family)
    if families:
        spec["ipFamilies"] = families
    return found


def _check_configured(spec: Part, pool: Pool) -> None:
    found: list[FieldError] = []
    if spec["ipFamilyPolicy"] == "RequireDualStack" and len(pool.blocks) < 2:
        text = "this cluster is not configured for dual-stack services"
        found.append(fields.invalid(_POLICY, Named("RequireDualStack"), text))
    for index, family in enumerate(spec.get("ipFamilies") or ()):
        if pool.block(family) is None:
            found.append(fields.invalid(_FAMILIES.index(index), Named(family), "not configured on this cluster"))
    if found:
        raise _Refused(*found)


# ---------------------------------------------------------------- addresses


def _take_ips(spec: Object, before: Part | None, pool: Pool, service: Part) -> None:
    if spec.get("type") == "ExternalName" or (spec.get("clusterIPs") or [""])[0] == "None":
        return
    families, ips = spec.get("ipFamilies") or [], list(spec.get("clusterIPs") or [])
    if before is None or before.get("type") == "ExternalName":
        first = 0
    elif (before.get("clusterIPs") or [""])[0] != "None" and len(before.get("ipFamilies") or []) == 1 < len(families):
        first = 1
    else:
        return
    given = [*ips, *[""] * (len(families) - len(ips))]
    for index in range(first, len(families)):
        given[index] = _take_ip(given[index], families[index], pool, ips, service)
    spec["clusterIPs"], spec["clusterIP"] = given, given[0]


def _take_ip(ip: str, family: str, pool: Pool, listed: list[str], service: Part) -> str:
    block = pool.block(family)
    assert block is not None  # families that are not there have been refused
    if not ip:
        return _free_ip(block, pool, service)
    found = addresses.parse(ip)
    problem = ""
    if found is None or not _is_usable(found, block):
        problem = "the provided network does not match the current range"
    elif str(found) in pool.ips:
        problem = "provided IP is already allocated"
    if problem:
        raise _Refused(fields.invalid(_IPS, listed, f"failed to allocate IP {ip}: {problem}"))
    return ip


def _is_usable(address: IP, block: Block) -> bool:
    """In the block, and neither its first nor its last (IPv4) address."""
    if address.width != block.width:
        return False
    offset, size = address.number - block.number, 1 << (block.width - block.bits)
    return 0 < offset < (size - 1 if block.width == 32 else size)


def _free_ip(block: Block, pool: Pool, service: Part) -> str:
    """NB: the first addresses are left for people to name, until there are no others."""
    size = 1 << (block.width - block.bits)
    last = min(size - 2 if block.width == 32 else size - 1, 1 << 16)
    reserved = min(max(16, size // 16), 256)
    for offset in (*range(reserved + 1, last + 1), *range(1, min(reserved, last) + 1)):
        found = str(IP(block.number + offset, block.width))
        if found not in pool.ips:
            return found
    name = (service.get("metadata") or {}).get("name") or ""
    raise errors.internal(f'failed to allocate a serviceIP for Service "{name}": range is full')


# ---------------------------------------------------------------- node ports


def _take_ports(spec: Object, old: Part | None, pool: Pool) -> None:
    before = old or {}
    held = {port["nodePort"] for port in before.get("ports") or () if port.get("nodePort")}
    used = set(pool.ports) - held
    if spec.get("type") in _BALANCED:
        _take_node_ports(spec, held, used, pool, is_new=old is None)
    if services.needs_health_check(spec) and not services.needs_health_check(before):
        port = spec.get("healthCheckNodePort") or 0
        if port and (problem := _port_problem(port, used, pool)):
            raise errors.internal(f"failed to allocate requested HealthCheck NodePort {port}: {problem}")
        spec["healthCheckNodePort"] = port or _free_port(used, pool)


def _take_node_ports(spec: Object, held: set[int], used: set[int], pool: Pool, *, is_new: bool) -> None:
    """NB: that two ports want the same node port is noticed here on create only; `rules.services` knows better."""
    allocates = spec.get("type") == "NodePort" or spec.get("allocateLoadBalancerNodePorts") is not False
    by_port: dict[int, int] = {}
    taken_here: set[int] = set()
    for index, port in enumerate(spec["ports"]):
        wanted = port.get("nodePort") or 0
        if not wanted and not allocates:
            continue
        number = port.get("port") or 0
        wanted = wanted or by_port.get(number) or _requested(number, spec["ports"])
        if not wanted:
            wanted = _free_port(used | taken_here, pool)
        elif wanted not in held and wanted != by_port.get(number) and (is_new or wanted not in taken_here):
            problem = _port_problem(wanted, used | taken_here, pool)
            if problem:
                raise _Refused(fields.invalid(_AT.child("ports").index(index).child("nodePort"), wanted, problem))
        port["nodePort"] = wanted
        by_port.setdefault(number, wanted)
        taken_here.add(wanted)


def _requested(number: int, ports: list[Part]) -> int:
    """The node port that somebody named for the same port, of another protocol."""
    same = (int(port.get("nodePort") or 0) for port in ports if port.get("port") == number)
    return next(filter(None, same), 0)


def _port_problem(port: int, used: set[int], pool: Pool) -> str:
    if not pool.first_port <= port <= pool.last_port:
        valid = f"{pool.first_port}-{pool.last_port}"
        return f"provided port is not in the valid range. The range of valid ports is {valid}"
    return "provided port is already allocated" if port in used else ""


def _free_port(used: set[int], pool: Pool) -> int:
    """NB: as with addresses, the first ports are left for people to name."""
    size = pool.last_port - pool.first_port + 1
    dynamic = pool.first_port + min(max(16, size // 32), 128)
    for port in (*range(dynamic, pool.last_port + 1), *range(pool.first_port, min(dynamic, pool.last_port + 1))):
        if port not in used:
            return int(port)
    raise errors.internal("failed to allocate a nodePort: range is full")
