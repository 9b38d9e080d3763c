"""Projected volumes: files out of secrets, config maps, tokens and the pod itself, in one directory."""

from collections.abc import Iterator, Mapping
from typing import Any, TypeAlias

from kadmit.api import fields
from kadmit.api.fields import FieldError, Path
from kadmit.kinds.rules import downward, paths

Json: TypeAlias = Any
Source: TypeAlias = Mapping[str, Json]

_SOURCES = ("secret", "configMap", "downwardAPI", "serviceAccountToken", "clusterTrustBundle", "podCertificate")
_SHORTEST_TOKEN, _LONGEST_TOKEN = 10 * 60, 2**32
_TAKEN = "conflicting duplicate paths"


def key_to_path(item: Source, at: Path) -> Iterator[FieldError]:
    yield from (fields.required(at.child(member)) for member in ("key", "path") if not item.get(member))
    yield from paths.unreserved(item.get("path") or "", at.child("path"))
    yield from paths.mode(item.get("mode"), at.child("mode"))


def volume(source: Source, at: Path) -> Iterator[FieldError]:
    yield from paths.mode(source.get("defaultMode"), at.child("defaultMode"))
    taken: set[str] = set()
    for index, projected in enumerate(source.get("sources") or ()):
        place = at.child("sources").index(index)
        for kind in ("secret", "configMap"):
            if projected.get(kind) is not None:
                yield from _keys(projected[kind], taken, place.child(kind), at)
        if projected.get("downwardAPI") is not None:
            yield from _downward(projected["downwardAPI"], taken, place.child("downwardAPI"), at)
        if projected.get("serviceAccountToken") is not None:
            yield from _token(projected["serviceAccountToken"], place.child("serviceAccountToken"), at)
        if sum(projected.get(kind) is not None for kind in _SOURCES) > 1:
            yield fields.forbidden(place, "may not specify more than 1 volume type per source")


def _keys(source: Source, taken: set[str], at: Path, whole: Path) -> Iterator[FieldError]:
    if not source.get("name"):
        yield fields.required(at.child("name"))
    for index, item in enumerate(source.get("items") or ()):
        yield from key_to_path(item, at.child("items").index(index))
        yield from _once(item.get("path") or "", taken, whole, source.get("name") or "")


def _downward(source: Source, taken: set[str], at: Path, whole: Path) -> Iterator[FieldError]:
    for file in source.get("items") or ():
        yield from downward.file(file, at)
        yield from _once(file.get("path") or "", taken, whole, file.get("path") or "")


def _once(path: str, taken: set[str], at: Path, shown: str) -> Iterator[FieldError]:
    if path in taken:
        yield fields.invalid(at, shown, _TAKEN)
    elif path:
        taken.add(path)


def _token(source: Source, at: Path, whole: Path) -> Iterator[FieldError]:
    seconds = source.get("expirationSeconds") or 0
    if seconds < _SHORTEST_TOKEN:
        yield fields.invalid(at.child("expirationSeconds"), seconds, "may not specify a duration less than 10 minutes")
    if seconds > _LONGEST_TOKEN:
        yield fields.invalid(at.child("expirationSeconds"), seconds, "may not specify a duration larger than 2^32 seconds")
    if not source.get("path"):
        yield fields.required(whole.child("path"))
    else:
        yield from paths.unreserved(source["path"], whole.child("path"))
