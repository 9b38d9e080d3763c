"""cel-go's run-time cost model, as Kubernetes 1.36 switches it on, and the budgets of admission.

A call costs what its function's own record says, else what its overload says here, else 1. Sizes are code points of
strings, bytes of bytes, entries of lists and maps, and 1 for everything else. NB: the factors are doubles and are
rounded up as doubles (70 x 0.1 is a little more than 7, so it costs 8): integer division would not agree.
"""

from collections.abc import Callable, Sequence
from math import ceil

from kadmit.cel.operators import size
from kadmit.cel.values import Value

PER_CALL_LIMIT = 1_000_000
PER_BINDING_BUDGET = 10_000_000
MATCH_CONDITIONS_BUDGET = 2_500_000

TRAVERSAL = 0.1
REGEX = 0.25
LIST, MAP, STRUCT = 10, 30, 40

LIMIT_EXCEEDED = "operation cancelled: actual cost limit exceeded"


def traversal(value: Value) -> int:
    """One pass over a value."""
    return ceil(size(value) * TRAVERSAL)


def smaller_traversal(args: Sequence[Value], _: Value = None) -> int:
    """One pass over the smaller of two values: == and the orderings of texts."""
    return ceil(min(size(args[0]), size(args[1])) * TRAVERSAL)


def equality(a: Value, b: Value) -> int:
    """==: values of Kubernetes' own libraries cost 1, whatever their size. (!= knows no such exception.)"""
    return 1 if hasattr(a, "cel_type") and not hasattr(a, "equality_by_size") else ceil(min(size(a), size(b)) * TRAVERSAL)


def regex(text: Value, pattern: Value) -> int:
    return ceil((1.0 + size(text)) * TRAVERSAL) * ceil(size(pattern) * REGEX)


def _first(args: Sequence[Value], _: Value) -> int:
    return traversal(args[0])


def _both(args: Sequence[Value], _: Value) -> int:
    return ceil((size(args[0]) + size(args[1])) * TRAVERSAL)


BY_OVERLOAD: dict[str, Callable[[Sequence[Value], Value], int]] = {
    **dict.fromkeys(("starts_with_string", "ends_with_string", "string_to_bytes", "bytes_to_string"), _first),
    **dict.fromkeys(("strings_quote", "string_format"), _first),
    "in_list": lambda args, _: size(args[1]),
    **dict.fromkeys(
        [f"{op}_{of}" for op in ("less", "less_equals", "greater", "greater_equals") for of in ("string", "bytes")]
        + ["equals", "not_equals"],
        smaller_traversal,
    ),
    "add_string": _both,
    "add_bytes": _both,
    "matches_string": lambda args, _: regex(args[0], args[1]),
    "contains_string": lambda args, _: traversal(args[0]) * traversal(args[1]),
}
