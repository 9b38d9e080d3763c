"""Pods: how ready they are, what they are doing, and how often they began anew."""

from typing import Any, NamedTuple, TypeAlias

from kadmit.presentation import ages, columns
from kadmit.presentation.columns import AGE, NAME, NONE, Cell, Column, Columns, Item, filled, wide

Json: TypeAlias = Any


class _Summary(NamedTuple):
    ready: int
    total: int
    status: str
    restarts: str


class _Tally:
    """Restarts, and when the last of them was."""

    def __init__(self) -> None:
        self.count = 0
        self.last = ""

    def add(self, container: Json) -> None:
        self.count += container.get("restartCount") or 0
        finished = ((container.get("lastState") or {}).get("terminated") or {}).get("finishedAt") or ""
        self.last = max(self.last, finished)

    def text(self, now: float) -> str:
        return f"{self.count} ({ages.since(self.last, now)} ago)" if self.count and self.last else str(self.count)


def _summary(item: Item) -> _Summary:
    initial = _initial(item)
    status, ready, tally = initial.status, initial.ready, initial.all_restarts
    if not initial.running or columns.holds(item.items("status.conditions"), "Initialized"):
        tally = initial.sidecar_restarts
        more, status = _main(item, status, tally)
        ready += more
    total = len(item.items("spec.containers")) + len(_sidecars(item))
    return _Summary(ready, total, _ending(item, status), tally.text(item.now))


def _phase(item: Item) -> str:
    gated = any(
        one.get("type") == "PodScheduled" and one.get("reason") == "SchedulingGated" for one in item.items("status.conditions")
    )
    found: str = "SchedulingGated" if gated else item.at("status.reason") or item.at("status.phase", "")
    return found


def _ending(item: Item, status: str) -> str:
    if item.deleted and item.at("status.reason") == "NodeLost":
        return "Unknown"
    if item.deleted and item.at("status.phase") not in ("Succeeded", "Failed"):
        return "Terminating"
    return status


def _sidecars(item: Item) -> set[str]:
    """Initial containers that go on running."""
    return {one.get("name", "") for one in item.items("spec.initContainers") if one.get("restartPolicy") == "Always"}


class _Initial:
    """What the initial containers tell. `running`: they are not done."""

    def __init__(self, status: str) -> None:
        self.status = status
        self.running = False
        self.ready = 0
        self.all_restarts = _Tally()
        self.sidecar_restarts = _Tally()


def _initial(item: Item) -> _Initial:
    told = _Initial(_phase(item))
    sidecars = _sidecars(item)
    for index, container in enumerate(item.items("status.initContainerStatuses")):
        sidecar = container.get("name") in sidecars
        told.all_restarts.add(container)
        if sidecar:
            told.sidecar_restarts.add(container)
        if _has_succeeded(container):
            continue
        if sidecar and container.get("started"):
            told.ready += bool(container.get("ready"))
            continue
        progress = f"{index}/{len(item.items('spec.initContainers'))}"
        told.status = f"Init:{_obstacle(container) or progress}"
        told.running = True
        break
    return told


def _state(container: Json, name: str) -> Json:
    return (container.get("state") or {}).get(name)


def _has_succeeded(container: Json) -> bool:
    ended = _state(container, "terminated")
    return ended is not None and not ended.get("exitCode")


def _obstacle(container: Json) -> str:
    ended = _state(container, "terminated")
    if ended is not None:
        return _end(ended)
    reason: str = (_state(container, "waiting") or {}).get("reason") or ""
    return "" if reason == "PodInitializing" else reason


def _end(ended: Json) -> str:
    if ended.get("reason"):
        return str(ended["reason"])
    return f"Signal:{ended['signal']}" if ended.get("signal") else f"ExitCode:{ended.get('exitCode') or 0}"


def _main(item: Item, status: str, tally: _Tally) -> tuple[int, str]:
    """How many of the main containers are ready, and what the pod is doing; the first container has the last word."""
    ready, failure = 0, ""
    for container in reversed(item.items("status.containerStatuses")):
        tally.add(container)
        waiting, ended = _state(container, "waiting"), _state(container, "terminated")
        if waiting and waiting.get("reason"):
            status = waiting["reason"]
        elif ended is not None:
            status = _end(ended)
            failure = status if ended.get("exitCode") else failure
        elif container.get("ready") and _state(container, "running") is not None:
            ready += 1
    return ready, _unless_running(item, status, failure, ready=ready) if status == "Completed" else status


def _unless_running(item: Item, status: str, failure: str, *, ready: int) -> str:
    """A pod is not completed while one of its containers runs, or when one failed."""
    if ready and columns.holds(item.items("status.conditions"), "Ready"):
        return "Running"
    return failure or ("NotReady" if ready else status)


def _ready(item: Item) -> Cell:
    summary = item.once(_summary)
    return f"{summary.ready}/{summary.total}"


def _ip(item: Item) -> Cell:
    addresses = item.items("status.podIPs")
    found: str = (addresses[0].get("ip") if addresses else item.at("status.podIP")) or NONE
    return found


def _gates(item: Item) -> Cell:
    gates = item.items("spec.readinessGates")
    open_ones = sum(columns.holds(item.items("status.conditions"), gate.get("conditionType", "")) for gate in gates)
    return f"{open_ones}/{len(gates)}" if gates else NONE


POD: Columns = (
    NAME,
    Column("Ready", _ready),
    Column("Status", lambda item: item.once(_summary).status),
    Column("Restarts", lambda item: item.once(_summary).restarts),
    AGE,
    wide("IP", _ip),
    wide("Node", filled("spec.nodeName")),
    wide("Nominated Node", filled("status.nominatedNodeName")),
    wide("Readiness Gates", _gates),
)

_ENDS = {"Succeeded": "The pod has completed successfully.", "Failed": "The pod failed."}


def conditions(item: Item) -> list[Json]:
    """What a row tells of itself: that the pod is done, and how."""
    phase = item.at("status.phase", "")
    if phase not in _ENDS:
        return []
    return [{"type": "Completed", "status": "True", "reason": phase, "message": _ENDS[phase]}]
