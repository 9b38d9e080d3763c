"""The JSON patch that makes one document of another: small, though not always the smallest.

Maps are compared key by key. Lists are aligned: items that match stay, and where an item became another, the cheaper of changing
it and replacing it is taken. Aligning compares every item with every other, so all lists of one call share a budget; when it is
spent, the rest is compared item by item. Applied by jsonpatch, the patch gives the second document exactly.
"""

from typing import TypeAlias

import orjson

from kadmit.patch import jsonpointer, nesting
from kadmit.patch.equality import same

Operation: TypeAlias = dict[str, object]

_MAX_COMPARED_BYTES = 1_000_000
_STEP = 20  # the bytes of an operation besides its path and value


def diff(before: dict[str, object] | list[object], after: dict[str, object] | list[object]) -> list[Operation]:
    """Operations whose application to before gives after. Raises PatchError if either nests too deep."""
    nesting.check(before)
    nesting.check(after)
    return _Differ().value(before, after, "")


class _Differ:
    def __init__(self) -> None:
        self.budget = _MAX_COMPARED_BYTES

    def value(self, before: object, after: object, path: str) -> list[Operation]:
        if same(before, after):
            return []
        whole: list[Operation] = [{"op": "replace", "path": path, "value": after}]
        if isinstance(before, dict) and isinstance(after, dict):
            parts = self._map(before, after, path)
        elif isinstance(before, list) and isinstance(after, list):
            parts = self._list(before, after, path)
        else:
            return whole
        return parts if _size(parts) < _size(whole) else whole

    def _map(self, before: dict[str, object], after: dict[str, object], path: str) -> list[Operation]:
        operations: list[Operation] = []
        for key, value in before.items():
            place = f"{path}/{jsonpointer.escape(key)}"
            if key not in after:
                operations.append({"op": "remove", "path": place})
            else:
                operations += self.value(value, after[key], place)
        operations += [
            {"op": "add", "path": f"{path}/{jsonpointer.escape(key)}", "value": value}
            for key, value in after.items()
            if key not in before
        ]
        return operations

    def _list(self, before: list[object], after: list[object], path: str) -> list[Operation]:
        """Trim what both ends share, then align the rest."""
        start = _common_length(before, after)
        end = _common_length(before[start:][::-1], after[start:][::-1])
        old, new = before[start : len(before) - end], after[start : len(after) - end]
        weight = len(old) * _json_size(new) + len(new) * _json_size(old)
        if weight > self.budget:
            return self._item_by_item(old, new, path, start)
        self.budget -= weight
        return self._aligned(old, new, path, start)

    def _item_by_item(self, old: list[object], new: list[object], path: str, start: int) -> list[Operation]:
        shared = min(len(old), len(new))
        operations = [_removal(path, start + at) for at in range(len(old) - 1, shared - 1, -1)]
        for at in range(shared):
            operations += self.value(old[at], new[at], f"{path}/{start + at}")
        return operations + [_addition(path, start + at, new[at]) for at in range(shared, len(new))]

    def _aligned(self, old: list[object], new: list[object], path: str, start: int) -> list[Operation]:
        """From the end to the start, so that no operation moves what a later one names."""
        changes = [[self.value(was, becomes, f"{path}/{start + row}") for becomes in new] for row, was in enumerate(old)]
        costs = _costs(old, new, changes, path)
        operations: list[Operation] = []
        row, column = len(old), len(new)
        while row or column:
            cost = costs[row][column]
            if row and column and cost == costs[row - 1][column - 1] + _size(changes[row - 1][column - 1]):
                row, column = row - 1, column - 1
                operations += changes[row][column]
            elif row and cost == costs[row - 1][column] + len(path) + _STEP:
                row -= 1
                operations.append(_removal(path, start + row))
            else:
                column -= 1
                operations.append(_addition(path, start + row, new[column]))
        return operations


def _costs(old: list[object], new: list[object], changes: list[list[list[Operation]]], path: str) -> list[list[int]]:
    """costs[i][j]: the cheapest way to make the first j new items of the first i old ones."""
    step = len(path) + _STEP
    insertions = [step + _json_size(item) for item in new]
    costs = [[0] * (len(new) + 1) for _ in range(len(old) + 1)]
    for column, insertion in enumerate(insertions):
        costs[0][column + 1] = costs[0][column] + insertion
    for row in range(len(old)):
        costs[row + 1][0] = costs[row][0] + step
        for column, insertion in enumerate(insertions):
            costs[row + 1][column + 1] = min(
                costs[row][column] + _size(changes[row][column]),
                costs[row][column + 1] + step,
                costs[row + 1][column] + insertion,
            )
    return costs


def _removal(path: str, index: int) -> Operation:
    return {"op": "remove", "path": f"{path}/{index}"}


def _addition(path: str, index: int, value: object) -> Operation:
    return {"op": "add", "path": f"{path}/{index}", "value": value}


def _common_length(left: list[object], right: list[object]) -> int:
    length = 0
    for one, other in zip(left, right, strict=False):
        if not same(one, other):
            break
        length += 1
    return length


def _size(operations: list[Operation]) -> int:
    return sum(len(str(operation["path"])) + _STEP + _value_size(operation) for operation in operations)


def _value_size(operation: Operation) -> int:
    return _json_size(operation["value"]) if "value" in operation else 0


def _json_size(value: object) -> int:
    return len(orjson.dumps(value))
