"""Drivers of storage: CSIDrivers, CSINodes, what they have left, volumes attached by them, and classes of attributes."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, TypeAlias

from kadmit.api import fields
from kadmit.api.fields import FieldError, Path
from kadmit.kinds import internals, labels
from kadmit.kinds.metadata import dns_subdomain
from kadmit.kinds.rules import claims, enums, meta, naming, numbers, persistentvolumes, resources, storage
from kadmit.kinds.rules.meta import Object

Json: TypeAlias = Any
Part: TypeAlias = Mapping[str, Json]

_AT, _STATUS = fields.path("spec"), fields.path("status")
_SHORTEST_TOKEN, _LONGEST_TOKEN = 600, 2**32
_MAX_NODE_ID = 256
_MAX_METADATA, _MAX_MESSAGE = 256 * 1024, 1024


# ---------------------------------------------------------------- drivers


def create_driver(value: Object) -> Iterator[FieldError]:
    yield from meta.created(value, dns_subdomain, namespaced=False)
    yield from _driver(value.get("spec") or {})


def update_driver(new: Object, old: Object) -> Iterator[FieldError]:
    """NB: one of the places is misspelt in Kubernetes."""
    after, before = new.get("spec") or {}, old.get("spec") or {}
    yield from meta.updated(new, old)
    yield from _driver(after)
    yield from meta.immutable(after.get("attachRequired"), before.get("attachRequired"), _AT.child("attachedRequired"))
    member = "volumeLifecycleModes"
    yield from meta.immutable(after.get(member), before.get(member), _AT.child(member))


def _driver(spec: Part) -> Iterator[FieldError]:
    policies = ("File", "None", "ReadWriteOnceWithFSType")
    yield from enums.one_of(spec.get("fsGroupPolicy"), policies, _AT.child("fsGroupPolicy"))
    requests = spec.get("tokenRequests") or ()
    yield from _token_requests(requests, _AT.child("tokenRequests"))
    for mode in spec.get("volumeLifecycleModes") or ():
        yield from enums.one_of(mode, ("Persistent", "Ephemeral"), _AT.child("volumeLifecycleModes"))
    period, at = spec.get("nodeAllocatableUpdatePeriodSeconds"), _AT.child("nodeAllocatableUpdatePeriodSeconds")
    if period is not None and period < 10:
        yield fields.invalid(at, period, "must be greater than or equal to 10 seconds")
    in_secrets = spec.get("serviceAccountTokenInSecrets")
    if in_secrets is not None and not requests:
        text = "serviceAccountTokenInSecrets is set but no tokenRequests are specified"
        yield fields.invalid(_AT.child("serviceAccountTokenInSecrets"), in_secrets, text)


def _token_requests(requests: Sequence[Part], at: Path) -> Iterator[FieldError]:
    seen: set[str] = set()
    for index, request in enumerate(requests):
        audience, place = request.get("audience") or "", at.index(index)
        if audience in seen:
            yield fields.duplicate(place.child("audience"), audience)
            continue
        seen.add(audience)
        seconds = request.get("expirationSeconds")
        if seconds is not None and seconds < _SHORTEST_TOKEN:
            yield fields.invalid(place.child("expirationSeconds"), seconds, "may not specify a duration less than 10 minutes")
        if seconds is not None and seconds > _LONGEST_TOKEN:
            text = "may not specify a duration larger than 2^32 seconds"
            yield fields.invalid(place.child("expirationSeconds"), seconds, text)


# ---------------------------------------------------------------- drivers of a node


def create_node(value: Object) -> Iterator[FieldError]:
    yield from meta.created(value, dns_subdomain, namespaced=False)
    seen: set[str] = set()
    for index, driver in enumerate((value.get("spec") or {}).get("drivers") or ()):
        yield from _node_driver(driver, seen, _AT.child("drivers").index(index))


def _node_driver(driver: Part, seen: set[str], at: Path) -> Iterator[FieldError]:
    name, node = driver.get("name") or "", driver.get("nodeID") or ""
    yield from claims.driver(name, at.child("name"))
    if not node:
        yield fields.required(at.child("nodeID"))
    if naming.size(node) > _MAX_NODE_ID:
        yield fields.invalid(at.child("nodeID"), node, f"must be {_MAX_NODE_ID} characters or less")
    yield from numbers.not_negative((driver.get("allocatable") or {}).get("count"), at.child("allocatable", "count"))
    if name in seen:
        yield fields.duplicate(at.child("name"), name)
    seen.add(name)
    keys = driver.get("topologyKeys") or []
    for index, key in enumerate(keys):
        if not key:
            yield fields.required(at)
        if key in keys[:index]:
            yield fields.duplicate(at, key)
        yield from naming.qualified(key, at)


def update_node(new: Object, old: Object) -> Iterator[FieldError]:
    """NB: of a driver that stays, only the number of volumes may change."""
    yield from create_node(new)
    drivers = (new.get("spec") or {}).get("drivers") or ()
    for before in (old.get("spec") or {}).get("drivers") or ():
        for after in drivers:
            if after.get("name") == before.get("name"):
                now, was = ({**one, "allocatable": None} for one in (after, before))
                if not internals.same("CSINodeDriver", was, now):
                    yield fields.invalid(_AT.child("drivers"), internals.shown("CSINodeDriver", now), meta.IMMUTABLE)


# ---------------------------------------------------------------- what is left


def create_capacity(value: Object) -> Iterator[FieldError]:
    yield from meta.created(value)
    yield from labels.validate_selector(value.get("nodeTopology"), fields.path("nodeTopology"))
    yield from naming.subdomain(value.get("storageClassName") or "", fields.path("storageClassName"))
    if value.get("capacity") is not None:
        yield from resources.not_negative(value["capacity"], fields.path("capacity"))


def update_capacity(new: Object, old: Object) -> Iterator[FieldError]:
    yield from create_capacity(new)
    yield from meta.updated(new, old)
    topology, name = new.get("nodeTopology"), new.get("storageClassName") or ""
    if not internals.same("LabelSelector", old.get("nodeTopology"), topology):
        yield fields.invalid(fields.path("nodeTopology"), internals.shown("LabelSelector", topology), meta.IMMUTABLE)
    if name != (old.get("storageClassName") or ""):
        yield fields.invalid(fields.path("storageClassName"), name, meta.IMMUTABLE)


# ---------------------------------------------------------------- attached volumes


def create_attachment(value: Object) -> Iterator[FieldError]:
    yield from meta.created(value, dns_subdomain, namespaced=False)
    spec = value.get("spec") or {}
    source, at = spec.get("source") or {}, _AT.child("source")
    yield from claims.driver(spec.get("attacher") or "", _AT.child("attacher"))
    yield from _attached(source, at)
    yield from naming.subdomain(spec.get("nodeName") or "", _AT.child("nodeName"))
    yield from _attachment_status(value.get("status") or {})
    if source.get("persistentVolumeName") is not None:
        yield from naming.subdomain(source["persistentVolumeName"], at.child("persistentVolumeName"))


def _attached(source: Part, at: Path) -> Iterator[FieldError]:
    text = "must specify exactly one of inlineVolumeSpec and persistentVolumeName"
    inline, name = source.get("inlineVolumeSpec"), source.get("persistentVolumeName")
    if inline is None and name is None:
        yield fields.required(at, text)
    elif inline is not None and name is not None:
        yield fields.forbidden(at, text)
    elif inline is not None:
        yield from persistentvolumes.inline_volume(inline, at.child("inlineVolumeSpec"))
    elif not name:
        yield fields.required(at.child("persistentVolumeName"), "must specify non empty persistentVolumeName")


def _attachment_status(status: Part) -> Iterator[FieldError]:
    data = status.get("attachmentMetadata") or {}
    if sum(naming.size(key) + naming.size(value) for key, value in data.items()) > _MAX_METADATA:
        yield fields.too_long(_STATUS.child("attachmentMetadata"), _MAX_METADATA)
    for member in ("attachError", "detachError"):
        error, at = status.get(member) or {}, _STATUS.child(member)
        if naming.size(error.get("message") or "") > _MAX_MESSAGE:
            yield fields.too_long(at.child("message"), _MAX_METADATA)  # NB: the limit that is told is another one
        yield from numbers.between(error.get("errorCode"), 0, numbers.MAX_INT32, at.child("errorCode"))


def update_attachment(new: Object, old: Object) -> Iterator[FieldError]:
    yield from create_attachment(new)
    now, was = new.get("spec") or {}, old.get("spec") or {}
    if not internals.same("VolumeAttachmentSpec", was, now):
        yield fields.invalid(_AT, internals.shown("VolumeAttachmentSpec", now), meta.IMMUTABLE)


# ---------------------------------------------------------------- classes of attributes


def create_attributes_class(value: Object) -> Iterator[FieldError]:
    yield from meta.created(value, dns_subdomain, namespaced=False)
    yield from storage.provisioner(value.get("driverName") or "", fields.path("driverName"))
    parameters, at = value.get("parameters") or {}, fields.path("parameters")
    yield from storage.parameters(parameters, at)
    if not parameters:
        yield fields.required(at, "must contain at least one key/value pair")


def update_attributes_class(new: Object, old: Object) -> Iterator[FieldError]:
    yield from meta.updated(new, old)
    for member in ("driverName", "parameters"):
        if (new.get(member) or None) != (old.get(member) or None):
            yield fields.forbidden(fields.path(member), f"updates to {member} are forbidden.")
    yield from create_attributes_class(new)
