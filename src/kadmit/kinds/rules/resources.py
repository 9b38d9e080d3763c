"""Amounts of computing resources: their names, their quantities, and how requests and limits go together."""

from collections.abc import Callable, Collection, Iterator, Mapping
from functools import lru_cache
from typing import Any, TypeAlias

from kadmit.api import fields
from kadmit.api.fields import ErrorType, FieldError, Path
from kadmit.api.gojson import Named
from kadmit.cel import quantities
from kadmit.cel.library import names
from kadmit.cel.quantities import Quantity
from kadmit.kinds.rules import naming, numbers

Json: TypeAlias = Any
NameCheck: TypeAlias = Callable[[str, Path], Iterator[FieldError]]

HUGE_PAGES, REQUESTS, LIMITS = "hugepages-", "requests.", "limits."
_COMPUTE = ("cpu", "memory", "ephemeral-storage")
_COUNTED = (
    "pods", "resourcequotas", "services", "replicationcontrollers", "secrets", "configmaps", "persistentvolumeclaims",
    "services.nodeports", "services.loadbalancers",
)  # fmt: skip
_OF_QUOTAS = frozenset(
    (*_COMPUTE, *_COUNTED, *(f"{of}{name}" for of in (REQUESTS, LIMITS) for name in _COMPUTE), "requests.storage")
)
_KNOWN = _OF_QUOTAS | {"storage"}
POD_LEVEL = ("cpu", "memory")
_REMEMBERED_LENGTH = 40


# ---------------------------------------------------------------- quantities


def parsed(value: Json) -> Quantity:
    """A quantity of a decoded object, which is known to be one."""
    found = quantities.parse(str(value))
    return quantities.of_int(0) if isinstance(found, str) else found


def compare(a: Json, b: Json) -> int:
    """-1, 0 or 1. NB: the same few amounts are compared again and again; only short texts are remembered."""
    if a.__class__ is str and b.__class__ is str and len(a) <= _REMEMBERED_LENGTH and len(b) <= _REMEMBERED_LENGTH:
        return _compared(a, b)
    return quantities.compare(parsed(a), parsed(b))


@lru_cache(maxsize=4096)
def _compared(a: str, b: str) -> int:
    return quantities.compare(parsed(a), parsed(b))


def is_more(a: Json, b: Json) -> bool:
    return compare(a, b) > 0


def not_negative(value: Json, at: Path) -> Iterator[FieldError]:
    if value is not None and parsed(value).sign() < 0:
        yield fields.invalid(at, str(value), numbers.NEGATIVE)


def positive(value: Json, at: Path) -> Iterator[FieldError]:
    if parsed(value).sign() <= 0:
        yield fields.invalid(at, str(value), numbers.NOT_POSITIVE)


def quantity(name: str, value: Json, at: Path) -> Iterator[FieldError]:
    """An amount of this resource."""
    yield from not_negative(value, at)
    if (name in _COUNTED or is_extended(name)) and not _is_whole(parsed(value)):
        yield fields.invalid(at, str(value), "must be an integer")


def _is_whole(value: Quantity) -> bool:
    """NB: what is finer than a thousandth is rounded up to one first."""
    milli = value.rounded_up(-3).decimal()
    return milli == milli.to_integral_value()


# ---------------------------------------------------------------- names


def is_native(name: str) -> bool:
    return "/" not in name or "kubernetes.io/" in name


def is_huge_page(name: str) -> bool:
    return name.startswith(HUGE_PAGES)


def may_overcommit(name: str) -> bool:
    return is_native(name) and not is_huge_page(name)


def is_extended(name: str) -> bool:
    return not is_native(name) and not name.startswith(REQUESTS) and not names.label_key(f"{REQUESTS}{name}")


def is_of_quotas(name: str) -> bool:
    return name in _OF_QUOTAS or name.startswith((HUGE_PAGES, f"{REQUESTS}{HUGE_PAGES}"))


def name(value: str, at: Path) -> Iterator[FieldError]:
    found = names.label_key(value)
    yield from (fields.invalid(at, Named(value), problem) for problem in found)
    if not found and "/" not in value and not (value in _KNOWN or is_of_quotas(value)):
        yield fields.invalid(at, Named(value), "must be a standard resource type or fully qualified")


def container_name(value: str, at: Path) -> Iterator[FieldError]:
    yield from name(value, at)
    if "/" not in value:
        if value not in _COMPUTE and not is_huge_page(value):
            yield fields.invalid(at, Named(value), "must be a standard resource for containers")
    elif not is_native(value) and not is_extended(value):
        yield fields.invalid(at, Named(value), "doesn't follow extended resource name standard")


def pod_name(value: str, at: Path) -> Iterator[FieldError]:
    found = list(name(value, at))
    yield from found
    if not found and value not in POD_LEVEL and not is_huge_page(value):
        yield fields.not_supported(at, Named(value), POD_LEVEL)


def quota_name(value: str, at: Path) -> Iterator[FieldError]:
    yield from name(value, at)
    if "/" not in value and not is_of_quotas(value):
        yield fields.invalid(at, Named(value), "must be a standard resource for quota")


# ---------------------------------------------------------------- requests and limits


def requirements(
    value: Mapping[str, Json] | None, at: Path, *, claims: Collection[str] = (), named: NameCheck = container_name
) -> Iterator[FieldError]:
    """NB: Go walks both maps in random order; here resources come by name."""
    given = value or {}
    limits, requests = given.get("limits") or {}, given.get("requests") or {}
    for resource in sorted(limits):
        yield from _amount(resource, limits[resource], at.child("limits"), named)
        yield from _huge_pages(resource, limits[resource], at.child("limits").key(resource))
    for resource in sorted(requests):
        yield from _amount(resource, requests[resource], at.child("requests"), named)
        yield from _within_limit(resource, requests[resource], limits.get(resource), at)
        yield from _huge_pages(resource, requests[resource], at.child("requests").key(resource))
    used = {*limits, *requests}
    if any(map(is_huge_page, used)) and not used & {"cpu", "memory"}:
        yield fields.forbidden(at, "HugePages require cpu or memory")
    yield from _claims(given.get("claims") or [], claims, at.child("claims"))


def _amount(resource: str, value: Json, at: Path, named: NameCheck) -> Iterator[FieldError]:
    yield from named(resource, at.key(resource))
    yield from quantity(resource, value, at.key(resource))


def _within_limit(resource: str, request: Json, limit: Json, at: Path) -> Iterator[FieldError]:
    if limit is None:
        if not may_overcommit(resource):
            yield fields.required(at.child("limits"), "Limit must be set for non overcommitable resources")
        return
    order = compare(request, limit)
    if order and not may_overcommit(resource):
        yield fields.invalid(at.child("requests"), str(request), f"must be equal to {resource} limit of {limit}")
    elif order > 0:
        yield fields.invalid(at.child("requests"), str(request), f"must be less than or equal to {resource} limit of {limit}")


def _huge_pages(resource: str, value: Json, at: Path) -> Iterator[FieldError]:
    if is_huge_page(resource) and not _is_divisible(resource.removeprefix(HUGE_PAGES), parsed(value)):
        yield fields.invalid(at, str(value), f"{value} is not positive integer multiple of {resource}")


def _is_divisible(page_size: str, value: Quantity) -> bool:
    page = quantities.parse(page_size)
    if isinstance(page, str) or page.sign() <= 0 or not _is_whole(page):
        return False
    return int(value.rounded_up(0).decimal()) % int(page.decimal()) == 0


def _claims(used: list[Mapping[str, Json]], known: Collection[str], at: Path) -> Iterator[FieldError]:
    seen: set[str] = set()
    for index, claim in enumerate(used):
        claimed = claim.get("name") or ""
        if not claimed:
            yield fields.required(at.index(index))
            continue
        yield from _repeated_claim(claimed, claim.get("request") or "", seen, at.index(index))
        if claimed not in known:
            listed = f": {', '.join(sorted(known))}" if known else " which is empty"
            detail = f"must be one of the names in pod.spec.resourceClaims{listed}"
            yield FieldError(ErrorType.NOT_FOUND, str(at.index(index)), claimed, detail)


def _repeated_claim(claimed: str, request: str, seen: set[str], at: Path) -> Iterator[FieldError]:
    if claimed in seen:
        yield fields.duplicate(at, claimed)
        return
    key = f"{claimed}/{request}" if request else claimed
    if request:
        yield from naming.label(request, at.child("request"))
    if key in seen:
        yield fields.duplicate(at, key)
    elif not request:
        yield from (fields.duplicate(at, claimed) for other in sorted(seen) if other.startswith(f"{claimed}/"))
    seen.add(key)
