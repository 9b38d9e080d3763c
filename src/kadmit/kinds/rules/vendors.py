"""Volumes on the storage of vendors: what each needs to be found."""

import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any, TypeAlias

from kadmit.api import fields
from kadmit.api.fields import FieldError, Path
from kadmit.kinds.rules import enums, naming

Json: TypeAlias = Any
Source: TypeAlias = Mapping[str, Json]
Check: TypeAlias = Callable[[Source, Path], Iterator[FieldError]]

_ISCSI_NAMES = {
    "iqn": re.compile(r"iqn\.[0-9]{4}-[0-9]{2}\.[0-9A-Za-z.-]+(?=:):[^,;*&$|\s]+\Z"),
    "eui": re.compile(r"eui.[0-9A-Za-z]{16}\Z"),
    "naa": re.compile(r"naa.[0-9A-Za-z]{32}\Z"),
}
_PAIRS = "must be a host:port pair or multiple pairs separated by commas"
_HOST_PORT = re.compile(r"(?:\[[^\[\]]*\]|[^:\[\]]*):[^:\[\]]*")
_LONGEST_TENANT = 64
_LONGEST_INTERFACE = 64
_MANAGED = "/subscriptions/{sub-id}/resourcegroups/{group-name}/providers/microsoft.compute/disks/{disk-id}"
_BLOB = "https://{account-name}.blob.core.windows.net/{container-name}/{disk-name}.vhd"


def needs(*members: str) -> Check:
    def check(source: Source, at: Path) -> Iterator[FieldError]:
        return (fields.required(at.child(member)) for member in members if not source.get(member))

    return check


def disk(member: str) -> Check:
    """A disk with partitions."""

    def check(source: Source, at: Path) -> Iterator[FieldError]:
        yield from needs(member)(source, at)
        partition = source.get("partition") or 0
        if not 0 <= partition <= 255:
            yield fields.invalid(at.child("partition"), partition, "must be between 1 and 255, inclusive")

    return check


def iscsi(source: Source, at: Path) -> Iterator[FieldError]:
    return _iscsi(source, at, " starting with iqn, eui, or naa")


def persistent_iscsi(source: Source, at: Path) -> Iterator[FieldError]:
    """NB: its secret needs a name, and texts say less."""
    return _iscsi(source, at, "", secret=True)


def iscsi_portal(volume: str, source: Source, at: Path) -> Iterator[FieldError]:
    """The name of a volume and its portal together become the name of an interface."""
    portal = source.get("targetPortal") or ""
    if portal and source.get("initiatorName") is not None and naming.size(f"{volume}:{portal}") > _LONGEST_INTERFACE:
        text = "Total length of <volume name>:<iscsi.targetPortal> must be under 64 characters"
        yield fields.invalid(at.child("targetportal"), portal, f"{text} if iscsi.initiatorName is specified.")


def _iscsi(source: Source, at: Path, starts: str, *, secret: bool = False) -> Iterator[FieldError]:
    yield from needs("targetPortal")(source, at)
    if not source.get("iqn"):
        yield fields.required(at.child("iqn"))
    else:
        yield from _iscsi_name(source["iqn"], at.child("iqn"), starts)
    yield from _lun(source.get("lun") or 0, at.child("lun"))
    if (source.get("chapAuthDiscovery") or source.get("chapAuthSession")) and source.get("secretRef") is None:
        yield fields.required(at.child("secretRef"))
    if secret:
        yield from _secret(source, at)
    if source.get("initiatorName") is not None:
        yield from _iscsi_name(source["initiatorName"], at.child("initiatorname"), starts)


def _iscsi_name(name: str, at: Path, starts: str) -> Iterator[FieldError]:
    form = _ISCSI_NAMES.get(name[:3])
    if form is None:
        yield fields.invalid(at, name, f"must be valid format{starts}")
    elif form.match(name) is None:
        yield fields.invalid(at, name, "must be valid format")


def _lun(lun: int, at: Path) -> Iterator[FieldError]:
    if not 0 <= lun <= 255:
        yield fields.invalid(at, lun, "must be between 0 and 255, inclusive")


def fibre_channel(source: Source, at: Path) -> Iterator[FieldError]:
    targets, ids = source.get("targetWWNs"), source.get("wwids")
    if not targets and not ids:
        yield fields.required(at.child("targetWWNs"), "must specify either targetWWNs or wwids, but not both")
    if targets and ids:
        yield fields.invalid(at.child("targetWWNs"), targets, "targetWWNs and wwids can not be specified simultaneously")
    if targets:
        if source.get("lun") is None:
            yield fields.required(at.child("lun"), "lun is required if targetWWNs is specified")
        else:
            yield from _lun(source["lun"], at.child("lun"))


def flocker(source: Source, at: Path) -> Iterator[FieldError]:
    name, uid = source.get("datasetName") or "", source.get("datasetUUID")
    if not name and not uid:
        yield fields.required(at, "one of datasetName and datasetUUID is required")
    if name and uid:
        yield fields.invalid(at, "resource", "datasetName and datasetUUID can not be specified simultaneously")
    if "/" in name:
        yield fields.invalid(at.child("datasetName"), name, "must not contain '/'")


def quobyte(source: Source, at: Path) -> Iterator[FieldError]:
    registry = source.get("registry") or ""
    if not registry:
        yield fields.required(at.child("registry"), _PAIRS)
    elif naming.size(source.get("tenant") or "") > _LONGEST_TENANT:
        yield fields.required(at.child("tenant"), "must be a UUID and may not exceed a length of 64 characters")
    else:
        for pair in registry.split(","):
            if _HOST_PORT.fullmatch(pair) is None:
                yield fields.invalid(at.child("registry"), registry, _PAIRS)
    yield from needs("volume")(source, at)


def flex(source: Source, at: Path) -> Iterator[FieldError]:
    yield from needs("driver")(source, at)
    for key in sorted(source.get("options") or {}):
        domain = f".{key.split('/', 1)[0].lower()}"
        if domain.endswith((".kubernetes.io", ".k8s.io")):
            text = "kubernetes.io and k8s.io namespaces are reserved"
            yield fields.invalid(at.child("options").key(key), key, text)


def cinder(source: Source, at: Path) -> Iterator[FieldError]:
    yield from needs("volumeID")(source, at)
    yield from _secret(source, at)


def _secret(source: Source, at: Path) -> Iterator[FieldError]:
    secret = source.get("secretRef")
    if secret is not None and not secret.get("name"):
        yield fields.required(at.child("secretRef", "name"))


def storage_os(source: Source, at: Path) -> Iterator[FieldError]:
    name, namespace = source.get("volumeName") or "", source.get("volumeNamespace") or ""
    if not name:
        yield fields.required(at.child("volumeName"))
    else:
        yield from naming.label(name, at.child("volumeName"))
    if namespace:
        yield from naming.label(namespace, at.child("volumeNamespace"))
    yield from _secret(source, at)


def azure_disk(source: Source, at: Path) -> Iterator[FieldError]:
    yield from needs("diskName", "diskURI")(source, at)
    yield from enums.one_of(source.get("cachingMode"), ("None", "ReadOnly", "ReadWrite"), at.child("cachingMode"))
    yield from enums.one_of(source.get("kind"), ("Dedicated", "Managed", "Shared"), at.child("kind"))
    uri, kind = source.get("diskURI") or "", source.get("kind")
    if kind == "Managed" and not uri.startswith("/subscriptions/"):
        yield fields.not_supported(at.child("diskURI"), uri, (_MANAGED,))
    if kind not in (None, "Managed") and not uri.startswith("https://"):
        yield fields.not_supported(at.child("diskURI"), uri, (_BLOB,))
