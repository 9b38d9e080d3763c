"""Services, their endpoints, and the policies and classes of the network."""

from kadmit.kinds.defaults.rules import Object, Rule, each, struct

_REACHED_FROM_OUTSIDE = frozenset({"NodePort", "LoadBalancer"})
_IN_CLUSTER = frozenset({"ClusterIP", "NodePort", "LoadBalancer"})
_AFFINITY_SECONDS = 10800


def _sticky(spec: Object) -> Object:
    """Affinity to a client lasts three hours; without affinity there is nothing to configure."""
    affinity = spec.get("sessionAffinity") or "None"
    config = spec.get("sessionAffinityConfig")
    if affinity == "None" and config is not None:
        return {name: value for name, value in spec.items() if name != "sessionAffinityConfig"}
    if affinity == "ClientIP" and ((config or {}).get("clientIP") or {}).get("timeoutSeconds") is None:
        return {**spec, "sessionAffinityConfig": {"clientIP": {"timeoutSeconds": _AFFINITY_SECONDS}}}
    return spec


def _routed(spec: Object) -> Object:
    """What the type of a service brings with it."""
    kind = spec.get("type") or "ClusterIP"
    made: Object = {}
    outside = kind in _REACHED_FROM_OUTSIDE or (kind == "ClusterIP" and spec.get("externalIPs"))
    if outside and not spec.get("externalTrafficPolicy"):
        made["externalTrafficPolicy"] = "Cluster"
    if kind in _IN_CLUSTER and spec.get("internalTrafficPolicy") is None:
        made["internalTrafficPolicy"] = "Cluster"
    if kind == "LoadBalancer" and spec.get("allocateLoadBalancerNodePorts") is None:
        made["allocateLoadBalancerNodePorts"] = True
    return {**spec, **made} if made else spec


def _to_itself(port: Object) -> Object:
    """A port leads to the same port of the pods. NB: a port that is not given at all is 0."""
    target, own = port.get("targetPort"), port.get("port") or 0
    return port if target or target == own else {**port, "targetPort": own}


def _addressed(service: Object) -> Object:
    """The addresses of a load balancer are its own unless they say otherwise."""
    balancer = (service.get("status") or {}).get("loadBalancer") or {}
    ingress = balancer.get("ingress")
    if not ingress or (service.get("spec") or {}).get("type") != "LoadBalancer":
        return service
    if all(point.get("ipMode") is not None or not point.get("ip") for point in ingress):
        return service
    points = [{"ipMode": "VIP", **point} if point.get("ip") else point for point in ingress]
    return {**service, "status": {**service["status"], "loadBalancer": {**balancer, "ingress": points}}}


service: Rule = struct(
    first=(_addressed,),
    parts={
        "spec": struct(
            {"sessionAffinity": "None", "type": "ClusterIP"},
            first=(_sticky, _routed),
            parts={"ports": each(struct({"protocol": "TCP"}, first=(_to_itself,)))},
        )
    },
)
endpoints: Rule = struct(parts={"subsets": each(struct(parts={"ports": each(struct({"protocol": "TCP"}))}))})
endpoint_slice: Rule = struct(parts={"ports": each(struct({"name": "", "protocol": "TCP"}))})


def _typed(spec: Object) -> Object:
    if spec.get("policyTypes"):
        return spec
    return {**spec, "policyTypes": ["Ingress", "Egress"] if spec.get("egress") else ["Ingress"]}


_rules: Rule = each(struct(parts={"ports": each(struct({"protocol": "TCP"}))}))
network_policy: Rule = struct(parts={"spec": struct(first=(_typed,), parts={"ingress": _rules, "egress": _rules})})
ingress_class: Rule = struct(parts={"spec": struct(parts={"parameters": struct(null={"scope": "Cluster"})})})
