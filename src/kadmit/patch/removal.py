"""Taking a set of paths out of an object, or nothing but them.

Server-side apply prunes with the first what its applier no longer mentions; the second shows what a manager applied.
"""

from typing import cast

from kadmit.patch.fieldpath import Element, Key, Path, Set, set_of
from kadmit.patch.shapes import ListShape, MapShape, Shape
from kadmit.patch.typed import (
    TOO_DEEP,
    ItemError,
    MergeError,
    Object,
    as_map,
    child_shape,
    is_atomic,
    item_element,
    resolved,
    to_field_set,
)


def remove_items(shape: Shape, value: object, paths: Set) -> object:
    """The value without the given paths. A container that loses all it had becomes null."""
    try:
        return _remaining(shape, value, paths)
    except RecursionError:
        raise MergeError(TOO_DEEP) from None


def _remaining(shape: Shape, value: object, paths: Set) -> object:
    shape = resolved(shape)
    if not isinstance(value, dict | list):
        return value
    if is_atomic(shape, value):
        return None
    if isinstance(shape, ListShape):
        return _remaining_items(shape, value, paths) if isinstance(value, list) else None
    return _remaining_fields(as_map(shape), value, paths) if isinstance(value, dict) else None


def _remaining_fields(shape: MapShape, value: Object, paths: Set) -> Object | None:
    kept = {}
    for name, item in value.items():
        if name not in paths.members:
            below = paths.children.get(name)
            kept[name] = item if below is None else _remaining(child_shape(shape, name), item, below)
    return kept or None


def _remaining_items(shape: ListShape, value: list[object], paths: Set) -> list[object] | None:
    kept = []
    for item in value:
        element = _name(shape, item)
        if element not in paths.members:
            below = paths.children.get(element)
            kept.append(item if below is None else _remaining(shape.element, item, below))
    return kept or None


def _name(shape: ListShape, item: object) -> Element:
    try:
        return item_element(shape, item)
    except ItemError:
        return _NAMELESS


_NAMELESS = Key(())


def extract_items(shape: Shape, value: object, paths: Set, *, with_keys: bool = False) -> object:
    """The value with nothing but the given paths; `with_keys` adds the key fields of the list items on the way."""
    try:
        if with_keys:
            paths = paths | _key_fields(paths, to_field_set(shape, value))
        return _extracted(shape, value, paths)
    except RecursionError:
        raise MergeError(TOO_DEEP) from None


def _key_fields(paths: Set, existing: Set) -> Set:
    keys: list[Path] = []
    for path in paths:
        if path in existing:
            for position, element in enumerate(path):
                if isinstance(element, Key):
                    keys.extend((*path[: position + 1], name) for name, _ in element.fields)
    return set_of(*keys)


def _extracted(shape: Shape, value: object, paths: Set) -> object:
    shape = resolved(shape)
    if not value or is_atomic(shape, value):
        return value
    if isinstance(shape, ListShape):
        return _extracted_items(shape, cast("list[object]", value), paths) if isinstance(value, list) else None
    return _extracted_fields(as_map(shape), cast("Object", value), paths) if isinstance(value, dict) else None


def _extracted_fields(shape: MapShape, value: Object, paths: Set) -> Object | None:
    kept: Object = {}
    for name, item in value.items():
        # NB: below a member the same paths are looked for again, as Kubernetes does; only leaves are ever asked for.
        below = paths if name in paths.members else paths.children.get(name)
        if below is not None:
            kept[name] = _extracted(child_shape(shape, name), item, below)
    return kept or None


def _extracted_items(shape: ListShape, value: list[object], paths: Set) -> list[object] | None:
    kept = []
    for item in value:
        element = _name(shape, item)
        below = paths.children.get(element)
        if below is not None:
            kept.append(_extracted(shape.element, item, below))
        elif element in paths.members:
            kept.append(item)
    return kept or None
