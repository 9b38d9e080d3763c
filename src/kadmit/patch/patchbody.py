"""The bodies of PATCH requests, decoded as kube-apiserver decodes them.

Unless the request says fieldValidation=Ignore, a body is first decoded strictly: a wrong type is an error of its own wording, and
repeated or unknown fields become complaints, which the caller warns of (Warn) or refuses (Strict).
"""

import json
from collections.abc import Iterator
from itertools import islice

import orjson
from msgspec import Struct

from kadmit.patch import gojson, gotext, jsonpatch, nesting
from kadmit.patch.errors import PatchError, Reason

_MAX_COMPLAINTS = 100
_STRING_FIELDS = ("op", "path", "from")
_FIELDS = frozenset((*_STRING_FIELDS, "value"))


class JSONPatchBody(Struct, frozen=True):
    patch: jsonpatch.Patch
    complaints: tuple[str, ...] = ()


class MergePatchBody(Struct, frozen=True):
    patch: dict[str, object] | list[object]
    complaints: tuple[str, ...] = ()


class StrategicPatchBody(Struct, frozen=True):
    patch: dict[str, object]
    complaints: tuple[str, ...] = ()


def json_patch(body: bytes, *, strict: bool = True) -> JSONPatchBody:
    """application/json-patch+json."""
    if not strict:
        return JSONPatchBody(jsonpatch.decode(body))
    try:
        operations = gojson.loads(body)
        _check_operations(operations)
    except PatchError as error:
        raise _while_decoding(error) from None
    complaints = islice(_operation_complaints(body, operations), _MAX_COMPLAINTS)
    patch = jsonpatch.decode(operations if isinstance(operations, list) else None)
    return JSONPatchBody(patch, tuple(f"json patch {complaint}" for complaint in complaints))


def merge_patch(body: bytes, *, strict: bool = True) -> MergePatchBody:
    """application/merge-patch+json. NB: null passes the strict decoding, and is refused after it."""
    try:
        patch = gojson.loads(body)
        if strict and patch is not None and not isinstance(patch, dict):
            raise gojson.mismatch(patch, "map[string]interface {}")
    except PatchError as error:
        raise _while_decoding(error) if strict else _not_a_merge_patch() from None
    if not isinstance(patch, dict | list):
        raise _not_a_merge_patch()
    return MergePatchBody(patch, _complaints(body, patch) if strict else ())


def strategic_patch(body: bytes, *, strict: bool = True) -> StrategicPatchBody:
    """application/strategic-merge-patch+json. NB: null is a patch that changes nothing."""
    patch = gojson.loads(body)
    if patch is None:
        return StrategicPatchBody({})
    if not isinstance(patch, dict):
        raise gojson.mismatch(patch, "map[string]interface {}")
    return StrategicPatchBody(patch, _complaints(body, patch) if strict else ())


def _while_decoding(error: PatchError) -> PatchError:
    return PatchError(f"error decoding patch: {error.message}", reason=Reason.UNDECODABLE)


def _not_a_merge_patch() -> PatchError:
    return PatchError("Invalid JSON Patch", reason=Reason.UNDECODABLE)


def _check_operations(operations: object) -> None:
    if operations is None:
        return
    if not isinstance(operations, list):
        raise gojson.mismatch(operations, "[]handlers.jsonPatchOp")
    nesting.check(operations)
    for operation in operations:
        if operation is not None and not isinstance(operation, dict):
            raise gojson.mismatch(operation, "handlers.jsonPatchOp")
        for name, value in (operation or {}).items():
            if name in _STRING_FIELDS and value is not None and not isinstance(value, str):
                raise _wrong_field(name, value)


def _wrong_field(name: str, value: object) -> PatchError:
    text = gojson.mismatch_text(value, f"Go struct field jsonPatchOp.{name} of type string")
    return PatchError(text, reason=Reason.UNDECODABLE)


class _Pairs(list[tuple[str, object]]):
    """An object with all its members, also those that it repeats."""


def _complaints(body: bytes, patch: object) -> tuple[str, ...]:
    nesting.check(patch)
    return tuple(islice(_once(_duplicates(_repeats(body, patch), "")), _MAX_COMPLAINTS))


def _operation_complaints(body: bytes, operations: object) -> Iterator[str]:
    repeats = _repeats(body, operations)
    return _once(_of_operations(repeats if isinstance(repeats, list) else []))


def _of_operations(operations: list[object]) -> Iterator[str]:
    """Unknown members are told once, and nothing is told of what they hold."""
    for position, operation in enumerate(operations):
        seen: set[str] = set()
        for name, value in _members(operation):
            if name not in _FIELDS:
                yield f"unknown field {gotext.quote(f'[{position}].{name}')}"
                continue
            if name in seen:
                yield f"duplicate field {gotext.quote(f'[{position}].{name}')}"
            seen.add(name)
            yield from _duplicates(value, f"[{position}].{name}")


def _duplicates(value: object, path: str) -> Iterator[str]:
    if isinstance(value, _Pairs | dict):
        seen: set[str] = set()
        for name, child in _members(value):
            place = f"{path}.{name}" if path else name
            if name in seen:
                yield f"duplicate field {gotext.quote(place)}"
            seen.add(name)
            yield from _duplicates(child, place)
    elif isinstance(value, list):
        for position, item in enumerate(value):
            yield from _duplicates(item, f"{path}[{position}]")


def _members(value: object) -> Iterator[tuple[str, object]]:
    if isinstance(value, _Pairs):
        return iter(value)
    return iter(value.items()) if isinstance(value, dict) else iter(())


def _repeats(body: bytes, decoded: object) -> object:
    """The body with every member that it repeats. NB: what orjson writes back unchanged repeats nothing."""
    if orjson.dumps(decoded) == body:
        return decoded
    return json.loads(body.decode("utf-8", "replace"), object_pairs_hook=_Pairs)


def _once(complaints: Iterator[str]) -> Iterator[str]:
    seen: set[str] = set()
    for complaint in complaints:
        if complaint not in seen:
            seen.add(complaint)
            yield complaint
