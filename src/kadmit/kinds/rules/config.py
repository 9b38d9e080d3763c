"""ConfigMaps and Secrets: keys that can be files, a total size, and keys that known types of secrets must have."""

import base64
from collections.abc import Iterator, Mapping
from typing import Any, TypeAlias

from kadmit.api import fields
from kadmit.api.fields import FieldError, Path
from kadmit.kinds import fulltext
from kadmit.kinds.rules import meta, naming
from kadmit.kinds.rules.meta import Object

Json: TypeAlias = Any

LIMIT = 1024 * 1024
_FROZEN = "field is immutable when `immutable` is set"
_ACCOUNT = "kubernetes.io/service-account.name"
_DATA = fields.path("data")
_WHOLE = Path("[]")  # a path of one empty name, which is how Kubernetes points at the whole object


def create_config_map(value: Object) -> Iterator[FieldError]:
    yield from meta.created(value)
    data, binary = value.get("data") or {}, value.get("binaryData") or {}
    for key in sorted(data):
        yield from _key(key, _DATA)
        if key in binary:
            yield fields.invalid(_DATA.key(key), key, "duplicate of key present in binaryData")
    for key in sorted(binary):
        yield from _key(key, fields.path("binaryData"))
    if sum(map(naming.size, data.values())) + _decoded_size(binary) > LIMIT:
        yield fields.too_long(_WHOLE, LIMIT)


def _key(key: str, at: Path) -> Iterator[FieldError]:
    return naming.complaints(naming.config_key(key), key, at.key(key))


def _decoded_size(values: Mapping[str, str]) -> int:
    return sum(len(text) // 4 * 3 - text[-2:].count("=") for text in values.values() if text)


def update_config_map(new: Object, old: Object) -> Iterator[FieldError]:
    yield from meta.updated(new, old)
    yield from _frozen(new, old, ("data", "binaryData"))
    yield from create_config_map(new)


def _frozen(new: Object, old: Object, members: tuple[str, ...]) -> Iterator[FieldError]:
    if not old.get("immutable"):
        return
    if not new.get("immutable"):
        yield fields.forbidden(fields.path("immutable"), _FROZEN)
    for member in members:
        if (new.get(member) or {}) != (old.get(member) or {}):
            yield fields.forbidden(fields.path(member), _FROZEN)


# ---------------------------------------------------------------- secrets


def create_secret(value: Object) -> Iterator[FieldError]:
    yield from meta.created(value)
    data = value.get("data") or {}
    for key in sorted(data):
        yield from _key(key, _DATA)
    if _decoded_size(data) > LIMIT:
        yield fields.too_long(_DATA, LIMIT)
    yield from _of_type(value, data)


def _of_type(value: Object, data: Mapping[str, str]) -> Iterator[FieldError]:
    match value.get("type"):
        case "kubernetes.io/service-account-token":
            if not (meta.of(value).get("annotations") or {}).get(_ACCOUNT):
                yield fields.required(fields.path("metadata", "annotations").key(_ACCOUNT))
        case "kubernetes.io/dockercfg":
            yield from _json_object(".dockercfg", data)
        case "kubernetes.io/dockerconfigjson":
            yield from _json_object(".dockerconfigjson", data)
        case "kubernetes.io/basic-auth":
            if "username" not in data and "password" not in data:
                yield from (fields.required(_DATA.key(key)) for key in ("username", "password"))
        case "kubernetes.io/ssh-auth":
            if not data.get("ssh-privatekey"):
                yield fields.required(_DATA.key("ssh-privatekey"))
        case "kubernetes.io/tls":
            yield from (fields.required(_DATA.key(key)) for key in ("tls.crt", "tls.key") if key not in data)


def _json_object(key: str, data: Mapping[str, str]) -> Iterator[FieldError]:
    if key not in data:
        yield fields.required(_DATA.key(key))
        return
    problem = _json_problem(base64.b64decode(data[key] or ""))
    if problem:
        yield fields.invalid(_DATA.key(key), "<secret contents redacted>", problem)


def _json_problem(text: bytes) -> str:
    try:
        value = fulltext.loads(text)
    except fulltext.SyntaxFault as fault:
        return str(fault)
    if value is None or isinstance(value, dict):
        return ""
    called = {list: "array", str: "string", bool: "bool"}.get(type(value), "number")
    return f"json: cannot unmarshal {called} into Go value of type map[string]interface {{}}"


def update_secret(new: Object, old: Object) -> Iterator[FieldError]:
    yield from meta.updated(new, old)
    yield from meta.immutable(new.get("type") or "", old.get("type") or "", fields.path("type"))
    yield from _frozen(new, old, ("data",))
    yield from create_secret(new)
