"""A changed object as the server would hold it: decoded again, and given its defaults again.

Kubernetes takes the result of every mutation through the Go structs of its kind. How strictly depends on where it comes from:

    settle(gvk, changed, before, strict=True)     # a policy's JSON patch: unknown fields are an error
    settle(gvk, changed, before, strict=False)    # a policy's structured merge: numbers are converted as Go converts them
    patched(gvk, changed, before, strict=False)   # a webhook's JSON patch: unknown fields are dropped

`before` is settled already. What the changed object shares with it is not looked at: only the path to a change is walked.
Custom kinds have no structs: they only get the defaults of their schema. NB: unknown fields of theirs stay until later.
"""

import functools
from collections.abc import Container
from typing import Any, Protocol, TypeAlias

from kadmit.api import errors, gojson
from kadmit.api.meta import GroupVersionKind
from kadmit.kinds import decoding, defaults, fulltext, merging, retired, roundtrip, schema
from kadmit.kinds.catalog import Gvk
from kadmit.kinds.decoding import DecodeError
from kadmit.kinds.merging import Unconvertible
from kadmit.kinds.schema import Node, Schema
from kadmit.kinds.structural import Structure, copied

__all__ = ["OtherKind", "Unconvertible", "merged", "patched", "settle"]

Json: TypeAlias = Any
Object: TypeAlias = dict[str, Json]

_SCHEME = "pkg/api/legacyscheme/scheme.go:30"
# What Kubernetes calls its own version of a group in texts: the first word of the group, but for these.
_PACKAGES = {"": "core", "events.k8s.io": "core", "flowcontrol.apiserver.k8s.io": "flowcontrol"}


class OtherKind(Exception):
    """A webhook's patch has made the object another kind. Nobody minds before all webhooks have seen it; then, this is said."""

    def __init__(self, text: str, made: Object) -> None:
        super().__init__(text)
        self.object = made


class Custom(Protocol):
    """What is asked of a custom kind, so that tests need no whole definition."""

    @property
    def structure(self) -> Structure: ...

    @property
    def versions(self) -> Container[str]:
        """All versions of its definition, served or not."""
        ...


def settle(gvk: Gvk, changed: Object, before: Object, *, strict: bool, custom: Custom | None = None) -> Object:
    """The result of a policy's mutation. Raises ApiError, and Unconvertible for what the failure policy may forgive."""
    if strict:
        return patched(gvk, changed, before, strict=True, custom=custom)
    return merged(gvk, changed, before, custom=custom)


def patched(gvk: Gvk, changed: Object, before: Object, *, strict: bool, custom: Custom | None = None) -> Object:
    """The result of a JSON patch. Raises ApiError and Unconvertible, and, unless it is strict, OtherKind."""
    if changed is before:
        return before
    try:
        actual = gvk if _same_kind(changed, before) else decoding.kind_of(changed)
        if custom is not None:
            return _custom(gvk, actual, changed, before, custom)
        if actual is not gvk:
            _check_kind(gvk, actual, changed, strict=strict)
        node = _struct(gvk)
        if node is None:
            return changed
        made = _decoded(node, changed if actual is gvk else _named(gvk, changed), before, strict=strict)
    except DecodeError as error:
        raise errors.internal(str(error)) from None
    except OtherKind as other:
        if not strict:
            raise
        raise errors.internal(f"failed to convert object: {other}") from None
    except RecursionError:
        raise errors.internal(fulltext.TOO_DEEP) from None
    return defaults.apply(gvk, made, before)


def merged(gvk: Gvk, changed: Object, before: Object, *, custom: Custom | None = None) -> Object:
    """The result of a structured merge. Raises ApiError and Unconvertible."""
    if changed is before:
        return before
    try:
        if custom is not None:
            return _defaulted_members(custom.structure, changed, before)
        node = _struct(gvk)
        return defaults.apply(gvk, _converted(gvk, node, changed, before), before) if node is not None else changed
    except RecursionError:
        raise errors.internal(fulltext.TOO_DEEP) from None


def _converted(gvk: Gvk, node: Schema, changed: Object, before: Object) -> Object:
    try:
        return _changes(node, changed, before)
    except roundtrip.Unusual:
        pass
    try:
        return _decoded(node, merging.convert(node, changed, before), before, strict=False)
    except (Unconvertible, DecodeError) as error:
        raise Unconvertible(f"unable to convert unstructured object to {GroupVersionKind(*gvk)}: {error}") from None


# ---------------------------------------------------------------- which kind


def _same_kind(changed: Json, before: Object) -> bool:
    """The ordinary case. NB: patched values may be of any type."""
    if changed.__class__ is not dict or "kind" not in before or "apiVersion" not in before:
        return False
    same: bool = changed.get("kind") == before["kind"] and changed.get("apiVersion") == before["apiVersion"]
    return same


@functools.lru_cache(maxsize=1024)
def _struct(gvk: Gvk) -> Schema | None:
    """None for a kind that is described nowhere, such as the options of a connection: it is taken as it is."""
    return schema.for_kind(gvk)


def _check_kind(gvk: Gvk, actual: Gvk, changed: Object, *, strict: bool) -> None:
    """An object may leave its kind out, but not change it. Raises DecodeError, Unconvertible and OtherKind."""
    group, version, kind = actual
    if not version and group in ("", gvk[0]):
        group, version = gvk[:2]
    named = (group, version, kind or gvk[2])
    if named == gvk:
        return
    node = schema.for_kind(named) or retired.schema_of(named)
    if node is None:
        api_version = f"{group}/{version}" if group else version
        raise DecodeError(f'no kind "{named[2]}" is registered for version "{api_version}" in scheme "{_SCHEME}"')
    made = _decoded(node, changed, {}, strict=strict)
    if strict and named[:2] != gvk[:2]:
        raise _another_version(gvk, named)
    inside = f"{_PACKAGES.get(gvk[0]) or gvk[0].partition('.')[0]}.{gvk[2]}"
    text = f"converting ({named[1]}.{named[2]}) to ({inside}): unknown conversion"
    raise OtherKind(text, defaults.apply(named, made))


def _another_version(gvk: Gvk, named: Gvk) -> Unconvertible:
    """NB: another kind of the same version is found out late, when all mutations are done."""
    if named[0] == gvk[0]:
        return Unconvertible(f"converting ({named[1]}.{named[2]}) to ({gvk[1]}.{named[2]}): unknown conversion")
    target = f"{gvk[0]}/{gvk[1]}" if gvk[0] else gvk[1]
    return Unconvertible(f'{named[1]}.{named[2]} is not suitable for converting to "{target}" in scheme "{_SCHEME}"')


def _named(gvk: Gvk, changed: Object | None) -> Object:
    """NB: null is an object without anything, its kind included."""
    if changed and changed.get("kind") and changed.get("apiVersion"):
        return changed
    return {**(changed or {}), "apiVersion": f"{gvk[0]}/{gvk[1]}" if gvk[0] else gvk[1], "kind": gvk[2]}


# ---------------------------------------------------------------- built-in kinds


def _decoded(node: Schema, changed: Object, before: Object, *, strict: bool) -> Object:
    try:
        return _changes(node, changed, before)
    except roundtrip.Unusual:
        decoded = decoding.normalise(node, _sorted(changed))
    if strict and decoded.problems:
        raise DecodeError(f"strict decoding error: {', '.join(decoded.problems)}")
    return decoded.object


def _sorted(value: Json) -> Json:
    """What a patch has touched is text with sorted keys: problems are found in that order."""
    if value.__class__ is dict:
        return {key: _sorted(value[key]) for key in sorted(value)}
    return [_sorted(item) for item in value] if value.__class__ is list else value


def _changes(node: Schema, now: Json, before: Json) -> Object:
    """A struct with its changed fields as Go would write them. Raises Unusual."""
    if now.__class__ is not dict or before.__class__ is not dict:
        return _walked(node, now)
    made: Object = now
    plain: Object = {}
    for name, value in now.items():
        earlier = before.get(name)
        if value is earlier and value is not None:
            continue
        new = _part(node, name, value, earlier)
        if new is None:
            plain[name] = value
        elif new is not value:
            if made is now:
                made = now.copy()
            made[name] = new
    if plain or len(now) < len(before):
        made = _with_plain(now, made, plain, _walked(node, plain))
    return made


def _walked(node: Schema, value: Json) -> Object:
    walked: Object = roundtrip.walker(node)(value)
    return walked


def _part(node: Schema, name: str, value: Json, earlier: Json) -> Json:
    """A changed part that resembles what stood there before, walked by itself; None if it does not, or if nothing is left."""
    kind = value.__class__
    if kind is not earlier.__class__ or (kind is not dict and kind is not list):
        return None
    field = node.fields.get(name)
    if field is None:
        raise roundtrip.Unusual
    part = field.schema
    if kind is dict and part.kind is Node.OBJECT:
        return _changes(part, value, earlier) or None
    if kind is list and part.kind is Node.ARRAY and part.items is not None and part.items.kind is Node.OBJECT:
        return _items(part.items, value, earlier) or None
    return None


def _items(node: Schema, now: list[Json], before: list[Json]) -> list[Json]:
    """NB: items may have moved; they are known again wherever they stand."""
    known = {id(item) for item in before}
    made = now
    for index, item in enumerate(now):
        if id(item) in known:
            continue
        new = _changes(node, item, before[index] if index < len(before) else None)
        if new is not item:
            if made is now:
                made = now.copy()
            made[index] = new
    return made


def _with_plain(now: Object, made: Object, plain: Object, walked: Object) -> Object:
    """The struct with its plain fields as they were walked, and with those that are never left out."""
    for name in plain:
        if name not in walked or walked[name] is not plain[name]:
            if made is now:
                made = now.copy()
            if name in walked:
                made[name] = walked[name]
            else:
                del made[name]
    for name, value in walked.items():
        if name not in made:
            if made is now:
                made = now.copy()
            made[name] = value
    return made


# ---------------------------------------------------------------- custom kinds


def _custom(gvk: Gvk, actual: Gvk, changed: Object, before: Object, custom: Custom) -> Object:
    """NB: another kind passes here; validation refuses it."""
    if not actual[2]:
        raise DecodeError(f"Object 'Kind' is missing in '{gojson.marshal(_sorted(changed))}'")
    if actual[0] != gvk[0] or not actual[1]:
        named = f"{actual[0]}/{actual[1]}, Kind={actual[2]} is unstructured"
        raise OtherKind(f'{named} and is not suitable for converting to "{gvk[0]}/{gvk[1]}"', changed)
    if actual[1] not in custom.versions:
        raise OtherKind(f"request to convert CR from an invalid group/version: {actual[0]}/{actual[1]}", changed)
    if actual == gvk:
        return _defaulted_members(custom.structure, changed, before)
    return changed if actual[1] == gvk[1] else {**changed, "apiVersion": f"{gvk[0]}/{gvk[1]}"}


def _defaulted(structure: Structure, now: Json, before: Json) -> Json:
    """The value with the defaults of its schema, and nothing else."""
    if now is before:
        return now
    if now.__class__ is dict:
        return _defaulted_members(structure, now, before if before.__class__ is dict else {})
    if now.__class__ is list and structure.items is not None:
        return _defaulted_items(structure.items, now, before if before.__class__ is list else [])
    return now


def _defaulted_members(structure: Structure, now: Object, before: Object) -> Object:
    made = now
    for name, part in structure.defaulted:
        if name not in made or (made[name] is None and not part.nullable):
            made = {**made, name: copied(part.default)}
    for name, value in now.items():
        inner = structure.properties.get(name) or structure.additional
        if inner is None or (value is before.get(name) and value is not None):
            continue
        new = _defaulted(inner, _or_default(inner, made[name], named=name in structure.properties), before.get(name))
        if new is not made[name]:
            made = {**made, name: new}
    return made


def _defaulted_items(structure: Structure, now: list[Json], before: list[Json]) -> list[Json]:
    known = {id(item) for item in before if item.__class__ is dict or item.__class__ is list}
    made = now
    for index, item in enumerate(now):
        if id(item) in known:
            continue
        new = _or_default(structure, item, named=False)
        new = _defaulted(structure, new, before[index] if index < len(before) else None)
        if new is not item:
            if made is now:
                made = now.copy()
            made[index] = new
    return made


def _or_default(structure: Structure, value: Json, *, named: bool) -> Json:
    """NB: a null in a map or list becomes the default, one in a named field stays if there is none."""
    if value is None and not structure.nullable and not named:
        return copied(structure.default)
    return value
