"""What calls of CEL functions may cost at most, by how large their arguments may be.

A price is given for one overload of a function, without the price of its arguments; None where nothing is known of it but that it
is a call.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from typing import TypeAlias

from msgspec import Struct

from kadmit.cel import ast
from kadmit.cel.types import Kind, Type
from kadmit.cel.values import UInt
from kadmit.kinds.ranges import ANY, MOST, ONE, PATTERN, TRAVERSAL, Range, exactly

_NEW_LIST = 10
_ADDRESS = Range(4, 16)  # bytes of an IP address
_LONGEST_NAME_PATTERN = 128
_LARGEST_FORMAT = 64


class Node(Struct, frozen=True):
    """An argument: its type, and how large it may be. item_size: that of its items, if it is a list."""

    expr: ast.Expr
    type: Type
    size: Range | None
    item_size: Range = ANY

    @property
    def bound(self) -> Range:
        return ANY if self.size is None else self.size


class Price(Struct, frozen=True):
    cost: Range
    size: Range | None = None  # of the result


Priced: TypeAlias = Callable[[str, Node | None, Sequence[Node]], Price | None]

_NOMINAL = Price(ONE)


def price(function: str, overload: str, target: Node | None, args: Sequence[Node]) -> Price | None:
    """What a call costs, if this function has a price of its own."""
    if overload in _BY_OVERLOAD:
        found = _BY_OVERLOAD[overload](overload, target, args)
        if found is not None:
            return found
    known = _BY_FUNCTION.get(function)
    return known(overload, target, args) if known is not None else None


# ---------------------------------------------------------------- lists


def _compared(_: str, target: Node | None, args: Sequence[Node]) -> Price | None:
    if target is None:
        return None
    if not target.type.params:
        return Price(target.bound.scaled(TRAVERSAL))  # a text
    each = ONE
    if target.type.params[0].kind in (Kind.STRING, Kind.BYTES):
        each = each.plus(target.item_size.scaled(TRAVERSAL))
    return Price(target.bound.times(each))


def _allocated(size: Range, factor: float) -> Price:
    return Price(size.scaled(factor).plus(ONE).plus(exactly(_NEW_LIST)), size)


def _number(node: Node, otherwise: int) -> int:
    written = _written(node.expr)
    return otherwise if written is None or written < 0 else written


def _written(expr: ast.Expr | None) -> int | None:
    """The integer that an expression is."""
    if isinstance(expr, ast.Literal) and isinstance(expr.value, int) and not isinstance(expr.value, bool | UInt):
        return expr.value
    return None


def _slice(_: str, target: Node | None, args: Sequence[Node]) -> Price | None:
    if target is None or len(args) != 2:
        return None
    taken = _number(args[1], target.bound.most) - _number(args[0], 0)
    return _allocated(exactly(taken % (MOST + 1)), 1)


def _flatten(_: str, target: Node | None, args: Sequence[Node]) -> Price | None:
    if target is None or len(args) > 1:
        return None
    return _allocated(target.bound, float(_number(args[0], MOST)) if args else 1)


def _range(_: str, target: Node | None, args: Sequence[Node]) -> Price | None:
    return _allocated(exactly(_number(args[0], MOST)), 1) if target is None and len(args) == 1 else None


def _reverse(_: str, target: Node | None, args: Sequence[Node]) -> Price | None:
    return _allocated(target.bound, 1) if target is not None and not args else None


def _distinct(_: str, target: Node | None, args: Sequence[Node]) -> Price | None:
    return _allocated(target.bound.times(target.bound), 2) if target is not None and not args else None


def _sorted(factor: float) -> Priced:
    def sort(overload: str, target: Node | None, args: Sequence[Node]) -> Price | None:
        keys = args[0] if args else target
        return _allocated(keys.bound.times(keys.bound), factor) if keys is not None and target is not None else None

    return sort


def _sets(factor: float) -> Priced:
    def compare(_: str, target: Node | None, args: Sequence[Node]) -> Price | None:
        return Price(args[0].bound.times(args[1].bound).scaled(factor).plus(ONE)) if len(args) == 2 else None

    return compare


# ---------------------------------------------------------------- texts


def _of_argument(_: str, target: Node | None, args: Sequence[Node]) -> Price | None:
    return Price(args[0].bound.scaled(TRAVERSAL)) if args else None


def _of_argument_sized(_: str, target: Node | None, args: Sequence[Node]) -> Price | None:
    return Price(args[0].bound.scaled(TRAVERSAL), args[0].bound) if len(args) == 1 else None


def _of_target_sized(_: str, target: Node | None, args: Sequence[Node]) -> Price | None:
    return Price(target.bound.scaled(TRAVERSAL), target.bound) if target is not None else None


def _replace(_: str, target: Node | None, args: Sequence[Node]) -> Price | None:
    if target is None or len(args) < 2:
        return None
    size, old, new = target.bound, args[0].bound, args[1].bound
    if old.least == 0:
        most_times, most_kept = min(size.most + 1, MOST), size.most
    elif new.most <= old.least:
        most_times, most_kept = 0, size.most
    else:
        most_times, most_kept = _divided(size.most, old.least), 0
    if old.most == 0:
        least_times, least_kept = min(size.least + 1, MOST), size.least
    elif old.most <= new.least:
        least_times, least_kept = 0, size.least
    else:
        least_times, least_kept = _divided(size.least, old.most), 0
    made = Range(least_times, most_times).times(new).plus(Range(least_kept, most_kept))
    return Price(size.scaled(2 * TRAVERSAL), made)


def _divided(size: int, by: int) -> int:
    return min(math.ceil(float(size) / float(by)), MOST)


def _split(_: str, target: Node | None, args: Sequence[Node]) -> Price | None:
    if target is None:
        return None
    limit = _written(args[1].expr) if len(args) > 1 else None
    most = target.bound.most if limit is None else limit % (MOST + 1)
    return Price(target.bound.scaled(2 * TRAVERSAL), Range(0, most))


def _join(_: str, target: Node | None, args: Sequence[Node]) -> Price | None:
    if target is None:
        return None
    count = target.bound
    size = count.times(target.item_size) if target.type.params else exactly(0)
    if args:
        between = Range(max(count.least - 1, 0), max(count.most - 1, 0))
        size = size.plus(args[0].bound.times(between))
    return Price(size.scaled(TRAVERSAL), size)


def _find(_: str, target: Node | None, args: Sequence[Node]) -> Price | None:
    if target is None or not args:
        return None
    searched = target.bound.plus(ONE).scaled(TRAVERSAL)
    return Price(searched.times(args[0].bound.scaled(PATTERN)), Range(0, target.bound.most))


# ---------------------------------------------------------------- addresses, formats, equality


def _ip(overload: str, target: Node | None, args: Sequence[Node]) -> Price | None:
    return _NOMINAL if overload == "cidr_ip" else _of_argument(overload, target, args)


def _is_canonical(_: str, target: Node | None, args: Sequence[Node]) -> Price | None:
    return Price(args[0].bound.scaled(2 * TRAVERSAL)) if args else None


def _contains_ip(overload: str, target: Node | None, args: Sequence[Node]) -> Price | None:
    if not args:
        return None
    cost = _ADDRESS.plus(_ADDRESS).scaled(TRAVERSAL)
    return Price(cost.plus(args[0].bound.scaled(TRAVERSAL)) if overload == "cidr_contains_ip_string" else cost)


def _contains_cidr(overload: str, target: Node | None, args: Sequence[Node]) -> Price | None:
    if not args:
        return None
    cost = _ADDRESS.plus(_ADDRESS).scaled(TRAVERSAL).plus(_ADDRESS.scaled(TRAVERSAL)).plus(ONE)
    return Price(cost.plus(args[0].bound.scaled(TRAVERSAL)) if overload == "cidr_contains_cidr_string" else cost)


def _validate(_: str, target: Node | None, args: Sequence[Node]) -> Price | None:
    return Price(args[0].bound.scaled(TRAVERSAL).scaled(_LONGEST_NAME_PATTERN * PATTERN)) if args else None


_SMALL = frozenset({"net.IP", "net.CIDR", "kubernetes.Quantity", "kubernetes.Semver"})


def _equal(_: str, target: Node | None, args: Sequence[Node]) -> Price | None:
    if len(args) != 2 or not args[0].type.same(args[1].type):
        return None
    name = args[0].type.name
    if name in _SMALL:
        return _NOMINAL
    if name == "kubernetes.NamedFormat":
        return Price(Range(1, _LARGEST_FORMAT).scaled(TRAVERSAL))
    if name == "kubernetes.URL":
        most = args[1].size.most if args[1].size is not None else 1
        return Price(Range(1, most).scaled(TRAVERSAL))
    return None


def _nominal(_: str, target: Node | None, args: Sequence[Node]) -> Price | None:
    return _NOMINAL


_SORTED_TYPES = ("int", "uint", "double", "bool", "google.protobuf.Duration", "google.protobuf.Timestamp", "string", "bytes")
_BY_OVERLOAD: Mapping[str, Priced] = {
    "list_slice": _slice,
    "list_flatten": _flatten,
    "list_flatten_int": _flatten,
    "lists_range": _range,
    "list_reverse": _reverse,
    "list_distinct": _distinct,
    "list_sets_contains_list": _sets(1),
    "list_sets_intersects_list": _sets(1),
    "list_sets_equivalent_list": _sets(2),
    **{
        f"list_{name}_{sort}": _sorted(2 + TRAVERSAL if name in ("string", "bytes") else 2)
        for name in _SORTED_TYPES
        for sort in ("sort", "sortByAssociatedKeys")
    },
}
_NOMINAL_FUNCTIONS = (
    *("masked", "prefixLength", "family", "isUnspecified", "isLoopback", "isLinkLocalMulticast", "isLinkLocalUnicast"),
    *("isGlobalUnicast", "format.named", "sign", "asInteger", "isInteger", "asApproximateFloat", "isGreaterThan", "isLessThan"),
    *("compareTo", "add", "sub", "major", "minor", "patch"),
    *("getScheme", "getHostname", "getHost", "getPort", "getEscapedPath", "getQuery"),
)
_BY_FUNCTION: Mapping[str, Priced] = {
    **dict.fromkeys(("isSorted", "sum", "max", "min", "indexOf", "lastIndexOf"), _compared),
    **dict.fromkeys(("url", "jsonpatch.escapeKey"), _of_argument_sized),
    **dict.fromkeys(("lowerAscii", "upperAscii", "substring", "trim"), _of_target_sized),
    "replace": _replace,
    "split": _split,
    "join": _join,
    **dict.fromkeys(("find", "findAll"), _find),
    **dict.fromkeys(("cidr", "isIP", "isCIDR", "quantity", "isQuantity", "semver", "isSemver"), _of_argument),
    "ip": _ip,
    "ip.isCanonical": _is_canonical,
    "containsIP": _contains_ip,
    "containsCIDR": _contains_cidr,
    "validate": _validate,
    **dict.fromkeys(_NOMINAL_FUNCTIONS, _nominal),
    "_==_": _equal,
}
