"""Resources inside resources: what `x-kubernetes-embedded-resource` asks of them beyond their schema."""

from collections.abc import Callable, Iterator, Mapping
from typing import Any, TypeAlias

from kadmit.api import fields
from kadmit.api.fields import FieldError, Path
from kadmit.cel.library import names
from kadmit.kinds import decoding
from kadmit.kinds.conformity import ordered

Json: TypeAlias = Any
MetadataCheck: TypeAlias = Callable[[dict[str, Json], Path], list[FieldError]]  # what is asked of any object's metadata
Check: TypeAlias = Callable[[Json, Path, MetadataCheck | None], Iterator[FieldError]]


def compiled(raw: Mapping[str, Json]) -> Check | None:
    """The check of a schema; None if it embeds nothing."""
    parts = {name: found for name, part in (raw.get("properties") or {}).items() if (found := compiled(part))}
    more, items = raw.get("additionalProperties"), raw.get("items")
    additional = compiled(more) if isinstance(more, Mapping) else None
    item = compiled(items) if isinstance(items, Mapping) else None
    embeds = bool(raw.get("x-kubernetes-embedded-resource"))
    if not parts and additional is None and item is None and not embeds:
        return None

    def check(value: Json, at: Path, metadata: MetadataCheck | None) -> Iterator[FieldError]:
        if isinstance(value, dict):
            if embeds:
                yield from _identity_findings(value, at, metadata)
            for key, member in value.items():
                if key in parts:
                    yield from parts[key](member, at.child(key), metadata)
                elif additional is not None:
                    yield from additional(member, at.key(key), metadata)
        elif isinstance(value, list) and item is not None:
            for index, one in enumerate(value):
                yield from item(one, at.index(index), metadata)

    return check


def _identity_findings(value: dict[str, Json], at: Path, metadata: MetadataCheck | None) -> Iterator[FieldError]:
    for name in ("apiVersion", "kind"):
        if name not in value:
            yield fields.required(at.child(name))
    if "apiVersion" in value:
        yield from _text_findings(value["apiVersion"], at.child("apiVersion"), _api_version_problem)
    if "kind" in value:
        yield from _text_findings(value["kind"], at.child("kind"), _kind_problem)
    if metadata is not None and isinstance(value.get("metadata"), dict):
        yield from metadata({"name": "fakename", **value["metadata"]}, at.child("metadata"))


def _text_findings(text: Json, at: Path, problem: Callable[[str], str | None]) -> Iterator[FieldError]:
    if not isinstance(text, str):
        yield fields.invalid(at, ordered(text), "must be a string")
    elif not text:
        yield fields.invalid(at, text, "must not be empty")
    elif (wrong := problem(text)) is not None:
        yield fields.invalid(at, text, wrong)


def _api_version_problem(text: str) -> str | None:
    try:
        decoding.kind_of({"apiVersion": text})
    except decoding.DecodeError as error:
        return str(error)
    return None


def _kind_problem(text: str) -> str | None:
    wrong = names.dns1035_label(text.lower())
    return f"may have mixed case, but should otherwise match: {','.join(wrong)}" if wrong else None
