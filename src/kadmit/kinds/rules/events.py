"""Events, of the core group and of the group of their own, which is stricter."""

from collections.abc import Iterator, Mapping
from typing import Any, TypeAlias

from kadmit.api import fields
from kadmit.api.fields import FieldError
from kadmit.cel.library import names
from kadmit.kinds import internals
from kadmit.kinds.conversion import EVENT_NAMES
from kadmit.kinds.rules import meta, naming
from kadmit.kinds.rules.meta import Object
from kadmit.patch import equality

Json: TypeAlias = Any
Part: TypeAlias = Mapping[str, Json]

_OBJECT = fields.path("involvedObject", "namespace")
_MISMATCH = "does not match event.namespace"
_LIMIT, _MESSAGE_LIMIT = 128, 1024


def create_core(event: Object) -> Iterator[FieldError]:
    return _sensible(event, "reportingComponent")


def update_core(new: Object, old: Object) -> Iterator[FieldError]:
    return create_core(new)


def create(event: Object) -> Iterator[FieldError]:
    event = _as_core(event)
    yield from _sensible(event, "reportingController")
    yield from meta.created(event)
    yield from _series(event)
    if not event.get("eventTime"):
        yield fields.required(fields.path("eventTime"))
    kind = event.get("type") or ""
    if kind not in ("Normal", "Warning"):
        yield fields.invalid(fields.path("type"), "", f"has invalid value: {kind}")
    for member in ("firstTimestamp", "lastTimestamp", "count", "source"):
        if event.get(member):
            yield fields.invalid(fields.path(member), "", "needs to be unset")


def update(new: Object, old: Object) -> Iterator[FieldError]:
    after, before = _as_core(new), _as_core(old)
    yield from _sensible(after, "reportingController")
    yield from meta.updated(new, old)
    if not equality.same(after.get("series"), before.get("series")):
        yield from _series(after)
    yield from _unchanged_object("ObjectReference", after, before, "involvedObject")
    yield from _unchanged(after, before, "reason", "message")
    yield from _unchanged_object("EventSource", after, before, "source")
    yield from _unchanged(after, before, "firstTimestamp", "lastTimestamp", "count", "reason", "type")
    yield from _unchanged(after, before, "eventTime", "action")
    if not internals.same("ObjectReference", before.get("related"), after.get("related")):
        yield fields.invalid(fields.path("related"), internals.shown("ObjectReference", after.get("related")), meta.IMMUTABLE)
    yield from _unchanged(after, before, "reportingController", "reportingInstance")


def _as_core(event: Object) -> Object:
    """An event with the names of the core group, by which errors call its members."""
    made = dict(event)
    for core, own in EVENT_NAMES.items():
        if core != "reportingComponent" and own in made:
            made[core] = made.pop(own)
    return made


def _unchanged(after: Object, before: Object, *members: str) -> Iterator[FieldError]:
    for member in members:
        empty: Json = 0 if member == "count" else None if member.endswith(("Timestamp", "Time")) else ""
        now, was = after.get(member) or empty, before.get(member) or empty
        if now != was:
            yield fields.invalid(fields.path(member), now, meta.IMMUTABLE)


def _unchanged_object(struct: str, after: Object, before: Object, member: str) -> Iterator[FieldError]:
    now, was = after.get(member) or {}, before.get(member) or {}
    if not internals.same(struct, was, now):
        yield fields.invalid(fields.path(member), internals.shown(struct, now), meta.IMMUTABLE)


def _sensible(event: Object, controller: str) -> Iterator[FieldError]:
    """What makes sense of any event."""
    yield from _of_new(event, controller) if event.get("eventTime") else _of_old(event)
    namespace = meta.of(event).get("namespace") or ""
    yield from naming.complaints(names.dns1123_subdomain(namespace), namespace, fields.path("namespace"))


def _of_old(event: Object) -> Iterator[FieldError]:
    """Events without a time are those that clients of long ago make."""
    namespace, about = meta.of(event).get("namespace") or "", (event.get("involvedObject") or {}).get("namespace") or ""
    if namespace not in (("", "default") if not about else (about,)):
        yield fields.invalid(_OBJECT, about, _MISMATCH)


def _of_new(event: Object, controller: str) -> Iterator[FieldError]:
    namespace, about = meta.of(event).get("namespace") or "", (event.get("involvedObject") or {}).get("namespace") or ""
    if not about and namespace not in ("default", "kube-system"):
        yield fields.invalid(_OBJECT, about, _MISMATCH)
    reporter = event.get(controller) or ""
    if not reporter:
        yield fields.required(fields.path(controller))
    yield from naming.qualified(reporter, fields.path(controller))
    for member in ("reportingInstance", "action", "reason"):
        text = event.get(member) or ""
        if not text:
            yield fields.required(fields.path(member))
        if naming.size(text) > _LIMIT:
            yield fields.invalid(fields.path(member), "", f"can have at most {_LIMIT} characters")
    if naming.size(event.get("message") or "") > _MESSAGE_LIMIT:
        yield fields.invalid(fields.path("message"), "", f"can have at most {_MESSAGE_LIMIT} characters")


def _series(event: Object) -> Iterator[FieldError]:
    series = event.get("series")
    if series is None:
        return
    if (series.get("count") or 0) < 2:
        yield fields.invalid(fields.path("series", "count"), "", "should be at least 2")
    if not series.get("lastObservedTime"):
        yield fields.required(fields.path("series", "lastObservedTime"))
