"""List functions called directly: results, error texts and costs, each as cel-go and Kubernetes give them."""

import math
from collections.abc import Sequence

import pytest

from kadmit.cel import work
from kadmit.cel.library import comprehensions, lists
from kadmit.cel.values import INT_MAX, CelError, Duration, MapValue, Panic, Timestamp, UInt, Value, key_of

NAN = math.nan
FUNCTIONS = {f.name: f for f in (*lists.FUNCTIONS, *comprehensions.FUNCTIONS)}


def call(name: str, *args: Value, overload: str = "") -> Value:
    """The function's own code, or that of the overload asked for (the first one that has any)."""
    declared = FUNCTIONS[name]
    codes = [o.impl for o in declared.overloads if o.id.startswith(overload) and len(o.args) == len(args)]
    code = declared.impl or codes[0]
    assert code is not None
    result = code(*args)
    return result.message if isinstance(result, CelError) else result


def cost(name: str, overload: str, args: Sequence[Value], result: Value = None) -> int | None:
    charge = FUNCTIONS[name].cost
    assert charge is not None
    return charge(overload, args, result)


@pytest.mark.parametrize(
    ("name", "args", "expected"),
    [
        ("isSorted", ([],), True),
        ("isSorted", ([1, 1, 2],), True),
        ("isSorted", ([2, 1],), False),
        ("isSorted", ([1, "a", 0],), True),  # what cannot be compared is not out of order
        ("isSorted", ([2, 1, None],), False),
        ("isSorted", ([1, 2, None],), "no such overload"),
        ("isSorted", ([3.0, NAN, 1.0],), True),
        ("min", ([3, 1, 2],), 1),
        ("min", (["b", "a"],), "a"),
        ("min", ([1, "a"],), 1),
        ("min", ([1, {}],), "no such overload"),
        ("min", ([],), "min called on empty list"),
        ("max", ([1, 2.5, UInt(2)],), 2.5),
        ("max", ([],), "max called on empty list"),
        ("indexOf", ([1, 2, 2], 2), 1),
        ("indexOf", ([1, 2], 2.0), 1),
        ("indexOf", ([True, 1], 1), 1),
        ("indexOf", ([1], "1"), -1),
        ("lastIndexOf", ([1, 2, 2], 2), 2),
        ("lastIndexOf", ([], 2), -1),
        ("slice", ([1, 2, 3, 4], 1, 3), [2, 3]),
        ("slice", ([1, 2], 1, 1), []),
        ("slice", ([1, 2], -1, 1), "cannot slice(-1, 1), negative indexes not supported"),
        ("slice", ([1, 2], 1, 0), "cannot slice(1, 0), start index must be less than or equal to end index"),
        ("slice", ([1, 2], 0, 3), "cannot slice(0, 3), list is length 2"),
        ("flatten", ([[1], [[2]], 3],), [1, [2], 3]),
        ("flatten", ([[1], [[2]], 3], 2), [1, 2, 3]),
        ("flatten", ([[1], [[2]], 3], 0), [[1], [[2]], 3]),
        ("flatten", ([[1], [[2]], 3], INT_MAX), [1, 2, 3]),
        ("flatten", ([[1]], -1), "level must be non-negative"),
        ("flatten", ({},), "no such overload: map(dyn, dyn).flatten()"),
        ("flatten", (1, 1), "no such overload: int.flatten(int)"),
        ("sort", ([3, 1, 2],), [1, 2, 3]),
        ("sort", (["b", "C", "a"],), ["C", "a", "b"]),
        ("sort", ([True, False],), [False, True]),
        ("sort", ([Duration(2), Duration(-1)],), [Duration(-1), Duration(2)]),
        ("sort", ([Timestamp(2), Timestamp(1, 3600)],), [Timestamp(1), Timestamp(2)]),
        ("sort", ([],), []),
        ("sort", ([{}],), "list elements must be comparable"),
        ("sort", ([1, "a"],), "list elements must have the same type"),
        ("sort", ([1, 1.5],), "list elements must have the same type"),
        ("sort", ({},), "no such overload: sort"),
        ("sort", (None,), "no such overload: sort"),
        ("sort", ("text",), "no such overload"),
        ("@sortByAssociatedKeys", (["foo", "bar", "baz"], [3, 1, 2]), ["bar", "baz", "foo"]),
        ("@sortByAssociatedKeys", (["a", "b", "c"], [1, 0, 0]), ["b", "c", "a"]),
        ("@sortByAssociatedKeys", ({"a": 1}, ["a"]), "no such overload: @sortByAssociatedKeys"),
        ("lists.range", (3,), [0, 1, 2]),
        ("lists.range", (-1,), []),
        ("lists.range", (10_000_000_000_000,), "operation cancelled: actual cost limit exceeded"),
        ("reverse", ([1, 2, 3],), [3, 2, 1]),
        ("distinct", ([1, 2, 2, 1],), [1, 2]),
        ("distinct", ([1, 1.0, UInt(1), True],), [1, True]),
        ("distinct", (["b", "a", "b"],), ["b", "a"]),
        ("distinct", ([[1], [1]],), [[1]]),
        ("distinct", ([{}] * 708,), "operation cancelled: actual cost limit exceeded"),
    ],
)
def test_a_function_gives_what_kubernetes_gives(name: str, args: tuple[Value, ...], expected: Value) -> None:
    result = call(name, *args)
    assert (result, type(result)) == (expected, type(expected))


@pytest.mark.parametrize(
    ("kind", "items", "expected"),
    [
        ("int", [1, 3], 4),
        ("int", [], 0),
        ("uint", [UInt(1), UInt(2)], UInt(3)),
        ("double", [0.5, 1.0], 1.5),
        ("double", [1.5, 2], "no such overload"),
        ("duration", [Duration(1), Duration(2)], Duration(3)),
        ("int", [INT_MAX, 1], "integer overflow"),
        ("int", [1, None], "no such overload"),
    ],
)
def test_sum_starts_with_the_zero_of_its_type(kind: str, items: list[Value], expected: Value) -> None:
    result = call("sum", items, overload=f"list_{kind}_")
    assert (result, type(result)) == (expected, type(expected))


def test_nan_blocks_what_comes_after_it_when_sorting() -> None:
    assert str(call("sort", [3.0, NAN, 1.0])) == "[3.0, nan, 1.0]"
    assert str(call("sort", [3.0, 1.0, NAN, 0.5])) == "[1.0, 3.0, nan, 0.5]"


@pytest.mark.parametrize(
    ("name", "overload", "args", "result", "expected"),
    [
        ("sum", "list_int_sum_int", ([1, 2, 3],), 6, 3),
        ("min", "", (["x" * 25, "y" * 9],), "", 2),  # a tenth of each string, rounded down
        ("indexOf", "list_a_index_of_int", (["é" * 10], "a"), -1, 2),  # of its bytes
        ("indexOf", "", ("x" * 19, "x"), 0, 1),
        ("isSorted", "", ([{"a" * 10: [1, b"x" * 20]}],), True, 4),
        ("sum", "", (CelError("no such key: a"),), CelError("no such key: a"), 1),
        ("slice", "list_slice", ([1, 2, 3], 0, 2), [1, 2], 13),
        ("slice", "list_slice", ([1], 0, 2), CelError("cannot"), 12),
        ("reverse", "list_reverse", ([1, 2],), [2, 1], 13),
        ("lists.range", "lists_range", (5,), [0, 1, 2, 3, 4], 16),
        ("lists.range", "lists_range", (-5,), [], 11),
        ("lists.range", "lists_range", (10**13,), CelError("too long"), 10**13 + 11),
        ("flatten", "list_flatten", ([[1], [2]],), [1, 2], 13),
        ("flatten", "list_flatten_int", ([[1], [2]], 3), [1, 2], 17),
        ("flatten", "list_flatten_int", ([[1], [2]], -1), CelError("level"), 9),
        ("flatten", "list_flatten_int", ([1] * 20, -1), CelError("level"), 0),
        ("distinct", "list_distinct", ([1, 2, 3],), [1, 2, 3], 29),
        ("distinct", "list_distinct", (["a", "b", "c"],), ["a", "b", "c"], 29),  # 2.1 * 9, rounded down
        ("distinct", "list_distinct", ([],), [], 11),
        ("sort", "list_int_sort", ([2, 1],), [1, 2], 19),
        ("sort", "", ([2, 1],), [1, 2], None),
        ("@sortByAssociatedKeys", "list_string_sortByAssociatedKeys", ([1] * 10, ["k"] * 10), [], 221),
    ],
)
def test_a_call_costs_what_its_sizes_say(
    name: str, overload: str, args: tuple[Value, ...], result: Value, expected: int | None
) -> None:
    assert cost(name, overload, args, result) == expected


@pytest.mark.parametrize(
    ("name", "overload", "args", "text"),
    [
        ("distinct", "list_distinct", (CelError("x"),), "*types.Err is not traits.Lister: missing method Add"),
        ("distinct", "list_distinct", (1,), "types.Int is not traits.Lister: missing method Contains"),
        ("distinct", "list_distinct", (None,), "types.Null is not traits.Lister: missing method Add"),
        ("sort", "list_string_sort", (CelError("x"),), "*types.Err is not traits.Lister: missing method Add"),
        ("flatten", "list_flatten_int", ([], "x"), "ref.Val is types.String, not types.Int"),
        ("flatten", "list_flatten_int", ([], []), "ref.Val is *types.baseList, not types.Int"),
    ],
)
def test_cost_breaks_where_the_real_tracker_breaks(name: str, overload: str, args: tuple[Value, ...], text: str) -> None:
    with pytest.raises(Panic) as caught:
        cost(name, overload, args)
    assert str(caught.value) == f"interface conversion: {text}"


def test_deep_values_are_traversed_without_recursion() -> None:
    deep: list[Value] = []
    for _ in range(100_000):
        deep = [deep]
    assert work.alone(cost, "sum", "", (deep,)) == 0
    assert call("flatten", [[1]] * 3, INT_MAX) == [1, 1, 1]


def entries(value: Value) -> list[tuple[Value, Value]]:
    return list(value.items()) if isinstance(value, dict) else list(value.entries.values())


@pytest.mark.parametrize(
    ("args", "expected"),
    [
        (({}, "a", 1), [("a", 1)]),
        (({"a": 1}, "b", 2), [("a", 1), ("b", 2)]),
        (({"a": 1}, 2, 3), [("a", 1), (2, 3)]),
        (({"a": 1}, {"b": 2}), [("a", 1), ("b", 2)]),
        (({}, {}), []),
    ],
)
def test_map_insert_gives_a_new_map(args: tuple[Value, ...], expected: list[tuple[Value, Value]]) -> None:
    before = entries(args[0])
    assert entries(call("cel.@mapInsert", *args)) == expected
    assert entries(args[0]) == before


@pytest.mark.parametrize(
    ("args", "key"),
    [
        (({"a": 1}, "a", 2), "a"),
        (({"a": 1}, {"b": 1, "a": 2}), "a"),
        ((MapValue({key_of(1): (1, "x")}), UInt(1), 2), "1"),
        ((MapValue({key_of(True): (True, "x")}), True, 2), "true"),
    ],
)
def test_map_insert_refuses_a_key_that_is_there(args: tuple[Value, ...], key: str) -> None:
    assert call("cel.@mapInsert", *args) == f"insert failed: key {key} already exists"
