"""Functions over lists: Kubernetes' own (isSorted, sum, min, max, indexOf, lastIndexOf) and cel-go's list extension.

A type check can only see the first element of a list, so the code here meets lists of mixed values: a comparison that
fails counts as "neither smaller nor larger" there, an addition that fails ends with its error.

Cost is charged after a call, so a call whose price is already past any limit must not do its work first. Such calls
answer `BEYOND_LIMIT` at once; the cost that follows cancels the evaluation with the same text.
"""

from collections.abc import Callable, Sequence
from itertools import chain, pairwise

from kadmit.cel import operators, types, work
from kadmit.cel.declarations import Cost, Example, Function, Impl, Overload, function, member, plain
from kadmit.cel.types import Trait, Type
from kadmit.cel.values import CelError, Duration, MapValue, Optional, Panic, Timestamp, UInt, Value, go_name, type_of

CALL_LIMIT = 1_000_000  # what one expression may cost
BEYOND_LIMIT = CelError("operation cancelled: actual cost limit exceeded")

LIST_CREATE_COST = 10
TRAVERSAL = 0.1

T = types.param("T")
A = types.param("A")
LIST_T = types.list_of(T)

SUMMABLE: dict[str, tuple[Type, Value]] = {
    "int": (types.INT, 0),
    "uint": (types.UINT, UInt(0)),
    "double": (types.DOUBLE, 0.0),
    "duration": (types.DURATION, Duration(0)),
}
COMPARABLE: dict[str, Type] = {
    "int": types.INT,
    "uint": types.UINT,
    "double": types.DOUBLE,
    "bool": types.BOOL,
    "duration": types.DURATION,
    "timestamp": types.TIMESTAMP,
    "string": types.STRING,
    "bytes": types.BYTES,
}


def is_comparable(value: Value) -> bool:
    return Trait.COMPARER in type_of(value).traits


# Kubernetes' own


def is_sorted(items: list[Value]) -> Value:
    if not all(map(is_comparable, items)):
        return _sorted_before_first_incomparable(items)
    return all(operators.compare(a, b) != 1 for a, b in pairwise(items))


def _sorted_before_first_incomparable(items: list[Value]) -> Value:
    """A pair out of order before the bad element answers false; else the bad element is the answer."""
    end = next(i for i, item in enumerate(items) if not is_comparable(item))
    return operators.NO_OVERLOAD if is_sorted(items[:end]) else False


def summed(zero: Value) -> Impl:
    def total(items: list[Value]) -> Value:
        result = zero
        for item in items:
            result = operators.add(result, item)
            if result.__class__ is CelError:
                return result
        return result

    return total


def smallest(items: list[Value]) -> Value:
    return _extreme(items, name="min", replace_when=1)


def largest(items: list[Value]) -> Value:
    return _extreme(items, name="max", replace_when=-1)


def _extreme(items: list[Value], *, name: str, replace_when: int) -> Value:
    if not items:
        return CelError(f"{name} called on empty list")
    if not all(map(is_comparable, items)):
        return operators.NO_OVERLOAD
    best = items[0]
    for item in items:
        if operators.compare(best, item) == replace_when:
            best = item
    return best


def index_of(items: list[Value], wanted: Value) -> int:
    return next((i for i, item in enumerate(items) if operators.equal(item, wanted) is True), -1)


def last_index_of(items: list[Value], wanted: Value) -> int:
    return next((i for i in range(len(items) - 1, -1, -1) if operators.equal(items[i], wanted) is True), -1)


# cel-go's extension


def sliced(items: list[Value], start: int, end: int) -> Value:
    call = f"cannot slice({start}, {end})"
    if start < 0 or end < 0:
        return CelError(f"{call}, negative indexes not supported")
    if start > end:
        return CelError(f"{call}, start index must be less than or equal to end index")
    if len(items) < end:
        return CelError(f"{call}, list is length {len(items)}")
    return items[start:end]


def flattened(*args: Value) -> Value:
    """Takes any values: its two overloads are called without a look at the types, and it names them in its own way."""
    items, depth = args if len(args) == 2 else (*args, 1)
    if items.__class__ is not list or depth.__class__ is not int:
        inside = ", ".join(str(type_of(a)) for a in args[1:])
        return CelError(f"no such overload: {type_of(items)}.flatten({inside})")
    if depth < 0:
        return CelError("level must be non-negative")
    while depth and any(item.__class__ is list for item in items):
        if sum(len(item) if item.__class__ is list else 1 for item in items) > operators.MAX_LIST:
            return operators.LIST_TOO_LONG
        items, depth = _one_level(items), depth - 1
    return items


def _one_level(items: list[Value]) -> list[Value]:
    flat: list[Value] = []
    for item in items:
        flat.extend(item) if item.__class__ is list else flat.append(item)
    work.spend(len(items) + (len(flat) >> 1))
    return flat


def in_order(items: Value) -> Value:
    return _sorted_by("sort", items, items)


def in_order_of(items: Value, keys: Value) -> Value:
    return _sorted_by("@sortByAssociatedKeys", items, keys)


def _sorted_by(name: str, items: Value, keys: list[Value]) -> Value:
    """`sort` and what sortBy expands to; called with any first argument, as one piece of code serves all overloads."""
    if items.__class__ is not list:
        # NB: types that can receive calls (string, duration, timestamp) are asked themselves, and refuse without a name.
        return operators.NO_OVERLOAD if Trait.RECEIVER in type_of(items).traits else CelError(f"no such overload: {name}")
    if not items:
        return items
    if not is_comparable(keys[0]):
        return CelError("list elements must be comparable")
    if any(type_of(key) != type_of(keys[0]) for key in keys):
        return CelError("list elements must have the same type")
    return [items[i] for i in _order(keys)]


def _order(keys: list[Value]) -> list[int]:
    """The positions of keys of one type in ascending order, equals as they stood.

    NB: cel-go sorts up to 12 elements by insertion, where a NaN, smaller than nothing, blocks what comes after it; past
    12 it promises no order among equals.
    """
    kind = keys[0].__class__
    plain_keys = [key.nanos for key in keys] if kind in (Timestamp, Duration) else keys
    if kind is float and len(keys) <= 12 and any(key != key for key in keys):
        return _inserted_one_by_one(keys)
    return sorted(range(len(keys)), key=plain_keys.__getitem__)


def _inserted_one_by_one(keys: list[float]) -> list[int]:
    order: list[int] = []
    for i, key in enumerate(keys):
        at = len(order)
        while at and key < keys[order[at - 1]]:
            at -= 1
        order.insert(at, i)
    return order


def distinct(items: list[Value]) -> Value:
    """The first of each group of equals."""
    if all(item.__class__ is str for item in items):
        return list(dict.fromkeys(items))
    if 2 * len(items) ** 2 > CALL_LIMIT:
        return BEYOND_LIMIT
    kept: list[Value] = []
    for item in items:
        if not any(operators.equal(item, other) is True for other in kept):
            kept.append(item)
    return kept


def backwards(items: list[Value]) -> list[Value]:
    return items[::-1]


def counted(n: int) -> Value:
    """0 … n-1. NB: the list must not be built where its cost is over the limit anyway; memory would run out first."""
    return list(range(n)) if n <= CALL_LIMIT else BEYOND_LIMIT


# Costs


def traversal_cost(value: Value) -> int:
    """Reading all of a value once: strings and bytes a tenth of their bytes each (rounded down), anything else 1."""
    cost, waiting = 0, [value]
    while waiting:  # NB: not recursive: values from a request may nest deeply
        part = waiting.pop()
        kind = part.__class__
        if kind is str:
            cost += int(len(part.encode("utf-8", "surrogatepass")) * TRAVERSAL)
        elif kind is bytes:
            cost += int(len(part) * TRAVERSAL)
        elif kind is list:
            work.spend_visit(len(part))
            waiting.extend(part)
        elif kind is dict or kind is MapValue:
            work.spend_visit(len(part))
            waiting.extend(chain.from_iterable(operators.items(part)))
        else:
            cost += 1
    return cost


def one_traversal(_overload: str, args: Sequence[Value], _result: Value) -> int:
    return traversal_cost(args[0])


def size_of(value: Value) -> int:
    """NB: unlike `operators.size`, an optional counts as 1 here whatever it holds."""
    return 1 if value.__class__ is Optional else operators.size(value)


def result_size_cost(_overload: str, _args: Sequence[Value], result: Value) -> int:
    return size_of(result) + 1 + LIST_CREATE_COST


def range_cost(_overload: str, args: Sequence[Value], _result: Value) -> int:
    """The size of the result, told from the argument: the list itself may have been too large to make."""
    n = args[0]
    return (max(n, 0) if n.__class__ is int else 1) + 1 + LIST_CREATE_COST


def flatten_cost(_overload: str, args: Sequence[Value], _result: Value) -> int:
    depth = args[1] if len(args) == 2 else 1
    if depth.__class__ is not int:
        raise Panic(f"interface conversion: ref.Val is {_go_name(depth)}, not types.Int")
    # NB: a negative depth makes the cost negative; it is held at zero, lest a loop earn budget.
    return max(0, size_of(args[0]) * depth + 1 + LIST_CREATE_COST)


def self_compare_cost(position: int) -> Cost:
    """Each element against each; charged where the overload is known, while a call on elements of type dyn costs 1."""

    def cost(overload: str, args: Sequence[Value], _result: Value) -> int | None:
        return _self_comparison(args[position]) if overload else None

    return cost


def _self_comparison(items: Value) -> int:
    if items.__class__ is not list:
        raise Panic(f"interface conversion: {_go_name(items)} is not traits.Lister: missing method {_missing(items)}")
    factor = 2 + TRAVERSAL if items and items[0].__class__ in (str, bytes) else 2.0
    return int(len(items) ** 2 * factor) + 1 + LIST_CREATE_COST


def _missing(value: Value) -> str:
    """The first method, by name, that a list has and this value lacks."""
    return "Contains" if Trait.ADDER in type_of(value).traits else "Add"


def _go_name(value: Value) -> str:
    known = {CelError: "*types.Err", list: "*types.baseList", dict: "*types.baseMap", MapValue: "*types.baseMap"}
    return known.get(value.__class__) or go_name(value)


# Declarations


def _each(kinds: dict[str, Type], overload: Callable[[str, Type], Overload]) -> tuple[Overload, ...]:
    return tuple(overload(name, kind) for name, kind in kinds.items())


def _runtime_named(suffix: str, overload: Callable[[str, Type], Overload]) -> tuple[Overload, ...]:
    """Overloads whose ids hold run-time names (google.protobuf.Duration)."""
    return tuple(overload(f"list_{kind.name}_{suffix}", kind) for kind in COMPARABLE.values())


def _sum_overload(name: str) -> Overload:
    kind, zero = SUMMABLE[name]
    return member(f"list_{name}_sum_{name}", types.list_of(kind), (), kind, summed(zero))


FUNCTIONS: tuple[Function, ...] = (
    Function(
        "isSorted",
        _each(COMPARABLE, lambda n, t: member(f"list_{n}_is_sorted_bool", types.list_of(t), (), types.BOOL, is_sorted)),
        cost=one_traversal,
        doc="Whether no element is larger than the one after it.",
        examples=(Example("[1, 2, 2].isSorted()", True), Example("['b', 'a'].isSorted()", False)),
    ),
    Function(
        "sum",
        tuple(map(_sum_overload, SUMMABLE)),
        cost=one_traversal,
        doc="All elements added up; 0 for an empty list.",
        examples=(Example("[1, 3].sum()", 4), Example("[9223372036854775807, 1].sum()", error="integer overflow")),
    ),
    Function(
        "min",
        _each(COMPARABLE, lambda n, t: member(f"list_{n}_min_{n}", types.list_of(t), (), t, smallest)),
        cost=one_traversal,
        doc="The smallest element, the first of several.",
        examples=(Example("[3, 1, 2].min()", 1), Example("[].min()", error="min called on empty list")),
    ),
    Function(
        "max",
        _each(COMPARABLE, lambda n, t: member(f"list_{n}_max_{n}", types.list_of(t), (), t, largest)),
        cost=one_traversal,
        doc="The largest element, the first of several.",
        examples=(Example("['a', 'c', 'b'].max()", "c"), Example("[].max()", error="max called on empty list")),
    ),
    function(
        "indexOf",
        member("list_a_index_of_int", types.list_of(A), (A,), types.INT, index_of),
        cost=one_traversal,
        doc="The position of the first element that equals a value; -1 when there is none.",
        examples=(Example("[1, 2, 2].indexOf(2)", 1), Example("[1].indexOf(3)", -1)),
    ),
    function(
        "lastIndexOf",
        member("list_a_last_index_of_int", types.list_of(A), (A,), types.INT, last_index_of),
        cost=one_traversal,
        doc="The position of the last element that equals a value; -1 when there is none.",
        examples=(Example("[1, 2, 2].lastIndexOf(2)", 2),),
    ),
    function(
        "slice",
        member("list_slice", LIST_T, (types.INT, types.INT), LIST_T, sliced, since=34),
        cost=result_size_cost,
        doc="The elements from one position up to, not including, another.",
        examples=(
            Example("[1, 2, 3, 4].slice(1, 3)", [2, 3]),
            Example("[1, 2].slice(0, 3)", error="cannot slice(0, 3), list is length 2"),
        ),
    ),
    function(
        "flatten",
        member("list_flatten", types.list_of(LIST_T), (), LIST_T, since=34),
        member("list_flatten_int", types.LIST, (types.INT,), types.LIST, since=34),
        impl=flattened,
        cost=flatten_cost,
        doc="Lists inside the list replaced by their elements, one level deep or as many as given.",
        examples=(
            Example("[[1], [2, 3]].flatten()", [1, 2, 3]),
            Example("[[[1]], [[2]]].flatten(2)", [1, 2]),
            Example("[[1]].flatten(-1)", error="level must be non-negative"),
        ),
    ),
    Function(
        "sort",
        _runtime_named("sort", lambda i, t: member(i, types.list_of(t), (), types.list_of(t), since=34)),
        impl=in_order,
        cost=self_compare_cost(0),
        doc="The elements in ascending order.",
        examples=(
            Example("[3, 1, 2].sort()", [1, 2, 3]),
            Example("[dyn(1), dyn('a')].sort()", error="list elements must have the same type"),
        ),
    ),
    Function(
        "@sortByAssociatedKeys",
        _runtime_named("sortByAssociatedKeys", lambda i, t: member(i, LIST_T, (types.list_of(t),), LIST_T, since=34)),
        impl=in_order_of,
        cost=self_compare_cost(1),
        doc="What `list.sortBy(x, key)` becomes: the elements in ascending order of their keys.",
        examples=(Example("['bb', 'a'].sortBy(s, size(s))", ["a", "bb"]),),
    ),
    function(
        "lists.range",
        plain("lists_range", (types.INT,), types.list_of(types.INT), counted, since=34),
        cost=range_cost,
        doc="The integers from 0 up to, not including, n.",
        examples=(Example("lists.range(3)", [0, 1, 2]), Example("lists.range(-1)", [])),
    ),
    function(
        "reverse",
        member("list_reverse", LIST_T, (), LIST_T, backwards, since=34),
        cost=result_size_cost,
        doc="The elements, last one first.",
        examples=(Example("[1, 2, 3].reverse()", [3, 2, 1]),),
    ),
    function(
        "distinct",
        member("list_distinct", LIST_T, (), LIST_T, distinct, since=34),
        cost=self_compare_cost(0),
        doc="The elements without repetitions, keeping the first of equals.",
        examples=(Example("[1, 2, 2, 1].distinct()", [1, 2]), Example("[dyn(1), dyn(1.0)].distinct()", [1])),
    ),
)
