"""Lists taken as sets: order and repetitions do not count, elements are compared with ==.

The cost is the product of both sizes and is charged after the call. Where it is over the limit anyway the work is not
done; strings never need that, as they are looked up in a real set.
"""

from collections.abc import Sequence

from kadmit.cel import operators, types
from kadmit.cel.declarations import Cost, Example, Function, function, plain
from kadmit.cel.library.lists import BEYOND_LIMIT, CALL_LIMIT, size_of
from kadmit.cel.values import Value

LIST_T = types.list_of(types.param("T"))


def contains(items: list[Value], wanted: list[Value]) -> Value:
    if _all_strings(items) and _all_strings(wanted):
        return set(items).issuperset(wanted)
    if len(items) * len(wanted) > CALL_LIMIT:
        return BEYOND_LIMIT
    return all(_member(item, items) for item in wanted)


def intersects(items: list[Value], others: list[Value]) -> Value:
    if _all_strings(items) and _all_strings(others):
        return not set(items).isdisjoint(others)
    if len(items) * len(others) > CALL_LIMIT:
        return BEYOND_LIMIT
    return any(_member(item, others) for item in items)


def equivalent(items: list[Value], others: list[Value]) -> Value:
    forth = contains(items, others)
    return contains(others, items) if forth is True else forth


def _all_strings(items: list[Value]) -> bool:
    return all(item.__class__ is str for item in items)


def _member(wanted: Value, items: list[Value]) -> bool:
    """An element that cannot be compared is a different one."""
    return any(operators.equal(wanted, item) is True for item in items)


def product_cost(factor: int) -> Cost:
    def cost(_overload: str, args: Sequence[Value], _result: Value) -> int:
        return 1 + size_of(args[0]) * size_of(args[1]) * factor

    return cost


FUNCTIONS: tuple[Function, ...] = (
    function(
        "sets.contains",
        plain("list_sets_contains_list", (LIST_T, LIST_T), types.BOOL, contains, since=29),
        cost=product_cost(1),
        doc="Whether every element of the second list is in the first.",
        examples=(Example("sets.contains([1, 2, 3], [2, 2])", True), Example("sets.contains([1], [2])", False)),
    ),
    function(
        "sets.equivalent",
        plain("list_sets_equivalent_list", (LIST_T, LIST_T), types.BOOL, equivalent, since=29),
        cost=product_cost(2),
        doc="Whether both lists hold the same elements.",
        examples=(Example("sets.equivalent([1, 2], [2, 1, 1])", True), Example("sets.equivalent([1], [1, 2])", False)),
    ),
    function(
        "sets.intersects",
        plain("list_sets_intersects_list", (LIST_T, LIST_T), types.BOOL, intersects, since=29),
        cost=product_cost(1),
        doc="Whether the lists have an element in common.",
        examples=(Example("sets.intersects([1, 2], [2, 3])", True), Example("sets.intersects([], [1])", False)),
    ),
)
