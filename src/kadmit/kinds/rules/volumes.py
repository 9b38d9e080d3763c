"""Volumes of pods: one source each, and what each source needs."""

from collections.abc import Callable, Iterator, Mapping
from typing import Any, TypeAlias

from kadmit.api import fields
from kadmit.api.fields import FieldError, Path
from kadmit.cel.library import names
from kadmit.kinds import labels, metadata
from kadmit.kinds.rules import claims, downward, enums, naming, paths, projections, resources, vendors
from kadmit.kinds.rules.vendors import needs

Json: TypeAlias = Any
Source: TypeAlias = Mapping[str, Json]

_HOST_PATHS = ("", "BlockDevice", "CharDevice", "Directory", "DirectoryOrCreate", "File", "FileOrCreate", "Socket")
_PULL_POLICIES = ("Always", "IfNotPresent", "Never")


def all_of(volumes: list[Source], at: Path, *, pod: str = "", is_pod: bool = False) -> tuple[dict[str, Source], list[FieldError]]:
    """The sound volumes by name, and the errors of the others. `pod`: the name of the pod, if it has one."""
    sound: dict[str, Source] = {}
    found: list[FieldError] = []
    created = {f"{pod}-{volume.get('name') or ''}" for volume in volumes if pod and volume.get("ephemeral") is not None}
    for index, volume in enumerate(volumes):
        place = at.index(index)
        errors = [*_source(volume, place, pod=pod, is_pod=is_pod), *_name(volume.get("name") or "", sound, place.child("name"))]
        if not errors:
            sound[volume["name"]] = volume
        found += errors
        found += _created_claim(volume.get("persistentVolumeClaim") or {}, created, place)
    return sound, found


def _name(name: str, taken: Mapping[str, Source], at: Path) -> Iterator[FieldError]:
    if not name:
        yield fields.required(at)
    else:
        yield from naming.label(name, at)
    if name in taken:
        yield fields.duplicate(at, name)


def _created_claim(claim: Source, created: set[str], at: Path) -> Iterator[FieldError]:
    name = claim.get("claimName") or ""
    if name in created:
        text = "must not reference a PVC that gets created for an ephemeral volume"
        yield fields.invalid(at.child("persistentVolumeClaim", "claimName"), name, text)


def _source(volume: Source, at: Path, *, pod: str, is_pod: bool) -> Iterator[FieldError]:
    given = [name for name in SOURCES if volume.get(name) is not None]
    if not given:
        yield fields.required(at, "must specify a volume type")
        return
    first = given[0]
    if first == "image" and is_pod and not volume["image"].get("reference"):
        yield fields.required(at.child("image", "reference"))
    yield from SOURCES[first](volume[first], at.child(first))
    if first == "ephemeral" and pod:
        yield from _claim_name(pod, volume.get("name") or "", at)
    for more in given[1:]:
        yield fields.forbidden(at.child(_CALLED.get(more, more)), "may not specify more than 1 volume type")


def _claim_name(pod: str, volume: str, at: Path) -> Iterator[FieldError]:
    if volume:
        claim = f"{pod}-{volume}"
        for problem in names.dns1123_subdomain(claim):
            yield fields.invalid(at.child("name"), volume, f'PVC name "{claim}": {problem}')


# ---------------------------------------------------------------- sources


def _empty_dir(source: Source, at: Path) -> Iterator[FieldError]:
    limit = source.get("sizeLimit")
    if limit is not None and resources.parsed(limit).sign() < 0:
        yield fields.forbidden(at.child("sizeLimit"), "SizeLimit field must be a valid resource quantity")


def _host_path(source: Source, at: Path) -> Iterator[FieldError]:
    if not source.get("path"):
        yield fields.required(at.child("path"))
        return
    yield from paths.no_backsteps(source["path"], at.child("path"))
    yield from enums.one_of(source.get("type"), _HOST_PATHS, at.child("type"))


def _git_repo(source: Source, at: Path) -> Iterator[FieldError]:
    if not source.get("repository"):
        yield fields.required(at.child("repository"))
    yield from paths.descending(source.get("directory") or "", at.child("directory"))


def _files(named: str) -> Callable[[Source, Path], Iterator[FieldError]]:
    """The keys of a Secret or ConfigMap as files."""

    def check(source: Source, at: Path) -> Iterator[FieldError]:
        if not source.get(named):
            yield fields.required(at.child(named))
        yield from paths.mode(source.get("defaultMode"), at.child("defaultMode"))
        for index, item in enumerate(source.get("items") or ()):
            yield from projections.key_to_path(item, at.child("items").index(index))

    return check


def _nfs(source: Source, at: Path) -> Iterator[FieldError]:
    yield from needs("server", "path")(source, at)
    path = source.get("path") or ""
    if not path.startswith("/"):
        yield fields.invalid(at.child("path"), path, "must be an absolute path")


def _downward(source: Source, at: Path) -> Iterator[FieldError]:
    """NB: errors do not say which of the files they are about."""
    yield from paths.mode(source.get("defaultMode"), at.child("defaultMode"))
    for file in source.get("items") or ():
        yield from downward.file(file, at)


def _csi(source: Source, at: Path) -> Iterator[FieldError]:
    yield from claims.driver(source.get("driver") or "", at.child("driver"))
    secret = source.get("nodePublishSecretRef")
    if secret is not None:
        if not secret.get("name"):
            yield fields.required(at.child("nodePublishSecretRef", "name"))
        else:
            yield from naming.subdomain(secret["name"], at.child("name"))


def _ephemeral(source: Source, at: Path) -> Iterator[FieldError]:
    template = source.get("volumeClaimTemplate")
    if template is None:
        yield fields.required(at.child("volumeClaimTemplate"))
        return
    place = at.child("volumeClaimTemplate")
    meta = template.get("metadata") or {}
    yield from metadata.validate_annotations(meta.get("annotations"), place.child("metadata", "annotations"))
    yield from labels.validate_labels(meta.get("labels"), place.child("metadata", "labels"))
    for name, value in meta.items():
        if name not in ("annotations", "labels") and value:
            yield fields.forbidden(place.child("metadata", name), "cannot be set")
    yield from claims.spec(template.get("spec") or {}, place.child("spec"))


def _image(source: Source, at: Path) -> Iterator[FieldError]:
    return enums.required_one_of(source.get("pullPolicy"), _PULL_POLICIES, at.child("pullPolicy"))


def _renamed(at: Path) -> Path:
    """NB: errors of this disk call it by another name."""
    return Path(f"{at.text.rpartition('.')[0]}.persistentDisk")


# In the order in which Kubernetes looks for them.
SOURCES: Mapping[str, Callable[[Source, Path], Iterator[FieldError]]] = {
    "emptyDir": _empty_dir,
    "hostPath": _host_path,
    "gitRepo": _git_repo,
    "gcePersistentDisk": lambda source, at: vendors.disk("pdName")(source, _renamed(at)),
    "awsElasticBlockStore": vendors.disk("volumeID"),
    "secret": _files("secretName"),
    "nfs": _nfs,
    "iscsi": vendors.iscsi,
    "glusterfs": needs("endpoints", "path"),
    "flocker": vendors.flocker,
    "persistentVolumeClaim": needs("claimName"),
    "rbd": needs("monitors", "image"),
    "cinder": vendors.cinder,
    "cephfs": needs("monitors"),
    "quobyte": vendors.quobyte,
    "downwardAPI": _downward,
    "fc": vendors.fibre_channel,
    "flexVolume": vendors.flex,
    "configMap": _files("name"),
    "azureFile": needs("secretName", "shareName"),
    "vsphereVolume": needs("volumePath"),
    "photonPersistentDisk": needs("pdID"),
    "portworxVolume": needs("volumeID"),
    "azureDisk": vendors.azure_disk,
    "storageos": vendors.storage_os,
    "projected": projections.volume,
    "scaleIO": needs("gateway", "system", "volumeName"),
    "csi": _csi,
    "ephemeral": _ephemeral,
    "image": _image,
}
_CALLED = {"cephfs": "cephFS", "downwardAPI": "downwarAPI"}  # in errors about a second source
