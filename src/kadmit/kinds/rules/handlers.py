"""Probes and lifecycle hooks of containers: exactly one way to act, and sensible numbers."""

from collections.abc import Callable, Iterator, Mapping
from typing import Any, TypeAlias

from kadmit.api import fields
from kadmit.api.fields import FieldError, Path
from kadmit.kinds.rules import enums, naming, numbers

Json: TypeAlias = Any

_SIGNALS_OF_WINDOWS = ("SIGKILL", "SIGTERM")
_SIGNALS = tuple(
    f"SIG{name}"
    for name in sorted((
        "ABRT", "ALRM", "BUS", "CHLD", "CLD", "CONT", "FPE", "HUP", "ILL", "INT", "IO", "IOT", "KILL", "PIPE", "POLL", "PROF",
        "PWR", "QUIT", "SEGV", "STKFLT", "STOP", "SYS", "TERM", "TRAP", "TSTP", "TTIN", "TTOU", "URG", "USR1", "USR2", "VTALRM",
        "WINCH", "XCPU", "XFSZ", "RTMIN", "RTMAX",
        *(f"RTMIN+{number}" for number in range(1, 16)), *(f"RTMAX-{number}" for number in range(1, 15)),
    ))
)  # fmt: skip


def liveness(probe: Mapping[str, Json] | None, at: Path) -> Iterator[FieldError]:
    """Also of startup probes: they succeed at once."""
    if probe is not None:
        yield from _probe(probe, at)
        if (probe.get("successThreshold") or 0) != 1:
            yield fields.invalid(at.child("successThreshold"), probe.get("successThreshold") or 0, "must be 1")


def readiness(probe: Mapping[str, Json] | None, at: Path) -> Iterator[FieldError]:
    if probe is not None:
        yield from _probe(probe, at)
        grace = probe.get("terminationGracePeriodSeconds")
        if grace is not None:
            yield fields.invalid(at.child("terminationGracePeriodSeconds"), grace, "must not be set for readinessProbes")


def _probe(probe: Mapping[str, Json], at: Path) -> Iterator[FieldError]:
    yield from _handler(probe, at, _OF_PROBES)
    for field in ("initialDelaySeconds", "timeoutSeconds", "periodSeconds", "successThreshold", "failureThreshold"):
        yield from numbers.not_negative(probe.get(field), at.child(field))
    grace = probe.get("terminationGracePeriodSeconds")
    if grace is not None and grace <= 0:
        yield fields.invalid(at.child("terminationGracePeriodSeconds"), grace, "must be greater than 0")


def lifecycle(value: Mapping[str, Json] | None, grace: int | None, os: str | None, at: Path) -> Iterator[FieldError]:
    if value is None:
        return
    for hook in ("postStart", "preStop"):
        if value.get(hook) is not None:
            yield from _handler(value[hook], at.child(hook), _OF_HOOKS)
            yield from _sleep(value[hook], grace, at.child(hook))
    if value.get("stopSignal") is not None:
        yield from _stop_signal(value["stopSignal"], os, at.child("stopSignal"))


def _stop_signal(signal: str, os: str | None, at: Path) -> Iterator[FieldError]:
    if os is None:
        yield fields.forbidden(at, "may not be set for containers with empty `spec.os.name`")
    elif os in ("windows", "linux"):
        yield from enums.one_of(signal, _SIGNALS if os == "linux" else _SIGNALS_OF_WINDOWS, at)


# ---------------------------------------------------------------- what a probe or hook does

_Action: TypeAlias = Callable[[Mapping[str, Json], Path], Iterator[FieldError]]


def _handler(value: Mapping[str, Json], at: Path, actions: Mapping[str, _Action]) -> Iterator[FieldError]:
    given = [name for name in actions if value.get(name) is not None]
    if not given:
        yield fields.required(at, "must specify a handler type")
        return
    yield from actions[given[0]](value[given[0]], at.child(given[0]))
    for more in given[1:]:
        yield fields.forbidden(at.child(more), "may not specify more than 1 handler type")


def _exec(action: Mapping[str, Json], at: Path) -> Iterator[FieldError]:
    if not action.get("command"):
        yield fields.required(at.child("command"))


def _http_get(action: Mapping[str, Json], at: Path) -> Iterator[FieldError]:
    if not action.get("path"):
        yield fields.required(at.child("path"))
    yield from _port(action, at)
    yield from enums.one_of(action.get("scheme") or "", ("HTTP", "HTTPS"), at.child("scheme"))
    for header in action.get("httpHeaders") or ():
        name = header.get("name") or ""
        yield from naming.complaints(naming.header(name), name, at.child("httpHeaders"))


def _port(action: Mapping[str, Json], at: Path) -> Iterator[FieldError]:
    return numbers.port_or_name(0 if action.get("port") is None else action["port"], at.child("port"))


def _nothing(action: Mapping[str, Json], at: Path) -> Iterator[FieldError]:
    return iter(())


def _sleep(hook: Mapping[str, Json], grace: int | None, at: Path) -> Iterator[FieldError]:
    """How long it may sleep depends on the pod. NB: where another handler comes first, nobody asks."""
    others = any(hook.get(name) is not None for name in ("exec", "httpGet", "tcpSocket"))
    if others or hook.get("sleep") is None or grace is None:
        return
    seconds = hook["sleep"].get("seconds") or 0
    if not 0 <= seconds <= grace:
        text = f"must be non-negative and less than terminationGracePeriodSeconds ({grace})"
        yield fields.invalid(at.child("sleep"), seconds, text)


_OF_PROBES: Mapping[str, _Action] = {"exec": _exec, "httpGet": _http_get, "tcpSocket": _port, "grpc": _port}
_OF_HOOKS: Mapping[str, _Action] = {"exec": _exec, "httpGet": _http_get, "tcpSocket": _port, "sleep": _nothing}
