"""Resources that belong to a pod as a whole: resource claims, and requests and limits above those of its containers."""

from collections.abc import Iterator, Mapping
from typing import Any, TypeAlias

from kadmit.api import fields
from kadmit.api.fields import FieldError, Path
from kadmit.cel import quantities
from kadmit.cel.quantities import Quantity
from kadmit.kinds import internals
from kadmit.kinds.rules import naming, resources

Json: TypeAlias = Any
Spec: TypeAlias = Mapping[str, Json]

_EITHER = ("resourceClaimName", "resourceClaimTemplateName")


def claim_names(spec: Spec) -> frozenset[str]:
    return frozenset(claim["name"] for claim in spec.get("resourceClaims") or () if claim.get("name"))


def claims(spec: Spec, at: Path) -> Iterator[FieldError]:
    seen: set[str] = set()
    for index, claim in enumerate(spec.get("resourceClaims") or ()):
        place, name = at.index(index), claim.get("name") or ""
        if not name:
            yield fields.required(place.child("name"))
        elif name in seen:
            yield fields.duplicate(place.child("name"), name)
        else:
            yield from naming.label(name, place.child("name"))
            seen.add(name)
        yield from _referred(claim, place)


def _referred(claim: Spec, at: Path) -> Iterator[FieldError]:
    given = [member for member in _EITHER if claim.get(member) is not None]
    listed = "at most one of `resourceClaimName` or `resourceClaimTemplateName` may be specified"
    if len(given) != 1:
        text = listed if given else "must specify one of: `resourceClaimName`, `resourceClaimTemplateName`"
        yield fields.invalid(at, internals.shown("PodResourceClaim", claim), text)
    for member in given:
        yield from naming.subdomain(claim[member], at.child(member))


def of_pod(spec: Spec, at: Path) -> Iterator[FieldError]:
    given = spec.get("resources")
    if given is None:
        return
    place = at.child("resources")
    if (spec.get("os") or {}).get("name") == "windows":
        yield fields.forbidden(place, "may not be set for a windows pod")
        return
    if given.get("claims") is not None:
        yield fields.forbidden(place.child("claims"), "claims may not be set for Resources at pod-level")
    yield from resources.requirements(given, place, claims=claim_names(spec), named=resources.pod_name)
    yield from _covers_containers(spec, given, place)


def _covers_containers(spec: Spec, given: Spec, at: Path) -> Iterator[FieldError]:
    """What is requested for the pod covers what its containers request; no container may exceed the pod's limit."""
    requested = _aggregated(spec)
    for name in sorted(requested):
        asked = (given.get("requests") or {}).get(name)
        if asked is not None and quantities.compare(requested[name], resources.parsed(asked)) > 0:
            text = f"must be greater than or equal to aggregate container requests of {requested[name]}"
            yield fields.invalid(at.child("requests").key(name), str(asked), text)
    for index, container in enumerate(spec.get("containers") or ()):
        limits = (container.get("resources") or {}).get("limits") or {}
        for name in sorted(limits):
            most = (given.get("limits") or {}).get(name)
            if most is not None and resources.is_more(limits[name], most):
                place = at.child("containers").index(index).key(name).child("limits")
                yield fields.invalid(place, str(limits[name]), f"must be less than or equal to pod limits of {most}")


def _aggregated(spec: Spec) -> dict[str, Quantity]:
    """What the containers request at any one time: those that run together, or the neediest of those that run before."""
    total: dict[str, Quantity] = {}
    for container in spec.get("containers") or ():
        _add(total, container)
    sidecars: dict[str, Quantity] = {}
    before: dict[str, Quantity] = {}
    for container in spec.get("initContainers") or ():
        if container.get("restartPolicy") == "Always":
            _add(sidecars, container)
            _add(total, container)
            needed = dict(sidecars)
        else:
            needed = dict(sidecars)
            _add(needed, container)
        _raise(before, needed)
    _raise(total, before)
    return total


def _add(total: dict[str, Quantity], container: Spec) -> None:
    for name, amount in ((container.get("resources") or {}).get("requests") or {}).items():
        more = resources.parsed(amount)
        total[name] = quantities.add(total[name], more) or more if name in total else more


def _raise(total: dict[str, Quantity], to: Mapping[str, Quantity]) -> None:
    for name, amount in to.items():
        if name not in total or quantities.compare(amount, total[name]) > 0:
            total[name] = amount
