"""Environment variables of containers, and where their values come from."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, TypeAlias

from kadmit.api import fields
from kadmit.api.fields import FieldError, Path
from kadmit.kinds import metadata
from kadmit.kinds.rules import downward, naming, paths

Json: TypeAlias = Any
Part: TypeAlias = Mapping[str, Json]

_NO_SOURCE = "must specify one of: `fieldRef`, `resourceFieldRef`, `configMapKeyRef`, `secretKeyRef` or `fileKeyRef`"
_SEVERAL = "may not have more than one field specified at a time"


def all_of(variables: Sequence[Part], at: Path) -> Iterator[FieldError]:
    for index, variable in enumerate(variables):
        place, name = at.index(index), variable.get("name") or ""
        if not name:
            yield fields.required(place.child("name"))
        else:
            yield from naming.complaints(naming.variable(name), name, place.child("name"))
        if variable.get("valueFrom") is not None:
            yield from _value_from(variable["valueFrom"], variable.get("value") or "", place.child("valueFrom"))


def _value_from(source: Part, value: str, at: Path) -> Iterator[FieldError]:
    given = [name for name in _SOURCES if source.get(name) is not None]
    for name in given:
        yield from _SOURCES[name](source[name], at.child(name))
    if not given:
        yield fields.invalid(at, "", _NO_SOURCE)
    elif value:
        yield fields.invalid(at, "", "may not be specified when `value` is not empty")
    elif len(given) > 1:
        yield fields.invalid(at, "", _SEVERAL)


def _field(reference: Part, at: Path) -> Iterator[FieldError]:
    return downward.field(reference, downward.IN_VARIABLES, at)


def _key(reference: Part, at: Path) -> Iterator[FieldError]:
    """A key of a ConfigMap or Secret."""
    name, key = reference.get("name") or "", reference.get("key") or ""
    yield from naming.subdomain(name, at.child("name"))
    if not key:
        yield fields.required(at.child("key"))
    else:
        yield from naming.complaints(naming.config_key(key), key, at.child("key"))


def _file(reference: Part, at: Path) -> Iterator[FieldError]:
    key, volume, path = (reference.get(member) or "" for member in ("key", "volumeName", "path"))
    yield from naming.complaints(naming.variable(key), key, at.child("key")) if key else (fields.required(at.child("key")),)
    yield from naming.label(volume, at.child("volumeName")) if volume else (fields.required(at.child("volumeName")),)
    yield from paths.no_backsteps(path, at.child("path")) if path else (fields.required(at.child("path")),)


_SOURCES: Mapping[str, Callable[[Part, Path], Iterator[FieldError]]] = {
    "fieldRef": _field,
    "resourceFieldRef": downward.resource,
    "configMapKeyRef": _key,
    "secretKeyRef": _key,
    "fileKeyRef": _file,
}


def sources(values: Sequence[Part], at: Path) -> Iterator[FieldError]:
    """ConfigMaps and Secrets whose every key becomes a variable. NB: some errors do not say which source they mean."""
    for index, source in enumerate(values):
        place, prefix = at.index(index), source.get("prefix") or ""
        if prefix:
            yield from naming.complaints(naming.variable(prefix), prefix, place.child("prefix"))
        given = [name for name in ("configMapRef", "secretRef") if source.get(name) is not None]
        for name in given:
            yield from _whole(source[name], place.child(name))
        if len(given) != 1:
            yield fields.invalid(at, "", _SEVERAL if given else "must specify one of: `configMapRef` or `secretRef`")


def _whole(reference: Part, at: Path) -> Iterator[FieldError]:
    name = reference.get("name") or ""
    if not name:
        yield fields.required(at.child("name"))
    else:
        yield from naming.complaints(metadata.dns_subdomain(name, True), name, at.child("name"))


def files(container: Part, volumes: Mapping[str, Part], at: Path) -> Iterator[FieldError]:
    """Files that variables are read from lie in a volume that the pod brings with it."""
    for index, variable in enumerate(container.get("env") or ()):
        reference = (variable.get("valueFrom") or {}).get("fileKeyRef")
        if reference is None:
            continue
        place = at.child("env").index(index).child("valueFrom", "fileKeyRef", "volumeName")
        name = reference.get("volumeName") or ""
        if name not in volumes:
            yield fields.not_found(place, name)
        elif volumes[name].get("emptyDir") is None:
            yield fields.invalid(place, name, "referenced volume must be of type emptyDir")
