"""Whether the defaults in a schema are values that the schema itself would take."""

from collections.abc import Iterator, Mapping
from typing import Any, TypeAlias

from msgspec.structs import replace

from kadmit.api import fields
from kadmit.api.fields import FieldError, Path
from kadmit.kinds import conformity, embedded, metadata, validations
from kadmit.kinds.conformity import Rules, ordered
from kadmit.kinds.structs import DecodeError
from kadmit.kinds.structural import Dropped, Structure

Json: TypeAlias = Any
Schema: TypeAlias = Mapping[str, Json]

_META_FIELDS = frozenset({"apiVersion", "kind", "metadata"})


def validate(raw: Schema, at: Path, *, is_object: bool = True, in_metadata: bool = False) -> Iterator[FieldError]:
    """What is wrong with the defaults of a schema. NB: not of additionalProperties, where they are forbidden."""
    embeds = is_object or bool(raw.get("x-kubernetes-embedded-resource"))
    inside = in_metadata and not embeds
    if raw.get("default") is not None:
        yield from _default(raw, at.child("default"), embeds=embeds, in_metadata=inside)
    if isinstance(raw.get("items"), Mapping):
        yield from validate(raw["items"], at.child("items"), is_object=False, in_metadata=inside)
    for key, part in (raw.get("properties") or {}).items():
        is_meta = inside or (embeds and key in _META_FIELDS)
        yield from validate(part, at.child("properties").key(key), is_object=False, in_metadata=is_meta)


def _default(raw: Schema, at: Path, *, embeds: bool, in_metadata: bool) -> Iterator[FieldError]:
    value = raw["default"]
    held = {**raw, "x-kubernetes-embedded-resource": True} if embeds else raw
    if not in_metadata:
        try:
            if _has_unknown(held, value):
                yield fields.invalid(at, ordered(value), "must not have unknown fields")
        except DecodeError as error:
            yield fields.invalid(at, ordered(value), str(error))
            return
        wrong = list(_embedded(held, value, at))
        if wrong:
            yield from wrong
            return
    wrong = [_moved(error, at) for error in conformity.validate(Rules(raw), value)]
    yield from wrong or validations.of_default(raw, value, at, is_object=embeds)


def _has_unknown(raw: Schema, value: Json) -> bool:
    dropped = Dropped()
    Structure({**raw, "default": None}).shape(value, dropped, None)
    return bool(dropped.unknown)


def _embedded(raw: Schema, value: Json, at: Path) -> Iterator[FieldError]:
    check = embedded.compiled(raw)
    if check is not None:
        yield from check(value, at, _metadata)


def _metadata(meta: dict[str, Json], at: Path) -> list[FieldError]:
    return metadata.validate(meta, namespaced=bool(meta.get("namespace")), name_rule=metadata.path_segment, at=at)


def _moved(error: FieldError, at: Path) -> FieldError:
    return replace(error, field=str(at) if error.field == str(Path()) else f"{at}.{error.field}")
