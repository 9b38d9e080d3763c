"""Lists of resources (cpu, memory, storage): rounded up to milli, requests taken from limits, a pod's from its containers'."""

from collections.abc import Iterable

from kadmit.cel import quantities
from kadmit.cel.quantities import Quantity
from kadmit.kinds.defaults.rules import Json, Object, Rule, struct

_MILLI = -3
_HUGE_PAGES = "hugepages-"
_OF_PODS = frozenset({"cpu", "memory"})  # what a whole pod may ask for, beside huge pages


def rounded(amounts: Object, before: Json) -> Object:
    """The rule of a list of resources. Only texts in nano, micro or with an exponent can be finer than milli."""
    made = amounts
    for name, text in amounts.items():
        if text[-1] in "nu" or "-" in text:
            new = _rounded_text(text)
            if new != text:
                if made is amounts:
                    made = amounts.copy()
                made[name] = new
    return made


def _rounded_text(text: str) -> str:
    return _read(text).rounded_up(_MILLI).text()


def _read(text: str) -> Quantity:
    found = quantities.parse(text)
    assert not isinstance(found, str)  # decoding has let it pass
    return found


requirements: Rule = struct(parts={"limits": rounded, "requests": rounded})


def requests_of_limits(container: Object) -> Object:
    """What a container is limited to is what it requests, unless it requests something else."""
    resources: Object = container.get("resources") or {}
    limits: Object | None = resources.get("limits")
    if not limits:
        return container
    requests = resources.get("requests") or {}
    for name in limits:
        if name not in requests:
            return {**container, "resources": {**resources, "requests": {**limits, **requests}}}
    return container


def of_whole_pod(spec: Object) -> Object:
    """Limits and requests of the pod as a whole, where it gives any: first huge pages, then requests."""
    resources = spec.get("resources")
    if not resources:
        return spec
    made = _requests(spec, _huge_page_limits(spec, resources))
    return spec if made is resources else {**spec, "resources": made}


def _huge_page_limits(spec: Object, resources: Object) -> Object:
    limits, requests = resources.get("limits") or {}, resources.get("requests") or {}
    if not limits and not requests:
        return resources
    asked = [(_limits_of(container), _stays(container)) for container in _init(spec)]
    found = _total([_limits_of(container) for container in _main(spec)], asked)
    added = {
        name: amount.text()
        for name, amount in found.items()
        if name.startswith(_HUGE_PAGES) and name not in requests and name not in limits
    }
    return {**resources, "limits": {**limits, **added}} if added else resources


def _requests(spec: Object, resources: Object) -> Object:
    limits, requests = resources.get("limits"), resources.get("requests") or {}
    if not limits:
        return resources
    asked = [(_requests_of(container), _stays(container)) for container in _init(spec)]
    found = _total([_requests_of(container) for container in _main(spec)], asked)
    added = {name: amount.text() for name, amount in found.items() if name in _OF_PODS and name not in requests}
    for name, text in limits.items():
        if (name in _OF_PODS or name.startswith(_HUGE_PAGES)) and name not in requests:
            added.setdefault(name, text)
    return {**resources, "requests": {**requests, **added}} if added else resources


def _main(spec: Object) -> Iterable[Object]:
    return spec.get("containers") or ()


def _init(spec: Object) -> Iterable[Object]:
    return spec.get("initContainers") or ()


def _stays(container: Object) -> bool:
    """An init container that goes on running beside the others."""
    return container.get("restartPolicy") == "Always"


def _limits_of(container: Object) -> Object:
    return (container.get("resources") or {}).get("limits") or {}


def _requests_of(container: Object) -> Object:
    resources = container.get("resources") or {}
    return {**(resources.get("limits") or {}), **(resources.get("requests") or {})}


def _total(main: Iterable[Object], init: Iterable[tuple[Object, bool]]) -> dict[str, Quantity]:
    """The most that the containers need at any time: all together, or an init container with those that stay beside it."""
    total: dict[str, Quantity] = {}
    staying: dict[str, Quantity] = {}
    peak: dict[str, Quantity] = {}
    for amounts in main:
        _add(total, _parsed(amounts))
    for amounts, stays in init:
        if stays:
            _add(total, _parsed(amounts))
            _add(staying, _parsed(amounts))
            needed = staying
        else:
            needed = _parsed(amounts)
            _add(needed, staying)
        _raise(peak, needed)
    _raise(total, peak)
    return total


def _parsed(amounts: Object) -> dict[str, Quantity]:
    return {name: _read(text) for name, text in amounts.items()}


def _add(to: dict[str, Quantity], amounts: dict[str, Quantity]) -> None:
    for name, amount in amounts.items():
        if name in to:
            total = quantities.add(to[name], amount)
            to[name] = amount if total is None else total  # NB: absurdly far apart, so one of them counts for nothing
        else:
            to[name] = amount


def _raise(to: dict[str, Quantity], amounts: dict[str, Quantity]) -> None:
    for name, amount in amounts.items():
        if name not in to or quantities.compare(amount, to[name]) > 0:
            to[name] = amount


def _limits_by_each_other(item: Object) -> Object:
    """A LimitRange for containers: the default limit is the maximum, the default request is that, or else the minimum."""
    if item.get("type") != "Container":
        return item
    limit = {**(item.get("max") or {}), **(item.get("default") or {})}
    request = {**(item.get("min") or {}), **limit, **(item.get("defaultRequest") or {})}
    made = item
    for name, amounts in (("default", limit), ("defaultRequest", request)):
        if amounts and amounts != item.get(name):
            made = {**made, name: amounts}
    return made


_OF_LIMITS = dict.fromkeys(("max", "min", "default", "defaultRequest", "maxLimitRequestRatio"), rounded)
limit_range_item: Rule = struct(first=(_limits_by_each_other,), parts=_OF_LIMITS)


def allocatable(status: Object) -> Object:
    """A node gives away all that it has."""
    if status.get("capacity") and not status.get("allocatable"):
        return {**status, "allocatable": status["capacity"].copy()}
    return status
