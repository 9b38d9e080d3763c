"""What is allowed in containers, yet hardly meant: variables and ports said twice, parts of bytes, annotations without effect."""

import re
from collections.abc import Iterator, Mapping
from typing import Any, TypeAlias

from kadmit.api.fields import Path
from kadmit.api.gojson import quoted
from kadmit.cel import quantities

Object: TypeAlias = Mapping[str, Any]

_SECCOMP_PREFIX = "container.seccomp.security.alpha.kubernetes.io/"
_APPARMOR_PREFIX = "container.apparmor.security.beta.kubernetes.io/"
_LOCALHOST = "localhost/"
_PARTS = ("initContainers", "containers", "ephemeralContainers")
_AMOUNTS = tuple((part, resource) for resource in ("memory", "ephemeral-storage") for part in ("limits", "requests"))
_WHOLE = re.compile(r"[0-9]{1,18}(?:[KMGTPE]i|[kMGTPE])?\Z")
SECCOMP_WORDS = 'non-functional in v1.27+; use the "seccompProfile" field instead'


def containers(spec: Object, at: Path) -> list[tuple[Object, Path]]:
    """All containers of a pod, and where each stands."""
    return [(c, at.child(part).index(i)) for part in _PARTS for i, c in enumerate(spec.get(part) or ())]


def warnings(spec: Object, annotations: Mapping[str, str], at: Path) -> Iterator[str]:
    """`at` is the pod's place: nothing, or that of a template."""
    every = [container for part in _PARTS for container in spec.get(part) or ()]
    listed = () if not annotations and all(map(_is_ordinary, every)) else containers(spec, at.child("spec"))
    for container, place in listed:
        yield from _annotations(container, spec, annotations, at)
        yield from _fractions(container.get("resources") or {}, place.child("resources"))
        yield from _variables(container.get("env") or (), place.child("env"))
    if not _are_ordinary_ports([port for container in every for port in container.get("ports") or ()]):
        placed = containers(spec, at.child("spec"))
        yield from _ports(placed)
        yield from _port_names(placed)


# ---------------------------------------------------------------- the ordinary case, in which nobody needs to know a place


def are_ordinary(spec: Object) -> bool:
    """Whether the containers of a pod without annotations are certainly nothing to warn of."""
    every = [container for part in _PARTS if part in spec for container in spec[part] or ()]
    for container in every:
        if not _is_ordinary(container):
            return False
    return _are_ordinary_ports([port for container in every if "ports" in container for port in container["ports"] or ()])


def _is_ordinary(container: Object) -> bool:
    """Whether its amounts are whole and its variables differ."""
    variables, amounts = container.get("env"), container.get("resources")
    if variables and len({variable["name"] for variable in variables}) < len(variables):
        return False
    return not amounts or (_are_whole(amounts.get("limits")) and _are_whole(amounts.get("requests")))


def _are_whole(amounts: Object | None) -> bool:
    """Whether they are certainly of whole bytes: digits, and a unit of many."""
    if not amounts:
        return True
    memory, storage = amounts.get("memory", "0"), amounts.get("ephemeral-storage", "0")
    return _WHOLE.match(str(memory)) is not None and _WHOLE.match(str(storage)) is not None


def _are_ordinary_ports(ports: list[Object]) -> bool:
    """Whether they differ in number, protocol and name, and none asks for an address of the host."""
    names = [port["name"] for port in ports if port.get("name")]
    numbers = {(port["containerPort"], port.get("protocol")) for port in ports if not port.get("hostIP")}
    return len(numbers) == len(ports) and len(set(names)) == len(names)


# ---------------------------------------------------------------- annotations


def _annotations(container: Object, spec: Object, annotations: Mapping[str, str], at: Path) -> Iterator[str]:
    security = container.get("securityContext") or {}
    places = at.child("metadata", "annotations")
    key = _SECCOMP_PREFIX + container["name"]
    if key in annotations and security.get("seccompProfile") is None:
        yield f"{places.key(key)}: {SECCOMP_WORDS}"
    key = _APPARMOR_PREFIX + container["name"]
    # NB: a pod itself is warned of it when the annotation is made a field.
    if at.text and key in annotations and security.get("appArmorProfile") is None:
        profile = (spec.get("securityContext") or {}).get("appArmorProfile")
        if profile is None or profile != _apparmor(annotations[key]):
            yield f'{places.key(key)}: deprecated since v1.30; use the "appArmorProfile" field instead'


def _apparmor(annotation: str) -> Object | None:
    """The field that an annotation stands for."""
    if annotation in ("unconfined", "runtime/default"):
        return {"type": "Unconfined" if annotation == "unconfined" else "RuntimeDefault"}
    name = annotation.removeprefix(_LOCALHOST) if annotation.startswith(_LOCALHOST) else ""
    return {"type": "Localhost", "localhostProfile": name} if name else None


# ---------------------------------------------------------------- amounts


def _fractions(resources: Object, at: Path) -> Iterator[str]:
    for part, resource in _AMOUNTS:
        yield from fraction(resources.get(part) or {}, resource, at.child(part))


def has_fraction(amounts: Object | None, resource: str) -> bool:
    """Whether the amount of a resource is not of whole bytes."""
    amount = quantities.parse(str(amounts[resource])) if amounts and resource in amounts else None
    return isinstance(amount, quantities.Quantity) and not amount.is_whole()


def fraction(amounts: Object, resource: str, at: Path) -> Iterator[str]:
    """A part of a byte."""
    if has_fraction(amounts, resource):
        shown = quoted(quantities.canonical(str(amounts[resource])) or "")
        yield f"{at.key(resource)}: fractional byte value {shown} is invalid, must be an integer"


# ---------------------------------------------------------------- variables


def _variables(variables: Any, at: Path) -> Iterator[str]:
    seen: set[str] = set()
    for i, variable in enumerate(variables):
        name = variable["name"]
        if name in seen and not _extends(variable):
            yield f"{at.index(i)}: hides previous definition of {quoted(name)}, which may be dropped when using apply"
        seen.add(name)


def _extends(variable: Object) -> bool:
    """Whether it makes something of its former value."""
    value, former = variable.get("value") or "", f"$({variable['name']})"
    return variable.get("valueFrom") is None and value != former and former in value


# ---------------------------------------------------------------- ports


def _ports(listed: list[tuple[Object, Path]]) -> Iterator[str]:
    seen: dict[tuple[int, str], list[tuple[Object, Path]]] = {}
    for container, place in listed:
        for i, port in enumerate(container.get("ports") or ()):
            at = place.child("ports").index(i)
            if port.get("hostIP") and not port.get("hostPort"):
                yield f"{at}: hostIP set without hostPort: {_shown(port)}"
            others = seen.setdefault((port["containerPort"], port.get("protocol") or ""), [])
            for other, where in others:
                problem = _clash(port, other)
                if problem:
                    yield f"{at}: {problem} port definition with {where}"
            others.append((port, at))


def _clash(port: Object, other: Object) -> str:
    mine, theirs = port.get("hostPort") or 0, other.get("hostPort") or 0
    here, there = port.get("hostIP") or "", other.get("hostIP") or ""
    if (mine, here) == (theirs, there):
        return "duplicate"
    if not mine or not theirs:
        return "overlapping"
    return "dangerously ambiguous" if mine == theirs and bool(here) != bool(there) else ""


def _shown(port: Object) -> str:
    """As Go prints it."""
    name, protocol = port.get("name") or "", port.get("protocol") or ""
    head = f"Name:{name} HostPort:{port.get('hostPort') or 0} ContainerPort:{port['containerPort']}"
    return f"{{{head} Protocol:{protocol} HostIP:{port.get('hostIP') or ''}}}"


def _port_names(listed: list[tuple[Object, Path]]) -> Iterator[str]:
    seen: dict[str, Path] = {}
    for container, place in listed:
        for i, port in enumerate(container.get("ports") or ()):
            name, at = port.get("name") or "", place.child("ports").index(i)
            first = seen.setdefault(name, at)
            if name and first is not at:
                use = f"services and probes that select ports by name will use {first}"
                yield f"{at}: duplicate port name {quoted(name)} with {first}, {use}"
