"""Files of one volume that stand in each other's way: two of the same name, or one where another needs a folder."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, NamedTuple, TypeAlias

from kadmit.api.gojson import quoted

Object: TypeAlias = Mapping[str, Any]


class _File(NamedTuple):
    path: str
    source: str = ""

    def __str__(self) -> str:
        return f"{quoted(self.path)} ({self.source})" if self.source else quoted(self.path)

    def hinders(self, other: "_File") -> bool:
        mine, theirs = f"{self.path}/", f"{other.path}/"
        return bool(self.path and other.path) and (mine.startswith(theirs) or theirs.startswith(mine))


def warnings(volumes: Iterable[Object]) -> Iterator[str]:
    for volume in volumes:
        for kind, describe in _SOURCES.items():
            source = volume.get(kind)
            if source is not None and source.get("items"):
                for overlap in _overlaps(_listed(source)):
                    yield _warning(volume, describe(source), overlap)
        projected = volume.get("projected")
        if projected is not None:
            yield from _of_projected(volume, projected)


def _warning(volume: Object, described: str, overlap: str) -> str:
    return f"volume {quoted(volume['name'])} ({described}): overlapping paths: {overlap}"


_SOURCES: Mapping[str, Callable[[Object], str]] = {
    "configMap": lambda source: f"ConfigMap {quoted(source.get('name') or '')}",
    "secret": lambda source: f"Secret {quoted(source.get('secretName') or '')}",
    "downwardAPI": lambda source: "DownwardAPI",
}


def _listed(source: Object, described: str = "") -> list[_File]:
    return [_File(item.get("path") or "", described) for item in source.get("items") or ()]


def _overlaps(files: Iterable[_File]) -> Iterator[str]:
    """Each file with all before it that are in its way."""
    seen: list[_File] = []
    for file in files:
        file = file._replace(path=file.path.rstrip("/"))
        yield from (f"{file} with {other}" for other in seen if file.hinders(other))
        seen.append(file)


# ---------------------------------------------------------------- projected volumes


def _of_projected(volume: Object, projected: Object) -> Iterator[str]:
    """NB: the files of all sources lie in one folder."""
    sources = projected.get("sources") or ()
    for source in sources:
        if not source:
            yield f"volume {quoted(volume['name'])} (Projected) has no sources provided"
    for overlap in _overlaps(file for source in sources for file in _projected(source)):
        yield _warning(volume, "Projected", overlap)


def _projected(source: Object) -> list[_File]:
    for field, kind in (("configMap", "ConfigMap"), ("secret", "Secret")):
        if (source.get(field) or {}).get("items") is not None:
            return _listed(source[field], f"{kind} {quoted(source[field].get('name') or '')}")
    if (source.get("downwardAPI") or {}).get("items") is not None:
        return _listed(source["downwardAPI"], "DownwardAPI")
    if (token := source.get("serviceAccountToken")) is not None:
        return [_File(token.get("path") or "", "ServiceAccountToken")]
    if (bundle := source.get("clusterTrustBundle")) is not None:
        name = bundle["name"] if bundle.get("name") is not None else bundle.get("signerName") or ""
        return [_File(bundle.get("path") or "", f"ClusterTrustBundle {quoted(name)}")]
    return [
        _File(certificate[field], f"PodCertificate {words}")
        for certificate in (source.get("podCertificate") or {},)
        for field, words in _CERTIFICATE
        if certificate.get(field)
    ]


_CERTIFICATE = (("certificateChainPath", "chain"), ("keyPath", "key"), ("credentialBundlePath", "credential bundle"))
