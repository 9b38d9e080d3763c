"""sets.contains, sets.equivalent and sets.intersects: results and costs."""

from collections.abc import Callable

import pytest

from kadmit.cel.library import sets
from kadmit.cel.values import CelError, Value

COSTS = {f.name: f.cost for f in sets.FUNCTIONS}


@pytest.mark.parametrize(
    ("function", "a", "b", "expected"),
    [
        (sets.contains, [], [], True),
        (sets.contains, [1, 2, 3], [2, 2], True),
        (sets.contains, ["a", "b"], ["b", "c"], False),
        (sets.contains, [1, 2.0], [1.0, 2], True),
        (sets.contains, [True], [1], False),
        (sets.contains, [[1], {"a": 1}], [{"a": 1.0}], True),
        (sets.equivalent, [1, 2], [2, 1, 1], True),
        (sets.equivalent, ["a"], ["a", "b"], False),
        (sets.equivalent, ["a", "b"], ["a"], False),
        (sets.intersects, [1, 2], [3, 2], True),
        (sets.intersects, ["a"], ["b"], False),
        (sets.intersects, [], [1], False),
    ],
)
def test_sets_are_compared_by_equality(
    function: Callable[[list[Value], list[Value]], Value], a: list[Value], b: list[Value], expected: bool
) -> None:
    assert function(a, b) is expected


@pytest.mark.parametrize("function", [sets.contains, sets.equivalent, sets.intersects])
def test_work_that_no_budget_allows_is_not_done(function: Callable[[list[Value], list[Value]], Value]) -> None:
    result = function([{}] * 1001, [[]] * 1000)
    assert isinstance(result, CelError)
    assert result.message == "operation cancelled: actual cost limit exceeded"


@pytest.mark.parametrize(
    ("name", "args", "expected"),
    [
        ("sets.contains", ([1, 2], [1, 2, 3]), 7),
        ("sets.intersects", ([1, 2], []), 1),
        ("sets.equivalent", ([1, 2], [1, 2, 3]), 13),
        ("sets.contains", (CelError("no such key: nope"), [1]), 2),
    ],
)
def test_cost_is_the_product_of_the_sizes(name: str, args: tuple[Value, ...], expected: int) -> None:
    charge = COSTS[name]
    assert charge is not None
    assert charge("", args, True) == expected
