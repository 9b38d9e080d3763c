"""Fields of a pod that are handed to its containers, as variables and as files."""

import re
from collections.abc import Collection, Iterator, Mapping
from typing import Any, TypeAlias

from kadmit.api import fields
from kadmit.api.fields import FieldError, Path
from kadmit.kinds.rules import naming, paths, resources

Json: TypeAlias = Any
Source: TypeAlias = Mapping[str, Json]

IN_FILES = ("metadata.annotations", "metadata.labels", "metadata.name", "metadata.namespace", "metadata.uid")
IN_VARIABLES = (
    "metadata.name", "metadata.namespace", "metadata.uid", "spec.nodeName", "spec.serviceAccountName", "status.hostIP",
    "status.hostIPs", "status.podIP", "status.podIPs",
)  # fmt: skip
_CONVERTIBLE = frozenset((*IN_FILES, *IN_VARIABLES, "spec.restartPolicy", "spec.schedulerName", "status.phase"))
_SUBSCRIPT = re.compile(r"(.*?)\['(.*)'\]", re.DOTALL)
_OF_CONTAINERS = tuple(f"{of}.{name}" for of in ("limits", "requests") for name in ("cpu", "ephemeral-storage", "memory"))
_HUGE_PAGES = ("requests.hugepages-", "limits.hugepages-")
_UNITS = ("1", *(f"1{unit}{i}" for i in ("", "i") for unit in ("k" if not i else "K", "M", "G", "T", "P", "E")))
_DIVISORS = {"cpu": ("cpu", ("1m", "1"), "1m and 1"), "memory": ("memory", _UNITS, ", ".join(_UNITS))}
_DIVISORS["ephemeral-storage"] = ("local ephemeral storage", _UNITS, ", ".join(_UNITS))


def file(item: Source, at: Path) -> Iterator[FieldError]:
    if not item.get("path"):
        yield fields.required(at.child("path"))
    yield from paths.unreserved(item.get("path") or "", at.child("path"))
    if item.get("fieldRef") is not None:
        yield from field(item["fieldRef"], IN_FILES, at.child("fieldRef"))
        if item.get("resourceFieldRef") is not None:
            yield fields.invalid(at, "resource", "fieldRef and resourceFieldRef can not be specified simultaneously")
    elif item.get("resourceFieldRef") is not None:
        yield from resource(item["resourceFieldRef"], at.child("resourceFieldRef"), in_file=True)
    else:
        yield fields.required(at, "one of fieldRef and resourceFieldRef is required")
    yield from paths.mode(item.get("mode"), at.child("mode"))


def field(reference: Source, allowed: Collection[str], at: Path) -> Iterator[FieldError]:
    version, path = reference.get("apiVersion") or "", reference.get("fieldPath") or ""
    for member, value in (("apiVersion", version), ("fieldPath", path)):
        if not value:
            yield fields.required(at.child(member))
            return
    subscripted = _SUBSCRIPT.fullmatch(path)
    problem = _conversion_problem(version, path, subscripted[1] if subscripted else "")
    if problem:
        yield fields.invalid(at.child("fieldPath"), path, f"error converting fieldPath: {problem}")
    elif subscripted:
        key = subscripted[2].lower() if subscripted[1] == "metadata.annotations" else subscripted[2]
        yield from naming.qualified(key, at)
    elif path not in allowed:
        yield fields.not_supported(at.child("fieldPath"), path, sorted(allowed))


def _conversion_problem(version: str, path: str, subscripted: str) -> str:
    if version != "v1":
        return f"unsupported pod version: {version}"
    if subscripted:
        known = subscripted in ("metadata.annotations", "metadata.labels")
        return "" if known else f"field label does not support subscript: {path}"
    return "" if path in _CONVERTIBLE else f"field label not supported: {path}"


def resource(reference: Source, at: Path, *, in_file: bool = False) -> Iterator[FieldError]:
    name = reference.get("resource") or ""
    if in_file and not reference.get("containerName"):
        yield fields.required(at.child("containerName"))
    elif not name:
        yield fields.required(at.child("resource"))
    elif name not in _OF_CONTAINERS and not name.startswith(_HUGE_PAGES):
        yield fields.not_supported(at.child("resource"), name, _OF_CONTAINERS)
    yield from _divisor(name, reference.get("divisor") or "0", at)


def _divisor(name: str, divisor: str, at: Path) -> Iterator[FieldError]:
    if resources.parsed(divisor).sign() == 0:
        return
    called, units, listed = _DIVISORS.get(name.partition(".")[2] if name in _OF_CONTAINERS else "", ("", (), ""))
    if name.startswith(_HUGE_PAGES):
        called, units, listed = "hugepages", _UNITS, ", ".join(_UNITS)
    if called and str(divisor) not in units:
        text = f"only divisor's values {listed} are supported with the {called} resource"
        yield fields.invalid(at.child("divisor"), name, text)
