"""Ingresses, their classes, and NetworkPolicies."""

from collections.abc import Collection, Iterator, Mapping
from typing import Any, TypeAlias

from kadmit.api import fields
from kadmit.api.fields import FieldError, Path
from kadmit.api.gojson import Named
from kadmit.cel.library import names
from kadmit.kinds import labels
from kadmit.kinds.metadata import dns_subdomain
from kadmit.kinds.rules import addresses, enums, meta, naming, numbers
from kadmit.kinds.rules.meta import Object

Json: TypeAlias = Any
Part: TypeAlias = Mapping[str, Json]

_AT = fields.path("spec")
_CLASS = "kubernetes.io/ingress.class"
_BAD_SEQUENCES, _BAD_ENDINGS = ("//", "/./", "/../", "%2f", "%2F"), ("/..", "/.")
_PATH_TYPES = ("Exact", "ImplementationSpecific", "Prefix")


# ---------------------------------------------------------------- ingresses


def create_ingress(ingress: Object) -> Iterator[FieldError]:
    yield from meta.created(ingress)
    yield from _ingress(ingress.get("spec") or {})
    of_annotation = (meta.of(ingress).get("annotations") or {}).get(_CLASS)
    of_field = (ingress.get("spec") or {}).get("ingressClassName")
    if of_annotation is not None and of_field is not None and of_annotation != of_field:
        text = "must match `ingressClassName` when both are specified"
        yield fields.invalid(fields.path("annotations", _CLASS), of_annotation, text)


def update_ingress(new: Object, old: Object) -> Iterator[FieldError]:
    """What was wrong with names of secrets and rules of wildcard hosts may stay wrong."""
    before = old.get("spec") or {}
    yield from meta.updated(new, old)
    yield from meta.created(new)
    yield from _ingress(
        new.get("spec") or {},
        any_secret=any(names.dns1123_subdomain(tls["secretName"]) for tls in before.get("tls") or () if tls.get("secretName")),
        any_wildcard=any(_has_bad_wildcard(rule) for rule in before.get("rules") or ()),
    )


def _has_bad_wildcard(rule: Part) -> bool:
    return "*" in (rule.get("host") or "") and next(_paths(rule, _AT), None) is not None


def _ingress(spec: Part, *, any_secret: bool = False, any_wildcard: bool = False) -> Iterator[FieldError]:
    rules = spec.get("rules")
    if not rules and spec.get("defaultBackend") is None:
        yield fields.invalid(_AT, rules, "either `defaultBackend` or `rules` must be specified")
    if spec.get("defaultBackend") is not None:
        yield from _backend(spec["defaultBackend"], _AT.child("defaultBackend"))
    for index, rule in enumerate(rules or ()):
        yield from _host(rule.get("host") or "", _AT.child("rules").index(index).child("host"))
        if not any_wildcard or "*" not in (rule.get("host") or ""):
            yield from _paths(rule, _AT.child("rules").index(index))
    for index, tls in enumerate(spec.get("tls") or ()):
        yield from _tls(tls, _AT.child("tls").index(index), any_secret=any_secret)
    if spec.get("ingressClassName") is not None:
        yield from naming.subdomain(spec["ingressClassName"], _AT.child("ingressClassName"))


def _host(host: str, at: Path) -> Iterator[FieldError]:
    if not host:
        return
    if addresses.parse(host) is not None:
        yield fields.invalid(at, host, "must be a DNS name, not an IP address")
    yield from naming.complaints(naming.host(host), host, at)


def _tls(tls: Part, at: Path, *, any_secret: bool) -> Iterator[FieldError]:
    for index, host in enumerate(tls.get("hosts") or ()):
        yield from naming.complaints(naming.host(host), host, at.child("hosts").index(index))
    secret = tls.get("secretName") or ""
    if secret and not any_secret:
        yield from naming.subdomain(secret, at.child("secretName"))


def _paths(rule: Part, at: Path) -> Iterator[FieldError]:
    if rule.get("http") is None:
        return
    paths = rule["http"].get("paths") or ()
    if not paths:
        yield fields.required(at.child("http", "paths"))
    for index, path in enumerate(paths):
        yield from _path(path, at.child("http", "paths").index(index))


def _path(value: Part, at: Path) -> Iterator[FieldError]:
    of_type, path = value.get("pathType"), value.get("path") or ""
    if of_type is None:
        yield fields.required(at.child("pathType"), "pathType must be specified")
        return
    if of_type in ("Exact", "Prefix"):
        yield from _plain_path(path, at.child("path"))
    elif of_type == "ImplementationSpecific":
        if path and not path.startswith("/"):
            yield fields.invalid(at.child("path"), path, "must be an absolute path")
    else:
        yield from enums.one_of(of_type, _PATH_TYPES, at.child("pathType"))
    yield from _backend(value.get("backend") or {}, at.child("backend"))


def _plain_path(path: str, at: Path) -> Iterator[FieldError]:
    if not path.startswith("/"):
        yield fields.invalid(at, path, "must be an absolute path")
    for sequence in _BAD_SEQUENCES:
        if sequence in path:
            yield fields.invalid(at, path, f"must not contain '{sequence}'")
    for ending in _BAD_ENDINGS:
        if path.endswith(ending):
            yield fields.invalid(at, path, f"cannot end with '{ending}'")


def _backend(backend: Part, at: Path) -> Iterator[FieldError]:
    resource, service = backend.get("resource"), backend.get("service")
    if resource is not None and service is not None:
        yield fields.invalid(at, "", "cannot set both resource and service backends")
    elif resource is not None:
        yield from _reference(resource, at.child("resource"))
    elif service is not None:
        yield from _service(service, at)
    else:
        yield fields.invalid(at, "", "resource or service backend is required")


def _service(service: Part, at: Path) -> Iterator[FieldError]:
    name, port, place = service.get("name") or "", service.get("port") or {}, at.child("service")
    yield from naming.label(name, place.child("name")) if name else (fields.required(place.child("name")),)
    named, number = port.get("name") or "", port.get("number") or 0
    if named and number:
        yield fields.invalid(at, "", "cannot set both port name & port number")
    elif named:
        yield from naming.complaints(naming.port(named), named, place.child("port", "name"))
    elif number:
        yield from numbers.port(number, place.child("port", "number"))
    else:
        yield fields.required(at, "port name or number is required")


def _reference(reference: Part, at: Path) -> Iterator[FieldError]:
    if reference.get("apiGroup") is not None:
        yield from naming.subdomain(reference["apiGroup"], at.child("apiGroup"))
    for member in ("kind", "name"):
        value = reference.get(member) or ""
        yield from naming.path_segment(value, at.child(member)) if value else (fields.required(at.child(member)),)


# ---------------------------------------------------------------- ingress classes


def create_class(value: Object) -> Iterator[FieldError]:
    yield from meta.created(value, dns_subdomain, namespaced=False)
    spec = value.get("spec") or {}
    controller = spec.get("controller") or ""
    if naming.size(controller) > 250:
        yield fields.too_long(_AT.child("controller"), 250)
    yield from naming.domain_path(controller, _AT.child("controller"))
    if spec.get("parameters") is not None:
        yield from _parameters(spec["parameters"], _AT.child("parameters"))


def _parameters(reference: Part, at: Path) -> Iterator[FieldError]:
    yield from _reference(reference, at)
    scope, namespace = reference.get("scope"), reference.get("namespace")
    if scope is None:
        yield fields.required(at.child("scope"))
        return
    yield from enums.one_of(scope, ("Cluster", "Namespace"), at.child("scope"))
    if scope == "Namespace":
        if namespace is None:
            yield fields.required(at.child("namespace"), "`parameters.scope` is set to 'Namespace'")
        else:
            yield from naming.label(namespace, at.child("namespace"))
    if scope == "Cluster" and namespace is not None:
        yield fields.forbidden(at.child("namespace"), "`parameters.scope` is set to 'Cluster'")


def update_class(new: Object, old: Object) -> Iterator[FieldError]:
    yield from meta.updated(new, old)
    after, before = ((one.get("spec") or {}).get("controller") or "" for one in (new, old))
    yield from meta.immutable(after, before, _AT.child("controller"))
    yield from create_class(new)


# ---------------------------------------------------------------- network policies


def create_policy(policy: Object) -> Iterator[FieldError]:
    yield from meta.created(policy)
    yield from _policy(policy.get("spec") or {})


def update_policy(new: Object, old: Object) -> Iterator[FieldError]:
    before = old.get("spec") or {}
    yield from meta.updated(new, old)
    yield from _policy(
        new.get("spec") or {},
        kept=frozenset(_blocks(before)),
        any_value=bool(labels.validate_selector(before.get("podSelector"), _AT)),
    )


def _blocks(spec: Part) -> Iterator[str]:
    """All address blocks that a policy names."""
    for direction, peers in (("ingress", "from"), ("egress", "to")):
        for rule in spec.get(direction) or ():
            for peer in rule.get(peers) or ():
                block = peer.get("ipBlock")
                if block is not None:
                    yield from (block.get("cidr") or "", *(block.get("except") or ()))


def _policy(spec: Part, *, kept: Collection[str] = (), any_value: bool = False) -> Iterator[FieldError]:
    yield from labels.validate_selector(spec.get("podSelector") or {}, _AT.child("podSelector"), any_value=any_value)
    for direction, peers in (("ingress", "from"), ("egress", "to")):
        for index, rule in enumerate(spec.get(direction) or ()):
            at = _AT.child(direction).index(index)
            for which, port in enumerate(rule.get("ports") or ()):
                yield from _port(port, at.child("ports").index(which))
            for which, peer in enumerate(rule.get(peers) or ()):
                yield from _peer(peer, at.child(peers).index(which), kept, any_value=any_value)
    types = spec.get("policyTypes") or []
    if len(types) > 2:
        yield fields.invalid(_AT.child("policyTypes"), types, "may not specify more than two policyTypes")
        return
    for index, of_type in enumerate(types):
        yield from enums.one_of(of_type, ("Ingress", "Egress"), _AT.child("policyTypes").index(index))


def _port(value: Part, at: Path) -> Iterator[FieldError]:
    port, end = value.get("port"), value.get("endPort")
    if value.get("protocol") is not None and value["protocol"] not in ("TCP", "UDP", "SCTP"):
        yield fields.not_supported(at.child("protocol"), Named(value["protocol"]), ("TCP", "UDP", "SCTP"))
    if isinstance(port, int):
        yield from numbers.port(port, at.child("port"))
        if end is not None and end < port:
            yield fields.invalid(at.child("endPort"), port, "must be greater than or equal to `port`")
        yield from numbers.port(end, at.child("endPort"))
        return
    if end is not None:
        which = "non-numeric" if port is not None else "not specified"
        yield fields.invalid(at.child("endPort"), end, f"may not be specified when `port` is {which}")
    if port is not None:
        yield from naming.complaints(naming.port(port), port, at.child("port"))


def _peer(peer: Part, at: Path, kept: Collection[str], *, any_value: bool) -> Iterator[FieldError]:
    given = [member for member in ("podSelector", "namespaceSelector", "ipBlock") if peer.get(member) is not None]
    for member in ("podSelector", "namespaceSelector"):
        yield from labels.validate_selector(peer.get(member), at.child(member), any_value=any_value)
    if peer.get("ipBlock") is not None:
        yield from _block(peer["ipBlock"], at.child("ipBlock"), kept)
    if not given:
        yield fields.required(at, "must specify a peer")
    elif len(given) > 1 and "ipBlock" in given:
        yield fields.forbidden(at, "may not specify both ipBlock and another peer")


def _block(block: Part, at: Path, kept: Collection[str]) -> Iterator[FieldError]:
    text = block.get("cidr") or ""
    if not text:
        yield fields.required(at.child("cidr"))
        return
    yield from addresses.block(text, at.child("cidr"), kept)
    whole = addresses.parse_block(text)
    if whole is None:
        return
    for index, value in enumerate(block.get("except") or ()):
        place = at.child("except").index(index)
        yield from addresses.block(value, place, kept)
        part = addresses.parse_block(value)
        if part is not None and not whole.holds(part):
            yield fields.invalid(place, value, "must be a strict subset of `cidr`")
