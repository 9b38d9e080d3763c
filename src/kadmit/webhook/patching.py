"""The JSON patch of what a handler changed: as small as `patch.jsondiff` makes it, at a fraction of its price.

Most of an object stays as it was. What did is told by its JSON text, which is written far faster than values are compared one by
one, and which tells 1 from 1.0 and true. Only lists that changed are left to jsondiff, which aligns their items.

NB: the whole object is never replaced at its root: JSON patch allows it, API servers do not all do it.
"""

from typing import Any, TypeAlias

import orjson

from kadmit.patch import jsondiff, jsonpointer

Json: TypeAlias = dict[str, Any]
Operation: TypeAlias = dict[str, Any]

_STEP = 20  # the bytes of an operation besides its path and value
_SCALARS = frozenset((str, int, float, bool, type(None)))
_MISSING = object()


def operations(before: Json, after: Json) -> list[Operation]:
    """What makes `after` of `before`, which is JSON as it was read. `after` may hold all that orjson writes: tuples are lists,
    dates are texts. Raises TypeError for what it does not write, PatchError for lists that nest too deep."""
    made: list[Operation] = []
    _compare(before, after, "", made)
    return made


def _compare(before: Json, after: Json, path: str, made: list[Operation]) -> None:
    for key, old in before.items():
        new = after.get(key, _MISSING)
        if new is old:
            continue
        kind = type(old)
        if new is _MISSING:
            made.append({"op": "remove", "path": _under(path, key)})
        elif kind is type(new) and kind in _SCALARS:
            if old != new:
                made.append({"op": "replace", "path": _under(path, key), "value": new})
        elif (text := orjson.dumps(new)) != orjson.dumps(old):
            made += _changed(old, new if type(new) is dict else orjson.loads(text), _under(path, key), len(text))
    for key in after:
        if key not in before:
            made.append({"op": "add", "path": _under(path, key), "value": after[key]})


def _changed(old: Any, new: Any, path: str, size: int) -> list[Operation]:
    """The parts that changed, or all of it where that is shorter."""
    whole: list[Operation] = [{"op": "replace", "path": path, "value": new}]
    if type(old) is not type(new) or type(old) in _SCALARS:
        return whole
    parts: list[Operation] = []
    if isinstance(old, dict):
        _compare(old, new, path, parts)
    else:
        parts = _list(old, new, path)
    return parts if sum(map(_size, parts)) < len(path) + _STEP + size else whole


def _list(old: list[object], new: list[object], path: str) -> list[Operation]:
    """What both ends share is left out. Items that came, went, or one that changed need no more; the rest is aligned."""
    start, end = _shared(old, new)
    was, becomes = old[start : len(old) - end], new[start : len(new) - end]
    if not was:
        return [{"op": "add", "path": f"{path}/{start + at}", "value": item} for at, item in enumerate(becomes)]
    if not becomes:
        return [{"op": "remove", "path": f"{path}/{start + at}"} for at in reversed(range(len(was)))]
    if len(was) == len(becomes) == 1:
        return _changed(was[0], becomes[0], f"{path}/{start}", len(orjson.dumps(becomes[0])))
    aligned = jsondiff.diff(was, becomes)
    if not aligned[0]["path"]:  # all of it is shorter
        return [{"op": "replace", "path": path, "value": new}]
    return [{**operation, "path": _moved(str(operation["path"]), start, path)} for operation in aligned]


def _shared(old: list[object], new: list[object]) -> tuple[int, int]:
    """How many items are the same at the start, and how many more at the end."""
    left, right = [orjson.dumps(item) for item in old], [orjson.dumps(item) for item in new]
    shorter = min(len(left), len(right))
    start = next((at for at in range(shorter) if left[at] != right[at]), shorter)
    rest = shorter - start
    return start, next((at for at in range(rest) if left[-1 - at] != right[-1 - at]), rest)


def _moved(place: str, by: int, path: str) -> str:
    """A place in the middle of a list, as one in the whole of it."""
    index, slash, rest = place[1:].partition("/")
    return f"{path}/{int(index) + by}{slash}{rest}"


def _size(operation: Operation) -> int:
    return len(operation["path"]) + _STEP + (len(orjson.dumps(operation["value"])) if "value" in operation else 0)


def _under(path: str, key: str) -> str:
    return f"{path}/{jsonpointer.escape(key)}"
