"""Whether an object holds a partial one: each field that is given, as it is given; what is not given may be anything.

A null stands for a field that must not be there. Elements of a list that has keys (containers by name, ports by port and more)
are found by their keys, those of a set by being in it, and there may be others. Any other list is compared as a whole, element
by element, each of them in part.
"""

from collections.abc import Iterator
from typing import Any

from kadmit.api.gojson import marshal
from kadmit.patch.shapes import Deduced, ListShape, MapShape, Shape
from kadmit.patch.typed import resolved

_SHOWN = 120  # characters of a value in a message


def mismatches(expected: Any, found: Any, shape: Shape | None, path: str = "") -> Iterator[str]:
    """What is not as expected, each with its path."""
    kind = resolved(shape) if shape is not None else None
    if isinstance(expected, dict) and isinstance(found, dict):
        yield from _of_map(expected, found, kind, path)
    elif isinstance(expected, list) and isinstance(found, list):
        yield from _of_list(expected, found, kind, path)
    elif not same(expected, found):
        yield f"{path or 'object'}: expected {shown(expected)}, found {shown(found)}"


def same(expected: Any, found: Any) -> bool:
    """NB: a number may stand for the text of a quantity, as in manifests; true is no number."""
    if isinstance(expected, bool) or isinstance(found, bool):
        return expected is found
    if isinstance(expected, int | float) and isinstance(found, str):
        return str(expected) == found
    return bool(expected == found)


def shown(value: Any) -> str:
    text = marshal(value)
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}…"


def _of_map(expected: dict[str, Any], found: dict[str, Any], shape: Shape | None, path: str) -> Iterator[str]:
    for key, value in expected.items():
        at = joined(path, key)
        if value is None:
            if found.get(key) is not None:
                yield f"{at}: expected nothing, found {shown(found[key])}"
        elif key not in found:
            yield f"{at}: expected {shown(value)}, found nothing"
        else:
            yield from mismatches(value, found[key], _field(shape, key), at)


def joined(path: str, key: str) -> str:
    """A field's path, as Kubernetes writes one: keys that are no names in brackets."""
    if key.replace("_", "a").isalnum():
        return f"{path}.{key}" if path else key
    return f"{path}[{key}]"


def _field(shape: Shape | None, key: str) -> Shape | None:
    if isinstance(shape, MapShape):
        return shape.fields.get(key, shape.element)
    return shape if isinstance(shape, Deduced) else None


def _of_list(expected: list[Any], found: list[Any], shape: Shape | None, path: str) -> Iterator[str]:
    element = shape.element if isinstance(shape, ListShape) else None
    if isinstance(shape, ListShape) and shape.keys and all(_is_keyed(e, shape) for e in expected):
        yield from _by_key(expected, found, shape, path)
    elif isinstance(shape, ListShape) and shape.associative and not shape.keys:
        for value in expected:
            if not any(same(value, f) for f in found):
                yield f"{path}: expected {shown(value)} to be in it, found {shown(found)}"
    elif len(expected) != len(found):
        yield f"{path}: expected {len(expected)} elements, found {len(found)}: {shown(found)}"
    else:
        for i, (value, other) in enumerate(zip(expected, found, strict=True)):
            yield from mismatches(value, other, element, f"{path}[{i}]")


def _by_key(expected: list[Any], found: list[Any], shape: ListShape, path: str) -> Iterator[str]:
    by_key = {_key(f, shape): f for f in found}
    for value in expected:
        key = _key(value, shape)
        assert key is not None
        at = f"{path}[{','.join(f'{k}={v}' for k, v in zip(shape.keys, key, strict=True))}]"
        if key not in by_key:
            yield f"{at}: expected {shown(value)}, found nothing"
        else:
            yield from mismatches(value, by_key[key], shape.element, at)


def _is_keyed(element: Any, shape: ListShape) -> bool:
    """Whether an element says which one it is; a default alone does not."""
    return _key(element, shape) is not None and any(name in element for name in shape.keys)


def _key(element: Any, shape: ListShape) -> tuple[Any, ...] | None:
    """The values of an element's keys; None where one is missing that has no default, or is no plain value."""
    if not isinstance(element, dict):
        return None
    key = tuple(element.get(name, shape.defaults.get(name)) for name in shape.keys)
    return key if all(isinstance(part, str | int | float) for part in key) else None
