"""Lists that promise to be sets or maps: nothing, and no key, may appear twice."""

from collections.abc import Callable, Iterator, Mapping
from typing import Any, TypeAlias

import orjson

from kadmit.api import fields
from kadmit.api.fields import FieldError, Path
from kadmit.kinds.conformity import ordered

Json: TypeAlias = Any
Check: TypeAlias = Callable[[Json, str], Iterator[FieldError]]


def compiled(raw: Mapping[str, Json]) -> Check | None:
    """The check of a schema; None if no list beneath it promises anything."""
    parts = {name: found for name, part in (raw.get("properties") or {}).items() if (found := compiled(part))}
    more, items = raw.get("additionalProperties"), raw.get("items")
    additional = compiled(more) if isinstance(more, Mapping) else None
    item = compiled(items) if isinstance(items, Mapping) else None
    list_type = raw.get("x-kubernetes-list-type")
    keys = tuple(raw.get("x-kubernetes-list-map-keys") or ())
    if not parts and additional is None and item is None and list_type not in ("set", "map"):
        return None

    def check(value: Json, path: str) -> Iterator[FieldError]:
        if isinstance(value, dict):
            yield from _members(value, path, parts, additional)
        elif isinstance(value, list):
            if list_type == "set":
                yield from _repeated(value, path)
            elif list_type == "map":
                yield from _repeated_keys(value, path, keys)
            if item is not None:
                for index, one in enumerate(value):
                    yield from item(one, f"{path}[{index}]")

    return check


def _members(value: dict[str, Json], path: str, parts: dict[str, Check], additional: Check | None) -> Iterator[FieldError]:
    for key, member in value.items():
        if additional is not None:
            yield from additional(member, f"{path}[{key}]")
        if key in parts:
            yield from parts[key](member, f"{path}.{key}" if path else key)


def _repeated(values: list[Json], path: str) -> Iterator[FieldError]:
    """Each value that appears more than once is told once, at its second place."""
    seen: dict[bytes, int] = {}
    for index, value in enumerate(values):
        identity = orjson.dumps(value, option=orjson.OPT_SORT_KEYS)
        seen[identity] = seen.get(identity, 0) + 1
        if seen[identity] == 2:
            yield fields.duplicate(Path(path).index(index), ordered(value))


def _repeated_keys(items: list[Json], path: str, keys: tuple[str, ...]) -> Iterator[FieldError]:
    for index, item in enumerate(items):
        if item is not None and not isinstance(item, dict):
            yield fields.invalid(Path(path).index(index), ordered(item), "must be an object for an array of list-type map")
            return
    yield from _repeated([{key: item[key] for key in keys if key in item} if item else {} for item in items], path)
