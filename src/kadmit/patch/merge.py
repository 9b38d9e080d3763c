"""Merging a partial object into a whole one, as server-side apply and apply configurations do.

The walk follows the partial object, so its cost is the patch's size, not the object's. Nothing given is changed; the
result shares with the live object whatever the patch does not touch, and is the live object itself when nothing differs.
"""

import operator
from collections.abc import Hashable, Iterator
from typing import cast

from kadmit.patch import values
from kadmit.patch.shapes import Atomic, Deduced, ListShape, MapShape, Shape
from kadmit.patch.typed import (
    DEDUCED_MAP,
    TOO_DEEP,
    ItemError,
    MergeError,
    Object,
    child_shape,
    item_token,
    resolved,
    validate,
)


def apply_configuration(shape: Shape, live: Object, patch: Object, *, trusted: bool = True) -> Object:
    """The object with a policy's apply configuration merged in.

    Unlike a server-side apply, it may set no atomic list, map or struct: the user who sets one element of it would
    remove the others without noticing. `trusted`: the live object is known to fit its shape.
    """
    try:
        validate(shape, patch)
    except MergeError as error:
        raise MergeError(f"failed to convert patch object to typed object: {error}") from None
    if atomics := list(_atomics(shape, patch, "")):
        raise MergeError(f"invalid ApplyConfiguration: may not mutate atomic arrays, maps or structs: {', '.join(atomics)}")
    if not trusted:
        try:
            validate(shape, live, allow_duplicates=True)
        except MergeError as error:
            raise MergeError(f"failed to convert original object to typed object: {error}") from None
    return cast("Object", merge(shape, live, patch))


def _atomics(shape: Shape, value: object, path: str) -> Iterator[str]:
    """Paths of atomic containers in declared fields; values of a map under free keys are not looked into."""
    shape = resolved(shape)
    if type(value) is dict:
        if type(shape) is Atomic or (type(shape) is MapShape and shape.atomic):
            yield path
        if type(shape) is MapShape:
            for name, item in value.items():
                if name in shape.fields and type(item) in (dict, list):
                    yield from _atomics(shape.fields[name], item, f"{path}.{name}")
    elif type(value) is list:
        if type(shape) in (Atomic, Deduced) or (type(shape) is ListShape and not shape.associative):
            yield path
        if type(shape) in (ListShape, Atomic, Deduced):
            element = shape.element if type(shape) is ListShape else Atomic()
            for position, item in enumerate(value):
                yield from _atomics(element, item, f"{path}[{position}]")


def merge(shape: Shape, live: object, patch: object) -> object:
    """Both values in one; where they differ, the patch has its way. Both must fit the shape.

    Null or empty containers in the patch remove nothing from a live one.
    """
    try:
        return _merged(shape, live, patch)
    except RecursionError:
        raise MergeError(TOO_DEEP) from None


def _merged(shape: Shape, live: object, patch: object) -> object:
    shape = resolved(shape)
    if type(shape) is MapShape:
        if not shape.atomic:
            return _merged_container(shape, live, patch, dict)
    elif type(shape) is ListShape:
        if shape.associative:
            return _merged_container(shape, live, patch, list)
    elif type(shape) is Deduced and (patch is None or type(patch) is dict):
        return _merged_container(DEDUCED_MAP, live, patch, dict)
    return _leaf(live, patch)


def _leaf(live: object, patch: object) -> object:
    return live if type(live) is type(patch) and values.equal(live, patch) else patch


def _merged_container(shape: MapShape | ListShape, live: object, patch: object, container: type) -> object:
    """A granular map or list. What is empty or null on one side leaves the other as it is."""
    if type(live) is not container or not live:
        return _leaf(live, patch)
    if not patch:
        return live
    if type(shape) is MapShape:
        return _merged_map(shape, cast("Object", live), cast("Object", patch))
    return _merged_list(cast("ListShape", shape), cast("list[object]", live), cast("list[object]", patch))


def _merged_map(shape: MapShape, live: Object, patch: Object) -> Object:
    result: Object | None = None
    for name, wanted in patch.items():
        if name in live:
            current = live[name]
            merged = _merged(child_shape(shape, name), current, wanted)
            if merged is current:
                continue
        else:
            merged = wanted
        if result is None:
            result = dict(live)
        result[name] = merged
    return live if result is None else result


def _merged_list(shape: ListShape, live: list[object], patch: list[object]) -> list[object]:
    tokens, names = _tokens(shape, live), _tokens(shape, patch)
    if len(set(names)) != len(names):
        raise MergeError("duplicate entries in the patch")
    places = {token: place for place, token in enumerate(tokens)}
    found = [places.get(name, len(tokens)) for name in names]
    if len(places) == len(tokens) and found == sorted(found):
        return _merged_in_place(shape.element, live, patch, found)
    return _merged_anew(shape, live, patch, tokens, names)


def _merged_in_place(element: Shape, live: list[object], patch: list[object], places: list[int]) -> list[object]:
    """The ordinary case: items of the patch stand in the order of the live list, and new ones come after them."""
    result: list[object] | None = None
    for place, item in zip(places, patch, strict=True):
        if place == len(live):
            result = live.copy() if result is None else result
            result.append(item)
        elif (merged := _merged(element, live[place], item)) is not live[place]:
            result = live.copy() if result is None else result
            result[place] = merged
    return live if result is None else result


def _merged_anew(
    shape: ListShape, live: list[object], patch: list[object], tokens: list[Hashable], names: list[Hashable]
) -> list[object]:
    """Any order, and items of the live list that share a name."""
    present, wanted = _by_token(tokens, live), _by_token(names, patch)
    result: list[object] = []
    for token, item in _interleaved(tokens, live, names, present):
        if token is None:
            result.append(item)
        else:
            current = present.get(token, _REPEATED)
            result.append(wanted[token] if current is _REPEATED else _merged(shape.element, current, wanted[token]))
    return live if len(result) == len(live) and all(map(operator.is_, result, live)) else result


_REPEATED = object()
"""Stands for a live item whose key occurs more than once: none of them can be merged, the patch's item replaces them."""


def _tokens(shape: ListShape, items: list[object]) -> list[Hashable]:
    tokens = []
    for position, item in enumerate(items):
        try:
            tokens.append(item_token(shape, item))
        except ItemError as error:
            raise MergeError(f"element {position}: {error}") from None
    return tokens


def _by_token(tokens: list[Hashable], items: list[object]) -> dict[Hashable, object]:
    found: dict[Hashable, object] = {}
    for token, item in zip(tokens, items, strict=True):
        found[token] = _REPEATED if token in found else item
    return found


def _interleaved(
    tokens: list[Hashable], live: list[object], wanted: list[Hashable], present: dict[Hashable, object]
) -> Iterator[tuple[Hashable | None, object]]:
    """The order of the merged list: (token, None) is an item of the patch, (None, item) one that only the live list has.

    Items keep the patch's order. Those of the live list alone stay where they are relative to their live neighbours, which
    puts new items of the patch before the next item that both have, or at the end.
    """
    in_patch = set(wanted)
    shared = [token for token in wanted if token in present]
    taken = met = 0
    for token, item in zip(tokens, live, strict=True):
        if token not in in_patch:
            yield None, item
        elif taken < len(wanted) and met == len(shared):
            # A repeat of an item that is placed already goes, and a new item takes its turn.
            yield wanted[taken], None
            taken += 1
        elif met < len(shared) and shared[met] == token:
            upto = wanted.index(token, taken) + 1
            for position in range(taken, upto):
                yield wanted[position], None
            taken, met = upto, met + 1
    for token in wanted[taken:]:
        yield token, None
